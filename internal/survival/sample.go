package survival

import (
	"fmt"
	"slices"
)

// A sample counts what happens at each distinct time of an event or censoring.
type sample struct {
	time      []float64 // ascending; one row each
	risk      []int     // at risk at that time
	event     []int     // of cause 1
	rival     []int     // of cause 2
	censor    []int     // of cause 0
	n, events int
	servers   int   // with clusters
	enter     []int // with delayed entry: how many are at risk first in this row
	intervals []Interval
	o         Options
}

// maxDays bounds the histogram of whole days: 2,870 years, 24 MB.
const maxDays = 1 << 20

// A histogram counts the intervals of each cause that end on each whole day.
type histogram [3][]int

// tally checks the intervals and counts them: in one pass where all times are
// whole days, else after sorting the times.
func tally(intervals []Interval, o Options) (*sample, error) {
	s := &sample{intervals: intervals, o: o}
	days, whole, err := s.count()
	if err != nil {
		return nil, err
	}
	if whole {
		s.fromDays(days)
	} else {
		s.fromTimes()
	}
	s.atRisk()
	return s, nil
}

// count checks each interval and counts the whole days. It tells whether there
// are only such.
func (s *sample) count() (h histogram, whole bool, err error) {
	whole = true
	for i := range s.intervals {
		iv := &s.intervals[i]
		sound := valid(iv.Time) && iv.N >= 0 && uint32(iv.Cause) <= 1 && !s.o.Delayed // most are, and it costs less to see
		if !sound {
			if what := iv.fault(s.o); what != "" {
				return h, false, fmt.Errorf("interval %d: %s", i+1, what)
			}
		}
		n := iv.count()
		s.n += n
		if iv.Cause == 1 {
			s.events += n
		}
		if !whole {
			continue
		}
		if iv.Time >= maxDays || iv.Time != float64(int(iv.Time)) {
			h, whole = histogram{}, false
			continue
		}
		day := int(iv.Time)
		if day >= len(h[0]) {
			h.grow(day + 1)
		}
		h[iv.Cause][day] += n
	}
	return h, whole, nil
}

func (h *histogram) grow(n int) {
	for cause := range h {
		h[cause] = append(h[cause], make([]int, max(n, min(2*n, maxDays))-len(h[cause]))...)
	}
}

// fromDays makes a row of each day on which something ends.
func (s *sample) fromDays(h histogram) {
	rows := 0
	for day := range h[0] {
		if h[0][day]+h[1][day]+h[2][day] > 0 {
			rows++
		}
	}
	s.allocate(rows)
	for day := range h[0] {
		if h[0][day]+h[1][day]+h[2][day] > 0 {
			s.time = append(s.time, float64(day))
			s.censor = append(s.censor, h[0][day])
			s.event = append(s.event, h[1][day])
			s.rival = append(s.rival, h[2][day])
		}
	}
}

// fromTimes makes a row of each distinct time.
func (s *sample) fromTimes() {
	times := make([]float64, len(s.intervals))
	for i := range s.intervals {
		times[i] = s.intervals[i].Time + 0 // -0 is 0
	}
	slices.Sort(times)
	times = slices.Compact(times)
	s.allocate(len(times))
	s.time = times
	s.censor, s.event, s.rival = s.censor[:len(times)], s.event[:len(times)], s.rival[:len(times)]
	cause := [3][]int{s.censor, s.event, s.rival}
	for i := range s.intervals {
		iv := &s.intervals[i]
		cause[iv.Cause][s.row(iv.Time)] += iv.count()
	}
}

func (s *sample) allocate(rows int) {
	s.time = make([]float64, 0, rows)
	s.censor, s.event, s.rival = make([]int, 0, rows), make([]int, 0, rows), make([]int, 0, rows)
	s.risk = make([]int, rows)
}

// row returns the row of a time that has one.
func (s *sample) row(t float64) int {
	i, _ := slices.BinarySearch(s.time, t)
	return i
}

// entryRow returns the first row at which who enters at t is at risk: what
// enters at t is not at risk at t.
func (s *sample) entryRow(t float64) int {
	i, found := slices.BinarySearch(s.time, t)
	if found {
		i++
	}
	return i
}

// atRisk counts who is at risk in each row.
func (s *sample) atRisk() {
	now := s.n
	if s.o.Delayed {
		now = 0
		s.enter = make([]int, len(s.time))
		for i := range s.intervals {
			iv := &s.intervals[i]
			s.enter[s.entryRow(iv.Entry)] += iv.count()
		}
	}
	for i := range s.time {
		if s.enter != nil {
			now += s.enter[i]
		}
		s.risk[i] = now
		now -= s.event[i] + s.rival[i] + s.censor[i]
	}
}

// riskAt counts who is at risk at any time.
func (s *sample) riskAt(t float64) int {
	if s.o.Delayed {
		n, _ := atRisk(s.intervals, Options{Delayed: true}, t)
		return n
	}
	return riskAt(s.time, s.risk, t)
}

// emptied returns the first row in which all at risk had the event while others
// were still to enter.
func (s *sample) emptied() *Emptied {
	for i := range s.time {
		if s.event[i] == s.risk[i] && i < len(s.time)-1 {
			return &Emptied{At: s.time[i], N: s.risk[i]}
		}
	}
	return nil
}

// last returns the last time, -1 without any.
func (s *sample) last() float64 {
	if len(s.time) == 0 {
		return -1
	}
	return s.time[len(s.time)-1]
}

// greenwood returns the variance of log S in each row: Greenwood's sum, without
// the rows in which S becomes 0.
func (s *sample) greenwood() []float64 {
	v := make([]float64, len(s.time))
	sum := 0.0
	for i, n := range s.risk {
		if d := s.event[i]; d > 0 && d < n {
			sum += float64(d) / (float64(n) * float64(n-d))
		}
		v[i] = sum
	}
	return v
}
