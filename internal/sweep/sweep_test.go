package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/probe"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/target"
)

// A start is one probe that a fakeProber was asked for.
type start struct {
	endpoint    string
	methodology string
	at          time.Duration // since the prober was made
}

// A fakeProber answers after a time, in a synctest bubble, and watches the
// rules of politeness.
type fakeProber struct {
	t          *testing.T
	took       func(endpoint string) time.Duration // nil: no time
	retryAfter func(endpoint string) time.Duration // nil: none
	fail       func(endpoint string) error         // nil: never

	mu       sync.Mutex
	born     time.Time
	starts   []start
	timeouts []time.Duration
	inFlight map[string]int // by host
	most     int            // greatest number in flight over all hosts
}

func newProber(t *testing.T) *fakeProber {
	return &fakeProber{t: t, born: time.Now(), inFlight: map[string]int{}}
}

func (p *fakeProber) Attempt(ctx context.Context, endpoint string, m record.Methodology) (probe.Attempt, error) {
	p.begin(endpoint, m)
	defer p.end(endpoint)
	if p.took != nil {
		if err := (RealClock{}).Sleep(ctx, p.took(endpoint)); err != nil {
			return probe.Attempt{}, err
		}
	}
	if p.fail != nil {
		if err := p.fail(endpoint); err != nil {
			return probe.Attempt{}, err
		}
	}
	a := probe.Attempt{Result: record.Result{Method: m.Version, Requests: 3, Pages: [][]byte{[]byte(endpoint)}}}
	if p.retryAfter != nil {
		a.RetryAfter = p.retryAfter(endpoint)
	}
	return a, nil
}

func (p *fakeProber) begin(endpoint string, m record.Methodology) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starts = append(p.starts, start{endpoint, m.Version, time.Since(p.born)})
	p.timeouts = append(p.timeouts, m.RequestTimeout)
	h := target.Host(endpoint)
	p.inFlight[h]++
	if p.inFlight[h] > 1 {
		p.t.Errorf("%d probes in flight at %s, want 1", p.inFlight[h], h)
	}
	all := 0
	for _, n := range p.inFlight {
		all += n
	}
	p.most = max(p.most, all)
}

func (p *fakeProber) end(endpoint string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight[target.Host(endpoint)]--
}

// at returns the starts at one host, as seconds.
func (p *fakeProber) at(host string) []float64 {
	var out []float64
	for _, s := range p.starts {
		if target.Host(s.endpoint) == host {
			out = append(out, s.at.Seconds())
		}
	}
	return out
}

// newPlan returns a plan under v1 in which the target n<i> declares endpoints[i].
func newPlan(pace time.Duration, endpoints ...string) *Plan {
	p := &Plan{Header: record.PlanHeader{
		Day: "2026-11-30", Methodologies: []string{"v1"}, PaceMS: pace.Milliseconds(), Run: "2026-11-30", Seed: 1,
	}}
	for i, e := range endpoints {
		p.Targets = append(p.Targets, record.PlanTarget{Name: fmt.Sprintf("com.example/n%d", i), Endpoint: e})
	}
	return p
}

// collect returns a yield that appends to results.
func collect(results *[]record.Result) func(record.Result) error {
	return func(r record.Result) error {
		*results = append(*results, r)
		return nil
	}
}

// run runs plan with p and fails the test on an error.
func run(t *testing.T, p *fakeProber, plan *Plan, cfg Config) ([]record.Result, Stats) {
	t.Helper()
	var results []record.Result
	cfg.Prober = p
	stats, err := Run(t.Context(), plan, cfg, collect(&results))
	if err != nil {
		t.Fatalf("Run = %v, want no error", err)
	}
	return results, stats
}

// urlsAt returns n URLs at one origin.
func urlsAt(origin string, n int) []string {
	var urls []string
	for i := range n {
		urls = append(urls, fmt.Sprintf("%s/%d", origin, i))
	}
	return urls
}

