package site

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/mcpstrata/mcpstrata/internal/body"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/drift"
	"github.com/mcpstrata/mcpstrata/internal/fingerprint"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/visible"
)

// Bounds of what is shown of one version.
const (
	shownDiffTools = 40        // tools that changed
	shownTexts     = 40        // texts of one of them
	shownPlaces    = 60        // other places of one of them
	shownCell      = 400       // characters of a place
	shownSchema    = 6_000     // characters of a schema
	shownContext   = 60        // characters beside a change in a text that is cut
	comparedText   = 256 << 10 // bytes of a text, before and after, that are compared word by word
)

// Budgets of one page, newest version first. They keep the site publishable
// whatever some of its servers do: one page and its JSON take some MB at most.
const (
	diffBudget = 800_000     // bytes of HTML that texts, places and schemas may come to
	diffJSON   = 1 << 20     // bytes of the diffs in index.json
	toolsJSON  = 1 << 20     // bytes of the tools in index.json
	rowsJSON   = 256 << 10   // bytes of the registry's rows in index.json
	wordCost   = 300_000_000 // pairs of words that may be compared; about a second
)

// Why a version's texts are not shown, in words.
const (
	goneWords    = "The texts of this version, or of the one before it, were removed on request."
	historyWords = "The texts of this version, or of the one before it, lie in the history of the repository, which was not there when this page was made."
	longWords    = "The differences of the newer versions are so long that those of this one are left out."
	orderWords   = "Only the order of the list differs, which counts because it holds something other than tools."
	toolsWords   = "The list of tools is so long that it is left out here; the contract file in the repository has it."
	beforeWords  = "This version and the one before it hold the same tools."
)

// A history reads the versions of one server, newest first.
type history struct {
	bodies   *body.Store
	versions []report.Version
	words    int // what is left of wordCost
	shown    int // of diffBudget
	json     int // of diffJSON
	hashed   int // bytes of contracts whose tools may still be hashed
	digests  digestSet
	prints   map[canon.Digest][]fingerprint.Digest // of each tool, by its text
	complete bool                                  // the list of the head was read to its end

	last  []canon.Digest // artifacts of the contract read last
	read1 *contract.Contract
	gone  string // why there is none, in words
}

// at returns the contract of some bodies, or in words why it can't be had: one of
// them was removed on request, or there is no history to read it from.
func (h *history) at(artifacts []canon.Digest) (*contract.Contract, string, error) {
	if h.last != nil && slices.Equal(h.last, artifacts) {
		return h.read1, h.gone, nil
	}
	c, err := h.bodies.Contract(artifacts)
	gone := ""
	switch _, removed := errors.AsType[*body.RemovedError](err); {
	case removed:
		gone = goneWords
	case errors.Is(err, body.ErrNoHistory):
		gone = historyWords
	case err != nil:
		return nil, "", err
	}
	h.last, h.read1, h.gone = artifacts, c, gone
	return c, gone, nil
}

// read fills in the versions of a page, and returns those of its index.json,
// oldest first.
func (h *history) read(m *ServerPage) ([]versionJSON, error) {
	machine := make([]versionJSON, len(h.versions))
	for i, v := range slices.Backward(h.versions) {
		machine[i].N = v.N
		view := VersionView{Index: i, Version: v, First: i == 0}
		row := len(m.Versions) == shownVersions
		if !row {
			c, _, err := h.at(v.Artifacts)
			if err != nil {
				return nil, err
			}
			if c != nil {
				h.noteContract(c, i)
			}
		}
		if i > 0 && !(row && h.json < 0) {
			d, unshown, err := h.compare(i)
			if err != nil {
				return nil, err
			}
			machine[i].Unshown = unshown
			if unshown == "" {
				machine[i].Diff, machine[i].Unshown = h.machine(d)
			}
			if view.Unshown = unshown; unshown == "" && !row {
				h.show(&view, d)
			}
		} else if i > 0 {
			machine[i].Unshown = longWords
		}
		switch {
		case !row:
			m.Versions = append(m.Versions, view)
		case len(m.Older) < shownOlder:
			m.Older = append(m.Older, view)
		default:
			m.MoreOlder = true
		}
	}
	return machine, nil
}

