package daily

import (
	"context"
	"sync"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/sweep"
)

// ClockAt returns a clock that says now at this moment and goes on from there at
// the pace of the system's.
func ClockAt(now time.Time) sweep.Clock { return shifted{now.UTC(), time.Now()} }

// shifted is a clock that said now when the system's said then.
type shifted struct{ now, then time.Time }

func (c shifted) Now() time.Time { return c.now.Add(time.Since(c.then)) }

func (c shifted) Sleep(ctx context.Context, d time.Duration) error {
	return sweep.RealClock{}.Sleep(ctx, d)
}

// FastClockAt returns a clock that says now at this moment, goes on from there,
// and jumps ahead instead of sleeping: what is paced by it takes no time, and
// the records say how long it would have taken.
func FastClockAt(now time.Time) sweep.Clock { return &fast{shifted: shifted{now.UTC(), time.Now()}} }

type fast struct {
	shifted
	mu    sync.Mutex
	ahead time.Duration // guarded by mu
}

func (c *fast) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shifted.Now().Add(c.ahead)
}

func (c *fast) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += max(d, 0)
	return ctx.Err()
}