func TestPaceIsBetweenStarts(t *testing.T) {
	tests := []struct {
		name string
		pace time.Duration
		took time.Duration
		want []float64 // starts of four probes at one host, seconds
	}{
		{"quick answers", time.Second, 10 * time.Millisecond, []float64{0, 1, 2, 3}},
		{"no time at all", time.Second, 0, []float64{0, 1, 2, 3}},
		{"answers as slow as the pace", time.Second, time.Second, []float64{0, 1, 2, 3}},
		{"answers slower than the pace", time.Second, 2500 * time.Millisecond, []float64{0, 2.5, 5, 7.5}},
		{"a pace that is no binary fraction", 700 * time.Millisecond, 0, []float64{0, 0.7, 1.4, 2.1}},
		{"no pace", 0, 100 * time.Millisecond, []float64{0, 0.1, 0.2, 0.3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProber(t)
				p.took = func(string) time.Duration { return tt.took }
				run(t, p, newPlan(tt.pace, urlsAt("https://a.example", 4)...), Config{})
				if diff := cmp.Diff(tt.want, p.at("a.example:443")); diff != "" {
					t.Errorf("starts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A start that came late, because no worker was free, counts from when it was
// made: the next one must not follow on its heels.
func TestPaceCountsFromLateStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProber(t)
		p.took = func(e string) time.Duration {
			if strings.Contains(e, "slow") {
				return 5500 * time.Millisecond
			}
			return 0
		}
		// a has more to do, so it goes first; then slow has the only worker
		// until 5.5 s, when a's second probe is long due.
		urls := append(urlsAt("https://a.example", 3), "https://slow.example/")
		run(t, p, newPlan(time.Second, urls...), Config{Workers: 1})
		if diff := cmp.Diff([]float64{0, 5.5, 6.5}, p.at("a.example:443")); diff != "" {
			t.Errorf("starts (-want +got):\n%s", diff)
		}
	})
}

func TestHostIsTheUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProber(t)
		// One host in four spellings, another port, another host.
		run(t, p, newPlan(time.Second, "https://a.example/1", "https://A.Example/2", "https://a.example:443/3",
			"https://a.example/1?x", "https://a.example:8443/", "https://b.example/"), Config{})
		want := map[string][]float64{
			"a.example:443": {0, 1, 2, 3}, "a.example:8443": {0}, "b.example:443": {0},
		}
		for host, w := range want {
			if diff := cmp.Diff(w, p.at(host)); diff != "" {
				t.Errorf("starts at %s (-want +got):\n%s", host, diff)
			}
		}
	})
}

func TestWorkers(t *testing.T) {
	var urls []string
	for i := range 200 {
		urls = append(urls, fmt.Sprintf("https://h%d.example/", i))
	}
	for _, tt := range []struct{ workers, want int }{{1, 1}, {7, 7}, {0, DefaultWorkers}, {500, 200}} {
		synctest.Test(t, func(t *testing.T) {
			p := newProber(t)
			p.took = func(string) time.Duration { return time.Second }
			_, stats := run(t, p, newPlan(time.Second, urls...), Config{Workers: tt.workers})
			if p.most != tt.want {
				t.Errorf("with %d workers at most %d were in flight, want %d", tt.workers, p.most, tt.want)
			}
			if want := (Stats{Hosts: 200, Probes: 200, Results: 200, Requests: 600}); stats != want {
				t.Errorf("Run = %+v, want %+v", stats, want)
			}
		})
	}
}

// The host with the longest queue bounds a sweep: it takes a turn whenever it is
// ready, and does not hold a worker while it rests.
func TestLongQueuesDoNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		urls := urlsAt("https://long.example", 20)
		for i := range 60 {
			urls = append(urls, fmt.Sprintf("https://h%d.example/", i))
		}
		p := newProber(t)
		p.took = func(string) time.Duration { return 400 * time.Millisecond }
		run(t, p, newPlan(time.Second, urls...), Config{Workers: 2})
		// A turn of the long host is its pace and at most one answer of another
		// host for which it has to wait. Behind all others, in order of arrival,
		// it would have its second turn after 12 s and be done after 31.
		if got, most := time.Since(p.born), 28*time.Second; got > most {
			t.Errorf("the sweep took %v, want at most %v", got, most)
		}
		if got := p.at("long.example:443"); got[1] > 1.4 {
			t.Errorf("the long host's second start was at %v s, want its first chance after the pace", got[1])
		}
	})
}

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		name  string
		after time.Duration
		want  []float64
	}{
		{"none", 0, []float64{0, 1, 2}},
		{"negative", -time.Hour, []float64{0, 1, 2}},
		{"within the pace", 500 * time.Millisecond, []float64{0, 1, 2}},
		{"beyond the pace", 5 * time.Second, []float64{0, 5, 10}},
		{"capped", time.Hour, []float64{0, 60, 120}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProber(t)
				p.retryAfter = func(e string) time.Duration {
					if strings.Contains(e, "busy") {
						return tt.after
					}
					return 0
				}
				run(t, p, newPlan(time.Second, append(urlsAt("https://busy.example", 3), urlsAt("https://idle.example", 3)...)...), Config{})
				if diff := cmp.Diff(tt.want, p.at("busy.example:443")); diff != "" {
					t.Errorf("starts (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]float64{0, 1, 2}, p.at("idle.example:443")); diff != "" {
					t.Errorf("starts at the other host (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestFanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := newPlan(time.Second, "https://s.example/", "https://o.example/", "https://s.example/", "https://s.example/")
		p := newProber(t)
		results, stats := run(t, p, plan, Config{Workers: 1})
		if len(p.starts) != 2 {
			t.Errorf("%d probes, want 2: %v", len(p.starts), p.starts)
		}
		if want := (Stats{Hosts: 2, Probes: 2, Results: 4, Requests: 6}); stats != want {
			t.Errorf("Run = %+v, want %+v", stats, want)
		}
		var shared []string
		for _, r := range results {
			if string(r.Pages[0]) == "https://s.example/" {
				shared = append(shared, r.Name)
			}
			want := record.Result{Method: "v1", Name: r.Name, Pages: r.Pages, Requests: 3}
			if diff := cmp.Diff(want, r); diff != "" {
				t.Errorf("result of %s (-want +got):\n%s", r.Name, diff)
			}
		}
		if want := []string{"com.example/n0", "com.example/n2", "com.example/n3"}; !slices.Equal(shared, want) {
			t.Errorf("results of the shared endpoint are of %q, want %q", shared, want)
		}
	})
}

// Only what an earlier run of the day left is probed.
func TestWhatIsNotProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := newPlan(0, "https://a.example/", "https://b.example/", "https://c.example/", "https://c.example/", "", "https://d.example/")
		plan.Targets[0].Missed = true
		plan.Targets[1].Reason = record.DetailOptOut
		plan.Targets[2].Skip = []string{"v1"} // n3 has the same endpoint and was not read
		plan.Targets[4].Reason = record.DetailNoRemote
		plan.Targets[5].Skip = []string{"v0", "v1"}
		results, stats := run(t, newProber(t), plan, Config{})
		if len(results) != 1 || results[0].Name != "com.example/n3" {
			t.Errorf("results = %v, want one, of com.example/n3", results)
		}
		if want := (Stats{Hosts: 1, Probes: 1, Results: 1, Requests: 3}); stats != want {
			t.Errorf("Run = %+v, want %+v", stats, want)
		}
	})
}

