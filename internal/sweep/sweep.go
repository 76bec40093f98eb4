// Package sweep executes a plan: every endpoint once, order, pace, budget, second
// readings; yields results. It also reads and writes the two files that let the
// stages of a run be apart: the plan before it and the shards of results after it.
//
// # What is probed
//
// Each distinct endpoint URL is probed once per run and methodology, and the
// result is fanned out to every name that declares it. A target with a reason
// instead of an endpoint, one beyond the limit of a partial run (missed), and a
// methodology under which an earlier run of the day already read the target
// (skip) are not probed (DESIGN.md 12).
//
// # Order and pace
//
// The URLs are shuffled by the plan's seed, because the registry's own order is
// not homogeneous; the seed is recorded. The unit of politeness is the host and
// port ([target.Host]): one probe in flight, and the plan's pace between two
// probe starts. All hosts go at once, within a number of workers. A probe takes
// a worker only while it runs, never while its host rests. Of the hosts that are
// ready the one with most left to do goes first, and among equals the one that
// the shuffle put first: the host with the longest queue bounds the length of a
// sweep, so it must not wait behind thousands that need one turn. The
// methodologies of one URL follow each other, oldest first.
//
// A host that answered with Retry-After rests that long, at most
// [MaxRetryAfter], and [MaxRest] in all: a host with a thousand names must not
// hold a run for days. Nothing is retried: a second try would be a second
// observation.
//
// # Second readings
//
// Under a methodology that reads again before a difference becomes the head
// (v2, DESIGN.md section 4), a successful reading whose identity is not that of
// the plan's head, for any name that declares the endpoint, is followed by a
// second one: the next probe of that host, ahead of all that waits there, as
// polite as any other. Results are yielded when it ended, and it stands in those
// of the names whose head differs. Until then the bodies of the first are in
// memory, one endpoint a host and at most [maxHeld] bytes in all; a reading
// beyond that is yielded without a second one, and so are those whose second
// reading the budget left.
//
// # Budget
//
// After [Config.Budget] no probe is started; those in flight end, and the sweep
// ends well. What it did not get to is counted, has no result, and none is
// invented. A sweep whose context ends returns the context's cause.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/probe"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/target"
)

const (
	// DefaultWorkers is how many probes are in flight at once: with a tenth of
	// some 15,000 endpoints stalling until their timeout, a sweep takes 15 to 25
	// minutes (protocol.md 4, "Load").
	DefaultWorkers = 64

	// MaxRetryAfter caps how long one answer can make its host rest.
	MaxRetryAfter = 60 * time.Second

	// maxHeld caps the bytes of the bodies that wait for their second reading:
	// many hosts that ask for rest must not fill the memory.
	maxHeld = 256 << 20

	// MaxRest caps how long all answers together can make one host rest. After
	// that it is read at the plan's pace.
	MaxRest = 10 * time.Minute
)

// A Prober makes one attempt at one endpoint; [probe.Prober] is the real one. It
// must be safe for concurrent use, and return an error only when ctx was
// cancelled or something failed on our side, never for what a server did.
type Prober interface {
	Attempt(ctx context.Context, endpoint string, m record.Methodology) (probe.Attempt, error)
}

// Config says how to execute a plan.
type Config struct {
	Prober  Prober
	Workers int   // probes in flight at once; 0 is DefaultWorkers
	Clock   Clock // nil is RealClock

	// Budget is the time after which no probe is started; 0 is none.
	Budget time.Duration

	// Progress, if not nil, is told after every start and every end of a probe
	// how many probes are done, how many there are in all, and how many are in
	// flight. It is called from the goroutine that calls yield.
	Progress func(done, total, inFlight int)

	// Shard of Of restricts the sweep to the hosts of one shard, see [ShardOf].
	// The zero values mean all hosts.
	Shard, Of int
}

// Stats counts a sweep.
type Stats struct {
	Hosts    int // hosts and ports probed
	Probes   int // distinct endpoint and methodology
	Results  int // yielded: one per name and methodology
	Requests int // sent, each once however many names share the endpoint
	Missed   int // distinct endpoint and methodology that the budget left

	Seconds       int // second readings made; Probes does not count them, Requests does
	SecondsMissed int // second readings that were due and not started
}

