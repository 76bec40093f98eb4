package chart

import (
	"math"

	"github.com/mcpstrata/mcpstrata/internal/survival"
)

// A step is a point at which a curve falls, and what holds from there on.
type step struct {
	t, s   float64
	lo, hi float64 // limits, if band
	band   bool
}

// A curve is a step function that begins at 1.
type curve struct {
	steps []step  // of the falls only, ascending
	end   float64 // the last time of which anything is known
	few   float64 // from here on fewer than survival.ThinBelow are at risk
}

// pooled returns the curve of all contracts, and false where none was observed.
func pooled(e *survival.Estimate) (curve, bool) {
	if e == nil || len(e.Table.Time) == 0 {
		return curve{}, false
	}
	t := e.Table
	c := curve{few: math.Inf(1)}
	before := 1.0
	for i, at := range t.Time {
		if i >= len(t.Surv) || !isShare(t.Surv[i]) || !(at >= 0) || math.IsInf(at, 0) {
			continue
		}
		if i < len(t.NRisk) && t.NRisk[i] < survival.ThinBelow {
			c.few = min(c.few, c.end) // what was at risk since the row before
		}
		c.end = at
		if t.Surv[i] < before {
			before = t.Surv[i]
			c.steps = append(c.steps, stepOf(at, t.Surv[i], i, t.CI.LogLog.Lower, t.CI.LogLog.Upper))
		}
	}
	return c, true
}

// weighted returns the curve in which each server counts once, up to end, and
// false where it was not estimated or never falls.
func weighted(e *survival.Estimate, end float64) (curve, bool) {
	if e == nil || e.WangChang == nil {
		return curve{}, false
	}
	w := e.WangChang
	c := curve{end: end, few: math.Inf(1)}
	before := 1.0
	for i, at := range w.Time {
		if i < len(w.Surv) && isShare(w.Surv[i]) && at >= 0 && at <= end && w.Surv[i] < before {
			before = w.Surv[i]
			c.steps = append(c.steps, step{t: at, s: w.Surv[i]})
		}
	}
	return c, len(c.steps) > 0
}

func isShare(s float64) bool { return s >= 0 && s <= 1 }

func stepOf(t, s float64, row int, lower, upper []*float64) step {
	out := step{t: t, s: s}
	if row < len(lower) && row < len(upper) && lower[row] != nil && upper[row] != nil && isShare(*lower[row]) && isShare(*upper[row]) {
		out.lo, out.hi, out.band = *lower[row], *upper[row], true
	}
	return out
}

// at returns the curve at t.
func (c curve) at(t float64) float64 {
	s := 1.0
	for _, p := range c.steps {
		if p.t > t {
			break
		}
		s = p.s
	}
	return s
}

// last returns the time of the last fall, 0 without one.
func (c curve) last() float64 {
	if len(c.steps) == 0 {
		return 0
	}
	return c.steps[len(c.steps)-1].t
}

// between returns the lowest and highest value that the curve, or its band if
// banded, has from t0 to t1, and false where it has ended before.
func (c curve) between(t0, t1 float64, banded bool) (low, high float64, ok bool) {
	if t0 > c.end {
		return 0, 0, false
	}
	low, high = 1, 0
	s := step{s: 1}
	take := func() {
		low, high = min(low, s.s), max(high, s.s)
		if s.band && banded {
			low, high = min(low, s.lo), max(high, s.hi)
		}
	}
	for _, p := range c.steps {
		if p.t > t1 {
			break
		}
		if p.t > t0 {
			take()
		}
		s = p
	}
	take()
	return low, high, true
}

// trace adds the curve from t0 to t1 to the path, falls within included.
func (c curve) trace(f field, t0, t1 float64) {
	f.move(f.X(t0), f.Y(c.at(t0)))
	for _, p := range c.steps {
		if p.t > t0 && p.t <= t1 {
			f.h(f.X(p.t))
			f.v(f.Y(p.s))
		}
	}
	f.h(f.X(t1))
}

// drawBand fills the band, piece by piece where it is defined.
func (c curve) drawBand(f field) {
	drawn := false
	for i := 0; i < len(c.steps); {
		j := i
		for j < len(c.steps) && c.steps[j].band {
			j++
		}
		if j == i {
			i++
			continue
		}
		end := c.end
		if j < len(c.steps) {
			end = c.steps[j].t
		}
		c.bandPiece(f, c.steps[i:j], end)
		drawn, i = true, j
	}
	if drawn {
		f.fill("band")
	}
}

func (c curve) bandPiece(f field, steps []step, end float64) {
	f.move(f.X(steps[0].t), f.Y(steps[0].hi))
	for _, p := range steps[1:] {
		f.h(f.X(p.t))
		f.v(f.Y(p.hi))
	}
	f.h(f.X(end))
	for i := len(steps) - 1; i >= 0; i-- {
		f.v(f.Y(steps[i].lo))
		f.h(f.X(steps[i].t))
	}
	f.close()
}

// draw strokes the curve in the ink of class: solid up to the last fall, grey
// where few are at risk, dashed from the last fall on.
func (c curve) draw(f field, class string) {
	last := c.last()
	few := min(max(c.few, 0), c.end)
	pieces := []struct {
		from, to float64
		class    string
	}{
		{0, min(last, few), class},
		{min(last, few), last, class + " few"},
		{last, max(last, few), class + " tail"},
		{max(last, few), c.end, class + " few tail"},
	}
	for _, p := range pieces {
		if p.to > p.from {
			c.trace(f, p.from, p.to)
			f.stroke(p.class)
		}
	}
}
