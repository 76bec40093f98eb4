package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A kind is a form of repository that Commit must leave clean. make makes the
// repository called "clone" with init's commit in it; want is what the log shows
// as parent.
type kind struct {
	name string
	make func(s *sandbox, prefix string)
}

func kinds() []kind {
	configured := func(name string, commands ...string) kind {
		return kind{name, func(s *sandbox, prefix string) {
			s.init("clone", prefix)
			for _, c := range commands {
				s.git("clone", strings.Fields(c)...)
			}
		}}
	}
	return []kind{
		configured("normal"),
		{"clone of depth 1", func(s *sandbox, prefix string) {
			s.init("origin", prefix)
			s.write("origin", "docs/second", "2\n")
			s.git("origin", "add", "-A")
			s.git("origin", "commit", "-q", "-m", "second")
			s.git(".", "clone", "-q", "--depth=1", "file://"+filepath.Join(s.dir, "origin"), "clone")
		}},
		{"linked work tree", func(s *sandbox, prefix string) {
			s.init("origin", prefix)
			s.git("origin", "worktree", "add", "-q", "-b", "side/branch", "../clone")
		}},
		{"work tree of a bare repository", func(s *sandbox, prefix string) {
			s.init("origin", prefix)
			s.git(".", "clone", "-q", "--bare", "origin", "bare.git")
			s.git("bare.git", "worktree", "add", "-q", "../clone", "main")
		}},
		{"blobless clone", func(s *sandbox, prefix string) {
			s.init("origin", prefix)
			s.git("origin", "config", "uploadpack.allowfilter", "true")
			s.git(".", "clone", "-q", "--filter=blob:none", "file://"+filepath.Join(s.dir, "origin"), "clone")
		}},
		{"clone with alternates", func(s *sandbox, prefix string) {
			s.init("origin", prefix)
			s.git(".", "clone", "-q", "--shared", "origin", "clone")
		}},
		configured("detached HEAD", "checkout -q --detach"),
		configured("branch with a slash", "checkout -q -b a/b/c"),
		configured("packed refs", "pack-refs --all --prune"),
		configured("repacked", "gc -q --prune=now"),
		configured("index version 4", "update-index --index-version 4"),
		configured("split index", "config core.splitIndex true", "update-index --split-index", "update-index --force-remove docs/notes.txt", "reset -q"),
		configured("untracked cache", "config core.untrackedCache true", "update-index --untracked-cache", "status"),
		configured("sparse checkout", "sparse-checkout set --no-cone /docs/ /data/ /a/ /rows/ /old/ /flip"),
		configured("sparse checkout in cone mode", "sparse-checkout set --cone docs data a rows old"),
		configured("sparse index", "sparse-checkout set --cone --sparse-index docs data a rows old"),
		configured("assume-valid", "update-index --assume-unchanged docs/notes.txt"),
		configured("intent to add", "rm -q --cached docs/notes.txt", "add -N docs/notes.txt"),
		configured("skipped index checksum", "config index.skipHash true", "update-index --force-write-index"),
		configured("autocrlf", "config core.autocrlf true"),
		configured("no reflogs", "config core.logAllRefUpdates false"),
	}
}

// change makes the change that the tests commit: one file edited, one that
// becomes a folder, a folder that becomes a file, new ones, one removed whose
// folder goes with it.
func (s *sandbox) change(dir string) Change {
	s.t.Helper()
	s.remove(dir, "old", "flip", "rows/b.jsonl")
	s.write(dir, "rows/a.jsonl", "a2\r\nline\r\n", "flip/inner.json", "{}", "new/deep/er/x.json", "x", "old", "now a file", "empty", "")
	return Change{
		Paths:   []string{"rows/a.jsonl", "flip/inner.json", "new/deep/er/x.json", "old", "empty"},
		Deleted: []string{"old/only.json", "flip", "rows/b.jsonl", "never/there"},
		Message: "observe 2026-11-30: 1 answered\n\nRun: 2026-11-30\nCoverage: 98.1 %\n",
		When:    when,
		Parent:  headID(s.t, s.open(dir)),
	}
}

