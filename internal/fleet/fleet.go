// Package fleet serves a registry and a fleet of MCP servers that evolve by a
// seeded script, and servers that behave badly in every known way. The demo and
// the tests of the packages that read servers run over it; nothing here leaves
// loopback.
//
// # The world
//
// [Start] makes a world from a seed: equal configurations give equal names,
// texts, registry rows and changes, and, if the port is the same, equal bytes.
// [Fleet.SetDay] shows one day of it. [Fleet.Script] is the ground truth: what
// changes on which day, whether or not a reader can see it that day. Day 0 has no
// changes; every later day has at least one that a reader sees.
//
// Most servers are the official Go SDK's; those whose order of members, media
// type or alternation matters are made by hand. Each has a loopback address of
// its own where the system has all of 127.0.0.0/8, on one common port; otherwise
// they have ports of 127.0.0.1. The tenants of the platform example.hub share one.
//
// # The behaviours
//
// [Behaviours] is a table of servers that fail, or answer, in one particular way
// each, with what methodologies v1 and v2 record (DESIGN.md section 4).
//
// # The differences
//
// [Differences] is a server for each measured kind of difference between readings
// that lies in how a server is read, with the cause to be named; those that a
// reader starts itself are run by [ServeStdio].
package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// Defaults of a [Config]: the demo's.
const (
	defaultServers = 120
	defaultDays    = 60
	defaultStart   = record.Day("2026-01-01")
	defaultHang    = 30 * time.Second // beyond the 20 seconds of methodology v1
)

// A Config describes a world. The zero value is the demo's.
type Config struct {
	Seed    int64         // of the script; equal seeds give equal worlds
	Servers int           // names listed on the first day; 0 means 120. Some more appear later
	Days    int           // length of the script; 0 means 60
	Start   record.Day    // first simulated day; empty means 2026-01-01
	Hang    time.Duration // longest time for which a hanging server holds a request; 0 means 30 s
	Port    int           // port to take on every address; if it is 0, or taken somewhere, any free one
}

func (c Config) filled() Config {
	c.Servers = cmp.Or(c.Servers, defaultServers)
	c.Days = cmp.Or(c.Days, defaultDays)
	c.Start = cmp.Or(c.Start, defaultStart)
	c.Hang = cmp.Or(c.Hang, defaultHang)
	return c
}

// A Fleet is a running world. Its methods may be called from several goroutines.
type Fleet struct {
	cfg      Config
	world    *world
	ctx      context.Context // of every request; ends with Start's context and with Close
	cancel   context.CancelFunc
	registry *listening
	address  string // of the registry, host:port
	hosts    []*host
	shown    atomic.Pointer[catalogue]
	requests atomic.Int64

	mu       sync.Mutex // guards backends, hosts' servers and closed
	backends map[*site]*backend
	closed   bool
}

// Start makes the world of cfg and serves its first day on loopback until ctx
// ends or the Fleet is closed. It fails on a configuration that makes no world,
// and when the system gives no addresses.
func Start(ctx context.Context, cfg Config) (*Fleet, error) {
	cfg = cfg.filled()
	if _, err := record.ParseDay(string(cfg.Start)); err != nil || cfg.Servers < 0 || cfg.Days < 0 || cfg.Hang < 0 {
		return nil, fmt.Errorf("making a world of %d servers over %d days from %q: not a possible world", cfg.Servers, cfg.Days, cfg.Start)
	}
	w, err := build(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a world: %w", err)
	}
	f := &Fleet{cfg: cfg, world: w, backends: map[*site]*backend{}}
	l, err := f.allocate()
	if err != nil {
		return nil, fmt.Errorf("taking loopback addresses: %w", err)
	}
	f.ctx, f.cancel = context.WithCancel(ctx)
	f.registry = listen(f.ctx, l, http.HandlerFunc(f.serveRegistry))
	if err := f.SetDay(0); err != nil {
		f.Close()
		return nil, err
	}
	context.AfterFunc(f.ctx, func() { f.Close() })
	return f, nil
}

// RegistryURL returns the address of the server list, such as
// http://127.0.0.1:40123/v0.1/servers.
func (f *Fleet) RegistryURL() string { return "http://" + f.address + "/v0.1/servers" }

// Day returns the calendar day of simulated day n.
func (f *Fleet) Day(n int) record.Day {
	return record.DayOf(f.world.start.Time().AddDate(0, 0, n))
}

