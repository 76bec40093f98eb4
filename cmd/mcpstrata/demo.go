package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/api"
	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/fleet"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/progress"
	"github.com/mcpstrata/mcpstrata/internal/site"
)

// What the demo scales: a server that hangs costs a real second, and hosts are
// loopback addresses that need no rest. All servers share the processors with
// their reader, so few are read at a time: with many, a busy machine answers late.
const (
	demoTimeout = time.Second
	demoWorkers = 8
	demoHour    = 3*time.Hour + 15*time.Minute // of the day, UTC, at which a day's run begins
	demoSeed    = 1
)

// demo runs the real pipeline over the embedded registry and fleet, one
// simulated day after the other, then builds the site and serves it.
func demo(ctx context.Context, c *call) error {
	dir := c.flags.String("dir", "", "`folder` for the repository (default: a new temporary one)")
	days := c.flags.Int("days", 60, "simulated `days`")
	servers := c.flags.Int("servers", 120, "`servers` listed on the first day")
	addr := c.flags.String("http", serveAddr, "`address` to serve the site at")
	noServe := c.flags.Bool("no-serve", false, "end when the site is built")
	if _, err := c.parse(0, 0); err != nil {
		return err
	}
	if *days < 1 || *servers < 1 {
		return usageError{"-days and -servers are at least 1"}
	}
	base := "http://" + serveAddr + "/"
	var l *api.Listener
	if !*noServe { // before the work: an address that can't be had is told at once
		var err error
		if l, err = demoListen(ctx, *addr); err != nil {
			return err
		}
		defer l.Close()
		base = l.URL()
	}
	root, err := demoDir(*dir)
	if err != nil {
		return err
	}
	if err := gitrepo.Init(root); err != nil {
		return fmt.Errorf("making a repository in %s: %w", root, err)
	}
	c.note(fmt.Sprintf("recording %d simulated days of %d servers into %s", *days, *servers, root))
	began := time.Now()
	commits, err := demoDays(ctx, c, root, *servers, *days)
	if err != nil {
		return err
	}
	out := filepath.Join(root, siteDir)
	if err := c.siteBuilder(filepath.Join(root, "data"), site.Config{Out: out, Base: base})(ctx); err != nil {
		return fmt.Errorf("building the site: %w", err)
	}
	w := &lines{w: c.stdout}
	w.printf("%d days, %d commits in %s (%.1f s)\n", *days, commits, root, time.Since(began).Seconds())
	w.printf("look around with:\n  git -C %s log --stat\n  mcpstrata verify -data %s\n", root, filepath.Join(root, "data"))
	if w.err != nil || *noServe {
		return w.err
	}
	return serveSite(ctx, c, out, l)
}

// demoListen takes the address to serve at. Where the usual one is taken and no
// other was asked for, any free port will do.
func demoListen(ctx context.Context, addr string) (*api.Listener, error) {
	l, err := listen(ctx, addr)
	if err != nil && addr == serveAddr {
		return listen(ctx, "127.0.0.1:0")
	}
	return l, err
}

// demoDir returns an empty folder for the demo's repository.
func demoDir(dir string) (string, error) {
	if dir == "" {
		return os.MkdirTemp("", "mcpstrata-demo-")
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", &daily.HintError{Err: fmt.Errorf("%s: it is not empty", dir), Next: "name a new folder; the demo makes a repository of its own"}
	}
	return filepath.Abs(dir)
}

// demoDays runs the daily job once a simulated day, over servers that end with
// it, and returns how many days were committed.
func demoDays(ctx context.Context, c *call, root string, servers, days int) (commits int, err error) {
	world, err := fleet.Start(ctx, fleet.Config{Seed: demoSeed, Servers: servers, Days: days, Hang: 10 * demoTimeout})
	if err != nil {
		return 0, fmt.Errorf("starting the servers: %w", err)
	}
	defer world.Close()
	meter := progress.New(c.stderr, "mcpstrata: demo: recorded days", time.Now)
	defer meter.Done()
	for day := range days {
		if err := world.SetDay(day); err != nil {
			return commits, err
		}
		r, err := daily.Run(ctx, daily.Config{
			Data: filepath.Join(root, "data"), Registry: world.RegistryURL(), Timeout: demoTimeout, AllowPrivate: true,
			Version: version, UserAgent: userAgent, Vantage: "demo", Workers: demoWorkers, Clock: daily.FastClockAt(world.Day(day).Time().Add(demoHour)),
			Simulated: true, Seed: func() int64 { return int64(day) }, Scaffold: scaffold(), Step: c.step,
			Log: func(string) {},
		})
		if err != nil {
			return commits, fmt.Errorf("recording %s: %w", world.Day(day), err)
		}
		if r.Commit != "" {
			commits++
		}
		meter.Set(day+1, days, 0)
	}
	return commits, nil
}
