package site

import (
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/fingerprint"
)

// What the digests of tools may cost on pages, in bytes: those of one tool some
// 600, and those of all servers together what keeps the site within its limit.
// index.json has them all.
const (
	toolDigests   = 600
	digestsBudget = 100_000_000
	fewDigests    = 20 // tools of a page that show theirs where the budget is too small for all
)

// shownDigests returns how many tools of a page show their digests: all that it
// shows, unless the servers have so many tools that the site would not fit.
func (b *builder) shownDigests() int {
	if b.newest.report.Population.Tools*toolDigests > digestsBudget {
		return fewDigests
	}
	return shownTools
}

// codes are what the files of the look-up have for each kind of package
// fingerprint, in its order: tools, then sets. They are never given to another
// kind.
const codes = "htarspmT"

// fingerprintKinds returns the kinds of package fingerprint. One beyond the codes
// has none, and a test says so.
func fingerprintKinds() (list []LookupKind) {
	for i, k := range fingerprint.Kinds()[:min(len(codes), len(fingerprint.Kinds()))] {
		of := "tool"
		if k.Set {
			of = "list"
		}
		list = append(list, LookupKind{codes[i : i+1], k.Title, of})
	}
	return list
}

// codeOf returns the code of a kind of digest of a tool, or of a set.
func codeOf(kind string, set bool) byte {
	i := slices.IndexFunc(fingerprint.Kinds(), func(k fingerprint.Kind) bool { return k.Name == kind && k.Set == set })
	if i < 0 || i >= len(codes) {
		return 0
	}
	return codes[i]
}

// noteContract enters the digests of a contract's list and tools, the budget
// allowing. The digest of a list is that of a whole one: where it is not known
// whether the list was read to its end it is left out.
func (h *history) noteContract(c *contract.Contract, version int) {
	if h.hashed <= 0 {
		return
	}
	if capture := h.versions[version].Capture; capture != nil || version == len(h.versions)-1 {
		for _, d := range fingerprint.OfSet(c, capture == nil && h.complete || capture != nil && capture.Pages.Complete) {
			h.digests.note(codeOf(d.Kind, true), d.Value, version)
		}
	}
	for _, t := range c.Tools {
		for _, d := range h.printsOf(t.Value) {
			h.digests.note(codeOf(d.Kind, false), d.Value, version)
		}
	}
}

// printsOf returns the digests of a tool. Most tools are in many versions: each is
// hashed once.
func (h *history) printsOf(tool *canon.Value) []fingerprint.Digest {
	text := canon.AppendCompact(nil, tool)
	h.hashed -= len(text)
	sum := canon.Sum(text)
	prints, ok := h.prints[sum]
	if !ok {
		prints = fingerprint.OfTool(tool)
		if h.prints == nil {
			h.prints = map[canon.Digest][]fingerprint.Digest{}
		}
		h.prints[sum] = prints
	}
	return prints
}

// digestsText writes digests for people: the name of the format and the digest as
// its record spells it, or the refusal, each on a line.
func digestsText(prints []fingerprint.Digest) string {
	var b strings.Builder
	for i, p := range prints {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Kind + " ")
		if p.Value == "" {
			b.WriteString("refused: " + p.Refused)
			continue
		}
		b.WriteString(p.Published)
	}
	return b.String()
}

// A digestsJSON has the digests of a contract. To be small it names the formats
// once: the first value of a tool is of the first format.
type digestsJSON struct {
	List  map[string]any `json:"list"`  // by format: 64 hex digits, or {"refused": code}
	Kinds []string       `json:"kinds"` // formats of what follows
	Tools [][]any        `json:"tools"` // of each element of the list, in its order; empty for what is no tool
}

// valueOf returns a digest as index.json has it.
func valueOf(p fingerprint.Digest) any {
	if p.Value == "" {
		return map[string]string{"refused": p.Refused}
	}
	return p.Value
}

// machineDigests returns the digests of a contract as index.json has them.
func (h *history) machineDigests(c *contract.Contract) *digestsJSON {
	out := &digestsJSON{List: map[string]any{}, Kinds: []string{}, Tools: [][]any{}}
	for _, p := range fingerprint.OfSet(c, h.complete) {
		out.List[p.Kind] = valueOf(p)
	}
	for _, e := range c.Elems {
		values := []any{}
		if e.Kind == canon.Object {
			for i, p := range h.printsOf(e) {
				if len(out.Kinds) == i {
					out.Kinds = append(out.Kinds, p.Kind)
				}
				values = append(values, valueOf(p))
			}
		}
		out.Tools = append(out.Tools, values)
	}
	return out
}
