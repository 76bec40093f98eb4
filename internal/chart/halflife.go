package chart

import (
	"math"

	gochart "github.com/wcharczuk/go-chart/v2"

	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/survival"
)

// Sizes of the survival curve. The picture is that of social cards.
var (
	halfLifeWide   = look{w: 880, h: 470, k: 1}
	halfLifeNarrow = look{w: 340, h: 400, k: 1, narrow: true}
	cardLook       = look{w: cardWidth, h: cardHeight, k: 1.25, card: true}
)

const cardWidth, cardHeight = 1200, 630

// HalfLife draws the share of contracts that last at least so many days: the
// estimate as steps, its pointwise limits (log-log, with Greenwood's variance) as
// a band, and the server-weighted curve where the report has it. The curve is
// dashed after the last change that was seen, grey where fewer than
// [survival.ThinBelow] were at risk, and ends with the last time of which
// anything is known (km/README.md, section 9). A drop line marks the half-life
// once it is reached. Below the axis stand the numbers at risk.
func HalfLife(r *report.Report, f Form) ([]byte, error) { return halfLifePlan(r).svg(f) }

// HalfLifePNG draws the same as a picture of 1200 by 630 pixels, on a light
// ground, with a heading and the day that it is of.
func HalfLifePNG(r *report.Report) ([]byte, error) { return halfLifePlan(r).png(cardLook) }

// A survivalChart is what the survival curve is drawn from.
type survivalChart struct {
	r        *report.Report
	pooled   curve
	any      bool // there were contracts to follow
	weighted curve
	both     bool
}

func halfLifePlan(r *report.Report) plan {
	s := survivalChart{r: r}
	s.pooled, s.any = pooled(r.HalfLife.Estimate)
	s.weighted, s.both = weighted(r.HalfLife.Estimate, s.pooled.end)
	return plan{
		title: "How long contracts last",
		desc:  s.describe(),
		note:  noteOf(r),
		chart: s.chart,
		wide:  halfLifeWide, narrow: halfLifeNarrow,
	}
}

// noteOf is what a drawing says of its data where no page does.
func noteOf(r *report.Report) string {
	if r.Simulated {
		return "simulated data"
	}
	return ""
}

func (s survivalChart) describe() string {
	if !s.any {
		return "No contract has been followed yet."
	}
	out := "A step curve: the share of contracts that were still unchanged, by days since they were first read."
	if len(s.pooled.steps) == 0 {
		return out + " No change has been seen yet: the line is flat, and dashed as far as contracts were followed."
	}
	if s.r.HalfLife.HalfLife.Value != nil {
		out += " It falls below one half; a line drops from there to the half-life."
	} else {
		out += " It has not fallen below one half: the half-life is not reached."
	}
	if s.both {
		out += " A second, thinner curve counts every server once."
	}
	return out + " The band around it is the uncertainty of each point. Below the axis stand the contracts still at risk."
}

func (s survivalChart) chart(l look) gochart.Chart {
	var at []gochart.Tick
	for _, a := range s.r.HalfLife.AtRisk {
		at = append(at, gochart.Tick{Value: float64(a.Day), Label: dayLabel(int64(a.Day))})
	}
	end := s.pooled.end
	if len(at) == 0 {
		at = []gochart.Tick{{Value: 0, Label: "0"}, {Value: 30, Label: "30"}, {Value: 60, Label: "60"}, {Value: 90, Label: "90"}}
	}
	end = max(end, at[len(at)-1].Value, 1)
	y := []gochart.Tick{{Value: 0, Label: "0 %"}, {Value: 0.25, Label: "25 %"}, {Value: 0.5, Label: "50 %"}, {Value: 0.75, Label: "75 %"}, {Value: 1, Label: "100 %"}}
	at = s.spread(at, l, end)
	c := axes(l, s.margins(l), newSpan(0, end), newSpan(0, 1), at, y, "days since a contract was first read")
	c.Series = []gochart.Series{grid(l, y), layer{l, s.curves}, layer{l, s.notes}, layer{l, s.risk(at)}}
	if l.card {
		c.Series = append(c.Series, layer{l, s.heading})
	}
	return c
}

// spread thins the ticks until neither they nor the numbers at risk touch.
func (s survivalChart) spread(at []gochart.Tick, l look, end float64) []gochart.Tick {
	font, err := loadFont()
	if err != nil {
		return at
	}
	p := newPen(nil, font, l)
	widest := 0.0
	for _, t := range at {
		widest = max(widest, p.width(words(t.Label)))
	}
	for _, a := range s.r.HalfLife.AtRisk {
		widest = max(widest, p.width(words(a.N.Text())))
	}
	return thin(at, (float64(l.w)-110*l.k)/end, widest+10*l.k)
}

