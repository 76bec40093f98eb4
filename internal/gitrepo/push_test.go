package gitrepo

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// remoteAndClones makes a bare remote, a clone for us of the given depth (0: all)
// and a clone for somebody else.
func (s *sandbox) remoteAndClones(depth string) {
	s.t.Helper()
	s.init("seed", "data")
	s.write("seed", "docs/second", "2\n")
	s.git("seed", "add", "-A")
	s.git("seed", "commit", "-q", "-m", "second")
	s.git(".", "clone", "-q", "--bare", "seed", "remote.git")
	url := "file://" + filepath.Join(s.dir, "remote.git")
	args := []string{"clone", "-q", url, "clone"}
	if depth != "0" {
		args = []string{"clone", "-q", "--depth=" + depth, url, "clone"}
	}
	s.git(".", args...)
	s.git(".", "clone", "-q", url, "other")
}

// other has somebody else commit and push.
func (s *sandbox) other(pairs ...string) {
	s.t.Helper()
	s.git("other", "pull", "-q", "--rebase")
	s.write("other", pairs...)
	s.git("other", "add", "-A")
	s.git("other", "commit", "-q", "-m", "other")
	s.git("other", "push", "-q")
}

func TestPush(t *testing.T) {
	tests := []struct {
		name  string
		depth string
		races int // how often the remote moves under us
		fails bool
	}{
		{"nothing happens", "0", 0, false},
		{"shallow", "1", 0, false},
		{"a race", "0", 1, false},
		{"a race of a shallow clone", "1", 1, false},
		{"two races", "1", 2, false},
		{"it never rests", "0", 9, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			s.remoteAndClones(test.depth)
			c := s.change("clone/data")
			r := s.open("clone/data")
			first, err := r.Commit(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			// Somebody's work, which must survive.
			s.write("clone", "docs/notes.txt", "changed\n", "docs/untracked", "x\n")
			races := 0
			race := func() {
				if races < test.races {
					races++
					s.other("docs/other", strings.Repeat("x", races), "docs/second", "3\n")
				}
			}
			race()
			calls := 0
			err = r.Push(t.Context(), "origin", "main", func(tip string) (Change, error) {
				calls++
				if got := strings.TrimSpace(s.git("remote.git", "rev-parse", "main")); got != tip {
					t.Errorf("reapply is called with %s, want the remote's %s", tip, got)
				}
				fsys, err := r.FS(tip)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := fs.Stat(fsys, "new/deep/er/x.json"); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the tip has our files: %v", err)
				}
				race()
				return c, nil
			})
			if test.fails {
				if e, ok := errors.AsType[*PushError](err); !ok || calls != pushTries-1 || e.Hint() == "" {
					t.Errorf("Push() = %v after %d re-applications, want a PushError after %d", err, calls, pushTries-1)
				}
			} else if err != nil || calls != test.races {
				t.Fatalf("Push() = %v, with %d re-applications, want %d", err, calls, test.races)
			}
			id := headID(t, r)
			if (id == first) != (calls == 0) {
				t.Errorf("HEAD is %s after %d re-applications of %s", id, calls, first)
			}
			s.checkCommit("clone", "data", id, " M docs/notes.txt\n?? docs/untracked\n")
			if test.fails {
				return
			}
			if got := strings.TrimSpace(s.git("remote.git", "rev-parse", "main")); got != id {
				t.Errorf("the remote is at %s, want %s", got, id)
			}
			s.git("remote.git", "fsck", "--strict")
			if got := s.git("remote.git", "log", "--format=%s"); strings.Count(got, "\n") != 3+test.races {
				t.Errorf("the remote's log is %q, want %d commits", got, 3+test.races)
			}
		})
	}
}

