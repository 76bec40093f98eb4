package gitrepo

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// when is the date of all test commits.
var when = time.Date(2026, 11, 30, 3, 15, 0, 0, time.UTC)

// TestMain keeps the settings of whoever runs the tests out of them.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "Somebody", "GIT_AUTHOR_EMAIL": "somebody@example.com",
		"GIT_COMMITTER_NAME": "Somebody", "GIT_COMMITTER_EMAIL": "somebody@example.com",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	m.Run()
}

// A sandbox is a folder for the repositories of one test, and the git command.
type sandbox struct {
	t   *testing.T
	dir string
}

// newSandbox skips the test where there is no git command.
func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git command")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &sandbox{t, dir}
}

// git runs git in a folder of the sandbox and returns what it prints.
func (s *sandbox) git(dir string, args ...string) string {
	s.t.Helper()
	out, err := s.try(dir, args...)
	if err != nil {
		s.t.Fatalf("git %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
	}
	return out
}

func (s *sandbox) try(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = filepath.Join(s.dir, dir)
	cmd.Env = gitEnv()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// write writes files, given as path and content in turn, below a folder.
func (s *sandbox) write(dir string, pairs ...string) {
	s.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		name := filepath.Join(s.dir, dir, filepath.FromSlash(pairs[i]))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(pairs[i+1]), 0o666); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *sandbox) remove(dir string, paths ...string) {
	s.t.Helper()
	for _, p := range paths {
		if err := os.RemoveAll(filepath.Join(s.dir, dir, filepath.FromSlash(p))); err != nil {
			s.t.Fatal(err)
		}
	}
}

// init makes a repository with an ordinary first commit of some files in and
// beside the data folder.
func (s *sandbox) init(dir, prefix string) {
	s.t.Helper()
	s.git(".", "init", "-q", "-b", "main", dir)
	s.write(dir, "code/main.go", "package main\n", "docs/notes.txt", "notes\n")
	s.write(filepath.Join(dir, prefix), ".gitattributes", "* -text\n", "rows/a.jsonl", "a1\n", "rows/b.jsonl", "b1\n", "old/only.json", "x\n", "flip", "file\n")
	s.git(dir, "add", "-A")
	s.git(dir, "commit", "-q", "-m", "begin")
}

// open opens a folder of the sandbox.
func (s *sandbox) open(dir string) *Repo {
	s.t.Helper()
	r, err := Open(filepath.Join(s.dir, dir))
	if err != nil {
		s.t.Fatalf("Open(%s) = %v", dir, err)
	}
	return r
}

func headID(t *testing.T, r *Repo) string {
	t.Helper()
	c, _, err := r.Head()
	if err != nil {
		t.Fatalf("Head() = %v", err)
	}
	return c.ID
}

func TestOpen(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	s.git("clone", "worktree", "add", "-q", "../linked")
	s.git(".", "clone", "-q", "--bare", "clone", "bare.git")
	s.git("bare.git", "worktree", "add", "-q", "../ofbare", "main")
	s.git("clone", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../bare.git", "mod")
	s.git(".", "init", "-q", "outer")
	s.git("outer", "init", "-q", "inner")
	if err := os.Symlink(filepath.Join(s.dir, "clone", "data"), filepath.Join(s.dir, "link")); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, dir, root, prefix, gitDir string }{
		{"the root", "clone", "clone", "", "clone/.git"},
		{"a folder", "clone/data", "clone", "data", "clone/.git"},
		{"a folder to be made", "clone/data/x/y", "clone", "data/x/y", "clone/.git"},
		{"a linked work tree", "linked/data", "linked", "data", "clone/.git/worktrees/linked"},
		{"a linked work tree of a bare repository", "ofbare/data", "ofbare", "data", "bare.git/worktrees/ofbare"},
		{"a submodule", "clone/mod/data", "clone/mod", "data", "clone/.git/modules/mod"},
		{"the innermost repository", "outer/inner/data", "outer/inner", "data", "outer/inner/.git"},
		{"through a symbolic link", "link", "clone", "data", "clone/.git"},
		{"below a symbolic link", "link/rows/new", "clone", "data/rows/new", "clone/.git"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := Open(filepath.Join(s.dir, test.dir))
			if err != nil {
				t.Fatalf("Open(%s) = %v", test.dir, err)
			}
			at := func(p string) string { return filepath.Join(s.dir, filepath.FromSlash(p)) }
			if r.Root() != at(test.root) || r.Prefix() != test.prefix || r.GitDir() != at(test.gitDir) {
				t.Errorf("Open(%s) = root %s, prefix %q, git dir %s, want %s, %q, %s", test.dir,
					r.Root(), r.Prefix(), r.GitDir(), at(test.root), test.prefix, at(test.gitDir))
			}
		})
	}
}

