package site

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// MarkerName is the file by which the output folder of a site is known. It lists
// the files that the build wrote, so that the next one removes what is stale,
// and only that.
const MarkerName = ".mcpstrata-site"

// markerHead is the first line of the marker; the second is the word base and
// the path of the site's root on its host, which 404.html links from.
const markerHead = "mcpstrata site 1"

// The bounds of the size of a site, in bytes: GitHub Pages publishes 1 GB.
const (
	maxSite  = 900e6
	noteSite = 700e6
)

// A FolderError says that an output folder holds something that no build wrote.
type FolderError struct{ Dir, Found string }

func (e *FolderError) Error() string {
	return fmt.Sprintf("%s holds %s, and no build of a site made it", e.Dir, e.Found)
}

// Hint says what to do.
func (e *FolderError) Hint() string { return "name a folder that is empty or does not exist" }

// A SizeError says that a site has become too large to publish.
type SizeError struct{ Bytes int64 }

func (e *SizeError) Error() string {
	return fmt.Sprintf("the site is over %d MB, more than can be published", int64(maxSite/1e6))
}

// Hint says what to do.
func (e *SizeError) Hint() string { return "nothing more is written; the pages of before stay" }

// A folder is the output folder while a build writes it. It is safe for
// concurrent use.
type folder struct {
	root *os.Root
	base string
	old  map[string]bool // files of the build before

	mu      sync.Mutex // guards what follows
	journal *os.File   // the marker, to which each new file is added before it is written
	files   map[string]bool
	folded  map[string]string // path in lower case to path, for file systems that fold case
	dirs    map[string]bool   // folders known to exist
	bytes   int64
	written int
}

// openFolder opens an output folder for writing, and makes it where it does not
// exist. It fails with a *FolderError on one that is not ours.
func openFolder(dir, base string) (f *folder, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			root.Close()
		}
	}()
	f = &folder{root: root, base: base, old: map[string]bool{}, files: map[string]bool{}, folded: map[string]string{}, dirs: map[string]bool{}}
	b, err := root.ReadFile(MarkerName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := f.foreign(dir); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case !f.readMarker(b):
		return nil, &FolderError{dir, MarkerName + " of another kind"}
	}
	return f, f.start(b)
}

// foreign fails if the folder holds anything but what may stand beside a site.
func (f *folder) foreign(dir string) error {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if n := e.Name(); n != "README.md" && n != ".gitignore" {
			return &FolderError{dir, n}
		}
	}
	return nil
}

// readMarker reads the list of the build before. A line that is not a path below
// the folder is passed over.
func (f *folder) readMarker(b []byte) bool {
	head, list, _ := strings.Cut(string(b), "\n")
	if head != markerHead {
		return false
	}
	_, list, _ = strings.Cut(list, "\n")
	for line := range strings.Lines(list) {
		if p := strings.TrimSuffix(line, "\n"); p != line && local(p) {
			f.old[p] = true
		}
	}
	return true
}

// start makes the marker and the .gitignore that keeps the output out of the
// repository around it.
func (f *folder) start(marker []byte) error {
	if marker == nil {
		if err := f.root.WriteFile(MarkerName, []byte(f.head()), 0o666); err != nil {
			return err
		}
	}
	if _, err := f.root.Lstat(".gitignore"); errors.Is(err, fs.ErrNotExist) {
		if err := f.root.WriteFile(".gitignore", []byte("*\n"), 0o666); err != nil {
			return err
		}
	}
	var err error
	f.journal, err = f.root.OpenFile(MarkerName, os.O_WRONLY|os.O_APPEND, 0o666)
	return err
}

func (f *folder) head() string { return markerHead + "\nbase " + f.base + "\n" }

// local reports whether p is a path of a file below the folder, in its only form.
func local(p string) bool {
	return p != MarkerName && p != "." && path.Clean(p) == p && filepath.IsLocal(filepath.FromSlash(p)) && !strings.ContainsAny(p, "\\\n:")
}

// write writes one file, if its bytes differ from those that are there.
func (f *folder) write(name string, b []byte) error {
	if !local(name) {
		return fmt.Errorf("writing %q: not a path below the output folder", name)
	}
	if err := f.enter(name, len(b)); err != nil {
		return err
	}
	file := filepath.FromSlash(name)
	if f.old[name] {
		if was, err := f.root.ReadFile(file); err == nil && bytes.Equal(was, b) {
			return nil
		}
	}
	if err := f.root.WriteFile(file, b, 0o666); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written++
	return nil
}

// enter notes a file that is going to be written.
func (f *folder) enter(name string, size int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	lower := strings.ToLower(name)
	if was, ok := f.folded[lower]; ok {
		return fmt.Errorf("writing %s: it would overwrite %s", name, was)
	}
	f.folded[lower] = name
	f.files[name] = true
	if f.bytes += int64(size); f.bytes > maxSite {
		return &SizeError{f.bytes}
	}
	if !f.old[name] {
		if _, err := f.journal.WriteString(name + "\n"); err != nil {
			return fmt.Errorf("writing %s: %w", MarkerName, err)
		}
	}
	dir := path.Dir(name)
	if f.dirs[dir] {
		return nil
	}
	f.dirs[dir] = true
	return f.root.MkdirAll(filepath.FromSlash(dir), 0o777)
}

// finish removes what the build before wrote and this one did not, unless only
// some files were meant to be written, and completes the marker. It returns how
// many files it removed.
func (f *folder) finish(partial bool) (removed int, err error) {
	stale := []string{}
	for p := range f.old {
		switch {
		case f.files[p]:
		case partial:
			f.files[p] = true
		default:
			stale = append(stale, p)
		}
	}
	slices.Sort(stale)
	for _, p := range stale {
		if err := f.root.Remove(filepath.FromSlash(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("removing a stale file: %w", err)
		}
		removed++
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if f.root.Remove(filepath.FromSlash(dir)) != nil {
				break // not empty
			}
		}
	}
	list := []byte(f.head())
	for _, p := range slices.Sorted(maps.Keys(f.files)) {
		list = append(append(list, p...), '\n')
	}
	return removed, f.root.WriteFile(MarkerName, list, 0o666)
}

// close closes the folder.
func (f *folder) close() error { return errors.Join(f.journal.Close(), f.root.Close()) }
