package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpstrata/mcpstrata/ci/real/catalog"
	"github.com/mcpstrata/mcpstrata/ci/real/peers"
	"github.com/mcpstrata/mcpstrata/ci/real/tape"
)

// firstDay is when the simulated series begins; each upgrade is a day later.
var firstDay = time.Date(2026, 11, 30, 3, 15, 0, 0, time.UTC)

// A target is one server with its proxy, and what was seen of it.
type target struct {
	peers.Peer
	running *peers.Running
	proxy   *tape.Proxy
	mark    int      // exchanges before the run that is being checked
	now     *reading // the newest run's
	kept    *reading // the one whose bytes the archive must hold
	was     *reading // the one kept before
	newer   line     // the same under v2
	since   string   // day of kept
}

// name is the server's registry name.
func (t *target) name() string { return peers.Namespace + t.Name }

// endpoint is the URL that its registry row declares.
func (t *target) endpoint() string { return "http://" + t.proxy.Addr() + "/mcp" }

// A series is the state of the check from day to day.
type series struct {
	*job
	repo    *repo
	site    string // where each run builds the site
	host    *peers.Host
	rows    *catalog.Catalog
	targets []*target
	day     time.Time
	commits int
}

// servers checks runs over real MCP servers.
func servers(ctx context.Context, j *job) error {
	s := &series{job: j, day: firstDay}
	defer s.stop()
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := s.firstRun(ctx); err != nil {
		return err
	}
	if err := s.sameDay(ctx); err != nil {
		return err
	}
	for _, t := range s.targets {
		if t.Upgrade == nil {
			continue
		}
		if err := s.upgradeDay(ctx, t); err != nil {
			return err
		}
	}
	return s.soundness(ctx)
}

// start installs and starts the servers, their proxies and the registry.
func (s *series) start(ctx context.Context) error {
	for _, p := range peers.All() {
		if s.only == nil || slices.Contains(s.only, p.Name) {
			s.targets = append(s.targets, &target{Peer: p})
		}
	}
	if len(s.targets) == 0 || s.only != nil && len(s.targets) != len(s.only) {
		return fmt.Errorf("choosing servers: -only %s names an unknown one", strings.Join(s.only, ","))
	}
	s.host = &peers.Host{Group: s.kids, Temp: s.dir}
	if slices.ContainsFunc(s.targets, func(t *target) bool { return t.First.Script != "" }) {
		began := time.Now()
		var err error
		if s.host.Node, err = peers.Install(ctx, s.dir); err != nil {
			return err
		}
		s.Note("npm servers installed in %s", time.Since(began).Round(time.Second))
	}
	if err := s.startServers(ctx); err != nil {
		return err
	}
	var entries []catalog.Entry
	for _, t := range s.targets {
		entries = append(entries, catalog.Entry{
			Name: t.name(), Title: t.Title, Version: t.First.Version, URL: t.endpoint(), Updated: firstDay.AddDate(0, 0, -1),
		})
	}
	var err error
	if s.rows, err = catalog.Start(entries); err != nil {
		return err
	}
	s.site = filepath.Join(s.dir, "site")
	s.repo, err = s.newRepo(ctx, "series")
	return err
}

// startServers starts all servers at once, and a proxy before each.
func (s *series) startServers(ctx context.Context) error {
	errs := make([]error, len(s.targets))
	var wg sync.WaitGroup
	for i, t := range s.targets {
		wg.Go(func() {
			if t.running, errs[i] = s.host.Start(ctx, t.Name, t.First); errs[i] == nil {
				t.proxy, errs[i] = tape.Start(t.running.Addr)
			}
		})
	}
	wg.Wait()
	for i, t := range s.targets {
		s.OK(errs[i] == nil, "start %s %s (%s)", t.Name, t.First.Version, t.Title)
		if errs[i] != nil {
			return errs[i]
		}
	}
	return nil
}

