package gitrepo

import (
	"errors"
	"fmt"
)

// A NotRepositoryError says that no directory from Dir upwards is a git work
// tree.
type NotRepositoryError struct {
	Dir string // absolute
}

func (e *NotRepositoryError) Error() string { return e.Dir + " is not in a git repository" }

// Hint says what the person at the keyboard can do about it.
func (e *NotRepositoryError) Hint() string {
	return "run git init in the folder that shall hold the archive, or point -data into a clone"
}

// A BareError says that the directory lies in a git directory that has no work
// tree, or inside .git itself.
type BareError struct {
	Dir string // the git directory
}

func (e *BareError) Error() string { return e.Dir + " is a git directory without a work tree" }

// Hint says what the person at the keyboard can do about it.
func (e *BareError) Hint() string {
	return fmt.Sprintf("clone it with: git clone %s, and point -data into the clone", e.Dir)
}

// An UnreadableError says that what should be (part of) a git repository could
// not be read.
type UnreadableError struct {
	Path string
	Err  error
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("reading the git repository at %s: %v", e.Path, e.Err)
}

func (e *UnreadableError) Unwrap() error { return e.Err }

// Hint says what the person at the keyboard can do about it.
func (e *UnreadableError) Hint() string {
	return "see what git makes of it: git status there; mend it, or make a fresh clone"
}

// An UnsupportedError says that the repository is of a kind that go-git can't
// work with, such as one of SHA-256 object names.
type UnsupportedError struct {
	Dir  string
	What string // e.g. "the extension objectFormat = sha256"
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("the git repository at %s uses %s, which is not supported", e.Dir, e.What)
}

// Hint says what the person at the keyboard can do about it.
func (e *UnsupportedError) Hint() string {
	return "use a repository made by: git init --object-format=sha1"
}

// A LockedError says that another program holds a lock of git's.
type LockedError struct {
	Path string // the lock file
}

func (e *LockedError) Error() string { return e.Path + " exists: another git command is running" }

// Hint says what the person at the keyboard can do about it.
func (e *LockedError) Hint() string {
	return "wait for it to end; if none is running, remove it with: rm " + e.Path
}

// A MovedError says that the branch is not where the change was made for.
type MovedError struct {
	Ref       string // e.g. refs/heads/main, or HEAD when detached
	Want, Got string // commit ids, "" for none
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("%s is at %s, not at %s", e.Ref, orNone(e.Got), orNone(e.Want))
}

// Hint says what the person at the keyboard can do about it.
func (e *MovedError) Hint() string {
	return "somebody committed meanwhile: run the command again, it starts from the new commit"
}

func orNone(id string) string {
	if id == "" {
		return "no commit"
	}
	return id
}

// An IndexError says that git's index is broken, or has a form that can't be
// written here while there is no git command, or that writing it failed.
type IndexError struct {
	Path   string // of the index
	Prefix string // the folder whose entries are to be brought up to date
	Err    error
}

func (e *IndexError) Error() string { return fmt.Sprintf("updating %s: %v", e.Path, e.Err) }

func (e *IndexError) Unwrap() error { return e.Err }

// Hint says what the person at the keyboard can do about it.
func (e *IndexError) Hint() string {
	switch {
	case errors.Is(e.Err, errIndexForm):
		return "have git on the PATH, and run: git reset -q -- " + e.Prefix
	case errors.Is(e.Err, errIndexBroken):
		return fmt.Sprintf("make a new one, which changes no file, with: rm %s && git reset -q", e.Path)
	}
	return "when the cause is gone run: git reset -q -- " + e.Prefix
}

// A PushError says that the remote did not take the commit.
type PushError struct {
	Remote, Branch string
	Err            error
}

func (e *PushError) Error() string {
	return fmt.Sprintf("pushing to %s of %s: %v", e.Branch, e.Remote, e.Err)
}

func (e *PushError) Unwrap() error { return e.Err }

// Hint says what the person at the keyboard can do about it.
func (e *PushError) Hint() string {
	return fmt.Sprintf("the commit is kept; when the cause is gone run: git push %s HEAD:refs/heads/%s", e.Remote, e.Branch)
}
