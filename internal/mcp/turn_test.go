package mcp

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// largeList is the answer to tools/list of a body that has to wait for its turn.
var largeList = strings.Replace(goodList, `"name":"a"`, `"name":"a","x":"`+strings.Repeat("x", 2*freeSize)+`"`, 1)

// A clock stands still, and runs a function at its nth reading.
type clock struct {
	mu    sync.Mutex
	now   time.Time // guarded by mu
	calls int       // guarded by mu
	nth   int
	then  func()
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls++; c.calls == c.nth {
		c.then()
	}
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// waiting is the reading of the clock with which the wait for the turn of the
// list begins: after the beginning, two of initialize, and one of tools/list.
const waiting = 5

// hold has c admit nobody else until leave.
func hold(t *testing.T, c *Client) (leave func()) {
	t.Helper()
	leave, err := c.Admit(t.Context(), 1<<30, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

// wantIdle checks that c has nothing admitted.
func wantIdle(t *testing.T, c *Client) {
	t.Helper()
	if !c.alive.TryAcquire(maxAlive) {
		t.Error("a turn was not ended")
		return
	}
	c.alive.Release(maxAlive)
}

// An answer that waits to be parsed costs the server neither latency nor its
// timeout.
func TestWaitIsNotLatency(t *testing.T) {
	for name, h := range map[string]handler{
		"JSON":        jsonBody(largeList),
		"stream":      stream("data: " + largeList + "\n\n"),
		"stream open": left(stream("data: " + largeList + "\n\n")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, map[string]handler{stepList: h})
			c, m := client(), quick()
			leave := hold(t, c)
			k := &clock{nth: waiting}
			k.then = func() {
				time.AfterFunc(m.RequestTimeout+m.RequestTimeout/4, func() {
					k.advance(time.Hour)
					leave()
				})
			}
			c.Now = k.Now
			got := read(t, c, f.URL, m)
			if !got.Outcome.OK() || got.InitLatency != 0 || got.ListLatency != 0 {
				t.Errorf("Read = %v, latencies %s, %s, want success and 0, 0", got.Outcome, got.InitLatency, got.ListLatency)
			}
			if k.calls <= waiting {
				t.Errorf("the clock was read %d times, want a wait in it", k.calls)
			}
			wantIdle(t, c)
		})
	}
}

// Waiting for a turn ends with the context.
func TestCancelWhileWaiting(t *testing.T) {
	for name, h := range map[string]handler{
		"JSON":   jsonBody(largeList),
		"stream": left(stream("data: " + largeList + "\n\n")),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, map[string]handler{stepList: h})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := client()
			leave := hold(t, c)
			c.Now = (&clock{nth: waiting, then: cancel}).Now
			got, err := c.Read(ctx, f.URL, record.V1)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Read = %v, %v, want context.Canceled", got.Outcome, err)
			}
			if diff := cmp.Diff(Reading{}, got); diff != "" {
				t.Errorf("Read gave a reading beside its error:\n%s", diff)
			}
			leave()
			wantIdle(t, c)
		})
	}
}

// A small body never waits.
func TestSmallBodiesDoNotWait(t *testing.T) {
	c := client()
	defer hold(t, c)()
	if got := read(t, c, newFake(t, nil).URL, record.V1); !got.Outcome.OK() {
		t.Errorf("Read = %v, want success", got.Outcome)
	}
}

// No more than two of the largest bodies are admitted at once, and whoever waits
// has a turn in the end.
func TestAdmit(t *testing.T) {
	c := client()
	var alive, most atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			leave, err := c.Admit(t.Context(), 8<<20)
			if err != nil {
				t.Errorf("Admit = %v, want nil", err)
				return
			}
			defer leave()
			n := alive.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Millisecond) // so that the others get a chance
			alive.Add(-1)
		})
	}
	wg.Wait()
	if most.Load() > 2 {
		t.Errorf("%d bodies of 8 MiB were admitted at once, want 2 at most", most.Load())
	}
	wantIdle(t, c)
}

// However a large answer ends, its turn ends too.
func TestTurnEnds(t *testing.T) {
	many := strings.Replace(goodList, `"name"`, `"x":[`+strings.Repeat("1,", freeSize)+`1],"name"`, 1)
	for name, h := range map[string]handler{
		"success":                    jsonBody(many),
		"not JSON":                   jsonBody(many + "x"),
		"error object":               jsonBody(strings.Replace(many, `"result"`, `"error"`, 1)),
		"no object":                  jsonBody(`{"jsonrpc":"2.0","id":2,"result":"` + strings.Repeat("x", 2*freeSize) + `"}`),
		"another id":                 jsonBody(strings.Replace(many, `"id":2`, `"id":3`, 1)),
		"stream of another id first": stream("data: " + strings.Replace(many, `"id":2`, `"id":3`, 1) + "\n\ndata: " + many + "\n\n"),
		"stream that breaks":         abort(stream("data: " + strings.Replace(many, `"id":2`, `"id":3`, 1) + "\n\n")),
	} {
		t.Run(name, func(t *testing.T) {
			c := client()
			read(t, c, newFake(t, map[string]handler{stepList: h}).URL, record.V1)
			if c.alive == nil {
				t.Fatal("nothing had to be admitted")
			}
			wantIdle(t, c)
		})
	}
}
