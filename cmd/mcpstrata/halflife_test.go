package main

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

// A reference is one data set of km/reference-open.json.
type reference struct {
	ID        string
	SHA256    string `json:"input_csv_sha256"`
	Input     map[string][]float64
	Generator struct {
		Seed, Draws int
		CensorMod   int `json:"censor_mod"`
		NeverPct    int `json:"never_pct"`
		Div         int
	}
}

// csv returns the file of a set, or fails where it has not the digest that the
// reference names.
func (r *reference) csv(t *testing.T) string {
	var b strings.Builder
	columns := []string{"time", "event"}
	switch {
	case r.Input["entry"] != nil:
		columns = []string{"entry", "time", "event"}
	case r.Input["cluster"] != nil:
		columns = append(columns, "cluster")
	case r.Input["cause"] != nil:
		columns = []string{"time", "cause"}
	}
	b.WriteString(strings.Join(columns, ",") + "\n")
	for i := range r.Input["time"] {
		row := make([]string, len(columns))
		for j, c := range columns {
			row[j] = strconv.FormatFloat(r.Input[c][i], 'f', -1, 64)
		}
		b.WriteString(strings.Join(row, ",") + "\n")
	}
	g, s := &r.Generator, r.Generator.Seed // the recipe minstd-v1
	next := func() int { s = 48271 * s % 2147483647; return s }
	for range g.Draws {
		x, y, c, d := next()%10000, next()%10000, next()%g.CensorMod, next()%100
		life, event := 100000, 0
		if d >= g.NeverPct {
			life = 1 + x*y/g.Div
		}
		if life <= 1+c {
			event = 1
		}
		fmt.Fprintf(&b, "%d,%d\n", min(life, 1+c), event)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(b.String()))); got != r.SHA256 {
		t.Fatalf("%s: SHA-256 of the input = %s, want %s", r.ID, got, r.SHA256)
	}
	return b.String()
}

// near compares what want has with got: numbers to 1e-12, all else exactly. It
// counts what it compared.
func near(t *testing.T, path string, got, want any) (n int) {
	t.Helper()
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for k := range w {
			if k == "r_quantile_survfit_ci_where_different" { // of another function of R
				continue
			}
			n += near(t, path+"/"+k, g[k], w[k])
		}
		return n
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			t.Errorf("%s has %d elements, want %d", path, len(g), len(w))
			return n
		}
		for i := range w {
			n += near(t, fmt.Sprintf("%s/%d", path, i), g[i], w[i])
		}
		return n
	case float64:
		g, ok := got.(float64)
		if !ok || math.Abs(g-w) > 1e-12*max(1, math.Abs(w)) {
			t.Errorf("%s = %v, want %v", path, got, w)
		}
	default:
		if got != want {
			t.Errorf("%s = %v, want %v", path, got, want)
		}
	}
	return 1
}

