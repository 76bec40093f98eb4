// Package timeline joins dated records into the lives of a target's contracts:
// when each began and ended, whether it was confirmed, what it is a return of. It
// is a pure function of the dated files; it can be corrected and run again over
// all history.
//
// # Lives
//
// A life begins with the first reading of a contract and ends with the first
// reading of another one (methodology v1, "Drift"). An outage between two equal
// readings ends no life (case f-002); a contract that comes back begins a new one
// (f-003). Order is the order of runs, never of clocks (e-013), so nothing lasts
// less than no time. A change is known to lie after [Life.LastSame] and not after
// [Life.First] (e-001): it is an interval, not a day.
//
// # Unstable days
//
// On a day on which two readings of one run differ from each other, the contract
// in force stays. Where the second reading found it, it was read; where neither
// did, its row says when it last was, and so does [Life.Read], although the target
// answered.
//
// # What a quiet day says
//
// A dated file holds a row only where it differs from the target's last one, and
// its header names those whom no run of the day attempted (DESIGN.md 5.1). Who is
// in the roster, not named there, and without a row, was read as before: [Builder]
// follows the rosters and the headers to tell a reading from a silence. So a life
// is known to the last successful reading of its contract, never to the end of
// the window or to a day on which the target was missed.
//
// # Not measured is not unchanged
//
// Every UTC calendar day of a target has one state ([Span]): the class that the
// day ended with, retired, or no_data. There is no data of a day without a run, of
// a target that no run of the day attempted, and of one that failed on a degraded
// day: there the reader was at fault as likely as the server. An answer on a
// degraded day is an answer. Transitions of availability are read from days that
// are not degraded, against the last such day (methodology v1, "Cadence").
//
// # Two runs on one day
//
// The second completes the first, and its header counts the whole day. A day looks
// as it ends.
package timeline

import (
	"slices"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A Life is the time in which one contract of a target was in force.
type Life struct {
	Identity  canon.Digest
	Artifacts []canon.Digest // the bodies it was first read from, or those after a reorder or a new number of pages
	Tools     int
	First     record.Day     // first day on which it was read
	Last      record.Day     // last day it was known to be read; empty while it is read day by day
	Ended     record.Day     // first day of the next contract; empty while in force
	Confirmed bool           // read in the same form a second time
	ReturnOf  int            // number, from 1, of the newest earlier life of the same contract; 0: none
	Capture   record.Capture // of the newest reading of it, as far as its members differ; the time is that of the first reading under them
	Unstable  []record.Day   // on which two readings of one run differed while it was in force, oldest first

	// What follows takes headers and events to know: only a [Builder] fills it.

	Added       int         // tools, like Changed and Removed
	Began       record.Kind // drift or capture_difference; empty for a first contract
	Changed     int
	Changes     []record.ToolChange // of the tools, those that fit; see [MaxChanges]
	ChangesCut  bool                // Changes lacks some
	Classes     []string
	Comparable  bool // false: read under other conditions than the contract before
	ConfirmedOn record.Day
	Differs     []string   // the conditions that differ
	Endpoint    string     // where it was first read
	Joined      bool       // this change and another one cancel out: see [Life.Drifted]
	LastSame    record.Day // last day on which the contract before was read; empty for a first contract
	Read        record.Day // last day on which it was read
	Removed     int
	Reread      record.Reread // what a second reading said of the change that began it; empty for a first contract
}

// Of the changes that begin a life at most MaxChanges are kept, and of their JSON
// forms at most MaxChangeBytes: one hostile server that renames all of its tools
// every day would else fill the memory of all who read its history. Those too long
// for what is left are passed over, since no name is ever cut. The numbers of
// tools that came, went or changed count them all.
const (
	MaxChanges     = 50
	MaxChangeBytes = 8 << 10
)

// keep counts the changes that began the life, and keeps those that fit. What it
// keeps it copies, so that the rest is not held in memory.
func (l *Life) keep(changes []record.ToolChange) {
	left := MaxChangeBytes
	for i := range changes {
		ch := &changes[i]
		switch ch.Kind {
		case "added":
			l.Added++
		case "removed":
			l.Removed++
		default: // changed, renamed
			l.Changed++
		}
		if len(l.Changes) == MaxChanges || len(ch.Name) > left {
			l.ChangesCut = true
			continue
		}
		n := len(record.Value(ch))
		if n > left {
			l.ChangesCut = true
			continue
		}
		left -= n
		l.Changes = append(l.Changes, *ch)
	}
}

// Drifted reports whether a life began with a change that the methodology counts.
// A methodology with a second reading does not count the two changes to a
// contract that was never confirmed and back: the life before, that one and the
// one after it are one life going on (DESIGN.md section 4).
func (l *Life) Drifted() bool { return l.Began == record.Drift && !l.Joined }

// Substantive reports whether more than numbers, white space or order was new
// when a life began. A change of which nothing is known, because the old body is
// gone, counts as one.
func (l *Life) Substantive() bool {
	return len(l.Classes) == 0 || slices.Contains(l.Classes, "substantive")
}

// Lives returns the lives of one target, oldest first, from its dated rows in
// the order of their runs. An outage between two equal readings ends no life
// (case f-002), and a contract that comes back begins a new one (f-003).
func Lives(rows []record.Observation) []Life {
	var t Target
	for i := range rows {
		t.advance(&rows[i])
	}
	return t.Lives
}

// advance enters the next row of a target into its lives, and reports whether it
// began one.
func (t *Target) advance(o *record.Observation) (began bool) {
	if o.Head == nil {
		return false
	}
	h := o.Head
	n := len(t.Lives)
	began = n == 0 || t.Lives[n-1].Identity != h.Identity
	if began {
		if n > 0 {
			t.Lives[n-1].Ended = h.FirstObserved
			if t.newest == nil {
				t.newest = map[canon.Digest]int{}
			}
			t.newest[t.Lives[n-1].Identity] = n
		}
		t.Lives = append(t.Lives, Life{Identity: h.Identity, First: h.FirstObserved, ReturnOf: t.newest[h.Identity]})
	}
	l := &t.Lives[len(t.Lives)-1]
	l.Artifacts, l.Tools, l.Last, l.Confirmed, l.Capture = h.Artifacts, h.Tools, h.LastObserved, h.Confirmed, h.Capture
	if n := len(l.Unstable); h.Unstable != "" && (n == 0 || l.Unstable[n-1] != h.Unstable) {
		l.Unstable = append(l.Unstable, h.Unstable)
	}
	return began
}

// EarlierLife returns the first day of the newest life of a contract, and "" if
// it had none.
func EarlierLife(lives []Life, identity canon.Digest) record.Day {
	for i := len(lives) - 1; i >= 0; i-- {
		if lives[i].Identity == identity {
			return lives[i].First
		}
	}
	return ""
}