// order returns the endpoints in the order in which one worker probes them.
func order(t *testing.T, seed int64, urls []string) (got []string) {
	synctest.Test(t, func(t *testing.T) {
		plan := newPlan(0, urls...)
		plan.Header.Seed = seed
		p := newProber(t)
		run(t, p, plan, Config{Workers: 1})
		for _, s := range p.starts {
			got = append(got, s.endpoint)
		}
	})
	return got
}

func TestOrderIsSeeded(t *testing.T) {
	var urls []string
	for i := range 50 {
		urls = append(urls, fmt.Sprintf("https://h%02d.example/", i))
	}
	once := order(t, 7, urls)
	if twice := order(t, 7, urls); !slices.Equal(once, twice) {
		t.Errorf("two sweeps with one seed took orders\n%v\n%v", once, twice)
	}
	if other := order(t, 8, urls); slices.Equal(once, other) {
		t.Errorf("two seeds gave the same order %v", once)
	}
	if slices.Equal(once, urls) {
		t.Error("the order is that of the plan")
	}
	slices.Sort(once)
	if !slices.Equal(once, urls) {
		t.Errorf("the probed endpoints are %v, want each once", once)
	}
	// The order of a recorded seed is part of the record: it must not change
	// between versions.
	five := order(t, 42, urls[:5])
	want := []string{
		"https://h02.example/", "https://h01.example/", "https://h03.example/", "https://h00.example/", "https://h04.example/",
	}
	if diff := cmp.Diff(want, five); diff != "" {
		t.Errorf("order of seed 42 (-want +got):\n%s", diff)
	}
}

func TestTimeoutOfThePlan(t *testing.T) {
	for _, tt := range []struct {
		ms   int64
		want time.Duration
	}{{0, 20 * time.Second}, {250, 250 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			plan := newPlan(0, "https://a.example/")
			plan.Header.TimeoutMS = tt.ms
			p := newProber(t)
			run(t, p, plan, Config{})
			if p.timeouts[0] != tt.want {
				t.Errorf("with timeout_ms %d a request may take %v, want %v", tt.ms, p.timeouts[0], tt.want)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got [][3]int
		p := newProber(t)
		run(t, p, newPlan(time.Second, urlsAt("https://a.example", 2)...), Config{Progress: func(done, total, inFlight int) {
			got = append(got, [3]int{done, total, inFlight})
		}})
		if diff := cmp.Diff([][3]int{{0, 2, 1}, {1, 2, 0}, {1, 2, 1}, {2, 2, 0}}, got); diff != "" {
			t.Errorf("progress (-want +got):\n%s", diff)
		}
	})
}

func TestShardsPartitionTheHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var urls []string
		for i := range 60 {
			urls = append(urls, fmt.Sprintf("https://h%d.example/", i/2)+fmt.Sprint(i%2))
		}
		plan := newPlan(0, urls...)
		hosts, names := map[string]int{}, map[string]int{}
		for shard := 1; shard <= 3; shard++ {
			p := newProber(t)
			results, _ := run(t, p, plan, Config{Shard: shard, Of: 3})
			if len(results) == 0 {
				t.Errorf("shard %d of 3 is empty", shard)
			}
			for _, s := range p.starts {
				h := target.Host(s.endpoint)
				if other, ok := hosts[h]; ok && other != shard {
					t.Errorf("%s is in shards %d and %d", h, other, shard)
				}
				hosts[h] = shard
			}
			for _, r := range results {
				names[r.Name]++
			}
		}
		if len(names) != len(urls) {
			t.Errorf("the shards have %d of %d targets", len(names), len(urls))
		}
	})
}