func (s survivalChart) margins(l look) margins {
	m := margins{top: 14, right: 8, bottom: 56, left: 12}
	switch {
	case s.both && l.narrow:
		m.top += 2 * lineHeight
	case s.both:
		m.right = 118
	}
	if l.card {
		m.top, m.left, m.right, m.bottom = 106, 40, m.right+36, 92
	}
	return m
}

// lineHeight is from one line of text to the next.
const lineHeight = 18

func (s survivalChart) curves(f field) {
	k := f.look.k
	left, right := float64(f.box.Left), float64(f.box.Right)
	f.move(left, f.Y(0.5))
	f.h(right)
	f.stroke("half")
	if !s.any {
		return
	}
	s.pooled.drawBand(f)
	if s.both {
		s.weighted.draw(f, "k1")
	}
	s.pooled.draw(f, "k0")
	if v := s.r.HalfLife.HalfLife.Value; v != nil {
		f.move(f.X(float64(*v)), f.Y(0.5))
		f.v(f.Y(0))
		f.stroke("half")
		f.dot("dot", 5*k, f.X(float64(*v)), f.Y(0.5))
	}
}

// notes writes the half-life where nothing is drawn, and names the curves.
func (s survivalChart) notes(f field) {
	k := f.look.k
	if !s.any {
		f.label("m f halo", float64(f.box.Left+f.box.Right)/2, f.Y(0.75)+5*k, words("no contract has been followed yet"))
		return
	}
	lines := s.result()
	x, y := s.room(f, lines)
	for i, parts := range lines {
		class := "halo"
		if i == 0 {
			class = "b halo"
		}
		f.label(class, x, y+float64(i)*lineHeight*k, parts...)
	}
	if s.both {
		s.names(f)
	}
}

// result says what is known of the half-life. While it is not reached, the only
// limit is the report's own, which takes the servers of one operator together:
// Greenwood's takes them for independent, and would claim too much.
func (s survivalChart) result() [][]part {
	half := &s.r.HalfLife
	const level = "at the ninety-five per cent level"
	// The limits are those of the band; beside the drawing stand others, of operators
	// whose servers change together.
	independent := []part{words("if all were independent")}
	if v := half.HalfLife.Value; v != nil {
		lines := [][]part{{words("half-life "), figure(*v, "half_life", "half_life", "value")}}
		switch h := half.HalfLife; {
		case h.Lower != nil && h.Upper != nil:
			lines = append(lines, []part{figure(*h.Lower, "half_life", "half_life", "lower"), words(" to "), figure(*h.Upper, "half_life", "half_life", "upper")}, independent)
		case h.Lower != nil:
			lines = append(lines, []part{words("lower limit "), figure(*h.Lower, "half_life", "half_life", "lower")}, independent)
		}
		return lines
	}
	lines := [][]part{{words("half-life not reached")}}
	switch {
	case half.AtLeast != nil:
		lines = append(lines, []part{words("lower limit "), figure(*half.AtLeast, "half_life", "at_least")}, []part{words(level)})
	case half.MoreThan != nil:
		lines = append(lines, []part{words("lower limit more than "), figure(*half.MoreThan, "half_life", "more_than")}, []part{words(level)})
	case half.Events == 0:
		lines = append(lines, []part{words("no change seen yet, so no limits")})
	case half.FewOperators:
		lines = append(lines, []part{words("too few operators for limits")})
	}
	return lines
}

