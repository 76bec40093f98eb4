package site

import (
	"cmp"
	"encoding/json"
	"html/template"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/chart"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/fingerprint"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/visible"
)

// Bounds of the page of a server; those of index.json beside it are wider.
const (
	shownVersions   = 20       // with their texts
	shownOlder      = 400      // as rows
	shownEvents     = 100      // other transitions
	shownTools      = 250      // of the contract
	shownParams     = 60       // of one tool
	shownText       = 4_000    // characters of one text
	shownHint       = 600      // characters of the description of a parameter
	toolBudget      = 600_000  // bytes of HTML that the texts of all tools may come to
	handshakeBudget = 300_000  // the same of what changed of handshakes
	hashedBytes     = 32 << 20 // of contracts whose tools are hashed for the look-up
)

// server writes the page of one server. It reads nothing but the report and what
// the tree holds of that server.
func (b *builder) server(name string) error {
	l := b.lineOf(name)
	s := l.report.Servers[name]
	p := b.page(l, ServerPath(name), name, "What the tools of one MCP server are, and how they changed.", "servers")
	p.Recorded = true
	p.NoIndex = len(s.Versions) == 0
	if s.Changes > 0 {
		p.Feed = p.Path + "feed.atom"
		if err := b.serverFeed(l, name, p.Feed); err != nil {
			return err
		}
	}
	m := ServerPage{Page: p, Name: name, Server: s, Thin: len(s.Versions) == 0, Row: l.rows[name]}
	m.Namespace, m.Short = splitName(name)
	machine := serverJSON{Head: b.head(p), Name: name, Report: s}
	if row, ok := l.rows[name]; ok {
		machine.Row = &row
	}
	m.Registry, machine.Registry = registryFacts(b.registry[name])
	strip, err := chart.Strip(l.report, name, chart.Form{ID: "strip", At: l.prefix})
	if err != nil {
		return err
	}
	m.Strip = drawing(strip)
	m.sortEvents(s.Events)
	m.Twice = secondReading(l.report.Methodology)
	if m.Row.Head != nil {
		m.Capture = string(record.Value(m.Row.Head.Capture))
	}
	if m.Against, err = b.against(l, name); err != nil {
		return err
	}
	h := &history{bodies: b.Bodies, versions: s.Versions, words: wordCost, shown: diffBudget, json: diffJSON, hashed: hashedBytes}
	h.complete = m.Row.Head != nil && m.Row.Head.Capture.Pages.Complete
	// The contract first: the history begins with the same one, and keeps it.
	if err := b.contract(&m, &machine, h); err != nil {
		return err
	}
	if machine.Versions, err = h.read(&m); err != nil {
		return err
	}
	b.enterDigests(name, h)
	return b.render("server.html", p, m, machine.line())
}

// sortEvents fills in the other transitions, newest first, each list cut.
func (m *ServerPage) sortEvents(all []report.ServerEvent) {
	budget := handshakeBudget
	for _, e := range slices.Backward(all) {
		list, more := &m.Events, &m.MoreEvents
		switch e.Kind {
		case record.ServerChanged:
			list, more = &m.Handshake, &m.MoreHandshake
			if budget -= handshakeSize(e); budget < 0 {
				*more = true
				continue
			}
		case record.Unstable:
			list, more = &m.Unstable, &m.MoreUnstable
		}
		if len(*list) == shownEvents {
			*more = true
			continue
		}
		*list = append(*list, e)
	}
}

// handshakeSize estimates the HTML that a change of a handshake comes to.
func handshakeSize(e report.ServerEvent) int {
	if e.Before == nil || e.After == nil {
		return htmlSize(e.From) + htmlSize(e.To)
	}
	n := 0
	for _, c := range handshakeChanges(e.Before, e.After) {
		n += htmlSize(c.What) + htmlSize(c.Before) + htmlSize(c.After)
	}
	return n
}

// handshakeChanges says what differs between what a server said of itself before
// and after.
func handshakeChanges(before, after *report.Handshake) (list []HandshakeChange) {
	add := func(what, before, after string) {
		if before != after {
			list = append(list, HandshakeChange{what, before, after})
		}
	}
	add("name", before.Name, after.Name)
	add("version", before.Version, after.Version)
	add("protocol", before.Negotiated, after.Negotiated)
	for _, c := range after.Capabilities {
		if !slices.Contains(before.Capabilities, c) {
			add("capability added:", "", c)
		}
	}
	for _, c := range before.Capabilities {
		if !slices.Contains(after.Capabilities, c) {
			add("capability removed:", c, "")
		}
	}
	add("instructions", string(before.Instructions), string(after.Instructions))
	return list
}

