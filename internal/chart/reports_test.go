package chart

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/survival"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// An observed lifetime, in whole days.
type lifetime struct {
	days  int
	event bool
}

// table makes the product-limit table of lifetimes, as km/README.md section 2
// has it. It is written for these tests, so that they don't hang on the package
// whose results they draw.
func table(lives []lifetime) survival.Table {
	slices.SortFunc(lives, func(a, b lifetime) int { return a.days - b.days })
	var t survival.Table
	s, v := 1.0, 0.0
	for i := 0; i < len(lives); {
		j, events := i, 0
		for ; j < len(lives) && lives[j].days == lives[i].days; j++ {
			if lives[j].event {
				events++
			}
		}
		n, d := float64(len(lives)-i), float64(events)
		s *= (n - d) / n
		v += d / (n * (n - d))
		t.Time, t.NRisk, t.NEvent, t.NCensor = append(t.Time, float64(lives[i].days)), append(t.NRisk, len(lives)-i), append(t.NEvent, events), append(t.NCensor, j-i-events)
		t.Surv = append(t.Surv, s)
		var lower, upper *float64
		if s > 0 && s < 1 {
			e := 1.959963984540054 * math.Sqrt(v) / math.Log(s)
			l, u := math.Pow(s, math.Exp(-e)), math.Pow(s, math.Exp(e))
			lower, upper = &l, &u
		}
		t.CI.LogLog.Lower, t.CI.LogLog.Upper = append(t.CI.LogLog.Lower, lower), append(t.CI.LogLog.Upper, upper)
		i = j
	}
	return t
}

// halfLifeOf fills in what the chart shows of lifetimes.
func halfLifeOf(lives []lifetime, ticks []int) report.HalfLife {
	e := &survival.Estimate{Table: table(lives), N: len(lives)}
	h := report.HalfLife{Estimate: e, Status: survival.NotReached, Intervals: report.Count(len(lives))}
	for _, l := range lives {
		if l.event {
			h.Events++
		}
	}
	for i, at := range e.Table.Time {
		d := report.Days(at)
		if e.Table.Surv[i] <= 0.5 && h.HalfLife.Value == nil && e.Table.NEvent[i] > 0 {
			h.HalfLife.Value, h.Status = &d, survival.Reached
		}
		if l := e.Table.CI.LogLog.Lower[i]; l != nil && *l <= 0.5 && h.HalfLife.Lower == nil {
			h.HalfLife.Lower = &d
		}
		if u := e.Table.CI.LogLog.Upper[i]; u != nil && *u <= 0.5 && h.HalfLife.Upper == nil {
			h.HalfLife.Upper = &d
		}
	}
	for _, t := range ticks {
		n := 0
		for _, l := range lives {
			if l.days >= t {
				n++
			}
		}
		h.AtRisk = append(h.AtRisk, report.AtRisk{Day: report.Count(t), N: report.Count(n)})
	}
	return h
}

// exponential makes n lifetimes of a mean, followed for at most window days.
func exponential(n int, mean float64, window int, seed uint64) []lifetime {
	rng := rand.New(rand.NewPCG(seed, 7))
	var out []lifetime
	for range n {
		follow := 1 + rng.IntN(window)
		if l := 1 + int(rng.ExpFloat64()*mean); l <= follow {
			out = append(out, lifetime{l, true})
		} else {
			out = append(out, lifetime{follow, false})
		}
	}
	return out
}

// weightedOf makes a server-weighted curve out of lifetimes.
func weightedOf(lives []lifetime) *survival.Weighted {
	t := table(lives)
	var w survival.Weighted
	for i := range t.Time {
		if t.NEvent[i] > 0 {
			w.Time, w.Surv = append(w.Time, t.Time[i]), append(w.Surv, t.Surv[i])
		}
	}
	return &w
}

func censored(n, days int) []lifetime { return slices.Repeat([]lifetime{{days, false}}, n) }

func day(first record.Day, i int) record.Day {
	return record.DayOf(first.Time().Add(time.Duration(i) * 24 * time.Hour))
}

// calendarReport makes n days of simulated counts, with gaps, partial and
// degraded days among them if holes are wanted.
func calendarReport(first record.Day, n, targets int, holes bool) *report.Report {
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	r := &report.Report{First: first, AsOf: day(first, n-1), Simulated: true}
	for i := range n {
		d := report.Day{Day: day(first, i), Runs: 1, Classes: map[string]report.Count{}}
		left := targets + i*targets/400
		take := func(label string, share float64) {
			k := int(share*float64(left)*(0.9+0.2*rng.Float64()) + 0.5)
			d.Classes[label] = report.Count(k)
			d.Targets += report.Count(k)
		}
		take("no_endpoint", 0.16)
		take("auth", 0.14+0.0005*float64(i))
		take("timeout", 0.03)
		take("tls", 0.05)
		take("http_4xx", 0.06)
		take("http_5xx", 0.02)
		take("parse", 0.03)
		take("rate_limited", 0.004)
		d.Classes["answered"] = report.Count(left) - d.Targets
		if i > 0 {
			d.Drift = report.Count(rng.IntN(targets / 20))
			d.Numbers = d.Drift / report.Count(2+rng.IntN(4))
			if i%9 == 4 {
				d.Captures = d.Drift / 5
			}
			if i%23 == 20 {
				d.Drift *= 4
			}
		}
		if holes {
			switch {
			case i == 11 || i == 12 || i == 40:
				d = report.Day{Day: d.Day}
			case i == 25:
				d.Partial, d.Classes["answered"], d.Drift, d.Numbers = true, d.Classes["answered"]/2, 2, 1
			case i == 33:
				d.Degraded = true
			}
		}
		r.Calendar = append(r.Calendar, d)
	}
	return r
}

// server makes a server's history out of states and lengths.
func server(first record.Day, listed int, versions []int, runs ...any) *report.Server {
	s := &report.Server{}
	at := listed
	for i := 0; i < len(runs); i += 2 {
		n := runs[i+1].(int)
		s.Spans = append(s.Spans, timeline.Span{Days: n, First: day(first, at), State: runs[i].(string)})
		at += n
	}
	for i, v := range versions {
		s.Versions = append(s.Versions, report.Version{N: report.Count(i + 1), First: day(first, v)})
	}
	return s
}
