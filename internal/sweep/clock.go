package sweep

import (
	"context"
	"time"
)

// A Clock is the time that a sweep paces itself by. The demo has one that runs
// through its days faster.
type Clock interface {
	Now() time.Time
	// Sleep waits for d, and returns the cause of ctx if that ended first.
	Sleep(ctx context.Context, d time.Duration) error
}

// RealClock is the clock of the system.
type RealClock struct{}

// Now returns the current time.
func (RealClock) Now() time.Time { return time.Now() }

// Sleep waits for d, and returns the cause of ctx if that ended first.
func (RealClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
