package feed

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/visible"
)

const base = "https://mcpstrata.github.io/mcpstrata/"

func page(name string) string {
	namespace, rest, _ := strings.Cut(name, "/")
	return "s/" + url.PathEscape(namespace) + "/" + url.PathEscape(rest) + "/"
}

func at(day record.Day) record.Time { return record.At(day.Time().Add(4 * time.Hour)) }

func identity(s string) canon.Digest { return canon.Sum([]byte(s)) }

// version returns a confirmed, comparable change of class substantive.
func version(n int, first record.Day, changes ...record.ToolChange) report.Version {
	return report.Version{
		N: report.Count(n), First: first, Confirmed: true, Comparable: true, Changes: changes,
		Classes: []string{"substantive"}, Identity: identity(fmt.Sprintf("%d %s", n, first)),
	}
}

func added(name string) record.ToolChange   { return record.ToolChange{Kind: "added", Name: name} }
func removed(name string) record.ToolChange { return record.ToolChange{Kind: "removed", Name: name} }
func changed(name string, members ...string) record.ToolChange {
	return record.ToolChange{Kind: "changed", Name: name, Members: members}
}

func small() *report.Report {
	first := version(1, "2026-01-01")
	numbers := version(3, "2026-01-05", changed("forecast", "description"))
	numbers.Classes = []string{"numbers_only"}
	unconfirmed := version(5, "2026-01-09", added("late"))
	unconfirmed.Confirmed = false
	return &report.Report{
		Series: "mcp-schema", Methodology: "v1", AsOf: "2026-01-09", AsOfTime: at("2026-01-09"),
		Servers: map[string]*report.Server{
			"com.example/weather": {Versions: []report.Version{
				first,
				version(2, "2026-01-03", added("radar"), changed("forecast", "description", "inputSchema")),
				numbers,
				version(4, "2026-01-07", removed("radar")),
				unconfirmed,
			}},
			"com.example/notes":   {Versions: []report.Version{first, version(2, "2026-01-07", added("write"))}},
			"com.example/nothing": {},
		},
	}
}

func TestWhichChanges(t *testing.T) {
	tests := []struct {
		name   string
		server string
		want   []string
	}{
		{"all: confirmed and substantive, newest first, then by name", "", []string{
			"com.example/notes adds write", "com.example/weather removes radar", "com.example/weather adds radar; changes forecast"}},
		{"one: all that are confirmed", "com.example/weather", []string{
			"com.example/weather removes radar", "com.example/weather changes forecast", "com.example/weather adds radar; changes forecast"}},
		{"one that never answered", "com.example/nothing", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, j := both(t, small(), Selection{Server: tt.server, Page: page})
			var got []string
			for _, e := range a.Entries {
				got = append(got, e.Title)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("titles (-want +got):\n%s", d)
			}
			for i, item := range j.Items {
				if item.Title != got[i] {
					t.Errorf("item %d of the JSON Feed is %q, of Atom %q", i, item.Title, got[i])
				}
			}
		})
	}
}

// A capture difference is in no feed where the methodology counts it as no change.
func TestCaptureDifference(t *testing.T) {
	for _, counted := range []bool{true, false} {
		r := small()
		other := version(3, "2026-01-08", added("page"))
		other.Comparable, other.Drift = false, counted
		notes := r.Servers["com.example/notes"]
		notes.Versions = append(notes.Versions, other)
		for _, server := range []string{"", "com.example/notes"} {
			a, j := both(t, r, Selection{Server: server, Page: page})
			found := 0
			for _, e := range a.Entries {
				if e.Title == "com.example/notes read under other conditions: adds page" {
					found++
				}
			}
			if want := map[bool]int{true: 1}[counted]; found != want || len(j.Items) != len(a.Entries) {
				t.Errorf("counted %v: the feed of %q has %d entries of the difference, want %d", counted, server, found, want)
			}
		}
	}
}

// Two changes that cancel out are in no feed: the first was never confirmed, and the
// second is the contract from before.
func TestJoined(t *testing.T) {
	r := small()
	back := version(3, "2026-01-08", added("page"))
	back.Joined, back.ReturnOf = true, 1
	notes := r.Servers["com.example/notes"]
	notes.Versions = append(notes.Versions, back)
	a, _ := both(t, r, Selection{Server: "com.example/notes", Page: page})
	if len(a.Entries) != 1 || a.Entries[0].Title != "com.example/notes adds write" {
		t.Errorf("the feed has %d entries, want the one change before", len(a.Entries))
	}
}

