// Package timeline joins dated records into the lives of a target's contracts:
// when each began and ended, whether it was confirmed, what it is a return of. It
// is a pure function of the dated files; it can be corrected and run again over
// all history.
package timeline

import (
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A Life is the time in which one contract of a target was in force.
type Life struct {
	Identity  canon.Digest
	Artifacts []canon.Digest // the bodies it was first read from, or those after a reorder
	Tools     int
	First     record.Day // first day on which it was read
	Last      record.Day // last day it was known to be read; empty while it is read day by day
	Ended     record.Day // first day of the next contract; empty while in force
	Confirmed bool       // read in the same form a second time
	ReturnOf  record.Day // first day of an earlier life of the same contract
}

// Lives returns the lives of one target, oldest first, from its dated rows in
// the order of their runs. An outage between two equal readings ends no life
// (case f-002), and a contract that comes back begins a new one (f-003).
func Lives(rows []record.Observation) []Life {
	var lives []Life
	for _, o := range rows {
		if o.Head == nil {
			continue
		}
		h := o.Head
		if n := len(lives); n == 0 || lives[n-1].Identity != h.Identity {
			if n > 0 {
				lives[n-1].Ended = h.FirstObserved
			}
			lives = append(lives, Life{Identity: h.Identity, First: h.FirstObserved, ReturnOf: EarlierLife(lives, h.Identity)})
		}
		l := &lives[len(lives)-1]
		l.Artifacts, l.Tools, l.Last, l.Confirmed = h.Artifacts, h.Tools, h.LastObserved, h.Confirmed
	}
	return lives
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
