package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// What an archive of one methodology publishes is its report, byte for byte.
func TestPublishOneLine(t *testing.T) {
	w := newTown(t, names(3)...)
	w.run(day(0), all(names(3), "A"))
	w.run(day(1), all(names(3), "B"))
	p := w.publish()
	if p.Lines != nil || p.Readings != nil || !bytes.Equal(record.File(p), record.File(w.build())) {
		t.Errorf("Publish of one line has %d lines, readings %v, or is not the report", len(p.Lines), p.Readings)
	}
	if r, at := p.Line("v2"); r != nil || at != "" {
		t.Errorf("Line(v2) = %v at %q, want none", r, at)
	}
	if _, err := Publish(archive.Open(fstest.MapFS{})); err == nil {
		t.Error("Publish of nothing = nil, want an error")
	}
}

// Both lines are what Build makes of each, and every pointer leads somewhere.
func TestPublishTwoLines(t *testing.T) {
	servers := names(4)
	w := newTown(t, servers...)
	w.run(day(0), all(servers, "A"))
	w.both(day(1), all(servers, "A"), all(servers, "A"))
	w.both(day(2), all(servers, "B"), all(servers, "B|B"))
	w.both(day(3), all(servers, "B"), all(servers, "C|B").and(readings{servers[0]: "tls"}))
	p := w.publish()
	v2, err := Build(w.tree(), "v2")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(record.File(w.build())), string(record.File(&p.Report))); diff != "" {
		t.Errorf("the report on top is not that of v1:\n%s", diff)
	}
	r, at := p.Line("v2")
	if at != "/lines/v2" || !bytes.Equal(record.File(v2), record.File(r)) {
		t.Errorf("Line(v2) at %q is not the report of v2", at)
	}
	if r, at := p.Line("v1"); r != &p.Report || at != "" {
		t.Errorf("Line(v1) is at %q, want on top", at)
	}
	checkPointers(t, p, record.File(p))
	for _, pointer := range []string{at + Pointer("servers", servers[1], "versions", 1, "capture", "pages", "read"), "/readings/both", "/population/names"} {
		if _, err := p.Lookup(pointer); err != nil {
			t.Errorf("Lookup(%q): %v", pointer, err)
		}
	}
	for _, pointer := range []string{"/lines/v1", "/Report", "/lines/v2/lines"} {
		if got, err := p.Lookup(pointer); err == nil {
			t.Errorf("Lookup(%q) = %v, want an error", pointer, got)
		}
	}
}