// changed is what git diff --name-status says of change, relative to the prefix.
var changed = []string{"A\tempty", "D\tflip", "A\tflip/inner.json", "A\tnew/deep/er/x.json", "A\told", "D\told/only.json", "M\trows/a.jsonl", "D\trows/b.jsonl"}

// packs returns the names of the packs, and how many objects are loose.
func (s *sandbox) packs(r *Repo) (packs []string, loose int) {
	s.t.Helper()
	err := filepath.WalkDir(filepath.Join(r.common, "objects"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch dir := filepath.Base(filepath.Dir(p)); {
		case dir == "pack" && strings.HasSuffix(p, ".pack"):
			packs = append(packs, filepath.Base(p))
		case dir == "pack" && strings.HasPrefix(d.Name(), "tmp_"):
			s.t.Errorf("%s was left behind", p)
		case len(dir) == 2:
			loose++
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return packs, loose
}

// checkCommit holds that id, made by change in dir, is as it should be.
func (s *sandbox) checkCommit(dir, prefix, id, status string) {
	t := s.t
	t.Helper()
	if got := s.git(dir, "status", "--porcelain", "--untracked-files=all"); got != status {
		t.Errorf("git status --porcelain = %q, want %q", got, status)
	}
	s.git(dir, "fsck", "--strict", "--no-dangling")
	want := id + "|mcpstrata|mcpstrata@users.noreply.github.com|Mon Nov 30 03:15:00 2026 +0000|mcpstrata|Mon Nov 30 03:15:00 2026 +0000|observe 2026-11-30: 1 answered|Run: 2026-11-30,Coverage: 98.1 %|"
	log := s.git(dir, "log", "-1", "--no-renames", "--name-status", "--format=%H|%an|%ae|%ad|%cn|%cd|%s|%(trailers:separator=%x2C)|%GK")
	got, names, _ := strings.Cut(strings.TrimSpace(log), "\n\n")
	if got != want {
		t.Errorf("git log -1 = %q, want %q", got, want)
	}
	var list []string
	for _, line := range changed {
		status, name, _ := strings.Cut(line, "\t")
		list = append(list, status+"\t"+path.Join(prefix, name))
	}
	gotList := strings.Split(names, "\n")
	slices.Sort(list)
	slices.Sort(gotList)
	head, err := s.open(dir).Lookup(id)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(list, gotList); d != "" && len(head.Parents) > 0 {
		t.Errorf("git log --name-status (-want +got):\n%s", d)
	}
	tree := s.git(dir, "ls-tree", "-r", "HEAD")
	line := "100644 blob " + BlobID([]byte("a2\r\nline\r\n")) + "\t" + path.Join(prefix, "rows/a.jsonl") + "\n"
	if !strings.Contains(tree, line) || strings.Contains(tree, "100755") {
		t.Errorf("git ls-tree -r HEAD = %q, want %q in it, and no file executable", tree, line)
	}
}

func TestCommit(t *testing.T) {
	for _, k := range kinds() {
		for _, prefix := range []string{"data", "", "a/b/data"} {
			if prefix != "data" && !slices.Contains([]string{"normal", "split index", "sparse index"}, k.name) {
				continue // each git process costs time
			}
			t.Run(k.name+" with prefix "+prefix, func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t)
				k.make(s, prefix)
				// Somebody's work elsewhere: a staged change, a changed file, a new file.
				s.write("clone", "docs/staged", "staged\n", "docs/notes.txt", "changed\n", "docs/new", "new\n")
				s.git("clone", "add", "docs/staged")
				status := s.git("clone", "status", "--porcelain", "--untracked-files=all")
				if k.name != "assume-valid" && status != " M docs/notes.txt\nA  docs/staged\n?? docs/new\n" &&
					status != "A  docs/staged\n M docs/notes.txt\n?? docs/new\n" && k.name != "intent to add" {
					t.Fatalf("status before = %q", status)
				}
				dir := path.Join("clone", prefix)
				c := s.change(dir)
				r := s.open(dir)
				packs, loose := s.packs(r)
				id, err := r.Commit(t.Context(), c)
				if err != nil {
					t.Fatalf("Commit() = %v", err)
				}
				s.checkCommit("clone", prefix, id, status)
				after, looseAfter := s.packs(r)
				switch k.name {
				case "blobless clone": // git status fetches
					after = after[:min(len(after), len(packs)+1)]
				case "sparse index": // git writes trees to have something to point to
					looseAfter = loose
				}
				if len(after) != len(packs)+1 || looseAfter != loose {
					t.Errorf("%d packs and %d loose objects became %d and %d, want one pack more", len(packs), loose, len(after), looseAfter)
				}
				head, ok, err := r.Head()
				if !ok || err != nil || head.ID != id || head.Trailers["Run"] != "2026-11-30" || !head.When.Equal(when) {
					t.Errorf("Head() = %+v, %v, %v, want the new commit", head, ok, err)
				}
				if dirty, err := r.Dirty(); err != nil || prefix != "" && len(dirty) > 0 {
					t.Errorf("Dirty() = %v, %v, want none", dirty, err)
				}
				// Once more: the same commit, nothing moves.
				again, err := s.open(dir).Commit(t.Context(), c)
				if again != id || err != nil {
					t.Errorf("Commit() again = %s, %v, want %s", again, err, id)
				}
				if got := s.git("clone", "status", "--porcelain", "--untracked-files=all"); got != status {
					t.Errorf("git status --porcelain after the second Commit() = %q, want %q", got, status)
				}
				s.next(dir, prefix, id, status)
			})
		}
	}
}

// next makes another commit on top, which must be clean too.
func (s *sandbox) next(dir, prefix, parent, status string) {
	t := s.t
	t.Helper()
	s.write(dir, "rows/a.jsonl", "a3\n")
	id, err := s.open(dir).Commit(t.Context(), Change{Paths: []string{"rows/a.jsonl"}, Message: "next", When: when, Parent: parent})
	if err != nil {
		t.Fatalf("the next Commit() = %v", err)
	}
	want := id + "\n\nM\t" + path.Join(prefix, "rows/a.jsonl") + "\n"
	if got := s.git("clone", "log", "-1", "--format=%H", "--name-status"); got != want {
		t.Errorf("git log -1 --name-status of the next commit = %q, want %q", got, want)
	}
	if got := s.git("clone", "status", "--porcelain", "--untracked-files=all"); got != status {
		t.Errorf("git status --porcelain after the next commit = %q, want %q", got, status)
	}
}

func TestCommitUnborn(t *testing.T) {
	for _, prefix := range []string{"", "data"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			s := newSandbox(t)
			s.git(".", "init", "-q", "-b", "a/main", "clone")
			if err := os.MkdirAll(filepath.Join(s.dir, "clone/.git/refs/heads/a/main/once"), 0o777); err != nil {
				t.Fatal(err)
			}
			s.remove("clone", ".git/refs/heads/a/main/once")
			s.write("clone", "docs/staged", "staged\n")
			s.git("clone", "add", "docs/staged")
			dir := path.Join("clone", prefix)
			s.write(dir, ".gitattributes", "* -text\n")
			c := s.change(dir)
			c.Paths = append(c.Paths, ".gitattributes")
			r := s.open(dir)
			id, err := r.Commit(t.Context(), c)
			if err != nil {
				t.Fatalf("Commit() = %v", err)
			}
			s.checkCommit("clone", prefix, id, "A  docs/staged\n")
			if packs, loose := s.packs(r); len(packs) != 1 || loose != 1 {
				t.Errorf("%d packs, %d loose objects, want 1 and the 1 staged", len(packs), loose)
			}
			s.next(dir, prefix, id, "A  docs/staged\n")
			if got := s.git("clone", "reflog", "--format=%gs"); got != "commit: next\ncommit (initial): observe 2026-11-30: 1 answered\n" {
				t.Errorf("git reflog = %q, want both commits", got)
			}
			if got := s.git("clone", "reflog", "a/main", "--format=%h"); strings.Count(got, "\n") != 2 {
				t.Errorf("git reflog a/main = %q, want both commits", got)
			}
		})
	}
}

