package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// Case e-001: after 22 days without a run and one on which the reader had no
// network, 40 servers differ. Each change is dated to the interval, the days
// between are no data, and how old the newest complete run is can be told.
func TestCaseE001(t *testing.T) {
	var c struct {
		Input struct{ Runs []string }
	}
	load(t, "e-001", &c)
	servers := names(45)
	w := newTown(t, servers...)
	for _, day := range c.Input.Runs {
		w.run(day, all(servers, "A"))
	}
	outage := w.run("2026-06-25", all(servers, "tls"))
	w.run("2026-06-26", all(servers, "A").and(all(servers[:40], "B")))
	r := w.build()
	if !outage.Degraded {
		t.Fatal("the run without network is not degraded")
	}
	d := r.Calendar[len(r.Calendar)-2]
	if d.Day != "2026-06-25" || !d.Degraded || 10*d.Coverage.N >= 9*d.Coverage.Of || d.Drift != 0 || d.Lost != 0 {
		t.Errorf("the day of the outage = %+v, want degraded, coverage below 90 %%, nothing changed or lost", d)
	}
	newest := r.Calendar[len(r.Calendar)-1]
	if newest.Drift != 40 || newest.Regained != 0 {
		t.Errorf("the newest day has %d changes and %d regained, want 40 and 0", newest.Drift, newest.Regained)
	}
	s := r.Servers[servers[0]]
	if got := spanText(s); got != "2×answered 23×no_data 1×answered" {
		t.Errorf("spans = %s, want a gap of 23 days", got)
	}
	if v := s.Versions[1]; v.LastSame != "2026-06-02" || v.First != "2026-06-26" || v.Gap != 24 {
		t.Errorf("the change is dated (%s, %s], %v, want (2026-06-02, 2026-06-26], 24 days", v.LastSame, v.First, v.Gap)
	}
	if s := r.Servers[servers[44]]; len(s.Versions) != 1 || s.Versions[0].Lived != 25 {
		t.Errorf("an unchanged server has %d versions, the first lived %v, want 1, 25 days", len(s.Versions), s.Versions[0].Lived)
	}
	if r.Full != "2026-06-26" || r.Population.GapDays != 22 || r.HalfLife.GapsOver7 != (Share{40, 40}) {
		t.Errorf("full %s, %d days without a run, %v changes over long gaps", r.Full, r.Population.GapDays, r.HalfLife.GapsOver7)
	}
}

// Case e-003: a run counts on the day on which it was made, and says for when it
// was planned.
func TestCaseE003(t *testing.T) {
	var c struct {
		Expected struct {
			DayTable map[Date]Count `json:"day_table"`
		}
	}
	load(t, "e-003", &c)
	w := newTown(t, "com.example/a")
	w.runAt("2026-11-01", "2026-11-01T03:20:00Z", readings{"com.example/a": "A"})
	w.runAt("2026-11-03", "2026-11-03T00:10:00Z", readings{"com.example/a": "A"})
	w.runAt("2026-11-03.2", "2026-11-03T03:40:00Z", readings{"com.example/a": "B"})
	r := w.build()
	for _, d := range r.Calendar {
		if d.Runs != c.Expected.DayTable[d.Day] {
			t.Errorf("%s has %d runs, want %d", d.Day, d.Runs, c.Expected.DayTable[d.Day])
		}
	}
	if len(r.Calendar) != len(c.Expected.DayTable) {
		t.Fatalf("there are %d days, want %d", len(r.Calendar), len(c.Expected.DayTable))
	}
	times := r.Calendar[2].RunTimes
	if len(times) != 2 || times[0].Finished.Hour() != 0 || times[1].Finished.Hour() != 3 || times[1].Run != "2026-11-03.2" {
		t.Errorf("run times = %v, want those of both runs", times)
	}
	if d := r.Calendar[2]; d.Drift != 1 || r.Population.Changes != 1 {
		t.Errorf("%d changes on the day, %d in all, want 1", d.Drift, r.Population.Changes)
	}
}

