package report

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/survival"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// fit estimates from lines such as "3+ 6" per cluster: times, with an event where
// there is a plus. Each time is a server of its own.
func fit(t *testing.T, clusters ...string) *survival.Estimate {
	t.Helper()
	var ivs []survival.Interval
	for c, times := range clusters {
		for _, text := range strings.Fields(times) {
			v := survival.Interval{Cluster: int32(c), Server: int32(len(ivs))}
			if strings.HasSuffix(text, "+") {
				v.Cause = 1
			}
			if _, err := fmt.Sscanf(text, "%g", &v.Time); err != nil {
				t.Fatal(err)
			}
			ivs = append(ivs, v)
		}
	}
	e, err := survival.Fit(ivs, survival.Options{RMST: horizons, At: horizons, Cluster: true, Causes: true})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// alike repeats what the cluster holds.
func alike(n int, times string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = times
	}
	return out
}

// bounds writes what is stated of a half-life.
func bounds(f *HalfLife) string {
	text := func(d *Days) string {
		if d == nil {
			return Dash
		}
		return strings.TrimSuffix(strings.TrimSuffix(d.Text(), "s"), " day")
	}
	of := func(i Interval) string { return text(i.Value) + " " + text(i.Lower) + ".." + text(i.Upper) }
	s := "clustered " + of(f.Clustered) + "; weighted " + of(f.Weighted) + "; at least " + text(f.AtLeast) + "; more than " + text(f.MoreThan)
	if f.FewOperators {
		s += "; few"
	}
	return s
}

// Limits are stated only where the variance that they take is one: not with few
// operators, not where it is 0 by chance, and none that excludes the value.
func TestClusteredLimits(t *testing.T) {
	tests := []struct {
		name     string
		clusters []string
		want     string
	}{
		{"reached", append(alike(8, "2+ 3+ 5+"), "1+ 2+", "9+ 9", "9", "4+"), "clustered 3 3..4; weighted 3 3..4; at least —; more than —"},
		{"one operator", alike(1, strings.Repeat("3+ 9+ 12 ", 20)), "clustered 9 —..—; weighted 9 —..—; at least —; more than —; few"},
		{"nine operators", append(alike(8, "3+ 9+ 12"), "1+"), "clustered 9 —..—; weighted 9 —..—; at least —; more than —; few"},
		{"ten operators", append(alike(9, "3+ 9+ 12"), "1+"), "clustered 9 9..9; weighted 9 9..9; at least —; more than —"},
		{"operators that are alike at one half", alike(12, "3+ 6+"), "clustered 4.5 —..—; weighted 4.5 —..—; at least —; more than —"},
		{"operators that are alike and stay there", alike(12, "3+ 6"), "clustered — —..—; weighted — —..—; at least —; more than —"},
		{"operators that are alike above one half", alike(12, "3+ 6 6 6"), "clustered — —..—; weighted — —..—; at least —; more than —"},
		{"not reached, with a lower limit", append(alike(12, "9"), "2+ 2+ 2+", "3+ 3+ 3+", "4+ 4+ 4+"), "clustered — 2..—; weighted — 2..—; at least 2; more than —"},
		{"not reached, and far from it", append(alike(40, "9"), "2+", "3+"), "clustered — —..—; weighted — —..—; at least —; more than 9"},
		{"not reached, few operators", append(alike(5, "9 9 9"), "2+ 2+", "3+ 3+ 3+", "4+ 4+ 4+"), "clustered — —..—; weighted — —..—; at least —; more than —; few"},
		{"no events", alike(40, "9"), "clustered — —..—; weighted — —..—; at least —; more than —"},
		{"nobody", nil, "clustered — —..—; weighted — —..—; at least —; more than —; few"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := fit(t, tt.clusters...)
			var f HalfLife
			f.cluster(e)
			if got := bounds(&f); got != tt.want {
				t.Errorf("cluster = %s, want %s", got, tt.want)
			}
			if f.Operators != Count(len(tt.clusters)) {
				t.Errorf("%d operators, want %d", f.Operators, len(tt.clusters))
			}
			if n := strings.Count(string(record.Value(e.ClusterRobust))+string(record.Value(e.WangChang)), `"se_surv":[null`); f.FewOperators && len(tt.clusters) > 0 && n != 2 {
				t.Errorf("the estimate keeps the standard errors of few operators")
			}
		})
	}
}

