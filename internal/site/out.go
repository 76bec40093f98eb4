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
	"strconv"
	"strings"
	"sync"
)

// MarkerName is the file by which the output folder of a site is known. It lists
// the files that the build wrote, so that the next one removes what is stale,
// and only that.
const MarkerName = ".mcpstrata-site"

// stagingName is the folder, inside the output folder, in which new files wait
// until all of them are there: a build that fails leaves the site as it was.
const stagingName = MarkerName + ".new"

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
func (e *SizeError) Hint() string { return "nothing was written; the site of before stays" }

// A folder is the output folder while a build writes it. It is safe for
// concurrent use.
type folder struct {
	root *os.Root
	base string
	old  map[string]bool // files of the build before

	mu     sync.Mutex // guards what follows
	files  map[string]bool
	folded map[string]string // path in lower case to path, for file systems that fold case
	staged map[string]string // new files: path to its name in the staging folder
	bytes  int64
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
	f = &folder{root: root, base: base, old: map[string]bool{}, files: map[string]bool{}, folded: map[string]string{}, staged: map[string]string{}}
	b, err := root.ReadFile(MarkerName)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(b) == 0: // a disk that was full left it empty
		if err := f.foreign(dir); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case !f.readMarker(b):
		return nil, &FolderError{dir, MarkerName + " of another kind"}
	}
	if err := root.RemoveAll(stagingName); err != nil { // of a build that died
		return nil, err
	}
	return f, root.Mkdir(stagingName, 0o777)
}

// foreign fails if the folder holds anything but what may stand beside a site.
func (f *folder) foreign(dir string) error {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if n := e.Name(); n != "README.md" && n != ".gitignore" && n != stagingName && n != MarkerName {
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

// BasePath returns the path at which a site was rendered to stand, which its
// marker file names; / where it says nothing that can be one.
func BasePath(site fs.FS) string {
	b, err := fs.ReadFile(site, MarkerName)
	if err != nil {
		return "/"
	}
	for line := range strings.Lines(string(b)) {
		base, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "base ")
		if ok && strings.HasPrefix(base, "/") && strings.HasSuffix(base, "/") && path.Clean(base)+"/" == base {
			return base
		}
	}
	return "/"
}

// local reports whether p is a path of a file below the folder, in its only form.
func local(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return p != MarkerName && first != stagingName && p != "." && path.Clean(p) == p && filepath.IsLocal(filepath.FromSlash(p)) && !strings.ContainsAny(p, "\\\n\x00:")
}

// write stages one file, if its bytes differ from those that are there.
func (f *folder) write(name string, b []byte) error {
	if !local(name) {
		return fmt.Errorf("writing %q: not a path below the output folder", name)
	}
	if err := f.enter(name, len(b)); err != nil {
		return err
	}
	if f.old[name] && f.holds(filepath.FromSlash(name), b) {
		return nil
	}
	f.mu.Lock()
	staged := path.Join(stagingName, strconv.Itoa(len(f.staged)))
	f.staged[name] = staged
	f.mu.Unlock()
	if err := f.root.WriteFile(staged, b, 0o666); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// holds reports whether a file of the build before has these bytes. What has come
// into its place, such as a link or a pipe, has none.
func (f *folder) holds(file string, b []byte) bool {
	i, err := f.root.Lstat(file)
	if err != nil || !i.Mode().IsRegular() || i.Size() != int64(len(b)) {
		return false
	}
	was, err := f.root.ReadFile(file)
	return err == nil && bytes.Equal(was, b)
}

// enter notes a file that is going to be part of the site.
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
	return nil
}

// finish moves the staged files into place and removes what the build before
// wrote and this one did not, unless only some files were meant to be written. It
// returns how many files it removed. Until it is done the marker lists the files
// of both builds, so that the next one cleans up after a crash.
func (f *folder) finish(partial bool) (removed int, err error) {
	stale := []string{}
	for p := range f.old {
		switch {
		case f.files[p]:
		case partial:
			f.files[p] = true
			if i, err := f.root.Lstat(filepath.FromSlash(p)); err == nil {
				f.bytes += i.Size()
			}
		default:
			stale = append(stale, p)
		}
	}
	slices.Sort(stale)
	if err := f.mark(slices.Concat(slices.Sorted(maps.Keys(f.files)), stale)); err != nil {
		return 0, err
	}
	if err := f.place(); err != nil {
		return 0, err
	}
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
	return removed, f.mark(slices.Sorted(maps.Keys(f.files)))
}

// mark writes the marker, and the .gitignore that keeps the output out of the
// repository around it.
func (f *folder) mark(files []string) error {
	list := []byte(markerHead + "\nbase " + f.base + "\n")
	for _, p := range files {
		list = append(append(list, p...), '\n')
	}
	half := path.Join(stagingName, "marker")
	if err := f.root.WriteFile(half, list, 0o666); err != nil {
		return fmt.Errorf("writing %s: %w", MarkerName, err)
	}
	if err := f.root.Rename(half, MarkerName); err != nil {
		return err
	}
	if _, err := f.root.Lstat(".gitignore"); errors.Is(err, fs.ErrNotExist) {
		return f.root.WriteFile(".gitignore", []byte("*\n"), 0o666)
	}
	return nil
}

// place moves the staged files to where they belong. What is in the way, such as
// a folder where a page of before had its file, was written by no build.
func (f *folder) place() error {
	for _, name := range slices.Sorted(maps.Keys(f.staged)) {
		file := filepath.FromSlash(name)
		if err := f.root.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		if err := f.root.Rename(f.staged[name], file); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}

// close removes what is still staged, and closes the folder.
func (f *folder) close() error { return errors.Join(f.root.RemoveAll(stagingName), f.root.Close()) }
