package gitrepo

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// FS returns the tree below Prefix at the given commit, read-only. It implements
// [fs.ReadFileFS], [fs.ReadDirFS] and [fs.StatFS]. It is empty if the commit has
// no such folder. The time of every file is that of the commit; a symbolic link
// has its own mode and reads as its target's path; a submodule is irregular and
// can't be opened. It is not safe for concurrent use.
func (r *Repo) FS(commitID string) (fs.FS, error) {
	c, err := r.commit(commitID)
	if err != nil {
		return nil, err
	}
	root, err := r.prefixTree(commitID)
	if err != nil {
		return nil, err
	}
	return &treeFS{repo: r, root: root, when: c.Committer.When.UTC(), trees: map[plumbing.Hash]*object.Tree{}}, nil
}

type treeFS struct {
	repo  *Repo
	root  plumbing.Hash // zero: empty
	when  time.Time
	trees map[plumbing.Hash]*object.Tree // all trees read so far
}

var (
	_ fs.ReadFileFS = (*treeFS)(nil)
	_ fs.ReadDirFS  = (*treeFS)(nil)
	_ fs.StatFS     = (*treeFS)(nil)
)

func (f *treeFS) tree(h plumbing.Hash) (*object.Tree, error) {
	if t, ok := f.trees[h]; ok {
		return t, nil
	}
	if h.IsZero() {
		return &object.Tree{}, nil
	}
	t, err := f.repo.tree(h)
	if err == nil {
		f.trees[h] = t
	}
	return t, err
}

// lookup finds the entry called name.
func (f *treeFS) lookup(op, name string) (object.TreeEntry, error) {
	if !fs.ValidPath(name) {
		return object.TreeEntry{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	e := object.TreeEntry{Name: ".", Mode: filemode.Dir, Hash: f.root}
	if name == "." {
		return e, nil
	}
	for elem := range strings.SplitSeq(name, "/") {
		if e.Mode != filemode.Dir {
			return object.TreeEntry{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		t, err := f.tree(e.Hash)
		if err != nil {
			return object.TreeEntry{}, &fs.PathError{Op: op, Path: name, Err: err}
		}
		i, ok := searchTree(t, elem)
		if !ok {
			return object.TreeEntry{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		e = t.Entries[i]
	}
	return e, nil
}

// searchTree finds name among the entries of t, which git sorts as if a
// directory's name ended in a slash.
func searchTree(t *object.Tree, name string) (int, bool) {
	for _, key := range []string{name, name + "/"} {
		i, ok := slices.BinarySearchFunc(t.Entries, key, func(e object.TreeEntry, key string) int {
			return strings.Compare(treeKey(e), key)
		})
		if ok {
			return i, true
		}
	}
	return 0, false
}

func treeKey(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

// Open implements [fs.FS].
func (f *treeFS) Open(name string) (fs.File, error) {
	e, err := f.lookup("open", name)
	if err != nil {
		return nil, err
	}
	if e.Mode == filemode.Dir {
		entries, err := f.entries(e)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return &openDir{info: f.info(e, 0), path: name, entries: entries}, nil
	}
	b, err := f.read(e)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &openFile{info: f.info(e, int64(len(b))), Reader: bytes.NewReader(b)}, nil
}

// ReadFile implements [fs.ReadFileFS].
func (f *treeFS) ReadFile(name string) ([]byte, error) {
	e, err := f.lookup("read", name)
	if err != nil {
		return nil, err
	}
	b, err := f.read(e)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return b, nil
}

func (f *treeFS) read(e object.TreeEntry) ([]byte, error) {
	switch e.Mode {
	case filemode.Dir:
		return nil, fmt.Errorf("%w: is a directory", fs.ErrInvalid)
	case filemode.Submodule:
		return nil, fmt.Errorf("%w: is a submodule", fs.ErrInvalid)
	}
	return f.repo.blob(e.Hash)
}

// ReadDir implements [fs.ReadDirFS].
func (f *treeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := f.lookup("readdir", name)
	if err != nil {
		return nil, err
	}
	if e.Mode != filemode.Dir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fmt.Errorf("%w: not a directory", fs.ErrInvalid)}
	}
	entries, err := f.entries(e)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	return entries, nil
}

func (f *treeFS) entries(dir object.TreeEntry) ([]fs.DirEntry, error) {
	t, err := f.tree(dir.Hash)
	if err != nil {
		return nil, err
	}
	list := make([]fs.DirEntry, len(t.Entries))
	for i, e := range t.Entries {
		list[i] = dirEntry{f, e}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Stat implements [fs.StatFS].
func (f *treeFS) Stat(name string) (fs.FileInfo, error) {
	e, err := f.lookup("stat", name)
	if err != nil {
		return nil, err
	}
	info, err := f.stat(e)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return info, nil
}

func (f *treeFS) stat(e object.TreeEntry) (fs.FileInfo, error) {
	if e.Mode == filemode.Dir || e.Mode == filemode.Submodule {
		return f.info(e, 0), nil
	}
	size, err := f.repo.store.EncodedObjectSize(e.Hash)
	if err != nil { // in an alternate, in a new pack or not fetched yet
		var b []byte
		if b, err = f.repo.blob(e.Hash); err != nil {
			return nil, err
		}
		size = int64(len(b))
	}
	return f.info(e, size), nil
}

func (f *treeFS) info(e object.TreeEntry, size int64) fileInfo {
	return fileInfo{name: path.Base(e.Name), mode: fileMode(e.Mode), size: size, when: f.when}
}

// fileMode returns what io/fs calls a mode of git's.
func fileMode(m filemode.FileMode) fs.FileMode {
	switch m {
	case filemode.Dir:
		return fs.ModeDir | 0o555
	case filemode.Executable:
		return 0o555
	case filemode.Symlink:
		return fs.ModeSymlink | 0o444
	case filemode.Submodule:
		return fs.ModeIrregular | 0o444
	}
	return 0o444
}

type dirEntry struct {
	fs    *treeFS
	entry object.TreeEntry
}

func (d dirEntry) Name() string               { return d.entry.Name }
func (d dirEntry) IsDir() bool                { return d.entry.Mode == filemode.Dir }
func (d dirEntry) Type() fs.FileMode          { return fileMode(d.entry.Mode).Type() }
func (d dirEntry) Info() (fs.FileInfo, error) { return d.fs.stat(d.entry) }
func (d dirEntry) String() string             { return fs.FormatDirEntry(d) }

type fileInfo struct {
	name string
	mode fs.FileMode
	size int64
	when time.Time
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) Mode() fs.FileMode  { return i.mode }
func (i fileInfo) ModTime() time.Time { return i.when }
func (i fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fileInfo) Sys() any           { return nil }
func (i fileInfo) String() string     { return fs.FormatFileInfo(i) }

type openFile struct {
	info fileInfo
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	info    fileInfo
	path    string
	entries []fs.DirEntry // those not yet returned
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: fmt.Errorf("%w: is a directory", fs.ErrInvalid)}
}

// ReadDir implements [fs.ReadDirFile].
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(d.entries) {
		if n > 0 && len(d.entries) == 0 {
			return nil, io.EOF
		}
		n = len(d.entries)
	}
	list := d.entries[:n:n]
	d.entries = d.entries[n:]
	return list, nil
}
