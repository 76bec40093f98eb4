package survival

import (
	"math"
	"math/big"
)

// A curve is S in each row.
type curve struct {
	time  []float64
	surv  []float64
	drops func(row int) bool                // whether S drops there
	exact func(row int) (num, den *big.Int) // S as a fraction
	side  map[level][]int8                  // by level, how S compares to it in each row
}

// A level is a value of S that quantiles refer to, in quarters.
type level int64

func (l level) value() float64 { return float64(l) / 4 }

const half level = 2

// near is how close S comes to a level before only integers tell which side of
// it S is on.
const near = 1e-9

// manyTimes is the number of factors beyond which their product drifts: it is
// then computed from logarithms.
const manyTimes = 50000

// productLimit multiplies up S. S stays 0 once it is.
func productLimit(s *sample) *curve {
	c := &curve{
		time:  s.time,
		surv:  make([]float64, len(s.time)),
		drops: func(row int) bool { return s.event[row] > 0 },
		exact: s.exact,
	}
	factors := 0
	for _, d := range s.event {
		if d > 0 {
			factors++
		}
	}
	product, logs := 1.0, 0.0
	for i, n := range s.risk {
		switch d := s.event[i]; {
		case d == 0:
		case d == n:
			product, logs = 0, math.Inf(-1)
		case factors > manyTimes:
			logs += math.Log1p(-float64(d) / float64(n))
			product = math.Exp(logs)
		default:
			product *= float64(n-d) / float64(n)
		}
		c.surv[i] = product
	}
	c.compare()
	return c
}

// compare finds on which side of each level S is in each row: 1 above, 0 exactly
// there, -1 below.
func (c *curve) compare() {
	c.side = map[level][]int8{}
	for l := level(1); l <= 3; l++ {
		sides := make([]int8, len(c.surv))
		was := int8(1)
		for i, s := range c.surv {
			switch {
			case !c.drops(i):
			case math.Abs(s-l.value()) < near:
				was = int8(c.compareExactly(i, l))
			case s < l.value():
				was = -1
			}
			sides[i] = was
		}
		c.side[l] = sides
	}
}

func (c *curve) compareExactly(row int, l level) int {
	num, den := c.exact(row)
	num.Mul(num, big.NewInt(4))
	den.Mul(den, big.NewInt(int64(l)))
	return num.Cmp(den)
}

// exact returns S in a row as a fraction. Neighbouring factors that cancel are
// left out: without censoring there remain two.
func (s *sample) exact(row int) (num, den *big.Int) {
	var tops, bottoms []*big.Int
	was := -1
	for i := range row + 1 {
		n, d := s.risk[i], s.event[i]
		if d == 0 {
			continue
		}
		top := big.NewInt(int64(n - d))
		if n == was {
			tops[len(tops)-1] = top
		} else {
			tops, bottoms = append(tops, top), append(bottoms, big.NewInt(int64(n)))
		}
		was = n - d
	}
	return product(tops), product(bottoms)
}

// product multiplies halves of similar size, which is faster than one by one.
func product(xs []*big.Int) *big.Int {
	switch len(xs) {
	case 0:
		return big.NewInt(1)
	case 1:
		return new(big.Int).Set(xs[0])
	}
	m := len(xs) / 2
	return new(big.Int).Mul(product(xs[:m]), product(xs[m:]))
}

// quantile returns the first time at which S is at or below a level and, where S
// is exactly there, the midpoint of that time and the next at which S drops. A
// flat piece that runs to the last time is flat: its value is the midpoint with
// that time.
func (c *curve) quantile(l level) (value *float64, flat bool) {
	first := -1
	for i, side := range c.side[l] {
		switch {
		case side > 0:
			continue
		case first < 0 && side < 0:
			return pointer(c.time[i]), false
		case first < 0:
			first = i
		case side < 0:
			return pointer((c.time[first] + c.time[i]) / 2), false
		}
	}
	if first < 0 {
		return nil, false
	}
	return pointer((c.time[first] + c.time[len(c.time)-1]) / 2), true
}

// halfLife applies the rule of the package comment.
func (c *curve) halfLife(b *bands) HalfLife {
	value, flat := c.quantile(half)
	h := HalfLife{CI: c.crossings(b, half), Status: Reached, Value: value}
	switch {
	case flat:
		h.Status, h.Value = TouchesOnly, nil
	case value == nil:
		h.Status = NotReached
	}
	return h
}

func (c *curve) quantiles(b *bands) Quantiles {
	at := func(l level) Quantile {
		value, _ := c.quantile(l)
		return Quantile{CI: c.crossings(b, l), Estimate: value}
	}
	return Quantiles{Q25: at(3), Q50: at(half), Q75: at(1)}
}

// crossings returns the first times at which the bands are at or below a level.
// Bands may rise again; the first time counts.
func (c *curve) crossings(b *bands, l level) CI {
	first := func(band []float64) *float64 {
		for i, x := range band {
			if x <= l.value() { // not where undefined
				return pointer(c.time[i])
			}
		}
		return nil
	}
	var limits [3]Limits
	for kind := range limits {
		limits[kind] = Limits{first(b.lower[kind]), first(b.upper[kind])}
	}
	return CI{Plain: limits[plain], Log: limits[logarithmic], LogLog: limits[logLog]}
}

func (c *curve) crossing(s *sample) Crossing {
	var x Crossing
	for i, side := range c.side[half] {
		x.AtOrBelowHalf = x.AtOrBelowHalf || side <= 0
		x.BelowHalf = x.BelowHalf || side < 0
		x.ExactlyHalfSomewhere = x.ExactlyHalfSomewhere || side == 0
		x.HalfFlatRunsToLastTime = side == 0
		if x.EmptiedByEventAt == nil && s.event[i] == s.risk[i] {
			x.EmptiedByEventAt = pointer(s.time[i])
		}
	}
	if n := len(c.surv); n > 0 {
		x.MinSurv = pointer(c.surv[n-1])
	}
	return x
}

func pointer(x float64) *float64 { return &x }