// No limit stands that excludes the value, however the estimate came by it.
func TestLimited(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	time, se := []float64{3, 5, 6, 9}, []*float64{at(0.1), at(0.1), at(0.1), nil}
	for _, tt := range []struct {
		name                string
		value, lower, upper *float64
		kept                bool
	}{
		{"around the value", at(5), at(3), at(9), true},
		{"equal to it", at(5), at(5), at(5), true},
		{"lower limit above it", at(5), at(6), at(9), false},
		{"upper limit below it", at(5.5), at(3), at(5), false},
		{"without a value", nil, at(6), nil, true},
	} {
		h := survival.HalfLife{Value: tt.value, CI: survival.CI{LogLog: survival.Limits{tt.lower, tt.upper}}}
		if got := limited(h, time, se); (got.Lower != nil) != tt.kept || (got.Upper != nil) != (tt.kept && tt.upper != nil) || (got.Value != nil) != (tt.value != nil) {
			t.Errorf("%s: limited = %+v, want limits kept: %v", tt.name, got, tt.kept)
		}
	}
}

// What dropLimits leaves of an estimate is the curve.
func TestDropLimits(t *testing.T) {
	e, whole := fit(t, "3+ 9+ 40", "2+ 8+ 50"), fit(t, "3+ 9+ 40", "2+ 8+ 50")
	var f HalfLife
	f.cluster(e)
	r, w := e.ClusterRobust, e.WangChang
	for name, v := range map[string]any{
		"half-life": r.HalfLife.CI, "weighted": w.HalfLife.CI, "quantiles": []any{r.Quantiles.Q25.CI, r.Quantiles.Q50.CI, r.Quantiles.Q75.CI},
		"at": []any{r.SurvAt[0].CI, r.SurvAt[0].SeSurv}, "mean": r.RMST[0].Se, "table": []any{r.Table.CI, r.Table.SeSurv, r.Table.SeLogSurv},
		"weighted table": []any{w.SeSurv, w.LowerLogLog, w.UpperLogLog},
	} {
		if text := string(record.Value(v)); strings.ContainsAny(text, "0123456789") {
			t.Errorf("%s = %s, want nulls", name, text)
		}
	}
	if diff := cmp.Diff(whole.Table, e.Table); diff != "" {
		t.Errorf("the pooled table lost something:\n%s", diff)
	}
	if r.HalfLife.Value == nil || w.HalfLife.Value == nil || *r.SurvAt[0].Surv != *whole.SurvAt[0].Surv {
		t.Errorf("the values are lost: %v, %v", r.HalfLife.Value, w.HalfLife.Value)
	}
}

// Before the first change there are no limits, and that is not "too few".
func TestChance(t *testing.T) {
	tests := []struct {
		name     string
		clusters []string
		value    string
		limits   bool
		none     bool
		all      bool
	}{
		{"no interval so short", alike(31, "32"), "100 %", false, true, false},
		{"censored before, no event", append(alike(31, "32"), "3"), "100 %", false, true, false},
		{"an event", append(alike(31, "32"), "3+"), "96.9 %", true, false, false},
		{"all on that day", alike(31, "30+"), "0 %", false, false, true},
		{"too few", alike(29, "32"), Dash, false, false, false},
		{"beyond the last time", alike(31, "29"), Dash, false, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := chance(fit(t, tt.clusters...).SurvAt, 0)
			value := Dash
			if c.Value != nil {
				value = c.Value.Text()
			}
			if value != tt.value || (c.Lower != nil) != tt.limits || (c.Upper != nil) != tt.limits || c.NoneEnded() != tt.none || c.AllEnded() != tt.all {
				t.Errorf("chance = %s, %+v, none ended %v, all %v", value, c, c.NoneEnded(), c.AllEnded())
			}
		})
	}
}

