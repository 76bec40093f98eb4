// Package daily is the daily job as one function: plan, sweep, ledger, archive,
// commit, and a site builder passed in.
//
// [Run] is made of the same stages that can be run one by one, on one machine or
// spread over several: [Job.Roster] writes a plan and the listing it was made
// from, [Job.Probe] executes a plan or one shard of it, [Job.Record] stages what
// the shards hold, [Job.Commit] moves the stage into the data folder and commits
// it.
//
// # What a crash leaves
//
// Until the stage is whole nothing of a run is recorded, and the next start says
// so and discards it. From then on nothing of it can be lost: the next start
// rolls it forward and commits it under its own day.
//
// # One run a day
//
// A run is named by the UTC day on which its plan was made. A complete run is
// final; a partial or degraded one is completed by another run of that day,
// which keeps the day's roster (DESIGN.md section 5).
package daily

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/sweep"
)

// A Config says what a job reads and how. Every seam has a nil that stands for
// the real thing.
type Config struct {
	Data          string        // the data folder, in the work tree of a git repository
	Registry      string        // URL of the list of servers; empty is record.Source
	Listing       string        // latest or all; empty is latest
	Methodologies []string      // versions, in any order; empty is all that this version reads with
	Limit         int           // probe the first so many targets only; 0 is all
	Pace          time.Duration // between two probe starts at one host and port; 0 is none
	Timeout       time.Duration // per request; 0 is what the methodology says
	AllowPrivate  bool          // dial private addresses: tests and the demo
	Version       string        // of the prober
	UserAgent     string
	Vantage       string        // where the reader stands, such as github-actions
	Workers       int           // probes in flight; 0 is sweep.DefaultWorkers
	Budget        time.Duration // no probe is started after it; 0 is none

	Clock     sweep.Clock       // nil is the system's
	Simulated bool              // the clock is not the system's, and the records say so
	Seed      func() int64      // of the shuffle, below 2^53; nil is random
	Scaffold  fs.FS             // files that a data folder holds beside the series; missing ones are added. nil: none
	Log       func(line string) // one line for people per thing worth saying; nil: silence
	Progress  func(done, total, inFlight int)
	Step      func(string) error // called before each durable step; an error stops as a crash would

	// Site builds the site from the data folder; nil: none is built. Run calls it
	// last, while it still holds the lock, also on a day that is final.
	Site func(ctx context.Context) error
}

// A Job is a daily job on one repository. Only one job works on a repository at
// a time: [Open] takes its lock.
type Job struct {
	cfg     Config
	repo    *gitrepo.Repo
	release func() error
}

// A HintError is an error that knows what its reader can do.
type HintError struct {
	Err  error
	Next string
}

func (e *HintError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *HintError) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *HintError) Hint() string { return e.Next }

