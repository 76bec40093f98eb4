package report

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// A truth is what a random history did, kept apart from the files.
type truth struct {
	w       *town
	first   map[string]Date            // day of the first roster with it
	states  map[Date]map[string]string // by day with a run and name; none: no data
	read    map[string][]reading       // successful ones, in order
	days    []Date                     // with a run, oldest first
	present map[string]bool            // in the roster of the newest day
}

type reading struct {
	day  Date
	text string // of the contract
	cond string // of the capture
}

// answers are what a server may answer; the first ones are likelier.
var answers = []string{"A", "A", "A", "B", "A 1", "A 2", "2025-06-18 A", "2025-06-18 B", "tls", "timeout", "auth", "http_5xx", "parse"}

// draw makes a random history: gaps, outages, cut runs and their completions,
// names that come and go, endpoints that go and come.
func draw(t *rapid.T) *truth {
	servers := names(5)
	h := &truth{w: newTown(t, servers...), first: map[string]Date{}, states: map[Date]map[string]string{}, read: map[string][]reading{}}
	at := 0
	for range rapid.IntRange(1, 12).Draw(t, "days") {
		id := day(at)
		h.shake(t, servers)
		got := h.readings(t, h.w.order)
		last := h.w.run(id, got)
		h.enter(Date(id), got)
		if again := h.again(t, got, last); len(again) > 0 {
			last = h.w.run(id+".2", again)
			h.enter(Date(id), again)
		}
		h.close(Date(id), last.Degraded)
		at += rapid.SampledFrom([]int{1, 1, 1, 1, 2, 9}).Draw(t, "next")
	}
	return h
}

// shake changes the registry. The first server is always there.
func (h *truth) shake(t *rapid.T, servers []string) {
	for _, n := range servers[1:] {
		switch rapid.IntRange(0, 11).Draw(t, "shake "+n) {
		case 0:
			h.w.unlist(n)
		case 1, 2:
			h.w.list(n, "https://"+strings.ReplaceAll(n, "/", ".")+"/mcp")
		case 3:
			h.w.list(n, "")
		}
	}
}

// readings draws who is probed and what they answer; somebody always is.
func (h *truth) readings(t *rapid.T, of []string) readings {
	outage := rapid.IntRange(0, 5).Draw(t, "outage") == 0
	cut := rapid.IntRange(0, 4).Draw(t, "cut") == 0
	got := readings{}
	for i, n := range of {
		if h.w.listed[n] == "" || cut && i > 0 && rapid.Bool().Draw(t, "missed") {
			continue
		}
		got[n] = rapid.SampledFrom(answers).Draw(t, n)
		if outage && rapid.IntRange(0, 3).Draw(t, "out") > 0 {
			got[n] = "tls"
		}
	}
	return got
}

// again draws the run that completes a day: those missed, and after a degraded
// run those that were not reached.
func (h *truth) again(t *rapid.T, got readings, first record.Run) readings {
	var of []string
	for _, n := range h.w.order {
		text, read := got[n]
		if !read || first.Degraded && (text == "tls" || text == "timeout") {
			of = append(of, n)
		}
	}
	if len(of) == 0 || rapid.Bool().Draw(t, "final") {
		return nil
	}
	return h.readings(t, of)
}

// enter keeps what a run read.
func (h *truth) enter(d Date, got readings) {
	if h.states[d] == nil {
		h.states[d] = map[string]string{}
		h.days = append(h.days, d)
	}
	for _, n := range h.w.order {
		if _, known := h.first[n]; !known {
			h.first[n] = d
		}
		text, read := got[n]
		switch class := record.ErrorClass(text); {
		case h.w.listed[n] == "":
			h.states[d][n] = "no_endpoint"
		case !read:
		case class.Known() && text != "":
			h.states[d][n] = text
		default:
			h.states[d][n] = "answered"
			cond := ""
			if rest, ok := strings.CutPrefix(text, "2025-06-18 "); ok {
				text, cond = rest, "2025-06-18"
			}
			h.read[n] = append(h.read[n], reading{d, text, cond})
		}
	}
}

