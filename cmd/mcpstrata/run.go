package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/ledger"
	"github.com/mcpstrata/mcpstrata/internal/progress"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/site"
	"github.com/mcpstrata/mcpstrata/templates"
)

// defaultBudget is the time after which a run starts no further probe. A whole
// sweep takes 15 to 25 minutes; hosts with thousands of names take an hour.
const defaultBudget = 2 * time.Hour

// defaultPace is the least time between two probe starts at one host and port
// (DESIGN.md section 12).
const defaultPace = time.Second

// jobFlags are the flags of run; a stage takes those that concern it.
type jobFlags struct {
	data, registry, methodology, listing, now, vantage string
	limit                                              int
	pace, timeout, budget                              time.Duration
	allowPrivate                                       bool
}

func (f *jobFlags) dataFlag(c *call) {
	c.flags.StringVar(&f.data, "data", "data", "the data folder, in a git repository")
}

func (f *jobFlags) planFlags(c *call) {
	c.flags.StringVar(&f.registry, "registry", record.Source, "`URL` of the registry's list of servers")
	c.flags.StringVar(&f.methodology, "methodology", strings.Join(methodologyVersions(), ","), "comma-separated `versions` to read with")
	c.flags.StringVar(&f.listing, "listing", "latest", "which `rows` to list: latest or all")
	c.flags.IntVar(&f.limit, "limit", 0, "probe the first `N` targets only; such a run is no sample (0: all)")
	c.flags.DurationVar(&f.pace, "pace", defaultPace, "least time between two probe starts at one host; only with -allow-private")
	c.flags.StringVar(&f.now, "now", "", "`time` to take for now, as 2006-01-02T15:04:05Z; only with -allow-private")
	c.flags.StringVar(&f.vantage, "vantage", "", "where the reader stands, for the record (default: github-actions there, else unstated)")
}

func (f *jobFlags) probeFlags(c *call) {
	c.flags.DurationVar(&f.timeout, "timeout", record.V1.RequestTimeout, "longest time for one request; only with -allow-private")
	c.flags.BoolVar(&f.allowPrivate, "allow-private", false, "dial private addresses too: for tests and for networks of your own")
}

func (f *jobFlags) budgetFlag(c *call) {
	c.flags.DurationVar(&f.budget, "budget", defaultBudget, "start no probe after this `time`; what is left counts as missed (0: no end)")
}

// config checks the flags and returns the job that they describe.
func (f *jobFlags) config(c *call) (daily.Config, error) {
	var cfg daily.Config
	set := map[string]bool{}
	c.flags.Visit(func(fl *flag.Flag) { set[fl.Name] = true })
	for _, name := range []string{"pace", "timeout", "now"} {
		if set[name] && !f.allowPrivate {
			return cfg, usageError{"-" + name + " changes how the public is read: it goes with -allow-private only"}
		}
	}
	if f.limit < 0 || f.pace < 0 || f.timeout < 0 || f.budget < 0 {
		return cfg, usageError{"-limit, -pace, -timeout and -budget can't be negative"}
	}
	if f.listing != "" && f.listing != "latest" && f.listing != "all" {
		return cfg, usageError{fmt.Sprintf("-listing %q: it is latest or all", f.listing)}
	}
	versions := strings.Split(f.methodology, ",")
	if f.methodology == "" {
		versions = nil
	}
	for i, v := range versions {
		if _, ok := record.MethodologyByVersion(v); !ok || slices.Contains(versions[:i], v) {
			return cfg, usageError{fmt.Sprintf("-methodology %q: this version reads with %s", f.methodology, strings.Join(methodologyVersions(), ", "))}
		}
	}
	vantage := f.vantage
	if vantage == "" && os.Getenv("GITHUB_ACTIONS") == "true" {
		vantage = "github-actions"
	}
	cfg = daily.Config{
		Data: f.data, Registry: f.registry, Listing: f.listing, Methodologies: versions, Limit: f.limit, Pace: f.pace,
		Timeout: f.timeout, Budget: f.budget, AllowPrivate: f.allowPrivate, Version: version, UserAgent: userAgent, Vantage: vantage,
		Scaffold: scaffold(), Log: c.note, Step: c.step,
	}
	if f.now != "" {
		t, err := time.Parse("2006-01-02T15:04:05Z", f.now)
		if err != nil {
			return cfg, usageError{fmt.Sprintf("-now %q: it is not a time of the form 2006-01-02T15:04:05Z", f.now)}
		}
		cfg.Clock, cfg.Simulated = daily.ClockAt(t), true
	}
	return cfg, nil
}