// Case e-006: the second run completes the first; a change counts once, and the
// same files give the same bytes.
func TestCaseE006(t *testing.T) {
	servers := names(5)
	w := newTown(t, servers...)
	w.run("2026-11-04", all(servers, "A"))
	w.run("2026-11-05", all(servers[:3], "B"))
	partial := w.build()
	if partial.Full != "2026-11-04" || !partial.Newest.Partial {
		t.Errorf("after the cut run the newest full day is %s, partial %v", partial.Full, partial.Newest.Partial)
	}
	w.run("2026-11-05.2", all(servers[3:], "B"))
	r := w.build()
	d := r.Calendar[1]
	if d.Runs != 2 || d.Drift != 5 || d.Answered != 5 || d.Attempted != 5 || d.Partial || r.Full != "2026-11-05" {
		t.Errorf("the day has %d runs, %d changes, %d answers of %d, partial %v; full is %s", d.Runs, d.Drift, d.Answered, d.Attempted, d.Partial, r.Full)
	}
	for _, n := range servers {
		if s := r.Servers[n]; s.Changes != 1 || len(s.Spans) != 1 || s.Spans[0].Days != 2 {
			t.Errorf("%s changed %d times over %v", n, s.Changes, s.Spans)
		}
	}
	if a, b := record.File(r), record.File(w.build()); !bytes.Equal(a, b) {
		t.Error("two reports of one tree differ")
	}
}

// Case e-010: the readings of another methodology beside one's own are no changes.
func TestCaseE010(t *testing.T) {
	w := newTown(t, "com.example/a")
	w.run("2026-11-01", readings{"com.example/a": "A"})
	w.run("2026-11-02", readings{"com.example/a": "A"})
	before := record.File(w.build())
	for _, run := range []string{"2026-11-01", "2026-11-02"} {
		head, rows, _, err := w.tree().Observations(run, "v1")
		if err != nil {
			t.Fatal(err)
		}
		head.Methodology = "v2"
		b := record.Line(head)
		for _, o := range rows {
			o.Head.Identity = canon.Sum([]byte("v2 " + run))
			b = append(b, record.Line(o)...)
		}
		w.fs[archive.ObservationsPath(run, "v2")] = &fstest.MapFile{Data: b}
	}
	events := w.fs[archive.EventsPath("2026-11-02")]
	events.Data = append(record.Line(record.Event{Day: "2026-11-02", Kind: record.Drift, Methodology: "v2", Name: "com.example/a"}), events.Data...)
	r := w.build()
	if r.Population.Changes != 0 || len(r.Servers["com.example/a"].Versions) != 1 {
		t.Errorf("there are %d changes and %d versions, want 0 and 1", r.Population.Changes, len(r.Servers["com.example/a"].Versions))
	}
	if !bytes.Equal(before, record.File(r)) {
		t.Error("the report of v1 depends on what v2 read")
	}
	if v2, err := Build(w.tree(), "v2"); err != nil || v2.Methodology != "v2" || v2.Servers["com.example/a"].Versions[0].Identity != canon.Sum([]byte("v2 2026-11-01")) {
		t.Errorf("the report of v2: %v", err)
	}
	if _, err := Build(w.tree(), "v3"); err == nil || !strings.Contains(err.Error(), `"v3"`) {
		t.Errorf("Build of v3 = %v, want an error that names it", err)
	}
}

// Case e-013: the clock went back. Order is that of the runs, nothing lasts less
// than no time, no share is above 100 %.
func TestCaseE013(t *testing.T) {
	var c struct {
		Input struct {
			Obs []struct{ At, Hash string }
		}
	}
	load(t, "e-013", &c)
	w := newTown(t, "com.example/a")
	for i, run := range []string{"2026-11-05", "2026-11-05.2", "2026-11-06"} {
		w.runAt(run, c.Input.Obs[i].At, readings{"com.example/a": c.Input.Obs[i].Hash})
	}
	r := w.build()
	s := r.Servers["com.example/a"]
	if len(s.Versions) != 2 || s.Versions[0].Lived < 0 || s.Versions[1].Gap < 0 || s.Versions[1].Lived != 1 {
		t.Errorf("versions = %+v, want A and B, B for 1 day", s.Versions)
	}
	if s.Answered > s.Measured || s.Answered != 2 || spanText(s) != "2×answered" {
		t.Errorf("answered on %d of %d days, %s, want 2 of 2", s.Answered, s.Measured, spanText(s))
	}
	if r.HalfLife.Events != 1 || r.HalfLife.Intervals != 2 {
		t.Errorf("%d events of %d intervals, want 1 of 2", r.HalfLife.Events, r.HalfLife.Intervals)
	}
	for _, d := range r.Calendar {
		if d.Coverage.N > d.Coverage.Of || d.Answered > d.Attempted {
			t.Errorf("%s has a share above 100 %%: %+v", d.Day, d)
		}
	}
}

