package gitrepo

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFS(t *testing.T) {
	for _, prefix := range []string{"", "data", "a/b/data"} {
		t.Run("prefix "+prefix, func(t *testing.T) {
			s := newSandbox(t)
			s.init("clone", prefix)
			s.write("clone/"+prefix, "a", "1", "a-b", "2", "a.json", "3", "aa/x", "4", "sort/a/x", "5", "sort/a.b", "6", "sort/a0", "7", "empty", "")
			s.git("clone", "add", "-A")
			s.git("clone", "commit", "-q", "-m", "more")
			r := s.open("clone/" + prefix)
			fsys, err := r.FS(headID(t, r))
			if err != nil {
				t.Fatalf("FS() = %v", err)
			}
			want := []string{".gitattributes", "a", "a-b", "a.json", "aa/x", "empty", "flip", "old/only.json", "rows/a.jsonl", "sort/a/x", "sort/a.b", "sort/a0"}
			if prefix == "" {
				want = append(want, "code/main.go")
			}
			if err := fstest.TestFS(fsys, want...); err != nil {
				t.Errorf("TestFS: %v", err)
			}
			if b, err := fs.ReadFile(fsys, "rows/a.jsonl"); string(b) != "a1\n" || err != nil {
				t.Errorf("ReadFile(rows/a.jsonl) = %q, %v, want a1", b, err)
			}
			if _, err := fs.Stat(fsys, "a/x"); err == nil {
				t.Errorf("Stat(a/x) = nil, want an error: a is a file")
			}
		})
	}
}

func TestFSEmpty(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	for _, dir := range []string{"clone/none", "clone/data/none/at/all", "clone/data/flip2"} {
		r := s.open(dir)
		fsys, err := r.FS(headID(t, r))
		if err != nil {
			t.Fatalf("FS() = %v", err)
		}
		if err := fstest.TestFS(fsys); err != nil {
			t.Errorf("TestFS of an absent folder: %v", err)
		}
		if list, err := fs.ReadDir(fsys, "."); len(list) > 0 || err != nil {
			t.Errorf("ReadDir(.) of an absent folder = %v, %v, want none", list, err)
		}
	}
}

func TestFSOtherKinds(t *testing.T) {
	s := newSandbox(t)
	s.init("clone", "data")
	link := s.git("clone", "rev-parse", "HEAD")
	blob := BlobID([]byte("a1\n"))
	s.git("clone", "update-index", "--add", "--cacheinfo", "160000,"+strings.TrimSpace(link)+",data/sub")
	s.git("clone", "update-index", "--add", "--cacheinfo", "120000,"+blob+",data/link")
	s.git("clone", "update-index", "--add", "--cacheinfo", "100755,"+blob+",data/run")
	s.git("clone", "commit", "-q", "-m", "kinds")
	r := s.open("clone/data")
	fsys, err := r.FS(headID(t, r))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{
		"sub": fs.ModeIrregular | 0o444, "link": fs.ModeSymlink | 0o444, "run": 0o555, "rows": fs.ModeDir | 0o555, "flip": 0o444,
	} {
		if info, err := fs.Stat(fsys, name); err != nil || info.Mode() != want {
			t.Errorf("Stat(%s) = %v, %v, want mode %v", name, info, err, want)
		}
	}
	if b, err := fs.ReadFile(fsys, "link"); string(b) != "a1\n" || err != nil {
		t.Errorf("ReadFile(link) = %q, %v, want its target", b, err)
	}
	if _, err := fs.ReadFile(fsys, "sub"); err == nil {
		t.Errorf("ReadFile(sub) = nil, want an error")
	}
	m, err := r.TreeBlobs(headID(t, r))
	if _, ok := m["sub"]; ok || err != nil || m["link"] != blob {
		t.Errorf("TreeBlobs() = %v, %v, want the link and no submodule", m, err)
	}
}