func TestCommitReflogOff(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	s.git("clone", "config", "core.logAllRefUpdates", "false")
	s.remove("clone", ".git/logs")
	c := s.change("clone/data")
	if _, err := s.open("clone/data").Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "clone/.git/logs")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a reflog was made although core.logAllRefUpdates is false: %v", err)
	}
}

// The flags that people set on other files survive.
func TestCommitKeepsFlags(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	s.write("clone", "docs/ita", "x", "docs/skip", "x")
	s.git("clone", "add", "docs/skip")
	s.git("clone", "commit", "-q", "-m", "more")
	s.git("clone", "add", "-N", "docs/ita")
	s.git("clone", "update-index", "--skip-worktree", "docs/skip")
	s.git("clone", "update-index", "--assume-unchanged", "docs/notes.txt", "data/rows/a.jsonl")
	want := s.git("clone", "ls-files", "-v", "docs", "data/rows/a.jsonl")
	c := s.change("clone/data")
	if _, err := s.open("clone/data").Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := s.git("clone", "ls-files", "-v", "docs", "data/rows/a.jsonl"); got != want || !strings.Contains(got, "S docs/skip") || !strings.Contains(got, "h data/rows/a.jsonl") {
		t.Errorf("git ls-files -v = %q, want %q", got, want)
	}
	if got := s.git("clone", "diff", "--cached", "--name-only"); got != "" {
		t.Errorf("git diff --cached = %q, want none: docs/ita is only an intent", got)
	}
}