// secondReading reports whether a methodology reads again before a difference
// becomes the head.
func secondReading(version string) bool {
	m, ok := record.MethodologyByVersion(version)
	return ok && m.SecondReading
}

// against renders how the newest reading of a server under the other methodology
// differs, and nothing where it does not.
func (b *builder) against(l *line, name string) (template.HTML, error) {
	o := b.other(l)
	if o == nil || o.report.Servers[name] == nil {
		return "", nil
	}
	row, ok := l.rows[name]
	was, both := o.rows[name]
	if !ok || !both || row.Retired != "" || l.report.AsOf != o.report.AsOf {
		return "", nil
	}
	r := OtherReading{Page: b.page(o, ServerPath(name), "", "", ""), Name: name, Server: o.report.Servers[name]}
	r.State = row.ErrorClass != was.ErrorClass || row.ErrorDetail != was.ErrorDetail
	if row.ErrorClass == record.Success && was.ErrorClass == record.Success && row.Head != nil && was.Head != nil {
		r.Identity = common(was.Head)
		r.Contract = common(row.Head) != r.Identity
		r.Capture = row.Head.Capture.Differs(was.Head.Capture)
	}
	if !r.State && !r.Contract {
		return "", nil
	}
	return o.piece("server.html", "against", r)
}

// common returns the identity of a head in the canonical form that all
// methodologies have.
func common(h *record.Head) canon.Digest { return cmp.Or(h.Ordered, h.Identity) }

// contract fills in the contract in force, or last read.
func (b *builder) contract(m *ServerPage, machine *serverJSON, h *history) error {
	head := m.Row.Head
	if head == nil {
		return nil
	}
	m.Contract = "data/" + archive.ContractPath(m.Report.Methodology, m.Name)
	m.Digests = headDigests(head)
	machine.Contract = &contractJSON{Path: m.Contract, Tools: []json.RawMessage{}}
	c, gone, err := h.at(head.Artifacts)
	switch {
	case err != nil:
		return err
	case gone != "":
		m.NoTools, machine.Contract.Unshown = gone, gone
		return nil
	}
	left := toolsJSON
	for _, e := range c.Elems {
		tool := canon.AppendCompact(nil, e)
		if left -= len(tool); left < 0 {
			machine.Contract.Tools, machine.Contract.Unshown = []json.RawMessage{}, toolsWords
			break
		}
		machine.Contract.Tools = append(machine.Contract.Tools, tool)
	}
	if machine.Contract.Unshown == "" {
		machine.Contract.Digests = h.machineDigests(c)
	}
	m.Tools, m.MoreTools = toolViews(c, sinceOf(m.Server.Versions))
	shown := b.shownDigests()
	for i := range m.Tools[:min(len(m.Tools), shown)] {
		m.Tools[i].Digests = digestsText(h.printsOf(c.Tools[i].Value))
	}
	for _, p := range fingerprint.OfSet(c, h.complete) {
		m.ListDigests = append(m.ListDigests, digestsText([]fingerprint.Digest{p}))
	}
	m.MoreDigests = len(m.Tools) > shown && m.Tools[0].Digests != ""
	return nil
}

// headDigests names the digests of a head.
func headDigests(h *record.Head) []Digest {
	d := []Digest{{"Identity", string(h.Identity)}}
	if h.Ordered != "" {
		d = append(d, Digest{"Identity where order counts", string(h.Ordered)})
	}
	for i, a := range h.Artifacts {
		what := "Body"
		if i > 0 {
			what = "Body of a further page"
		}
		d = append(d, Digest{what, string(a)})
	}
	return d
}

// official is where the registry keeps its own remarks on a row.
const official = "io.modelcontextprotocol.registry/official"

