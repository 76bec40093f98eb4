package mcp

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mcpstrata/mcpstrata/internal/canon"
)

const (
	// freeSize is the greatest size of a body, in bytes, whose tree waits for no
	// other. Most bodies are smaller; the tree of one takes 4 MB at most.
	freeSize = 64 << 10
	// maxAlive is how many values the trees of larger bodies may have together: as
	// many as two documents, some 250 MB.
	maxAlive = 2 * canon.MaxValues
)

// Admit waits until the trees of bodies of these sizes, in bytes, may be built
// beside those that others are at work on with c, so that hostile bodies which
// come at once don't exhaust the memory. A body counts as if every second byte
// of it began a value. The caller has to call leave once it has dropped the
// trees, and must not wait for anything before that: no network, no other Admit.
// Admit fails only when ctx is done, with its error.
func (c *Client) Admit(ctx context.Context, sizes ...int) (leave func(), err error) {
	leave, _, err = c.admit(ctx, sizes...)
	return leave, err
}

// admit is Admit and returns how long it had to wait.
func (c *Client) admit(ctx context.Context, sizes ...int) (leave func(), waited time.Duration, err error) {
	total, values := 0, 0
	for _, n := range sizes {
		total += n
		values += min(n/2, canon.MaxValues)
	}
	if total <= freeSize {
		return func() {}, 0, nil
	}
	c.once.Do(func() { c.alive = semaphore.NewWeighted(maxAlive) })
	weight := int64(min(values, maxAlive))
	leave = func() { c.alive.Release(weight) }
	if c.alive.TryAcquire(weight) {
		return leave, 0, nil
	}
	start := c.now()
	if err := c.alive.Acquire(ctx, weight); err != nil {
		return nil, 0, err
	}
	return leave, max(0, c.now().Sub(start)), nil
}

// A turn is the leave that one answer has to be parsed. The zero turn of a client
// has none yet.
type turn struct {
	client *Client
	leave  func() // nil if there is nothing to leave
	waited time.Duration
}

// begin waits for the turn of a message of that size. It reports false when ctx
// is done.
func (t *turn) begin(ctx context.Context, size int) bool {
	t.end()
	leave, waited, err := t.client.admit(ctx, size)
	if err != nil {
		return false
	}
	t.leave = leave
	t.waited += waited
	return true
}

// end ends the turn, if there is one.
func (t *turn) end() {
	if t.leave != nil {
		t.leave()
		t.leave = nil
	}
}