// compare compares version i with the one before.
func (h *history) compare(i int) (d drift.Diff, unshown string, err error) {
	now, gone, err := h.at(h.versions[i].Artifacts)
	if err != nil {
		return d, "", err
	}
	before, goneBefore, err := h.at(h.versions[i-1].Artifacts)
	switch {
	case err != nil:
		return d, "", err
	case gone != "" || goneBefore != "":
		return d, cmp.Or(gone, goneBefore), nil
	}
	return drift.Compare(before, now), "", nil
}

// machine returns a diff as index.json has it, while its budget lasts.
func (h *history) machine(d drift.Diff) (json.RawMessage, string) {
	if h.json < 0 {
		return nil, longWords
	}
	line := record.Line(d)
	if h.json -= len(line); h.json < 0 {
		return nil, longWords
	}
	return line, ""
}

// show fills in what changed to a version.
func (h *history) show(v *VersionView, d drift.Diff) {
	switch {
	case h.shown < 0:
		v.Unshown = longWords
		return
	case d.Equal:
		v.Unshown = beforeWords
	case len(d.Tools) == 0:
		v.Unshown = orderWords
	}
	v.Hints = d.Hints[:min(len(d.Hints), shownDiffTools)]
	for _, t := range d.Tools {
		if v.MoreTool = len(v.Tools) == shownDiffTools || h.shown < 0; v.MoreTool {
			return
		}
		v.Tools = append(v.Tools, h.tool(t))
	}
}

// spend takes the HTML of a text from the page's budget. It reports whether it
// was there.
func (h *history) spend(texts ...string) bool {
	for _, s := range texts {
		h.shown -= htmlSize(s)
	}
	return h.shown >= 0
}

// tool returns what happened to one tool.
func (h *history) tool(t drift.ToolDiff) ToolDiff {
	out := ToolDiff{Name: t.Name, Kind: t.Kind, Members: t.Members[:min(len(t.Members), shownPlaces)]}
	out.More = t.PathsCut || len(t.Members) > shownPlaces
	told := map[string]bool{}
	for _, c := range t.Texts {
		told[c.Path] = true
		if len(out.Texts) == shownTexts || h.shown < 0 {
			out.More = true
			continue
		}
		out.Texts = append(out.Texts, h.text(c))
	}
	h.places(&out, t, told)
	out.Input = h.schemas(t.Old.Get("inputSchema"), t.New.Get("inputSchema"), t.InputSchema != nil)
	out.Output = h.schemas(t.Old.Get("outputSchema"), t.New.Get("outputSchema"), t.OutputSchema != nil)
	return out
}

// places fills in where else a tool differs.
func (h *history) places(out *ToolDiff, t drift.ToolDiff, told map[string]bool) {
	add := func(where, before, after string) {
		p := Place{Where: cutText(where, shownCell)}
		var cut, cutAfter bool
		p.Before, cut = firstChars(before, shownCell)
		p.After, cutAfter = firstChars(after, shownCell)
		p.Cut = cut || cutAfter
		h.spend(p.Where, p.Before, p.After)
		out.Places = append(out.Places, p)
	}
	if t.Value != nil {
		before, after := string(t.Value), ""
		if t.Kind == drift.Added {
			before, after = after, before
		}
		add("an element that is not a tool", before, after)
	}
	if t.Entries != nil {
		add("entries of this name", jsonText(t.Entries.Before), jsonText(t.Entries.After))
	}
	for _, p := range t.Places {
		if told[p.Path] {
			continue
		}
		if len(out.Places) >= shownPlaces || h.shown < 0 {
			out.More = true
			return
		}
		add(where(p.Path), valueText(p.Old), valueText(p.New))
	}
}

func jsonText(n int) string { return string(record.Value(n)) }