// registryFacts reads what the rows of a name say. Of several rows it takes the
// one marked as the latest, else the last listed.
func registryFacts(rows []string) (Registry, registryJSON) {
	out := registryJSON{Links: []string{}, Rows: []string{}}
	left := rowsJSON
	for _, row := range rows {
		if left -= len(row); left < 0 {
			out.Cut = true
			break
		}
		out.Rows = append(out.Rows, row)
	}
	var chosen map[string]json.RawMessage
	for _, row := range rows {
		all, err := record.Members([]byte(row))
		if err != nil {
			continue
		}
		server, err := record.Members(all["server"])
		if err != nil {
			continue
		}
		chosen = server
		meta, _ := record.Members(all["_meta"]) // an unmarked row is still a row
		marks, _ := record.Members(meta[official])
		if string(marks["isLatest"]) == "true" {
			break
		}
	}
	text := func(name string, most int) string {
		s, cut := firstChars(stringText(chosen[name]), most)
		out.Cut = out.Cut || cut
		return s
	}
	out.Title, out.Description, out.Version = text("title", shownCell), text("description", shownText), text("version", shownCell)
	facts := Registry{Title: out.Title, Description: out.Description, Version: out.Version}
	repository, _ := record.Members(chosen["repository"]) // nil without one
	for _, l := range []struct{ what, address string }{
		{"Repository", stringText(repository["url"])}, {"Website", stringText(chosen["websiteUrl"])},
	} {
		if l.address == "" || len(l.address) > shownText {
			continue
		}
		out.Links = append(out.Links, l.address)
		if link, err := newLink(l.what, l.address); err == nil {
			facts.Links = append(facts.Links, link)
		}
	}
	return facts, out
}

// stringText returns the text of a JSON string, and "" for anything else.
func stringText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// toolViews returns the tools of a contract as the page shows them, by name in
// the order of the list, and whether some are left out.
func toolViews(c *contract.Contract, since map[string]int) (views []Tool, more bool) {
	budget := toolBudget
	for _, t := range c.Tools {
		if len(views) == shownTools || budget < 0 {
			return views, true
		}
		v := Tool{Name: t.Name, Since: since[t.Name], Title: stringOf(t.Value.Get("title"))}
		annotations := t.Value.Get("annotations")
		if v.Title == "" {
			v.Title = stringOf(annotations.Get("title"))
		}
		v.Description, v.Cut = firstChars(stringOf(t.Value.Get("description")), shownText)
		v.Hidden = visible.Hidden(v.Name)+visible.Hidden(v.Title)+visible.Hidden(v.Description) > 0
		v.Output = t.Value.Get("outputSchema") != nil
		if annotations != nil {
			for _, a := range annotations.Members[:min(len(annotations.Members), shownParams)] {
				if a.Name != "title" {
					v.Annotations = append(v.Annotations, cutText(a.Name+": "+string(canon.AppendCompact(nil, a.Value)), shownHint))
				}
			}
		}
		v.Params, v.MoreParams = params(t.Value.Get("inputSchema"))
		views = append(views, v)
		budget -= v.size()
	}
	return views, false
}

// size estimates the HTML that the texts of a tool come to.
func (t Tool) size() int {
	n := htmlSize(t.Name) + htmlSize(t.Title) + htmlSize(t.Description)
	for _, p := range t.Params {
		n += htmlSize(p.Name) + htmlSize(p.Description)
	}
	for _, a := range t.Annotations {
		n += htmlSize(a)
	}
	return n
}

// htmlSize estimates the HTML of a text: a chip takes some 60 bytes.
func htmlSize(s string) int { return 60 + len(s) + 60*visible.Hidden(s) }

// params returns the top-level properties of an input schema, in its order.
func params(schema *canon.Value) (list []Param, more bool) {
	properties := schema.Get("properties")
	if properties == nil {
		return nil, false
	}
	required := map[string]bool{}
	if r := schema.Get("required"); r != nil {
		for _, e := range r.Elems {
			required[stringOf(e)] = true
		}
	}
	for _, m := range properties.Members {
		if len(list) == shownParams {
			return list, true
		}
		list = append(list, Param{
			Name: m.Name, Type: typeOf(m.Value), Required: required[m.Name],
			Description: cutText(stringOf(m.Value.Get("description")), shownHint),
		})
	}
	return list, false
}

// typeOf words the type of a schema: of an array with the type of its elements,
// of a choice between constants these.
func typeOf(schema *canon.Value) string {
	const longest = 120
	t := schema.Get("type")
	switch {
	case t == nil && schema.Get("enum") != nil:
		return cutText("one of "+string(canon.AppendCompact(nil, schema.Get("enum"))), longest)
	case t == nil:
		return ""
	case t.Kind == canon.Array:
		var names []string
		for _, e := range t.Elems[:min(len(t.Elems), 8)] {
			names = append(names, stringOf(e))
		}
		return cutText(strings.Join(names, " or "), longest)
	case stringOf(t) == "array":
		if of := stringOf(schema.Get("items").Get("type")); of != "" {
			return cutText("array of "+of, longest)
		}
	}
	return cutText(stringOf(t), longest)
}

// stringOf returns the text of a value that is a string, and "" for any other.
func stringOf(v *canon.Value) string {
	if v == nil || v.Kind != canon.String {
		return ""
	}
	return v.Text
}
