package survival

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func fit(t rapid.TB, ivs []Interval, o Options) *Estimate {
	t.Helper()
	e, err := Fit(ivs, o)
	if err != nil {
		t.Fatalf("Fit(%v, %+v) fails: %v", ivs, o, err)
	}
	return e
}

func bytesOf(t rapid.TB, e *Estimate) []byte {
	t.Helper()
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// timesOf makes intervals of times, the events of which come first.
func timesOf(events, censored []float64) (ivs []Interval) {
	for _, t := range events {
		ivs = append(ivs, Interval{Time: t, Cause: 1})
	}
	for _, t := range censored {
		ivs = append(ivs, Interval{Time: t})
	}
	return ivs
}

// Cases f-006 and f-008: a curve that never reaches one half has no half-life,
// and one that only touches it has none either, censored at a time being at risk
// then.
func TestCases(t *testing.T) {
	for _, tt := range []struct {
		id        string
		surv      float64
		status    string
		durations string
	}{
		{id: "f-006", surv: 0.75, status: NotReached, durations: "durations_days"},
		{id: "f-008", surv: 0.5, status: TouchesOnly, durations: "durations"},
	} {
		t.Run(tt.id, func(t *testing.T) {
			b, err := os.ReadFile("testdata/cases/" + tt.id + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var c struct{ Input map[string][]float64 }
			if err := json.Unmarshal(b, &c); err != nil {
				t.Fatal(err)
			}
			var ivs []Interval
			for i, time := range c.Input[tt.durations] {
				ivs = append(ivs, Interval{Time: time, Cause: int32(c.Input["event"][i])})
			}
			e := fit(t, ivs, Options{})
			if len(ivs) != 4 || e.Table.Surv[0] != tt.surv {
				t.Errorf("S of %v = %v, want %v", ivs, e.Table.Surv, tt.surv)
			}
			if e.HalfLife.Status != tt.status || e.HalfLife.Value != nil {
				t.Errorf("half-life of %v = %s, %v, want %s, nil", ivs, e.HalfLife.Status, e.HalfLife.Value, tt.status)
			}
		})
	}
}

func TestHalfLife(t *testing.T) {
	seven := make([]float64, 7)
	for i := range seven {
		seven[i] = float64(i + 1)
	}
	for _, tt := range []struct {
		name             string
		events, censored []float64
		status           string
		value            float64
	}{
		{name: "below at once", events: []float64{3, 3, 3}, censored: []float64{9}, status: Reached, value: 3},
		{name: "exactly half, then a drop", events: []float64{1, 2, 5, 6}, status: Reached, value: 3.5},
		{name: "exactly half to the end", events: []float64{1, 2}, censored: []float64{5, 6}, status: TouchesOnly},
		{name: "above", events: []float64{1}, censored: []float64{5, 6}, status: NotReached},
		{name: "no event", censored: []float64{5, 6}, status: NotReached},
		{name: "at time 0", events: []float64{0, 0, 0}, status: Reached, value: 0},
		{name: "exactly half, though the floats say less", events: []float64{1, 2, 4, 7, 8}, censored: []float64{4, 4, 7, 7}, status: Reached, value: 7.5},
		{name: "exactly half, though the floats say more", events: []float64{1, 1, 2, 2, 4, 5, 5}, censored: []float64{5, 5, 6}, status: Reached, value: 4.5},
		{name: "odd number", events: seven, status: Reached, value: 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := fit(t, timesOf(tt.events, tt.censored), Options{}).HalfLife
			if h.Status != tt.status {
				t.Errorf("status = %s, want %s", h.Status, tt.status)
			}
			if got, want := text(h.Value), text(&tt.value); tt.status == Reached && got != want || tt.status != Reached && h.Value != nil {
				t.Errorf("half-life = %s, want %s if reached", got, want)
			}
		})
	}
}

func text(p *float64) string {
	if p == nil {
		return "nil"
	}
	return fmt.Sprint(*p)
}

// S is nearer to one half than any tolerance for it: only integers tell.
func TestNearlyHalf(t *testing.T) {
	for _, tt := range []struct {
		name            string
		event, censored int32
		status          string
	}{
		{"a hair above", 1<<30 - 1, 1 << 30, NotReached},
		{"exactly", 1<<30 - 1, 1<<30 - 1, TouchesOnly},
		{"a hair below", 1 << 30, 1<<30 - 1, Reached},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := fit(t, []Interval{{Time: 1, Cause: 1, N: tt.event}, {Time: 2, N: tt.censored}}, Options{})
			if e.HalfLife.Status != tt.status || math.Abs(e.Table.Surv[0]-0.5) >= near {
				t.Errorf("status of S = %v is %s, want %s", e.Table.Surv[0], e.HalfLife.Status, tt.status)
			}
		})
	}
}