// open checks the flags and opens the job that they describe.
func (f *jobFlags) open(ctx context.Context, c *call) (*daily.Job, error) {
	cfg, err := f.config(c)
	if err != nil {
		return nil, err
	}
	return daily.Open(ctx, cfg)
}

// scaffold returns the files that a data folder holds beside the series.
func scaffold() fs.FS { return templates.Data() }

func runDaily(ctx context.Context, c *call) error {
	var f jobFlags
	f.dataFlag(c)
	f.planFlags(c)
	f.probeFlags(c)
	f.budgetFlag(c)
	push := c.flags.Bool("push", false, "push the commit to the remote "+daily.Remote)
	out := c.flags.String("site", siteDir, "the `folder` to build the site in; empty: build none")
	base := baseFlag(c)
	if _, err := c.parse(0, 0); err != nil {
		return err
	}
	cfg, err := f.config(c)
	if err != nil {
		return err
	}
	if _, err := site.ParseBase(*base); err != nil {
		return usageError{"-base: " + err.Error()}
	}
	if *out != "" {
		cfg.Site = c.siteBuilder(cfg.Data, site.Config{Out: *out, Base: *base})
	}
	meter := progress.New(c.stderr, "mcpstrata: run: probed", time.Now)
	cfg.Progress = meter.Set
	r, err := daily.Run(ctx, cfg)
	meter.Done()
	if err != nil {
		return explain(err)
	}
	if !r.Final {
		if err := c.tell(r, cfg.Methodologies); err != nil {
			return err
		}
	}
	if *push {
		if err := daily.Push(ctx, cfg); err != nil {
			return errors.Join(err, explain(r.Site))
		}
	}
	return explain(r.Site)
}

// tell prints what a run recorded.
func (c *call) tell(r *daily.Result, methodologies []string) error {
	c.warn(r.Run)
	w := &lines{w: c.stdout}
	for _, m := range record.Methodologies {
		v := m.Version
		if !slices.Contains(methodologies, v) {
			continue
		}
		m := r.Run.Methodologies[v]
		coverage := fmt.Sprintf("coverage %d.%02d %%", m.Coverage/100, m.Coverage%100)
		if r.Run.Partial {
			coverage = "partial"
		}
		w.printf("%s %s: %s targets, %s probed, %s answered, %d changed, %s, commit %s\n", r.Run.Run, v,
			progress.Count(m.Targets), progress.Count(m.Attempted), progress.Count(m.Answered), r.Drifted[v], coverage, r.Commit[:12])
	}
	return w.err
}

// warn says what a reader of the figures of a run has to know.
func (c *call) warn(r record.Run) {
	if r.Partial {
		c.note("this run is partial and no sample: the registry is not homogeneous in its order (250 targets measured auth 38 %, no_endpoint 26 %; all 23,231 measured 13 %, 51 %)")
	}
	if r.Degraded {
		c.note("this run is degraded: fewer than 90 % of the active targets reached their server")
	}
	if !r.RosterComplete {
		c.note("the roster of this run is not complete: nothing was retired by it")
	}
}

// explain adds a hint to errors that have none of their own.
func explain(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return &daily.HintError{Err: err, Next: "make room and run again: a stage that was whole is rolled forward, and nothing else was recorded"}
	}
	if errors.Is(err, ledger.ErrNothingAttempted) {
		return &daily.HintError{Err: err, Next: "nothing was committed; see whether the registry lists servers with an endpoint, and whether -limit leaves any that an earlier run of the day did not read"}
	}
	return err
}
