package timeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A scribe writes runs as the ledger does: rows only where they differ, the head
// kept on failure, the missed named in the header.
type scribe struct {
	t      *testing.T
	b      *Builder
	listed map[string]bool
	rows   map[string]record.Observation
	tried  map[string]bool // on the day of the newest run
	day    record.Day
}

func newScribe(t *testing.T) *scribe {
	return &scribe{t: t, b: NewBuilder("v1"), listed: map[string]bool{}, rows: map[string]record.Observation{}}
}

// Readings say how each target ended: a class label, or else the identity of a
// contract. Who has no entry is missed.
type readings map[string]string

// An edit changes a run before it is added.
type edit func(*Run)

func degraded(r *Run) { r.Record.Degraded, r.Header.Degraded = true, true }

// only turns the list of those missed into that of those attempted.
func only(names ...string) edit {
	return func(r *Run) { r.Header.Missed = &record.Missed{Only: names} }
}

// run adds a run; the roster is that of the names listed.
func (s *scribe) run(id string, got readings, edits ...edit) {
	s.t.Helper()
	day, n, err := record.ParseRunID(id)
	if err != nil {
		s.t.Fatal(err)
	}
	r := Run{
		Record: record.Run{Run: id, Day: day, Methodologies: map[string]record.Coverage{"v1": {}}},
		Header: &record.ObservationHeader{Run: id, Day: day, Methodology: "v1"},
	}
	if n == 1 {
		r.Roster = s.roster()
		for _, name := range r.Roster.Removed {
			if o, ok := s.rows[name]; ok {
				o.Retired = day
				s.rows[name] = o
				r.Rows = append(r.Rows, o)
			}
		}
	}
	if day != s.day {
		s.day, s.tried = day, map[string]bool{}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		s.tried[name] = true
		s.reading(&r, name, got[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.listed)) {
		if s.listed[name] && !s.tried[name] {
			if r.Header.Missed == nil {
				r.Header.Missed = &record.Missed{}
			}
			r.Header.Missed.Names = append(r.Header.Missed.Names, name)
		}
	}
	for _, e := range edits {
		e(&r)
	}
	if err := s.b.Add(r); err != nil {
		s.t.Fatalf("Add(%s): %v", id, err)
	}
}

// roster returns what the names listed add and remove.
func (s *scribe) roster() *record.Roster {
	r := &record.Roster{}
	for _, name := range slices.Sorted(maps.Keys(s.listed)) {
		was, known := s.b.byName[name]
		in := known && was.Retired == ""
		switch {
		case s.listed[name] && !in:
			r.Added = append(r.Added, record.RosterRow{Name: name})
		case !s.listed[name] && in:
			r.Removed = append(r.Removed, name)
		}
	}
	return r
}

func (s *scribe) reading(r *Run, name, got string) {
	s.listed[name] = true
	if r.Roster != nil && s.b.byName[name] == nil && !slices.ContainsFunc(r.Roster.Added, func(a record.RosterRow) bool { return a.Name == name }) {
		r.Roster.Added = append(r.Roster.Added, record.RosterRow{Name: name})
	}
	day := r.Header.Day
	old, had := s.rows[name]
	o := record.Observation{Name: name, Endpoint: "https://" + name + ".example/", Head: old.Head}
	switch class := record.ErrorClass(got); {
	case got == record.NoEndpoint.Label():
		o.Endpoint, o.ErrorClass = "", class
	case class.Known() && got != "":
		o.ErrorClass = class
	case old.Head == nil || old.Head.Identity != canon.Digest(got):
		o.Head = &record.Head{Identity: canon.Digest(got), FirstObserved: day}
		if old.Head != nil {
			comparable := true
			r.Events = append(r.Events, record.Event{
				Kind: record.Drift, Name: name, Methodology: "v1", Day: day, Old: old.Head.Identity, New: canon.Digest(got), Comparable: &comparable,
			})
		}
	}
	if !had || string(record.Line(old)) != string(record.Line(o)) {
		r.Rows = append(r.Rows, o)
	}
	s.rows[name] = o
}

// target ends the history and returns one of its targets.
func (s *scribe) target(name string) *Target {
	s.t.Helper()
	h := s.b.History()
	i := slices.IndexFunc(h.Targets, func(t *Target) bool { return t.Name == name })
	if i < 0 {
		s.t.Fatalf("%s is not among the %d targets", name, len(h.Targets))
	}
	return h.Targets[i]
}

// spans writes spans as 2×answered 1×no_data.
func spans(t *Target) string {
	var parts []string
	for _, s := range t.Spans {
		parts = append(parts, fmt.Sprintf("%d×%s", s.Days, s.State))
	}
	return strings.Join(parts, " ")
}

// intervals writes lives as A 06-01..06-02 and, where they ended, (06-02,06-26].
func intervals(t *Target) string {
	var parts []string
	for i, l := range t.Lives {
		s := fmt.Sprintf("%s %s..%s", l.Identity, l.First[5:], l.Read[5:])
		if l.Ended != "" {
			s += fmt.Sprintf(" (%s,%s]", t.Lives[i+1].LastSame[5:], l.Ended[5:])
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "; ")
}

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %s, want %s", what, got, want)
	}
}