// The robust error of a restricted mean, as R's residuals(type = "auc") gives it.
func TestRobustMean(t *testing.T) {
	for _, d := range datasets(t) {
		if d.ID != "recurrent-a" {
			continue
		}
		e := fit(t, d.Input.intervals(), Options{Cluster: true, RMST: []float64{30}})
		if got, want := *e.ClusterRobust.RMST[0].Se, 2.19112102152017; math.Abs(got-want) > 1e-14 {
			t.Errorf("robust error of the mean up to 30 = %v, want %v", got, want)
		}
		return
	}
	t.Error("there is no set recurrent-a")
}

// The server-weighted curve is exactly 1/2 after thirds of which the floats say
// 0.4999999999999999 and 0.5000000000000001.
func TestWeightedExactly(t *testing.T) {
	less := []Interval{
		{Time: 1, Cause: 1, Server: 3}, {Time: 5, Cause: 1, Server: 3}, {Time: 6, Cause: 1, Server: 3},
		{Time: 3, Cause: 1, Server: 2}, {Time: 8, Server: 1}, {Time: 6, Server: 4},
	}
	more := []Interval{{Time: 4, Cause: 1}, {Time: 6, Cause: 1}, {Time: 6, Cause: 1}, {Time: 5}, {Time: 7, Server: 1}}
	for _, tt := range []struct {
		name    string
		ivs     []Interval
		servers int
		surv    float64
	}{{"less", less, 4, 0.4999999999999999}, {"more", more, 2, 0.5000000000000001}} {
		t.Run(tt.name, func(t *testing.T) {
			w := fit(t, tt.ivs, Options{Cluster: true}).WangChang
			last := len(w.Surv) - 1
			if w.HalfLife.Status != TouchesOnly || w.NServers != tt.servers || w.Surv[last] != tt.surv {
				t.Errorf("WangChang = %s at %v with %d servers, want touches_only at %v with %d", w.HalfLife.Status, w.Surv, w.NServers, tt.surv, tt.servers)
			}
		})
	}
	then := append(slices.Clone(less), Interval{Time: 9, Cause: 1, Server: 1})
	if w := fit(t, then, Options{Cluster: true}).WangChang; w.HalfLife.Status != Reached || text(w.HalfLife.Value) != "7.5" {
		t.Errorf("with a later event: WangChang = %s, %s, want reached, 7.5", w.HalfLife.Status, text(w.HalfLife.Value))
	}
}

// All at risk have the event while others are still to enter: S is 0, though
// the weights of those, summed up as they enter and as they leave, differ.
func TestWeightedEmptied(t *testing.T) {
	ivs := []Interval{
		{Entry: 0, Time: 1, Cause: 1, Server: 1}, {Entry: 3, Time: 9, Cause: 1, Server: 4}, {Entry: 2, Time: 7, Cause: 1, Server: 4},
		{Entry: 3, Time: 8, Cause: 1, Server: 4}, {Entry: 3, Time: 6, Cause: 1, Server: 0}, {Entry: 4, Time: 6, Cause: 1, Server: 3},
	}
	for i := range ivs {
		ivs[i].Cluster = ivs[i].Server
	}
	w := fit(t, ivs, Options{Cluster: true, Delayed: true}).WangChang
	if w.Surv[0] != 0 || w.SeSurv[0] != nil || w.Surv[len(w.Surv)-1] != 0 || math.Signbit(w.Surv[len(w.Surv)-1]) {
		t.Errorf("WangChang = %v, want 0", w.Surv)
	}
}