// A conflict that somebody is about to resolve stays a conflict.
func TestCommitKeepsConflict(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	s.git("clone", "checkout", "-q", "-b", "other")
	s.write("clone", "docs/notes.txt", "theirs\n")
	s.git("clone", "commit", "-q", "-a", "-m", "theirs")
	s.git("clone", "checkout", "-q", "main")
	s.write("clone", "docs/notes.txt", "ours\n")
	s.git("clone", "commit", "-q", "-a", "-m", "ours")
	if _, err := s.try("clone", "cherry-pick", "other"); err == nil {
		t.Fatal("the cherry-pick had no conflict")
	}
	want := s.git("clone", "ls-files", "-u")
	c := s.change("clone/data")
	if _, err := s.open("clone/data").Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := s.git("clone", "ls-files", "-u"); got != want || got == "" {
		t.Errorf("git ls-files -u = %q, want %q", got, want)
	}
}

// A file modified within the second in which the index was written, to the same
// size, must not look clean because the index is written anew.
func TestCommitRacy(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	notes := filepath.Join(s.dir, "clone/docs/notes.txt")
	index := filepath.Join(s.dir, "clone/.git/index")
	c := s.change("clone/data")
	for _, name := range []string{notes, index} { // one second, years ago
		if err := os.Chtimes(name, when, when); err != nil {
			t.Fatal(err)
		}
	}
	s.try("clone", "update-index", "--refresh", "-q") // fails on the files of c
	if err := os.Chtimes(index, when, when); err != nil {
		t.Fatal(err)
	}
	s.git("clone", "config", "core.trustctime", "false")
	s.write("clone", "docs/notes.txt", "NOTES\n")
	if err := os.Chtimes(notes, when, when); err != nil {
		t.Fatal(err)
	}
	if _, err := s.open("clone/data").Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := s.git("clone", "status", "--porcelain"); got != " M docs/notes.txt\n" {
		t.Errorf("git status --porcelain = %q, want the modified file", got)
	}
}

