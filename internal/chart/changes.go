package chart

import (
	"strings"

	gochart "github.com/wcharczuk/go-chart/v2"

	"github.com/mcpstrata/mcpstrata/internal/report"
)

// Changes draws how many contracts changed on each day: above the line the
// substantive changes, and on top of them, hollow, those of numbers, order or
// white space only; below the line the differences that the conditions of
// reading may explain. Grey ground marks the days without a run, and partial and
// degraded ones, on which fewer changes could be seen.
func Changes(r *report.Report, f Form) ([]byte, error) { return changesPlan(r).svg(f) }

// A changeChart is what the bars are drawn from.
type changeChart struct {
	cal      calendar
	up, down float64 // the greatest bars above and below the line
	peak     int     // index in cal.days of the greatest bar above; -1: none
	runs     bool
	gaps     bool
	numbers  bool
	servers  map[string]*report.Server
}

// bars returns the parts of what changed on a day, each not negative.
func (c changeChart) bars(d report.Day) (substantive, numbers, captures float64) {
	numbers = float64(max(d.Numbers, 0))
	return max(float64(d.Drift)-numbers-c.counted(d), 0), numbers, float64(max(d.Captures, 0))
}

// counted returns how many of a day's drift events the conditions of reading may
// explain: all of its captures under a methodology that counts those as changes,
// as v1 does, and none under one that does not. The changes listed tell which.
func (c changeChart) counted(d report.Day) float64 {
	n := 0.0
	for _, g := range d.Changes {
		for _, ch := range g.Changed {
			s := c.servers[ch.Name]
			if s != nil && ch.Index >= 0 && ch.Index < len(s.Versions) && !s.Versions[ch.Index].Comparable {
				n++
			}
		}
	}
	return n
}

func complete(d report.Day) bool { return d.Runs > 0 && !d.Partial && !d.Degraded }

func changesPlan(r *report.Report) plan {
	c := changeChart{cal: calendarOf(r), peak: -1, servers: r.Servers}
	c.gaps = c.cal.n != len(c.cal.days)
	for i, d := range c.cal.days {
		c.runs = c.runs || d.Runs > 0
		c.gaps = c.gaps || !complete(d.Day)
		s, n, q := c.bars(d.Day)
		if s+n > c.up {
			c.up, c.peak = s+n, i
		}
		c.down = max(c.down, q)
		c.numbers = c.numbers || n > 0
	}
	var desc strings.Builder
	desc.WriteString("Bars: how many contracts changed on each day.")
	if c.numbers {
		desc.WriteString(" Hollow bars on top: changes of numbers, order or white space only.")
	}
	if c.down > 0 {
		desc.WriteString(" Bars below the line: differences that the conditions of reading may explain.")
	}
	if c.gaps {
		desc.WriteString(" Grey ground: days without a full run.")
	}
	rows := len(c.keys())
	return plan{title: "Changes of contracts, day by day", desc: desc.String(), note: noteOf(r), chart: c.chart,
		wide: look{w: 880, h: 260, k: 1}, narrow: look{w: 340, h: 220 + rows*lineHeight, k: 1, narrow: true}}
}

// keys are the entries of the legend: those of what occurs.
func (c changeChart) keys() []key {
	keys := []key{{"bar", []part{words("substantive")}}}
	if c.numbers {
		keys = append(keys, key{"num", []part{words("numbers, order, white space only")}})
	}
	if c.down > 0 {
		keys = append(keys, key{"cap", []part{words("read under other conditions")}})
	}
	if c.gaps {
		keys = append(keys, key{"gap", []part{words("no full run")}})
	}
	return keys
}

func (c changeChart) chart(l look) gochart.Chart {
	yt, high := counts(max(c.up, c.down/2), 3)
	low := 0.0
	if c.down > 0 {
		low = -max(c.down, high/8)
		// Ticks as far apart as above, so that lengths compare.
		step := yt[1].Value
		for v := step; v <= c.down; v += step {
			yt = append([]gochart.Tick{{Value: -v, Label: report.Count(v).Text()}}, yt...)
		}
	}
	m := margins{top: 14 + lineHeight, right: 8, bottom: 6, left: 12}
	if l.narrow {
		m.top = 14 + lineHeight*float64(len(c.keys()))
	}
	m.top += 8
	chart := axes(l, m, newSpan(0, float64(max(c.cal.n, 1))), newSpan(low, high), c.cal.ticks(l, m.left+m.right+50), yt, "")
	chart.Series = []gochart.Series{grid(l, yt), layer{l, c.columns}, layer{l, c.notes}}
	return chart
}

// columns draws the days, each kind in one path. Bars have a hair of ground between
// them while they are wide enough.
func (c changeChart) columns(f field) {
	c.cal.gaps(f, complete)
	day := f.X(1) - f.X(0)
	air := 0.0
	if day >= 3 {
		air = min(day*0.12, 3)
	}
	draw := func(class string, of func(report.Day) (from, to float64)) {
		drawn := false
		for _, d := range c.cal.days {
			if from, to := of(d.Day); from != to {
				inset := 0.0
				if class == "num" && day >= 4 {
					inset = 0.5 // the outline stays within
				}
				f.pen.box(f.X(float64(d.at))+air+inset, f.Y(from)-inset, f.X(float64(d.at+1))-air-inset, f.Y(to)+inset)
				drawn = true
			}
		}
		if drawn {
			f.fill(class)
		}
	}
	draw("bar", func(d report.Day) (float64, float64) { s, _, _ := c.bars(d); return 0, s })
	draw("num", func(d report.Day) (float64, float64) { s, n, _ := c.bars(d); return s, s + n })
	draw("cap", func(d report.Day) (float64, float64) { _, _, q := c.bars(d); return 0, -q })
	f.move(float64(f.box.Left), f.Y(0))
	f.h(float64(f.box.Right))
	f.stroke("ax")
}

// notes writes the legend, and the greatest day's figure above its bar.
func (c changeChart) notes(f field) {
	k := f.look.k
	if f.look.narrow {
		legend(f.pen, 8*k, 14*k, []float64{0}, c.keys())
	} else {
		legendLine(f.pen, 8*k, 14*k, c.keys())
	}
	if !c.runs {
		f.label("m f halo", float64(f.box.Left+f.box.Right)/2, float64(f.box.Top+f.box.Bottom)/2, words("no run yet"))
		return
	}
	if c.peak < 0 {
		f.label("m f halo", float64(f.box.Left+f.box.Right)/2, float64(f.box.Top+f.box.Bottom)/2, words("no change yet"))
		return
	}
	d := c.cal.days[c.peak]
	if c.counted(d.Day) > 0 {
		return // the bar is a part of the day's figure
	}
	n := figure(d.Drift, "calendar", d.index, "drift")
	half := f.width(n) / 2
	x := min(max(f.X(float64(d.at)+0.5), float64(f.box.Left)+half), float64(f.box.Right)-half)
	f.label("m b halo", x, f.Y(c.up)-4*k, n)
}