// A server with several rows and no event counts once, with its first.
func TestWeightedFirstRunning(t *testing.T) {
	ivs := []Interval{{Time: 5, Server: 1}, {Time: 50, Server: 1}, {Time: 10, Cause: 1, Server: 2}, {Time: 20, Server: 3, N: 3}}
	w := fit(t, ivs, Options{Cluster: true}).WangChang
	if len(w.WeightedRisk) != 1 || w.WeightedRisk[0] != 2 || w.Surv[0] != 0.5 {
		t.Errorf("WangChang = risk %v, S %v, want 2 and 0.5", w.WeightedRisk, w.Surv)
	}
}

func TestNothing(t *testing.T) {
	for _, o := range []Options{{}, {Cluster: true, Causes: true, Delayed: true}} {
		o.RMST, o.At = []float64{30}, []float64{0, 30}
		e := fit(t, nil, o)
		if e.HalfLife.Status != NotReached || e.HalfLife.Value != nil || e.N != 0 || e.Crossing.MinSurv != nil {
			t.Errorf("Fit(nothing) = %+v", e)
		}
		if e.RMST[0].RMST != nil || e.RMST[0].Se != nil || !e.RMST[0].BeyondLast || e.SurvAt[0].Surv != nil || !e.SurvAt[1].BeyondLast {
			t.Errorf("Fit(nothing) = means %+v, S %+v, want nil beyond the last time", e.RMST, e.SurvAt)
		}
		if b := bytesOf(t, e); bytes.Contains(b, []byte(`"surv":null,"time"`)) || !bytes.Contains(b, []byte(`"time":[]`)) {
			t.Errorf("Fit(nothing) = %s, want empty columns", b)
		}
	}
}

// Beyond the last time nothing is known, unless S is 0.
func TestBeyond(t *testing.T) {
	e := fit(t, timesOf([]float64{2}, []float64{5}), Options{At: []float64{0, 2, 5, 6}, RMST: []float64{5, 6}})
	var got []string
	for _, a := range e.SurvAt {
		got = append(got, fmt.Sprintf("%s %v %d", text(a.Surv), a.BeyondLast, a.NRisk))
	}
	if want := []string{"1 false 2", "0.5 false 2", "0.5 false 1", "nil true 0"}; !slices.Equal(got, want) {
		t.Errorf("SurvAt = %v, want %v", got, want)
	}
	if e.RMST[0].BeyondLast || !e.RMST[1].BeyondLast || text(e.RMST[1].RMST) != "4" {
		t.Errorf("RMST = %+v", e.RMST)
	}
	e = fit(t, timesOf([]float64{2, 5}, nil), Options{At: []float64{6}})
	if a := e.SurvAt[0]; text(a.Surv) != "0" || !a.BeyondLast || a.SeSurv != nil {
		t.Errorf("SurvAt after S = 0 = %+v, want 0", a)
	}
}