func TestEntry(t *testing.T) {
	a, j := both(t, small(), Selection{Page: page})
	want := atomEntry{
		ID:         "tag:mcpstrata.github.io,2026:mcp-schema/v1/s/com.example%2Fnotes/2026-01-07/02827410fc9a63bf",
		Title:      "com.example/notes adds write",
		Updated:    "2026-01-07T00:00:00Z",
		Link:       atomLink{"alternate", "text/html", base + "s/com.example/notes/#v2"},
		Categories: []atomCategory{{"substantive"}},
		Summary:    "Tools added: write. First read on 2026-01-07. Class: substantive.",
	}
	if d := cmp.Diff(want, a.Entries[0]); d != "" {
		t.Errorf("Atom entry (-want +got):\n%s", d)
	}
	item := jsonItem{ID: want.ID, URL: want.Link.Href, Title: want.Title, Text: want.Summary, Published: want.Updated, Tags: []string{"substantive"}}
	if d := cmp.Diff(item, j.Items[0]); d != "" {
		t.Errorf("item (-want +got):\n%s", d)
	}
}

// An id says what a change is, and nothing of where it is published or what
// stands beside it.
func TestIDsAreStable(t *testing.T) {
	before, _ := both(t, small(), Selection{Page: page})
	later := small()
	later.AsOf, later.AsOfTime = "2026-02-01", at("2026-02-01")
	later.Servers["com.example/weather"].Versions[4].Confirmed = true
	later.Servers["a.new/one"] = &report.Server{Versions: []report.Version{version(1, "2026-01-06"), version(2, "2026-01-07")}}
	b, err := Atom(later, "http://localhost:8080/", "feed.atom", Selection{Page: func(string) string { return "elsewhere/" }})
	if err != nil {
		t.Fatal(err)
	}
	after := readAtom(t, b)
	ids := map[string]bool{after.ID: true}
	for _, e := range after.Entries {
		ids[e.ID] = true
	}
	if len(ids) != len(before.Entries)+3 {
		t.Errorf("%d ids, want that of the feed, %d as before and 2 new ones", len(ids), len(before.Entries))
	}
	for _, id := range []string{before.ID, before.Entries[0].ID, before.Entries[1].ID, before.Entries[2].ID} {
		if !ids[id] {
			t.Errorf("the id %s is gone", id)
		}
	}
	simulated := small()
	simulated.Simulated = true
	a, _ := both(t, simulated, Selection{Page: page})
	if ids[a.Entries[0].ID] || ids[a.ID] || !strings.Contains(a.Title, "simulated") {
		t.Errorf("a simulated feed %q has the ids of the real one: %s, %s", a.Title, a.ID, a.Entries[0].ID)
	}
}

// A change is as new as its confirmation, and its id is not.
func TestConfirmedLater(t *testing.T) {
	r := small()
	v := &r.Servers["com.example/weather"].Versions[1]
	before, _ := both(t, r, Selection{Page: page})
	v.ConfirmedOn = "2026-01-08"
	after, _ := both(t, r, Selection{Page: page})
	got, was := after.Entries[0], before.Entries[2]
	if got.ID != was.ID || got.Updated != "2026-01-08T00:00:00Z" || was.Updated != "2026-01-03T00:00:00Z" {
		t.Errorf("the newest entry is %s of %s, want %s of 8 January", got.ID, got.Updated, was.ID)
	}
	if want := "First read on 2026-01-03; confirmed on 2026-01-08."; !strings.Contains(got.Summary, want) {
		t.Errorf("summary = %q, want %q in it", got.Summary, want)
	}
}