func TestCommitRefuses(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	s.write("clone/data", "x", "x")
	if err := os.Symlink("x", filepath.Join(s.dir, "clone/data/link")); err != nil {
		t.Fatal(err)
	}
	r := s.open("clone/data")
	parent := headID(t, r)
	tests := []struct {
		name string
		edit func(*Change)
	}{
		{"no date", func(c *Change) { c.When = c.When.AddDate(-2026, 0, 0) }},
		{"no message", func(c *Change) { c.Message = " \n" }},
		{"NUL in the message", func(c *Change) { c.Message = "a\x00" }},
		{"an address with a bracket", func(c *Change) { c.Author = Identity{"a", "b>"} }},
		{"no name", func(c *Change) { c.Author = Identity{"", "b"} }},
		{"an absolute path", func(c *Change) { c.Paths = []string{"/x"} }},
		{"a path upwards", func(c *Change) { c.Paths = []string{"../x"} }},
		{"an unclean path", func(c *Change) { c.Paths = []string{"a//x"} }},
		{"the folder itself", func(c *Change) { c.Deleted = []string{"."} }},
		{".git", func(c *Change) { c.Paths = []string{"a/.GIT /x"} }},
		{".git to NTFS", func(c *Change) { c.Paths = []string{"GIT~1"} }},
		{"a backslash", func(c *Change) { c.Paths = []string{`a\x`} }},
		{"a missing file", func(c *Change) { c.Paths = []string{"none"} }},
		{"a folder", func(c *Change) { c.Paths = []string{"rows"} }},
		{"a link", func(c *Change) { c.Paths = []string{"link"} }},
		{"a parent that is not there", func(c *Change) { c.Parent = strings.Repeat("1", 40) }},
		{"no parent where there is one", func(c *Change) { c.Parent = "" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := Change{Paths: []string{"x"}, Message: "m", When: when, Parent: parent}
			test.edit(&c)
			before := s.git("clone", "status", "--porcelain")
			id, err := r.Commit(t.Context(), c)
			if err == nil || id != "" {
				t.Errorf("Commit() = %q, %v, want an error", id, err)
			}
			if got := headID(t, r); got != parent {
				t.Errorf("HEAD moved to %s", got)
			}
			if got := s.git("clone", "status", "--porcelain"); got != before {
				t.Errorf("git status --porcelain = %q, want %q as before", got, before)
			}
			s.packs(r) // complains of leftovers
		})
	}
}

func TestCheckPath(t *testing.T) {
	for _, p := range []string{"a/git~x.json", "git~1.json", "com.example~a!b=2f.json", ".gitattributes", "a.git/x", "é", "+init.json"} {
		if err := checkPath(p); err != nil {
			t.Errorf("checkPath(%s) = %v, want nil", p, err)
		}
	}
	for _, p := range []string{".git", "a/.Git./x", "git~1", "a/git~1 .", ".git::$INDEX_ALLOCATION/x", "", "a/../b", "a\x00"} {
		if err := checkPath(p); err == nil {
			t.Errorf("checkPath(%q) = nil, want an error", p)
		}
	}
}

func TestCommitMoved(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	c := s.change("clone/data")
	s.git("clone", "commit", "-q", "--allow-empty", "-m", "meanwhile")
	_, err := s.open("clone/data").Commit(t.Context(), c)
	moved, ok := errors.AsType[*MovedError](err)
	if !ok || moved.Want != c.Parent || moved.Ref != "refs/heads/main" || moved.Hint() == "" {
		t.Errorf("Commit() on a branch that moved = %v, want a MovedError", err)
	}
}

// A branch that moves while the pack is written is not overwritten.
func TestCommitMovedMeanwhile(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	c := s.change("clone/data")
	// git commit needs index.lock, which is ours by then: use plumbing.
	c.Step = func(step string) error {
		if step == StepRefLock {
			id := strings.TrimSpace(s.git("clone", "commit-tree", "-m", "meanwhile", "-p", "HEAD", "HEAD^{tree}"))
			s.git("clone", "update-ref", "HEAD", id)
		}
		return nil
	}
	_, err := s.open("clone/data").Commit(t.Context(), c)
	if _, ok := errors.AsType[*MovedError](err); !ok {
		t.Errorf("Commit() on a branch that moves meanwhile = %v, want a MovedError", err)
	}
	if got := s.git("clone", "log", "-1", "--format=%s"); got != "meanwhile\n" {
		t.Errorf("HEAD is %q, want meanwhile", got)
	}
	for _, lock := range []string{".git/index.lock", ".git/refs/heads/main.lock"} {
		if _, err := os.Stat(filepath.Join(s.dir, "clone", lock)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was left behind", lock)
		}
	}
}

