package report

import (
	"cmp"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/survival"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// A verdict says what the beginning of a life means for the one before it.
type verdict int

const (
	event verdict = iota // it ended in a change
	cut                  // it was censored when last read, and nobody saw the new one begin
	same                 // it goes on
)

// A judge decides what counts as the end of a contract.
type judge func(l *timeline.Life) verdict

// counted is the rule of the headline: every drift event of the methodology.
func counted(l *timeline.Life) verdict {
	if l.Drifted() {
		return event
	}
	return cut
}

// comparableOnly counts no change that the conditions of reading may explain.
func comparableOnly(l *timeline.Life) verdict {
	if l.Comparable {
		return counted(l)
	}
	return cut
}

// withCaptures counts changes that the conditions of reading may explain too.
func withCaptures(l *timeline.Life) verdict {
	if l.Began != "" {
		return event
	}
	return cut
}

// substantiveOnly lets a contract outlive changes of numbers, white space and
// order.
func substantiveOnly(l *timeline.Life) verdict {
	if !l.Substantive() {
		return same
	}
	return counted(l)
}

// A spell is one interval of the estimate: what was observed of one contract.
type spell struct {
	server   int  // index in the history's targets
	newcomer bool // first contract of a server whose coming was observed; see newcomer
	known    bool // its beginning was observed as a change
	first    Date
	read     Date   // last day on which it was read
	ended    Date   // first day of the next contract; "": censored
	reason   string // why it was censored; "" for an event
}

// spells returns the intervals of a target in time order. A contract is censored
// when it was last read, never at the end of the window (km/README.md,
// section 6).
func spells(t *timeline.Target, server int, decide judge) []spell {
	var out []spell
	for i := range t.Lives {
		l := &t.Lives[i]
		s := spell{server: server, newcomer: i == 0 && newcomer(t), first: l.First, read: l.Read}
		if n := len(out); n > 0 {
			last := &out[n-1]
			switch joined(l, decide) {
			case same:
				last.read = l.Read
				continue
			case event:
				last.ended = l.First
				s.known = l.Comparable
			case cut:
				last.reason = "capture"
			}
		}
		out = append(out, s)
	}
	if n := len(out); n > 0 {
		out[n-1].reason = reason(t)
	}
	return out
}

// joined is decide, but for the two changes that cancel out: whatever else counts,
// the contract before, the one that was never confirmed and the one after it are
// one that goes on (DESIGN.md section 4).
func joined(l *timeline.Life, decide judge) verdict {
	if l.Joined {
		return same
	}
	return decide(l)
}

// newcomerDays bounds what is not known of when a newcomer's first contract began:
// a start known to a day or two (km/README.md, section 5).
const newcomerDays = 2

// newcomer reports whether the coming of a target, which answered once, was
// observed and its first contract read soon after: a complete roster at most
// newcomerDays before the first one with it did not have it, and the first reading
// came at most as many days after that. What an incomplete roster lacks may have
// been there, and a server that asks for a login for weeks has its contract already.
func newcomer(t *timeline.Target) bool {
	return t.Lacked != "" && timeline.Between(t.Lacked, t.Listed) <= newcomerDays && timeline.Between(t.Listed, t.Lives[0].First) <= newcomerDays
}

// reason says why the newest contract of a target is censored.
func reason(t *timeline.Target) string {
	switch state, _ := t.State(); state {
	case record.Success.Label(), timeline.NoData:
		return "window"
	case timeline.Retired:
		return "retired"
	case record.Auth.Label():
		return "auth"
	case record.NoEndpoint.Label():
		return "no_endpoint"
	}
	return "unreachable"
}

// gap returns the days between the last reading of an ended contract and the
// first of the next.
func (s *spell) gap() int { return max(0, timeline.Between(s.read, s.ended)) }

// A placing dates the end of an interval, in days from its beginning.
type placing func(s *spell) float64

// right dates a change to the first day on which the next contract was read: a
// change is known to lie in (last reading, first reading], and on a grid of days
// that is day 1 at least.
func right(s *spell) float64 {
	if s.ended == "" {
		return float64(max(0, timeline.Between(s.first, s.read)))
	}
	return float64(max(1, timeline.Between(s.first, s.ended)))
}

// left dates a change to the day after the last reading of the old contract.
func left(s *spell) float64 {
	if s.ended == "" {
		return right(s)
	}
	return float64(max(1, timeline.Between(s.first, s.read)+1))
}

// middle dates a change halfway between the two.
func middle(s *spell) float64 { return (left(s) + right(s)) / 2 }

// A sample is a set of intervals with whose they are.
type sample struct {
	spells   []spell
	clusters []int32 // of each server
}

// newSample builds the intervals of all targets.
func (c *collector) newSample(h *timeline.History, decide judge) sample {
	s := sample{clusters: c.clusters(h)}
	for i, t := range h.Targets {
		s.spells = append(s.spells, spells(t, i, decide)...)
	}
	return s
}

// clusters numbers the operators of the targets, by the newest endpoint known. A
// target of which none is known stands for itself.
func (c *collector) clusters(h *timeline.History) []int32 {
	number := map[string]int32{}
	out := make([]int32, len(h.Targets))
	for i, t := range h.Targets {
		key := cmp.Or(c.operator(t.Endpoint), " "+t.Name)
		n, ok := number[key]
		if !ok {
			n = int32(len(number))
			number[key] = n
		}
		out[i] = n
	}
	return out
}

// only returns the intervals that keep wants.
func (s sample) only(keep func(*spell) bool) sample {
	out := sample{clusters: s.clusters}
	for i := range s.spells {
		if keep(&s.spells[i]) {
			out.spells = append(out.spells, s.spells[i])
		}
	}
	return out
}

// intervals returns the sample as survival takes it. Retirement is the competing
// event.
func (s sample) intervals(place placing) []survival.Interval {
	out := make([]survival.Interval, len(s.spells))
	for i := range s.spells {
		p := &s.spells[i]
		v := survival.Interval{Time: place(p), Server: int32(p.server), Cluster: s.clusters[p.server]}
		switch {
		case p.ended != "":
			v.Cause = 1
		case p.reason == "retired":
			v.Cause = 2
		}
		out[i] = v
	}
	return out
}