func TestSummary(t *testing.T) {
	tests := []struct {
		name    string
		version func(v *report.Version)
		title   string
		want    string
	}{
		{"members", func(v *report.Version) {
			v.Changes = []record.ToolChange{changed("a", "description", "inputSchema"), removed("b")}
		},
			"x/y removes b; changes a",
			"Tools removed: b. Tools changed: a (description, inputSchema). First read on 2026-01-02. Class: substantive."},
		{"renamed", func(v *report.Version) { v.Changes = []record.ToolChange{{Kind: "renamed", Name: "new", Old: "old"}} },
			"x/y renames old to new",
			"Tools renamed: old to new. First read on 2026-01-02. Class: substantive."},
		{"after a gap", func(v *report.Version) { v.Changes, v.LastSame = []record.ToolChange{added("a")}, "2025-12-20" },
			"x/y adds a",
			"Tools added: a. First read on 2026-01-02; the contract before was last read on 2025-12-20. Class: substantive."},
		{"a return", func(v *report.Version) { v.Changes, v.ReturnOf = []record.ToolChange{added("a")}, 1 },
			"x/y adds a",
			"Tools added: a. First read on 2026-01-02. Class: substantive. It is the contract of version 1 again."},
		{"other conditions", func(v *report.Version) {
			v.Changes, v.Comparable, v.Differs = []record.ToolChange{added("a")}, false, []string{"protocol.negotiated"}
		},
			"x/y read under other conditions: adds a",
			"Tools added: a. First read on 2026-01-02. Class: substantive. The two were read under different conditions (protocol.negotiated), so the difference may lie in how the server was read."},
		{"order only", func(v *report.Version) { v.Classes = []string{"reordered_only"} },
			"x/y changes the order of its list only",
			"It changes the order of its list only. First read on 2026-01-02. Class: reordered_only."},
		{"what is no tool", func(*report.Version) {},
			"x/y changes what is no tool in its list",
			"It changes what is no tool in its list. First read on 2026-01-02. Class: substantive."},
		{"a body removed on request", func(v *report.Version) { v.Classes = nil },
			"x/y changes in what is no longer on record",
			"It changes in what is no longer on record. First read on 2026-01-02."},
		{"between two runs of the first day", func(v *report.Version) { v.Classes, v.First, v.LastSame = nil, "2026-01-01", "2026-01-01" },
			"x/y changes between two runs of the first day",
			"It changes between two runs of the first day; its page compares the two contracts. First read on 2026-01-01; the contract before was last read on 2026-01-01."},
		{"between two runs of another day, a body removed", func(v *report.Version) { v.Classes, v.LastSame = nil, v.First },
			"x/y changes in what is no longer on record",
			"It changes in what is no longer on record. First read on 2026-01-02; the contract before was last read on 2026-01-02."},
		{"no name", func(v *report.Version) { v.Changes = []record.ToolChange{added("")} },
			"x/y adds (no name)",
			"Tools added: (no name). First read on 2026-01-02. Class: substantive."},
		{"four tools", func(v *report.Version) {
			v.Changes = []record.ToolChange{added("a"), added("b"), added("c"), added("d")}
		},
			"x/y adds a, b, c and 1 more",
			"Tools added: a, b, c, d. First read on 2026-01-02. Class: substantive."},
		{"more than the report names", func(v *report.Version) {
			v.Changes, v.ChangesCut = []record.ToolChange{added("a"), {Kind: "renamed", Name: "new", Old: "old"}}, true
			v.Added, v.Removed, v.Changed = 1200, 1, 3
		},
			"x/y adds a and 1,199 more; removes 1 tool; renames old to new; changes 2 tools",
			"Tools added: a and 1,199 more. Tools removed: 1 tool. Tools renamed: old to new. Tools changed: 2 tools. First read on 2026-01-02. Class: substantive."},
		{"a name that could be our words", func(v *report.Version) { v.Changes = []record.ToolChange{added("a. Tools removed: b”")} },
			`x/y adds “a. Tools removed: b\””`,
			`Tools added: “a. Tools removed: b\””. First read on 2026-01-02. Class: substantive.`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := version(2, "2026-01-02")
			tt.version(&v)
			if got := title("x/y", &v, "2026-01-01"); got != tt.title {
				t.Errorf("title = %q, want %q", got, tt.title)
			}
			if got := summary(&v, "2026-01-01"); got != tt.want {
				t.Errorf("summary = %q, want %q", got, tt.want)
			}
		})
	}
}

