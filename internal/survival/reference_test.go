package survival

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A dataset is one of testdata/reference-open.json: numbers of R 4.2.2 with
// survival 3.5-3, and the input that they were computed from.
type dataset struct {
	ID        string
	N         int
	Input     input
	Generator generator
	SHA256    string `json:"input_csv_sha256"`
	Want      map[string]any
}

type input struct {
	Entry, Time           []float64
	Event, Cluster, Cause []int32
}

// A generator is the recipe minstd-v1, as the conventions of the file say it.
type generator struct {
	Name                               string
	Seed, Draws                        int
	CensorMod, NeverPct, Div, EntryMod int
}

func (g *generator) UnmarshalJSON(b []byte) error {
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	n := func(name string) int { x, _ := m[name].(float64); return int(x) }
	g.Name, _ = m["name"].(string)
	g.Seed, g.Draws, g.CensorMod, g.NeverPct, g.Div, g.EntryMod = n("seed"), n("draws"), n("censor_mod"), n("never_pct"), n("div"), n("entry_mod")
	return nil
}

func (g *generator) make() input {
	var in input
	s := g.Seed
	next := func() int { s = 48271 * s % 2147483647; return s }
	for range g.Draws {
		a, b, c, d, e := next()%10000, next()%10000, next()%g.CensorMod, next()%100, 0
		if g.EntryMod > 0 {
			e = next() % g.EntryMod
		}
		life, censor := 100000, 1+c
		if d >= g.NeverPct {
			life = 1 + a*b/g.Div
		}
		time, event := min(life, censor), int32(0)
		if life <= censor {
			event = 1
		}
		if g.EntryMod > 0 {
			if time <= e {
				continue
			}
			in.Entry = append(in.Entry, float64(e))
		}
		in.Time, in.Event = append(in.Time, float64(time)), append(in.Event, event)
	}
	return in
}

func datasets(t testing.TB) []dataset {
	t.Helper()
	b, err := os.ReadFile("testdata/reference-open.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Datasets []json.RawMessage }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	var sets []dataset
	for _, raw := range file.Datasets {
		var d dataset
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &d.Want); err != nil {
			t.Fatal(err)
		}
		if d.Generator.Name == "minstd-v1" {
			d.Input = d.Generator.make()
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(d.Input.csv())); got != d.SHA256 {
			t.Fatalf("%s: SHA-256 of the input = %s, want %s", d.ID, got, d.SHA256)
		}
		sets = append(sets, d)
	}
	if len(sets) != 25 {
		t.Fatalf("%d data sets, want 25", len(sets))
	}
	return sets
}

// csv is the input as its SHA-256 is computed.
func (in *input) csv() []byte {
	var b strings.Builder
	header := "time,event"
	switch {
	case in.Entry != nil:
		header = "entry,time,event"
	case in.Cluster != nil:
		header = "time,event,cluster"
	case in.Cause != nil:
		header = "time,cause"
	}
	b.WriteString(header + "\n")
	for i, t := range in.Time {
		var row []string
		number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
		if in.Entry != nil {
			row = append(row, number(in.Entry[i]))
		}
		row = append(row, number(t))
		if in.Cause != nil {
			row = append(row, fmt.Sprint(in.Cause[i]))
		} else {
			row = append(row, fmt.Sprint(in.Event[i]))
		}
		if in.Cluster != nil {
			row = append(row, fmt.Sprint(in.Cluster[i]))
		}
		b.WriteString(strings.Join(row, ",") + "\n")
	}
	return []byte(b.String())
}

func (in *input) intervals() []Interval {
	ivs := make([]Interval, len(in.Time))
	for i := range ivs {
		iv := &ivs[i]
		iv.Time = in.Time[i]
		if in.Entry != nil {
			iv.Entry = in.Entry[i]
		}
		if in.Cause != nil {
			iv.Cause = in.Cause[i]
		} else {
			iv.Cause = in.Event[i]
		}
		if in.Cluster != nil {
			iv.Cluster, iv.Server = in.Cluster[i], in.Cluster[i]
		}
	}
	return ivs
}

// options asks for all that a set has numbers of.
func (d *dataset) options() Options {
	o := Options{Delayed: d.Input.Entry != nil, Cluster: d.Input.Cluster != nil, Causes: d.Input.Cause != nil}
	list := func(member, name string) (xs []float64) {
		rows, _ := d.Want[member].([]any)
		for _, r := range rows {
			xs = append(xs, r.(map[string]any)[name].(float64))
		}
		return xs
	}
	o.RMST, o.At = list("rmst", "tau"), list("surv_at", "t")
	return o
}

