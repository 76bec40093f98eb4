package sweep

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/probe"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// headOf is the identity that a sayer answers with for an endpoint.
func headOf(s string) canon.Digest { return canon.Sum([]byte(s)) }

// A sayer is a fakeProber whose answers have an identity: in the nth reading of
// an endpoint under a methodology that of the nth word, the last one for ever.
type sayer struct {
	*fakeProber
	words map[string][]string // by endpoint; "-" fails
	times map[start]int
}

func newSayer(t *testing.T, words map[string][]string) *sayer {
	return &sayer{newProber(t), words, map[start]int{}}
}

func (p *sayer) Attempt(ctx context.Context, endpoint string, m record.Methodology) (probe.Attempt, error) {
	a, err := p.fakeProber.Attempt(ctx, endpoint, m)
	p.mu.Lock()
	defer p.mu.Unlock()
	k := start{endpoint: endpoint, methodology: m.Version}
	words := p.words[endpoint]
	word := words[min(p.times[k], len(words)-1)]
	p.times[k]++
	if word == "-" {
		a.Result.Class = record.Timeout
		return a, err
	}
	a.Result.Identity = headOf(word)
	return a, err
}

// withHeads returns a plan under both methodologies in which each target has a
// head; "" is none.
func withHeads(pace time.Duration, heads []string, endpoints ...string) *Plan {
	p := newPlan(pace, endpoints...)
	p.Header.Methodologies = []string{"v1", "v2"}
	for i, h := range heads {
		if h != "" {
			p.Targets[i].Heads = map[string]record.PlanHead{"v1": {Identity: headOf(h)}, "v2": {Identity: headOf(h)}}
		}
	}
	return p
}

// secondsOf returns for each result its name's last letter, the methodology and
// the identity of the second reading.
func secondsOf(results []record.Result) []string {
	words := map[canon.Digest]string{headOf("a"): "a", headOf("b"): "b", headOf("c"): "c", "": "failed"}
	var out []string
	for _, r := range results {
		s := r.Name[len(r.Name)-1:] + " " + r.Method + " " + words[r.Identity]
		if r.Second != nil {
			s += ", again " + words[r.Second.Identity]
			if r.Second.Name != r.Name || r.Second.Second != nil || r.Second.Method != r.Method {
				s += " of something else"
			}
		}
		out = append(out, s)
	}
	return out
}

// A second reading is made where a head differs, under a methodology that has
// one, and stands in the results of the names whose head differs.
func TestSecondReadingIsDue(t *testing.T) {
	const e = "https://one.example/mcp"
	for _, tt := range []struct {
		name    string
		heads   []string
		says    []string
		want    []string
		seconds int
	}{
		{"same as the head", []string{"a"}, []string{"a"}, []string{"0 v1 a", "0 v2 a"}, 0},
		{"no head", []string{""}, []string{"a", "b"}, []string{"0 v1 a", "0 v2 a"}, 0},
		{"another", []string{"a"}, []string{"b", "c"}, []string{"0 v1 b", "0 v2 b, again c"}, 1},
		{"the second fails", []string{"a"}, []string{"b", "-"}, []string{"0 v1 b", "0 v2 b, again failed"}, 1},
		{"the first fails", []string{"a"}, []string{"-", "b"}, []string{"0 v1 failed", "0 v2 failed"}, 0},
		{"names that share it", []string{"a", "b", ""}, []string{"b", "a"}, []string{"0 v1 b", "1 v1 b", "2 v1 b", "0 v2 b, again a", "1 v2 b", "2 v2 b"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newSayer(t, map[string][]string{e: tt.says})
				var results []record.Result
				plan := withHeads(time.Second, tt.heads, slices.Repeat([]string{e}, len(tt.heads))...)
				stats, err := Run(t.Context(), plan, Config{Prober: p}, collect(&results))
				if err != nil {
					t.Fatal(err)
				}
				if got := secondsOf(results); !slices.Equal(got, tt.want) {
					t.Errorf("results = %q, want %q", got, tt.want)
				}
				want := Stats{Hosts: 1, Probes: 2, Results: len(tt.want), Requests: 3 * (2 + tt.seconds), Seconds: tt.seconds}
				if stats != want {
					t.Errorf("stats = %+v, want %+v", stats, want)
				}
			})
		})
	}
}

// A second reading is the next probe of its host, before the others that wait
// there, at the host's pace and after the rest that it asked for.
func TestSecondReadingIsPolite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, b = "https://one.example/a", "https://one.example/b"
		p := newSayer(t, map[string][]string{a: {"b"}, b: {"b"}})
		rests := 0
		p.retryAfter = func(string) time.Duration {
			if rests++; rests == 2 { // the first reading under v2
				return 10 * time.Second
			}
			return 0
		}
		plan := withHeads(time.Second, []string{"a", "a"}, a, b)
		var results []record.Result
		if _, err := Run(t.Context(), plan, Config{Prober: p, Workers: 1}, collect(&results)); err != nil {
			t.Fatal(err)
		}
		first := p.starts[0].endpoint
		other := strings.Replace(a+b, first, "", 1)
		want := []start{
			{first, "v1", 0}, {first, "v2", 1 * time.Second}, {first, "v2", 11 * time.Second},
			{other, "v1", 12 * time.Second}, {other, "v2", 13 * time.Second}, {other, "v2", 14 * time.Second},
		}
		if !slices.Equal(p.starts, want) {
			t.Errorf("starts = %v, want %v", p.starts, want)
		}
	})
}