func TestPushErrors(t *testing.T) {
	s := newSandbox(t)
	s.remoteAndClones("0")
	c := s.change("clone/data")
	r := s.open("clone/data")
	id, err := r.Commit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	never := func(string) (Change, error) { t.Error("reapply was called"); return c, nil }
	for _, to := range [][2]string{{"nowhere", "main"}, {"--upload-pack=x", "main"}, {"origin", "-x"}, {"origin", "a..b"}, {"", "main"}} {
		if err := r.Push(t.Context(), to[0], to[1], never); !errors.As(err, new(*PushError)) {
			t.Errorf("Push(%s, %s) = %v, want a PushError", to[0], to[1], err)
		}
	}
	s.write("remote.git/hooks", "pre-receive", "#!/bin/sh\necho no >&2; exit 1\n")
	s.chmod("remote.git/hooks/pre-receive")
	if err := r.Push(t.Context(), "origin", "main", never); !errors.As(err, new(*PushError)) {
		t.Errorf("Push() to a remote that refuses = %v, want a PushError", err)
	}
	s.remove("remote.git", "hooks/pre-receive")
	s.other("docs/other", "x\n")
	same := errors.New("the tip has this day already")
	if err := r.Push(t.Context(), "origin", "main", func(string) (Change, error) { return Change{}, same }); !errors.Is(err, same) {
		t.Errorf("Push() when reapply fails = %v, want its error", err)
	}
	// What the others changed is changed here too: nothing moves.
	s.write("clone", "docs/notes.txt", "mine\n")
	s.other("docs/notes.txt", "theirs\n")
	err = r.Push(t.Context(), "origin", "main", func(string) (Change, error) { return c, nil })
	if !errors.As(err, new(*PushError)) || headID(t, r) != id {
		t.Errorf("Push() over local changes = %v with HEAD at %s, want a PushError and HEAD at %s", err, headID(t, r), id)
	}
	s.checkCommit("clone", "data", id, " M docs/notes.txt\n")
}

// Two commits that the remote lacks are not made into one, nor is one dropped.
func TestPushTwoCommits(t *testing.T) {
	s := newSandbox(t)
	s.remoteAndClones("1")
	c := s.change("clone/data")
	r := s.open("clone/data")
	first, err := r.Commit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s.next("clone/data", "data", first, "")
	id := headID(t, r)
	s.other("docs/other", "x\n")
	err = r.Push(t.Context(), "origin", "main", func(string) (Change, error) {
		t.Error("reapply was called")
		return c, nil
	})
	if !errors.As(err, new(*PushError)) || headID(t, r) != id {
		t.Errorf("Push() of two commits = %v with HEAD at %s, want a PushError and HEAD at %s", err, headID(t, r), id)
	}
	// To a remote that rests, both go.
	s.git("clone", "pull", "-q", "--rebase")
	if err := r.Push(t.Context(), "origin", "main", nil); err != nil {
		t.Errorf("Push() of two commits = %v", err)
	}
}

func TestPushWithoutGit(t *testing.T) {
	for _, depth := range []string{"0", "1"} {
		t.Run("depth "+depth, func(t *testing.T) {
			s := newSandbox(t)
			s.remoteAndClones(depth)
			c := s.change("clone/data")
			r := s.open("clone/data")
			r.git = ""
			id, err := r.Commit(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time there is nothing to do
				if err := r.Push(t.Context(), "origin", "main", nil); err != nil {
					t.Fatalf("Push() = %v", err)
				}
			}
			if got := strings.TrimSpace(s.git("remote.git", "rev-parse", "main")); got != id {
				t.Errorf("the remote is at %s, want %s", got, id)
			}
			s.git("remote.git", "fsck", "--strict")
			s.other("docs/other", "x\n")
			s.write("clone/data", "rows/a.jsonl", "a3\n")
			if _, err := r.Commit(t.Context(), Change{Paths: []string{"rows/a.jsonl"}, Message: "m", When: when, Parent: id}); err != nil {
				t.Fatal(err)
			}
			if err := r.Push(t.Context(), "origin", "main", nil); !errors.As(err, new(*PushError)) {
				t.Errorf("Push() to a remote that moved = %v, want a PushError", err)
			}
		})
	}
}
