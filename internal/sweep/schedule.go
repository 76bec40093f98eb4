package sweep

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/mcpstrata/mcpstrata/internal/probe"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A host is one host and port with what is left to probe there. At any time it
// is in exactly one place: ready, in flight, resting, or finished.
type host struct {
	queue     []unit
	order     int           // place in the shuffled order
	limiter   *rate.Limiter // one probe start per pace
	notBefore time.Time     // asked for by Retry-After
	rested    time.Duration // in all, because of Retry-After
}

// start takes the next probe of h and counts its start against the pace.
func (h *host) start(now time.Time) unit {
	u := h.queue[0]
	h.queue = h.queue[1:]
	h.limiter.ReserveN(now, 1)
	return u
}

// rest returns how long h must rest at now before its next probe may start. The
// pace is counted from the start that was made, not from the one that was
// allowed, so what a reservation made here would cost is only asked for. It is
// rounded up to the microsecond: the limiter calculates in float64.
func (h *host) rest(now time.Time) time.Duration {
	r := h.limiter.ReserveN(now, 1)
	d := r.DelayFrom(now)
	r.CancelAt(now)
	d = (d + time.Microsecond - 1).Truncate(time.Microsecond)
	return max(d, h.notBefore.Sub(now))
}

// readyHosts is a heap: hosts with a second reading to make first, because the
// bodies of the first one are in memory; then the host with most left to do; then
// by order.
type readyHosts []*host

func (r readyHosts) Len() int { return len(r) }
func (r readyHosts) Less(i, j int) bool {
	if a, b := r[i].queue[0].first != nil, r[j].queue[0].first != nil; a != b {
		return a
	}
	if a, b := len(r[i].queue), len(r[j].queue); a != b {
		return a > b
	}
	return r[i].order < r[j].order
}
func (r readyHosts) Swap(i, j int) { r[i], r[j] = r[j], r[i] }
func (r *readyHosts) Push(h any)   { *r = append(*r, h.(*host)) }
func (r *readyHosts) Pop() any {
	old := *r
	h := old[len(old)-1]
	old[len(old)-1] = nil
	*r = old[:len(old)-1]
	return h
}

// An event tells the schedule that a host needs it: a probe there ended, or its
// rest is over.
type event struct {
	host    *host
	probed  *unit // nil: the rest is over
	attempt probe.Attempt
}

// A schedule is the state of a sweep. Only the goroutine of run touches it;
// probes and rests are goroutines of their own, which report over events.
type schedule struct {
	prober   Prober
	clock    Clock
	workers  int
	progress func(done, total, inFlight int)
	yield    func(record.Result) error
	events   chan event

	ready                 readyHosts
	total, done, inFlight int // probes, second readings among them
	stats                 Stats
	budget                time.Duration // 0 is none
	waiting               []*unit       // second readings not yet started, in the order of their first ones
	held                  int           // bytes of the bodies of first readings whose second one is not done
}

// run starts probes while there are workers and ready hosts, waits for an
// event, and goes round until every probe is done or the budget is spent. All
// its goroutines are g's.
func (s *schedule) run(ctx context.Context, g *errgroup.Group) error {
	s.stats.Hosts = len(s.ready)
	heap.Init(&s.ready)
	began := s.clock.Now()
	resting, wake := context.WithCancel(ctx)
	defer wake()
	for s.done < s.total {
		spent := s.budget > 0 && s.clock.Now().Sub(began) >= s.budget
		if spent && s.inFlight == 0 {
			s.stats.Missed = s.total - s.done - len(s.waiting)
			return s.giveUp()
		}
		for !spent && s.inFlight < s.workers && len(s.ready) > 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			s.start(ctx, g, heap.Pop(&s.ready).(*host))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e := <-s.events:
			if e.probed != nil {
				if err := s.end(ctx, resting, g, e); err != nil {
					return err
				}
			} else {
				heap.Push(&s.ready, e.host)
			}
		}
	}
	return nil
}

