package sweep

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/mcp"
	"github.com/mcpstrata/mcpstrata/internal/probe"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/safehttp"
)

// A leapingClock stands still but for Sleep, which takes no time and moves it.
type leapingClock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *leapingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *leapingClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
	return context.Cause(ctx)
}

const (
	initAnswer = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`
	listAnswer = `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}`
)

// serveMCP answers the three requests of a probe.
func serveMCP(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case bytes.Contains(body, []byte(`"initialize"`)):
		io.WriteString(w, initAnswer)
	case bytes.Contains(body, []byte(`"tools/list"`)):
		io.WriteString(w, listAnswer)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// A countingServer is an MCP server that keeps the times of its handshakes and
// how many requests it ever had at once.
type countingServer struct {
	clock Clock

	mu         sync.Mutex
	handshakes []time.Time
	now, most  int
	requests   int
}

func (s *countingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests++
	s.now++
	s.most = max(s.most, s.now)
	if bytes.Contains(body, []byte(`"initialize"`)) {
		s.handshakes = append(s.handshakes, s.clock.Now())
	}
	s.mu.Unlock()
	serveMCP(w, body)
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
}

// Over real connections, by a clock that leaps: 5 URLs at each host, half as many
// again under a second name.
func TestPoliteOverLoopback(t *testing.T) {
	for _, hosts := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d hosts", hosts), func(t *testing.T) {
			before := runtime.NumGoroutine()
			clock := &leapingClock{t: time.Date(2026, 11, 30, 3, 15, 0, 0, time.UTC)}
			var servers []*countingServer
			var urls []string
			for range hosts {
				s := &countingServer{clock: clock}
				hs := httptest.NewServer(s)
				defer hs.Close()
				servers = append(servers, s)
				urls = append(urls, urlsAt(hs.URL, 5)...)
			}
			plan := newPlan(time.Second, append(urls, urls[:len(urls)/2]...)...)
			var results []record.Result
			stats, err := Run(t.Context(), plan, Config{Prober: newMCPProber(clock.Now), Clock: clock}, collect(&results))
			if err != nil {
				t.Fatal(err)
			}
			want := Stats{Hosts: hosts, Probes: len(urls), Results: len(plan.Targets), Requests: 3 * len(urls)}
			if diff := cmp.Diff(want, stats); diff != "" {
				t.Errorf("stats (-want +got):\n%s", diff)
			}
			for _, r := range results {
				if !r.Outcome().OK() || r.Tools != 1 || string(r.Pages[0]) != listAnswer {
					t.Errorf("result of %s = %v with %d tools, want a success with 1", r.Name, r.Outcome(), r.Tools)
				}
			}
			for i, s := range servers {
				if s.most != 1 || s.requests != 15 {
					t.Errorf("server %d had %d requests, %d at once, want 15, 1 at once", i, s.requests, s.most)
				}
				// With other hosts about, the clock leaps between the start of a
				// probe and its handshake, so gaps of handshakes say nothing.
				for j := 1; j < len(s.handshakes) && hosts == 1; j++ {
					if gap := s.handshakes[j].Sub(s.handshakes[j-1]); gap != time.Second {
						t.Errorf("handshakes were %v apart, want 1s", gap)
					}
				}
			}
			checkNoLeak(t, before)
		})
	}
}

func newMCPProber(now func() time.Time) *probe.Prober {
	return &probe.Prober{MCP: &mcp.Client{HTTP: safehttp.New(safehttp.Config{AllowPrivate: true}), Now: now}}
}

// checkNoLeak waits until no more goroutines run than before, but for those of
// idle connections (safehttp keeps them for a second, the servers until they are
// closed), and fails if one of this package does.
func checkNoLeak(t *testing.T, before int) {
	t.Helper()
	buf := make([]byte, 1<<20)
	stacks := buf[:runtime.Stack(buf, true)]
	for _, stack := range bytes.Split(stacks, []byte("\n\n"))[1:] { // the first is ours
		if bytes.Contains(stack, []byte("sweep.(*schedule)")) || bytes.Contains(stack, []byte("probe.(*Prober)")) {
			t.Errorf("a goroutine was left behind (%d before, %d now):\n%s", before, runtime.NumGoroutine(), stack)
		}
	}
}

// Cancelled in the middle of real requests, Run leaves none behind.
func TestCancelOverLoopback(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := fmt.Errorf("stopped by the test")
	asked := make(chan bool, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		asked <- true
		<-r.Context().Done()
	}))
	defer server.Close()
	go func() { <-asked; cancel(stop) }()
	_, err := Run(ctx, newPlan(0, server.URL), Config{Prober: newMCPProber(nil)}, func(r record.Result) error {
		t.Errorf("a result was invented: %v", r.Outcome())
		return nil
	})
	if err != stop {
		t.Errorf("Run = %v, want %v", err, stop)
	}
	checkNoLeak(t, before)
}

const benchTargets = 2000

// benchServer serves one MCP server per loopback address and returns their URLs.
func benchServer(b *testing.B) []string {
	b.Helper()
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		serveMCP(w, body)
	})}
	go s.Serve(l)
	b.Cleanup(func() { s.Close() })
	port := l.Addr().(*net.TCPAddr).Port
	if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.2:%d", port)); err != nil {
		b.Skip("this system has one loopback address only")
	} else {
		c.Close()
	}
	var urls []string
	for i := range benchTargets {
		urls = append(urls, fmt.Sprintf("http://127.0.%d.%d:%d/mcp", 1+i/250, 1+i%250, port))
	}
	return urls
}

// bareLoop sends the requests of a sweep with net/http and as many workers, and
// keeps the answers of nobody.
func bareLoop(b *testing.B, urls []string) {
	client := &http.Client{
		Transport: &http.Transport{IdleConnTimeout: time.Second, MaxIdleConns: 128, MaxIdleConnsPerHost: 2},
		Timeout:   record.V1.RequestTimeout,
	}
	defer client.CloseIdleConnections()
	bodies := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"mcpstrata","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`,
	}
	work := make(chan string)
	var wg sync.WaitGroup
	for range DefaultWorkers {
		wg.Go(func() {
			for url := range work {
				for _, body := range bodies {
					if err := bareRequest(client, url, body); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	for _, url := range urls {
		work <- url
	}
	close(work)
	wg.Wait()
}

func bareRequest(client *http.Client, url, body string) error {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// BenchmarkSweep sweeps 2,000 servers on loopback, their results written as a
// shard file, and for comparison sends the same requests with a bare net/http
// loop, in turn within one run. ratio is the sweep's rate by the loop's
// (DESIGN.md 13: at least 0.7).
func BenchmarkSweep(b *testing.B) {
	urls := benchServer(b)
	plan := newPlan(0, urls...)
	var bare, swept time.Duration
	bareLoop(b, urls) // warm up
	for b.Loop() {
		start := time.Now()
		bareLoop(b, urls)
		bare += time.Since(start)

		start = time.Now()
		shard := WriteShard(io.Discard, record.ShardHeader{})
		answered := 0
		prober := newMCPProber(nil)
		_, err := Run(b.Context(), plan, Config{Prober: prober}, func(r record.Result) error {
			if r.Outcome().OK() {
				answered++
			}
			return shard.Write(r)
		})
		if err != nil || shard.Close() != nil || answered != benchTargets {
			b.Fatalf("Run = %v, %d of %d answered", err, answered, benchTargets)
		}
		swept += time.Since(start)
	}
	n := float64(b.N * benchTargets)
	b.ReportMetric(n/swept.Seconds(), "probes/s")
	b.ReportMetric(n/bare.Seconds(), "bare/s")
	b.ReportMetric(bare.Seconds()/swept.Seconds(), "ratio")
	b.ReportMetric(0, "ns/op")
}