func TestFlags(t *testing.T) {
	late := []Interval{{Entry: 0, Time: 2, Cause: 1}, {Entry: 1, Time: 3, Cause: 1}, {Entry: 5, Time: 7, Cause: 1}, {Entry: 5, Time: 8}}
	e := fit(t, late, Options{Delayed: true})
	if f := e.Flags.RiskSetEmptied; f == nil || *f != (Emptied{At: 3, N: 1}) {
		t.Errorf("RiskSetEmptied = %+v, want at 3 with 1", f)
	}
	if f := fit(t, late, Options{}).Flags.RiskSetEmptied; f != nil {
		t.Errorf("RiskSetEmptied without delay = %+v, want nil", f)
	}
	if f := fit(t, late[2:3], Options{Delayed: true}).Flags.RiskSetEmptied; f != nil {
		t.Errorf("RiskSetEmptied at the last time = %+v, want nil", f)
	}
	many := func(servers int32) (ivs []Interval) {
		for i := range int32(60) {
			ivs = append(ivs, Interval{Time: float64(1 + i), Cause: 1, Server: i % servers, Cluster: i % servers})
		}
		return ivs
	}
	for _, tt := range []struct {
		name string
		ivs  []Interval
		o    Options
		want bool
	}{
		{"30 at risk", many(60), Options{}, false}, // at 30.5 days
		{"29 at risk", many(60)[:58], Options{}, true},
		{"30 at risk of 30 servers", many(60), Options{Cluster: true}, false},
		{"30 at risk of 10 servers", many(10), Options{Cluster: true}, true},
		{"not reached", timesOf([]float64{1}, []float64{5, 5, 5}), Options{}, false},
	} {
		if got := fit(t, tt.ivs, tt.o).Flags.Thin; got != tt.want {
			t.Errorf("%s: Thin = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestAtRisk(t *testing.T) {
	times := []float64{0, 2, 3, 4, 5, 9, 9.5}
	e := fit(t, timesOf([]float64{2, 4}, []float64{4, 9}), Options{At: times})
	for i, want := range []int{4, 4, 3, 3, 1, 1, 0} {
		if got := e.SurvAt[i].NRisk; got != want {
			t.Errorf("at risk at %v are %d, want %d", times[i], got, want)
		}
	}
}

// A mean up to a time after the last one is known where nothing is left alive.
func TestKnown(t *testing.T) {
	o := Options{RMST: []float64{3, 9}}
	for _, tt := range []struct {
		name string
		ivs  []Interval
		want [2]bool
	}{
		{"no intervals", nil, [2]bool{}},
		{"one still lives", timesOf([]float64{2, 4}, []float64{5}), [2]bool{true, false}},
		{"all ended", timesOf([]float64{2, 4}, nil), [2]bool{true, true}},
	} {
		e := fit(t, tt.ivs, o)
		if got := [2]bool{e.Known(&e.RMST[0]), e.Known(&e.RMST[1])}; got != tt.want {
			t.Errorf("%s: Known = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tt := range []struct {
		name string
		iv   Interval
		o    Options
		want string
	}{
		{"negative", Interval{Time: -1}, Options{}, "interval 3: the time -1 is negative, not finite or too large"},
		{"no number", Interval{Time: nan}, Options{}, "interval 3: the time NaN is negative, not finite or too large"},
		{"infinite", Interval{Time: inf}, Options{}, "interval 3: the time +Inf is negative, not finite or too large"},
		{"too large", Interval{Time: 1e300}, Options{}, "interval 3: the time 1e+300 is negative, not finite or too large"},
		{"entry no number", Interval{Entry: nan, Time: 1}, Options{Delayed: true}, "interval 3: the entry NaN is negative, not finite or too large"},
		{"entry negative", Interval{Entry: -inf, Time: 1}, Options{Delayed: true}, "interval 3: the entry -Inf is negative, not finite or too large"},
		{"entry at the time", Interval{Entry: 1, Time: 1}, Options{Delayed: true}, "interval 3: the entry 1 is not before the time 1"},
		{"cause 3", Interval{Time: 1, Cause: 3}, Options{Causes: true}, "interval 3: there is no cause 3"},
		{"cause -1", Interval{Time: 1, Cause: -1}, Options{Causes: true}, "interval 3: there is no cause -1"},
		{"cause 2 unannounced", Interval{Time: 1, Cause: 2}, Options{}, "interval 3: there is no cause 2"},
		{"negative number", Interval{Time: 1, N: -1}, Options{}, "interval 3: there cannot be -1 of it"},
		{"at NaN", Interval{Time: 1}, Options{At: []float64{nan}}, "the time NaN to estimate at is negative, not finite or too large"},
		{"mean up to -1", Interval{Time: 1}, Options{RMST: []float64{-1}}, "the time -1 to estimate at is negative, not finite or too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Fit([]Interval{{Time: 7}, {Time: 2.5}, tt.iv, {Time: -9}}, tt.o)
			if err == nil || err.Error() != tt.want {
				t.Errorf("Fit(%+v) fails with %v, want %s", tt.iv, err, tt.want)
			}
		})
	}
}

// A time far away, and a tiny one, are times as any other.
func TestExtremes(t *testing.T) {
	e := fit(t, timesOf([]float64{MaxTime, 5e-324, 1e99}, []float64{math.Copysign(0, -1), 0}), Options{RMST: []float64{MaxTime}, At: []float64{1}})
	if len(e.Table.Time) != 4 || e.Table.NCensor[0] != 2 || math.Signbit(e.Table.Time[0]) {
		t.Errorf("Table = %+v, want 4 rows, the first of both zeros", e.Table)
	}
	bytesOf(t, e) // no NaN and no infinity is left
}

// drawn makes intervals by a recipe: whole days or not, in clusters of servers.
func drawn(t *rapid.T, o Options) []Interval {
	whole := rapid.Bool().Draw(t, "whole")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Interval {
		iv := Interval{Time: float64(rapid.IntRange(1, 25).Draw(t, "time")), Cause: rapid.Int32Range(0, 1).Draw(t, "cause")}
		if !whole {
			iv.Time += 0.25 * float64(rapid.IntRange(0, 3).Draw(t, "quarter"))
		}
		if o.Causes {
			iv.Cause = rapid.Int32Range(0, 2).Draw(t, "cause of all")
		}
		if o.Delayed {
			iv.Entry = float64(rapid.IntRange(0, int(iv.Time)-1).Draw(t, "entry"))
		}
		iv.Server = rapid.Int32Range(-3, 9).Draw(t, "server")
		iv.Cluster = iv.Server / 2
		return iv
	}), 0, 60).Draw(t, "intervals")
}

func drawnOptions(t *rapid.T) Options {
	return Options{
		RMST: []float64{0, 7, 30}, At: []float64{0, 1, 7.5, 26}, Delayed: rapid.Bool().Draw(t, "delayed"),
		Cluster: rapid.Bool().Draw(t, "clusters"), Causes: rapid.Bool().Draw(t, "causes"),
	}
}

// Shuffled intervals give the same bytes, as long as those of a server without
// an event stay in order; so do intervals counted together.
func TestShuffle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawnOptions(t)
		ivs := drawn(t, o)
		want := bytesOf(t, fit(t, ivs, o))
		order := rapid.Permutation(ivs).Draw(t, "order")
		next := map[int32][]Interval{}
		for _, iv := range ivs {
			next[iv.Server] = append(next[iv.Server], iv)
		}
		kept := make([]Interval, len(order)) // servers shuffled, the intervals of each in order
		for i, iv := range order {
			kept[i], next[iv.Server] = next[iv.Server][0], next[iv.Server][1:]
		}
		if got := bytesOf(t, fit(t, kept, o)); !bytes.Equal(got, want) {
			t.Fatalf("Fit(shuffled) = %s, want %s", got, want)
		}
		if o.Cluster {
			return
		}
		if got := bytesOf(t, fit(t, order, o)); !bytes.Equal(got, want) {
			t.Fatalf("Fit(shuffled) = %s, want %s", got, want)
		}
		var merged []Interval
		for _, iv := range ivs {
			iv.Server, iv.Cluster = 0, 0
			i := slices.IndexFunc(merged, func(m Interval) bool { m.N = 0; return m == iv })
			if i < 0 {
				iv.N = 1
				merged = append(merged, iv)
				continue
			}
			merged[i].N++
		}
		if got := bytesOf(t, fit(t, merged, o)); !bytes.Equal(got, want) {
			t.Fatalf("Fit(merged) = %s, want %s", got, want)
		}
	})
}

