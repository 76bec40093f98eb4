package site_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/site"
)

// twoLines returns a history of some days under two methodologies: the second is
// the first with another name, from the second day on, and reads x/b otherwise.
func twoLines(t *testing.T) *history {
	t.Helper()
	w := newWorld(t, "x/a", "x/b", "x/c")
	w.run("2026-05-01", nil)
	w.set("x/a", `[{"name":"two"}]`)
	w.run("2026-05-02", nil)
	w.run("2026-05-04", nil)
	h := w.history().alone()
	v1 := h.report.Report
	v2 := v1
	v2.Methodology = "v2"
	v2.First = "2026-05-02"
	v2.Calendar = v1.Calendar[1:]
	v2.Population.Changes = 77
	v2.Servers = maps.Clone(v1.Servers)
	b := *v1.Servers["x/b"]
	tools := report.Count(5)
	b.Tools = &tools
	b.Events = append(slices.Clone(b.Events),
		report.ServerEvent{Day: "2026-05-02", Transition: report.Transition{Kind: record.Unstable, Name: "x/b"}},
		report.ServerEvent{Day: "2026-05-04", Transition: report.Transition{Kind: record.ServerChanged, Name: "x/b", From: "version 1", To: "version 2"}})
	v2.Servers["x/b"] = &b
	a := *v1.Servers["x/a"]
	a.Versions = slices.Clone(a.Versions)
	other := &a.Versions[1]
	other.Drift, other.Comparable, other.Differs, other.ConfirmedOn = false, false, []string{"protocol.negotiated"}, ""
	v2.Servers["x/a"] = &a
	c := *v1.Servers["x/c"]
	c.Versions, c.Tools, c.State = nil, nil, "auth" // only the series of record has a contract of it
	v2.Servers["x/c"] = &c
	h.report.Lines = map[string]*report.Report{"v2": &v2}
	h.report.Readings = &report.Readings{
		Both: 3, Day: "2026-05-04", First: "v1", Second: "v2",
		Different: report.Share{N: 2, Of: 3}, Failed: report.Share{Of: 3}, Same: report.Share{N: 1, Of: 3},
		Causes: readingCauses(),
	}
	copyRows(t, filepath.Join(h.root, "data"))
	return h
}

// readingCauses returns two servers under two causes, and no server under the
// others.
func readingCauses() (list []report.ReadingCause) {
	for _, def := range record.Causes {
		if def.Launched {
			continue
		}
		c := report.ReadingCause{Cause: def.Cause, Share: report.Share{Of: 2}}
		one, five := report.Count(1), report.Count(5)
		switch def.Cause {
		case record.CausePageOne:
			c.Servers = []report.ReadDifferently{{Name: "x/b", Differs: []string{"pages.complete"}, First: report.ReadingSide{State: "answered", Tools: &one}, Second: report.ReadingSide{State: "answered", Tools: &five}}}
			c.Share.N = 1
		case record.CauseFailed:
			c.Servers = []report.ReadDifferently{{Name: "x/c", First: report.ReadingSide{State: "answered", Tools: &one}, Second: report.ReadingSide{State: "auth", Detail: "waf"}}}
			c.Share.N = 1
		}
		list = append(list, c)
	}
	return list
}

