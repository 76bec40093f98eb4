package daily

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/ledger"
	"github.com/mcpstrata/mcpstrata/internal/mcp"
	"github.com/mcpstrata/mcpstrata/internal/probe"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/registry"
	"github.com/mcpstrata/mcpstrata/internal/safehttp"
	"github.com/mcpstrata/mcpstrata/internal/sweep"
	"github.com/mcpstrata/mcpstrata/internal/target"
)

// OptOutPath is the list of targets that asked not to be read, in the data
// folder.
const OptOutPath = "opt-out.txt"

// ListingPath returns the path of the listing that travels with a plan.
func ListingPath(plan string) string { return plan + ".listing.jsonl" }

// Roster reads the registry and writes the plan of today's run to out, and the
// listing beside it; both are durable when it returns. Where the day is final it
// writes an empty file and returns nil: there is nothing to do.
func (j *Job) Roster(ctx context.Context, out string) (*sweep.Plan, error) {
	tree, _, err := j.tree()
	if err != nil {
		return nil, err
	}
	now := j.cfg.Clock.Now()
	header, earlier, err := j.planHeader(tree, record.DayOf(now))
	if err != nil {
		return nil, err
	}
	header.Planned = record.At(now)
	if earlier != nil && !earlier.Partial && !earlier.Degraded {
		j.cfg.Log(fmt.Sprintf("%s is recorded and final (run %s): nothing was probed", header.Day, earlier.Run))
		return nil, archive.WriteDurable(out, func(io.Writer) error { return nil })
	}
	listing, err := j.listing(ctx, tree, earlier)
	if err != nil {
		return nil, err
	}
	plan, err := j.plan(tree, header, listing, earlier)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if _, err := listing.WriteTo(&buf); err != nil {
		return nil, fmt.Errorf("writing the listing: %w", err)
	}
	plan.Header.Listing = canon.Sum(buf.Bytes())
	if err := archive.WriteDurable(ListingPath(out), func(w io.Writer) error { _, err := w.Write(buf.Bytes()); return err }); err != nil {
		return nil, fmt.Errorf("writing the listing: %w", err)
	}
	if err := archive.WriteDurable(out, func(w io.Writer) error { _, err := plan.Write(w); return err }); err != nil {
		return nil, fmt.Errorf("writing the plan: %w", err)
	}
	return plan, nil
}

// planHeader returns the header of today's plan, and the record of the newest
// run of today if there was one.
func (j *Job) planHeader(tree *archive.Tree, day record.Day) (record.PlanHeader, *record.Run, error) {
	h := record.PlanHeader{
		Allow: j.cfg.AllowPrivate, Day: day, Limit: j.cfg.Limit, Methodologies: j.cfg.Methodologies,
		PaceMS: j.cfg.Pace.Milliseconds(), ProberVersion: j.cfg.Version, Seed: j.seed(), Vantage: j.cfg.Vantage,
		TimeoutMS: j.cfg.Timeout.Milliseconds(),
	}
	if j.cfg.Simulated {
		h.Clock = "simulated"
	}
	if h.TimeoutMS == 0 {
		h.TimeoutMS = record.V1.RequestTimeout.Milliseconds()
	}
	runs, err := tree.Runs()
	if err != nil {
		return h, nil, err
	}
	h.Run = record.RunID(day, 1)
	if len(runs) == 0 {
		return h, nil, nil
	}
	last, _, err := tree.Run(runs[len(runs)-1])
	if err != nil {
		return h, nil, err
	}
	switch {
	case last.Day < day:
		return h, nil, nil
	case last.Day > day:
		return h, nil, &HintError{
			fmt.Errorf("the clock says %s, but %s is recorded", day, last.Day),
			"set the clock; records are in the order of their days and can't be added before the newest",
		}
	}
	_, n, err := record.ParseRunID(last.Run)
	h.Run = record.RunID(day, n+1)
	return h, &last, err
}

func (j *Job) seed() int64 {
	if j.cfg.Seed != nil {
		return j.cfg.Seed()
	}
	var b [8]byte
	rand.Read(b[:]) // it never fails
	return int64(binary.LittleEndian.Uint64(b[:]) >> 11)
}