// close settles a day.
func (h *truth) close(d Date, degraded bool) {
	h.present = map[string]bool{}
	for _, n := range h.w.order {
		h.present[n] = true
	}
	for n := range h.first {
		switch state := h.states[d][n]; {
		case !h.present[n]:
			h.states[d][n] = "retired"
		case degraded && state != "answered" && state != "no_endpoint":
			delete(h.states[d], n)
		}
	}
}

// stateOn returns what is known of a target on a day.
func (h *truth) stateOn(name string, d Date) string {
	return cmp.Or(h.states[d][name], timeline.NoData)
}

// Whatever happened, the report tells what happened, and its figures agree with
// one another.
func TestBuildOfRandomHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := draw(t)
		r := h.w.build()
		if len(r.Servers) != len(h.first) {
			t.Fatalf("there are %d servers, want %d", len(r.Servers), len(h.first))
		}
		for name, first := range h.first {
			s := r.Servers[name]
			if s.Listed != first || (s.Retired == "") != h.present[name] {
				t.Errorf("%s is listed since %s, retired %q; want %s, in the roster %v", name, s.Listed, s.Retired, first, h.present[name])
			}
			h.checkSpans(t, r, name)
			h.checkVersions(t, r, name)
		}
		h.checkEvents(t, r)
		checkCalendar(t, r)
		checkHalfLife(t, r)
		h.checkDatedFiles(t, r)
	})
}

// checkSpans holds the spans to the truth, day by day.
func (h *truth) checkSpans(t *rapid.T, r *Report, name string) {
	s := r.Servers[name]
	d := s.Listed
	counts := map[string]Count{}
	for i, span := range s.Spans {
		if span.First != d || span.Days < 1 || i > 0 && s.Spans[i-1].State == span.State {
			t.Fatalf("spans of %s: %v do not follow each other from %s on", name, s.Spans, s.Listed)
		}
		for range span.Days {
			want := h.stateOn(name, d)
			if want == timeline.NoData && span.State == "no_endpoint" && h.onlyNamesAttempted(t, d) {
				want = "no_endpoint"
			}
			if span.State != want {
				t.Errorf("%s on %s is %s, want %s", name, d, span.State, want)
			}
			counts[span.State]++
			d = dayAfter(d)
		}
	}
	if d != dayAfter(r.AsOf) {
		t.Errorf("the spans of %s end before %s, want the day after %s", name, d, r.AsOf)
	}
	all := Count(timeline.Between(s.Listed, r.AsOf) + 1)
	unread := counts["retired"] + counts["no_endpoint"]
	if s.Answered != counts["answered"] || s.NoData != counts["no_data"] || s.Measured+s.NoData+unread != all || s.Answered > s.Measured {
		t.Errorf("%s answered %d, measured %d, no data %d of %d days; spans %v", name, s.Answered, s.Measured, s.NoData, all, s.Spans)
	}
}

// onlyNamesAttempted reports whether a header of that day names those attempted:
// it can't say then that a target which had no endpoint declared one and was
// missed (see timeline.Missed).
func (h *truth) onlyNamesAttempted(t *rapid.T, d Date) bool {
	for _, run := range []string{string(d), string(d) + ".2"} {
		head, _, _, err := h.w.tree().Observations(run, "v1")
		if err != nil {
			t.Fatal(err)
		}
		if head.Missed != nil && head.Missed.Only != nil {
			return true
		}
	}
	return false
}