func TestOpenIgnoresEnvironment(t *testing.T) {
	s := newSandbox(t)
	s.init("here", "data")
	s.init("there", "data")
	t.Setenv("GIT_DIR", filepath.Join(s.dir, "there", ".git"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(s.dir, "there", ".git", "index"))
	r := s.open("here/data")
	out, err := r.command(t.Context(), nil, "rev-parse", "--absolute-git-dir")
	if got := strings.TrimSpace(string(out)); err != nil || got != r.GitDir() {
		t.Errorf("git rev-parse --absolute-git-dir = %s, %v, want %s", got, err, r.GitDir())
	}
}

func TestOpenErrors(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	s.git(".", "clone", "-q", "--bare", "clone", "bare.git")
	s.git(".", "init", "-q", "setbare")
	s.git("setbare", "config", "core.bare", "true")
	s.git(".", "init", "-q", "--object-format=sha256", "sha256")
	s.git(".", "init", "-q", "future")
	s.git("future", "config", "core.repositoryformatversion", "99")
	s.git(".", "init", "-q", "elsewhere")
	s.git("elsewhere", "config", "core.worktree", filepath.Join(s.dir, "clone"))
	s.write("broken", ".git", "no gitdir\n")
	s.write("dangling", ".git", "gitdir: ../nowhere\n")
	s.write("plain", "file", "x")
	s.git(".", "init", "-q", "badconfig")
	s.write("badconfig/.git", "config", "[core\n")
	if err := os.Symlink("nowhere", filepath.Join(s.dir, "deadlink")); err != nil {
		t.Fatal(err)
	}
	is := func(err error, target any) bool { return errors.As(err, target) }
	tests := []struct {
		name, dir string
		is        func(error) bool
	}{
		{"no repository", "plain", func(err error) bool { return is(err, new(*NotRepositoryError)) }},
		{"bare", "bare.git", func(err error) bool { return is(err, new(*BareError)) }},
		{"inside bare", "bare.git/objects", func(err error) bool { return is(err, new(*BareError)) }},
		{"inside .git", "clone/.git/objects", func(err error) bool { return is(err, new(*BareError)) }},
		{"core.bare", "setbare", func(err error) bool { return is(err, new(*BareError)) }},
		{"a .git file without gitdir", "broken", func(err error) bool { return is(err, new(*UnreadableError)) }},
		{"a .git file that names nothing", "dangling/data", func(err error) bool { return is(err, new(*UnreadableError)) }},
		{"below a file", "plain/file/data", func(err error) bool { return is(err, new(*UnreadableError)) }},
		{"a file", "plain/file", func(err error) bool { return is(err, new(*UnreadableError)) }},
		{"a dead link", "deadlink/data", func(err error) bool { return is(err, new(*UnreadableError)) }},
		{"a broken config", "badconfig", func(err error) bool { return is(err, new(*UnreadableError)) }},
		{"SHA-256", "sha256", func(err error) bool { return is(err, new(*UnsupportedError)) }},
		{"a future format", "future", func(err error) bool { return is(err, new(*UnsupportedError)) }},
		{"core.worktree elsewhere", "elsewhere", func(err error) bool { return is(err, new(*UnsupportedError)) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Open(filepath.Join(s.dir, test.dir))
			if err == nil || !test.is(err) {
				t.Fatalf("Open(%s) = %T %v, want another type", test.dir, err, err)
			}
			h, ok := err.(interface{ Hint() string })
			if !ok || h.Hint() == "" {
				t.Errorf("Open(%s) = %v, which has no hint", test.dir, err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("Open(%s) = %q, want one line", test.dir, err)
			}
		})
	}
}

func TestHeadUnborn(t *testing.T) {
	s := newSandbox(t)
	s.git(".", "init", "-q", "new")
	r := s.open("new/data")
	if c, ok, err := r.Head(); ok || err != nil || c.ID != "" {
		t.Errorf("Head() of an empty repository = %v, %v, %v, want none", c, ok, err)
	}
	if got, err := r.Dirty(); len(got) > 0 || err != nil {
		t.Errorf("Dirty() of an empty repository = %v, %v, want none", got, err)
	}
	s.write("new/data", "x", "x")
	if got, err := r.Dirty(); len(got) != 1 || got[0] != "x" || err != nil {
		t.Errorf("Dirty() with a first file = %v, %v, want [x]", got, err)
	}
}

func TestInit(t *testing.T) {
	s := newSandbox(t)
	if err := Init(s.dir); err != nil {
		t.Fatalf("Init() = %v", err)
	}
	if err := Init(s.dir); err == nil {
		t.Error("Init() of a repository = nil, want an error")
	}
	r := s.open("data")
	if name, ok, err := r.Branch(); name != "main" || !ok || err != nil {
		t.Errorf("Branch() of a new repository = %q, %v, %v, want main", name, ok, err)
	}
	s.write("data", "x", "x")
	id, err := r.Commit(t.Context(), Change{Paths: []string{"x"}, Message: "m", When: when})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.git(".", "status", "--porcelain"); got != "" {
		t.Errorf("git status --porcelain = %q, want a clean one", got)
	}
	s.git(".", "checkout", "-q", "--detach", id)
	if name, ok, err := r.Branch(); ok || err != nil {
		t.Errorf("Branch() of a detached HEAD = %q, %v, %v, want none", name, ok, err)
	}
}

func TestTrailers(t *testing.T) {
	tests := []struct {
		name, message string
		want          map[string]string
	}{
		{"none", "subject\n", map[string]string{}},
		{"a subject that looks like one", "Run: 1\n", map[string]string{}},
		{"some", "s\n\nRun: 2026-11-30\nCoverage: 98.1 %\n", map[string]string{"Run": "2026-11-30", "Coverage": "98.1 %"}},
		{"after a body", "s\n\nbody: with colon\nand more\n\nRun: 1\n", map[string]string{"Run": "1"}},
		{"a body last", "s\n\nRun: 1\n\nbody text\n", map[string]string{}},
		{"a mixed paragraph", "s\n\nRun: 1\nsome words\n", map[string]string{}},
		{"continued", "s\n\nRun: 1\n and on\nB: 2\n\n\n", map[string]string{"Run": "1 and on", "B": "2"}},
		{"twice", "s\n\nA: 1\nA: 2\n", map[string]string{"A": "2"}},
		{"a value with a colon", "s\n\nRoster-Digest: sha256:ab\n", map[string]string{"Roster-Digest": "sha256:ab"}},
		{"empty value", "s\n\nA:\n", map[string]string{"A": ""}},
		{"no key", "s\n\n: 1\n", map[string]string{}},
		{"an indented first line", "s\n\n A: 1\n", map[string]string{}},
		{"empty", "", map[string]string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := trailers(test.message)
			if got == nil || len(got) != len(test.want) {
				t.Fatalf("trailers(%q) = %v, want %v", test.message, got, test.want)
			}
			for k, v := range test.want {
				if w, ok := got[k]; !ok || w != v {
					t.Errorf("trailers(%q)[%s] = %q, want %q", test.message, k, w, v)
				}
			}
		})
	}
}

func TestBlobID(t *testing.T) {
	// The id of the empty file is in git's own hash.c.
	const empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	if got := BlobID(nil); got != empty {
		t.Errorf("BlobID(nil) = %s, want %s", got, empty)
	}
}

func TestRead(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	r := s.open("clone/data")
	s.write("clone/data", "rows/a.jsonl", "a2\n")
	s.git("clone", "commit", "-q", "-a", "-m", "second\n\nRun: 2", "--date", "2026-11-29T00:00:00Z")
	s.git("clone", "checkout", "-q", "-b", "side", "HEAD~1")
	s.write("clone", "side", "x")
	s.git("clone", "add", "-A")
	s.git("clone", "commit", "-q", "-m", "side")
	s.git("clone", "checkout", "-q", "main")
	s.git("clone", "merge", "-q", "--no-ff", "-m", "merged", "side")
	want := strings.Fields(s.git("clone", "log", "--first-parent", "--format=%H"))
	check := func(t *testing.T) {
		t.Helper()
		var got []string
		for c, err := range r.Log(headID(t, r)) {
			if err != nil {
				t.Fatalf("Log() = %v", err)
			}
			got = append(got, c.ID)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") || len(got) != 3 {
			t.Errorf("Log(HEAD) = %v, want %v", got, want)
		}
	}
	check(t)
	c, ok, err := r.Head()
	if !ok || err != nil || len(c.Parents) != 2 || c.Subject != "merged" || c.Boundary || r.Shallow() {
		t.Errorf("Head() = %+v, %v, %v, want the merge", c, ok, err)
	}
	second, err := r.Lookup(want[1])
	if err != nil || second.Trailers["Run"] != "2" || second.Author.Name != "Somebody" || second.Subject != "second" {
		t.Errorf("Lookup(%s) = %+v, %v, want the second commit", want[1], second, err)
	}
	id := BlobID([]byte("a1\n"))
	if b, err := r.Blob(id); string(b) != "a1\n" || err != nil || !r.Has(id) {
		t.Errorf("Blob(%s) = %q, %v, want a1", id, b, err)
	}
	// What git does to the files of the repository meanwhile is not noticed.
	s.git("clone", "gc", "-q", "--prune=now")
	check(t)
	if b, err := r.Blob(id); string(b) != "a1\n" || err != nil || !r.Has(id) {
		t.Errorf("after gc Blob(%s) = %q, %v, want a1", id, b, err)
	}
	none := strings.Repeat("1", 40)
	if _, err := r.Blob(none); err == nil || r.Has(none) || r.Has("x") {
		t.Errorf("Blob(%s) = %v, want an error", none, err)
	}
	if _, err := r.Lookup("HEAD"); err == nil {
		t.Errorf("Lookup(HEAD) = nil, want an error: it takes ids only")
	}
	m, err := r.TreeBlobs(want[2])
	if err != nil || len(m) != 5 || m["rows/a.jsonl"] != id {
		t.Errorf("TreeBlobs(%s) = %v, %v, want 5 files with rows/a.jsonl at %s", want[2], m, err, id)
	}
}

func TestShallow(t *testing.T) {
	s := newSandbox(t)
	s.init("origin", "data")
	s.write("origin/data", "rows/a.jsonl", "a2\n")
	s.git("origin", "commit", "-q", "-a", "-m", "second")
	s.git(".", "clone", "-q", "--depth=1", "file://"+filepath.Join(s.dir, "origin"), "clone")
	r := s.open("clone/data")
	if !r.Shallow() {
		t.Errorf("Shallow() of a clone of depth 1 = false, want true")
	}
	n := 0
	for c, err := range r.Log(headID(t, r)) {
		if err != nil || !c.Boundary || c.Subject != "second" {
			t.Errorf("Log() yields %+v, %v, want the boundary", c, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("Log() of a clone of depth 1 yields %d commits, want 1", n)
	}
}

func TestPartialClone(t *testing.T) {
	s := newSandbox(t)
	s.init("origin", "data")
	s.git("origin", "config", "uploadpack.allowfilter", "true")
	s.git("origin", "config", "uploadpack.allowanysha1inwant", "true")
	s.git(".", "clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+filepath.Join(s.dir, "origin"), "clone")
	r := s.open("clone/data")
	fsys, err := r.FS(headID(t, r))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := fs.ReadFile(fsys, "rows/a.jsonl"); string(b) != "a1\n" || err != nil {
		t.Errorf("ReadFile of a blob that was not fetched = %q, %v, want a1", b, err)
	}
}

func FuzzParseIndex(f *testing.F) {
	x := &index{version: 4, entries: []entry{
		{name: "a", mode: modeRegular}, {name: "a/b", mode: modeRegular, ext: extSkipWorktree, flags: flagAssumeValid},
	}}
	f.Add(x.encode())
	x.version = 2
	f.Add(x.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := parseIndex(b)
		if err != nil {
			t.Skip()
		}
		once := x.encode()
		y, err := parseIndex(once)
		if err != nil || string(y.encode()) != string(once) {
			t.Errorf("parseIndex(encode(parseIndex(%q))) = %v, want the same", b, err)
		}
	})
}