// A name is cut between its characters, never inside a chip.
func TestCutNames(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", strings.Repeat("n", maxName+1), "“" + strings.Repeat("n", maxName) + "…”"},
		{"short", "com.example/x", "com.example/x"},
		{"chips", strings.Repeat("\u202e", 50), "“" + strings.Repeat(visible.Line("\u202e"), maxName/utf8.RuneCountInString(visible.Line("\u202e"))) + "…”"},
	}
	for _, tt := range tests {
		if got := named(tt.in); got != tt.want {
			t.Errorf("%s: named(%.20q…) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

// What others wrote stays text, whatever it is.
func TestHostileNames(t *testing.T) {
	names := []string{
		`com.example/<script>alert(1)</script>`, `x/]]><evil/>`, `x/&amp;"'`, "x/\u202egnp.exe", "x/\U000E0041\U000E0042",
		"x/\x1b[31m", "x/\x00\x01\ufffe\uffff", "x/a\xff\xfe", "x/../../..", "x/javascript:alert(1)", "x/ü中文", "x/?q#f%2F", strings.Repeat("x/", 4000),
	}
	r := small()
	r.Servers = map[string]*report.Server{}
	for _, n := range names {
		r.Servers[n] = &report.Server{Versions: []report.Version{version(1, "2026-01-01"),
			version(2, "2026-01-02", added(n), removed(n), changed(n, n, "description"))}}
	}
	a, _ := both(t, r, Selection{Page: page})
	if len(a.Entries) != len(names) {
		t.Fatalf("%d entries, want %d", len(a.Entries), len(names))
	}
	for _, e := range a.Entries {
		for what, s := range map[string]string{"title": e.Title, "summary": e.Summary} {
			if n := visible.Hidden(s); n != 0 || strings.ContainsAny(s, "\n\t") {
				t.Errorf("%s %q holds %d hidden characters, or more than a line", what, s, n)
			}
			if len(s) > 4000 {
				t.Errorf("%s has %d bytes", what, len(s))
			}
		}
	}
	for _, n := range names {
		a, _ := both(t, r, Selection{Server: n, Page: page})
		if len(a.Entries) != 1 {
			t.Errorf("the feed of %q has %d entries", n, len(a.Entries))
		}
	}
}

func TestBounds(t *testing.T) {
	r := small()
	var versions []report.Version
	day := record.Day("2020-01-01").Time()
	for n := range 150 {
		versions = append(versions, version(n+1, record.DayOf(day.AddDate(0, 0, n)), added("tool")))
	}
	var many []record.ToolChange
	for n := range 10_000 {
		c := changed(fmt.Sprint("tool", n), make([]string, 1000)...)
		many = append(many, c)
	}
	versions[149].Changes = many
	r.Servers = map[string]*report.Server{"com.example/busy": {Versions: versions}}
	for _, server := range []string{"", "com.example/busy"} {
		a, j := both(t, r, Selection{Server: server, Page: page})
		if len(a.Entries) != MaxEntries || len(j.Items) != MaxEntries {
			t.Errorf("feed of %q has %d and %d entries, want %d", server, len(a.Entries), len(j.Items), MaxEntries)
		}
		if got := a.Entries[0].Link.Href; !strings.HasSuffix(got, "#v150") {
			t.Errorf("the newest entry is %s, want version 150", got)
		}
		if got := a.Entries[0].Title; got != "com.example/busy changes tool0, tool1, tool2 and 9,997 more" {
			t.Errorf("title = %q", got)
		}
		if n := len(a.Entries[0].Summary); n > 20_000 {
			t.Errorf("the summary has %d bytes", n)
		}
	}
}

// A report without servers is a feed without entries, and valid.
func TestEmptyReport(t *testing.T) {
	a, j := both(t, &report.Report{Series: "mcp-schema", Methodology: "v1"}, Selection{Page: page})
	if len(a.Entries) != 0 || len(j.Items) != 0 || j.Items == nil {
		t.Errorf("entries %v, items %v, want none, and items a list", a.Entries, j.Items)
	}
}

func TestRefused(t *testing.T) {
	tests := []struct {
		name, base, server string
	}{
		{"no base", "", ""},
		{"a path", "/mcpstrata/", ""},
		{"no final slash", "https://example.com/x", ""},
		{"a query", "https://example.com/?a", ""},
		{"not a URL", "https://exa mple.com/", ""},
		{"an unknown server", base, "com.example/other"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Selection{Server: tt.server, Page: page}
			if b, err := Atom(small(), tt.base, "x.atom", s); err == nil {
				t.Errorf("Atom = %s, want an error", b)
			}
			if b, err := JSON(small(), tt.base, "x.json", s); err == nil {
				t.Errorf("JSON = %s, want an error", b)
			}
		})
	}
}

// both returns the two feeds, read back, after it held them against their rules
// and against a second writing.
func both(t *testing.T, r *report.Report, s Selection) (atomFeed, jsonFeed) {
	t.Helper()
	a, err := Atom(r, base, "changes.atom", s)
	if err != nil {
		t.Fatal(err)
	}
	j, err := JSON(r, base, "changes.json", s)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 { // maps are walked in another order each time
		a2, _ := Atom(r, base, "changes.atom", s)
		j2, _ := JSON(r, base, "changes.json", s)
		if string(a) != string(a2) || string(j) != string(j2) {
			t.Fatal("a second writing gives other bytes")
		}
	}
	feed := readAtom(t, a)
	checkAtom(t, feed)
	return feed, checkJSON(t, j)
}

// readAtom reads an Atom document, every token of it.
func readAtom(t *testing.T, b []byte) (f atomFeed) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(string(b)))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, b)
		}
	}
	if err := xml.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