// stop ends what child.Group does not own.
func (s *series) stop() {
	for _, t := range s.targets {
		if t.proxy != nil {
			t.proxy.Close()
		}
		if t.running != nil && t.running.Stop != nil {
			t.running.Stop()
		}
	}
	if s.rows != nil {
		s.rows.Close()
	}
}

// date is the day of the run, as files and rows name it.
func (s *series) date() string { return s.day.Format(time.DateOnly) }

// run makes one run of the program under test, and reads the tape.
func (s *series) run(ctx context.Context) (said, error) {
	for _, t := range s.targets {
		t.mark = t.proxy.Len()
	}
	return s.repo.call(ctx, "run", "-data", s.repo.data(), "-registry", s.rows.URL(), "-methodology", "v1,v2",
		"-allow-private", "-pace", "0s", "-now", s.day.Format(time.RFC3339), "-site", s.site)
}

// firstRun checks the baseline: every server's row and bytes.
func (s *series) firstRun(ctx context.Context) error {
	if err := s.fullRun(ctx, nil); err != nil {
		return err
	}
	for _, t := range s.targets {
		t.kept, t.newer.kept, t.since = t.now, t.newer.now, s.date()
	}
	if err := s.checkRows(ctx, "v1", s.checkRow); err != nil {
		return err
	}
	if err := s.checkRows(ctx, "v2", s.checkNewerRow); err != nil {
		return err
	}
	if err := s.checkArtifacts(ctx); err != nil {
		return err
	}
	return s.checkPages()
}

// fullRun makes a run that must probe every server once under each methodology,
// the upgraded one twice under v2, and checks what it sent, and that it left one
// more commit.
func (s *series) fullRun(ctx context.Context, upgraded *target) error {
	said, err := s.run(ctx)
	if err != nil {
		return err
	}
	if !s.OK(said.code == 0, "%s: run exits 0, got %d", s.date(), said.code) {
		return fmt.Errorf("run of %s ended with %d:\n%s", s.date(), said.code, said.last())
	}
	for _, t := range s.targets {
		if err := s.readAll(t, t == upgraded); err != nil {
			return err
		}
	}
	s.commits++
	return s.checkCommits(ctx)
}

// sameDay checks that a second run of a final day does nothing, and says so.
func (s *series) sameDay(ctx context.Context) error {
	said, err := s.run(ctx)
	if err != nil {
		return err
	}
	s.OK(said.code == 0, "second run of %s: exits 0, got %d", s.date(), said.code)
	requests := 0
	for _, t := range s.targets {
		requests += t.proxy.Len() - t.mark
	}
	s.OK(requests == 0, "second run of %s: %d requests reached a server, want 0", s.date(), requests)
	s.OK(nothingDone.Match(said.err), "second run of %s: stderr says that there is nothing to do: %q", s.date(), said.last())
	return s.checkCommits(ctx)
}

// upgradeDay puts the newer release of one server in place and checks that the
// next day's run reports its drift and no other.
func (s *series) upgradeDay(ctx context.Context, t *target) error {
	s.day = s.day.AddDate(0, 0, 1)
	next, err := s.host.Start(ctx, t.Name, *t.Upgrade)
	if err != nil {
		return err
	}
	t.proxy.Retarget(next.Addr)
	t.running.Stop()
	t.running = next
	s.rows.Release(t.name(), t.Upgrade.Version, s.day.Add(-time.Hour))
	s.Note("%s: %s is upgraded from %s to %s", s.date(), t.Name, t.First.Version, t.Upgrade.Version)
	if err := s.fullRun(ctx, t); err != nil {
		return err
	}
	t.was, t.kept, t.since = t.kept, t.now, s.date()
	t.newer.was, t.newer.kept = t.newer.kept, t.newer.now
	if err := s.checkEvents(t); err != nil {
		return err
	}
	if err := s.checkRows(ctx, "v1", s.checkRow); err != nil {
		return err
	}
	if err := s.checkRows(ctx, "v2", s.checkNewerRow); err != nil {
		return err
	}
	if err := s.checkArtifacts(ctx); err != nil {
		return err
	}
	return s.checkPages()
}
