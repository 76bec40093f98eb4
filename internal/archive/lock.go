package archive

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// lockName is the file, below the git directory, whose flock keeps a second run
// out. The system releases it when its holder dies.
const lockName = "mcpstrata/lock"

// A LockedError reports that another run holds the lock.
type LockedError struct{ Path string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("another run is at work on this repository (it holds %s)", e.Path)
}

// Hint says what to do.
func (e *LockedError) Hint() string { return "wait until it ends; it leaves the lock when it does" }

// Lock takes the lock below gitDir and returns the function that releases it. It
// returns a *LockedError where another process, or another run of this one,
// holds it.
func Lock(gitDir string) (release func() error, err error) {
	name := filepath.Join(gitDir, filepath.FromSlash(lockName))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, fmt.Errorf("taking the lock: %w", err)
	}
	l := flock.New(name)
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("taking the lock %s: %w", name, err)
	}
	if !ok {
		return nil, &LockedError{name}
	}
	return l.Unlock, nil
}
