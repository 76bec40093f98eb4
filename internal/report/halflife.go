package report

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/mcpstrata/mcpstrata/internal/survival"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// The times at which the survival curve is always stated, in days, fixed before
// anything was measured (km/README.md, section 9).
var horizons = []float64{30, 90}

// MinOperators is the number of operators below which no limits are stated that
// need the variance clustered by operator. It is a sum of one square an operator,
// without a factor for few: with few it is far too small, and 0 with one.
const MinOperators = 10

// halfLife computes how long contracts last.
func (c *collector) halfLife(h *timeline.History) (HalfLife, error) {
	s := c.newSample(h, counted)
	intervals := s.intervals(right)
	e, err := survival.Fit(intervals, survival.Options{
		RMST: slices.Concat(horizons, c.times.RMST), At: slices.Concat(horizons, c.times.At), Cluster: true, Causes: true,
	})
	if err != nil {
		return HalfLife{}, fmt.Errorf("estimating the half-life: %w", err)
	}
	f := HalfLife{
		AtRisk: atRisk(intervals), Censored: map[string]Count{}, Estimate: e, Events: Count(e.NEvents),
		HalfLife: interval(e.HalfLife), Intervals: Count(e.N), Status: e.HalfLife.Status, Thin: e.Flags.Thin,
		Retirement: retirement(e), S30: chance(e.SurvAt, 0), S90: chance(e.SurvAt, 1), RMST30: mean(e, 0), RMST90: mean(e, 1),
	}
	f.cluster(e)
	shaky := c.shaky(h)
	describe(&f, s, shaky)
	if f.Lines, err = c.lines(h, s, e, shaky); err != nil {
		return HalfLife{}, fmt.Errorf("estimating the half-life: %w", err)
	}
	for _, means := range []*[]survival.Mean{&e.RMST, &e.ClusterRobust.RMST} {
		*means = (*means)[len(horizons):]
	}
	for _, at := range []*[]survival.At{&e.SurvAt, &e.ClusterRobust.SurvAt} {
		*at = (*at)[len(horizons):]
	}
	round(reflect.ValueOf(&f))
	return f, nil
}

// shaky says of each target whether it is unstable.
func (c *collector) shaky(h *timeline.History) []bool {
	out := make([]bool, len(h.Targets))
	for i, t := range h.Targets {
		out[i] = c.r.Servers[t.Name].Unstable
	}
	return out
}

// cluster fills what takes the variance clustered by operator. Where there are
// too few, the estimate loses it too.
func (f *HalfLife) cluster(e *survival.Estimate) {
	r := e.ClusterRobust
	f.Operators = Count(r.NClusters)
	f.Clustered, f.Weighted, f.FewOperators = Clustered(e)
	if f.FewOperators {
		dropLimits(r, e.WangChang)
	}
	if e.HalfLife.Value == nil {
		f.AtLeast = f.Clustered.Lower
		f.MoreThan = moreThan(r)
	}
}

// Clustered returns the half-life of an estimate with clusters, and the
// server-weighted one, with the limits that may be stated: none with fewer than
// [MinOperators] clusters, none where the variance is 0 because the clusters happen
// to be alike, and so none that exclude the value.
func Clustered(e *survival.Estimate) (pooled, weighted Interval, few bool) {
	r, w := e.ClusterRobust, e.WangChang
	if r.NClusters < MinOperators {
		return Interval{Value: days(r.HalfLife.Value)}, Interval{Value: days(w.HalfLife.Value)}, true
	}
	return limited(r.HalfLife, r.Table.Time, r.Table.SeSurv), limited(w.HalfLife, w.Time, w.SeSurv), false
}

// dropLimits makes all that follows from the variance unknown.
func dropLimits(r *survival.Robust, w *survival.Weighted) {
	r.HalfLife.CI, w.HalfLife.CI = survival.CI{}, survival.CI{}
	for _, q := range []*survival.Quantile{&r.Quantiles.Q25, &r.Quantiles.Q50, &r.Quantiles.Q75} {
		q.CI = survival.CI{}
	}
	for i := range r.RMST {
		r.RMST[i].Se = nil
	}
	for i := range r.SurvAt {
		r.SurvAt[i].CI, r.SurvAt[i].SeSurv = survival.CI{}, nil
	}
	t := &r.Table
	for _, column := range [][]*float64{
		t.SeLogSurv, t.SeSurv, t.CI.Plain.Lower, t.CI.Plain.Upper, t.CI.Log.Lower, t.CI.Log.Upper, t.CI.LogLog.Lower, t.CI.LogLog.Upper,
		w.SeSurv, w.LowerLogLog, w.UpperLogLog,
	} {
		clear(column)
	}
}

