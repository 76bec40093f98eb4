package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/fleet"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/progress"
)

// What the demo scales: a server that hangs costs a real second, and hosts are
// loopback addresses that need no rest.
const (
	demoTimeout = time.Second
	demoHour    = 3*time.Hour + 15*time.Minute // of the day, UTC, at which a day's run begins
	demoSeed    = 1
)

// demo runs the real pipeline over the embedded registry and fleet, one
// simulated day after the other.
func demo(ctx context.Context, c *call) error {
	dir := c.flags.String("dir", "", "`folder` for the repository (default: a new temporary one)")
	days := c.flags.Int("days", 60, "simulated `days`")
	servers := c.flags.Int("servers", 120, "`servers` listed on the first day")
	c.flags.Bool("no-serve", true, "end when the days are recorded; this version has no site to serve yet")
	if _, err := c.parse(0, 0); err != nil {
		return err
	}
	if *days < 1 || *servers < 1 {
		return usageError{"-days and -servers are at least 1"}
	}
	root, err := demoDir(*dir)
	if err != nil {
		return err
	}
	if err := gitrepo.Init(root); err != nil {
		return fmt.Errorf("making a repository in %s: %w", root, err)
	}
	world, err := fleet.Start(ctx, fleet.Config{Seed: demoSeed, Servers: *servers, Days: *days, Hang: 10 * demoTimeout})
	if err != nil {
		return fmt.Errorf("starting the servers: %w", err)
	}
	defer world.Close()
	c.note(fmt.Sprintf("recording %d simulated days of %d servers into %s", *days, *servers, root))
	began := time.Now()
	commits, err := demoDays(ctx, c, root, world, *days)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%d days, %d commits in %s (%.1f s)\n", *days, commits, root, time.Since(began).Seconds())
	fmt.Fprintf(c.stdout, "look around with:\n  git -C %s log --stat\n  mcpstrata verify -data %s\n", root, filepath.Join(root, "data"))
	return nil
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

// demoDays runs the daily job once a simulated day and returns how many days
// were committed.
func demoDays(ctx context.Context, c *call, root string, world *fleet.Fleet, days int) (commits int, err error) {
	meter := progress.New(c.stderr, "mcpstrata: demo: recorded days", time.Now)
	defer meter.Done()
	for day := range days {
		if err := world.SetDay(day); err != nil {
			return commits, err
		}
		r, err := daily.Run(ctx, daily.Config{
			Data: filepath.Join(root, "data"), Registry: world.RegistryURL(), Timeout: demoTimeout, AllowPrivate: true,
			Version: version, UserAgent: userAgent, Vantage: "demo", Clock: daily.FastClockAt(world.Day(day).Time().Add(demoHour)),
			Simulated: true, Seed: func() int64 { return int64(day) }, Scaffold: scaffold(), Step: c.step,
			Log: func(string) {},
		})
		if err != nil {
			return commits, fmt.Errorf("recording %s: %w", world.Day(day), errors.Join(err, context.Cause(ctx)))
		}
		if r.Commit != "" {
			commits++
		}
		meter.Set(day+1, days, 0)
	}
	return commits, nil
}