// Open locks the repository that holds cfg.Data and settles what an earlier run
// left: a whole stage is rolled forward, an incomplete one discarded. Then the
// data folder has to be as the newest commit has it.
func Open(ctx context.Context, cfg Config) (*Job, error) {
	j, err := newJob(cfg)
	if err != nil {
		return nil, err
	}
	if err := j.settle(ctx); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// newJob locks the repository.
func newJob(cfg Config) (*Job, error) {
	if cfg.Clock == nil {
		cfg.Clock = sweep.RealClock{}
	}
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	cfg.Methodologies = inOrder(cfg.Methodologies)
	repo, err := gitrepo.Open(cfg.Data)
	if err != nil {
		return nil, err
	}
	release, err := archive.Lock(repo.GitDir())
	if err != nil {
		return nil, err
	}
	return &Job{cfg: cfg, repo: repo, release: release}, nil
}

// inOrder returns versions of methodologies in the order in which they read,
// oldest first, and all where none is named. One that is not known stays, for the
// plan to refuse.
func inOrder(versions []string) []string {
	place := func(v string) int {
		return slices.IndexFunc(record.Methodologies, func(m record.Methodology) bool { return m.Version == v })
	}
	if len(versions) == 0 {
		for _, m := range record.Methodologies {
			versions = append(versions, m.Version)
		}
		return versions
	}
	versions = slices.Clone(versions)
	slices.SortStableFunc(versions, func(a, b string) int { return place(a) - place(b) })
	return versions
}

// Close releases the lock.
func (j *Job) Close() error { return j.release() }

// settle deals with what an earlier run left and checks the data folder.
func (j *Job) settle(ctx context.Context) error {
	stage, whole, err := archive.OpenStage(j.repo.GitDir(), j.cfg.Step)
	switch {
	case err != nil:
		return err
	case stage == nil:
		if err := j.tellUnrecorded(); err != nil {
			return err
		}
	case whole:
		run := stage.Manifest().Run
		if _, err := j.rollForward(ctx, stage); err != nil {
			return fmt.Errorf("rolling forward the run %s: %w", run, err)
		}
		j.cfg.Log(fmt.Sprintf("rolled forward the run %s, which an earlier start had recorded", run))
	default:
		if err := stage.Discard(); err != nil {
			return err
		}
		j.cfg.Log("discarded what a run that died had staged; nothing of it was recorded")
	}
	if err := os.RemoveAll(j.runDir()); err != nil {
		return fmt.Errorf("removing the files of an earlier run: %w", err)
	}
	return j.clean()
}

// tellUnrecorded says that the plan and the results of an earlier run are
// discarded, where that run was never recorded.
func (j *Job) tellUnrecorded() error {
	if _, err := os.Stat(j.runDir()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if p, _, err := readPlan(filepath.Join(j.runDir(), planName)); err == nil && p != nil {
		tree, _, err := j.tree()
		if err != nil {
			return err
		}
		if b, err := tree.ReadFile(archive.RunPath(p.Header.Run)); err != nil || b != nil {
			return err
		}
	}
	j.cfg.Log("discarded the plan and the results of a run that died before it was recorded")
	return nil
}

// explained reports whether the data folder is as the newest commit has it, but
// for files that an earlier start has placed from the stage.
func (j *Job) explained(m archive.Manifest) error {
	dirty, err := j.repo.Dirty()
	if err != nil {
		return fmt.Errorf("comparing %s with the newest commit: %w", j.cfg.Data, err)
	}
	if len(dirty) == 0 {
		return nil
	}
	staged := map[string]canon.Digest{}
	for _, f := range m.Files {
		staged[f.Path] = f.SHA256
		staged[archive.Unplaced(f.Path)] = "" // half written
	}
	removed := map[string]bool{}
	for _, name := range m.Removed {
		removed[name] = true
	}
	tree := archive.Open(os.DirFS(j.cfg.Data))
	var strange []string
	for _, name := range dirty {
		b, err := tree.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		want, ours := staged[name]
		if !(ours && (want == "" || b == nil || want == canon.Sum(b)) || removed[name] && b == nil) {
			strange = append(strange, name)
		}
	}
	return j.strange(strange)
}

// clean reports whether the data folder is as the newest commit has it.
func (j *Job) clean() error {
	dirty, err := j.repo.Dirty()
	if err != nil {
		return fmt.Errorf("comparing %s with the newest commit: %w", j.cfg.Data, err)
	}
	return j.strange(dirty)
}

// strange returns the error for files that differ from the newest commit, if
// there are any.
func (j *Job) strange(dirty []string) error {
	if len(dirty) == 0 {
		return nil
	}
	return &HintError{
		fmt.Errorf("%s: it differs from the newest commit, and no run of ours left it so (%d such files)", path.Join(j.cfg.Data, dirty[0]), len(dirty)),
		fmt.Sprintf("see them with `git status --ignored -- %s`; commit them, put them back with `git checkout -- %s`, or remove what is not git's", j.cfg.Data, j.cfg.Data),
	}
}

// Files of a run that are not yet recorded, in its folder.
const (
	planName  = "plan.jsonl"
	shardName = "shard.jsonl"
)

// runDir is where a run keeps its plan, listing and shard until it is recorded.
func (j *Job) runDir() string { return filepath.Join(j.repo.GitDir(), "mcpstrata", "run") }

// tree returns the tree of the newest commit and its id.
func (j *Job) tree() (*archive.Tree, string, error) {
	head, ok, err := j.repo.Head()
	if err != nil {
		return nil, "", fmt.Errorf("reading the newest commit: %w", err)
	}
	if !ok {
		return archive.Open(nil), "", nil
	}
	fsys, err := j.repo.FS(head.ID)
	if err != nil {
		return nil, "", fmt.Errorf("reading the newest commit: %w", err)
	}
	return archive.Open(fsys), head.ID, nil
}

// A Result says what a run did.
type Result struct {
	Run     record.Run // the zero Run if there was nothing to do
	Commit  string
	Final   bool           // the day was recorded and is final: nothing was probed
	Drifted map[string]int // targets with a drift event, by methodology
	Site    error          // why the site could not be built; the day is recorded all the same
}

// Run does the whole job: roster, probe, record, commit, site.
func Run(ctx context.Context, cfg Config) (r *Result, err error) {
	j, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	defer func() {
		if err != nil && j.cfg.Step == nil { // what a crash leaves is told at the next start
			err = errors.Join(err, os.RemoveAll(j.runDir()))
		}
	}()
	if err := os.MkdirAll(j.runDir(), 0o777); err != nil {
		return nil, fmt.Errorf("making a folder for the run: %w", err)
	}
	plan, shard := filepath.Join(j.runDir(), planName), filepath.Join(j.runDir(), shardName)
	p, err := j.Roster(ctx, plan)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return &Result{Final: true, Site: j.site(ctx)}, os.RemoveAll(j.runDir())
	}
	if _, err := j.Probe(ctx, plan, 1, 1, shard); err != nil {
		return nil, err
	}
	s, err := j.Record(plan, []string{shard})
	if err != nil {
		return nil, err
	}
	id, err := j.Commit(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(j.runDir()); err != nil {
		return nil, fmt.Errorf("removing the files of the run: %w", err)
	}
	return &Result{Run: s.Run, Commit: id, Drifted: s.Drifted, Site: j.site(ctx)}, nil
}

// site builds the site, if one is to be built.
func (j *Job) site(ctx context.Context) error {
	if j.cfg.Site == nil {
		return nil
	}
	if err := j.cfg.Site(ctx); err != nil {
		return fmt.Errorf("building the site: %w", err)
	}
	return nil
}

// Commit moves a whole stage into the data folder and commits it. It returns ""
// where there is none.
func (j *Job) Commit(ctx context.Context) (id string, err error) {
	stage, whole, err := archive.OpenStage(j.repo.GitDir(), j.cfg.Step)
	if err != nil || stage == nil || !whole {
		return "", err
	}
	return j.rollForward(ctx, stage)
}

// rollForward finishes a whole stage, from wherever it was cut short. A stage
// whose run is committed already is only removed.
func (j *Job) rollForward(ctx context.Context, stage *archive.Stage) (id string, err error) {
	m := stage.Manifest()
	head, ok, err := j.repo.Head()
	if err != nil {
		return "", fmt.Errorf("reading the newest commit: %w", err)
	}
	if ok && head.ID != m.Parent {
		committed, err := j.holds(head.ID, m)
		if err != nil {
			return "", err
		}
		if committed && head.Trailers["Run"] != m.Run {
			j.cfg.Log(fmt.Sprintf("the run %s was committed already, and more on top of it", m.Run))
			return "", stage.Discard()
		}
		if !committed {
			if m.Parent, err = j.parentFor(m, head.ID); err != nil {
				return "", &HintError{err, fmt.Sprintf("check out the branch that the run was made on and run `mcpstrata commit` there, or give the run up by removing %s", stage.Dir())}
			}
		}
	}
	if err := j.explained(m); err != nil {
		return "", err
	}
	if err := stage.Apply(j.cfg.Data); err != nil {
		return "", &HintError{err, fmt.Sprintf("nothing is lost: clear the way, then run `mcpstrata commit`; or give the run up by removing %s", stage.Dir())}
	}
	id, err = j.repo.Commit(ctx, gitrepo.Change{
		Paths: m.Paths(), Deleted: m.Removed, Message: m.Message, When: m.When.Time, Parent: m.Parent, Step: j.cfg.Step,
	})
	if err != nil {
		return "", fmt.Errorf("committing the run %s: %w", m.Run, err)
	}
	return id, stage.Discard()
}

// holds reports whether a commit has the record of a staged run.
func (j *Job) holds(commit string, m archive.Manifest) (bool, error) {
	fsys, err := j.repo.FS(commit)
	if err != nil {
		return false, fmt.Errorf("reading the newest commit: %w", err)
	}
	b, err := archive.Open(fsys).ReadFile(archive.RunPath(m.Run))
	if err != nil {
		return false, err
	}
	return slices.Contains(m.Files, archive.StagedFile{Path: archive.RunPath(m.Run), SHA256: canon.Sum(b)}), nil
}

// parentFor returns the commit that a stage goes on top of: head, if the series
// is there as it was in the commit that the run was compared with.
func (j *Job) parentFor(m archive.Manifest, head string) (string, error) {
	same, err := j.sameSeries(m.Parent, head)
	if err != nil {
		return "", err
	}
	if !same {
		return "", fmt.Errorf("the newest commit has another series than the one that %s was compared with", m.Run)
	}
	return head, nil
}

// sameSeries reports whether two commits, of which the first may be "" for none,
// have the same files of the series.
func (j *Job) sameSeries(a, b string) (bool, error) {
	series := func(id string) (map[string]string, error) {
		if id == "" {
			return map[string]string{}, nil
		}
		blobs, err := j.repo.TreeBlobs(id)
		if err != nil {
			return nil, fmt.Errorf("reading the commit %s: %w", id, err)
		}
		maps.DeleteFunc(blobs, func(name, _ string) bool { return !strings.HasPrefix(name, archive.Dir+"/") })
		return blobs, nil
	}
	x, err := series(a)
	if err != nil {
		return false, err
	}
	y, err := series(b)
	return maps.Equal(x, y), err
}

// CommitStaged commits what [Job.Record] staged and returns the commit, or ""
// where nothing is staged.
func CommitStaged(ctx context.Context, cfg Config) (id string, err error) {
	j, err := newJob(cfg)
	if err != nil {
		return "", err
	}
	defer j.Close()
	return j.Commit(ctx)
}
