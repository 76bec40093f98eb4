package daily

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/fleet"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/ledger"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A world is a fleet and the repository that records it.
type world struct {
	t     *testing.T
	fleet *fleet.Fleet
	root  string
	log   []string
}

func newWorld(t *testing.T, servers, days int) *world {
	t.Helper()
	f, err := fleet.Start(t.Context(), fleet.Config{Seed: 7, Servers: servers, Days: days, Hang: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	root := t.TempDir()
	if err := gitrepo.Init(root); err != nil {
		t.Fatal(err)
	}
	return &world{t: t, fleet: f, root: root}
}

func (w *world) config(day int) Config {
	return Config{
		Data: filepath.Join(w.root, "data"), Registry: w.fleet.RegistryURL(), Timeout: 5 * time.Second, AllowPrivate: true,
		Version: "0", Vantage: "test", Clock: FastClockAt(w.fleet.Day(day).Time().Add(3 * time.Hour)), Simulated: true,
		Seed: func() int64 { return int64(day) }, Log: func(line string) { w.log = append(w.log, line) },
	}
}

func (w *world) run(day int, change func(*Config)) (*Result, error) {
	w.t.Helper()
	if err := w.fleet.SetDay(day); err != nil {
		w.t.Fatal(err)
	}
	w.log = nil
	cfg := w.config(day)
	if change != nil {
		change(&cfg)
	}
	return Run(w.t.Context(), cfg)
}

func (w *world) must(day int, change func(*Config)) *Result {
	w.t.Helper()
	r, err := w.run(day, change)
	if err != nil {
		w.t.Fatalf("running day %d: %v", day, err)
	}
	return r
}

// git runs the git command in the repository and returns what it printed.
func (w *world) git(args ...string) string {
	w.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		w.t.Skip("there is no git command")
	}
	cmd := exec.Command("git", append([]string{"-C", w.root}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// sound checks what has to hold between any two runs.
func (w *world) sound() {
	w.t.Helper()
	if out := w.git("status", "--porcelain", "--ignored"); out != "" {
		w.t.Errorf("git status is not clean:\n%s", out)
	}
	w.git("fsck", "--strict")
	tree := archive.Open(os.DirFS(filepath.Join(w.root, "data")))
	runs, err := tree.Runs()
	if err != nil {
		w.t.Fatal(err)
	}
	if len(runs) == 0 {
		return
	}
	folded, head, err := tree.Fold("v1", runs[len(runs)-1])
	if err != nil {
		w.t.Fatal(err)
	}
	if got := archive.Folded(archive.EncodeShards(folded)); got != head.Folded {
		w.t.Errorf("the fold is %s, the header of %s says %s", got, head.Run, head.Folded)
	}
	for _, o := range folded {
		if o.Head == nil {
			continue
		}
		if _, err := tree.HeadBodies("v1", o); err != nil {
			w.t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(w.root, ".git", "mcpstrata", "stage")); !errors.Is(err, os.ErrNotExist) {
		w.t.Errorf("a stage is left behind: %v", err)
	}
}

func TestRunIsFinalOnceADayIsComplete(t *testing.T) {
	w := newWorld(t, 12, 3)
	first := w.must(0, nil)
	if first.Commit == "" || first.Run.Partial || first.Run.Run != "2026-01-01" {
		t.Fatalf("first run = %+v", first)
	}
	again := w.must(0, nil)
	if !again.Final || again.Commit != "" {
		t.Errorf("second run of the day = %+v, want final", again)
	}
	if len(w.log) != 1 || !strings.Contains(w.log[0], "recorded and final") {
		t.Errorf("it said %q", w.log)
	}
	if got := strings.Count(w.git("log", "--oneline"), "\n"); got != 1 {
		t.Errorf("%d commits, want 1", got)
	}
	w.must(1, nil)
	if _, err := w.run(0, nil); err == nil || !strings.Contains(err.Error(), "2026-01-02 is recorded") {
		t.Errorf("a run before the newest day = %v", err)
	}
	w.sound()
}

func TestPartialRunIsCompletedByAnotherOfTheDay(t *testing.T) {
	w := newWorld(t, 12, 3)
	w.must(0, nil)
	part := w.must(1, func(c *Config) { c.Limit = 4 })
	if !part.Run.Partial || part.Run.Limit != 4 {
		t.Errorf("limited run = %+v, want partial", part.Run)
	}
	rest := w.must(1, nil)
	if rest.Run.Run != "2026-01-02.2" || rest.Run.Partial {
		t.Errorf("the run after it = %+v, want 2026-01-02.2, whole", rest.Run)
	}
	if c := rest.Run.Methodologies["v1"]; c.Attempted != c.Eligible || rest.Run.Roster != part.Run.Roster {
		t.Errorf("it attempted %d of %d under roster %s, want all under %s", c.Attempted, c.Eligible, rest.Run.Roster, part.Run.Roster)
	}
	if r := w.must(1, nil); !r.Final {
		t.Errorf("a third run = %+v, want final", r)
	}
	w.sound()
}

var errKilled = errors.New("killed")

// A run that dies before any of its durable steps is either rolled forward or
// discarded at the next start, which says which; what was recorded earlier stays.
func TestRunSurvivesEveryKill(t *testing.T) {
	for _, day := range []int{0, 1} {
		t.Run(string(record.Day([]string{"first", "second"}[day])), func(t *testing.T) { killAtEveryStep(t, day) })
	}
}

func killAtEveryStep(t *testing.T, day int) {
	w := newWorld(t, 4, 3)
	for d := range day {
		w.must(d, nil)
	}
	before, base := w.root, t.TempDir()
	steps := 1
	for k := 1; k <= steps; k++ {
		w.root = filepath.Join(base, "repo")
		if err := os.RemoveAll(w.root); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(w.root, os.DirFS(before)); err != nil {
			t.Fatal(err)
		}
		taken, at := 0, ""
		_, err := w.run(day, func(c *Config) {
			c.Step = func(name string) error {
				taken++
				if taken == k {
					at = name
					return errKilled
				}
				return nil
			}
		})
		if err == nil {
			if k < 20 {
				t.Fatalf("the run took only %d steps", taken)
			}
			return
		}
		if !errors.Is(err, errKilled) {
			t.Fatalf("killed at step %d, %s: %v", k, at, err)
		}
		steps = k + 1
		r, err := w.run(day, nil)
		if err != nil {
			t.Fatalf("the run after one that was killed at step %d, %s: %v", k, at, err)
		}
		said := strings.Join(w.log, "\n")
		if rolled, lost := strings.Contains(said, "rolled forward"), strings.Contains(said, "discarded"); rolled && lost || r.Final == lost {
			t.Errorf("killed at step %d, %s: final %v, and it said %q", k, at, r.Final, said)
		}
		if got := strings.Count(w.git("log", "--oneline"), "\n"); got != day+1 {
			t.Errorf("killed at step %d, %s: %d commits, want %d", k, at, got, day+1)
		}
		w.sound()
		if t.Failed() {
			t.FailNow()
		}
	}
}

func TestSecondRunAtOnceIsRefused(t *testing.T) {
	w := newWorld(t, 4, 2)
	var inner error
	w.must(0, func(c *Config) {
		c.Progress = func(done, total, inFlight int) {
			if inner == nil {
				_, inner = Open(context.Background(), w.config(0))
			}
		}
	})
	var locked *archive.LockedError
	if !errors.As(inner, &locked) {
		t.Errorf("a second job = %v, want a LockedError", inner)
	}
}

func TestNothingIsCommittedOfARunThatProbedNothing(t *testing.T) {
	w := newWorld(t, 4, 2)
	_, err := w.run(0, func(c *Config) {
		c.AllowPrivate = true
		c.Limit = 0
		c.Registry = emptyRegistry(t)
	})
	if !errors.Is(err, ledger.ErrNothingAttempted) {
		t.Fatalf("run = %v, want ErrNothingAttempted", err)
	}
	if _, ok, err := mustOpen(t, w.root).Head(); ok || err != nil {
		t.Errorf("there is a commit, or %v", err)
	}
	if out := w.git("status", "--porcelain", "--ignored"); out != "" {
		t.Errorf("git status:\n%s", out)
	}
}

func mustOpen(t *testing.T, root string) *gitrepo.Repo {
	t.Helper()
	r, err := gitrepo.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestChangedDataFilesAreRefused(t *testing.T) {
	w := newWorld(t, 4, 2)
	w.must(0, nil)
	name := filepath.Join(w.root, "data", archive.OrderPath)
	if err := os.WriteFile(name, []byte("other\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := w.run(1, nil)
	var hint *HintError
	if !errors.As(err, &hint) || !strings.Contains(err.Error(), archive.OrderPath) {
		t.Errorf("run over a changed file = %v, want its path and a hint", err)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error has more than one line: %q", err)
	}
}

// The stages, run one by one over two shards, record what the job records.
func TestStagesEqualTheJob(t *testing.T) {
	w := newWorld(t, 12, 3)
	if err := w.fleet.SetDay(0); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.jsonl")
	stage := func(f func(*Job) error) {
		t.Helper()
		j, err := Open(t.Context(), w.config(0))
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		if err := f(j); err != nil {
			t.Fatal(err)
		}
	}
	stage(func(j *Job) error { _, err := j.Roster(t.Context(), plan); return err })
	shards := []string{filepath.Join(dir, "1"), filepath.Join(dir, "2")}
	for i, name := range shards {
		if _, err := Probe(t.Context(), w.config(0), plan, i+1, len(shards), name); err != nil {
			t.Fatal(err)
		}
	}
	stage(func(j *Job) error { _, err := j.Record(plan, shards); return err })
	id, err := CommitStaged(t.Context(), w.config(0))
	if err != nil || id == "" {
		t.Fatalf("CommitStaged = %q, %v", id, err)
	}
	w.sound()
	staged := w.git("ls-tree", "-r", "HEAD", "data/mcp-schema/contracts", "data/mcp-schema/roster/rows")

	one := &world{t: t, fleet: w.fleet, root: t.TempDir()}
	if err := gitrepo.Init(one.root); err != nil {
		t.Fatal(err)
	}
	one.must(0, nil)
	if whole := one.git("ls-tree", "-r", "HEAD", "data/mcp-schema/contracts", "data/mcp-schema/roster/rows"); whole != staged {
		t.Errorf("the stages recorded other contracts than the job:\n%s\nagainst\n%s", staged, whole)
	}
}

// A shard that is missing or cut makes the run partial; nothing of it is
// invented.
func TestMissingShardMakesTheRunPartial(t *testing.T) {
	w := newWorld(t, 12, 3)
	if err := w.fleet.SetDay(0); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.jsonl")
	j, err := Open(t.Context(), w.config(0))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, err := j.Roster(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	var shards []string
	for i := range 3 {
		name := filepath.Join(dir, string(rune('a'+i)))
		if _, err := j.Probe(t.Context(), plan, i+1, 3, name); err != nil {
			t.Fatal(err)
		}
		shards = append(shards, name)
	}
	fi, err := os.Stat(shards[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(shards[1], fi.Size()-10); err != nil {
		t.Fatal(err)
	}
	s, err := j.Record(plan, shards[:2])
	if err != nil {
		t.Fatal(err)
	}
	if !s.Run.Partial {
		t.Errorf("run = %+v, want partial", s.Run)
	}
	if _, err := j.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	head, _, _, err := archive.Open(os.DirFS(filepath.Join(w.root, "data"))).Observations("2026-01-01", "v1")
	if err != nil || head.Missed == nil || len(head.Missed.Shards) != 2 || head.Missed.Of != 3 {
		t.Errorf("missed = %+v, %v, want shards 2 and 3 of 3", head.Missed, err)
	}
	w.sound()
}

func TestRecordRefusesWhatDoesNotBelongTogether(t *testing.T) {
	w := newWorld(t, 4, 2)
	if err := w.fleet.SetDay(0); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	plan, shard := filepath.Join(dir, "plan.jsonl"), filepath.Join(dir, "shard")
	j, err := Open(t.Context(), w.config(0))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, err := j.Roster(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Probe(t.Context(), plan, 1, 1, shard); err != nil {
		t.Fatal(err)
	}
	listing, err := os.ReadFile(ListingPath(plan))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, want string
		damage     func()
	}{
		{"no listing", "is missing", func() { os.Remove(ListingPath(plan)) }},
		{"another listing", "not the one", func() { os.WriteFile(ListingPath(plan), append(listing, '\n'), 0o666) }},
		{"a shard twice", "twice", func() { os.WriteFile(ListingPath(plan), listing, 0o666) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.damage()
			shards := []string{shard}
			if tt.want == "twice" {
				shards = append(shards, shard)
			}
			if _, err := j.Record(plan, shards); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Record = %v, want %q", err, tt.want)
			}
		})
	}
}

// emptyRegistry serves a registry that lists nothing, and returns its URL.
func emptyRegistry(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"servers":[],"metadata":{"count":0}}`+"\n")
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v0.1/servers"
}

// A stage is not stuck by what is done to the repository between a crash and the
// next start: a commit on top, or a work tree that was thrown away.
func TestStageSurvivesWhatHappensToTheRepository(t *testing.T) {
	tests := []struct {
		name, at, says string
		happens        func(w *world)
	}{
		{"a commit on top of the run", "stage: remove", "rolled forward", func(w *world) {
			w.git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "--allow-empty", "-m", "on top")
		}},
		{"a commit beside the run", gitrepo.StepPack, "rolled forward", func(w *world) {
			w.git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "--allow-empty", "-m", "beside")
		}},
		{"a reset of the work tree", gitrepo.StepPack, "rolled forward", func(w *world) {
			w.git("reset", "-q", "--hard")
			w.git("clean", "-qfd")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 4, 3)
			w.must(0, nil)
			_, err := w.run(1, func(c *Config) {
				c.Step = func(name string) error {
					if name == tt.at {
						return errKilled
					}
					return nil
				}
			})
			if !errors.Is(err, errKilled) {
				t.Fatalf("the run was not killed at %s: %v", tt.at, err)
			}
			tt.happens(w)
			r := w.must(1, nil)
			if said := strings.Join(w.log, "\n"); !r.Final || !strings.Contains(said, tt.says) {
				t.Errorf("final %v, and it said %q", r.Final, said)
			}
			if got := strings.Count(w.git("log", "--format=%s"), "observe 2026-01-02: "); got != 1 {
				t.Errorf("the run is committed %d times", got)
			}
			w.sound()
			w.must(2, nil)
			w.sound()
		})
	}
}

// A run whose budget is spent records what it got; the rest counts as missed and
// is left to the next run of the day.
func TestBudgetMakesTheRunPartial(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	var rows []string
	for _, name := range []string{"a", "b", "c"} {
		rows = append(rows, rowOf("com.example/"+name, server.URL+"/"+name))
	}
	w := &world{t: t, root: t.TempDir()}
	w.repository(nil)
	cfg := Config{
		Data: filepath.Join(w.root, "data"), Registry: registryOf(t, rows), AllowPrivate: true, Version: "0", Simulated: true,
		Clock: FastClockAt(time.Date(2026, 11, 30, 3, 15, 0, 0, time.UTC)), Pace: time.Hour, Budget: 90 * time.Minute,
		Methodologies: []string{"v1"},
		Log:           func(line string) { w.log = append(w.log, line) },
	}
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Run.Methodologies["v1"]; !r.Run.Partial || c.Attempted != 2 || c.Eligible != 3 {
		t.Errorf("run = %+v, want partial, 2 of 3 attempted", r.Run)
	}
	if said := strings.Join(w.log, "\n"); !strings.Contains(said, "budget") {
		t.Errorf("it said %q, want a word of the budget", said)
	}
	if r, err = Run(t.Context(), cfg); err != nil || r.Run.Run != "2026-11-30.2" || r.Run.Partial {
		t.Errorf("the next run = %+v, %v, want 2026-11-30.2, whole", r.Run, err)
	}
	w.sound()
}

// What was changed in the data folder between the record and the commit is
// refused, not overwritten and not taken along.
func TestCommitRefusesUnexplainedChanges(t *testing.T) {
	tests := []struct {
		name, file string
		change     func(b []byte) []byte
	}{
		{"a file of the stage", archive.TimingPath, func(b []byte) []byte { return append(b, "junk\n"...) }},
		{"a file beside it", OptOutPath, func([]byte) []byte { return []byte("com.example/x\n") }},
		{"a file of nobody", "mine.txt", func([]byte) []byte { return []byte("mine\n") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 4, 3)
			w.must(0, nil)
			_, err := w.run(1, func(c *Config) {
				c.Step = func(name string) error {
					if strings.HasPrefix(name, "place: ") {
						return errKilled
					}
					return nil
				}
			})
			if !errors.Is(err, errKilled) {
				t.Fatalf("the run was not killed: %v", err)
			}
			name := filepath.Join(w.root, "data", tt.file)
			b, err := os.ReadFile(name)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, tt.change(b), 0o666); err != nil {
				t.Fatal(err)
			}
			var hint *HintError
			if _, err := CommitStaged(t.Context(), w.config(1)); !errors.As(err, &hint) || !strings.Contains(err.Error(), tt.file) {
				t.Errorf("CommitStaged = %v, want a refusal that names %s", err, tt.file)
			}
			if got := w.git("log", "--format=%s"); strings.Count(got, "\n") != 1 {
				t.Errorf("it committed:\n%s", got)
			}
		})
	}
}