func TestCommitLocked(t *testing.T) {
	for _, lock := range []string{".git/index.lock", ".git/refs/heads/main.lock"} {
		for _, content := range []string{"", "DIRC", strings.Repeat("1", 40) + "\n", lockText + "another\n"} {
			t.Run(fmt.Sprintf("%s holding %q", lock, content), func(t *testing.T) {
				s := newSandbox(t)
				s.init("clone", "data")
				c := s.change("clone/data")
				s.write("clone", lock, content)
				_, err := s.open("clone/data").Commit(t.Context(), c)
				locked, ok := errors.AsType[*LockedError](err)
				if want := filepath.Join(s.dir, "clone", lock); !ok || locked.Path != want || !strings.Contains(locked.Hint(), want) {
					t.Fatalf("Commit() = %v, want a LockedError of %s", err, want)
				}
				if b, err := os.ReadFile(locked.Path); string(b) != content || err != nil {
					t.Errorf("the lock holds %q, %v, want it untouched", b, err)
				}
				s.remove("clone", lock)
				id, err := s.open("clone/data").Commit(t.Context(), c)
				if err != nil {
					t.Fatalf("Commit() when the lock is gone = %v", err)
				}
				s.checkCommit("clone", "data", id, "")
			})
		}
	}
}

func TestCommitNothing(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	r := s.open("clone/data")
	parent := headID(t, r)
	s.git("clone", "rm", "-q", "--cached", "data/rows/a.jsonl")
	id, err := r.Commit(t.Context(), Change{Paths: []string{"rows/a.jsonl"}, Deleted: []string{"none", "flip/none"}, Message: "m", When: when, Parent: parent})
	if id != parent || err != nil {
		t.Errorf("Commit() of no change = %s, %v, want the parent %s", id, err, parent)
	}
	if got := s.git("clone", "status", "--porcelain"); got != "" {
		t.Errorf("git status --porcelain = %q, want a clean one", got)
	}
	s.git(".", "init", "-q", "new")
	if id, err := s.open("new").Commit(t.Context(), Change{Message: "m", When: when}); err == nil {
		t.Errorf("Commit() of no file at all = %s, want an error", id)
	}
}

// Objects that the repository has are not written again.
func TestCommitKnownObjects(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	r := s.open("clone/data")
	s.write("clone/data", "copy", "a1\n", "copy2", "new\n", "copy3", "new\n")
	id, err := r.Commit(t.Context(), Change{Paths: []string{"copy", "copy2", "copy3"}, Message: "m", When: when, Parent: headID(t, r)})
	if err != nil {
		t.Fatal(err)
	}
	packs, _ := s.packs(r)
	if len(packs) != 1 {
		t.Fatalf("%d packs, want 1", len(packs))
	}
	out := s.git("clone", "verify-pack", "-v", filepath.Join(r.packDir(), packs[0]))
	if n := strings.Count(out, " blob ") + strings.Count(out, " tree ") + strings.Count(out, " commit "); n != 4 {
		t.Errorf("the pack of %s holds %d objects, want one blob, two trees, one commit:\n%s", id, n, out)
	}
}

func TestCommitCanceled(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	c := s.change("clone/data")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := s.open("clone/data").Commit(ctx, c); !errors.Is(err, cause) {
		t.Errorf("Commit() = %v, want %v", err, cause)
	}
}

