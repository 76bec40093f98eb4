package gitrepo

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// freshen makes the index older than no file: it moves the times of all files
// back and refreshes the index, so that stat data can be relied on.
func (s *sandbox) freshen(dir string) {
	s.t.Helper()
	past := time.Now().Add(-time.Hour)
	for name := range filesBelow(s.t, filepath.Join(s.dir, dir)) {
		if err := os.Chtimes(name, past, past); err != nil {
			s.t.Fatal(err)
		}
	}
	s.git(dir, "update-index", "-q", "--refresh")
}

func (s *sandbox) setMode(dir, name string, mode os.FileMode) {
	s.t.Helper()
	if err := os.Chmod(filepath.Join(s.dir, dir, name), mode); err != nil {
		s.t.Fatal(err)
	}
}

func filesBelow(t *testing.T, dir string) map[string]bool {
	files := map[string]bool{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if err == nil && d.Type().IsRegular() {
			files[p] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestDirty(t *testing.T) {
	tests := []struct {
		name string
		edit func(s *sandbox, dir string)
		want []string
	}{
		{"nothing", func(s *sandbox, dir string) {}, nil},
		{"changed", func(s *sandbox, dir string) { s.write(dir, "rows/a.jsonl", "a1 and more\n") }, []string{"rows/a.jsonl"}},
		{"changed to the same size", func(s *sandbox, dir string) { s.write(dir, "rows/a.jsonl", "A1\n") }, []string{"rows/a.jsonl"}},
		{"changed and staged", func(s *sandbox, dir string) { s.write(dir, "rows/a.jsonl", "A1\n"); s.git(dir, "add", "-A") }, []string{"rows/a.jsonl"}},
		{"staged and changed back", func(s *sandbox, dir string) {
			s.write(dir, "rows/a.jsonl", "A1\n")
			s.git(dir, "add", "-A")
			s.write(dir, "rows/a.jsonl", "a1\n")
		}, nil},
		{"rewritten with the same bytes", func(s *sandbox, dir string) { s.write(dir, "rows/a.jsonl", "a1\n") }, nil},
		{"missing", func(s *sandbox, dir string) { s.remove(dir, "rows/a.jsonl", "old") }, []string{"old/only.json", "rows/a.jsonl"}},
		{"all missing", func(s *sandbox, dir string) {
			s.remove(dir, "rows", "old", "flip", ".gitattributes")
		}, []string{".gitattributes", "flip", "old/only.json", "rows/a.jsonl", "rows/b.jsonl"}},
		{"untracked", func(s *sandbox, dir string) { s.write(dir, "rows/c", "", "new/x", "") }, []string{"new/x", "rows/c"}},
		{"untracked and staged", func(s *sandbox, dir string) { s.write(dir, "rows/c", ""); s.git(dir, "add", "-A") }, []string{"rows/c"}},
		{"ignored", func(s *sandbox, dir string) {
			s.write(dir, "c.tmp", "")
			s.write("clone", ".git/info/exclude", "*.tmp\n")
		}, []string{"c.tmp"}},
		{"a file became a folder", func(s *sandbox, dir string) { s.remove(dir, "flip"); s.write(dir, "flip/x", "") }, []string{"flip", "flip/x"}},
		{"a file became a link", func(s *sandbox, dir string) {
			s.remove(dir, "flip")
			if err := os.Symlink("rows/a.jsonl", filepath.Join(s.dir, dir, "flip")); err != nil {
				s.t.Fatal(err)
			}
		}, []string{"flip"}},
		{"an empty folder", func(s *sandbox, dir string) {
			if err := os.Mkdir(filepath.Join(s.dir, dir, "empty"), 0o777); err != nil {
				s.t.Fatal(err)
			}
		}, nil},
		{"made executable", func(s *sandbox, dir string) { s.setMode(dir, "rows/a.jsonl", 0o755) }, []string{"rows/a.jsonl"}},
		{"made executable and known to the index", func(s *sandbox, dir string) {
			s.setMode(dir, "rows/a.jsonl", 0o755)
			s.git(dir, "add", "-A")
			s.freshen("clone")
		}, []string{"rows/a.jsonl"}},
		{"executable for others only", func(s *sandbox, dir string) { s.setMode(dir, "rows/a.jsonl", 0o655) }, nil},
		{"read-only", func(s *sandbox, dir string) { s.setMode(dir, "rows/a.jsonl", 0o444) }, nil},
		{"committed as executable", func(s *sandbox, dir string) {
			s.setMode(dir, "rows/a.jsonl", 0o755)
			s.git(dir, "commit", "-q", "-a", "-m", "mode")
		}, nil},
		{"no longer executable", func(s *sandbox, dir string) {
			s.setMode(dir, "rows/a.jsonl", 0o755)
			s.git(dir, "commit", "-q", "-a", "-m", "mode")
			s.setMode(dir, "rows/a.jsonl", 0o644)
		}, []string{"rows/a.jsonl"}},
		{"made executable where modes don't count", func(s *sandbox, dir string) {
			s.git(dir, "config", "core.fileMode", "false")
			s.setMode(dir, "rows/a.jsonl", 0o755)
		}, nil},
		{"outside", func(s *sandbox, dir string) { s.write("clone", "docs/notes.txt", "x", "docs/new", "") }, nil},
		{"a split index", func(s *sandbox, dir string) {
			s.git(dir, "update-index", "--split-index")
			s.write(dir, "flip", "FILE\n")
		}, []string{"flip"}},
		{"an index of version 4", func(s *sandbox, dir string) {
			s.git(dir, "update-index", "--index-version=4")
			s.write(dir, "flip", "FILE\n")
		}, []string{"flip"}},
		{"no index", func(s *sandbox, dir string) { s.remove("clone", ".git/index"); s.write(dir, "flip", "FILE\n") }, []string{"flip"}},
		{"sparse", func(s *sandbox, dir string) {
			s.git("clone", "sparse-checkout", "set", "--no-cone", "/data/rows/")
			s.remove(dir, "rows/b.jsonl")
		}, []string{"rows/b.jsonl"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			s.init("clone", "data")
			s.freshen("clone")
			test.edit(s, "clone/data")
			got, err := s.open("clone/data").Dirty()
			if d := cmp.Diff(test.want, got); err != nil || d != "" {
				t.Errorf("Dirty() = %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

// A committed symbolic link is compared by its target.
func TestDirtyLink(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	name := filepath.Join(s.dir, "clone/data/link")
	if err := os.Symlink("rows/a.jsonl", name); err != nil {
		t.Fatal(err)
	}
	s.git("clone", "add", "-A")
	s.git("clone", "commit", "-q", "-m", "link")
	r := s.open("clone/data")
	if got, err := r.Dirty(); len(got) > 0 || err != nil {
		t.Errorf("Dirty() = %v, %v, want none", got, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("rows/b.jsonl", name); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Dirty(); len(got) != 1 || err != nil {
		t.Errorf("Dirty() = %v, %v, want [link]", got, err)
	}
}

// With a fresh index, files are not read: one that can't be is clean all the same.
func TestDirtyTrustsIndex(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	s.freshen("clone")
	r := s.open("clone/data")
	known, _ := r.indexed()
	if len(known) != 5 {
		t.Errorf("indexed() knows %d files, want all 5", len(known))
	}
	for name, e := range known {
		info, err := os.Stat(filepath.Join(s.dir, "clone/data", name))
		if err != nil || !e.stat.matches(statOf(info)) {
			t.Errorf("the stat data of %s is %+v, want what git stored, %+v: %v", name, statOf(info), e.stat, err)
		}
	}
}

// The index that we write is one that git has nothing to refresh in.
func TestIndexStatData(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	c := s.change("clone/data")
	if _, err := s.open("clone/data").Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ours := s.git("clone", "ls-files", "--debug", "data")
	s.remove("clone", ".git/index")
	s.git("clone", "reset", "-q")
	s.git("clone", "update-index", "--refresh", "-q")
	if theirs := s.git("clone", "ls-files", "--debug", "data"); ours != theirs {
		t.Errorf("git ls-files --debug, ours and git's (-ours +git's):\n%s", cmp.Diff(ours, theirs))
	}
}

func BenchmarkDirty(b *testing.B) {
	const files = 46_000
	dir := b.TempDir()
	if _, err := osGit(dir, "init", "-q"); err != nil {
		b.Skip(err)
	}
	c := Change{Message: "m", When: when}
	for i := range files {
		name := fmt.Sprintf("%02x/f%d.json", i%256, i)
		writeFile(b, filepath.Join(dir, name), fmt.Sprintf("content %d\n", i))
		c.Paths = append(c.Paths, name)
	}
	r, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := r.Commit(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(filepath.Join(dir, ".git/index"), later, later); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if got, err := r.Dirty(); len(got) > 0 || err != nil {
			b.Fatalf("Dirty() = %d paths, %v", len(got), err)
		}
	}
}