func valueText(v *canon.Value) string {
	if v == nil {
		return ""
	}
	return string(canon.AppendCompact(nil, v))
}

// text returns one text that changed. One that is short enough is shown whole;
// of a longer one what stands beside the changes.
func (h *history) text(c drift.TextChange) TextDiff {
	t := TextDiff{Where: cutText(where(c.Path), shownCell)}
	t.Hidden = visible.Hidden(c.Before)+visible.Hidden(c.After) > 0
	if h.afford(c) {
		t.Spans = drift.Words(c.Before, c.After)
	} else {
		t.Spans = wholeSpans(c)
	}
	t.Spans, t.Cut = cutSpans(t.Spans, shownText)
	for _, s := range t.Spans {
		h.spend(s.Text)
	}
	return t
}

// afford takes the comparison of two texts from the page's budget. It reports
// whether it was there. A text that is far longer than what is shown of it is
// never compared: cutting it into words takes ten times its size in memory.
func (h *history) afford(c drift.TextChange) bool {
	if len(c.Before)+len(c.After) > comparedText {
		return false
	}
	n := min(drift.CountWords(c.Before)+drift.CountWords(c.After), drift.MaxTokens)
	h.words -= n * n
	return h.words >= 0
}

// wholeSpans tells a text as replaced as a whole.
func wholeSpans(c drift.TextChange) (spans []drift.Span) {
	if c.Before != "" {
		spans = append(spans, drift.Span{Op: drift.Deleted, Text: c.Before})
	}
	if c.After != "" {
		spans = append(spans, drift.Span{Op: drift.Inserted, Text: c.After})
	}
	return spans
}

// cutSpans shortens spans to n characters, kept text first: of that only what
// stands beside a change stays, then the end is cut off.
func cutSpans(spans []drift.Span, n int) (out []drift.Span, cut bool) {
	total := 0
	for _, s := range spans {
		total += utf8.RuneCountInString(s.Text)
	}
	if total <= n {
		return spans, false
	}
	for i, s := range spans {
		if s.Op == drift.Kept {
			s.Text = beside(s.Text, i == 0, i == len(spans)-1)
		}
		text, over := firstChars(s.Text, n)
		if over {
			text += "…"
		}
		out = append(out, drift.Span{Op: s.Op, Text: text})
		if n -= utf8.RuneCountInString(text); over || n <= 0 {
			break
		}
	}
	return out, true
}

// beside shortens kept text to what stands beside a change.
func beside(s string, first, last bool) string {
	const ellipsis = " […] "
	if utf8.RuneCountInString(s) <= 2*shownContext+len(ellipsis) {
		return s
	}
	head, _ := firstChars(s, shownContext)
	tail := lastChars(s, shownContext)
	switch {
	case first && last:
		return head + ellipsis
	case first:
		return ellipsis[1:] + tail
	case last:
		return head + ellipsis[:len(ellipsis)-1]
	}
	return head + ellipsis + tail
}

func lastChars(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}

// schemas returns a schema before and after, pretty-printed and cut.
func (h *history) schemas(old, new *canon.Value, differ bool) *Schemas {
	if !differ || h.shown < 0 {
		return nil
	}
	var s Schemas
	var cut, cutAfter bool
	s.Before, cut = prettyText(old)
	s.After, cutAfter = prettyText(new)
	s.Cut = cut || cutAfter
	h.spend(s.Before, s.After)
	return &s
}

func prettyText(v *canon.Value) (string, bool) {
	if v == nil {
		return "", false
	}
	return firstChars(string(canon.AppendPretty(nil, v)), shownSchema)
}

// sinceOf returns, for each tool name, the index of the version with which a tool
// of that name came, and stayed. One that is not in it came with the first.
func sinceOf(versions []report.Version) map[string]int {
	since := map[string]int{}
	for i, v := range versions {
		for _, c := range v.Changes {
			switch c.Kind {
			case "added", "renamed":
				since[c.Name] = i
			}
		}
	}
	return since
}