// A mean is stated beyond the last time where nothing is left to be known.
func TestMean(t *testing.T) {
	if got := mean(fit(t, "3+ 9+"), 0); got == nil || *got != 6 {
		t.Errorf("mean of what all ended = %v, want 6 days", got)
	}
	if got := mean(fit(t, "3+ 9"), 0); got != nil {
		t.Errorf("mean beyond the last time = %v, want none", *got)
	}
	if got := mean(fit(t), 0); got != nil {
		t.Errorf("mean of nothing = %v, want none", *got)
	}
}

// Other times change the estimate, and no other figure. It is rounded as ever, and
// all curves have the same times.
func TestBuildAt(t *testing.T) {
	servers := names(40)
	w := newTown(t, servers...)
	for i := range 40 {
		got := all(servers, "A")
		for j := range min(i, 17) {
			got[servers[j]] = "B"
		}
		w.run(day(i), got)
	}
	r := w.build()
	e := r.HalfLife.Estimate
	if len(e.SurvAt) != 2 || e.SurvAt[0].T != 30 || e.RMST[1].Tau != 90 || len(e.ClusterRobust.SurvAt) != 2 || len(e.ClusterRobust.RMST) != 2 {
		t.Errorf("the estimate has S at %v, means to %v", e.SurvAt, e.RMST)
	}
	other, err := BuildAt(w.tree(), "v1", Times{RMST: []float64{7}, At: []float64{3, 10, 33}})
	if err != nil {
		t.Fatal(err)
	}
	o := other.HalfLife.Estimate
	if len(o.SurvAt) != 3 || o.SurvAt[1].T != 10 || len(o.RMST) != 1 || o.RMST[0].Tau != 7 || len(o.ClusterRobust.SurvAt) != 3 || o.ClusterRobust.SurvAt[2].T != 33 || o.ClusterRobust.RMST[0].Tau != 7 {
		t.Errorf("the estimate has S at %v, means to %v, clustered %v", o.SurvAt, o.RMST, o.ClusterRobust.RMST)
	}
	if text := fmt.Sprint(*o.SurvAt[1].Surv, *o.RMST[0].RMST); len(text) > 16 {
		t.Errorf("S(10) and the mean to 7 are %s, want six significant digits", text)
	}
	o.SurvAt, o.RMST, o.ClusterRobust.SurvAt, o.ClusterRobust.RMST = e.SurvAt, e.RMST, e.ClusterRobust.SurvAt, e.ClusterRobust.RMST
	if diff := cmp.Diff(string(record.File(r)), string(record.File(other))); diff != "" {
		t.Errorf("other figures differ:\n%s", diff)
	}
	if _, err := BuildAt(w.tree(), "v1", Times{At: []float64{-1}}); err == nil {
		t.Error("BuildAt of a negative time = nil, want an error")
	}
}

// The methodology page has the rules that are numbers here.
func TestMethodologyPage(t *testing.T) {
	b, err := os.ReadFile("../../templates/pages/methodology/v1.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("fewer than %d operators", MinOperators),
		fmt.Sprintf("at most %d days before the first one that had it lacked it, and if it was first read at most %d days after", newcomerDays, newcomerDays),
		fmt.Sprintf("at least %d times in their last %d days with an answer", unstableChanges, unstableWindow),
		fmt.Sprintf("outlast %v and %v days, where at least %d intervals", horizons[0], horizons[1], survival.ThinBelow),
		fmt.Sprintf("names at most %d, in at most %d KiB", timeline.MaxChanges, timeline.MaxChangeBytes>>10),
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("methodology/v1.md lacks %q", want)
		}
	}
	w := newTown(t, names(1)...)
	w.run(day(0), all(names(1), "A"))
	for _, l := range w.build().HalfLife.Lines {
		if !strings.Contains(string(b), "| `"+l.ID+"` |") {
			t.Errorf("methodology/v1.md lacks the line %s", l.ID)
		}
	}
}