// plainly returns a value as JSON means it.
func plainly(t testing.TB, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// checker counts the numbers and nulls that it compares.
type checker struct {
	t testing.TB
	n int
}

// equal compares all that want has with got: numbers to 1e-12, absolute or
// relative, counts and everything else exactly.
func (c *checker) equal(path string, got, want any) {
	c.t.Helper()
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			c.t.Errorf("%s = %v, want an object", path, got)
			return
		}
		for _, k := range slices.Sorted(maps.Keys(w)) {
			if k == "r_quantile_survfit_ci_where_different" {
				continue // R's other rule, for information
			}
			if _, ok := g[k]; !ok {
				c.t.Errorf("%s has no %s", path, k)
				continue
			}
			c.equal(path+"/"+k, g[k], w[k])
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			c.t.Errorf("%s has %d elements, want %d", path, len(g), len(w))
			return
		}
		for i := range w {
			c.equal(fmt.Sprintf("%s/%d", path, i), g[i], w[i])
		}
	case float64:
		c.n++
		g, ok := got.(float64)
		whole := strings.Contains(path, "/n_")
		if !ok || g != w && (whole || !(math.Abs(g-w) <= 1e-12*max(1, math.Abs(w)))) {
			c.t.Errorf("%s = %v, want %v", path, got, w)
		}
	default:
		c.n++
		if got != want {
			c.t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
}

// unknown is what R carries on beyond the last time, and we don't.
func unknown(at any) {
	a := at.(map[string]any)
	if a["beyond_last"] == true && a["surv"] != 0.0 {
		a["surv"], a["se_surv"] = nil, nil
		for _, kind := range []string{"plain", "log", "log-log"} {
			a["ci"].(map[string]any)[kind] = []any{nil, nil}
		}
	}
}

// All sets of the reference: table, half-life, quantiles, crossing, restricted
// means, S at times, three types of limits; robust and server-weighted for the
// recurrent one, incidences for the competing one.
func TestReference(t *testing.T) {
	compared := map[string]int{}
	for _, d := range datasets(t) {
		t.Run(d.ID, func(t *testing.T) {
			e, err := Fit(d.Input.intervals(), d.options())
			if err != nil {
				t.Fatalf("Fit(%s) fails: %v", d.ID, err)
			}
			got := plainly(t, e).(map[string]any)
			c := &checker{t: t}
			for _, where := range []any{d.Want["surv_at"], mapped(d.Want["cluster_robust"])["surv_at"]} {
				ats, _ := where.([]any)
				for _, at := range ats {
					unknown(at)
				}
			}
			for _, member := range []string{"n", "n_events", "n_distinct", "table", "half_life", "quantiles", "crossing", "rmst", "surv_at", "cluster_robust", "wang_chang", "aalen_johansen"} {
				if want, ok := d.Want[member]; ok {
					before := c.n
					c.equal(member, got[member], want)
					compared[member] += c.n - before
				}
			}
			for k, want := range mapped(d.Want["km_retired_censored"]) {
				before := c.n
				c.equal(k, got[k], want)
				compared["km_retired_censored"] += c.n - before
			}
			if first := mapped(d.Want["first_interval_only"]); first != nil {
				e, err := Fit(firsts(d.Input.intervals()), Options{})
				if err != nil {
					t.Fatal(err)
				}
				before := c.n
				c.equal("first_interval_only", plainly(t, e), first)
				compared["first_interval_only"] += c.n - before
			}
		})
	}
	t.Logf("numbers and nulls compared: %v", compared)
	for _, member := range []string{"n", "n_events", "n_distinct", "table", "half_life", "quantiles", "crossing", "rmst", "surv_at", "cluster_robust", "wang_chang", "aalen_johansen", "km_retired_censored", "first_interval_only"} {
		if compared[member] == 0 {
			t.Errorf("no number of %s was compared", member)
		}
	}
}

func mapped(v any) map[string]any { m, _ := v.(map[string]any); return m }

// firsts returns the first interval of each server.
func firsts(ivs []Interval) (out []Interval) {
	seen := map[int32]bool{}
	for _, iv := range ivs {
		if !seen[iv.Server] {
			seen[iv.Server] = true
			out = append(out, iv)
		}
	}
	return out
}