// listing reads the registry, or, for a run that completes its day, keeps the
// day's roster.
func (j *Job) listing(ctx context.Context, tree *archive.Tree, earlier *record.Run) (*registry.Listing, error) {
	if earlier != nil {
		return &registry.Listing{ListingHeader: record.ListingHeader{
			Asked: []record.Asked{}, Complete: earlier.RosterComplete, Finished: record.At(j.cfg.Clock.Now()), Kept: true,
			Malformed: []record.Malformed{}, Pages: []record.Page{}, Started: record.At(j.cfg.Clock.Now()),
		}}, nil
	}
	source := j.cfg.Registry
	if source == "" {
		source = record.Source
	}
	c := &registry.Client{
		HTTP:   safehttp.New(safehttp.Config{AllowPrivate: j.cfg.AllowPrivate, UserAgent: j.cfg.UserAgent, MaxBody: registry.MaxPage}),
		Source: source, Listing: j.cfg.Listing, Now: j.cfg.Clock.Now, Sleep: j.cfg.Clock.Sleep,
	}
	defer c.HTTP.CloseIdleConnections()
	l, err := c.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the registry %s: %w", source, err)
	}
	if !l.Complete {
		j.cfg.Log("the listing is not complete: " + l.Reason)
		return l, nil
	}
	missing, err := ledger.Missing(tree, l.Rows)
	if err != nil {
		return nil, err
	}
	if err := c.Ask(ctx, l, missing); err != nil {
		return nil, fmt.Errorf("asking the registry for names that its listing lacks: %w", err)
	}
	return l, nil
}