func TestRunRefuses(t *testing.T) {
	plan := newPlan(0, "https://a.example/")
	unknown := newPlan(0, "https://a.example/")
	unknown.Header.Methodologies = []string{"v99"}
	tests := []struct {
		name string
		plan *Plan
		cfg  Config
		want string
	}{
		{"no prober", plan, Config{}, "sweeping without a prober"},
		{"shard beyond", plan, Config{Prober: &fakeProber{}, Shard: 4, Of: 3}, "there is no shard 4 of 3"},
		{"shard zero", plan, Config{Prober: &fakeProber{}, Shard: 0, Of: 3}, "there is no shard 0 of 3"},
		{"shard of nothing", plan, Config{Prober: &fakeProber{}, Shard: 1}, "there is no shard 1 of 0"},
		{"unknown methodology", unknown, Config{Prober: &fakeProber{}}, `methodology "v99" is not one that this version reads with`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Run(t.Context(), tt.plan, tt.cfg, func(record.Result) error { return nil })
			if err == nil || err.Error() != tt.want {
				t.Errorf("Run = %v, want %s", err, tt.want)
			}
		})
	}
}

// Synctest fails a bubble in which a goroutine is left behind, so each of these
// is a leak check, too.
func TestFirstErrorEndsTheSweep(t *testing.T) {
	var (
		broken   = errors.New("the disk is full")
		shutdown = errors.New("shutting down")
	)
	urls := append(urlsAt("https://a.example", 5), urlsAt("https://b.example", 5)...)
	took := func(string) time.Duration { return 100 * time.Millisecond }
	tests := []struct {
		name    string
		prober  func(p *fakeProber)
		yield   error
		cancel  bool
		want    error
		text    string
		results int // at most, beyond the first
	}{
		{name: "yield", yield: broken, want: broken, text: "the disk is full"},
		{
			name:   "prober",
			prober: func(p *fakeProber) { p.fail = func(string) error { return broken } },
			want:   broken, text: "under v1: the disk is full",
		},
		{name: "cancelled in flight", cancel: true, want: shutdown, text: "shutting down"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				p := newProber(t)
				p.took = took
				if tt.prober != nil {
					tt.prober(p)
				}
				if tt.cancel {
					time.AfterFunc(50*time.Millisecond, func() { cancel(shutdown) })
				}
				yielded := 0
				_, err := Run(ctx, newPlan(time.Second, urls...), Config{Prober: p}, func(record.Result) error {
					yielded++
					return tt.yield
				})
				if !errors.Is(err, tt.want) || !strings.HasSuffix(err.Error(), tt.text) {
					t.Errorf("Run = %v, want …%s", err, tt.text)
				}
				if want := map[bool]int{true: 1}[tt.yield != nil]; yielded != want {
					t.Errorf("%d results were yielded, want %d", yielded, want)
				}
				if len(p.starts) > 2 {
					t.Errorf("%d probes were started, want the 2 of the first round", len(p.starts))
				}
			})
		})
	}
}

// While all hosts rest, a cancelled run does not wait for them.
func TestCancelWhileResting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		p := newProber(t)
		var results []record.Result
		stats, err := Run(ctx, newPlan(time.Second, urlsAt("https://a.example", 9)...), Config{Prober: p}, collect(&results))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run = %v, want the deadline", err)
		}
		if got := time.Since(p.born); got != 2500*time.Millisecond {
			t.Errorf("Run returned after %v, want at the deadline", got)
		}
		if len(results) != 3 || stats.Probes != 3 {
			t.Errorf("%d results, %+v, want the 3 that were got", len(results), stats)
		}
	})
}

func TestEmptyPlan(t *testing.T) {
	results, stats := run(t, newProber(t), newPlan(time.Second), Config{})
	if len(results) != 0 || stats != (Stats{}) {
		t.Errorf("Run of an empty plan = %v, %+v, want nothing", results, stats)
	}
}
