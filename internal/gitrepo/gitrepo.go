// Package gitrepo commits the data tree and reads its history. It is the only
// user of go-git; where go-git can't do something, or does it five times as
// expensively, the git command is used if there is one.
//
// # Which repository
//
// [Open] takes the directory of the data, which need not exist yet, and looks
// upwards for the work tree that holds it, as git does: a .git folder, or a .git
// file of a linked work tree or a submodule. Environment variables such as
// GIT_DIR are ignored, also on behalf of the git commands that are run. Paths
// given to and returned by the methods are relative to that directory, use
// slashes, and are called "below Prefix".
//
// # What a commit is
//
// [Repo.Commit] writes the blobs of the changed files, the trees along their
// paths and the commit as one pack without deltas; objects that the repository
// has already are not written again, and none is written loose. Bytes are taken
// as they are: no filter, no line-end conversion (the data tree says `* -text`,
// so git agrees). Files are committed with mode 100644, and directories vanish
// with their last file. Author and committer are the same, both dates are
// [Change.When] in UTC: the same change on the same parent is the same commit
// anywhere.
//
// # Order, and what a crash leaves
//
// The steps, each durable (fsync) before the next begins, are those of [Steps].
// Whatever was done before a crash, calling Commit again with the same Change
// completes it: packs are named by their content, an existing commit is
// recognised by its tree, parent and message, and the index is then brought up
// to date.
//
// Locks are git's own: index.lock for the index, REF.lock for the branch. What
// this package writes into a lock file is a line that no git ever writes and
// that names the git directory, so that a lock left behind by a dead process is
// recognised by its content and removed. That is safe because the caller keeps
// every other mcpstrata away from this work tree (archive's flock below
// GitDir). A lock of anybody else is a [*LockedError].
//
// # The index
//
// Only the entries of the changed paths are rewritten, with the stat data of the
// files, so that `git status` is clean and changes staged elsewhere stay as they
// are. Versions 2, 3 and 4 of the index are read and written, with all flags of
// other entries; optional extensions, which are caches, are dropped. For forms
// that can't be written so (a split or a sparse index) `git reset -q -- PREFIX`
// does it; without a git command such an index is refused before anything moves.
//
// # Hostile files
//
// A file whose content takes part in a known kind of SHA-1 collision is refused
// by name, since git would refuse the repository from then on.
//
// A [Repo] is not safe for concurrent use.
package gitrepo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// cacheSize bounds the memory that go-git may keep decoded objects in. A day of
// the full population touches some 1,000 trees of at most 150 kB.
const cacheSize = 48 * cache.MiByte

// A Repo is a git repository with a work tree, seen from one directory of it.
type Repo struct {
	root   string // the work tree, absolute, symbolic links resolved
	prefix string // below root, slash-separated; "" for the root itself
	gitDir string // of this work tree
	common string // what all work trees share: objects, refs, config; often gitDir
	config *config.Config
	store  *filesystem.Storage
	git    string // the git command, "" if there is none
}

