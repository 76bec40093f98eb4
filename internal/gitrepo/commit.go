package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// The steps of [Repo.Commit], in order, as they are named to [Change.Step]
// before they are taken. A pack that has nothing new to hold is not written, and
// a branch that is there already is not moved.
const (
	StepPack             = "pack"          // begin to write the pack, under a temporary name
	StepPackIndexInPlace = "pack-idx"      // rename the index of the pack to where git looks
	StepPackInPlace      = "pack-in-place" // rename the pack: its objects exist now
	StepIndexLock        = "index.lock"    // take the lock of the index
	StepRefLock          = "ref.lock"      // take the lock of the branch
	StepRef              = "ref"           // move the branch: the commit counts now
	StepReflog           = "reflog"        // note that in the reflog
	StepRefUnlock        = "ref-unlock"    // give up the lock of the branch
	StepIndex            = "index"         // replace the index
	StepIndexUnlock      = "index-unlock"  // give up the lock of the index
	StepReset            = "reset"         // in place of the former two: git reset -q -- PREFIX
)

// An Identity is a name and an address, as git has them.
type Identity struct{ Name, Email string }

// Who commits when a [Change] does not say.
const (
	defaultName  = "mcpstrata"
	defaultEmail = "mcpstrata@users.noreply.github.com"
)

// A Change is what one commit does.
type Change struct {
	// Paths are the files to take from the work tree, new or changed, below
	// Prefix. One that replaces a folder, or stands where a file was, is enough
	// to remove what it replaces.
	Paths []string
	// Deleted are the paths to remove. One that is not there is no error.
	Deleted []string
	// Message is the whole message; a newline is added if it has none at its end.
	Message string
	// When is the date of author and committer, to the second.
	When time.Time
	// Parent is the commit on which the change was made: where the branch must
	// be for it to count. "" means that there is no commit yet.
	Parent string
	// Author is author and committer; the zero value is
	// mcpstrata <mcpstrata@users.noreply.github.com>.
	Author Identity
	// Step, if not nil, is called with the name of each durable step before it
	// is taken. Its error is returned at once and everything is left as a crash
	// would leave it, for tests.
	Step func(string) error
}

