package timeline

import (
	"slices"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A daysOf builds the history of one target under a methodology from one row a
// day, as the ledger writes it.
type daysOf struct {
	t *testing.T
	b *Builder
	v string
}

const second = "com.example/second"

func newDays(t *testing.T, methodology string) *daysOf {
	return &daysOf{t: t, b: NewBuilder(methodology), v: methodology}
}

// head returns the head of a contract, first read on a day.
func head(contract string, first record.Day) record.Head {
	d := canon.Sum([]byte(contract))
	return record.Head{Artifacts: []canon.Digest{d}, Capture: record.Capture{Pages: record.Pages{Complete: true, Read: 1}}, Confirmed: true, FirstObserved: first, Identity: d, Tools: 1}
}

// add enters a day; without a head the target was read as before.
func (d *daysOf) add(day record.Day, h *record.Head, events ...record.Event) {
	d.t.Helper()
	r := Run{Record: record.Run{Run: string(day), Day: day}, Header: &record.ObservationHeader{Day: day}}
	if day == "2026-11-01" {
		r.Roster = &record.Roster{Added: []record.RosterRow{{Name: second}}, Complete: true}
	}
	if h != nil {
		r.Rows = []record.Observation{{Endpoint: "https://example.com/mcp", Head: h, Name: second, Since: "2026-11-01"}}
	}
	for i := range events {
		events[i].Day, events[i].Name, events[i].Methodology = day, second, d.v
	}
	r.Events = events
	if err := d.b.Add(r); err != nil {
		d.t.Fatal(err)
	}
}

// target returns what the days tell of the target.
func (d *daysOf) target() *Target { return d.b.History().Targets[0] }

// A day on which neither reading found the contract in force is none of its
// readings, and one on which the second did is; both are unstable days of it.
func TestUnstableDays(t *testing.T) {
	d := newDays(t, "v2")
	a := head("a", "2026-11-01")
	d.add("2026-11-01", &a)
	d.add("2026-11-02", nil)
	found := a
	found.Unstable = "2026-11-03"
	d.add("2026-11-03", &found, record.Event{Kind: record.Unstable})
	neither := found
	neither.Unstable, neither.LastObserved = "2026-11-04", "2026-11-03"
	d.add("2026-11-04", &neither, record.Event{Kind: record.Unstable})
	b := head("b", "2026-11-05")
	d.add("2026-11-05", &b, record.Event{Kind: record.Drift, New: b.Identity})
	got := d.target()
	l := got.Lives[0]
	if l.Read != "2026-11-03" || !slices.Equal(l.Unstable, []record.Day{"2026-11-03", "2026-11-04"}) || got.Lives[1].Unstable != nil {
		t.Errorf("lives = %+v, want the first read until 11-03, unstable on two days", got.Lives)
	}
	if n := got.Lives[1]; n.LastSame != "2026-11-03" || got.Read != "2026-11-05" {
		t.Errorf("last same %s, read %s, want 11-03 and 11-05", n.LastSame, got.Read)
	}
	if len(got.Spans) != 1 || got.Spans[0].State != "answered" || got.Spans[0].Days != 5 {
		t.Errorf("spans = %+v, want five days answered", got.Spans)
	}
}

// The target answered on a day on which it said two other things.
func TestReadOfAnUnstableDay(t *testing.T) {
	d := newDays(t, "v2")
	a := head("a", "2026-11-01")
	d.add("2026-11-01", &a)
	neither := a
	neither.Unstable, neither.LastObserved = "2026-11-02", "2026-11-01"
	d.add("2026-11-02", &neither)
	got := d.target()
	if got.Read != "2026-11-02" || got.Lives[0].Read != "2026-11-01" || got.Lives[0].Last != "2026-11-01" {
		t.Errorf("target read %s, life read %s, last %s, want 11-02, 11-01, 11-01", got.Read, got.Lives[0].Read, got.Lives[0].Last)
	}
}

// A change that was never confirmed and its undoing are one life going on under
// v2, and two changes under v1.
func TestJoinedLives(t *testing.T) {
	type step struct {
		contract  string
		confirmed bool
	}
	for _, tt := range []struct {
		name   string
		v      string
		steps  []step
		joined []bool
	}{
		{"never confirmed and back", "v2", []step{{"a", true}, {"b", false}, {"a", true}}, []bool{false, true, true}},
		{"v1 counts both", "v1", []step{{"a", true}, {"b", false}, {"a", true}}, []bool{false, false, false}},
		{"confirmed and back", "v2", []step{{"a", true}, {"b", true}, {"a", true}}, []bool{false, false, false}},
		{"never confirmed and on", "v2", []step{{"a", true}, {"b", false}, {"c", true}}, []bool{false, false, false}},
		{"what goes on needs no confirmation", "v2", []step{{"a", true}, {"b", false}, {"a", false}, {"b", true}}, []bool{false, true, true, false}},
		{"twice", "v2", []step{{"a", true}, {"b", false}, {"a", true}, {"c", false}, {"a", true}}, []bool{false, true, true, true, true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDays(t, tt.v)
			for i, s := range tt.steps {
				day := record.Day("2026-11-0" + string(rune('1'+i)))
				h := head(s.contract, day)
				h.Confirmed = s.confirmed
				if i == 0 {
					d.add(day, &h)
				} else {
					d.add(day, &h, record.Event{Kind: record.Drift, New: h.Identity})
				}
			}
			var joined []bool
			for _, l := range d.target().Lives {
				joined = append(joined, l.Joined)
				if l.Drifted() != (l.Began == record.Drift && !l.Joined) {
					t.Errorf("Drifted() = %v of %+v", l.Drifted(), l)
				}
			}
			if !slices.Equal(joined, tt.joined) {
				t.Errorf("joined = %v, want %v", joined, tt.joined)
			}
		})
	}
}

// A capture difference begins a life that is no drift, under the capture that its
// head states, which is the newest of it.
func TestLifeOfACaptureDifference(t *testing.T) {
	d := newDays(t, "v2")
	a := head("a", "2026-11-01")
	d.add("2026-11-01", &a)
	b := head("b", "2026-11-02")
	b.Capture.Pages.Complete = false
	no := false
	d.add("2026-11-02", &b, record.Event{Kind: record.CaptureDifference, Comparable: &no, Differs: []string{"pages.complete"}, Reread: record.RereadSame, New: b.Identity})
	c := b
	c.Capture.Pages.Complete = true
	d.add("2026-11-03", &c)
	l := d.target().Lives[1]
	if l.Drifted() || l.Comparable || l.Began != record.CaptureDifference || !l.Capture.Pages.Complete || l.ConfirmedOn != "" || l.Reread != record.RereadSame {
		t.Errorf("life = %+v, want no drift, not comparable, its newest capture", l)
	}
}
