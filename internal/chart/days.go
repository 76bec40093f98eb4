package chart

import (
	gochart "github.com/wcharczuk/go-chart/v2"

	"github.com/mcpstrata/mcpstrata/internal/report"
)

// A calendar places the days of a report on an axis: the day with the number i
// takes the range from i to i+1.
type calendar struct {
	days  []placed
	first int // day number since 1970-01-01 of the axis's beginning
	n     int // days on the axis
}

// A placed day is Report.Calendar[index], at its place.
type placed struct {
	index, at int
	report.Day
}

// calendarOf places the days of a report. What is no day, comes twice, or lies
// before the first is left out; a day that the report lacks stays empty.
func calendarOf(r *report.Report) calendar {
	var c calendar
	for i, d := range r.Calendar {
		n, ok := daysOf(d.Day)
		if !ok {
			continue
		}
		if len(c.days) == 0 {
			c.first = n
		}
		at := n - c.first
		if at < c.n || at > maxDays {
			continue
		}
		c.days = append(c.days, placed{index: i, at: at, Day: d})
		c.n = at + 1
	}
	return c
}

// maxDays bounds an axis: a century.
const maxDays = 36525

// ticks returns the ticks of the date axis for a look.
func (c calendar) ticks(l look, left float64) []gochart.Tick {
	if c.n == 0 {
		return []gochart.Tick{{}} // or go-chart makes some of its own
	}
	return dateTicks(c.first, c.first+c.n-1, float64(l.w)-left*l.k, l.k)
}

// gaps lays a grey ground on the days that full rejects, the missing ones
// included, and a dark bar on the axis below them.
func (c calendar) gaps(f field, full func(report.Day) bool) {
	have := make([]bool, c.n)
	for _, d := range c.days {
		have[d.at] = full(d.Day)
	}
	var gaps [][2]float64
	for i := 0; i < c.n; i++ {
		if have[i] {
			continue
		}
		j := i
		for j < c.n && !have[j] {
			j++
		}
		gaps = append(gaps, [2]float64{f.X(float64(i)), f.X(float64(j))})
		i = j
	}
	if len(gaps) == 0 {
		return
	}
	top, bottom := float64(f.box.Top), float64(f.box.Bottom)
	for _, g := range gaps {
		f.pen.box(g[0], top, g[1], bottom)
	}
	f.fill("gap")
	for _, g := range gaps {
		f.pen.box(g[0], bottom+1, g[1], bottom+1+gapBar)
	}
	f.fill("miss")
}

// gapBar is the height of the bar below the axis that marks a gap, so that it does
// not hang on a pale ground alone.
const gapBar = 4

// A key is one entry of a legend: a swatch in class, and what it stands for.
type key struct {
	class string
	parts []part
}

// columns returns where the columns of a legend begin: of two if they fit into
// width, else of one.
func columns(p *pen, width float64, keys []key) []float64 {
	half := max((len(keys)+1)/2, 1)
	var widest [2]float64
	for i, q := range keys {
		widest[i/half] = max(widest[i/half], p.width(q.parts...)+18*p.look.k)
	}
	if air := 10 * p.look.k; widest[0]+widest[1]+air <= width {
		return []float64{0, max(widest[0]+air, min(width/2, width-widest[1]))}[:min(len(keys), 2)]
	}
	return []float64{0}
}

// rowsOf returns how many lines a legend takes.
func rowsOf[E any](keys []E, columns int) int { return (len(keys) + columns - 1) / max(columns, 1) }

// legend writes keys from x, y on, in columns that begin at the offsets at.
func legend(p *pen, x, y float64, at []float64, keys []key) {
	rows := rowsOf(keys, len(at))
	for i, q := range keys {
		p.entry(x+at[i/rows], y+float64(i%rows)*lineHeight*p.look.k, q)
	}
}

// legendLine writes keys in one line.
func legendLine(p *pen, x, y float64, keys []key) {
	for _, q := range keys {
		p.entry(x, y, q)
		x += p.width(q.parts...) + (18+20)*p.look.k
	}
}

// entry writes one key: its swatch, and what it stands for.
func (p *pen) entry(x, y float64, q key) {
	k := p.look.k
	p.box(x+0.5*k, y-10*k, x+11*k, y+0.5*k)
	p.fill(q.class)
	if q.class == "gap" {
		p.box(x+0.5*k, y-(gapBar-0.5)*k, x+11*k, y+0.5*k)
		p.fill("miss")
	}
	p.label("f", x+18*k, y, q.parts...)
}