// The command gives the numbers of R for every data set: the table, the
// half-life, the quantiles, the restricted means, S at times and, where there are
// clusters or causes, what those ask for. Shuffled rows give the same bytes.
func TestHalfLifeOfReference(t *testing.T) {
	b, err := os.ReadFile("../../internal/survival/testdata/reference-open.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Datasets []json.RawMessage }
	if err := json.Unmarshal(b, &file); err != nil || len(file.Datasets) != 25 {
		t.Fatalf("%d data sets, %v, want 25", len(file.Datasets), err)
	}
	for _, raw := range file.Datasets {
		var r reference
		var want map[string]any
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		t.Run(r.ID, func(t *testing.T) {
			text := r.csv(t)
			flags := []string{"-rmst", list(want["rmst"], "tau"), "-at", list(want["surv_at"], "t")}
			out := halfLifeJSON(t, text, flags...)
			var got map[string]any
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			n := 0
			carriedOn(want["surv_at"])
			for _, member := range []string{"n", "n_events", "table", "half_life", "quantiles", "crossing", "rmst", "surv_at", "wang_chang", "aalen_johansen"} {
				if w, ok := want[member]; ok {
					n += near(t, member, got[member], w)
				}
			}
			if robust, ok := want["cluster_robust"].(map[string]any); ok {
				g, _ := got["cluster_robust"].(map[string]any)
				carriedOn(robust["surv_at"])
				for member := range robust {
					n += near(t, "cluster_robust/"+member, g[member], robust[member])
				}
				// R has no restricted means of it: they are those of the curve, which
				// is the same, and only their standard errors are not.
				n += near(t, "cluster_robust/rmst", g["rmst"], without(want["rmst"], "se"))
			}
			if n == 0 || want["surv_at"] != nil && n < 75 {
				t.Errorf("%d numbers were compared", n)
			}
			if again := halfLifeJSON(t, shuffled(text), flags...); string(again) != string(out) {
				t.Errorf("shuffled rows print %s, want %s", again, out)
			}
		})
	}
}

// carriedOn makes unknown what R carries on beyond the last time, and we don't.
func carriedOn(at any) {
	all, _ := at.([]any)
	for _, a := range all {
		a := a.(map[string]any)
		if a["beyond_last"] == true && a["surv"] != 0.0 {
			a["surv"], a["se_surv"] = nil, nil
			for kind := range a["ci"].(map[string]any) {
				a["ci"].(map[string]any)[kind] = []any{nil, nil}
			}
		}
	}
}

// without returns a list of objects without one of their members.
func without(objects any, member string) any {
	var out []any
	for _, o := range objects.([]any) {
		o := maps.Clone(o.(map[string]any))
		delete(o, member)
		out = append(out, o)
	}
	return out
}

// A name that is not UTF-8 is none: two of them could look alike.
func TestHalfLifeClusterNotUTF8(t *testing.T) {
	var out, errs writer
	got := main1(t.Context(), []string{"halflife", "-csv", "-"}, strings.NewReader("time,event,cluster\n1,1,a\n2,1,\xff\n"), &out, &errs, nil)
	if want := `line 3, column cluster: "\xff" is not UTF-8`; got != exitFailed || !strings.Contains(string(errs), want) {
		t.Errorf("halflife: status %d, %s, want %d, %s", got, errs, exitFailed, want)
	}
}

// Flags of a data folder beside -csv are a wrong call, whatever their value.
func TestHalfLifeCalledWrongly(t *testing.T) {
	for _, args := range [][]string{{"-csv", "-", "-data", "data"}, {"-methodology", "v1", "-csv", "x.csv"}, {"-csv", "-", "-at", "-0"}, {"-csv", "-", "-rmst", "-1e-400"}} {
		var out, errs writer
		if got := main1(t.Context(), append([]string{"halflife"}, args...), strings.NewReader("time,event\n"), &out, &errs, nil); got != exitUsage || len(out) > 0 {
			t.Errorf("halflife %v: status %d, %s%s, want %d", args, got, out, errs, exitUsage)
		}
	}
}

// list returns a member of each object of a list, as a flag wants them.
func list(objects any, member string) string {
	var out []string
	all, _ := objects.([]any)
	for _, o := range all {
		out = append(out, fmt.Sprint(o.(map[string]any)[member]))
	}
	return strings.Join(out, ",")
}

func halfLifeJSON(t *testing.T, text string, flags ...string) []byte {
	t.Helper()
	var out, errs writer
	if got := main1(t.Context(), append([]string{"halflife", "-csv", "-", "-json"}, flags...), strings.NewReader(text), &out, &errs, nil); got != exitOK || len(errs) > 0 {
		t.Fatalf("halflife: status %d, %s", got, errs)
	}
	return out
}

// shuffled returns a CSV file with its rows in another order, those of a cluster
// in the same: the clusters last to first, or the rows last to first.
func shuffled(text string) string {
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	header, rows := rows[0], rows[1:]
	if strings.HasSuffix(header, ",cluster") {
		cluster := func(row string) string { return row[strings.LastIndex(row, ",")+1:] }
		slices.SortStableFunc(rows, func(a, b string) int { return strings.Compare(cluster(b), cluster(a)) })
	} else {
		slices.Reverse(rows)
	}
	return header + "\n" + strings.Join(append(rows, ""), "\n")
}
