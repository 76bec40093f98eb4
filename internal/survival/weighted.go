package survival

import "math/big"

// weight is that of a member, with all alike, in the server-weighted curve.
func (m *member) weight() float64 {
	switch {
	case m.share == 0:
		return 0
	case m.cause != 1:
		return 1
	}
	return float64(m.n) / float64(m.share)
}

// weighted returns the server-weighted curve.
func weighted(s *sample, ms []member) *Weighted {
	w, emptied := weigh(ms, len(s.time))
	c := &curve{
		time:  s.time,
		surv:  make([]float64, len(s.time)),
		drops: func(row int) bool { return w.dead[row] > 0 },
		exact: func(row int) (num, den *big.Int) { return weightedExactly(ms, row) },
	}
	now := 1.0
	for i := range c.surv {
		switch {
		case emptied[i]:
			now, w.left[i] = 0, 0
		case w.dead[i] > 0 && now > 0:
			now *= w.left[i] / w.risk[i]
		}
		c.surv[i] = now
	}
	c.compare()
	v, _ := jackknife(ms, w, nil)
	b := c.bands(v)
	r := &Weighted{HalfLife: c.halfLife(b), NServers: s.servers, Surv: []float64{}, Time: []float64{}, WeightedEvents: []float64{}, WeightedRisk: []float64{}}
	var se, lower, upper []float64
	for i := range c.surv {
		if w.dead[i] == 0 {
			continue
		}
		r.Time = append(r.Time, c.time[i])
		r.WeightedRisk, r.WeightedEvents = append(r.WeightedRisk, w.risk[i]), append(r.WeightedEvents, w.dead[i])
		r.Surv = append(r.Surv, c.surv[i])
		se, lower, upper = append(se, b.se[i]), append(lower, b.lower[logLog][i]), append(upper, b.upper[logLog][i])
	}
	r.SeSurv, r.LowerLogLog, r.UpperLogLog = column(se), column(lower), column(upper)
	return r
}

// weigh sums the weights in each row, from the last row on, so that nothing is
// lost by subtraction; and tells in which rows all at risk have the event, which
// sums of fractions cannot.
func weigh(ms []member, rows int) (w *weights, emptied []bool) {
	w = &weights{of: (*member).weight, risk: make([]float64, rows), dead: make([]float64, rows), left: make([]float64, rows)}
	emptied = make([]bool, rows)
	censored, enter := make([]float64, rows), make([]float64, rows+1)
	survivors := make([]int, rows+1) // who are at risk and have no event there, as differences
	for i := range ms {
		m := &ms[i]
		if m.share == 0 {
			continue
		}
		if m.cause == 1 {
			w.dead[m.exit] += m.weight()
		} else {
			censored[m.exit] += m.weight()
		}
		enter[m.enter] += m.weight()
		survivors[m.enter]++
		if m.cause == 1 {
			survivors[m.exit]--
		} else {
			survivors[m.exit+1]--
		}
	}
	later, entering := 0.0, 0.0 // weights that leave, and that enter, after the row
	for i := rows - 1; i >= 0; i-- {
		w.left[i] = later + censored[i] - entering
		w.risk[i] = later + censored[i] + w.dead[i] - entering
		later += censored[i] + w.dead[i]
		if i > 0 {
			entering += enter[i]
		}
	}
	n := 0
	for i := range emptied {
		n += survivors[i]
		emptied[i] = w.dead[i] > 0 && n == 0
	}
	return w, emptied
}

// weightedExactly returns the server-weighted S in a row as a fraction: all
// weights are multiples of one over the least common multiple of the shares.
func weightedExactly(ms []member, row int) (num, den *big.Int) {
	unit := big.NewInt(1)
	for i := range ms {
		if share := big.NewInt(ms[i].share); share.Sign() > 0 {
			gcd := new(big.Int).GCD(nil, nil, unit, share)
			unit.Mul(unit, share.Quo(share, gcd))
		}
	}
	change, dead := make([]*big.Int, row+2), make([]*big.Int, row+2) // of the weight at risk, and events; the last for what is later
	for i := range change {
		change[i], dead[i] = new(big.Int), new(big.Int)
	}
	for i := range ms {
		m := &ms[i]
		if m.share == 0 {
			continue
		}
		w := new(big.Int).Quo(unit, big.NewInt(m.share))
		if m.cause == 1 {
			w.Mul(w, big.NewInt(int64(m.n)))
			d := dead[min(int(m.exit), row+1)]
			d.Add(d, w)
		}
		from, to := change[min(int(m.enter), row+1)], change[min(int(m.exit), row)+1]
		from.Add(from, w)
		to.Sub(to, w)
	}
	risk := new(big.Int)
	var tops, bottoms []*big.Int
	for i := range row + 1 {
		risk.Add(risk, change[i])
		if dead[i].Sign() > 0 {
			tops, bottoms = append(tops, new(big.Int).Sub(risk, dead[i])), append(bottoms, new(big.Int).Set(risk))
		}
	}
	return product(tops), product(bottoms)
}
