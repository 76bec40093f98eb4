package progress

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fakeClock stands until it is moved.
type fakeClock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *fakeClock {
	return &fakeClock{t: time.Date(2026, 11, 30, 3, 15, 0, 0, time.UTC)}
}

func (c *fakeClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *fakeClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// One step of a job: time passes, then the meter is told.
type step struct {
	after                 time.Duration
	done, total, inFlight int
}

func TestLines(t *testing.T) {
	tests := []struct {
		name  string
		steps []step
		want  string
	}{
		{"never told", nil, ""},
		{"over at once", []step{{0, 3, 3, 0}}, "mcpstrata: run: probed 3 of 3\n"},
		{
			"over just before 10 s",
			[]step{{0, 0, 1200, 64}, {9999 * time.Millisecond, 1199, 1200, 1}},
			"mcpstrata: run: probed 1,199 of 1,200\n",
		},
		{
			"one line every 10 s",
			[]step{
				{time.Second, 1, 12981, 64}, {9 * time.Second, 1200, 12981, 3}, {0, 1201, 12981, 3},
				{9999 * time.Millisecond, 1300, 12981, 3}, {time.Millisecond, 1301, 12981, 1234}, {time.Second, 12981, 12981, 0},
			},
			"mcpstrata: run: probed 1,200 of 12,981 (3 in flight)\n" +
				"mcpstrata: run: probed 1,301 of 12,981 (1,234 in flight)\n" +
				"mcpstrata: run: probed 12,981 of 12,981\n",
		},
		{
			"a standstill is one line",
			[]step{{time.Minute, 5, 10, 1}, {time.Second, 6, 10, 1}},
			"mcpstrata: run: probed 5 of 10 (1 in flight)\nmcpstrata: run: probed 6 of 10\n",
		},
		{
			"the clock goes back",
			[]step{{-time.Hour, 5, 10, 1}},
			"mcpstrata: run: probed 5 of 10\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var w bytes.Buffer
			clock := newClock()
			m := New(&w, "mcpstrata: run: probed", clock.now)
			for _, s := range tt.steps {
				clock.move(s.after)
				m.Set(s.done, s.total, s.inFlight)
			}
			m.Done()
			m.Done()
			m.Set(9, 9, 9)
			if got := w.String(); got != tt.want {
				t.Errorf("lines =\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestBar(t *testing.T) {
	var w bytes.Buffer
	clock := newClock()
	m := New(&w, "mcpstrata: run: probed", clock.now)
	width := 80
	m.useBar(func() int { return width })

	next := func(after time.Duration, done int) string {
		w.Reset()
		clock.move(after)
		m.Set(done, 12981, 3)
		return w.String()
	}
	first := next(0, 0)
	if !strings.HasPrefix(first, "\rmcpstrata: run: probed 0 of 12,981 (3 in flight) [") {
		t.Errorf("first picture = %q, want a bar at once", first)
	}
	if got := next(99*time.Millisecond, 600); got != "" {
		t.Errorf("after 99 ms = %q, want nothing", got)
	}
	half := next(time.Millisecond, 6491)
	if !regexp.MustCompile(`^\rmcpstrata: run: probed 6,491 of 12,981 \(3 in flight\) \[=+> +\] 50%$`).MatchString(half) {
		t.Errorf("half = %q, want a half-full bar", half)
	}
	if len(half) != 1+width {
		t.Errorf("half is %d cells wide, want %d", len(half)-1, width)
	}
	if strings.ContainsAny(first+half, "\n\x1b") {
		t.Errorf("pictures %q, %q, want neither line feeds nor escape sequences", first, half)
	}
	width = 40 // narrower than the words
	if got := next(time.Second, 7000); len(got) != 1+width {
		t.Errorf("on a narrow terminal = %q of %d cells, want %d", got, len(got)-1, width)
	}
	w.Reset()
	m.Done()
	want := "\r" + strings.Repeat(" ", width) + "\rmcpstrata: run: probed 7,000 of 12,981\n"
	if got := w.String(); got != want {
		t.Errorf("end = %q, want %q", got, want)
	}
}

// A job of many goroutines may tell one meter; -race looks on.
func TestConcurrentUse(t *testing.T) {
	var w bytes.Buffer
	m := New(&w, "probed", newClock().now)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { m.Set(i, 8, 0) })
	}
	wg.Wait()
	m.Set(8, 8, 0)
	m.Done()
	if got := w.String(); got != "probed 8 of 8\n" {
		t.Errorf("lines = %q, want the last one only", got)
	}
}

func TestCount(t *testing.T) {
	tests := map[int]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 12981: "12,981", 123456: "123,456", 1234567: "1,234,567",
		-1: "-1", -999: "-999", -1000: "-1,000", -123456: "-123,456",
		math.MinInt64: "-9,223,372,036,854,775,808",
	}
	for n, want := range tests {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}