// load reads a case.
func load(t *testing.T, id string, v any) {
	t.Helper()
	b, err := os.ReadFile("testdata/cases/" + id + ".json")
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Case e-001: 22 days without a run and a degraded one on which all failed are 23
// days of no data, and what changed meanwhile is dated to the whole interval.
func TestCaseE001(t *testing.T) {
	var c struct {
		Input struct{ Runs []string }
	}
	load(t, "e-001", &c)
	s := newScribe(t)
	for _, day := range c.Input.Runs {
		s.run(day, readings{"a": "A", "b": "B"})
	}
	s.run("2026-06-25", readings{"a": "tls", "b": "tls"}, degraded)
	s.run("2026-06-26", readings{"a": "A2", "b": "B"})
	a := s.target("a")
	check(t, "spans of a", spans(a), "2×answered 23×no_data 1×answered")
	check(t, "lives of a", intervals(a), "A 06-01..06-02 (06-02,06-26]; A2 06-26..06-26")
	b := s.target("b")
	check(t, "lives of b", intervals(b), "B 06-01..06-26")
	if state, since := b.State(); state != "answered" || since != "2026-06-01" {
		t.Errorf("State of b = %s since %s, want answered since 2026-06-01", state, since)
	}
	days := s.b.days
	if len(days) != 26 {
		t.Fatalf("there are %d days, want 26", len(days))
	}
	for _, d := range days {
		if len(d.Transitions) > 0 {
			t.Errorf("%s has the transitions %v, want none", d.Day, d.Transitions)
		}
		if run := d.Day <= "2026-06-02" || d.Day >= "2026-06-25"; run != (len(d.Runs) == 1) {
			t.Errorf("%s has %d runs", d.Day, len(d.Runs))
		}
	}
}

// Case e-003: runs count on the day that they were made, two on one day are two,
// and a day without one is none.
func TestCaseE003(t *testing.T) {
	var c struct {
		Expected struct {
			DayTable map[record.Day]int `json:"day_table"`
		}
	}
	load(t, "e-003", &c)
	s := newScribe(t)
	s.run("2026-11-01", readings{"a": "A"})
	s.run("2026-11-03", readings{"a": "A"})
	s.run("2026-11-03.2", readings{"a": "B"})
	a := s.target("a")
	got := map[record.Day]int{}
	for _, d := range s.b.days {
		got[d.Day] = len(d.Runs)
	}
	if diff := cmp.Diff(c.Expected.DayTable, got); diff != "" {
		t.Errorf("runs per day (-want +got):\n%s", diff)
	}
	check(t, "spans", spans(a), "1×answered 1×no_data 1×answered")
	check(t, "lives", intervals(a), "A 11-01..11-03 (11-03,11-03]; B 11-03..11-03")
}

// Case e-013: order is by run, whatever the clock says.
func TestCaseE013(t *testing.T) {
	var c struct {
		Input struct{ Obs []struct{ Hash string } }
	}
	load(t, "e-013", &c)
	s := newScribe(t)
	for i, run := range []string{"2026-11-05", "2026-11-05.2", "2026-11-06"} {
		s.run(run, readings{"a": c.Input.Obs[i].Hash})
	}
	a := s.target("a")
	check(t, "lives", intervals(a), "A 11-05..11-05 (11-05,11-05]; B 11-05..11-06")
	check(t, "spans", spans(a), "2×answered")
}

// Case f-002: an outage between two equal readings is no change, and the first
// good reading after one is compared with the last good one before.
func TestCaseF002(t *testing.T) {
	var c struct {
		Input struct {
			Obs []struct{ OK, Err string }
		}
	}
	load(t, "f-002", &c)
	s := newScribe(t)
	day := record.Day("2026-11-01")
	for _, o := range c.Input.Obs {
		s.run(string(day), readings{"a": o.OK + o.Err})
		day = next(day)
	}
	a := s.target("a")
	check(t, "lives", intervals(a), "A 11-01..11-04 (11-04,11-06]; B 11-06..11-06")
	check(t, "spans", spans(a), "1×answered 2×timeout 1×answered 1×http_5xx 1×answered")
}

// Case f-003: a contract that comes back begins a new life.
func TestCaseF003(t *testing.T) {
	var c struct{ Input struct{ Hashes []string } }
	load(t, "f-003", &c)
	s := newScribe(t)
	day := record.Day("2026-11-01")
	for _, hash := range c.Input.Hashes {
		s.run(string(day), readings{"a": hash})
		day = next(day)
	}
	a := s.target("a")
	check(t, "lives", intervals(a), "A 11-01..11-01 (11-01,11-02]; B 11-02..11-02 (11-02,11-03]; A 11-03..11-03")
	if got := a.Lives[2].ReturnOf; got != 1 {
		t.Errorf("ReturnOf = %d, want 1, the first", got)
	}
}

// Case f-010: the first contract counts from the first reading, for newcomers too.
func TestCaseF010(t *testing.T) {
	s := newScribe(t)
	for _, day := range []string{"2026-11-01", "2026-11-02", "2026-11-03"} {
		s.run(day, readings{"a": "A"})
	}
	s.run("2026-11-04", readings{"a": "B"})
	s.run("2026-11-06", readings{"a": "B", "new": "N"})
	s.run("2026-11-07", readings{"a": "B", "new": "N"})
	a := s.target("a")
	check(t, "lives of a", intervals(a), "A 11-01..11-03 (11-03,11-04]; B 11-04..11-07")
	if a.Lives[0].Began != "" || !a.Lives[1].Drifted() {
		t.Errorf("lives began with %q and %q, want nothing and drift", a.Lives[0].Began, a.Lives[1].Began)
	}
	n := s.target("new")
	check(t, "lives of new", intervals(n), "N 11-06..11-07")
	if n.Listed != "2026-11-06" {
		t.Errorf("Listed = %s, want the day of its first roster", n.Listed)
	}
}

// Case f-013: every UTC day once, over the change from summer time.
func TestCaseF013(t *testing.T) {
	var c struct {
		Expected struct {
			Buckets []record.Day `json:"buckets_shown"`
		}
	}
	load(t, "f-013", &c)
	s := newScribe(t)
	s.run("2026-10-24", readings{"a": "A"})
	s.run("2026-10-27", readings{"a": "A"})
	check(t, "spans", spans(s.target("a")), "1×answered 2×no_data 1×answered")
	var got []record.Day
	for _, d := range s.b.days {
		got = append(got, d.Day)
	}
	if !slices.Equal(got, c.Expected.Buckets) {
		t.Errorf("days = %v, want %v", got, c.Expected.Buckets)
	}
}

func TestSpans(t *testing.T) {
	tests := []struct {
		name string
		runs func(s *scribe)
		want string // of a
	}{
		{"missed by name", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A", "b": "B"})
			s.run("2026-11-02", readings{"b": "B"})
			s.run("2026-11-03", readings{"a": "A", "b": "B"})
		}, "1×answered 1×no_data 1×answered"},
		{"missed by a list of those attempted", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A", "b": "B"})
			s.run("2026-11-02", readings{"b": "B"}, only("b"))
			s.run("2026-11-03", readings{"a": "A"}, only("a"))
		}, "1×answered 1×no_data 1×answered"},
		{"never attempted", func(s *scribe) {
			s.listed["a"] = true
			s.run("2026-11-01", readings{"b": "B"})
			s.run("2026-11-02", readings{"b": "B"}, only("b"))
			s.run("2026-11-03", readings{"a": "tls", "b": "B"})
		}, "2×no_data 1×tls"},
		{"without an endpoint nothing is attempted, nothing missed", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "no_endpoint", "b": "B"})
			s.run("2026-11-02", readings{"a": "no_endpoint", "b": "tls"}, degraded)
			s.run("2026-11-03", readings{"a": "no_endpoint", "b": "B"}, only("b"))
		}, "3×no_endpoint"},
		{"missed on the day on which it declared an endpoint", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "no_endpoint", "b": "B"})
			s.run("2026-11-02", readings{"b": "B"})
			s.run("2026-11-03", readings{"a": "A", "b": "B"})
		}, "1×no_endpoint 1×no_data 1×answered"},
		{"an answer on a degraded day is an answer", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "tls", "b": "B"})
			s.run("2026-11-02", readings{"a": "A", "b": "tls"}, degraded)
			s.run("2026-11-03", readings{"a": "A", "b": "B"})
		}, "1×tls 2×answered"},
		{"any failure on a degraded day is none", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "auth"})
			s.run("2026-11-02", readings{"a": "auth"}, degraded)
			s.run("2026-11-03", readings{"a": "auth"})
		}, "1×auth 1×no_data 1×auth"},
		{"the second run of a day completes the first", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A", "b": "B"})
			s.run("2026-11-02", readings{"a": "A"})
			s.run("2026-11-02.2", readings{"b": "B"})
			s.run("2026-11-03", readings{"b": "B"})
			s.run("2026-11-03.2", readings{"a": "tls"})
		}, "2×answered 1×tls"},
		{"a second run that lets a degraded day count", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "http_5xx", "b": "tls"}, degraded)
			s.run("2026-11-01.2", readings{"b": "B"})
		}, "1×http_5xx"},
		{"retired and back", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A", "b": "B"})
			s.listed["a"] = false
			s.run("2026-11-02", readings{"b": "B"})
			s.run("2026-11-04", readings{"b": "B"})
			s.listed["a"] = true
			s.run("2026-11-05", readings{"a": "A", "b": "B"})
		}, "1×answered 1×retired 1×no_data 1×retired 1×answered"},
		{"back, and missed", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A", "b": "B"})
			s.listed["a"] = false
			s.run("2026-11-02", readings{"b": "B"})
			s.listed["a"] = true
			s.run("2026-11-03", readings{"b": "B"}, only("b"))
			s.run("2026-11-04", readings{"b": "B"})
			s.run("2026-11-05", readings{"a": "tls", "b": "B"})
		}, "1×answered 1×retired 2×no_data 1×tls"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScribe(t)
			tt.runs(s)
			check(t, "spans", spans(s.target("a")), tt.want)
		})
	}
}