// Run executes plan and yields one result per probed target and methodology, in
// the order in which the probes end; results of one endpoint follow each other
// in plan order. Everything is done by the time Run returns. yield is called
// from one goroutine only.
//
// The first error ends the sweep: that of yield, returned as it is, that of the
// Prober, which may be that this machine has no means left to make a request, or
// the cause of ctx. Stats then counts what was done until then.
func Run(ctx context.Context, plan *Plan, cfg Config, yield func(record.Result) error) (Stats, error) {
	s, err := newSchedule(plan, cfg)
	if err != nil {
		return Stats{}, err
	}
	s.yield = yield
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.run(ctx, g) })
	err = g.Wait()
	return s.stats, err
}

// A unit is one probe to be made.
type unit struct {
	endpoint    string
	methodology record.Methodology
	names       []string       // in plan order
	heads       []canon.Digest // of each name; empty where it has none
	first       *record.Result // of a second reading: what the first one got
}

// units returns the distinct probes of plan, shuffled by its seed: one group
// per endpoint, its methodologies in the plan's order.
func (p *Plan) units() ([][]unit, error) {
	var methodologies []record.Methodology
	for _, v := range p.Header.Methodologies {
		m, ok := record.MethodologyByVersion(v)
		if !ok {
			return nil, fmt.Errorf("methodology %q is not one that this version reads with", v)
		}
		if p.Header.TimeoutMS > 0 {
			m.RequestTimeout = time.Duration(p.Header.TimeoutMS) * time.Millisecond
		}
		methodologies = append(methodologies, m)
	}
	// The set of distinct endpoints, in plan order, so that equal plans and
	// seeds give equal orders.
	var endpoints []string
	declaring := map[string][]record.PlanTarget{}
	for _, t := range p.Targets {
		if t.Endpoint == "" || t.Reason != "" || t.Missed {
			continue
		}
		if declaring[t.Endpoint] == nil {
			endpoints = append(endpoints, t.Endpoint)
		}
		declaring[t.Endpoint] = append(declaring[t.Endpoint], t)
	}
	rand.New(rand.NewPCG(uint64(p.Header.Seed), 0)).Shuffle(len(endpoints), func(i, j int) {
		endpoints[i], endpoints[j] = endpoints[j], endpoints[i]
	})
	var groups [][]unit
	for _, e := range endpoints {
		var group []unit
		for _, m := range methodologies {
			u := unit{endpoint: e, methodology: m}
			for _, t := range declaring[e] {
				if !slices.Contains(t.Skip, m.Version) {
					u.names = append(u.names, t.Name)
					u.heads = append(u.heads, t.Heads[m.Version].Identity)
				}
			}
			if len(u.names) > 0 {
				group = append(group, u)
			}
		}
		if len(group) > 0 {
			groups = append(groups, group)
		}
	}
	return groups, nil
}

// newSchedule deals the probes of plan out to their hosts.
func newSchedule(plan *Plan, cfg Config) (*schedule, error) {
	if cfg.Prober == nil {
		return nil, errors.New("sweeping without a prober")
	}
	if cfg.Of != 0 || cfg.Shard != 0 {
		if cfg.Of < 1 || cfg.Shard < 1 || cfg.Shard > cfg.Of {
			return nil, fmt.Errorf("there is no shard %d of %d", cfg.Shard, cfg.Of)
		}
	}
	s := &schedule{
		prober: cfg.Prober, clock: cfg.Clock, workers: cfg.Workers, progress: cfg.Progress, budget: cfg.Budget,
		events: make(chan event),
	}
	if s.clock == nil {
		s.clock = RealClock{}
	}
	if s.workers <= 0 {
		s.workers = DefaultWorkers
	}
	if s.progress == nil {
		s.progress = func(int, int, int) {}
	}
	groups, err := plan.units()
	if err != nil {
		return nil, err
	}
	pace := rate.Inf
	if plan.Header.PaceMS > 0 {
		pace = rate.Every(time.Duration(plan.Header.PaceMS) * time.Millisecond)
	}
	hosts := map[string]*host{}
	for _, group := range groups {
		name := target.Host(group[0].endpoint)
		if cfg.Of > 1 && ShardOf(name, cfg.Of) != cfg.Shard {
			continue
		}
		h := hosts[name]
		if h == nil {
			h = &host{order: len(s.ready), limiter: rate.NewLimiter(pace, 1)}
			hosts[name] = h
			s.ready = append(s.ready, h)
		}
		h.queue = append(h.queue, group...)
		s.total += len(group)
	}
	return s, nil
}