// plan joins the listing with the tree and says of each target what to do.
func (j *Job) plan(tree *archive.Tree, h record.PlanHeader, l *registry.Listing, earlier *record.Run) (*sweep.Plan, error) {
	pop, err := ledger.Populate(tree, l.ListingHeader, l.Rows)
	if err != nil {
		return nil, err
	}
	b, err := tree.ReadFile(OptOutPath)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", OptOutPath, err)
	}
	optOut, err := target.ParseOptOut(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", OptOutPath, err)
	}
	h.Roster = record.RosterDigest(l.Pages)
	if earlier != nil {
		h.Roster = earlier.Roster
	}
	p := &sweep.Plan{Header: h}
	for i, t := range target.Choose(pop.ListingRows(), optOut) {
		p.Targets = append(p.Targets, record.PlanTarget{
			Endpoint: t.Endpoint, Flags: t.Flags, Name: t.Name, Reason: t.Reason,
			Missed: h.Limit > 0 && i >= h.Limit && t.Endpoint != "",
		})
	}
	for _, m := range h.Methodologies {
		if err := j.planMethodology(tree, p, m, earlier); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// planMethodology enters what a methodology knows of each target: its head, and
// whether the day's earlier runs read it.
func (j *Job) planMethodology(tree *archive.Tree, p *sweep.Plan, m string, earlier *record.Run) error {
	rows, err := tree.Current(m)
	if err != nil {
		return err
	}
	heads := map[string]*record.Head{}
	for _, o := range rows {
		heads[o.Name] = o.Head
	}
	skip := map[string]bool{}
	if earlier != nil {
		if skip, err = ledger.Skips(tree, p.Header, p.Targets, m, earlier.Degraded); err != nil {
			return err
		}
	}
	for i := range p.Targets {
		t := &p.Targets[i]
		if h := heads[t.Name]; h != nil && t.Endpoint != "" {
			if t.Heads == nil {
				t.Heads = map[string]record.PlanHead{}
			}
			t.Heads[m] = record.PlanHead{Identity: h.Identity, Tools: h.Tools}
		}
		if skip[t.Name] {
			t.Skip = append(t.Skip, m)
		}
	}
	return nil
}

// Probe executes one shard of a plan and writes the shard file to out.
func (j *Job) Probe(ctx context.Context, plan string, shard, of int, out string) (sweep.Stats, error) {
	return Probe(ctx, j.cfg, plan, shard, of, out)
}

// Probe executes one shard of a plan, of as many as there are, and writes the
// shard file to out. It needs no repository.
func Probe(ctx context.Context, cfg Config, plan string, shard, of int, out string) (stats sweep.Stats, err error) {
	p, digest, err := readPlan(plan)
	if err != nil {
		return stats, err
	}
	if p == nil {
		return stats, &HintError{fmt.Errorf("%s is empty: its day is final", plan), "there is nothing to probe"}
	}
	if cfg.Clock == nil && p.Header.Clock != "" {
		cfg.Clock = ClockAt(p.Header.Planned.Time)
	} else if cfg.Clock == nil {
		cfg.Clock = sweep.RealClock{}
	}
	if p.Header.Allow != cfg.AllowPrivate {
		return stats, &HintError{fmt.Errorf("%s was made with private addresses allowed: %v, and is probed with: %v", plan, p.Header.Allow, cfg.AllowPrivate), "give -allow-private to both or to neither"}
	}
	if cfg.Timeout != 0 && cfg.Timeout.Milliseconds() != p.Header.TimeoutMS {
		return stats, &HintError{fmt.Errorf("%s was made for a timeout of %d ms", plan, p.Header.TimeoutMS), "give -timeout to `mcpstrata roster`: the record states what the plan says"}
	}
	client := safehttp.New(safehttp.Config{AllowPrivate: cfg.AllowPrivate, UserAgent: cfg.UserAgent})
	defer client.CloseIdleConnections()
	config := sweep.Config{
		Prober: &probe.Prober{MCP: &mcp.Client{HTTP: client, Now: cfg.Clock.Now}}, Workers: cfg.Workers, Clock: cfg.Clock,
		Progress: cfg.Progress, Shard: shard, Of: of, Budget: cfg.Budget,
	}
	err = archive.WriteDurable(out, func(w io.Writer) error {
		buf := bufio.NewWriterSize(w, 1<<20)
		sw := sweep.WriteShard(buf, p.ShardHeader(digest, shard, of))
		if stats, err = sweep.Run(ctx, p, config, sw.Write); err != nil {
			return errors.Join(err, buf.Flush())
		}
		return errors.Join(sw.Close(), buf.Flush())
	})
	if err != nil {
		return stats, fmt.Errorf("probing: %w", err)
	}
	if stats.SecondsMissed > 0 && cfg.Log != nil {
		cfg.Log(fmt.Sprintf("%d second readings were not made, for want of time or of memory; what they were to confirm is recorded unconfirmed", stats.SecondsMissed))
	}
	if stats.Missed > 0 && cfg.Log != nil {
		cfg.Log(fmt.Sprintf("the budget of %s was spent; %d probes were not started and count as missed", cfg.Budget, stats.Missed))
	}
	return stats, nil
}

// readPlan reads a plan. It returns nil for the empty plan of a final day.
func readPlan(name string) (*sweep.Plan, canon.Digest, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, "", fmt.Errorf("reading the plan: %w", err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.Size() == 0 {
		return nil, "", nil
	}
	p, d, err := sweep.ReadPlan(f)
	if err != nil {
		return nil, "", fmt.Errorf("reading the plan %s: %w", name, err)
	}
	return p, d, nil
}

// Record stages the records of a run from its plan and shard files. Shards that
// are missing or were cut make the run partial. Nothing is kept of a run that
// probed nothing.
func (j *Job) Record(plan string, shards []string) (*ledger.Summary, error) {
	p, digest, err := readPlan(plan)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, &HintError{fmt.Errorf("%s is empty: its day is final", plan), "there is nothing to record"}
	}
	listing, err := readListing(ListingPath(plan), p.Header.Listing)
	if err != nil {
		return nil, err
	}
	tree, parent, err := j.tree()
	if err != nil {
		return nil, err
	}
	if err := j.fits(tree, p); err != nil {
		return nil, err
	}
	set, err := j.openShards(shards, digest, p.Header.Run)
	if err != nil {
		return nil, err
	}
	defer set.close()
	if old, _, err := archive.OpenStage(j.repo.GitDir(), nil); err != nil {
		return nil, err
	} else if old != nil {
		return nil, &HintError{fmt.Errorf("a run is staged already"), "`mcpstrata commit` commits it"}
	}
	stage, err := archive.NewStage(j.repo.GitDir(), j.cfg.Step)
	if err != nil {
		return nil, err
	}
	s, err := ledger.Record(ledger.Input{
		Tree: tree, Plan: p.Header, Targets: p.Targets, Listing: listing.ListingHeader, Rows: listing.Rows,
		Results: set.results, Missing: set.missing, Shards: set.of, Log: j.cfg.Log,
		BlobID: gitrepo.BlobID, Put: stage.Put, Remove: stage.Remove,
	})
	if err == nil {
		err = j.scaffold(tree, stage)
	}
	if err == nil {
		err = stage.Seal(p.Header.Run, parent, s.Message, s.Run.Finished)
	}
	if err != nil {
		if j.cfg.Step == nil { // a crash leaves the stage as it is
			err = errors.Join(err, stage.Discard())
		}
		return nil, err
	}
	return s, nil
}

// fits reports whether a plan is of the next run on top of the tree.
func (j *Job) fits(tree *archive.Tree, p *sweep.Plan) error {
	runs, err := tree.Runs()
	if err != nil {
		return err
	}
	next := record.RunID(p.Header.Day, 1)
	if len(runs) > 0 {
		newest := runs[len(runs)-1]
		day, n, err := record.ParseRunID(newest)
		switch {
		case err != nil:
			return err
		case slices.Contains(runs, p.Header.Run):
			return &HintError{fmt.Errorf("the run %s is already recorded", p.Header.Run), "make a new plan with `mcpstrata roster`"}
		case day > p.Header.Day:
			return &HintError{fmt.Errorf("the plan is of the run %s, but %s is recorded", p.Header.Run, newest), "records are in the order of their days; make a new plan with `mcpstrata roster`"}
		case day == p.Header.Day:
			next = record.RunID(day, n+1)
		}
	}
	if p.Header.Run != next {
		return &HintError{fmt.Errorf("the plan is of the run %s, but the next run of that day is %s", p.Header.Run, next), "make a new plan with `mcpstrata roster`"}
	}
	return nil
}

// scaffold stages the files that a data folder holds beside the series, where
// the tree lacks them.
func (j *Job) scaffold(tree *archive.Tree, stage *archive.Stage) error {
	if j.cfg.Scaffold == nil {
		return nil
	}
	return fs.WalkDir(j.cfg.Scaffold, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if was, err := tree.ReadFile(name); err != nil || was != nil {
			return err
		}
		b, err := fs.ReadFile(j.cfg.Scaffold, name)
		if err != nil {
			return err
		}
		return stage.Put(name, b)
	})
}

