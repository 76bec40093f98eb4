package site_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"golang.org/x/net/html"
)

// countItems returns how many elements of a kind stand below the parent of the
// element with an id.
func countItems(t *testing.T, root *html.Node, id, element string) (n int) {
	t.Helper()
	for c := range byID(t, root, id).Parent.Descendants() {
		if c.Type == html.ElementNode && c.Data == element {
			n++
		}
	}
	return n
}

// What is longer than a page shows is cut, says so and leads to where the rest is,
// and the figures of what is left are still those of the report.
func TestBoundsOfPages(t *testing.T) {
	const versions, operators, rows, events = 450, 230, 130, 350
	w := newWorld(t, "x/a", "x/b")
	w.run("2026-05-01", nil)
	w.set("x/a", `[{"name":"two"}]`)
	w.run("2026-05-02", nil)
	h := w.history().alone()
	p := *h.report
	p.Servers = map[string]*report.Server{}
	long := *h.report.Servers["x/a"]
	kinds := long.Versions
	long.Versions = nil
	for i := range versions {
		v := kinds[i%2]
		v.N, v.Ended, v.InForce = report.Count(i+1), "2026-05-02", false
		v.First, v.LastSame, v.Drift, v.Comparable = "2026-05-01", "2026-05-01", i > 0, true
		long.Versions = append(long.Versions, v)
	}
	last := &long.Versions[versions-1]
	last.Ended, last.First = "", "2026-05-02"
	for range 150 {
		long.Events = append(long.Events, report.ServerEvent{Day: "2026-05-02", Transition: report.Transition{Kind: record.EndpointMoved, Name: "x/a", From: "a", To: "b"}},
			report.ServerEvent{Day: "2026-05-02", Transition: report.Transition{Kind: record.Unstable, Name: "x/a"}},
			report.ServerEvent{Day: "2026-05-02", Transition: report.Transition{Kind: record.ServerChanged, Name: "x/a", From: "version 1", To: "version 2"}})
	}
	p.Servers["x/a"], p.Servers["x/b"] = &long, h.report.Servers["x/b"]
	p.Calendar = slices.Clone(h.report.Calendar)
	day := &p.Calendar[1]
	day.Changes = nil
	for i := range operators {
		g := report.Group{Operator: fmt.Sprintf("operator%c%c.example", 'a'+i/26, 'a'+i%26), Servers: 1, Changed: []report.Changed{{Index: 1, Name: "x/a"}}}
		if i == 0 {
			g.Changed = nil
			for j := range rows {
				g.Changed = append(g.Changed, report.Changed{Index: j + 1, Name: "x/a"})
			}
		}
		day.Changes = append(day.Changes, g)
	}
	day.Events = nil
	for i := range events {
		day.Events = append(day.Events, report.Transition{Kind: record.ClassChanged, Name: "x/a", From: "answered", To: []string{"timeout", "auth"}[i%2]})
	}
	day.Events = append(day.Events, report.Transition{Kind: record.Retired, Name: "x/b"})
	h.report = &p

	s := readSite(t, h.build(t, nil), h.report)
	checkFigures(t, s)
	checkAll(t, s)
	page := s.pages["changes/2026-05-02/index.html"]
	if n := countItems(t, page, "changed", "section"); n != 200 {
		t.Errorf("the page of the day has %d operators of %d, want 200", n, operators)
	}
	if n := countItems(t, page, "changed", "li"); n != 100+199 {
		t.Errorf("the page of the day has %d changes, want the first 100 of one operator and 199", n)
	}
	if n := countItems(t, page, "events", "li"); n != 300+1 {
		t.Errorf("the page of the day has %d other events of %d, want 300 and 1", n, events)
	}
	for n := range page.Descendants() {
		if class, _ := attr(n, "class"); class != "more" {
			continue
		}
		for c := range n.Descendants() {
			if to, ok := attr(c, "href"); ok && !strings.HasSuffix(to, "index.json") {
				t.Errorf("the page of a day says that more is at %s, want its JSON", to)
			}
		}
	}
	server := s.pages["s/x/a/index.html"]
	if n := countItems(t, server, "older", "tr"); n < 401 {
		t.Errorf("the page of a server with %d versions has %d rows of older ones, want 400", versions, n-1)
	}
	if n := countItems(t, server, "events", "li"); n != 100 {
		t.Errorf("the page of a server has %d other events of 150, want 100", n)
	}
	for _, id := range []string{"unstable", "handshake"} {
		if n := countItems(t, server, id, "li"); n != 100 {
			t.Errorf("the page of a server has %d entries beside %s of 150, want 100", n, id)
		}
	}
	for id, words := range map[string]string{"older": "Still older versions", "events": "Earlier events", "unstable": "Earlier ones", "handshake": "Earlier changes of it"} {
		if !strings.Contains(textOf(byID(t, server, id).Parent), words) {
			t.Errorf("the page of a server does not say that there is more beside %s", id)
		}
	}
}
