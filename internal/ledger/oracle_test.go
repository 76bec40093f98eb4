package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A said is what a target answers in one reading of a random history: one of the
// contracts, under one of the negotiated versions, its list whole or not; or no
// contract at all.
type said struct {
	contract int // from 0; -1 failed; 3 is the empty list
	version  int
	cut      bool
}

func (a said) comparable(b said) bool { return a.version == b.version && !a.cut && !b.cut }

var contracts = []record.Result{contractA, contractB, contractC, nothing}

func (a said) result() record.Result {
	if a.contract < 0 {
		return fails(record.Timeout)
	}
	r := under(contracts[a.contract], []string{"2025-06-18", "2025-11-25"}[a.version])
	if a.cut {
		r = partly(r)
	}
	return r
}

// An oracle is the table of second readings written down once more, over numbers
// only.
type oracle struct {
	has              bool
	head             said
	first            int // day of the head, like the others; -1 is none
	confirmed        bool
	unstable, lastOK int
	answered         bool
}

// day enters one day and returns the kind of the event of a contract, and what
// its reread member says.
func (o *oracle) day(n int, first said, second *said) (kind record.Kind, reread record.Reread) {
	o.answered = first.contract >= 0
	switch {
	case !o.answered:
		return "", ""
	case !o.has:
		*o = oracle{has: true, head: first, first: n, confirmed: true, unstable: -1, lastOK: n, answered: true}
		return record.FirstAnswer, ""
	case first.contract == o.head.contract:
		o.head, o.lastOK = first, n
		if !o.confirmed {
			o.confirmed = true
			return record.Confirmed, ""
		}
		return "", ""
	case second != nil && second.contract == o.head.contract:
		o.head, o.unstable, o.lastOK = *second, n, n
		return record.Unstable, record.RereadDifferent
	case second != nil && second.contract >= 0 && second.contract != first.contract:
		o.unstable = n
		return record.Unstable, record.RereadDifferent
	}
	reread = record.RereadNone
	if second != nil {
		reread = record.RereadFailed
		if second.contract >= 0 {
			reread = record.RereadSame
		}
	}
	kind, confirmed := record.CaptureDifference, true
	if o.head.comparable(first) {
		kind, confirmed = record.Drift, reread == record.RereadSame
	}
	*o = oracle{has: true, head: first, first: n, confirmed: confirmed, unstable: -1, lastOK: n, answered: true}
	return kind, reread
}

// Random histories are recorded as the oracle says, day by day.
func TestRandomHistoriesOfV2(t *testing.T) {
	const histories, days = 30, 24
	rng := rand.New(rand.NewPCG(4, 2))
	kindsSeen := map[record.Kind]int{}
	for h := range histories {
		s := newSim(t, x, "com.example/y")
		s.method = "v2"
		var o oracle
		var story []string
		for n := range days {
			first := saidBy(rng)
			d := day{day: record.DayOf(time.Date(2026, 11, 1+n, 0, 0, 0, 0, time.UTC)), got: one(first.result())}
			d.got["com.example/y"] = contractA // who keeps the days from being degraded in a row
			var second *said
			if o.has && first.contract >= 0 && first.contract != o.head.contract && rng.IntN(4) > 0 {
				again := saidBy(rng)
				second = &again
				d.again = one(again.result())
				story = append(story, fmt.Sprint(first, again))
			} else {
				story = append(story, fmt.Sprint(first))
			}
			s.must(d)
			kind, reread := o.day(n, first, second)
			if n == 0 {
				kind = "" // the baseline writes no probe events
			}
			holdToOracle(t, s, d.day, o, kind, reread)
			kindsSeen[kind]++
			if t.Failed() {
				t.Fatalf("history %d: %v", h, story)
			}
		}
	}
	for _, k := range []record.Kind{"", record.FirstAnswer, record.Drift, record.CaptureDifference, record.Unstable, record.Confirmed} {
		if kindsSeen[k] == 0 {
			t.Errorf("no day had the event %q", k)
		}
	}
}

// saidBy draws a reading: mostly the first contract, under the first version.
func saidBy(rng *rand.Rand) said {
	a := said{contract: max(0, rng.IntN(6)-2)}
	switch rng.IntN(8) {
	case 0:
		a.contract = -1
	case 1:
		a.version = 1
	case 2:
		a.cut = true
	}
	return a
}

func holdToOracle(t *testing.T, s *sim, day record.Day, o oracle, kind record.Kind, reread record.Reread) {
	t.Helper()
	row := s.row(x)
	if row.Outcome().OK() != o.answered || (row.Head != nil) != o.has {
		t.Errorf("%s: row = %+v, want %+v", day, row, o)
		return
	}
	if o.has {
		dayOf := func(n int) record.Day {
			if n < 0 {
				return ""
			}
			return record.DayOf(time.Date(2026, 11, 1+n, 0, 0, 0, 0, time.UTC))
		}
		last := dayOf(o.lastOK)
		if last == day {
			last = ""
		}
		want := o.head.result()
		h := row.Head
		if h.Identity != identityOf(t, s, want) || h.FirstObserved != dayOf(o.first) || h.Confirmed != o.confirmed || h.Unstable != dayOf(o.unstable) || h.LastObserved != last || !h.Capture.Same(*want.Capture) {
			t.Errorf("%s: head = %+v, want %+v", day, h, o)
		}
	}
	var got []record.Kind
	for _, e := range s.events(string(day), x) {
		if e.Kind == record.ServerChanged || e.Kind == record.ClassChanged {
			continue
		}
		got = append(got, e.Kind)
		if e.Kind != kind || e.Reread != reread {
			t.Errorf("%s: event = %+v, want %s, reread %q", day, e, kind, reread)
		}
	}
	if want := slices.DeleteFunc([]record.Kind{kind}, func(k record.Kind) bool { return k == "" }); !slices.Equal(got, want) {
		t.Errorf("%s: events = %v, want %v", day, got, want)
	}
}