func readListing(name string, want canon.Digest) (*registry.Listing, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &HintError{fmt.Errorf("the listing %s is missing: a plan is not recorded without it", name), "keep both files that `mcpstrata roster` wrote together"}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the listing: %w", err)
	}
	if got := canon.Sum(b); got != want {
		return nil, &HintError{fmt.Errorf("the listing %s is not the one that the plan was made from", name), "keep both files that `mcpstrata roster` wrote together"}
	}
	l, err := registry.ReadListing(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("reading the listing %s: %w", name, err)
	}
	return l, nil
}

// shardSet is the shard files of one run that are whole.
type shardSet struct {
	files   []*os.File
	missing []int // numbers of those that are not there or were cut
	of      int
}

// openShards opens the shard files of a run and leaves out those that were cut.
func (j *Job) openShards(names []string, plan canon.Digest, run string) (*shardSet, error) {
	s := &shardSet{of: 1}
	var headers []record.ShardHeader
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("reading a shard: %w", err)
		}
		s.files = append(s.files, f)
		h, complete, err := sweep.CheckShard(f)
		switch {
		case err != nil:
			s.close()
			return nil, fmt.Errorf("reading the shard %s: %w", name, err)
		case !complete:
			j.cfg.Log(fmt.Sprintf("%s was cut; its targets count as missed", name))
			s.files = s.files[:len(s.files)-1]
			f.Close()
			continue
		case h.Plan != plan || h.Run != run:
			s.close()
			return nil, &HintError{fmt.Errorf("%s holds results of another plan than %s", name, run), "give the plan that the shard was probed with"}
		}
		headers = append(headers, h)
		s.of = h.Of
	}
	if err := sweep.MergeCheck(headers); err != nil {
		s.close()
		return nil, err
	}
	for i := 1; i <= s.of; i++ {
		if !slices.ContainsFunc(headers, func(h record.ShardHeader) bool { return h.Shard == i }) {
			s.missing = append(s.missing, i)
		}
	}
	return s, nil
}

func (s *shardSet) close() {
	for _, f := range s.files {
		f.Close()
	}
}

// results yields the results of all shards.
func (s *shardSet) results(yield func(record.Result) error) error {
	for _, f := range s.files {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, _, err := sweep.ReadShard(f, yield); err != nil {
			return err
		}
	}
	return nil
}
