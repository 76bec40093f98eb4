package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// settle gives a row to the targets that have no endpoint and to those that were
// retired.
func (l *line) settle() error {
	l.restoreSince()
	for _, t := range l.b.in.Targets {
		if t.Endpoint != "" {
			continue
		}
		o := l.carry(t)
		l.setClass(&o, record.Outcome{Class: record.NoEndpoint, Detail: t.Reason})
		o.Flags = mergeFlags(t.Flags, nil)
		l.fail(&o)
		l.now[t.Name] = o
	}
	for name, old := range l.before {
		if _, listed := l.targets[name]; listed || old.Retired != "" {
			continue
		}
		if old.Head != nil {
			h := *old.Head
			h.LastObserved = l.lastRead(name)
			old.Head = &h
		}
		old.Retired = l.b.in.Plan.Day
		l.now[name] = old
	}
	return nil
}

// restoreSince gives back its first day to a class that an earlier run of this
// day had interrupted: what a day looks like is how it ends.
func (l *line) restoreSince() {
	for name, o := range l.now {
		if l.asInTheMorning(name, o.ErrorClass) && o.Since == l.b.in.Plan.Day && o.Retired == "" {
			o.Since = l.morning[name].since
			l.now[name] = o
		}
	}
}

// missing returns the targets with an endpoint that no run of this day
// attempted, sorted.
func (l *line) missing() []string {
	var names []string
	for name, t := range l.targets {
		if t.Endpoint != "" && !l.done[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// coverage counts the day, and reports whether it is partial.
func (l *line) coverage() (c record.Coverage, partial bool) {
	c = record.Coverage{Classes: map[string]int{}, Details: map[string]int{}, Targets: len(l.targets)}
	for name, t := range l.targets {
		o := l.now[name]
		if t.Endpoint != "" {
			c.Eligible++
			if !l.done[name] {
				partial = true
				continue
			}
			c.Attempted++
			if l.baseline || l.active[name] {
				c.Active++
				if o.ErrorClass.Reached() {
					c.Reached++
				}
			}
		}
		c.Classes[o.ErrorClass.Label()]++
		if o.ErrorDetail != "" {
			c.Details[o.Outcome().String()]++
		}
		if o.ErrorClass == record.Success {
			c.Answered++
		}
	}
	c.Coverage = record.BasisPoints(c.Reached, c.Active)
	return c, partial
}

// put writes the rows that differ from the tree's, the dated file, and marks the
// events of a degraded day.
func (l *line) put(degraded bool) error {
	if degraded {
		for i := range l.b.events {
			if l.b.events[i].Methodology == l.methodology.Version {
				l.b.events[i].Degraded = true
			}
		}
	}
	rows := make([]record.Observation, 0, len(l.now))
	for _, o := range l.now {
		rows = append(rows, o)
	}
	slices.SortFunc(rows, func(a, b record.Observation) int { return strings.Compare(a.Name, b.Name) })
	head := record.ObservationHeader{
		Attempted: l.probed, Baseline: l.baseline, Day: l.b.in.Plan.Day, Degraded: degraded, Methodology: l.methodology.Version,
		Missed: l.missedRecord(), ProberVersion: l.b.in.Plan.ProberVersion, Run: l.b.in.Plan.Run,
		Targets: len(l.targets), Unchanged: map[string]int{},
	}
	var dated []byte
	for _, o := range rows {
		line := record.Line(o)
		old, had := l.before[o.Name]
		if had && string(record.Line(old)) == string(line) {
			if o.Retired == "" {
				head.Unchanged[o.ErrorClass.Label()]++
			}
			continue
		}
		head.Rows++
		dated = append(dated, line...)
	}
	shards := archive.EncodeShards(rows)
	head.Folded = archive.Folded(shards)
	for i, x := range archive.Shards {
		name := archive.CurrentPath(l.methodology.Version, x)
		was, err := l.b.in.Tree.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if was == nil || string(was) != string(shards[i]) {
			if err := l.b.in.Put(name, shards[i]); err != nil {
				return err
			}
		}
	}
	return l.b.putDated(archive.ObservationsPath(head.Run, head.Methodology), append(record.Line(head), dated...))
}

// missedRecord says which targets the day still lacks.
func (l *line) missedRecord() *record.Missed {
	names := l.missing()
	if len(names) == 0 {
		return nil
	}
	m := &record.Missed{After: l.b.in.Plan.Limit, Names: names}
	if len(l.b.in.Missing) > 0 {
		m.Shards, m.Of = l.b.in.Missing, l.b.in.Shards
	}
	var only []string
	for name, t := range l.targets {
		if t.Endpoint != "" && l.done[name] {
			only = append(only, name)
		}
	}
	if len(only) > 0 && len(only) < len(names) {
		slices.Sort(only)
		m.Names, m.Only = nil, only
	}
	return m
}