// describe counts the sample; shaky are the servers that are unstable.
func describe(f *HalfLife, s sample, shaky []bool) {
	changes := make([]Count, len(shaky))
	seen := make([]bool, len(shaky))
	for i := range s.spells {
		p := &s.spells[i]
		seen[p.server] = true
		f.StartUnknown.Of++
		if !p.known && !p.newcomer {
			f.StartUnknown.N++
		}
		f.UnstableIntervals.Of++
		if shaky[p.server] {
			f.UnstableIntervals.N++
		}
		if p.ended == "" {
			f.Censored[p.reason]++
			continue
		}
		changes[p.server]++
		f.GapsOver1.Of++
		f.GapsOver7.Of++
		f.UnstableEvents.Of++
		if p.gap() > 1 {
			f.GapsOver1.N++
		}
		if p.gap() > 7 {
			f.GapsOver7.N++
		}
		if shaky[p.server] {
			f.UnstableEvents.N++
		}
	}
	var perServer []Count
	for i, is := range seen {
		if !is {
			continue
		}
		f.Servers++
		perServer = append(perServer, changes[i])
		f.UnstableServers.Of++
		if shaky[i] {
			f.UnstableServers.N++
		}
	}
	f.TopShare = topShare(perServer)
}

// topShare returns the events of the 1 % of servers that changed most, of all;
// 1 % is rounded up to whole servers, so that of 41 servers it is one.
func topShare(perServer []Count) Share {
	slices.SortFunc(perServer, func(x, y Count) int { return int(y - x) })
	top := (len(perServer) + 99) / 100
	var s Share
	for i, n := range perServer {
		s.Of += n
		if i < top {
			s.N += n
		}
	}
	return s
}

// lines computes the half-life under other choices (DESIGN.md section 8). The
// intervals of s are those of the headline e.
func (c *collector) lines(h *timeline.History, s sample, headline *survival.Estimate, shaky []bool) ([]Line, error) {
	type choice struct {
		id, title string
		sample    sample
		place     placing
	}
	captures := choice{"comparable_only", "Without changes that the conditions of reading may explain", c.newSample(h, comparableOnly), right}
	if c.rules.CaptureRestricts { // the headline is without
		captures = choice{"with_captures", "With the differences that the conditions of reading may explain counted as changes", c.newSample(h, withCaptures), right}
	}
	choices := []choice{
		{"observed_starts", "Only contracts whose beginning was observed as a change", s.only(func(p *spell) bool { return p.known }), right},
		{"new_servers", "Only the first contract of servers whose coming into the registry was observed", s.only(func(p *spell) bool { return p.newcomer }), right},
		{"gap_bound", "Each change dated as early as the readings allow", s, left},
		{"without_unstable", "Without the servers that change again and again", s.only(func(p *spell) bool { return !shaky[p.server] }), right},
		captures,
		{"substantive_only", "Without changes of only numbers, white space or order", c.newSample(h, substantiveOnly), right},
		{"loss_as_end", "Retirement and a new demand for a login counted as changes", s.lossAsEnd(), right},
	}
	lines := []Line{}
	for i := 0; i < len(choices); i++ {
		ch := choices[i]
		e, err := survival.Fit(ch.sample.intervals(ch.place), survival.Options{At: horizons, Causes: true})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ch.id, err)
		}
		lines = append(lines, Line{
			Events: Count(e.NEvents), HalfLife: interval(e.HalfLife), ID: ch.id, Intervals: Count(e.N), S30: chance(e.SurvAt, 0),
			Status: e.HalfLife.Status, Title: ch.title,
		})
		if ch.id == "gap_bound" && farApart(e.HalfLife.Value, headline.HalfLife.Value) {
			choices = slices.Insert(choices, i+1, choice{"gap_middle", "Each change dated to the middle of what the readings allow", s, middle})
		}
	}
	return lines, nil
}

// lossAsEnd returns the sample in which a contract that was lost to retirement or
// to a login ended on the day after its last reading.
func (s sample) lossAsEnd() sample {
	out := sample{spells: slices.Clone(s.spells), clusters: s.clusters}
	for i := range out.spells {
		if p := &out.spells[i]; p.reason == "retired" || p.reason == "auth" {
			p.ended, p.reason = dayAfter(p.read), ""
		}
	}
	return out
}

// farApart reports whether the bounds of the half-life differ by more than a
// tenth, so that the middle is stated too (km/README.md, section 6).
func farApart(lower, upper *float64) bool {
	if lower == nil || upper == nil {
		return lower != upper
	}
	return math.Abs(*upper-*lower) > 0.1**upper
}