// A contract is known to the day of its last reading: neither a day on which the
// target was missed nor the end of the window lengthens it.
func TestLivesEndWhenLastRead(t *testing.T) {
	tests := []struct {
		name, want string
		runs       func(s *scribe)
	}{
		{"missed at the end", "A 11-01..11-02", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A", "b": "B"})
			s.run("2026-11-02", readings{"a": "A", "b": "B"})
			s.run("2026-11-03", readings{"b": "B"})
		}},
		{"failing at the end", "A 11-01..11-01", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A"})
			s.run("2026-11-02", readings{"a": "auth"})
			s.run("2026-11-03", readings{"a": "auth"})
		}},
		{"retired", "A 11-01..11-02", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A", "b": "B"})
			s.run("2026-11-02", readings{"a": "A", "b": "B"})
			s.listed["a"] = false
			s.run("2026-11-03", readings{"b": "B"})
		}},
		{"missed before a change", "A 11-01..11-01 (11-01,11-03]; B 11-03..11-03", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A", "b": "B"})
			s.run("2026-11-02", readings{"b": "B"})
			s.run("2026-11-03", readings{"a": "B", "b": "B"})
		}},
		{"answered on a degraded day", "A 11-01..11-02 (11-02,11-03]; B 11-03..11-03", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A"})
			s.run("2026-11-02", readings{"a": "A"}, degraded)
			s.run("2026-11-03", readings{"a": "B"})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScribe(t)
			tt.runs(s)
			check(t, "lives", intervals(s.target("a")), tt.want)
		})
	}
}

