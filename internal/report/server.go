package report

import (
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// recentDays is the number of days, the newest included, whose changes a server
// page counts as recent.
const recentDays = 90

// server returns the figures of a target, without its events.
func (c *collector) server(t *timeline.Target) *Server {
	s := &Server{Listed: t.Listed, Operator: c.operator(t.Endpoint), Read: t.Read, Retired: t.Retired, Spans: t.Spans}
	if s.Spans == nil { // listed since the newest run, by one under another methodology
		s.Spans = []timeline.Span{}
	}
	s.State, s.Since = t.State()
	for _, span := range t.Spans {
		n := Count(span.Days)
		switch span.State {
		case timeline.NoData:
			s.NoData += n
		case timeline.Retired, record.NoEndpoint.Label():
		case record.Success.Label():
			s.Answered += n
			s.Measured += n
		default:
			s.Measured += n
		}
	}
	if s.State == t.Row.ErrorClass.Label() {
		s.Detail = string(t.Row.ErrorDetail)
	}
	if h := t.Row.Head; h != nil {
		tools, bytes := Count(h.Tools), Count(h.Bytes)
		s.Tools, s.Bytes = &tools, &bytes
	}
	s.Unstable = unstable(t) || c.wavers(t)
	c.versions(s, t)
	return s
}

// versions fills the history of a server's contracts, and what is counted in it.
func (c *collector) versions(s *Server, t *timeline.Target) {
	for i := range t.Lives {
		l := &t.Lives[i]
		v := Version{
			Added: Count(l.Added), Artifacts: l.Artifacts, Changed: Count(l.Changed), Changes: l.Changes, ChangesCut: l.ChangesCut, Classes: l.Classes, Comparable: l.Comparable, Confirmed: l.Confirmed,
			ConfirmedOn: l.ConfirmedOn, Differs: l.Differs, Drift: l.Drifted(), Ended: l.Ended, First: l.First, Identity: l.Identity,
			LastSame: l.LastSame, N: Count(i + 1), Read: l.Read, Removed: Count(l.Removed), ReturnOf: Count(l.ReturnOf), Tools: Count(l.Tools),
		}
		c.conditions(&v, l)
		v.Lived = lived(l)
		if l.LastSame != "" {
			v.Gap = Days(timeline.Between(l.LastSame, l.First))
		}
		if l.Drifted() {
			s.Changes++
			if timeline.Between(l.First, c.r.AsOf) < recentDays {
				s.Recent++
			}
		}
		s.Versions = append(s.Versions, v)
	}
	if n := len(s.Versions); n > 0 && s.State == record.Success.Label() {
		v := &s.Versions[n-1]
		v.InForce = v.Read == c.r.AsOf
		age := v.Lived
		s.Age = &age
	}
}

// conditions fills how a contract was read, which stands beside every digest.
func (c *collector) conditions(v *Version, l *timeline.Life) {
	v.Capture = &l.Capture
	if c.rules.SecondReading {
		v.Joined, v.UnstableDays, v.Reread = l.Joined, l.Unstable, l.Reread
	}
}

// wavers reports whether two readings of one run of the last unstableWindow days,
// the newest included, differed while the newest contract was in force.
func (c *collector) wavers(t *timeline.Target) bool {
	h := t.Row.Head
	return h != nil && h.Unstable != "" && timeline.Between(h.Unstable, c.r.AsOf) < unstableWindow
}

// lived returns for how long a contract is known to have been in force: to the
// first reading of the next one, or to its own last.
func lived(l *timeline.Life) Days {
	end := l.Ended
	if end == "" {
		end = l.Read
	}
	return Days(max(0, timeline.Between(l.First, end)))
}

// A target is unstable when it changed at least unstableChanges times in its last
// unstableWindow days with an answer (km/README.md, section 7).
const (
	unstableChanges = 8
	unstableWindow  = 28
)

// unstable reports whether a target does not keep to one contract.
func unstable(t *timeline.Target) bool {
	from, left := record.Day(""), unstableWindow
	for i := len(t.Spans) - 1; i >= 0 && left > 0; i-- {
		s := t.Spans[i]
		if s.State != record.Success.Label() {
			continue
		}
		n := min(left, s.Days)
		from = record.DayOf(s.First.Time().AddDate(0, 0, s.Days-n))
		left -= n
	}
	n := 0
	for i := range t.Lives {
		if l := &t.Lives[i]; l.Drifted() && l.First >= from {
			n++
		}
	}
	return from != "" && n >= unstableChanges
}