// While the host of a second reading rests, its worker reads elsewhere; a host
// whose second reading is due goes before the others that are ready.
func TestSecondReadingHoldsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const held, idle = "https://held.example/a", "https://idle.example/"
		words := map[string][]string{held: {"b"}}
		endpoints := []string{held}
		for _, u := range urlsAt("https://idle.example", 4) {
			words[u] = []string{"a"}
			endpoints = append(endpoints, u)
		}
		p := newSayer(t, words)
		p.took = func(string) time.Duration { return 300 * time.Millisecond }
		plan := withHeads(time.Second, []string{"a"}, endpoints...)
		plan.Header.Methodologies = []string{"v2"}
		if _, err := Run(t.Context(), plan, Config{Prober: p, Workers: 1}, func(record.Result) error { return nil }); err != nil {
			t.Fatal(err)
		}
		at := p.at("held.example:443")
		if len(at) != 2 || at[1]-at[0] < 1 || at[1]-at[0] > 1.7 {
			t.Errorf("the held host was read at %v, want again after a second", at)
		}
		if got := p.at("idle.example:443"); len(got) != 4 || got[3] > 4.5 {
			t.Errorf("the idle host was read at %v, want once a second meanwhile", got)
		}
	})
}

// Of second readings that the budget left the first ones are yielded without
// them.
func TestBudgetLeavesSecondReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, b = "https://one.example/a", "https://two.example/b"
		p := newSayer(t, map[string][]string{a: {"b"}, b: {"b"}})
		p.took = func(string) time.Duration { return 4 * time.Second }
		plan := withHeads(6*time.Second, []string{"a", "a"}, a, b)
		plan.Header.Methodologies = []string{"v2"}
		var results []record.Result
		stats, err := Run(t.Context(), plan, Config{Prober: p, Budget: 5 * time.Second}, collect(&results))
		if err != nil {
			t.Fatal(err)
		}
		got := secondsOf(results)
		slices.Sort(got)
		if want := []string{"0 v2 b", "1 v2 b"}; !slices.Equal(got, want) {
			t.Errorf("results = %q, want %q", got, want)
		}
		if want := (Stats{Hosts: 2, Probes: 2, Results: 2, Requests: 6, SecondsMissed: 2}); stats != want {
			t.Errorf("stats = %+v, want %+v", stats, want)
		}
	})
}

// What waits for second readings is bounded: a reading beyond it gets none.
func TestHeldBodiesAreBounded(t *testing.T) {
	s := &schedule{yield: func(record.Result) error { return nil }}
	big := &record.Result{Pages: [][]byte{make([]byte, maxHeld/2+1)}}
	u := unit{names: []string{"x"}, heads: []canon.Digest{""}}
	for range 2 {
		if err := s.hold(&host{}, u, big); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.waiting) != 1 || s.stats.SecondsMissed != 1 || s.stats.Results != 1 {
		t.Errorf("%d wait, stats = %+v, want one to wait and one yielded", len(s.waiting), s.stats)
	}
}

// A shard file keeps second readings, and refuses those that can't be.
func TestShardKeepsSecondReadings(t *testing.T) {
	first := record.Result{Name: "n", Method: "v2", Pages: [][]byte{[]byte("1")}, Identity: headOf("a")}
	again := record.Result{Name: "n", Method: "v2", Class: record.Timeout}
	with := func(do func(r, s *record.Result)) record.Result {
		r, s := first, again
		r.Second = &s
		do(&r, &s)
		return r
	}
	for _, tt := range []struct {
		name string
		r    record.Result
		want string
	}{
		{"kept", with(func(r, s *record.Result) {}), ""},
		{"of another name", with(func(r, s *record.Result) { s.Name = "m" }), "the second reading of n under v2 is of m"},
		{"of another methodology", with(func(r, s *record.Result) { s.Method = "v1" }), "is of n under v1"},
		{"a third", with(func(r, s *record.Result) { s.Second = &first }), "a third reading"},
		{"of a failure", with(func(r, s *record.Result) { r.Class = record.TLS }), "although the first one failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			w := WriteShard(&b, record.ShardHeader{Plan: headOf("plan"), Run: "2026-11-30", Shard: 1, Of: 1})
			if err := w.Write(tt.r); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			var got []record.Result
			_, complete, err := ReadShard(bytes.NewReader(b.Bytes()), collect(&got))
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("ReadShard = %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil || !complete || len(got) != 1 || !cmp.Equal(got[0], tt.r) {
				t.Errorf("ReadShard = %+v, %v, %v, want what was written", got, complete, err)
			}
		})
	}
}