// Open finds the repository whose work tree holds dir, which may not exist yet.
// It fails with a [*NotRepositoryError], [*BareError], [*UnreadableError] or
// [*UnsupportedError].
func Open(dir string) (*Repo, error) {
	real, err := resolve(dir)
	if err != nil {
		return nil, &UnreadableError{Path: dir, Err: err}
	}
	r := &Repo{}
	if r.root, r.gitDir, err = find(real); err != nil {
		return nil, err
	}
	if r.common, err = commonDir(r.gitDir); err != nil {
		return nil, &UnreadableError{Path: r.gitDir, Err: err}
	}
	rel, err := filepath.Rel(r.root, real)
	if err != nil {
		return nil, &UnreadableError{Path: dir, Err: err}
	}
	if rel != "." {
		r.prefix = filepath.ToSlash(rel)
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	if r.git, err = exec.LookPath("git"); err != nil {
		r.git = ""
	}
	return r, nil
}

// open makes the storage of r, and refuses a repository whose format it does not
// know. git.Open would refuse partial clones and sparse checkouts too, whose
// extensions (partialClone, worktreeConfig) do no harm here.
func (r *Repo) open() error {
	dir := billy.Filesystem(osfs.New(r.gitDir))
	if r.common != r.gitDir {
		dir = dotgit.NewRepositoryFilesystem(dir, osfs.New(r.common))
	}
	r.store = filesystem.NewStorageWithOptions(dir, cache.NewObjectLRU(cacheSize), filesystem.Options{
		AlternatesFS: osfs.New(filepath.VolumeName(r.common) + string(filepath.Separator)),
	})
	var err error
	if r.config, err = r.store.Config(); err != nil {
		return &UnreadableError{Path: filepath.Join(r.common, "config"), Err: err}
	}
	if r.config.Core.IsBare && r.common == r.gitDir {
		return &BareError{Dir: r.gitDir}
	}
	if v := r.config.Raw.Section("core").Option("repositoryformatversion"); v != "" && v != "0" && v != "1" {
		return &UnsupportedError{Dir: r.root, What: "repository format " + v}
	}
	for _, o := range r.config.Raw.Section("extensions").Options {
		switch key, value := strings.ToLower(o.Key), strings.ToLower(o.Value); {
		case key == "objectformat" && value == "sha1", key == "refstorage" && value == "files":
		case key == "noop", key == "noop-v1", key == "preciousobjects", key == "partialclone", key == "worktreeconfig":
		default:
			return &UnsupportedError{Dir: r.root, What: "the extension " + o.Key + " = " + o.Value}
		}
	}
	if w := r.config.Core.Worktree; w != "" {
		if !filepath.IsAbs(w) {
			w = filepath.Join(r.gitDir, w)
		}
		if same, err := filepath.EvalSymlinks(w); err != nil || same != r.root {
			return &UnsupportedError{Dir: r.root, What: "core.worktree = " + r.config.Core.Worktree}
		}
	}
	return nil
}

// GitDir returns the git directory of this work tree, absolute. A linked work
// tree has its own, …/.git/worktrees/NAME.
func (r *Repo) GitDir() string { return r.gitDir }

// Root returns the root of the work tree, absolute, symbolic links resolved.
func (r *Repo) Root() string { return r.root }

// Prefix returns the opened directory relative to Root, slash-separated, without
// a slash at either end; "" if it is Root.
func (r *Repo) Prefix() string { return r.prefix }

// resolve returns dir absolute and with symbolic links resolved as far as it
// exists.
func resolve(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for rest := ""; ; {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			info, err := os.Stat(real)
			if err == nil && !info.IsDir() {
				err = fmt.Errorf("%s is not a directory", real)
			}
			return filepath.Join(real, rest), err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if _, err := os.Lstat(dir); err == nil {
			return "", fmt.Errorf("%s is a symbolic link to nowhere", dir)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", err
		}
		dir, rest = parent, filepath.Join(filepath.Base(dir), rest)
	}
}

// find walks up from dir to the first directory with a .git in it, and returns
// that directory and its git directory.
func find(dir string) (root, gitDir string, err error) {
	for at := dir; ; {
		dotGit := filepath.Join(at, ".git")
		info, err := os.Stat(dotGit)
		switch {
		case err == nil && info.IsDir() && isGitDir(dotGit):
			gitDir, err = filepath.EvalSymlinks(dotGit)
			return at, gitDir, err
		case err == nil && info.Mode().IsRegular():
			gitDir, err := readGitFile(dotGit)
			if err != nil {
				return "", "", &UnreadableError{Path: dotGit, Err: err}
			}
			return at, gitDir, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", "", &UnreadableError{Path: dotGit, Err: err}
		case isGitDir(at):
			return "", "", &BareError{Dir: at}
		}
		parent := filepath.Dir(at)
		if parent == at {
			return "", "", &NotRepositoryError{Dir: dir}
		}
		at = parent
	}
}

// isGitDir reports whether dir looks like a git directory, by git's own test
// (setup.c, is_git_directory) less the validity of HEAD.
func isGitDir(dir string) bool {
	head, err := os.Lstat(filepath.Join(dir, "HEAD"))
	if err != nil || head.IsDir() {
		return false
	}
	if _, err := os.Lstat(filepath.Join(dir, "commondir")); err == nil {
		return true
	}
	for _, sub := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, sub)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// maxGitFile bounds a .git file or a commondir file, in bytes; each is one path.
const maxGitFile = 64 << 10

// readGitFile returns the git directory that a .git file names
// (gitrepository-layout(5)).
func readGitFile(name string) (string, error) {
	b, err := readSmall(name)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), "gitdir: ")
	if !ok {
		return "", errors.New(`it does not begin with "gitdir: "`)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(name), dir)
	}
	if !isGitDir(dir) {
		return "", fmt.Errorf("it names %s, which is not a git directory", dir)
	}
	return filepath.EvalSymlinks(dir)
}

// commonDir returns the directory that gitDir shares with other work trees:
// gitDir itself, unless it is that of a linked work tree.
func commonDir(gitDir string) (string, error) {
	b, err := readSmall(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, nil
	}
	if err != nil {
		return "", err
	}
	dir := strings.TrimSpace(string(b))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(gitDir, dir)
	}
	return filepath.EvalSymlinks(dir)
}

func readSmall(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxGitFile {
		return nil, fmt.Errorf("%s is too large to be a file of git's", name)
	}
	return os.ReadFile(name)
}