// Another unit of time scales times and means, and nothing else.
func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawnOptions(t)
		o.RMST, o.At = nil, nil
		ivs := drawn(t, o)
		e := fit(t, ivs, o)
		factor := rapid.SampledFrom([]float64{2, 0.25, 1024, 1 << 21}).Draw(t, "factor")
		for i := range ivs {
			ivs[i].Time *= factor
			ivs[i].Entry *= factor
		}
		got := fit(t, ivs, o)
		for i := range e.Table.Time {
			e.Table.Time[i] *= factor
		}
		if !slices.Equal(e.Table.Time, got.Table.Time) {
			t.Fatalf("times = %v, want %v", got.Table.Time, e.Table.Time)
		}
		if !slices.Equal(e.Table.Surv, got.Table.Surv) || !slices.Equal(e.Table.NRisk, got.Table.NRisk) {
			t.Fatalf("S = %v, want %v", got.Table.Surv, e.Table.Surv)
		}
		if e.HalfLife.Status != got.HalfLife.Status || e.HalfLife.Value != nil && *e.HalfLife.Value*factor != *got.HalfLife.Value {
			t.Fatalf("half-life = %v, want %v times %v", text(got.HalfLife.Value), factor, text(e.HalfLife.Value))
		}
		for i, limit := range e.HalfLife.CI.LogLog {
			if limit == nil != (got.HalfLife.CI.LogLog[i] == nil) || limit != nil && *limit*factor != *got.HalfLife.CI.LogLog[i] {
				t.Fatalf("limit = %v, want %v times %v", text(got.HalfLife.CI.LogLog[i]), factor, text(limit))
			}
		}
	})
}