// checkVersions holds the versions to the readings that succeeded.
func (h *truth) checkVersions(t *rapid.T, r *Report, name string) {
	type life struct {
		text, cond                   string
		first, read, ended, lastSame Date
		comparable                   bool
		returnOf                     Count
	}
	var want []life
	for _, rd := range h.read[name] {
		n := len(want)
		if n == 0 || want[n-1].text != rd.text {
			l := life{text: rd.text, cond: rd.cond, first: rd.day, comparable: true}
			if n > 0 {
				want[n-1].ended, l.lastSame, l.comparable = rd.day, want[n-1].read, want[n-1].cond == rd.cond
			}
			for i := range want {
				if want[i].text == rd.text {
					l.returnOf = Count(i + 1)
				}
			}
			want = append(want, l)
		}
		last := &want[len(want)-1]
		last.read, last.cond = rd.day, rd.cond
	}
	s := r.Servers[name]
	if len(s.Versions) != len(want) {
		t.Fatalf("%s has %d versions, want %d: %v", name, len(s.Versions), len(want), h.read[name])
	}
	identities := map[string]string{}
	for i, v := range s.Versions {
		l := want[i]
		if v.First != l.first || v.Read != l.read || v.Ended != l.ended || v.LastSame != l.lastSame || v.Comparable != l.comparable || v.ReturnOf != l.returnOf {
			t.Errorf("version %d of %s = %+v, want %+v", i+1, name, v, l)
		}
		if id, ok := identities[l.text]; ok && id != string(v.Identity) {
			t.Errorf("version %d of %s has another identity than the equal one before", i+1, name)
		}
		identities[l.text] = string(v.Identity)
		if v.N != Count(i+1) || v.Lived < 0 || v.Gap < 0 || v.Drift != (i > 0) {
			t.Errorf("version %d of %s: number %d, lived %v, gap %v, drift %v", i+1, name, v.N, v.Lived, v.Gap, v.Drift)
		}
		if inForce := i == len(want)-1 && s.State == "answered" && l.read == r.AsOf; v.InForce != inForce {
			t.Errorf("version %d of %s, which is %s: in force %v", i+1, name, s.State, v.InForce)
		}
	}
	if (s.Age != nil) != (len(want) > 0 && s.State == "answered") || s.Age != nil && *s.Age != Days(timeline.Between(want[len(want)-1].first, want[len(want)-1].read)) {
		t.Errorf("age of %s, which is %s: %v", name, s.State, s.Age)
	}
	if n := len(h.read[name]); n > 0 && s.Read != h.read[name][n-1].day {
		t.Errorf("%s was read last on %s, want %s", name, s.Read, h.read[name][n-1].day)
	}
}

// checkEvents holds the versions to the events that the ledger wrote.
func (h *truth) checkEvents(t *rapid.T, r *Report) {
	n := Count(0)
	for name, s := range r.Servers {
		for e, err := range h.w.tree().EventsOf(name) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind != record.Drift {
				continue
			}
			n++
			i := slices.IndexFunc(s.Versions, func(v Version) bool { return v.First == e.Day && v.Identity == e.New })
			if i < 1 {
				t.Fatalf("%s has no version for its event of %s", name, e.Day)
			}
			v := s.Versions[i]
			if v.LastSame != e.LastSame || v.Comparable != *e.Comparable || !slices.Equal(v.Classes, e.Classes) || len(v.Changes) != len(e.Changes) {
				t.Errorf("version %d of %s = %+v, its event %+v", i+1, name, v, e)
			}
		}
	}
	baseline := r.Calendar[0].Drift // changes between two runs of the first day have no event
	if r.Population.Changes != n+baseline {
		t.Errorf("%d changes are counted, %d on the first day, and %d events recorded", r.Population.Changes, baseline, n)
	}
}