// copyRows writes the newest rows of v1 as those of v2, that of x/b read to its
// end.
func copyRows(t *testing.T, data string) {
	t.Helper()
	from, to := filepath.Join(data, archive.Dir, "current", "v1"), filepath.Join(data, archive.Dir, "current", "v2")
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(to, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var out strings.Builder
		for line := range strings.Lines(string(b)) {
			var o record.Observation
			if err := record.Decode([]byte(line), &o); err != nil {
				return err
			}
			if o.Head != nil {
				o.Head.Identity, o.Head.Ordered = o.Head.Ordered, ""
			}
			if o.Name == "x/b" {
				o.Head.Capture.Protocol.Negotiated, o.Head.Capture.Protocol.VersionHeader = "2025-11-25", true
				o.Head.Identity = canon.Sum([]byte("another"))
				o.Head.Unstable = "2026-05-02"
			}
			out.Write(record.Line(o))
		}
		return os.WriteFile(name, []byte(out.String()), 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Each page shows one methodology and says which; a piece of the other line has
// its figures from there.
func TestTwoLines(t *testing.T) {
	h := twoLines(t)
	dir := h.build(t, nil)
	s := readSite(t, dir, h.report)
	checkFewFigures(t, s)
	checkAll(t, s)
	tests := []struct {
		page       string
		has, lacks []string // prefixes of pointers
	}{
		{"index.html", []string{"/population/listed", "/half_life/intervals", "/classes/0", "/lines/v2/calendar/", "/lines/v2/population/changes"}, []string{"/calendar/2/drift", "/calendar/2/answered", "/lines/v2/half_life", "/lines/v2/classes"}},
		{"half-life/index.html", []string{"/half_life/", "/lines/v2/half_life/half_life/value"}, []string{"/lines/v2/half_life/lines", "/lines/v2/half_life/estimate"}},
		{"changes/index.html", []string{"/lines/v2/calendar/0/drift", "/calendar/0/drift"}, []string{"/calendar/1", "/calendar/2"}},
		{"changes/2026-05-01/index.html", []string{"/calendar/0/"}, []string{"/lines/"}},
		{"changes/2026-05-02/index.html", []string{"/lines/v2/calendar/0/"}, []string{"/calendar/"}},
		{"servers/index.html", []string{"/lines/v2/servers/x~1b/tools"}, []string{"/servers/"}},
		{"s/x/a/index.html", []string{"/lines/v2/servers/x~1a/"}, []string{"/servers/"}},
		{"s/x/b/index.html", []string{"/lines/v2/servers/x~1b/tools", "/servers/x~1b/tools"}, nil},
		{"s/x/c/index.html", []string{"/servers/x~1c/versions/0/n"}, []string{"/lines/"}},
		{"capture/index.html", []string{"/readings/both", "/readings/causes/0/servers/0/first/tools"}, []string{"/population"}},
	}
	home := strings.Join(strings.Fields(textOf(s.pages["index.html"])), " ")
	for _, w := range []string{"What changed day by day is told under methodology v2, the figures above and who answers under v1", "under methodology v2"} {
		if !strings.Contains(home, w) {
			t.Errorf("the home page does not say which line its counts are of: %q", w)
		}
	}
	for _, tt := range tests {
		var pointers []string
		for n := range s.pages[tt.page].Descendants() {
			if p, ok := attr(n, "data-figure"); ok {
				pointers = append(pointers, p)
			}
		}
		starts := func(prefix string) bool {
			return slices.ContainsFunc(pointers, func(p string) bool { return strings.HasPrefix(p, prefix) })
		}
		for _, prefix := range tt.has {
			if !starts(prefix) {
				t.Errorf("%s has no figure of %s", tt.page, prefix)
			}
		}
		for _, prefix := range tt.lacks {
			if starts(prefix) {
				t.Errorf("%s has a figure of %s", tt.page, prefix)
			}
		}
	}
	sameTree(t, dir, h.build(t, func(c *site.Config) { c.Workers = 1 }))
}

func sameTree(t *testing.T, a, b string) {
	t.Helper()
	if x, y := files(t, a), files(t, b); !maps.Equal(x, y) {
		t.Errorf("two builds differ: %d and %d files", len(x), len(y))
	}
}

// What the page of a server says of the conditions of its readings.
func TestConditionsOnServerPage(t *testing.T) {
	h := twoLines(t)
	s := readSite(t, h.build(t, nil), h.report)
	page := s.pages["s/x/b/index.html"]
	for id, words := range map[string][]string{
		"capture":   {"protocol.negotiated", "2025-11-25", "protocol.versionHeader", "yes", "pages.complete", "clientCapabilities", "nothing declared"},
		"handshake": {"Capabilities", "tools", "version 1", "version 2"},
		"unstable":  {"2 May 2026"},
	} {
		text := textOf(byID(t, page, id).Parent)
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("the section %s lacks %q: %s", id, w, text)
			}
		}
	}
	text := strings.Join(strings.Fields(textOf(byID(t, page, "content"))), " ")
	for _, w := range []string{"Read under methodology v1 on the same day", "another contract", "protocol.negotiated, protocol.versionHeader"} {
		if !strings.Contains(text, w) {
			t.Errorf("the page does not say %q", w)
		}
	}
	before := strings.Join(strings.Fields(textOf(byID(t, s.pages["s/x/a/index.html"], "v1"))), " ")
	if !strings.Contains(before, "last read on 1 May 2026") || strings.Contains(before, "lasted") {
		t.Errorf("of a version that a capture difference followed the page says how long it lasted, which nobody knows: %s", before)
	}
	version := strings.Join(strings.Fields(textOf(byID(t, s.pages["s/x/a/index.html"], "v2"))), " ")
	for w, want := range map[string]bool{"capture difference": true, "(protocol.negotiated)": true, "counts as no change": true, "counts it as a change": false, "confirmed": false} {
		if strings.Contains(version, w) != want {
			t.Errorf("the version that differs by how it was read says %q: %v, want %v: %s", w, !want, want, version)
		}
	}
	if text := textOf(byID(t, s.pages["s/x/a/index.html"], "content")); strings.Contains(text, "Read under methodology") {
		t.Error("the page of a server that both read alike says that they differ")
	}
}
