package chart

import (
	"fmt"
	"slices"
	"strings"

	gochart "github.com/wcharczuk/go-chart/v2"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
)

// Strip draws the states of one server over the days of the record, and its
// versions. The state shows in height and colour: tall where it answered, two
// thirds where it refused the reader, one third for every other failure, a hairline
// where it was retired or not probed, and nothing where nothing is known. A tick for
// each version but the first carries its number, as far as they fit. It fails on
// a name that the report does not have.
func Strip(r *report.Report, name string, f Form) ([]byte, error) {
	s, ok := r.Servers[name]
	if !ok || s == nil {
		return nil, fmt.Errorf("drawing the strip of %q: no such server", name)
	}
	p := stripPlan(r, name, s)
	if f.Standalone {
		p.title, p.recorded, p.note = name, true, noteOf(r)
	}
	return p.svg(f)
}

// A strip is what a server's strip is drawn from.
type strip struct {
	name        string
	server      *report.Server
	first, days int // of the axis: day number since 1970-01-01, and length
	runs        map[string][][2]int
}

// Sizes of a strip, in pixels.
const (
	stripHeight = 66
	stripTop    = 26 // of a tall bar
	stripBase   = 48 // of all bars
)

func stripPlan(r *report.Report, name string, server *report.Server) plan {
	s := strip{name: name, server: server, runs: map[string][][2]int{}}
	s.first, s.days = extent(r, server)
	s.merge()
	return plan{
		title: "Readings and versions of this server",
		desc:  s.describe(),
		small: true,
		chart: s.chart,
		wide:  look{w: 880, h: stripHeight, k: 1}, narrow: look{w: 340, h: stripHeight, k: 1, narrow: true},
	}
}

// extent returns the first day and the length of the record's calendar.
func extent(r *report.Report, server *report.Server) (first, days int) {
	first, ok := daysOf(r.First)
	last, ok2 := daysOf(r.AsOf)
	if !ok && len(server.Spans) > 0 {
		first, ok = daysOf(server.Spans[0].First)
	}
	if !ok || !ok2 || last < first {
		return first, 1
	}
	return first, min(last-first+1, maxDays)
}

// merge collects the spans by state, neighbours of one state in one piece, cut to
// the calendar. A state that no table knows is drawn as a failure.
func (s *strip) merge() {
	for _, span := range s.server.Spans {
		n, ok := daysOf(span.First)
		if !ok || span.Days <= 0 {
			continue
		}
		from := max(n-s.first, 0)
		to := min(n-s.first+min(span.Days, maxDays), s.days)
		if from >= to {
			continue
		}
		label := span.State
		if !known(label) {
			label = unknown
		}
		list := s.runs[label]
		if i := len(list) - 1; i >= 0 && list[i][1] == from {
			list[i][1] = to
			continue
		}
		s.runs[label] = append(list, [2]int{from, to})
	}
}

// unknown is the class of a state that no table knows.
const unknown = "unknown"

func known(label string) bool {
	return slices.ContainsFunc(states, func(s state) bool { return s.label == label })
}

func (s strip) describe() string {
	heights := []struct {
		height float64
		words  string
	}{{1, "tall: answered"}, {2. / 3, "lower: " + report.StateWords(record.Auth.Label())}, {1. / 3, "low: failed otherwise"}, {hairline, "hairline: retired or not probed"}, {0, "empty: not measured"}}
	var out []string
	for _, h := range heights {
		for _, st := range allStates() {
			if st.height == h.height && len(s.runs[st.label]) > 0 {
				out = append(out, h.words)
				break
			}
		}
	}
	if s.changes() > 0 {
		out = append(out, "ticks: new versions")
	}
	if len(out) == 0 {
		return "Nothing is known yet."
	}
	out[0] = strings.ToUpper(out[0][:1]) + out[0][1:]
	return strings.Join(out, "; ") + "."
}

// allStates are the states, and the one that no table knows.
func allStates() []state { return append(slices.Clip(states), state{label: unknown, height: 1. / 3}) }

// changes is how many versions follow another.
func (s strip) changes() int { return max(len(s.server.Versions)-1, 0) }

func (s strip) chart(l look) gochart.Chart {
	c := frame(l, margins{top: stripTop, bottom: stripHeight - stripBase, left: 1, right: 1})
	c.XAxis.Range, c.YAxis.Range = newSpan(0, float64(s.days)), newSpan(0, 1)
	c.Series = []gochart.Series{layer{l, s.draw}}
	return c
}

func (s strip) draw(f field) {
	for _, st := range allStates() {
		list := s.runs[st.label]
		if len(list) == 0 || st.height == 0 {
			continue
		}
		for _, run := range list {
			f.pen.box(f.X(float64(run[0])), f.Y(0), f.X(float64(run[1])), f.Y(st.height))
		}
		f.fill("s-" + st.label)
	}
	s.scale(f)
	s.ticks(f)
}

// A mark is a version at its place.
type mark struct {
	index int
	x     float64
	day   report.Date
}

// ticks marks each version but the first, and numbers as many as fit, the newest
// first.
func (s strip) ticks(f field) {
	marks := s.marks(f)
	if len(marks) == 0 {
		return
	}
	for _, m := range marks {
		f.move(m.x, stripTop-9)
		f.v(stripTop - 1)
	}
	f.stroke("ev")
	if !expressible(s.name) {
		return // no page can say where the figures are
	}
	left, right := float64(f.box.Left), float64(f.box.Right)
	free := right + 1
	for i := len(marks) - 1; i >= 0; i-- {
		n := figure(s.server.Versions[marks[i].index].N, "servers", s.name, "versions", marks[i].index, "n")
		half := f.width(words("#"), n) / 2
		x := min(max(marks[i].x, left+half), right-half)
		if x+half > free {
			continue
		}
		f.label("m f", x, stripTop-13, words("#"), n)
		free = x - half - 5
	}
}

// marks returns the versions but the first that lie on the calendar, one a day,
// oldest first.
func (s strip) marks(f field) []mark {
	var out []mark
	for i, v := range s.server.Versions {
		n, ok := daysOf(v.First)
		if i == 0 || !ok || n < s.first || n >= s.first+s.days {
			continue
		}
		m := mark{index: i, x: f.X(float64(n - s.first)), day: v.First}
		if k := len(out) - 1; k >= 0 && out[k].day == v.First {
			out[k] = m
			continue
		}
		out = append(out, m)
	}
	return out
}

// scale writes the dates at both ends and, where they fit, of the newest changes.
func (s strip) scale(f field) {
	left, right := float64(f.box.Left), float64(f.box.Right)
	y := float64(stripBase + 15)
	written := func(n int) part { return part{text: civil(n).Format("2 Jan 2006"), axis: true} }
	from, to := written(s.first), written(s.first+s.days-1)
	f.label("", left, y, from)
	if s.days == 1 {
		return
	}
	f.label("e", right, y, to)
	layout := "2 Jan"
	if s.days > 300 {
		layout = "2 Jan 2006"
	}
	begin, free := left+f.width(from)+10, right-f.width(to)-10
	marks := s.marks(f)
	for i := len(marks) - 1; i >= 0; i-- {
		p := part{text: marks[i].day.Time().Format(layout), axis: true}
		half := f.width(p) / 2
		if marks[i].x+half > free || marks[i].x-half < begin {
			continue
		}
		f.label("m", marks[i].x, y, p)
		free = marks[i].x - half - 10
	}
}