func nearly(a, b float64) bool { return math.Abs(a-b) <= 1e-11*max(1, math.Abs(b)) }

// With one interval per cluster the jackknife is Greenwood's variance, and the
// server-weighted curve is the pooled one.
func TestSingletons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Cluster: true, RMST: []float64{7, 20}}
		ivs := drawn(t, o)
		for i := range ivs {
			ivs[i].Cluster, ivs[i].Server = int32(i), int32(-i)
		}
		e := fit(t, ivs, o)
		r := e.ClusterRobust
		for i, want := range e.Table.SeLogSurv {
			got := r.Table.SeLogSurv[i]
			if want == nil != (got == nil) || want != nil && !nearly(*got, *want) {
				t.Fatalf("robust error in row %d = %v, want %v", i, text(got), text(want))
			}
		}
		for k := range e.RMST {
			if e.RMST[k].Se != nil && !nearly(*r.RMST[k].Se, *e.RMST[k].Se) {
				t.Fatalf("robust error of the mean = %v, want %v", *r.RMST[k].Se, *e.RMST[k].Se)
			}
		}
		if r.NClusters != len(ivs) || e.WangChang.NServers != len(ivs) {
			t.Fatalf("%d clusters and %d servers, want %d", r.NClusters, e.WangChang.NServers, len(ivs))
		}
		j := 0
		for i, d := range e.Table.NEvent {
			if d == 0 {
				continue
			}
			w := e.WangChang
			if w.Time[j] != e.Table.Time[i] || !nearly(w.Surv[j], e.Table.Surv[i]) || w.WeightedRisk[j] != float64(e.Table.NRisk[i]) {
				t.Fatalf("server-weighted row %d = %v %v, want %v", j, w.Time[j], w.Surv[j], e.Table.Surv[i])
			}
			j++
		}
	})
}

// Without censoring S is the share that is left.
func TestEmpirical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ivs := drawn(t, Options{})
		for i := range ivs {
			ivs[i].Cause = 1
		}
		e := fit(t, ivs, Options{})
		for i, at := range e.Table.Time {
			left := 0
			for _, iv := range ivs {
				if iv.Time > at {
					left++
				}
			}
			if want := float64(left) / float64(len(ivs)); !nearly(e.Table.Surv[i], want) {
				t.Fatalf("S(%v) = %v, want %v", at, e.Table.Surv[i], want)
			}
		}
	})
}

// The incidences and S free of both sum to 1; their errors agree with the
// jackknife, in which each interval is a cluster.
func TestIncidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Causes: true}
		ivs := drawn(t, o)
		x := fit(t, ivs, o).AalenJohansen
		for i := range ivs {
			ivs[i].Cluster, ivs[i].Server = int32(i), int32(i)
		}
		o.Cluster = true
		y := fit(t, ivs, o).AalenJohansen
		for i := range ivs {
			ivs[i].Entry = 0
		}
		z := fit(t, ivs, Options{Causes: true, Delayed: true}).AalenJohansen
		for i := range x.Time {
			if sum := x.EventFree[i] + x.CIFChange[i] + x.CIFRetired[i]; !nearly(sum, 1) {
				t.Fatalf("sum in row %d = %v, want 1", i, sum)
			}
			for _, j := range []*Incidence{y, z} {
				if math.Abs(x.SeCIFChange[i]-j.SeCIFChange[i]) > 1e-7 || math.Abs(x.SeCIFRetired[i]-j.SeCIFRetired[i]) > 1e-7 || math.Abs(x.SeEventFree[i]-j.SeEventFree[i]) > 1e-7 {
					t.Fatalf("errors in row %d = %v, %v, %v, want %v, %v, %v", i, j.SeEventFree[i], j.SeCIFChange[i], j.SeCIFRetired[i], x.SeEventFree[i], x.SeCIFChange[i], x.SeCIFRetired[i])
				}
			}
		}
	})
}

