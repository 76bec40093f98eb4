package daily

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
)

// git runs a git command anywhere.
func git(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git command")
	}
	out, err := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The daily job works in a depth-1 clone and in a linked work tree, leaves a
// change staged elsewhere alone, and makes one pack a run.
func TestRunInEveryKindOfClone(t *testing.T) {
	tests := []struct {
		name  string
		clone func(t *testing.T, from, to string)
	}{
		{"shallow", func(t *testing.T, from, to string) { git(t, "clone", "-q", "--depth=1", "file://"+from, to) }},
		{"linked work tree", func(t *testing.T, from, to string) { git(t, "-C", from, "worktree", "add", "-q", "-b", "other", to) }},
		{"plain", func(t *testing.T, from, to string) { git(t, "clone", "-q", from, to) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 8, 4)
			w.must(0, nil)
			w.must(1, nil)
			from := w.root
			w.root = filepath.Join(t.TempDir(), "clone")
			tt.clone(t, from, w.root)
			if err := os.WriteFile(filepath.Join(w.root, "notes.txt"), []byte("mine\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			w.git("add", "notes.txt")
			packs := w.packs()
			r := w.must(2, nil)
			if r.Commit == "" {
				t.Fatal("nothing was committed")
			}
			if got := w.packs() - packs; got != 1 {
				t.Errorf("the run made %d packs, want 1", got)
			}
			if got := w.git("status", "--porcelain"); got != "A  notes.txt\n" {
				t.Errorf("git status = %q, want the staged file alone", got)
			}
			if got := w.git("show", "--stat", "--format=", "HEAD"); strings.Contains(got, "notes.txt") {
				t.Errorf("the commit took a file that is not its own:\n%s", got)
			}
			w.git("fsck", "--strict")
		})
	}
}

// packs counts the packs of the repository.
func (w *world) packs() int {
	w.t.Helper()
	dir := strings.TrimSpace(w.git("rev-parse", "--path-format=absolute", "--git-common-dir"))
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	if err != nil {
		w.t.Fatal(err)
	}
	return len(packs)
}

// A push of a remote that moved elsewhere goes on top of it; one that recorded
// the same day is not overwritten.
func TestPush(t *testing.T) {
	w := newWorld(t, 8, 4)
	w.must(0, nil)
	first := w.root
	bare := filepath.Join(t.TempDir(), "bare.git")
	git(t, "clone", "-q", "--bare", first, bare)
	clone := func(name string) string {
		dir := filepath.Join(t.TempDir(), name)
		git(t, "clone", "-q", "--depth=1", "file://"+bare, dir)
		return dir
	}
	ours, theirs, late := clone("ours"), clone("theirs"), clone("late")

	if err := os.WriteFile(filepath.Join(theirs, "README"), []byte("x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	git(t, "-C", theirs, "add", "README")
	git(t, "-C", theirs, "commit", "-qm", "a change elsewhere")
	git(t, "-C", theirs, "push", "-q", "origin", "HEAD")

	w.root = ours
	w.must(1, nil)
	if err := Push(t.Context(), w.config(1)); err != nil {
		t.Fatalf("pushing to a remote that moved elsewhere: %v", err)
	}
	if got := git(t, "-C", bare, "log", "--format=%s"); !strings.HasPrefix(got, "observe 2026-01-02") || !strings.Contains(got, "a change elsewhere") {
		t.Errorf("the remote has:\n%s", got)
	}
	w.sound()

	w.root = late
	w.must(1, nil)
	err := Push(t.Context(), w.config(1))
	var hint *HintError
	if !errors.As(err, &hint) || !strings.Contains(err.Error(), "another series") {
		t.Errorf("pushing a day that the remote has = %v, want a refusal with a hint", err)
	}
	git(t, "-C", bare, "fsck", "--strict")
}

func TestNotARepository(t *testing.T) {
	w := newWorld(t, 4, 2)
	w.root = t.TempDir()
	_, err := w.run(0, nil)
	var none *gitrepo.NotRepositoryError
	if !errors.As(err, &none) || none.Hint() == "" {
		t.Errorf("run outside a repository = %v, want a NotRepositoryError with a hint", err)
	}
}