// room returns where lines may begin: as near to the half-life as they stand
// without touching a curve, the band or a dotted line; where it is not reached,
// near the beginning of the line at one half. If the band leaves no room, they
// stand on it.
func (s survivalChart) room(f field, lines [][]part) (x, y float64) {
	k := f.look.k
	w, ax, ay := 0.0, float64(f.box.Left), f.Y(0.5)
	for _, parts := range lines {
		w = max(w, f.width(parts...))
	}
	v := s.r.HalfLife.HalfLife.Value
	if v != nil {
		ax = f.X(float64(*v))
	}
	height := float64(len(lines)-1)*lineHeight*k + 20*k
	for _, banded := range []bool{true, false} {
		best := math.Inf(1)
		for top := f.Y(1) + 4*k; top+height < f.Y(0)-4*k; top += 4 * k {
			for left := float64(f.box.Left) + 8*k; left+w < float64(f.box.Right)-4*k; left += 4 * k {
				dx, dy := outside(ax, left, left+w), outside(ay, top, top+height)
				d := math.Hypot(dx, dy)
				if dy == 0 || v != nil && (d < 8*k || dx == 0 && top > ay) || v == nil && top < ay || d >= best {
					continue // on a dotted line or the dot, or no better
				}
				if !s.touches(f, left-6*k, top-2*k, left+w+6*k, top+height+2*k, banded) {
					best, x, y = d, left, top+14*k
				}
			}
		}
		if !math.IsInf(best, 1) {
			return x, y
		}
	}
	return max(float64(f.box.Right)-w-6*k, float64(f.box.Left)), f.Y(1) + 18*k
}

// outside is how far v lies outside from and to.
func outside(v, from, to float64) float64 { return max(from-v, v-to, 0) }

// touches reports whether a curve, or its band if banded, passes through a box.
func (s survivalChart) touches(f field, x0, y0, x1, y1 float64, banded bool) bool {
	time := func(x float64) float64 {
		return f.x.GetMin() + (x-float64(f.box.Left))/float64(f.box.Width())*f.x.GetDelta()
	}
	for _, c := range []curve{s.pooled, s.weighted} {
		low, high, ok := c.between(time(x0), time(x1), banded)
		if ok && f.Y(high) < y1 && f.Y(low) > y0 {
			return true
		}
	}
	return false
}

// names names the two curves: at their ends, or above them where there is no room.
func (s survivalChart) names(f field) {
	k := f.look.k
	names := []string{"every contract", "every server"}
	const rest = "counts once"
	if f.look.narrow {
		for i, n := range names {
			y := float64(f.box.Top) - (float64(2-i)*lineHeight-2)*k
			f.move(float64(f.box.Left), y-4*k)
			f.h(float64(f.box.Left) + 22*k)
			f.stroke([]string{"k0", "k1"}[i])
			f.label([]string{"t0", "t1"}[i], float64(f.box.Left)+28*k, y, words(n+" "+rest))
		}
		return
	}
	y0, y1 := f.Y(s.pooled.at(s.pooled.end))+4*k, f.Y(s.weighted.at(s.weighted.end))+4*k
	if gap := 2 * lineHeight * k; math.Abs(y0-y1) < gap {
		mid, up := (y0+y1)/2, gap/2
		if y0 > y1 {
			up = -up
		}
		y0, y1 = mid-up, mid+up
	}
	x, floor := float64(f.box.Right)+8*k, float64(f.box.Bottom)-15*k
	if low := max(y0, y1); low > floor {
		y0, y1 = y0-(low-floor), y1-(low-floor)
	}
	for i, y := range []float64{y0, y1} {
		f.label([]string{"t0", "t1"}[i], x, y, words(names[i]))
		f.label("", x, y+15*k, words(rest))
	}
}

// risk writes the numbers at risk below their ticks, grey where they are few.
func (s survivalChart) risk(at []gochart.Tick) func(field) {
	return func(f field) {
		if len(s.r.HalfLife.AtRisk) == 0 {
			return
		}
		k := f.look.k
		y := float64(f.box.Bottom) + 84*k
		f.label("", float64(f.box.Left), y-lineHeight*k, words("contracts still at risk"))
		for i, a := range s.r.HalfLife.AtRisk {
			for _, t := range at {
				if t.Value != float64(a.Day) {
					continue
				}
				class := "m f"
				if a.N < survival.ThinBelow {
					class = "m"
				}
				f.label(class, f.X(t.Value), y, figure(a.N, "half_life", "at_risk", i, "n"))
			}
		}
	}
}

// heading writes what a page would say, on the picture that stands alone.
func (s survivalChart) heading(f field) {
	k := f.look.k
	big := *f.pen
	big.scale = 2.1
	big.label("f", 40*k, 56*k, words("How long MCP tool contracts last"))
	f.label("", 40*k, 84*k, words("Share of contracts still unchanged"))
	line := "mcpstrata"
	if _, ok := daysOf(s.r.AsOf); ok {
		line += " · as of " + report.Written(s.r.AsOf)
	}
	if note := noteOf(s.r); note != "" {
		line += " · " + note
	}
	f.label("e", float64(f.look.w)-40*k, float64(f.look.h)-22*k, words(line))
}
