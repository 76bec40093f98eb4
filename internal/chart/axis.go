package chart

import (
	"math"
	"strconv"
	"time"

	gochart "github.com/wcharczuk/go-chart/v2"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
)

// A span is the range of an axis. go-chart would set it from the ticks, and fails
// on one without extent or with an infinite end; a span keeps what it was made
// with, and always has an extent.
type span struct {
	min, max float64
	domain   int
}

func newSpan(low, high float64) *span {
	if math.IsNaN(low) || math.IsInf(low, 0) {
		low = 0
	}
	if math.IsNaN(high) || math.IsInf(high, 0) || high <= low {
		high = low + 1
	}
	return &span{min: low, max: high}
}

func (s *span) String() string     { return "span" }
func (s *span) IsZero() bool       { return false }
func (s *span) GetMin() float64    { return s.min }
func (s *span) SetMin(float64)     {}
func (s *span) GetMax() float64    { return s.max }
func (s *span) SetMax(float64)     {}
func (s *span) GetDelta() float64  { return s.max - s.min }
func (s *span) GetDomain() int     { return s.domain }
func (s *span) SetDomain(d int)    { s.domain = d }
func (s *span) IsDescending() bool { return false }

// Translate returns the nearest pixel; go-chart's own range rounds up.
func (s *span) Translate(v float64) int { return whole(s.at(v) * float64(s.domain)) }

// at returns where v lies, from 0 to 1, and the nearer end for what lies outside.
func (s *span) at(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(max((v-s.min)/(s.max-s.min), 0), 1)
}

// A field is where a series draws: the pen, the place of the canvas, and its axes.
type field struct {
	*pen
	box  gochart.Box
	x, y gochart.Range
}

// X returns the place of a value of the x axis, in pixels.
func (f field) X(v float64) float64 { return scale(f.x, v, f.box.Left, f.box.Width()) }

// Y returns the place of a value of the y axis, in pixels.
func (f field) Y(v float64) float64 { return float64(f.box.Bottom) - scale(f.y, v, 0, f.box.Height()) }

func scale(r gochart.Range, v float64, from, length int) float64 {
	if s, ok := r.(*span); ok {
		return float64(from) + float64(s.at(v)*float64(length))
	}
	return float64(from + r.Translate(v))
}

// A layer is a series of go-chart that draws itself.
type layer struct {
	look look
	draw func(field)
}

func (layer) GetName() string             { return "" }
func (layer) GetYAxis() gochart.YAxisType { return gochart.YAxisPrimary }
func (layer) GetStyle() gochart.Style     { return gochart.Style{} }
func (layer) Validate() error             { return nil }

// Render draws the layer.
func (l layer) Render(r gochart.Renderer, box gochart.Box, x, y gochart.Range, defaults gochart.Style) {
	l.draw(field{pen: newPen(r, defaults.Font, l.look), box: box, x: x, y: y})
}

// margins are the room around the axes' labels, in lengths of a look.
type margins struct{ top, right, bottom, left float64 }

// axes returns a chart with both axes and no series.
func axes(l look, m margins, x, y *span, xt, yt []gochart.Tick, name string) gochart.Chart {
	text := func(class string) gochart.Style {
		return gochart.Style{ClassName: class, FontColor: colour("--mut"), FontSize: textSize * l.k, StrokeColor: colour("--mut"), StrokeWidth: l.k}
	}
	yStyle := text(classTickY + " " + classEnd)
	yStyle.StrokeColor = clear()
	c := frame(l, m)
	c.XAxis = gochart.XAxis{
		Name: name, NameStyle: text(classMiddle), Range: x, Ticks: xt, TickStyle: text(classTick + " " + classMiddle),
		GridMajorStyle: gochart.Hidden(), GridMinorStyle: gochart.Hidden(),
	}
	// go-chart calls the left axis the secondary one.
	c.YAxis = gochart.YAxis{
		AxisType: gochart.YAxisSecondary, Range: y, Ticks: yt, TickStyle: yStyle,
		GridMajorStyle: gochart.Hidden(), GridMinorStyle: gochart.Hidden(), Zero: gochart.GridLine{Style: gochart.Hidden()},
	}
	return c
}

// frame returns a chart without axes and series.
func frame(l look, m margins) gochart.Chart {
	return gochart.Chart{
		Width: l.w, Height: l.h, DPI: 72, // a point is a pixel
		Background: gochart.Style{
			ClassName: classNone, FillColor: colour("--bg"), StrokeColor: clear(),
			Padding: gochart.Box{Top: l.px(m.top), Right: l.px(m.right), Bottom: l.px(m.bottom), Left: l.px(m.left), IsSet: true},
		},
		Canvas: gochart.Style{ClassName: classNone, FillColor: clear(), StrokeColor: clear()},
		XAxis:  gochart.HideXAxis(), YAxis: gochart.HideYAxis(), YAxisSecondary: gochart.HideYAxis(),
	}
}