// Days returns the length of the script.
func (f *Fleet) Days() int { return f.world.days }

// Script returns every change, by day and name. Changes of one name on one day
// stand in the order in which they happened.
func (f *Fleet) Script() []Change { return slices.Clone(f.world.script) }

// Requests returns how many requests MCP servers have got since Start; those of
// the registry and those that were refused are not counted.
func (f *Fleet) Requests() int64 { return f.requests.Load() }

// SetDay makes the registry and all servers show day n, from 0, and returns once
// they do. Days can be visited in any order, and again. Call it between runs: a
// run that is under way sees some of either day. It fails if n is outside the
// script, after Close, and when an address was lost to another program.
func (f *Fleet) SetDay(n int) error {
	if n < 0 || n >= f.world.days {
		return fmt.Errorf("showing day %d of %d: there is no such day", n, f.world.days)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errors.New("showing a day: the fleet is closed")
	}
	routes := make([]map[string]*face, len(f.hosts))
	for _, s := range f.world.sites {
		st := &s.days[n]
		host, path, ok := st.endpoint()
		if !ok || s.shares != nil {
			continue
		}
		b := f.backends[s]
		if b != nil {
			b.hangUp()
		}
		if !b.serves(st) {
			var err error
			if b, err = newBackend(s.flavour, st); err != nil {
				return fmt.Errorf("showing day %d of %s: %w", n, s.name, err)
			}
			f.backends[s] = b
		}
		b.begin(n)
		b.newer.begin(n)
		b.sessions.begin()
		if routes[host] == nil {
			routes[host] = map[string]*face{}
		}
		routes[host][path] = &face{mode: st.mode, well: b.handler, hang: f.cfg.Hang}
	}
	for i, h := range f.hosts {
		if err := f.show(h, routes[i]); err != nil {
			return fmt.Errorf("showing day %d: %w", n, err)
		}
	}
	f.shown.Store(f.catalogue(n))
	return nil
}

// show makes h serve routes, or nothing at all if it is down.
func (f *Fleet) show(h *host, routes map[string]*face) error {
	h.route(routes)
	switch {
	case down(routes) && h.server != nil:
		h.server.stop()
		h.server = nil
	case !down(routes) && h.server == nil:
		l, err := net.Listen("tcp", h.addr)
		if err != nil {
			return err
		}
		h.server = listen(f.ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			f.requests.Add(1)
			h.ServeHTTP(w, r)
		}))
	}
	return nil
}

// Close ends all servers and waits for their requests to end. It may be called
// more than once.
func (f *Fleet) Close() error {
	f.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	f.registry.stop()
	for _, h := range f.hosts {
		if h.server != nil {
			h.server.stop()
			h.server = nil
		}
	}
	for _, b := range f.backends {
		b.hangUp()
	}
	return nil
}

// allocate takes an address for the registry, whose listener it returns, and for
// every host: one port on 127.0.0.1 and on addresses of their own, or ports of
// 127.0.0.1 where the system has no others.
func (f *Fleet) allocate() (net.Listener, error) {
	for _, port := range []int{f.cfg.Port, 0, 0, 0} {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		f.address = l.Addr().String()
		if f.allocateAddresses(l.Addr().(*net.TCPAddr).Port) {
			return l, nil
		}
		l.Close()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f.address = l.Addr().String()
	return l, f.allocatePorts()
}

// allocateAddresses gives every host an address of its own with this port, and
// reports whether all of them can be had.
func (f *Fleet) allocateAddresses(port int) bool {
	f.hosts = nil
	for i := range f.world.hosts {
		ip := net.IPv4(127, 77, byte(1+i/250), byte(1+i%250))
		addr := net.JoinHostPort(ip.String(), strconv.Itoa(port))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return false
		}
		l.Close()
		f.hosts = append(f.hosts, &host{addr: addr})
	}
	return true
}

// allocatePorts gives every host a free port of 127.0.0.1.
func (f *Fleet) allocatePorts() error {
	f.hosts = nil
	var taken []net.Listener // until all are chosen, so that none is chosen twice
	defer func() {
		for _, l := range taken {
			l.Close()
		}
	}()
	for range f.world.hosts {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		taken = append(taken, l)
		f.hosts = append(f.hosts, &host{addr: l.Addr().String()})
	}
	return nil
}
