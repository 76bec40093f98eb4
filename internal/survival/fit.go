package survival

import (
	"fmt"
	"slices"
)

// Fit estimates S from intervals in any order. It fails, naming the interval
// counted from 1, on a time that is not within [0, MaxTime], an entry that is
// not or is not before its time, an unknown cause and a negative N; and on a time
// in the options that is not within [0, MaxTime]. No intervals are no error:
// everything is then empty or nil.
func Fit(intervals []Interval, o Options) (*Estimate, error) {
	for _, t := range slices.Concat(o.RMST, o.At) {
		if !valid(t) {
			return nil, fmt.Errorf("the time %v to estimate at is %s", t, invalid)
		}
	}
	s, err := tally(intervals, o)
	if err != nil {
		return nil, err
	}
	c := productLimit(s)
	greenwood := c.bands(s.greenwood())
	e := &Estimate{
		ConfLevel: 0.95,
		ConfType:  "log-log",
		Crossing:  c.crossing(s),
		HalfLife:  c.halfLife(greenwood),
		N:         s.n,
		NDistinct: len(s.time),
		NEvents:   s.events,
		Quantiles: c.quantiles(greenwood),
		RMST:      c.means(s, o.RMST, nil),
		SurvAt:    c.at(s, o.At, greenwood),
		Table:     table(s, c.surv, greenwood),
	}
	var members []member
	if o.Cluster || o.Causes && o.Delayed {
		members = s.members(intervals, o)
		n := 0
		for range clusters(members) {
			n++
		}
		if n*len(s.time) > MaxCells {
			return nil, fmt.Errorf("%d clusters at %d distinct times: more than can be summed; leave the clusters out, or take whole days", n, len(s.time))
		}
	}
	if o.Cluster {
		e.ClusterRobust = robust(s, c, members, o)
		e.WangChang = weighted(s, members)
	}
	if o.Causes {
		e.AalenJohansen = incidence(s, members, o)
	}
	e.Flags.RiskSetEmptied = s.emptied()
	if e.HalfLife.Value != nil {
		n, servers := atRisk(intervals, o, *e.HalfLife.Value)
		e.Flags.Thin = n < ThinBelow || o.Cluster && servers < ThinBelow
	}
	return e, nil
}

// Known reports whether a restricted mean of e may be published: not without
// intervals, and not up to a time after the last one unless S is 0 there, since
// then nothing is left to be known.
func (e *Estimate) Known(m *Mean) bool {
	return m.RMST != nil && (!m.BeyondLast || *e.Crossing.MinSurv == 0)
}

func riskAt(time []float64, risk []int, t float64) int {
	i, _ := slices.BinarySearch(time, t)
	if i == len(time) {
		return 0
	}
	return risk[i]
}

// atRisk counts the intervals, and their servers, that are at risk at t.
func atRisk(intervals []Interval, o Options, t float64) (n, servers int) {
	var seen []int32
	for i := range intervals {
		iv := &intervals[i]
		if iv.Time < t || o.Delayed && iv.Entry >= t {
			continue
		}
		n += iv.count()
		if o.Cluster {
			seen = append(seen, iv.Server)
		}
	}
	slices.Sort(seen)
	return n, len(slices.Compact(seen))
}

// MaxTime is the greatest time that can be told: the squares of times must be
// numbers.
const MaxTime = 1e100

const invalid = "negative, not finite or too large"

func valid(t float64) bool { return t >= 0 && t <= MaxTime } // not NaN

// count returns how many intervals this one stands for.
func (iv *Interval) count() int {
	if iv.N == 0 {
		return 1
	}
	return int(iv.N)
}

// fault returns what is wrong with an interval, or "".
func (iv *Interval) fault(o Options) string {
	switch {
	case !valid(iv.Time):
		return fmt.Sprintf("the time %v is %s", iv.Time, invalid)
	case o.Delayed && !valid(iv.Entry):
		return fmt.Sprintf("the entry %v is %s", iv.Entry, invalid)
	case o.Delayed && iv.Entry >= iv.Time:
		return fmt.Sprintf("the entry %v is not before the time %v", iv.Entry, iv.Time)
	case iv.Cause < 0 || iv.Cause > 2 || iv.Cause == 2 && !o.Causes:
		return fmt.Sprintf("there is no cause %d", iv.Cause)
	case iv.N < 0:
		return fmt.Sprintf("there cannot be %d of it", iv.N)
	}
	return ""
}