// Without git everything but the odd index works; that one is refused before
// anything moves.
func TestCommitWithoutGit(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	c := s.change("clone/data")
	r := s.open("clone/data")
	r.git = ""
	id, err := r.Commit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s.checkCommit("clone", "data", id, "")
	s.git("clone", "update-index", "--split-index")
	s.write("clone/data", "rows/a.jsonl", "a3\n")
	_, err = r.Commit(t.Context(), Change{Paths: []string{"rows/a.jsonl"}, Message: "m", When: when, Parent: id})
	if e, ok := errors.AsType[*IndexError](err); !ok || !errors.Is(err, errIndexForm) || !strings.Contains(e.Hint(), "git reset -q -- data") {
		t.Errorf("Commit() with a split index and no git = %v, want an IndexError", err)
	}
	if got := headID(t, r); got != id {
		t.Errorf("HEAD moved to %s", got)
	}
}

// A broken index is refused before anything moves.
func TestCommitBrokenIndex(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	c := s.change("clone/data")
	index, err := os.ReadFile(filepath.Join(s.dir, "clone/.git/index"))
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(index)
	flipped[100] ^= 1
	for name, b := range map[string][]byte{"nonsense": []byte("DIRCnonsense, and more of that to be long enough"), "empty": nil, "cut short": index[:len(index)-9], "flipped": flipped} {
		t.Run(name, func(t *testing.T) {
			s.write("clone/.git", "index", string(b))
			_, err := s.open("clone/data").Commit(t.Context(), c)
			if e, ok := errors.AsType[*IndexError](err); !ok || !strings.Contains(e.Hint(), "rm "+e.Path) {
				t.Errorf("Commit() with a broken index = %v, want an IndexError", err)
			}
			if got := headID(t, s.open("clone/data")); got != c.Parent {
				t.Errorf("HEAD moved to %s", got)
			}
		})
	}
	s.remove("clone", ".git/index") // as the hint says
	s.git("clone", "reset", "-q")
	id, err := s.open("clone/data").Commit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s.checkCommit("clone", "data", id, "")
}

// errPlayed is the error of a step hook that plays a crash.
var errPlayed = errors.New("played crash")

// TestCommitCrash stops at every step in turn, twice in a row, and then commits.
func TestCommitCrash(t *testing.T) {
	for _, k := range kinds() {
		if !slices.Contains([]string{"normal", "linked work tree", "split index"}, k.name) {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				s := newSandbox(t)
				k.make(s, "data")
				s.write("clone", "docs/staged", "staged\n")
				s.git("clone", "add", "docs/staged")
				c := s.change("clone/data")
				var steps []string
				crash := func(step string) error {
					if steps = append(steps, step); len(steps) == at {
						return errPlayed
					}
					return nil
				}
				c.Step = crash
				_, err := s.open("clone/data").Commit(t.Context(), c)
				if err == nil {
					if at < 9 {
						t.Errorf("Commit() has %d steps, want 8 at least", at-1)
					}
					return
				}
				if !errors.Is(err, errPlayed) {
					t.Fatalf("Commit() = %v, want the played crash", err)
				}
				what := fmt.Sprintf("stopped before step %d, %s", at, steps[at-1])
				if k.name == "normal" {
					s.git("clone", "fsck", "--strict", "--no-dangling")
				}
				if _, _, err := s.open("clone/data").Head(); err != nil {
					t.Fatalf("%s: Head() = %v", what, err)
				}
				steps = nil
				if _, err := s.open("clone/data").Commit(t.Context(), c); err != nil && !errors.Is(err, errPlayed) {
					t.Fatalf("%s twice: Commit() = %v", what, err)
				}
				c.Step = nil
				id, err := s.open("clone/data").Commit(t.Context(), c)
				if err != nil {
					t.Fatalf("%s: Commit() = %v", what, err)
				}
				s.checkCommit("clone", "data", id, "A  docs/staged\n")
				if k.name == "normal" {
					s.next("clone/data", "data", id, "A  docs/staged\n")
				}
				if t.Failed() {
					t.Fatal(what)
				}
			}
		})
	}
}
