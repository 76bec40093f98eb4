package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// stateDir is the folder below GitDir in which files are made before they are
// renamed to where git looks. archive keeps its stage and its lock there too.
const stateDir = "mcpstrata"

// lockText begins what a lock file of ours holds. git's index.lock is empty or
// begins with DIRC, its ref locks are empty or hold an object id.
const lockText = "locked by mcpstrata for "

// A lock is a lock file of git's that we hold.
type lock struct{ path string }

// takeLock takes the lock at path, which must be one that git takes by creating
// it exclusively. One left by a dead process of ours is taken over.
func (r *Repo) takeLock(path string) (*lock, error) {
	text := []byte(lockText + r.gitDir + "\n")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("taking a lock: %w", err)
	}
	err := r.createLock(path, text)
	if errors.Is(err, fs.ErrExist) {
		if got, _ := readSmall(path); !bytes.Equal(got, text) {
			return nil, &LockedError{Path: path}
		}
		return &lock{path}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("taking a lock: %w", err)
	}
	return &lock{path}, nil
}

// createLock creates path exclusively with all its content at once, by linking
// to it a file that holds the content, so that no crash leaves a lock that can't
// be recognised. Where links are not to be had it is created, then filled.
func (r *Repo) createLock(path string, text []byte) error {
	tmp := filepath.Join(r.gitDir, stateDir, "new-lock")
	if err := writeSynced(tmp, text); err != nil {
		return err
	}
	err := os.Link(tmp, path)
	if rmErr := os.Remove(tmp); err == nil {
		err = rmErr
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// release gives the lock up.
func (l *lock) release() error { return os.Remove(l.path) }

// writeSynced writes a file and waits until it is on the disk. A file of that
// name is replaced, not written into: it may have a second link.
func writeSynced(name string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// replace puts a file with content b in the place of path, whole or not at all,
// and waits until that is on the disk. The caller holds the lock of path.
func (r *Repo) replace(path string, b []byte) error {
	tmp := filepath.Join(r.gitDir, stateDir, "new-"+filepath.Base(path))
	if err := writeSynced(tmp, b); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir waits until the names in dir are on the disk, where a directory can be
// opened for that.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