// Availability is compared between days that are not degraded.
func TestClassTransitions(t *testing.T) {
	tests := []struct {
		name, want string
		runs       func(s *scribe)
	}{
		{"lost and back", `11-02 "answered"→"tls" lost; 11-03 "tls"→"answered" regained`, func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A"})
			s.run("2026-11-02", readings{"a": "tls"})
			s.run("2026-11-03", readings{"a": "A"})
		}},
		{"an outage of the reader", "", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A"})
			s.run("2026-11-02", readings{"a": "tls"}, degraded)
			s.run("2026-11-04", readings{"a": "A"})
		}},
		{"what stays after one", `11-04 "answered"→"tls" lost`, func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A"})
			s.run("2026-11-02", readings{"a": "tls"}, degraded)
			s.run("2026-11-04", readings{"a": "tls"})
		}},
		{"a first answer regains nothing", `11-02 "auth"→"answered"`, func(s *scribe) {
			s.run("2026-11-01", readings{"a": "auth"})
			s.run("2026-11-02", readings{"a": "A"})
		}},
		{"over a day on which it was missed", `11-03 "answered"→"timeout" lost`, func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A", "b": "B"})
			s.run("2026-11-02", readings{"b": "B"})
			s.run("2026-11-03", readings{"a": "timeout", "b": "B"})
		}},
		{"an endpoint that goes and comes is no loss", `11-02 "answered"→"no_endpoint"; 11-03 "no_endpoint"→"answered"`, func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A"})
			s.run("2026-11-02", readings{"a": "no_endpoint"})
			s.run("2026-11-03", readings{"a": "A"})
		}},
		{"nor is what follows it", `11-02 "answered"→"no_endpoint"; 11-03 "no_endpoint"→"tls"; 11-04 "tls"→"answered"`, func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A"})
			s.run("2026-11-02", readings{"a": "no_endpoint"})
			s.run("2026-11-03", readings{"a": "tls"})
			s.run("2026-11-04", readings{"a": "A"})
		}},
		{"each loss is regained once", `11-02 "answered"→"tls" lost; 11-03 "tls"→"no_endpoint"; 11-04 "no_endpoint"→"answered" regained; 11-05 "answered"→"no_endpoint"; 11-06 "no_endpoint"→"answered"`, func(s *scribe) {
			for i, got := range []string{"A", "tls", "no_endpoint", "A", "no_endpoint", "A"} {
				s.run(fmt.Sprintf("2026-11-%02d", i+1), readings{"a": got})
			}
		}},
		{"the second run of a day has the last word", "", func(s *scribe) {
			s.run("2026-11-01", readings{"a": "A"})
			s.run("2026-11-02", readings{"a": "tls"}, degraded)
			s.run("2026-11-02.2", readings{"a": "A"})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScribe(t)
			tt.runs(s)
			var got []string
			for _, d := range s.b.History().Days {
				for _, tr := range d.Transitions {
					line := fmt.Sprintf("%s %s→%s", d.Day[5:], tr.From, tr.To)
					if tr.Lost {
						line += " lost"
					}
					if tr.Regained {
						line += " regained"
					}
					got = append(got, line)
				}
			}
			check(t, "transitions", strings.Join(got, "; "), tt.want)
		})
	}
}