// moreThan returns, of a half-life that was not reached and that has no lower
// limit, the last time at which the lower band was defined and above one half: at
// the level of the limits the half-life is more.
func moreThan(e *survival.Robust) *Days {
	if e.HalfLife.CI.LogLog[0] != nil {
		return nil
	}
	for i, lower := range slices.Backward(e.Table.CI.LogLog.Lower) {
		if lower != nil && *lower > 0.5 && !noSpread(e.Table.SeSurv[i]) {
			return days(&e.Table.Time[i])
		}
	}
	return nil
}

// noSpread reports whether a standard error is 0, but for what sums of floats
// leave. Where S is neither 0 nor 1 no estimate is that sure: the clusters happen
// to be alike.
func noSpread(se *float64) bool { return se != nil && *se < 1e-9 }

// limited returns a half-life with its log-log limits, without both where one
// comes from a row without spread, which also are those that can exclude the
// value.
func limited(h survival.HalfLife, time []float64, se []*float64) Interval {
	out := interval(h)
	for _, limit := range h.CI.LogLog {
		if limit == nil {
			continue
		}
		if i, ok := slices.BinarySearch(time, *limit); ok && noSpread(se[i]) {
			return Interval{Value: out.Value}
		}
	}
	if v := out.Value; v != nil && (out.Lower != nil && *out.Lower > *v || out.Upper != nil && *out.Upper < *v) {
		return Interval{Value: v}
	}
	return out
}

// ticks returns whole days from 0 to at most last, between five and nine where
// there are as many, in steps that people count in.
func ticks(last int) []int {
	step := 1
	for _, s := range []int{2, 3, 5, 10, 20, 30, 60, 90, 180, 365} {
		if last/step < 9 {
			break
		}
		step = s
	}
	for last/step >= 9 {
		step *= 2
	}
	var out []int
	for d := 0; d <= last; d += step {
		out = append(out, d)
	}
	return out
}

// atRisk counts the intervals that last at least as long as each tick.
func atRisk(intervals []survival.Interval) []AtRisk {
	times := make([]float64, len(intervals))
	for i, v := range intervals {
		times[i] = v.Time
	}
	slices.Sort(times)
	out := []AtRisk{}
	if len(times) == 0 {
		return out
	}
	for _, d := range ticks(int(times[len(times)-1])) {
		before, _ := slices.BinarySearch(times, float64(d))
		out = append(out, AtRisk{Day: Count(d), N: Count(len(times) - before)})
	}
	return out
}

// interval returns a half-life with its log-log limits.
func interval(h survival.HalfLife) Interval {
	return Interval{Lower: days(h.CI.LogLog[0]), Upper: days(h.CI.LogLog[1]), Value: days(h.Value)}
}

// chance returns S at one of the horizons, with its log-log limits, and nothing
// where too few were at risk. Where S is 1 there are no limits: survival has those
// of R, of no width, before the first time.
func chance(at []survival.At, i int) Chance {
	if i >= len(at) || at[i].BeyondLast || at[i].NRisk < survival.ThinBelow {
		return Chance{}
	}
	a := at[i]
	if *a.Surv == 1 {
		return Chance{Value: probability(a.Surv)}
	}
	return Chance{Lower: probability(a.CI.LogLog[0]), Upper: probability(a.CI.LogLog[1]), Value: probability(a.Surv)}
}

// mean returns a restricted mean, and nothing where it is not to be published.
func mean(e *survival.Estimate, i int) *Days {
	if !e.Known(&e.RMST[i]) {
		return nil
	}
	return days(e.RMST[i].RMST)
}

// retirement returns the cumulative incidences at the horizons.
func retirement(e *survival.Estimate) []Incidence {
	out := []Incidence{}
	for i, day := range horizons {
		v := Incidence{Day: Count(day)}
		a := e.AalenJohansen
		if a != nil && i < len(e.SurvAt) && e.SurvAt[i].NRisk >= survival.ThinBelow {
			n, found := slices.BinarySearch(a.Time, day)
			if found {
				n++
			}
			if n > 0 {
				v.Changed, v.Retired, v.Neither = probability(&a.CIFChange[n-1]), probability(&a.CIFRetired[n-1]), probability(&a.EventFree[n-1])
			}
		}
		out = append(out, v)
	}
	return out
}

func days(v *float64) *Days {
	if v == nil {
		return nil
	}
	d := Days(*v)
	return &d
}

func probability(v *float64) *Probability {
	if v == nil {
		return nil
	}
	p := Probability(*v)
	return &p
}

// round rounds every floating-point number below v to six significant digits:
// those that do not depend on the machine (km/README.md, section 2). The exact
// integers from which all can be computed again stand beside them.
func round(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			round(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			round(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			round(v.Index(i))
		}
	case reflect.Float64:
		f, err := strconv.ParseFloat(strconv.FormatFloat(v.Float(), 'g', 6, 64), 64)
		if err == nil {
			v.SetFloat(f)
		}
	}
}
