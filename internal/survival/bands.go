package survival

import "math"

// The types of limits.
const (
	plain = iota
	logarithmic
	logLog
)

// Bands are the standard errors and limits of S in each row; NaN where
// undefined.
type bands struct {
	se, seLog    []float64
	lower, upper [3][]float64
}

// bands computes limits from the variance of log S in each row.
func (c *curve) bands(v []float64) *bands {
	b := &bands{se: make([]float64, len(v)), seLog: make([]float64, len(v))}
	for kind := range b.lower {
		b.lower[kind], b.upper[kind] = make([]float64, len(v)), make([]float64, len(v))
	}
	for i, s := range c.surv {
		seLog := math.Sqrt(v[i])
		if s == 0 {
			seLog = math.NaN()
		}
		b.seLog[i], b.se[i] = seLog, s*seLog
		lower, upper := limits(s, seLog)
		for kind := range b.lower {
			b.lower[kind][i], b.upper[kind][i] = lower[kind], upper[kind]
		}
	}
	return b
}

// limits returns the 95 % limits of S of each type, NaN where undefined.
func limits(s, seLog float64) (lower, upper [3]float64) {
	w := z * seLog
	lower[plain] = clip(s - float64(s*w))
	upper[plain] = clip(s + float64(s*w))
	lower[logarithmic] = s * math.Exp(-w)
	upper[logarithmic] = clip(s * math.Exp(w))
	lower[logLog], upper[logLog] = math.NaN(), math.NaN()
	if 0 < s && s < 1 {
		log := math.Log(s)
		lower[logLog] = math.Exp(log * math.Exp(-w/log))
		upper[logLog] = math.Exp(log * math.Exp(w/log))
	}
	return lower, upper
}

// clip returns x within [0, 1], NaN for NaN.
func clip(x float64) float64 { return math.Min(math.Max(x, 0), 1) }

// column returns pointers to numbers, nil to NaN.
func column(xs []float64) []*float64 {
	ps := make([]*float64, len(xs))
	for i := range xs {
		if !math.IsNaN(xs[i]) {
			ps[i] = &xs[i]
		}
	}
	return ps
}

func (b *bands) band(kind int) Band {
	return Band{Lower: column(b.lower[kind]), Upper: column(b.upper[kind])}
}

func table(s *sample, surv []float64, b *bands) Table {
	censor := make([]int, len(s.time))
	for i := range censor {
		censor[i] = s.censor[i] + s.rival[i]
	}
	return Table{
		CI:        Bands{Plain: b.band(plain), Log: b.band(logarithmic), LogLog: b.band(logLog)},
		NCensor:   censor,
		NEvent:    s.event,
		NRisk:     s.risk,
		SeLogSurv: column(b.seLog),
		SeSurv:    column(b.se),
		Surv:      surv,
		Time:      s.time,
	}
}

// at answers S at given times: the value of the last row not after each, 1
// before the first. After the last time nothing is known, unless S is 0.
func (c *curve) at(s *sample, times []float64, b *bands) []At {
	answers := make([]At, 0, len(times))
	for _, t := range times {
		a := At{BeyondLast: t > s.last(), NRisk: s.riskAt(t), T: t}
		row := s.entryRow(t) - 1
		switch {
		case a.BeyondLast && (row < 0 || c.surv[row] > 0):
		case row < 0:
			one := Limits{pointer(1), pointer(1)}
			a.Surv, a.SeSurv, a.CI = pointer(1), pointer(0), CI{one, one, one}
		default:
			a.Surv, a.SeSurv = pointer(c.surv[row]), known(b.se[row])
			var at [3]Limits
			for kind := range at {
				at[kind] = Limits{known(b.lower[kind][row]), known(b.upper[kind][row])}
			}
			a.CI = CI{Plain: at[plain], Log: at[logarithmic], LogLog: at[logLog]}
		}
		answers = append(answers, a)
	}
	return answers
}

// known returns a pointer to a number, nil for NaN.
func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// areas returns the area under S from the time of each row to tau, 0 from tau
// on, and the whole from 0.
func (c *curve) areas(tau float64) (from []float64, whole float64) {
	from = make([]float64, len(c.time))
	next, area := tau, 0.0
	for i := len(c.time) - 1; i >= 0; i-- {
		if c.time[i] < tau {
			area += float64(c.surv[i] * (next - c.time[i]))
			from[i], next = area, c.time[i]
		}
	}
	return from, area + next
}

// means computes restricted means up to given times, with Greenwood's variance
// unless another is given for each.
func (c *curve) means(s *sample, taus, variance []float64) []Mean {
	means := make([]Mean, 0, len(taus))
	for k, tau := range taus {
		m := Mean{BeyondLast: tau > s.last(), Tau: tau}
		if s.n > 0 {
			from, whole := c.areas(tau)
			v := 0.0
			if variance != nil {
				v = variance[k]
			} else {
				for i, n := range s.risk {
					if d := s.event[i]; d > 0 && d < n {
						v += float64(from[i] * from[i] * float64(d) / (float64(n) * float64(n-d)))
					}
				}
			}
			m.RMST, m.Se = &whole, pointer(math.Sqrt(v))
		}
		means = append(means, m)
	}
	return means
}