// Case e-015: while a run is cut, the figures of the newest full one stay.
func TestCaseE015(t *testing.T) {
	var c struct{ Input struct{ Probed, Of int } }
	load(t, "e-015", &c)
	servers := names(c.Input.Of / 1000)
	w := newTown(t, servers...)
	full := all(servers, "A").and(readings{servers[0]: "auth"})
	w.run("2026-11-01", full)
	before := w.build()
	w.list("com.example/new", "https://new.test/")
	w.run("2026-11-02", all(servers[:c.Input.Probed/1000], "A"))
	r := w.build()
	if !slices.EqualFunc(r.Classes, before.Classes, func(a, b Class) bool { return a.Class == b.Class && a.Share == b.Share }) {
		t.Errorf("classes = %+v, want those of the day before: %+v", r.Classes, before.Classes)
	}
	p := r.Population
	if p.Answering != before.Population.Answering || p.Tools != before.Population.Tools || p.Listed != before.Population.Listed || p.Operators != before.Population.Operators {
		t.Errorf("population = %+v, want that of the day before: %+v", p, before.Population)
	}
	today := r.Calendar[1]
	if !today.Partial || today.Coverage != nil || today.Classes != nil || r.Full != "2026-11-01" || r.AsOf != "2026-11-02" || !r.Newest.Partial || r.Newest.Coverage != nil || *before.Newest.Coverage != (Share{23, 23}) {
		t.Errorf("today = %+v, full %s, as of %s", today, r.Full, r.AsOf)
	}
	if s := r.Servers[servers[5]]; spanText(s) != "1×answered 1×no_data" || s.State != "answered" || s.Read != "2026-11-01" || *s.Age != 0 || s.Versions[0].InForce {
		t.Errorf("a missed server is %s, %s, read %s, aged %v, in force %v", spanText(s), s.State, s.Read, *s.Age, s.Versions[0].InForce)
	}
	if s := r.Servers["com.example/new"]; s.State != "no_data" || s.Since != "" || s.Age != nil || s.Tools != nil {
		t.Errorf("a server that was never read = %+v", s)
	}
	w.run("2026-11-03", full.and(readings{"com.example/new": "A"}))
	if p := w.build().Population; p.Listed != 24 || p.Operators != 24 || p.Tools != 23 || p.Answering != 23 {
		t.Errorf("after the next full run the population = %+v, want that of this run alone", p)
	}
}

// Cases f-002 and f-003: an outage is no change, a return is one.
func TestCasesF002F003(t *testing.T) {
	var f2 struct {
		Input struct {
			Obs []struct{ OK, Err string }
		}
	}
	load(t, "f-002", &f2)
	var f3 struct{ Input struct{ Hashes []string } }
	load(t, "f-003", &f3)
	w := newTown(t, "com.example/outage", "com.example/return")
	for i, o := range f2.Input.Obs {
		w.run(day(i), readings{"com.example/outage": o.OK + o.Err, "com.example/return": f3.Input.Hashes[min(i, 2)]})
	}
	r := w.build()
	s := r.Servers["com.example/outage"]
	if s.Changes != 1 || len(s.Versions) != 2 || s.Versions[1].LastSame != Date(day(3)) || s.Versions[1].First != Date(day(5)) {
		t.Errorf("after the outage there are %d changes: %+v", s.Changes, s.Versions)
	}
	s = r.Servers["com.example/return"]
	if s.Changes != 2 || len(s.Versions) != 3 || s.Versions[2].ReturnOf != 1 || s.Versions[0].Identity != s.Versions[2].Identity {
		t.Errorf("after the return there are %d changes: %+v", s.Changes, s.Versions)
	}
	for i, want := range []Days{1, 1, 3} {
		if got := s.Versions[i].Lived; got != want {
			t.Errorf("version %d lived %v, want %v", i+1, got, want)
		}
	}
}

