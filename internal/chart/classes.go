package chart

import (
	"math"

	gochart "github.com/wcharczuk/go-chart/v2"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// A state is a class label, or a state of timeline, as drawings show it. Its words
// are those of report.StateWords.
type state struct {
	label  string
	height float64 // on a strip: 1 answered, 2/3 refused the reader, 1/3 failed, a hairline
}

// hairline is the height of a state in which there is nothing to read.
const hairline = 0.06

// states lists what a target can be on a day, in the order in which drawings
// stack them: what was nearest to an answer first.
var states = []state{
	{record.Success.Label(), 1},
	{record.Auth.Label(), 2. / 3},
	{record.RateLimited.Label(), 1. / 3},
	{record.Parse.Label(), 1. / 3},
	{record.HTTP4xx.Label(), 1. / 3},
	{record.HTTP5xx.Label(), 1. / 3},
	{record.TLS.Label(), 1. / 3},
	{record.Timeout.Label(), 1. / 3},
	{record.NoEndpoint.Label(), hairline},
	{timeline.Retired, hairline},
	{timeline.NoData, 0},
}

// Classes draws how the targets ended on each day, stacked by class. A day
// without a full run is a gap (methodology v1, "Partial runs are not a population
// sample"), and so is a degraded one.
func Classes(r *report.Report, f Form) ([]byte, error) { return classesPlan(r).svg(f) }

// A classChart is what the stacked areas are drawn from.
type classChart struct {
	cal    calendar
	layers []state // those that occur
	last   int     // index in cal.days of the newest full day; -1: none
	most   float64 // targets on the greatest day
}

func full(d report.Day) bool { return complete(d) && len(d.Classes) > 0 }

func classesPlan(r *report.Report) plan {
	c := classChart{cal: calendarOf(r), last: -1}
	seen := map[string]bool{}
	for i, d := range c.cal.days {
		if !full(d.Day) {
			continue
		}
		c.last = i
		sum := 0.0
		for _, s := range states {
			if n := d.Classes[s.label]; n > 0 {
				seen[s.label] = true
				sum += float64(n)
			}
		}
		c.most = max(c.most, sum)
	}
	for _, s := range states {
		if seen[s.label] {
			c.layers = append(c.layers, s)
		}
	}
	desc := "Stacked areas: how many targets ended in each class on each day, those who answered lowest. Grey ground: days without a full run."
	if c.last < 0 {
		desc = "There has been no full run yet."
	}
	narrow := look{w: 340, k: 1, narrow: true}
	narrow.h = 300 + lineHeight*rowsOf(c.layers, len(c.legend(narrow)))
	return plan{title: "How the targets ended, day by day", desc: desc, note: noteOf(r), chart: c.chart, wide: look{w: 880, h: 360, k: 1}, narrow: narrow}
}

func (c classChart) chart(l look) gochart.Chart {
	yt, end := counts(c.most, 4)
	m := margins{top: 10, right: 8, bottom: 6, left: 12}
	if l.narrow {
		m.bottom = 16 + lineHeight*float64(rowsOf(c.layers, len(c.legend(l))))
	} else {
		m.right = 262
	}
	chart := axes(l, m, newSpan(0, float64(max(c.cal.n, 1))), newSpan(0, end), c.cal.ticks(l, m.left+m.right+50), yt, "")
	chart.Series = []gochart.Series{grid(l, yt), layer{l, c.areas}, layer{l, c.keys}}
	return chart
}

// sums returns the heights at which the layers of a day end, from 0 on.
func (c classChart) sums(d report.Day) []float64 {
	out := make([]float64, len(c.layers)+1)
	for i, s := range c.layers {
		out[i+1] = out[i] + float64(max(d.Classes[s.label], 0))
	}
	return out
}

// areas draws the layers, each down to the axis and the highest first, so that
// the lower ones lie on it: half the length of drawing each by itself. Heights
// are whole pixels, which merges days that hardly differ.
func (c classChart) areas(f field) {
	c.cal.gaps(f, full)
	for i := len(c.layers) - 1; i >= 0; i-- {
		for from := 0; from < len(c.cal.days); {
			to := from
			for to < len(c.cal.days) && full(c.cal.days[to].Day) && c.cal.days[to].at-c.cal.days[from].at == to-from {
				to++
			}
			if to == from {
				from++
				continue
			}
			c.area(f, i, c.cal.days[from:to])
			from = to
		}
		f.fill("s-" + c.layers[i].label + " sep")
	}
}

// area adds the layer i over days without a gap to the path.
func (c classChart) area(f field, i int, days []placed) {
	f.move(f.X(float64(days[0].at)), f.Y(0))
	before := math.Inf(1)
	for _, d := range days {
		if y := math.Round(f.Y(c.sums(d.Day)[i+1])); y != before {
			f.h(f.X(float64(d.at)))
			f.v(y)
			before = y
		}
	}
	f.h(f.X(float64(days[len(days)-1].at + 1)))
	f.v(f.Y(0))
	f.close()
}

// entries are what the legend says of each layer: its name, and how many targets
// ended so on the newest full day.
func (c classChart) entries() []key {
	if c.last < 0 {
		return nil
	}
	day := c.cal.days[c.last]
	keys := make([]key, len(c.layers))
	for i, s := range c.layers {
		keys[i] = key{"s-" + s.label, []part{words(report.StateWords(s.label))}}
		if n, ok := day.Classes[s.label]; ok {
			keys[i].parts = []part{words(report.StateWords(s.label) + " "), figure(n, "calendar", day.index, "classes", s.label)}
		}
	}
	return keys
}

// legend returns where the columns of the legend below the areas begin.
func (c classChart) legend(l look) []float64 {
	font, err := loadFont()
	if err != nil {
		return []float64{0}
	}
	return columns(newPen(nil, font, l), float64(l.w)-16*l.k, c.entries())
}

// keys names the layers: beside their ends, or below where there is no room.
func (c classChart) keys(f field) {
	k := f.look.k
	if c.last < 0 {
		f.label("m f halo", float64(f.box.Left+f.box.Right)/2, float64(f.box.Top+f.box.Bottom)/2, words("no full run yet"))
		return
	}
	keys, day := c.entries(), c.cal.days[c.last]
	if f.look.narrow {
		legend(f.pen, 8*k, float64(f.box.Bottom)+44*k, c.legend(f.look), keys)
		return
	}
	sums := c.sums(day.Day)
	middle, at := make([]float64, len(keys)), make([]float64, len(keys))
	for i := range keys {
		middle[i] = f.Y((sums[i] + sums[i+1]) / 2)
		at[i] = middle[i]
	}
	apart(at, 17*k, float64(f.box.Bottom)+6*k, float64(f.box.Top)-2*k)
	right := float64(f.box.Right)
	for i, q := range keys {
		f.move(f.X(float64(day.at+1))+1, middle[i])
		f.line(right+14*k, at[i])
		f.stroke("lead")
		f.box3(right+18*k, at[i], q.class)
		f.label("f", right+34*k, at[i]+4.5*k, q.parts...)
	}
}

// box3 draws a swatch that begins at x, around y.
func (f field) box3(x, y float64, class string) {
	k := f.look.k
	f.pen.box(x, y-5*k, x+10*k, y+5*k)
	f.fill(class)
}

// apart moves places, which ascend on the screen and so descend in number, until
// each is at least gap above the one before, none below floor, and none above
// ceiling while there is room.
func apart(at []float64, gap, floor, ceiling float64) {
	for i := range at {
		at[i] = min(at[i], floor)
		if i > 0 {
			at[i] = min(at[i], at[i-1]-gap)
		}
	}
	for i := len(at) - 1; i >= 0; i-- {
		at[i] = max(at[i], ceiling)
		ceiling = at[i] + gap
	}
}