// check refuses what git would not store, or not as it was meant.
func (c *Change) check() error {
	if c.When.IsZero() || c.When.Unix() < 0 {
		return errors.New("the change has no date, or one before 1970")
	}
	if strings.TrimSpace(c.Message) == "" || strings.Contains(c.Message, "\x00") {
		return errors.New("the message is empty or has a NUL in it")
	}
	if !strings.HasSuffix(c.Message, "\n") {
		c.Message += "\n"
	}
	if c.Author == (Identity{}) {
		c.Author = Identity{defaultName, defaultEmail}
	}
	if s := c.Author.Name + c.Author.Email; c.Author.Name == "" || strings.ContainsAny(s, "<>\n\x00") {
		return fmt.Errorf("%q is not a name and an address", c.Author)
	}
	for _, list := range [][]string{c.Paths, c.Deleted} {
		for _, p := range list {
			if err := checkPath(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPath refuses what is not a clean relative path, and what git refuses to
// check out (verify_path in git's read-cache.c).
func checkPath(p string) error {
	if !fs.ValidPath(p) || p == "." || strings.ContainsAny(p, "\x00\\") {
		return fmt.Errorf("%q is not a path below the data folder", p)
	}
	for elem := range strings.SplitSeq(p, "/") {
		elem, _, _ = strings.Cut(elem, ":") // what NTFS makes of a name
		elem = strings.ToLower(strings.TrimRight(elem, " ."))
		if elem == ".git" || elem == "git~1" {
			return fmt.Errorf("%q has a part that git reserves", p)
		}
	}
	return nil
}

// A stepper calls the hook of a change.
type stepper struct {
	hook    func(string) error
	stopped bool // the hook said stop: clean nothing up
}

func (s *stepper) do(name string) error {
	if s.hook == nil {
		return nil
	}
	if err := s.hook(name); err != nil {
		s.stopped = true
		return fmt.Errorf("before step %s: %w", name, err)
	}
	return nil
}

// Commit makes c the newest commit of the branch, or of the detached HEAD, and
// returns its id. See the package comment for the order of things and for what
// happens after a crash.
//
// If HEAD is that commit already (same tree, parent and message), or if c
// changes nothing in Parent, then no commit is made, the index is brought up to
// date, and the id of HEAD is returned. A HEAD that is neither Parent nor that
// commit is a [*MovedError]. A lock of git's that somebody else holds is a
// [*LockedError]. An index that is broken, or that only git can write while there is
// no git command, is an [*IndexError] before anything has moved; when writing the
// index fails later, an error comes with the id of the new commit.
func (r *Repo) Commit(ctx context.Context, c Change) (id string, err error) {
	if err := c.check(); err != nil {
		return "", fmt.Errorf("committing: %w", err)
	}
	ref, at, err := r.head()
	if err != nil {
		return "", err
	}
	head, err := r.candidate(at, &c, ref)
	if err != nil {
		return "", err
	}
	step := &stepper{hook: c.Step}
	b, err := r.build(ctx, &c, head, step)
	if err != nil {
		return "", fmt.Errorf("committing: %w", err)
	}
	if b.id != at && idOf(at) != c.Parent {
		return "", &MovedError{Ref: ref.String(), Want: c.Parent, Got: idOf(at)}
	}
	return r.advance(ctx, &c, ref, at, b, step)
}

// candidate returns the commit at HEAD if it may be c, made before a crash. It
// fails if it is neither that nor the parent.
func (r *Repo) candidate(at plumbing.Hash, c *Change, ref plumbing.ReferenceName) (*object.Commit, error) {
	if idOf(at) == c.Parent {
		return nil, nil
	}
	if !at.IsZero() {
		head, err := r.commit(at.String())
		if err != nil {
			return nil, err
		}
		parent := ""
		if len(head.ParentHashes) > 0 {
			parent = head.ParentHashes[0].String()
		}
		if len(head.ParentHashes) < 2 && parent == c.Parent && head.Message == c.Message {
			return head, nil
		}
	}
	return nil, &MovedError{Ref: ref.String(), Want: c.Parent, Got: idOf(at)}
}

// idOf writes h, "" if it is zero.
func idOf(h plumbing.Hash) string {
	if h.IsZero() {
		return ""
	}
	return h.String()
}

// A built is a commit that exists, but that no branch has yet.
type built struct {
	id  plumbing.Hash
	set map[string]entry // what the index is to hold for the changed files
}

// build writes the objects of c. If head has the tree that comes out, or if
// Parent has it, then that is the commit.
func (r *Repo) build(ctx context.Context, c *Change, head *object.Commit, step *stepper) (*built, error) {
	p := &packer{repo: r, step: step}
	defer p.abandon()
	b := &built{set: make(map[string]entry, len(c.Paths))}
	edits, err := r.addBlobs(ctx, p, c, b.set)
	if err != nil {
		return nil, err
	}
	var base plumbing.Hash
	if c.Parent != "" {
		parent, err := r.commit(c.Parent)
		if err != nil {
			return nil, err
		}
		base = parent.TreeHash
	}
	tree, err := r.apply(p, base, edits)
	if err != nil {
		return nil, err
	}
	switch {
	case tree.IsZero():
		return nil, errors.New("the change leaves no file at all")
	case head != nil && head.TreeHash == tree:
		b.id = head.Hash
	case tree == base:
		b.id = plumbing.NewHash(c.Parent)
	default:
		if b.id, err = writeCommit(p, c, tree); err != nil {
			return nil, err
		}
	}
	if err := p.finish(); err != nil {
		return nil, fmt.Errorf("writing a pack: %w", err)
	}
	return b, nil
}

// addBlobs gives the files of c to p, one at a time, and returns the edits that
// c is; set receives what the index is to hold for them.
func (r *Repo) addBlobs(ctx context.Context, p *packer, c *Change, set map[string]entry) (*edit, error) {
	edits := &edit{}
	for _, name := range c.Deleted {
		edits.at(path.Join(r.prefix, name)).gone = true
	}
	if len(c.Paths) == 0 {
		return edits, nil
	}
	root, err := os.OpenRoot(filepath.Join(r.root, filepath.FromSlash(r.prefix)))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, name := range c.Paths {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		content, info, err := readRegular(root, filepath.FromSlash(name))
		if err != nil {
			return nil, err
		}
		id, err := p.add(plumbing.BlobObject, content)
		if err != nil {
			return nil, fmt.Errorf("storing %s: %w", name, err)
		}
		full := path.Join(r.prefix, name)
		edits.at(full).blob = id
		set[full] = entry{stat: statOf(info), mode: modeRegular, id: id, name: full}
	}
	for full := range set {
		for dir := parent(full); dir != ""; dir = parent(dir) {
			if _, ok := set[dir]; ok {
				return nil, fmt.Errorf("%s can't be both a file and the folder of %s", dir, full)
			}
		}
	}
	return edits, nil
}

func writeCommit(p *packer, c *Change, tree plumbing.Hash) (plumbing.Hash, error) {
	sig := object.Signature{Name: c.Author.Name, Email: c.Author.Email, When: c.When.UTC()}
	commit := &object.Commit{Author: sig, Committer: sig, Message: c.Message, TreeHash: tree}
	if c.Parent != "" {
		commit.ParentHashes = []plumbing.Hash{plumbing.NewHash(c.Parent)}
	}
	o := &plumbing.MemoryObject{}
	if err := commit.Encode(o); err != nil {
		return plumbing.ZeroHash, fmt.Errorf("encoding a commit: %w", err)
	}
	return p.addObject(o)
}

// advance moves the branch from at to what was built, and brings the index up to
// date. The index is read before the branch moves, so that one that can't be
// written is known in time.
func (r *Repo) advance(ctx context.Context, c *Change, ref plumbing.ReferenceName, at plumbing.Hash, b *built, step *stepper) (string, error) {
	if err := step.do(StepIndexLock); err != nil {
		return "", err
	}
	lock, err := r.takeLock(filepath.Join(r.gitDir, "index.lock"))
	if err != nil {
		return "", err
	}
	defer func() {
		if lock != nil && !step.stopped {
			lock.release()
		}
	}()
	x, err := readIndex(r.indexPath())
	if err != nil && (r.git == "" || !errors.Is(err, errIndexForm)) {
		return "", r.indexError(err)
	}
	byGit := err != nil
	if b.id != at {
		if err := r.moveRef(c, ref, at, b.id, step); err != nil {
			return "", err
		}
	}
	id := b.id.String()
	if byGit {
		err := lock.release() // git takes it itself
		lock = nil
		if err == nil {
			err = r.resetIndex(ctx, c, step)
		}
		return id, err
	}
	if err := r.writeIndex(x, c, b, step); err != nil {
		return id, err
	}
	if err := step.do(StepIndexUnlock); err != nil {
		return id, err
	}
	err = lock.release()
	lock = nil
	return id, err
}

func (r *Repo) indexPath() string { return filepath.Join(r.gitDir, "index") }

func (r *Repo) indexError(err error) error {
	return &IndexError{Path: r.indexPath(), Prefix: r.pathspec(), Err: err}
}

// pathspec names Prefix to a git command that runs in Root.
func (r *Repo) pathspec() string {
	if r.prefix == "" {
		return "."
	}
	return r.prefix
}

// resetIndex has git bring the index up to date where it can't be written here.
// It resets all below Prefix, where nothing but our own changes should be staged;
// where that is the whole work tree, only the changed paths. (git update-index
// leaves a sparse index behind that git fsck calls broken, seen in 2.39.5.)
func (r *Repo) resetIndex(ctx context.Context, c *Change, step *stepper) error {
	if err := step.do(StepReset); err != nil {
		return err
	}
	args, stdin := []string{"reset", "-q", "--", r.prefix}, io.Reader(nil)
	if r.prefix == "" && len(c.Paths)+len(c.Deleted) == 0 {
		return nil // an empty list would mean everything
	}
	if r.prefix == "" {
		args = []string{"reset", "-q", "--pathspec-from-file=-", "--pathspec-file-nul"}
		stdin = strings.NewReader(strings.Join(slices.Concat(c.Paths, c.Deleted), "\x00"))
	}
	if _, err := r.command(ctx, stdin, args...); err != nil {
		return r.indexError(err)
	}
	// Fills in the stat data. It exits 1 when it meets a changed file, which is
	// somebody's work in progress and no matter here.
	if _, err := r.command(ctx, nil, "update-index", "-q", "--refresh"); err != nil && exitCode(err) != 1 {
		return r.indexError(err)
	}
	return nil
}

// writeIndex replaces the index by x with the change made.
func (r *Repo) writeIndex(x *index, c *Change, b *built, step *stepper) error {
	gone := make(map[string]bool, len(c.Deleted))
	for _, name := range c.Deleted {
		gone[path.Join(r.prefix, name)] = true
	}
	if err := r.unhideRacy(x); err != nil {
		return r.indexError(err)
	}
	x.update(b.set, gone)
	if err := step.do(StepIndex); err != nil {
		return err
	}
	if err := r.replace(r.indexPath(), x.encode()); err != nil {
		return r.indexError(err)
	}
	return nil
}

// unhideRacy keeps git's racy entries honest (Documentation/technical/racy-git):
// a file modified in the same second in which the index was written has the stat
// data of the index, and git knows to look again only as long as the index is no
// younger than the file. Now that the index is written anew, an entry whose file
// differs gets the size 0, which means "look again".
func (r *Repo) unhideRacy(x *index) error {
	if x.written == nil {
		return nil
	}
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return err
	}
	defer root.Close()
	for i := range x.entries {
		e := &x.entries[i]
		if e.mode == modeSubmodule || e.stat.MtimeSec == 0 || int64(e.stat.MtimeSec) < x.written.ModTime().Unix() {
			continue
		}
		content, _, err := readRegular(root, filepath.FromSlash(e.name))
		if err != nil || plumbing.ComputeHash(plumbing.BlobObject, content) != e.id {
			e.stat.Size = 0
		}
	}
	return nil
}

// moveRef moves ref from old to id, by compare-and-set under git's own lock.
func (r *Repo) moveRef(c *Change, ref plumbing.ReferenceName, old, id plumbing.Hash, step *stepper) error {
	name := r.refPath(ref)
	if err := step.do(StepRefLock); err != nil {
		return err
	}
	lock, err := r.takeLock(name + ".lock")
	if err != nil {
		return err
	}
	err = r.setRef(c, ref, old, id, step)
	if step.stopped {
		return err
	}
	if err == nil {
		if err := step.do(StepRefUnlock); err != nil {
			return err
		}
	}
	if releaseErr := lock.release(); err == nil {
		err = releaseErr
	}
	return err
}

// setRef moves ref, whose lock is held.
func (r *Repo) setRef(c *Change, ref plumbing.ReferenceName, old, id plumbing.Hash, step *stepper) error {
	now, got, err := r.head()
	if err != nil {
		return err
	}
	if now != ref || got != old {
		return &MovedError{Ref: ref.String(), Want: idOf(old), Got: idOf(got)}
	}
	if err := step.do(StepRef); err != nil {
		return err
	}
	name := r.refPath(ref)
	if info, err := os.Lstat(name); err == nil && info.IsDir() {
		os.Remove(name) // git leaves empty folders of former branches behind
	}
	if err := r.replace(name, []byte(id.String()+"\n")); err != nil {
		return fmt.Errorf("moving %s: %w", ref, err)
	}
	if err := step.do(StepReflog); err != nil {
		return err
	}
	return r.appendReflogs(c, ref, old, id)
}

// refPath returns the file of ref. Branches are common to all work trees; HEAD
// and a few others are not (gitrepository-layout(5)).
func (r *Repo) refPath(ref plumbing.ReferenceName) string {
	return filepath.Join(r.refDir(ref), filepath.FromSlash(ref.String()))
}

func (r *Repo) refDir(ref plumbing.ReferenceName) string {
	for _, own := range []string{"refs/worktree/", "refs/bisect/", "refs/rewritten/"} {
		if strings.HasPrefix(ref.String(), own) {
			return r.gitDir
		}
	}
	if !strings.HasPrefix(ref.String(), "refs/") {
		return r.gitDir
	}
	return r.common
}

// appendReflogs notes a move in the reflogs of HEAD and of the branch, as
// core.logAllRefUpdates has it (git-config(1)).
func (r *Repo) appendReflogs(c *Change, ref plumbing.ReferenceName, old, id plumbing.Hash) error {
	always := true
	if s := r.config.Raw.Section("core"); s.HasOption("logallrefupdates") {
		switch strings.ToLower(s.Option("logallrefupdates")) {
		case "false", "no", "off", "0":
			always = false // only where a log exists
		}
	}
	subject, _, _ := strings.Cut(c.Message, "\n")
	kind := "commit"
	if old.IsZero() {
		kind = "commit (initial)"
	}
	line := fmt.Sprintf("%s %s %s <%s> %d +0000\t%s: %s\n", old, id, c.Author.Name, c.Author.Email, c.When.Unix(), kind, subject)
	logs := map[string]bool{
		filepath.Join(r.gitDir, "logs", "HEAD"):                                true,
		filepath.Join(r.refDir(ref), "logs", filepath.FromSlash(ref.String())): true,
	}
	for name := range logs {
		if err := appendLog(name, line, always); err != nil {
			return fmt.Errorf("writing a reflog: %w", err)
		}
	}
	return nil
}

func appendLog(name, line string, create bool) error {
	mode := os.O_WRONLY | os.O_APPEND
	if create {
		mode |= os.O_CREATE
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(name, mode, 0o666)
	if errors.Is(err, fs.ErrNotExist) && !create {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