// checkCalendar holds the days to the servers.
func checkCalendar(t *rapid.T, r *Report) {
	var drift, inGroups, ofServers, ofOperators, events, ofServerEvents, runDays Count
	d := r.First
	for _, c := range r.Calendar {
		if c.Day != d {
			t.Fatalf("the calendar has %s, want %s", c.Day, d)
		}
		d = dayAfter(d)
		drift += c.Drift
		events += Count(len(c.Events))
		for _, g := range c.Changes {
			inGroups += Count(len(g.Changed))
			for _, ch := range g.Changed {
				if v := r.Servers[ch.Name].Versions[ch.Index]; v.First != c.Day || !v.Drift {
					t.Errorf("%s points to version %d of %s, which began %s", c.Day, ch.Index, ch.Name, v.First)
				}
			}
		}
		classes := Count(0)
		for _, n := range c.Classes {
			classes += n
		}
		if c.Runs > 0 {
			runDays++
		} else if c.Classes != nil || c.Coverage != nil || c.Targets != 0 || c.Drift != 0 {
			t.Errorf("%s has no run, and figures: %+v", c.Day, c)
		}
		if c.Answered > c.Attempted || c.Attempted > c.Targets || classes > c.Targets || c.Captures+c.Numbers > c.Drift {
			t.Errorf("the figures of %s do not agree: %+v", c.Day, c)
		}
	}
	for _, s := range r.Servers {
		ofServers += s.Changes
		ofServerEvents += Count(len(s.Events))
	}
	for _, o := range r.Operators {
		ofOperators += o.Changes
	}
	p := r.Population
	if drift != p.Changes || inGroups != p.Changes || ofServers != p.Changes || ofOperators > p.Changes || events != ofServerEvents {
		t.Errorf("changes: %d by day, %d in groups, %d by server, %d by operator, %d in all; events %d, by server %d", drift, inGroups, ofServers, ofOperators, p.Changes, events, ofServerEvents)
	}
	if p.RunDays != runDays || p.RunDays+p.GapDays != Count(len(r.Calendar)) || r.Calendar[len(r.Calendar)-1].Day != r.AsOf {
		t.Errorf("%d days with a run and %d without, of %d", p.RunDays, p.GapDays, len(r.Calendar))
	}
}

// checkHalfLife holds the intervals to the versions.
func checkHalfLife(t *rapid.T, r *Report) {
	f := r.HalfLife
	censored := Count(0)
	for _, n := range f.Censored {
		censored += n
	}
	if f.Events != r.Population.Changes || f.Intervals != r.Population.Contracts || f.Events+censored != f.Intervals || f.Servers != r.Population.EverAnswer {
		t.Errorf("%d events and %d censored of %d intervals of %d servers; %+v", f.Events, censored, f.Intervals, f.Servers, r.Population)
	}
	for _, s := range []Share{f.StartUnknown, f.GapsOver1, f.GapsOver7, f.TopShare, f.UnstableEvents, f.UnstableIntervals, f.UnstableServers} {
		if s.N < 0 || s.N > s.Of {
			t.Errorf("a share of %d of %d", s.N, s.Of)
		}
	}
	if len(f.AtRisk) > 0 && f.AtRisk[0] != (AtRisk{0, f.Intervals}) || !slices.IsSortedFunc(f.AtRisk, func(a, b AtRisk) int { return cmp.Compare(b.N, a.N) }) {
		t.Errorf("at risk: %v of %d", f.AtRisk, f.Intervals)
	}
	for _, l := range f.Lines {
		if l.Events > l.Intervals || l.Intervals > f.Intervals || strings.ContainsAny(l.Title, "0123456789") {
			t.Errorf("line %s, %q: %d events of %d intervals", l.ID, l.Title, l.Events, l.Intervals)
		}
	}
}

// checkDatedFiles holds that the dated files alone give the same report.
func (h *truth) checkDatedFiles(t *rapid.T, r *Report) {
	if !bytes.Equal(record.File(r), record.File(mustBuild(t, onlyDated(h.w.fs)))) {
		t.Error("the report differs without the files that are rewritten")
	}
}

// onlyDated returns a tree without the files that are rewritten.
func onlyDated(all fstest.MapFS) fstest.MapFS {
	dated := fstest.MapFS{}
	for name, f := range all {
		for _, kind := range []string{"runs/2026", "roster/2026", "observations/2026", "events/2026"} {
			if strings.HasPrefix(name, archive.Dir+"/"+kind) {
				dated[name] = f
			}
		}
	}
	return dated
}

func mustBuild(t tb, fs fstest.MapFS) *Report {
	t.Helper()
	r, err := Build(archive.Open(fs), "v1")
	if err != nil {
		t.Fatalf("Build: %v", err)
	}
	return r
}