// grid draws a line across the canvas at each tick.
func grid(l look, ticks []gochart.Tick) layer {
	return layer{l, func(f field) {
		for _, t := range ticks {
			f.move(float64(f.box.Left), f.Y(t.Value))
			f.h(float64(f.box.Right))
			f.stroke("gr")
		}
	}}
}

// counts returns the ticks of an axis of whole numbers from 0 to at least most,
// about n of them, at 1, 2 or 5 times a power of ten, and the axis's end.
func counts(most float64, n int) ([]gochart.Tick, float64) {
	step := 1.0
	for i := 0; step*float64(n) < most && i < 60; i++ {
		step *= [3]float64{2, 2.5, 2}[i%3]
	}
	var ticks []gochart.Tick
	end := max(step*math.Ceil(most/step), step)
	for v := 0.0; v <= end; v += step {
		ticks = append(ticks, gochart.Tick{Value: v, Label: report.Count(v).Text()})
	}
	return ticks, end
}

// daysOf returns the number of a UTC day since 1970-01-01, and false for what is
// no day. Days are counted, never hours: each occurs once (case f-013).
func daysOf(d record.Day) (int, bool) {
	day, err := record.ParseDay(string(d))
	if err != nil {
		return 0, false
	}
	return int(day.Time().Unix() / (24 * 60 * 60)), true
}

func civil(day int) time.Time { return time.Unix(int64(day)*24*60*60, 0).UTC() }

// A rule says which days have a tick, and how one is written.
type rule struct {
	layout string
	width  float64 // of a label, with air
	is     func(day int, t time.Time) bool
}

// rules are the rules for ticks from the finest to the coarsest, of an axis that
// begins on first.
func rules(first int) []rule {
	const short, month = "2 Jan", "Jan 2006"
	return []rule{
		{short, 58, func(int, time.Time) bool { return true }},
		{short, 58, func(day int, _ time.Time) bool { return (day-first)%2 == 0 }},
		{short, 58, func(_ int, t time.Time) bool { return t.Weekday() == time.Monday }},
		{short, 58, func(day int, t time.Time) bool { return t.Weekday() == time.Monday && (day+3)/7%2 == 0 }},
		{month, 68, func(_ int, t time.Time) bool { return t.Day() == 1 }},
		{month, 68, func(_ int, t time.Time) bool { return t.Day() == 1 && t.Month()%3 == 1 }},
		{month, 68, func(_ int, t time.Time) bool { return t.YearDay() == 1 }},
	}
}

// dateTicks returns ticks for the days first to last, each in the middle of its
// day, so many that their labels fit into length pixels at the scale k: every
// day, every second, Mondays, every second Monday, or the first days of months,
// quarters or years.
func dateTicks(first, last int, length, k float64) []gochart.Tick {
	if last < first {
		return nil
	}
	unit := length / float64(last-first+1)
	var ticks []gochart.Tick
	width := 0.0
	for _, r := range rules(first) {
		var next []gochart.Tick
		for day := first; day <= last; day++ {
			if t := civil(day); r.is(day, t) {
				next = append(next, gochart.Tick{Value: float64(day-first) + 0.5, Label: t.Format(r.layout)})
			}
		}
		if len(next) == 0 {
			break // the days are too few for so coarse a rule
		}
		if ticks, width = next, r.width*k; fits(ticks, unit, width) {
			return ticks
		}
	}
	return thin(ticks, unit, width)
}

// fits reports whether labels so wide stand apart, unit pixels being 1.
func fits(ticks []gochart.Tick, unit, width float64) bool {
	for i := 1; i < len(ticks); i++ {
		if (ticks[i].Value-ticks[i-1].Value)*unit < width {
			return false
		}
	}
	return true
}

// thin leaves out ticks evenly, the first one never, until labels stand apart.
func thin(ticks []gochart.Tick, unit, width float64) []gochart.Tick {
	some := ticks
	for every := 2; !fits(some, unit, width); every++ {
		some = nil
		for i := 0; i < len(ticks); i += every {
			some = append(some, ticks[i])
		}
	}
	return some
}

// dayLabel is a tick's text for a number of days.
func dayLabel(n int64) string { return strconv.FormatInt(n, 10) }
