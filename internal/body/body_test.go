package body

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

const (
	was = `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"}]}}`
	is  = `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"b"}]}}`
	// gone is the body of a file that was rewritten before anything was
	// committed: nothing keeps it.
	gone = `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`
)

// twoDays makes a repository of two days, in which one file held was, then is.
func twoDays(t *testing.T) (data string, repo *gitrepo.Repo) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := gitrepo.Init(filepath.Dir(data)); err != nil {
		t.Fatal(err)
	}
	repo, err := gitrepo.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	path := archive.BodyPath("v1", "com.example/s", "")
	parent := ""
	for _, d := range []struct {
		run    string
		bodies []string // the last is the file's
	}{{"2026-11-01", []string{gone, was}}, {"2026-11-02", []string{is}}} {
		var index []byte
		for _, b := range d.bodies {
			index = append(index, record.Line(record.Body{
				Blob: gitrepo.BlobID([]byte(b)), Bytes: int64(len(b)), Path: strings.TrimPrefix(path, archive.Dir+"/"), SHA256: canon.Sum([]byte(b)),
			})...)
		}
		files := map[string][]byte{
			path:                     []byte(d.bodies[len(d.bodies)-1]),
			archive.IndexPath(d.run): index,
			archive.RunPath(d.run):   record.File(record.Run{Run: d.run, Day: record.Day(d.run)}),
		}
		change := gitrepo.Change{Message: "observe " + d.run, When: record.Day(d.run).Time().Add(3 * time.Hour), Parent: parent}
		for name, b := range files {
			write(t, filepath.Join(data, name), b)
			change.Paths = append(change.Paths, name)
		}
		if parent, err = repo.Commit(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	return data, repo
}

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestRead(t *testing.T) {
	data, repo := twoDays(t)
	tree := archive.Open(os.DirFS(data))
	tests := []struct {
		name string
		repo *gitrepo.Repo
		load bool
		body string
		want string // the beginning of the error; "" for none
	}{
		{"in the tree", repo, false, is, ""},
		{"in the tree, index loaded", repo, true, is, ""},
		{"in the tree, no repository", nil, false, is, ""},
		{"in the history", repo, false, was, ""},
		{"in the history, index loaded", repo, true, was, ""},
		{"in the history, no repository", nil, false, was, "*body.MissingError"},
		{"nowhere", repo, true, gone, "*body.MissingError"},
		{"never recorded", repo, false, "other", "*body.UnknownError"},
		{"never recorded, index loaded", repo, true, "other", "*body.UnknownError"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(tree, tt.repo)
			if tt.load {
				if err := s.Load(); err != nil {
					t.Fatal(err)
				}
			}
			d := canon.Sum([]byte(tt.body))
			b, err := s.Read(d)
			var missing *MissingError
			var unknown *UnknownError
			got := ""
			switch {
			case errors.As(err, &missing) && missing.Next != "":
				got = "*body.MissingError"
			case errors.As(err, &unknown):
				got = "*body.UnknownError"
			case err != nil:
				got = err.Error()
			case string(b) != tt.body:
				t.Errorf("Read(%s) = %q, want %q", d, b, tt.body)
			}
			if got != tt.want {
				t.Errorf("Read(%s) ended with %v, want %q", d, err, tt.want)
			}
		})
	}
}

// A body that was removed on request says so, with day and reason; one that is
// still there is read whatever the list says.
func TestReadRemoved(t *testing.T) {
	data, repo := twoDays(t)
	d := canon.Sum([]byte(gone))
	stones := append(record.Line(record.Tombstone{Day: "2026-11-03", Reason: "its author asked", SHA256: d}),
		record.Line(record.Tombstone{Day: "2026-11-03", Reason: "not yet done", SHA256: canon.Sum([]byte(is))})...)
	write(t, filepath.Join(data, TombstonesPath), stones)
	s := New(archive.Open(os.DirFS(data)), repo)
	var removed *RemovedError
	if _, err := s.Read(d); !errors.As(err, &removed) || removed.Day != "2026-11-03" || removed.Reason != "its author asked" {
		t.Errorf("Read of a removed body = %v, want who removed it", err)
	}
	if b, err := s.Read(canon.Sum([]byte(is))); err != nil || string(b) != is {
		t.Errorf("Read = %q, %v, want the body that is there", b, err)
	}
	write(t, filepath.Join(data, TombstonesPath), []byte("{\n"))
	s = New(archive.Open(os.DirFS(data)), repo)
	if _, err := s.Read(d); err == nil || !strings.Contains(err.Error(), TombstonesPath) {
		t.Errorf("Read with a damaged list = %v, want an error that names it", err)
	}
}

func TestContract(t *testing.T) {
	data, repo := twoDays(t)
	s := New(archive.Open(os.DirFS(data)), repo)
	c, err := s.Contract([]canon.Digest{canon.Sum([]byte(was))})
	if err != nil || len(c.Tools) != 1 || c.Tools[0].Name != "a" {
		t.Errorf("Contract = %+v, %v, want the tool a", c, err)
	}
	if _, err := s.Contract([]canon.Digest{canon.Sum([]byte(is)), canon.Sum([]byte("other"))}); err == nil {
		t.Error("Contract of a body that nobody recorded did not fail")
	}
}