// Case f-010: the first interval counts from first seen, and says that its
// beginning is unknown; a newcomer's begins with its own first reading.
func TestCaseF010(t *testing.T) {
	var c struct {
		Input    struct{ Server string }
		Expected struct {
			Used string `json:"duration_used"`
		}
	}
	load(t, "f-010", &c)
	var first, change, lived int
	if _, err := fmt.Sscanf(c.Input.Server, "first seen d%d with A, changes at d%d", &first, &change); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(c.Expected.Used, "%d days observed; flagged as left-truncated", &lived); err != nil {
		t.Fatal(err)
	}
	w := newTown(t, "com.example/a")
	got := readings{"com.example/a": "A"}
	for i := range 7 {
		if i == change {
			got["com.example/a"] = "B"
		}
		if i == 5 {
			w.list("com.example/new", "https://new.test/")
			got["com.example/new"] = "N"
		}
		w.run(day(i), got)
	}
	r := w.build()
	a, n := r.Servers["com.example/a"], r.Servers["com.example/new"]
	if a.Versions[0].First != Date(day(first)) || a.Versions[0].Lived != Days(lived) || n.Versions[0].First != Date(day(5)) || n.Listed != Date(day(5)) || n.Versions[0].Lived != 1 {
		t.Errorf("versions = %+v and %+v", a.Versions, n.Versions)
	}
	f := r.HalfLife
	if f.StartUnknown != (Share{1, 3}) || f.Events != 1 {
		t.Errorf("%v beginnings are unknown, %d events, want 1 of 3, 1", f.StartUnknown, f.Events)
	}
	for _, l := range f.Lines {
		if want := map[string]Count{"observed_starts": 1, "new_servers": 1}[l.ID]; want != 0 && l.Intervals != want {
			t.Errorf("%s has %d intervals, want %d", l.ID, l.Intervals, want)
		}
	}
	if d := r.Calendar[5]; d.Appeared != 1 || d.First != 1 {
		t.Errorf("on its day %d appeared, %d answered first, want 1 and 1", d.Appeared, d.First)
	}
}

// Case f-013: each UTC day once, over the change from summer time.
func TestCaseF013(t *testing.T) {
	var c struct {
		Expected struct {
			Buckets []Date `json:"buckets_shown"`
		}
	}
	load(t, "f-013", &c)
	w := newTown(t, "com.example/a")
	w.run("2026-10-24", readings{"com.example/a": "A"})
	w.run("2026-10-27", readings{"com.example/a": "A"})
	var got []Date
	for _, d := range w.build().Calendar {
		got = append(got, d.Day)
		if gap := d.Day == "2026-10-25" || d.Day == "2026-10-26"; gap != (d.Runs == 0) || gap != (d.Coverage == nil) {
			t.Errorf("%s has %d runs, coverage %v", d.Day, d.Runs, d.Coverage)
		}
	}
	if !slices.Equal(got, c.Expected.Buckets) {
		t.Errorf("calendar = %v, want %v", got, c.Expected.Buckets)
	}
}

// Case f-015: one that failed is never rounded to all, one that changed never to
// none.
func TestCaseF015(t *testing.T) {
	var c struct{ Input struct{ OK, Of Count } }
	load(t, "f-015", &c)
	for _, tt := range []struct {
		share Share
		want  string
	}{
		{Share{c.Input.OK, c.Input.Of}, ">99.9 %"},
		{Share{c.Input.Of - c.Input.OK, c.Input.Of}, "<0.1 %"},
		{Share{c.Input.Of, c.Input.Of}, "100 %"},
		{Share{0, c.Input.Of}, "0 %"},
		{Share{1, 3}, "33.3 %"},
		{Share{}, Dash},
	} {
		if got := tt.share.Text(); got != tt.want {
			t.Errorf("%+v.Text() = %s, want %s", tt.share, got, tt.want)
		}
	}
}