var (
	tagURI    = regexp.MustCompile(`^tag:mcpstrata\.github\.io,2026:([A-Za-z0-9._~-]|%[0-9A-F]{2}|/)+$`)
	timestamp = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$`)
)

// checkAtom holds a feed against RFC 4287, 4.1.1 and 4.1.2.
func checkAtom(t *testing.T, f atomFeed) {
	t.Helper()
	if f.XMLName.Space != "http://www.w3.org/2005/Atom" || f.XMLName.Local != "feed" {
		t.Errorf("the document is %v", f.XMLName)
	}
	if !tagURI.MatchString(f.ID) || f.Title == "" || !timestamp.MatchString(f.Updated) || f.Author.Name == "" {
		t.Errorf("the feed lacks id, title, updated or author: %q, %q, %q, %q", f.ID, f.Title, f.Updated, f.Author.Name)
	}
	rels := map[string]int{}
	for _, l := range f.Links {
		rels[l.Rel]++
		checkURL(t, l.Href)
	}
	if rels["self"] != 1 || rels["alternate"] != 1 {
		t.Errorf("links = %v, want one self and one alternate", f.Links)
	}
	ids := map[string]bool{f.ID: true}
	last := "9999"
	for _, e := range f.Entries {
		if !tagURI.MatchString(e.ID) || ids[e.ID] || e.Title == "" || !timestamp.MatchString(e.Updated) || e.Updated > last {
			t.Errorf("entry without an id of its own, title or updated, or out of order: %+v", e)
		}
		if e.Link.Rel != "alternate" || e.Summary == "" {
			t.Errorf("entry without a link or a summary: %+v", e)
		}
		checkURL(t, e.Link.Href)
		ids[e.ID], last = true, e.Updated
	}
}

// checkJSON holds a feed against the rules of JSON Feed 1.1, and returns it.
func checkJSON(t *testing.T, b []byte) (f jsonFeed) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		t.Fatal(err)
	}
	if f.Version != "https://jsonfeed.org/version/1.1" || f.Title == "" || f.Items == nil || len(f.Authors) != 1 {
		t.Errorf("the feed lacks version, title, items or authors: %.300s", b)
	}
	checkURL(t, f.Home)
	checkURL(t, f.Self)
	ids := map[string]bool{}
	for _, i := range f.Items {
		if i.ID == "" || ids[i.ID] || i.Text == "" || !timestamp.MatchString(i.Published) {
			t.Errorf("item without an id of its own, text or date: %+v", i)
		}
		ids[i.ID] = true
		checkURL(t, i.URL)
	}
	return f
}

// checkURL asks for an absolute URL below the site, in ASCII.
func checkURL(t *testing.T, s string) {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil || !strings.HasPrefix(s, base) || u.Scheme != "https" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		t.Errorf("%q is no URL of the site: %v", s, err)
	}
}
