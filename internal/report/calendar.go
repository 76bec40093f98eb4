package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// calendar makes a Day of every day, with what its runs counted.
func (c *collector) calendar(h *timeline.History) {
	c.r.First = h.Days[0].Day
	c.r.Calendar = make([]Day, 0, len(h.Days))
	c.days = map[Date]int{}
	for i, d := range h.Days {
		c.days[d.Day] = i
		c.r.Calendar = append(c.r.Calendar, newDay(d))
	}
}

func newDay(d timeline.Day) Day {
	out := Day{Day: d.Day, Runs: Count(len(d.Runs))}
	if len(d.Runs) == 0 {
		return out
	}
	v := d.Coverage
	out.Active, out.Answered, out.Attempted, out.Targets = Count(v.Active), Count(v.Answered), Count(v.Attempted), Count(v.Targets)
	out.Degraded, out.Partial = d.Degraded, d.Partial
	if !d.Partial {
		out.Coverage = &Share{Count(v.Reached), Count(v.Active)}
		out.Classes = map[string]Count{}
		for label, n := range v.Classes {
			out.Classes[label] = Count(n)
		}
	}
	for _, r := range d.Runs {
		out.RunTimes = append(out.RunTimes, RunTime{Run: r.Run, Planned: r.Planned, Finished: r.Finished})
	}
	return out
}

// changes enters the changes of contract, by day and by the operator of that
// day, and lists the operators.
func (c *collector) changes(h *timeline.History) {
	groups := make([]map[string]*Group, len(h.Days))
	total := map[string]Count{}
	for _, t := range h.Targets {
		for i := range t.Lives {
			l := &t.Lives[i]
			at, ok := c.days[l.First]
			if !ok || l.Began == "" {
				continue
			}
			d := &c.r.Calendar[at]
			countChange(d, l)
			if !l.Drifted() {
				continue
			}
			if groups[at] == nil {
				groups[at] = map[string]*Group{}
			}
			operator := c.operator(l.Endpoint)
			g := groups[at][operator]
			if g == nil {
				g = &Group{Operator: operator}
				groups[at][operator] = g
			}
			g.Changed = append(g.Changed, Changed{Index: i, Name: t.Name})
			total[operator]++
		}
	}
	for at, byOperator := range groups {
		c.r.Calendar[at].Changes = sortedGroups(byOperator)
	}
	c.listOperators(h, total)
}

// countChange counts a change of contract on its day.
func countChange(d *Day, l *timeline.Life) {
	if l.Joined {
		return // it and the one beside it cancel out
	}
	if l.Drifted() {
		d.Drift++
	}
	switch {
	case !l.Comparable:
		d.Captures++
	case !l.Substantive():
		d.Numbers++
	}
}

// sortedGroups returns groups by number of servers, then by name. A server that
// changed twice on one day is one server.
func sortedGroups(byOperator map[string]*Group) []Group {
	var out []Group
	for _, g := range byOperator {
		names := map[string]bool{}
		for _, ch := range g.Changed {
			names[ch.Name] = true
		}
		g.Servers = Count(len(names))
		out = append(out, *g)
	}
	slices.SortFunc(out, func(x, y Group) int {
		return cmp.Or(cmp.Compare(y.Servers, x.Servers), strings.Compare(x.Operator, y.Operator))
	})
	return out
}

// listOperators lists whose servers are in the roster with an endpoint.
func (c *collector) listOperators(h *timeline.History, changes map[string]Count) {
	servers := map[string]Count{}
	for _, t := range h.Targets {
		if o := c.operator(t.Row.Endpoint); o != "" && t.Retired == "" {
			servers[o]++
		}
	}
	c.r.Operators = make([]Operator, 0, len(servers))
	for name, n := range servers {
		c.r.Operators = append(c.r.Operators, Operator{Changes: changes[name], Name: name, Servers: n})
	}
	slices.SortFunc(c.r.Operators, func(x, y Operator) int {
		return cmp.Or(cmp.Compare(y.Servers, x.Servers), strings.Compare(x.Name, y.Name))
	})
}

// transitions enters all other events, on their day and at their server.
func (c *collector) transitions(h *timeline.History) {
	for i, d := range h.Days {
		day := &c.r.Calendar[i]
		for _, e := range d.Transitions {
			t := Transition{Kind: e.Kind, Name: e.Name, From: told(e.Kind, e.From, e.To), To: told(e.Kind, e.To, e.From)}
			day.Events = append(day.Events, t)
			if s, ok := c.r.Servers[e.Name]; ok {
				s.Events = append(s.Events, c.serverEvent(d.Day, &e, t))
			}
			switch e.Kind {
			case record.Appeared:
				day.Appeared++
			case record.Retired:
				day.Retired++
			case record.Returned:
				day.Returned++
			case record.EndpointMoved:
				day.Moved++
			case record.FirstAnswer:
				day.First++
			case record.ClassChanged:
				switch {
				case e.Regained:
					day.Regained++
				case e.Lost:
					day.Lost++
				}
			}
		}
	}
}

// serverEvent returns a transition as the page of its server shows it. Both sides
// of a handshake stand beside it whole where the methodology has conditions of
// reading; the report of v1 is as it was before there were any.
func (c *collector) serverEvent(day Date, e *timeline.Transition, t Transition) ServerEvent {
	s := ServerEvent{Day: day, Transition: t}
	if e.Kind == record.ServerChanged && c.rules.CaptureRestricts {
		s.Before, s.After = handshake(e.From), handshake(e.To)
	}
	return s
}

// handshake reads one side of a server event; nil where it is none.
func handshake(side json.RawMessage) *Handshake {
	var h *Handshake
	if json.Unmarshal(side, &h) != nil {
		return nil
	}
	return h
}

// told returns one side of a transition as text: of what a server said about
// itself, the members that differ from the other side.
func told(kind record.Kind, side, other json.RawMessage) string {
	if kind == record.ServerChanged {
		if s, ok := toldServer(side, other); ok {
			return s
		}
	}
	var s string
	if json.Unmarshal(side, &s) == nil {
		return s // "" for null: none
	}
	return string(side)
}

// toldServer returns the members in which one side of a server event differs
// from the other, in alphabetical order.
func toldServer(side, other json.RawMessage) (string, bool) {
	is, err := record.Members(side)
	if err != nil {
		return "", false
	}
	was, err := record.Members(other)
	if err != nil {
		return "", false
	}
	var parts []string
	for _, name := range []string{"capabilities", "instructions", "name", "negotiated", "version"} {
		v, w := is[name], was[name]
		if bytes.Equal(v, w) {
			continue
		}
		parts = append(parts, serverMembers[name]+" "+cmp.Or(toldMember(name, v), "none"))
	}
	return strings.Join(parts, "; "), true
}

// serverMembers are the members of a server event in words.
var serverMembers = map[string]string{
	"capabilities": "capabilities", "instructions": "instructions", "name": "name", "negotiated": "protocol", "version": "version",
}

func toldMember(name string, v json.RawMessage) string {
	if name == "capabilities" {
		var list []string
		_ = json.Unmarshal(v, &list) // what is no list is told as none
		return strings.Join(list, ", ")
	}
	var s string
	_ = json.Unmarshal(v, &s)
	if d, err := canon.ParseDigest(s); name == "instructions" && err == nil {
		return d.Short()
	}
	return s
}

// dayAfter returns the day after d.
func dayAfter(d Date) Date { return record.DayOf(d.Time().AddDate(0, 0, 1)) }
