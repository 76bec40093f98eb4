package audit

import (
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// activeWindow is the number of days before, degraded ones not counted, on which
// an active target was reached at least once (DESIGN.md 5.3).
const activeWindow = 7

// unchanged counts, per class, the targets without a dated row.
func (o *observation) unchanged(dated []datedRow) map[string]int {
	here := map[string]bool{}
	for _, d := range dated {
		here[d.row.Name] = true
	}
	n := map[string]int{}
	for name, e := range o.rows {
		if !here[name] && e.row.Retired == "" {
			n[e.row.ErrorClass.Label()]++
		}
	}
	return n
}

// equalCounts compares two counts; one of zero is as good as none.
func equalCounts(x, y map[string]int) bool {
	for k, n := range x {
		if y[k] != n {
			return false
		}
	}
	for k, n := range y {
		if x[k] != n {
			return false
		}
	}
	return true
}

// missedSet returns whether a target, given its row, was missed, and what is
// wrong with the list.
func missedSet(m *record.Missed) (missed func(record.Observation) bool, misfit string) {
	if m == nil {
		return func(record.Observation) bool { return false }, ""
	}
	if (m.Names == nil) == (m.Only == nil) {
		return func(record.Observation) bool { return false }, "missed has not exactly one of names and only"
	}
	if sortedBy(m.Names, strings.Compare) > 0 || sortedBy(m.Only, strings.Compare) > 0 {
		misfit = "the names missed are not sorted, each once"
	}
	if m.Only == nil {
		return func(o record.Observation) bool { _, ok := slices.BinarySearch(m.Names, o.Name); return ok }, misfit
	}
	return func(o record.Observation) bool {
		_, ok := slices.BinarySearch(m.Only, o.Name)
		return !ok && o.Endpoint != ""
	}, misfit
}

// checkCounts counts the rows of a day and holds the header and the run record
// to it. Where a header lists the targets that were attempted instead of those
// that were missed, a missed target that has no row yet is seen by its number
// only.
func (a *auditor) checkCounts(o *observation, r *run, head record.ObservationHeader, missed func(record.Observation) bool, baseline bool, name string) {
	c := record.Coverage{Classes: map[string]int{}, Details: map[string]int{}}
	for _, e := range o.rows {
		switch {
		case head.Missed != nil && head.Missed.Only == nil && missed(e.row):
			continue // counted below
		case e.row.Retired != "":
			continue
		}
		c.Targets++
		if e.row.Endpoint != "" {
			c.Eligible++
			if missed(e.row) {
				continue
			}
			c.Attempted++
			if baseline || e.before > 0 && e.before > o.days-activeWindow {
				c.Active++
				if e.row.ErrorClass.Reached() {
					c.Reached++
				}
			}
		}
		c.Classes[e.row.ErrorClass.Label()]++
		if e.row.ErrorDetail != "" {
			c.Details[e.row.Outcome().String()]++
		}
		if e.row.ErrorClass == record.Success {
			c.Answered++
		}
	}
	if head.Missed != nil {
		c.Targets += len(head.Missed.Names)
		c.Eligible += len(head.Missed.Names)
	}
	c.Coverage = record.BasisPoints(c.Reached, c.Active)
	a.compareCounts(o, r, head, c, name)
}

// compareCounts holds the header and the run record to the counts of the rows.
func (a *auditor) compareCounts(o *observation, r *run, head record.ObservationHeader, c record.Coverage, name string) {
	blind := head.Missed != nil && head.Missed.Only != nil
	if head.Targets != c.Targets && !(blind && head.Targets > c.Targets) {
		a.fault(name, "dated-header", "it counts %d targets, and there are %d", head.Targets, c.Targets)
	}
	if head.Attempted > c.Attempted || r.first() && head.Attempted != c.Attempted {
		a.fault(name, "dated-header", "it counts %d attempted targets, and there are %d", head.Attempted, c.Attempted)
	}
	if !r.trusted {
		return
	}
	bad := func(format string, args ...any) { a.fault(r.path, "run-counts", format, args...) }
	rec := r.rec.Methodologies[o.version]
	if blind {
		hidden := rec.Targets - c.Targets
		if hidden < 0 || rec.Eligible < c.Eligible {
			bad("%s counts fewer targets than there are rows", o.version)
		}
		c.Targets, c.Eligible = rec.Targets, rec.Eligible
		delete(c.Classes, string(record.NoEndpoint)) // may hold a missed target whose endpoint is new
		rec.Classes = without(rec.Classes, string(record.NoEndpoint))
		c.Details, rec.Details = nil, nil
	}
	for _, n := range []struct {
		name        string
		stated, are int
	}{
		{"targets", rec.Targets, c.Targets}, {"eligible", rec.Eligible, c.Eligible}, {"attempted", rec.Attempted, c.Attempted},
		{"answered", rec.Answered, c.Answered}, {"active", rec.Active, c.Active}, {"reached", rec.Reached, c.Reached},
		{"coverage", rec.Coverage, c.Coverage},
	} {
		if n.stated != n.are {
			bad("%s states %d for %s, and the rows show %d", o.version, n.stated, n.name, n.are)
		}
	}
	if !equalCounts(rec.Classes, c.Classes) {
		bad("%s counts the classes %v, and the rows show %v", o.version, rec.Classes, c.Classes)
	}
	if !equalCounts(rec.Details, c.Details) {
		bad("%s counts the details %v, and the rows show %v", o.version, rec.Details, c.Details)
	}
	r.counted++
	r.degraded, r.missed = r.degraded || c.Degraded(), r.missed || head.Missed != nil
	r.headers = append(r.headers, statedHeader{name, head.Degraded})
	if c.Degraded() && !r.rec.Degraded {
		bad("degraded is false, and %d of %d active targets were reached under %s", c.Reached, c.Active, o.version)
	}
	if head.Missed != nil && !r.rec.Partial {
		bad("partial is false, against the dated file")
	}
	if ro := a.roster.byRun[r.id]; ro != nil && !blind && (ro.Counts.Endpoints != c.Eligible) {
		a.fault(archive.RosterPath(r.id), "roster", "it counts %d endpoints, and the rows show %d", ro.Counts.Endpoints, c.Eligible)
	}
}

// compareWhole holds what a run record states of all its methodologies together to
// the counts of their rows, and the headers to it: a run is degraded or partial if
// it is under any.
func (a *auditor) compareWhole(r *run) {
	if !r.trusted {
		return
	}
	if r.counted > 0 && r.counted == len(r.methods) {
		if r.rec.Degraded && !r.degraded {
			a.fault(r.path, "run-counts", "degraded is true, and enough active targets were reached")
		}
		if r.rec.Partial && !r.missed {
			a.fault(r.path, "run-counts", "partial is true, and no dated file names a target that was missed")
		}
	}
	for _, h := range r.headers {
		if h.degraded != r.rec.Degraded && !a.faulty(r.path) {
			a.fault(h.path, "dated-header", "degraded is %v, and the run record states %v", h.degraded, r.rec.Degraded)
		}
	}
}

func without(m map[string]int, key string) map[string]int {
	out := map[string]int{}
	for k, n := range m {
		if k != key {
			out[k] = n
		}
	}
	return out
}
