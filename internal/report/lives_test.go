package report

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A telling is one reading of a random history of v2: a contract, the version that
// was agreed on, whether the list was left early; without a contract it failed.
type telling struct {
	contract, version string
	cut               bool
}

func (a telling) String() string {
	if a.contract == "" {
		return "auth"
	}
	text := a.version + " " + a.contract
	if a.cut {
		text += "…"
	}
	return text
}

// drawTelling draws a reading, mostly of the first contract and version.
func drawTelling(t *rapid.T, label string) telling {
	return telling{
		contract: rapid.SampledFrom([]string{"A", "A", "A", "B", "B", "C", ""}).Draw(t, label),
		version:  rapid.SampledFrom([]string{"2025-11-25", "2025-11-25", "2025-11-25", "2025-06-18"}).Draw(t, label+" version"),
		cut:      rapid.IntRange(0, 9).Draw(t, label+" cut") == 0,
	}
}

// A known is a contract of which the oracle thinks that it lasted.
type known struct {
	telling
	confirmed, drift bool
}

// lasting says by plain rules what is left of a history after methodology v2
// (DESIGN.md sections 4 and 7). A contract that was never confirmed is forgotten
// when the one before it comes back, which then goes on.
func lasting(first, second []telling) []known {
	var lives []known
	for i, a := range first {
		b := second[i]
		if a.contract == "" {
			continue
		}
		if len(lives) == 0 {
			lives = append(lives, known{a, true, false})
			continue
		}
		now := &lives[len(lives)-1]
		switch {
		case a.contract == now.contract:
			now.telling, now.confirmed = a, true
		case b.contract == now.contract:
			now.telling = b
		case b.contract != "" && b.contract != a.contract:
		case len(lives) > 1 && !now.confirmed && lives[len(lives)-2].contract == a.contract:
			lives = lives[:len(lives)-1]
			lives[len(lives)-1].telling, lives[len(lives)-1].confirmed = a, true
		default:
			drift := a.version == now.version && !a.cut && !now.cut
			lives = append(lives, known{a, !drift || b.contract == a.contract, drift})
		}
	}
	return lives
}

// Whatever a server says in one reading or two, the figures of v2 count the
// contracts that a plain rule leaves.
func TestRandomLivesOfV2(t *testing.T) {
	seen := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		w := newTown(t, "a/a")
		var first, second []telling
		for i := range rapid.IntRange(1, 20).Draw(t, "days") {
			first, second = append(first, drawTelling(t, "first")), append(second, drawTelling(t, "second"))
			w.both(day(i), readings{"a/a": "A"}, readings{"a/a": first[i].String() + "|" + second[i].String()})
		}
		r, _ := w.publish().Line("v2")
		var drift, captures, countedDrift, countedCaptures Count
		lives := lasting(first, second)
		for i, l := range lives {
			switch {
			case l.drift:
				drift++
			case i > 0:
				captures++
			}
		}
		for _, d := range r.Calendar {
			countedDrift += d.Drift
			countedCaptures += d.Captures
		}
		f := r.HalfLife
		if countedDrift != drift || f.Events != drift || r.Population.Changes != drift {
			t.Errorf("%v then %v: drift %d, events %d, changes %d, want %d", first, second, countedDrift, f.Events, r.Population.Changes, drift)
		}
		if countedCaptures != captures || f.Censored["capture"] != captures {
			t.Errorf("%v then %v: captures %d, censored %v, want %d", first, second, countedCaptures, f.Censored, captures)
		}
		if f.Intervals != Count(len(lives)) {
			t.Errorf("%v then %v: %d intervals, want %d", first, second, f.Intervals, len(lives))
		}
		joined := slices.ContainsFunc(r.Servers["a/a"].Versions, func(v Version) bool { return v.Joined })
		for what, is := range map[string]bool{"drift": drift > 0, "capture": captures > 0, "joined": joined} {
			seen[what] = seen[what] || is
		}
	})
	for _, what := range strings.Fields("drift capture joined") {
		if !seen[what] {
			t.Errorf("no history had a %s", what)
		}
	}
}