func TestState(t *testing.T) {
	s := newScribe(t)
	s.run("2026-11-01", readings{"a": "A", "b": "B", "c": "auth"})
	s.run("2026-11-02", readings{"a": "tls", "b": "B", "c": "auth"})
	s.listed["b"] = false
	s.run("2026-11-04", readings{"a": "tls", "c": "tls"})
	s.listed["b"], s.listed["d"] = true, true
	s.run("2026-11-05", readings{"c": "tls"}, degraded)
	for name, want := range map[string]string{
		"a": "tls 2026-11-02",
		"b": "answered 2026-11-05", // back, and not read since: until then it was retired
		"c": "tls 2026-11-04",
		"d": "no_data ",
	} {
		state, since := s.target(name).State()
		check(t, "State of "+name, state+" "+string(since), want)
	}
}

// Who came and went and was not read meanwhile is in no state that contradicts
// where it was.
func TestStateOfReturned(t *testing.T) {
	tests := []struct {
		name, want string
		runs       func(s *scribe)
	}{
		{"retired twice", "retired 2026-11-05", func(s *scribe) {
			s.listed["a"] = false
			s.run("2026-11-05", readings{"b": "B"})
			s.run("2026-11-06", readings{"b": "B"})
		}},
		{"back for the second time", "answered 2026-11-07", func(s *scribe) {
			s.listed["a"] = false
			s.run("2026-11-05", readings{"b": "B"})
			s.listed["a"] = true
			s.run("2026-11-07", readings{"b": "B"})
			s.run("2026-11-08", readings{"b": "B"})
		}},
		{"read again", "answered 2026-11-06", func(s *scribe) {
			s.run("2026-11-05", readings{"b": "B"})
			s.run("2026-11-06", readings{"a": "A", "b": "B"})
		}},
		{"retired in a run under another methodology", "retired 2026-11-09", func(s *scribe) {
			if err := s.b.Add(Run{Record: record.Run{Run: "2026-11-09"}, Roster: &record.Roster{Removed: []string{"a"}}}); err != nil {
				s.t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScribe(t)
			s.run("2026-11-01", readings{"a": "A", "b": "B"})
			s.listed["a"] = false
			s.run("2026-11-02", readings{"b": "B"})
			s.run("2026-11-03", readings{"b": "B"})
			s.listed["a"] = true
			s.run("2026-11-04", readings{"b": "B"})
			tt.runs(s)
			state, since := s.target("a").State()
			check(t, "State", state+" "+string(since), tt.want)
		})
	}
}

// A target whose coming was seen says when it was still away.
func TestLacked(t *testing.T) {
	s := newScribe(t)
	complete := func(r *Run) { r.Roster.Complete = true }
	s.run("2026-11-01", readings{"a": "A"})
	s.run("2026-11-02", readings{"a": "A", "b": "B"}, complete)
	s.run("2026-11-03", readings{"a": "A", "b": "B", "c": "C"})
	s.run("2026-11-04", readings{"a": "A", "b": "B", "c": "C", "d": "D"}, complete)
	s.run("2026-11-05", readings{"a": "A", "b": "B", "c": "C", "d": "D", "e": "E"}, complete)
	for name, want := range map[string]string{"a": "", "b": "", "c": "2026-11-02", "d": "2026-11-02", "e": "2026-11-04"} {
		check(t, "Lacked of "+name, string(s.b.byName[name].Lacked), want)
	}
}

func TestMissedTargets(t *testing.T) {
	s := newScribe(t)
	s.listed["new"] = true
	s.run("2026-11-01", readings{"a": "A", "b": "no_endpoint"}, only("a"))
	if got := s.b.Missed(); !slices.Equal(got, []string{"new"}) {
		t.Errorf("Missed = %v, want new", got)
	}
	s.run("2026-11-01.2", readings{"new": "N"})
	if got := s.b.Missed(); len(got) != 0 {
		t.Errorf("Missed = %v, want nobody", got)
	}
}

func TestAddRefuses(t *testing.T) {
	add := func(b *Builder, id string) error {
		return b.Add(Run{Record: record.Run{Run: id}, Header: &record.ObservationHeader{Run: id}})
	}
	b := NewBuilder("v1")
	if err := add(b, "2026-11-02"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"2026-11-02", "2026-11-01", "2026-11-01.2", "", "../x"} {
		if err := add(b, id); err == nil {
			t.Errorf("Add(%q) after 2026-11-02 = nil, want an error", id)
		}
	}
	if err := add(b, "2026-11-02.2"); err != nil {
		t.Errorf("Add(2026-11-02.2) = %v", err)
	}
}

// A run under another methodology moves the roster and is no day of this line.
func TestOtherMethodology(t *testing.T) {
	s := newScribe(t)
	s.listed["a"] = true
	if err := s.b.Add(Run{Record: record.Run{Run: "2026-11-01"}, Roster: s.roster()}); err != nil {
		t.Fatal(err)
	}
	s.run("2026-11-03", readings{"a": "A"})
	if err := s.b.Add(Run{Record: record.Run{Run: "2026-11-04"}, Roster: &record.Roster{Removed: []string{"a"}}}); err != nil {
		t.Fatal(err)
	}
	a := s.target("a")
	check(t, "spans", spans(a), "1×answered")
	if h := s.b.days; len(h) != 1 || h[0].Day != "2026-11-03" {
		t.Errorf("days = %v, want 2026-11-03 only", h)
	}
	if a.Listed != "2026-11-01" || a.Retired != "2026-11-04" {
		t.Errorf("listed %s, retired %s, want 2026-11-01 and 2026-11-04", a.Listed, a.Retired)
	}
}

// What such a run recorded of the roster stands on its day, also where that is a
// gap of this line.
func TestEventsOfOtherMethodology(t *testing.T) {
	s := newScribe(t)
	other := func(id string, names ...string) {
		t.Helper()
		r := Run{Record: record.Run{Run: id}}
		for _, n := range names {
			r.Events = append(r.Events, record.Event{Kind: record.Appeared, Name: n}, record.Event{Kind: record.FirstAnswer, Name: n, Methodology: "v2"})
		}
		if err := s.b.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	other("2026-10-30", "before")
	other("2026-11-01", "first")
	s.run("2026-11-01.2", readings{"a": "A"})
	other("2026-11-01.3", "same")
	other("2026-11-02", "z", "gap")
	s.run("2026-11-04", readings{"a": "A"})
	s.run("2026-11-05", readings{"a": "A"})
	other("2026-11-06", "after")
	var got []string
	for _, d := range s.b.History().Days {
		for _, tr := range d.Transitions {
			got = append(got, string(d.Day[5:])+" "+string(tr.Kind)+" "+tr.Name)
		}
	}
	check(t, "transitions", strings.Join(got, "; "), "11-01 appeared first; 11-01 appeared same; 11-02 appeared gap; 11-02 appeared z")
}