// start starts the next probe of h.
func (s *schedule) start(ctx context.Context, g *errgroup.Group, h *host) {
	u := h.start(s.clock.Now())
	if u.first != nil {
		s.waiting = slices.DeleteFunc(s.waiting, func(w *unit) bool { return w.first == u.first })
	}
	s.inFlight++
	s.progress(s.done, s.total, s.inFlight)
	g.Go(func() error {
		a, err := s.prober.Attempt(ctx, u.endpoint, u.methodology)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("probing %s under %s: %w", u.endpoint, u.methodology.Version, err)
		}
		return s.send(ctx, event{host: h, probed: &u, attempt: a})
	})
}

// end yields what a probe got, or holds it until its second reading is made, and
// sends its host to rest, or to be ready.
func (s *schedule) end(ctx, resting context.Context, g *errgroup.Group, e event) error {
	s.inFlight--
	s.done++
	s.stats.Requests += e.attempt.Result.Requests
	var err error
	switch u, r := e.probed, &e.attempt.Result; {
	case u.first != nil:
		s.stats.Seconds++
		s.held -= size(u.first)
		err = s.tell(u, *u.first, r)
	case u.due(r):
		s.stats.Probes++
		err = s.hold(e.host, *u, r)
	default:
		s.stats.Probes++
		err = s.tell(u, *r, nil)
	}
	if err != nil {
		return err
	}
	s.progress(s.done, s.total, s.inFlight)
	if len(e.host.queue) == 0 {
		return nil
	}
	now := s.clock.Now()
	if d := min(e.attempt.RetryAfter, MaxRetryAfter, MaxRest-e.host.rested); d > 0 {
		e.host.notBefore = now.Add(d)
		e.host.rested += d
	}
	d := e.host.rest(now)
	if d <= 0 {
		heap.Push(&s.ready, e.host)
		return nil
	}
	g.Go(func() error {
		if err := s.clock.Sleep(resting, d); err != nil && resting.Err() == nil {
			return err
		}
		if s.send(resting, event{host: e.host}) != nil {
			return context.Cause(ctx) // nil when the budget was spent meanwhile
		}
		return nil
	})
	return nil
}

// due reports whether a first reading is to be followed by a second one: it
// succeeded, and says something else than the head of a name that declares the
// endpoint.
func (u *unit) due(r *record.Result) bool {
	if !u.methodology.SecondReading || r.Class != record.Success {
		return false
	}
	for _, head := range u.heads {
		if head != "" && head != r.Identity {
			return true
		}
	}
	return false
}

// hold puts the second reading at the front of the host's queue. A reading that
// is too much to hold beside the others gets none.
func (s *schedule) hold(h *host, u unit, first *record.Result) error {
	n := size(first)
	if s.held+n > maxHeld {
		s.stats.SecondsMissed++
		return s.tell(&u, *first, nil)
	}
	s.held += n
	u.first = first
	h.queue = slices.Insert(h.queue, 0, u)
	s.waiting = append(s.waiting, &u)
	s.total++
	return nil
}

// tell yields a reading for each name that declares the endpoint, and the second
// one to those whose head the first contradicts.
func (s *schedule) tell(u *unit, first record.Result, second *record.Result) error {
	for i, name := range u.names {
		r := first
		r.Name, r.Second = name, nil
		if head := u.heads[i]; second != nil && head != "" && head != first.Identity {
			again := *second
			again.Name = name
			r.Second = &again
		}
		if err := s.yield(r); err != nil {
			return err
		}
		s.stats.Results++
	}
	return nil
}

// giveUp yields the readings whose second one the budget left.
func (s *schedule) giveUp() error {
	for _, u := range s.waiting {
		s.stats.SecondsMissed++
		if err := s.tell(u, *u.first, nil); err != nil {
			return err
		}
	}
	return nil
}

// size returns how many bytes the bodies of a reading are.
func size(r *record.Result) int {
	n := len(r.Init)
	for _, p := range r.Pages {
		n += len(p)
	}
	return n
}

// send hands e to run, unless the sweep is over.
func (s *schedule) send(ctx context.Context, e event) error {
	select {
	case s.events <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