// Many distinct times: no drift. Without censoring S is known exactly.
func TestManyTimes(t *testing.T) {
	n := 4 * manyTimes
	ivs := make([]Interval, n)
	for i := range ivs {
		ivs[i] = Interval{Time: float64(n-i) + 0.5, Cause: 1}
	}
	e := fit(t, ivs, Options{})
	for i := 0; i < n-1; i += 1000 {
		if want := float64(n-1-i) / float64(n); math.Abs(e.Table.Surv[i]-want) > 1e-13*want {
			t.Fatalf("S in row %d = %v, want %v", i, e.Table.Surv[i], want)
		}
	}
	if h := e.HalfLife; h.Status != Reached || *h.Value != float64(n/2)+1 {
		t.Errorf("half-life = %s, %s, want %d", h.Status, text(h.Value), n/2+1)
	}
}

// The estimator asks for little memory beyond its input, which is the same for
// ten times the intervals.
func TestAllocations(t *testing.T) {
	few, many := days(1000), days(100000)
	a := testing.AllocsPerRun(3, func() { fit(t, few, Options{}) })
	b := testing.AllocsPerRun(3, func() { fit(t, many, Options{}) })
	if b > a+8 {
		t.Errorf("Fit allocates %v times for 100 times the intervals, want about %v", b, a)
	}
}

// days makes n whole-day intervals of 20,000 servers in 1,000 days.
func days(n int) []Interval {
	ivs := make([]Interval, n)
	s := uint64(1)
	for i := range ivs {
		s = s*6364136223846793005 + 1442695040888963407
		server := int32(s >> 33 % 20000)
		ivs[i] = Interval{Time: float64(s >> 40 % 1000), Cause: int32(s >> 60 & 1), Server: server, Cluster: server}
	}
	return ivs
}

func TestDays(t *testing.T) {
	e := fit(t, days(5000), Options{Cluster: true})
	if e.N != 5000 || e.NEvents < 2000 || e.NDistinct < 900 || !strings.HasPrefix(e.HalfLife.Status, Reached) {
		t.Errorf("days(5000) = %d intervals, %d events, %d days, %s", e.N, e.NEvents, e.NDistinct, e.HalfLife.Status)
	}
}

func BenchmarkDays(b *testing.B) {
	for _, n := range []int{1e6, 1e7} {
		ivs := days(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fit(b, ivs, Options{})
			}
		})
	}
}

// BenchmarkClusters is for 10^6 intervals of 20,000 servers in 1,000 days.
func BenchmarkClusters(b *testing.B) {
	ivs := days(1e6)
	b.ReportAllocs()
	for b.Loop() {
		fit(b, ivs, Options{Cluster: true, RMST: []float64{30, 90}})
	}
}

// BenchmarkTimes is for as many distinct times as intervals.
func BenchmarkTimes(b *testing.B) {
	ivs := days(1e6)
	for i := range ivs {
		ivs[i].Time += float64(i) / 1e7
	}
	b.ReportAllocs()
	for b.Loop() {
		fit(b, ivs, Options{})
	}
}

// What would take hours is refused in words.
func TestTooManyClusters(t *testing.T) {
	var intervals []Interval
	for i := range 70_000 {
		intervals = append(intervals, Interval{Time: float64(i), Cause: 1, Cluster: int32(i), Server: int32(i)})
	}
	if _, err := Fit(intervals, Options{Cluster: true}); err == nil || !strings.Contains(err.Error(), "70000 clusters at 70000 distinct times") {
		t.Errorf("Fit = %v, want an error that says how many", err)
	}
}