// versionText writes the lives of a server under v2: number, whether it drifted or
// joined, the second reading, unstable days.
func versionText(s *Server) string {
	var parts []string
	for _, v := range s.Versions {
		text := fmt.Sprintf("%d %s %v", v.N, v.First[8:], v.Lived)
		if v.Drift {
			text += " drift"
		}
		if v.Joined {
			text += " joined"
		}
		if !v.Comparable {
			text += " capture " + strings.Join(v.Differs, ",")
		}
		if v.Reread != "" {
			text += " " + string(v.Reread)
		}
		if len(v.UnstableDays) > 0 {
			text += fmt.Sprint(" unstable ", v.UnstableDays)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// Under v2 a difference of the conditions is no drift, one that is never read
// again is none either, and the estimate takes both as the methodology says.
func TestLivesOfV2(t *testing.T) {
	tests := []struct {
		name                      string
		days                      []string // what v2 read
		versions                  string
		drift, captures           Count // of all days
		events, intervals, censor Count // of the headline; censored for the reason capture
		withCaptures              Count // events of that line
		unstable                  bool
	}{
		{"a change, read twice", []string{"A", "B|B", "B"}, "1 01 1; 2 02 1 drift same", 1, 0, 1, 2, 0, 1, false},
		{"another version", []string{"A", "2025-06-18 B|2025-06-18 B", "2025-06-18 B"}, "1 01 1; 2 02 1 capture protocol.negotiated same", 0, 1, 0, 2, 1, 1, false},
		{"a list left early", []string{"A", "B…|B…"}, "1 01 1; 2 02 0 capture pages.complete same", 0, 1, 0, 2, 1, 1, false},
		{"there and back, never confirmed", []string{"A", "B", "A", "A"}, "1 01 1; 2 02 1 joined none; 3 03 1 joined none", 0, 0, 0, 1, 0, 0, false},
		{"there and back, confirmed", []string{"A", "B|B", "A|A"}, "1 01 1; 2 02 1 drift same; 3 03 0 drift same", 2, 0, 2, 3, 0, 2, false},
		{"unstable", []string{"A", "B|A", "A"}, "1 01 2 unstable [2026-11-02]", 0, 0, 0, 1, 0, 0, true},
		{"the second reading failed", []string{"A", "B|tls", "B"}, "1 01 1; 2 02 1 drift failed", 1, 0, 1, 2, 0, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newTown(t, "a/a")
			for i, got := range tt.days {
				w.both(day(i), readings{"a/a": "A"}, readings{"a/a": got})
			}
			p := w.publish()
			r, _ := p.Line("v2")
			s := r.Servers["a/a"]
			if got := versionText(s); got != tt.versions {
				t.Errorf("versions = %s, want %s", got, tt.versions)
			}
			var drift, captures Count
			for _, d := range r.Calendar {
				drift += d.Drift
				captures += d.Captures
			}
			f := r.HalfLife
			if drift != tt.drift || captures != tt.captures || r.Population.Changes != tt.drift || f.Events != tt.events || f.Intervals != tt.intervals || f.Censored["capture"] != tt.censor {
				t.Errorf("drift %d, captures %d, changes %d, %d events of %d intervals, censored %v; want %+v", drift, captures, r.Population.Changes, f.Events, f.Intervals, f.Censored, tt)
			}
			i := slices.IndexFunc(f.Lines, func(l Line) bool { return l.ID == "with_captures" })
			if i < 0 || f.Lines[i].Events != tt.withCaptures || slices.ContainsFunc(f.Lines, func(l Line) bool { return l.ID == "comparable_only" }) {
				t.Errorf("lines = %+v, want with_captures with %d events, and no comparable_only", f.Lines, tt.withCaptures)
			}
			if s.Unstable != tt.unstable || f.UnstableServers.N > 0 != tt.unstable {
				t.Errorf("unstable = %v, %v of the servers, want %v", s.Unstable, f.UnstableServers, tt.unstable)
			}
			for _, v := range s.Versions {
				if v.Capture == nil || v.Capture.Protocol.Requested != "2025-11-25" {
					t.Errorf("version %d has the capture %+v", v.N, v.Capture)
				}
			}
			for _, v := range p.Servers["a/a"].Versions {
				if v.Capture == nil || v.Capture.Protocol.Requested != "2024-11-05" || v.Joined || v.Reread != "" {
					t.Errorf("version %d under v1 = %+v, want its own capture and no second reading", v.N, v)
				}
			}
		})
	}
}

// A server stays unstable for as many days as the window has.
func TestUnstableWindow(t *testing.T) {
	for _, tt := range []struct {
		days int
		want bool
	}{{unstableWindow, true}, {unstableWindow + 1, false}} {
		w := newTown(t, "a/a")
		w.both(day(0), readings{"a/a": "A"}, readings{"a/a": "A"})
		w.both(day(1), readings{"a/a": "A"}, readings{"a/a": "B|A"})
		w.both(day(tt.days), readings{"a/a": "A"}, readings{"a/a": "A"})
		if r, _ := w.publish().Line("v2"); r.Servers["a/a"].Unstable != tt.want {
			t.Errorf("%d days after it was unstable, Unstable = %v, want %v", tt.days-1, !tt.want, tt.want)
		}
	}
}

// What a server says of itself stands whole beside the words, under v2.
func TestHandshake(t *testing.T) {
	w := newTown(t, "a/a")
	w.both(day(0), readings{"a/a": "A"}, readings{"a/a": "A"})
	w.both(day(1), readings{"a/a": "2025-06-18 A"}, readings{"a/a": "2025-06-18 A"})
	p := w.publish()
	r, _ := p.Line("v2")
	find := func(r *Report) ServerEvent {
		i := slices.IndexFunc(r.Servers["a/a"].Events, func(e ServerEvent) bool { return e.Kind == record.ServerChanged })
		if i < 0 {
			t.Fatalf("there is no event of the kind server under %s", r.Methodology)
		}
		return r.Servers["a/a"].Events[i]
	}
	e := find(r)
	if e.Before == nil || e.After == nil || e.Before.Negotiated != "2025-11-25" || e.After.Negotiated != "2025-06-18" || !slices.Equal(e.After.Capabilities, []string{"tools"}) || e.From != "protocol 2025-11-25" {
		t.Errorf("the event = %+v, from %+v to %+v", e, e.Before, e.After)
	}
	if e := find(&p.Report); e.Before != nil || e.After != nil {
		t.Errorf("under v1 the event = %+v, want it as before v2", e)
	}
}

// The readings that [TestReadings] compares: v1, v2, and what makes them differ.
var pairs = []struct{ v1, v2, want string }{
	{"A", "A", "same"},
	{"B", "2024-11-05 A|2024-11-05 D", "varies_from_run_to_run"},  // D is the head since the day before
	{"A", "2024-11-05 B", "read_around_an_edit"},                  // both old, nothing else
	{"A", "B", "old_handshake"},                                   // 2024-11-05 and 2025-11-25
	{"2025-06-18 A", "2025-06-18 B", "no_version_header"},         // v1 sends none
	{"2025-06-18 A", "B", "negotiated_version"},                   // and 2025-11-25
	{"2025-06-18 A", "2026-07-28 B", "negotiated_version"},        // seeds: capture-conditions, section 1
	{"A…", "B", "page_one"},                                       //
	{"A…", "2024-11-05 A", "same"},                                // one page held all there was to differ
	{"http_4xx/rpc:-32022", "2026-07-28 A", "negotiated_version"}, // it speaks only the modern era
	{"http_4xx/rpc:-32022", "A", "failed_read"},                   // it answered the handshake a moment later
	{"timeout", "2026-07-28 A", "failed_read"},
	{"A", "http_5xx", "failed_read"},
	{"tls", "timeout", "failed"},
}

func TestReadings(t *testing.T) {
	servers := names(len(pairs))
	w := newTown(t, servers...)
	v1, v2 := readings{}, readings{}
	for i, p := range pairs {
		v1[servers[i]], v2[servers[i]] = p.v1, p.v2
	}
	varies := servers[1]
	w.both(day(0), v1, v2.and(readings{varies: "2024-11-05 D"}))
	w.both(day(1), v1, v2)
	w.run(day(2), all(servers, "Z")) // under v1 alone: the day compared stays
	p := w.publish()
	r := p.Readings
	if r == nil || r.Day != Date(day(1)) || r.First != "v1" || r.Second != "v2" || r.Both != Count(len(pairs)) {
		t.Fatalf("readings = %+v", r)
	}
	got := map[string]string{}
	for _, c := range r.Causes {
		if c.Share != (Share{Count(len(c.Servers)), r.Different.N}) {
			t.Errorf("the share of %s = %v of %d servers", c.Cause, c.Share, len(c.Servers))
		}
		for _, s := range c.Servers {
			got[s.Name] = string(c.Cause)
			if a, b := s.First.State == "answered", s.Second.State == "answered"; (s.First.Capture != nil) != a || (s.Second.Identity != "") != b || (s.First.Tools != nil) != a {
				t.Errorf("%s = %+v", s.Name, s)
			}
		}
	}
	same, failed := Count(0), Count(0)
	for i, p := range pairs {
		switch p.want {
		case "same":
			same++
		case "failed":
			failed++
		default:
			if got[servers[i]] != p.want {
				t.Errorf("%s and %s differ by %q, want %q", p.v1, p.v2, got[servers[i]], p.want)
			}
		}
	}
	of := r.Both
	if r.Same != (Share{same, of}) || r.Failed != (Share{failed, of}) || r.Different != (Share{of - same - failed, of}) {
		t.Errorf("same %v, failed %v, different %v of %d", r.Same, r.Failed, r.Different, of)
	}
	var causes []record.Cause
	for _, c := range r.Causes {
		if len(c.Servers) == 0 {
			t.Errorf("nothing has the cause %s", c.Cause)
		}
		causes = append(causes, c.Cause)
	}
	var want []record.Cause
	for _, d := range record.Causes {
		if !d.Launched {
			want = append(want, d.Cause)
		}
	}
	if !slices.Equal(causes, want) {
		t.Errorf("causes = %v, want %v", causes, want)
	}
}

// A server that said two things, neither of which is the head, was not read as the
// head, whatever the other line read.
func TestReadingsOfNeither(t *testing.T) {
	for _, tt := range []struct{ head, v1, v2, want string }{
		{"2024-11-05 A", "A", "2024-11-05 B|2024-11-05 C", "varies_from_run_to_run"},
		{"2024-11-05 A", "B", "2024-11-05 B|2024-11-05 C", "varies_from_run_to_run"},
		{"A", "A", "B|C", "varies_from_run_to_run"}, // the head was not read, so its conditions tell nothing
		{"A", "B", "B|C", "varies_from_run_to_run"},
		{"A…", "A", "B|C", "varies_from_run_to_run"},               //
		{"2024-11-05 A", "A", "2024-11-05 B|2024-11-05 A", "same"}, // the second reading found the head
	} {
		w := newTown(t, "a/a")
		w.both(day(0), readings{"a/a": "A"}, readings{"a/a": tt.head})
		w.both(day(1), readings{"a/a": tt.v1}, readings{"a/a": tt.v2})
		r := w.publish().Readings
		got := "same"
		for _, c := range r.Causes {
			if len(c.Servers) > 0 {
				got = string(c.Cause)
				if d := c.Servers[0].Differs; d != nil {
					t.Errorf("%s and %s differ in %v, want nothing said of conditions that are not known", tt.v1, tt.v2, d)
				}
			}
		}
		if got != tt.want || (r.Same.N == 1) != (tt.want == "same") {
			t.Errorf("%s and %s = %s, same %v, want %s", tt.v1, tt.v2, got, r.Same, tt.want)
		}
	}
}

// A v1 row without its ordered identity is compared by its bodies.
func TestReadingsWithoutOrdered(t *testing.T) {
	w := newTown(t, names(2)...)
	a, b := names(2)[0], names(2)[1]
	w.both(day(0), all(names(2), "A"), readings{a: "A", b: "B"})
	f := w.fs[archive.ObservationsPath(day(0), "v1")]
	lines := strings.SplitAfter(string(f.Data), "\n")
	for i, l := range lines {
		if at := strings.Index(l, `,"ordered":"`); at >= 0 {
			lines[i] = l[:at] + l[at+len(`,"ordered":"`)+strings.Index(l[at+len(`,"ordered":"`):], `"`)+1:]
		}
	}
	if f.Data = []byte(strings.Join(lines, "")); strings.Contains(string(f.Data), "ordered") {
		t.Fatalf("the rows still have it:\n%s", f.Data)
	}
	r := w.publish().Readings
	if r.Same != (Share{1, 2}) || r.Different != (Share{1, 2}) {
		t.Fatalf("readings = %+v, want one the same", r)
	}
	i := slices.IndexFunc(r.Causes, func(c ReadingCause) bool { return len(c.Servers) > 0 })
	if s := r.Causes[i].Servers[0]; s.Name != b || s.First.Identity != "" || s.Second.Identity == "" {
		t.Errorf("%s = %+v, want no identity on the side that has none in the common form", s.Name, s)
	}
}

// Whom one of the two did not attempt, who declares no endpoint and who left are
// not compared.
func TestReadingsOfBoth(t *testing.T) {
	servers := names(4)
	w := newTown(t, servers...)
	w.both(day(0), all(servers, "A"), all(servers, "A"))
	w.list(servers[1], "")
	w.unlist(servers[2])
	w.both(day(1), all([]string{servers[0], servers[3]}, "A"), readings{servers[0]: "A"})
	if r := w.publish().Readings; r.Both != 1 || r.Same != (Share{1, 1}) || r.Day != Date(day(1)) {
		t.Errorf("readings = %+v, want of one server", r)
	}
}

// Whatever two lines read, each server is counted once, where a plain rule puts it.
func TestReadingsOfRandomPairs(t *testing.T) {
	texts := []string{"A", "B", "A…", "B…", "tls", "http_4xx/rpc:-32022"}
	versions := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}
	rapid.Check(t, func(t *rapid.T) {
		servers := names(6)
		w := newTown(t, servers...)
		v1, v2, want := readings{}, readings{}, map[string]string{}
		for _, n := range servers {
			x, y := rapid.SampledFrom(texts).Draw(t, "v1 "+n), rapid.SampledFrom(texts).Draw(t, "v2 "+n)
			p := rapid.SampledFrom(versions).Draw(t, "version 1 "+n)
			q := rapid.SampledFrom(append(versions, "2026-07-28")).Draw(t, "version 2 "+n)
			want[n] = oracle(x, y, p, q)
			v1[n], v2[n] = spoken(p, x), spoken(q, y)
		}
		w.both(day(0), v1, v2)
		r := w.publish().Readings
		got := map[string]string{}
		for _, c := range r.Causes {
			for _, s := range c.Servers {
				if got[s.Name] != "" {
					t.Errorf("%s stands under %s and %s", s.Name, got[s.Name], c.Cause)
				}
				got[s.Name] = string(c.Cause)
			}
		}
		counts := map[string]Count{}
		for _, n := range servers {
			kind := want[n]
			if kind != "same" && kind != "failed" {
				if got[n] != kind {
					t.Errorf("%s and %s differ by %q, want %q", v1[n], v2[n], got[n], kind)
				}
				kind = "different"
			}
			counts[kind]++
		}
		if r.Both != 6 || r.Same.N != counts["same"] || r.Failed.N != counts["failed"] || r.Different.N != counts["different"] {
			t.Errorf("readings = %+v, want %v", r, counts)
		}
	})
}

func spoken(version, text string) string {
	if strings.HasPrefix(text, "A") || strings.HasPrefix(text, "B") {
		return version + " " + text
	}
	return text
}

// oracle says by plain rules how two readings compare; v1 sends no version header.
func oracle(x, y, p, q string) string {
	fails := func(s string) bool { return s == "tls" || strings.HasPrefix(s, "http") }
	old := func(v string) bool { return v == "2024-11-05" || v == "2025-03-26" }
	switch {
	case fails(x) && fails(y):
		return "failed"
	case strings.HasPrefix(x, "http") && q == "2026-07-28":
		return "negotiated_version"
	case fails(x), fails(y):
		return "failed_read"
	case x[0] == y[0]:
		return "same"
	case strings.HasSuffix(x, "…"), strings.HasSuffix(y, "…"):
		return "page_one"
	case old(p) != old(q):
		return "old_handshake"
	case p != q:
		return "negotiated_version"
	case !old(p):
		return "no_version_header"
	}
	return "read_around_an_edit"
}

func BenchmarkPublish(b *testing.B) {
	y := newYear(*benchServers, *benchDays)
	for name, f := range y.fs { // the same rows under both
		if path, ok := strings.CutSuffix(name, ".v1.jsonl"); ok {
			y.fs[path+".v2.jsonl"] = f
		}
	}
	tree := archive.Open(y.fs)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Publish(tree); err != nil {
			b.Fatal(err)
		}
	}
}
