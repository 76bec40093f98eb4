package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	format "github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// ShallowHint is what to tell who lacks the history before the boundary of a
// shallow clone.
const ShallowHint = "fetch the whole history with: git fetch --unshallow"

// A Commit is what is read of one commit.
type Commit struct {
	ID       string   // 40 hexadecimal digits
	Tree     string   // id of the root tree
	Parents  []string // ids; at a shallow boundary they are not in this clone
	Boundary bool     // whether it is the boundary of a shallow clone
	Author   Identity
	When     time.Time // committer date, UTC, whole seconds
	Message  string    // as stored
	Subject  string    // its first line
	// Trailers are the `Key: value` lines of the last paragraph of Message, if
	// it has no others and is not the first. Of equal keys the last one counts;
	// a continuation line is joined by a space. Never nil.
	Trailers map[string]string
}

// Head returns the commit that HEAD names, and false if there is none yet.
func (r *Repo) Head() (Commit, bool, error) {
	_, id, err := r.head()
	if err != nil || id.IsZero() {
		return Commit{}, false, err
	}
	c, err := r.Lookup(id.String())
	return c, err == nil, err
}

// head returns the reference that a commit moves (the branch, or HEAD when that
// is detached) and the id at which it is, zero if it is unborn.
func (r *Repo) head() (plumbing.ReferenceName, plumbing.Hash, error) {
	ref, err := r.store.Reference(plumbing.HEAD)
	for range 5 { // as git does, see refs.c, SYMREF_MAXDEPTH
		if err != nil || ref.Type() == plumbing.HashReference {
			break
		}
		name := ref.Target()
		ref, err = r.store.Reference(name)
		if errors.Is(err, plumbing.ErrReferenceNotFound) {
			return name, plumbing.ZeroHash, nil
		}
	}
	if err == nil && ref.Type() != plumbing.HashReference {
		err = errors.New("too many levels of symbolic references")
	}
	if err != nil {
		return "", plumbing.ZeroHash, fmt.Errorf("reading HEAD of %s: %w", r.root, err)
	}
	return ref.Name(), ref.Hash(), nil
}

// Lookup returns the commit with the given id.
func (r *Repo) Lookup(id string) (Commit, error) {
	raw, err := r.commit(id)
	if err != nil {
		return Commit{}, err
	}
	c := Commit{
		ID: id, Tree: raw.TreeHash.String(), Message: raw.Message,
		Author: Identity{Name: raw.Author.Name, Email: raw.Author.Email},
		When:   raw.Committer.When.UTC(), Trailers: trailers(raw.Message),
	}
	c.Subject, _, _ = strings.Cut(raw.Message, "\n")
	for _, p := range raw.ParentHashes {
		c.Parents = append(c.Parents, p.String())
	}
	if len(c.Parents) > 0 {
		boundary, err := r.store.Shallow()
		if err != nil {
			return Commit{}, fmt.Errorf("reading the shallow boundary of %s: %w", r.root, err)
		}
		c.Boundary = slices.Contains(boundary, raw.Hash)
	}
	return c, nil
}

func (r *Repo) commit(id string) (*object.Commit, error) {
	h, err := parseID(id)
	if err != nil {
		return nil, err
	}
	o, err := r.object(plumbing.CommitObject, h)
	if err != nil {
		return nil, fmt.Errorf("reading commit %s: %w", id, err)
	}
	c, err := object.DecodeCommit(r.store, o)
	if err != nil {
		return nil, fmt.Errorf("reading commit %s: %w", id, err)
	}
	return c, nil
}

// Log returns the commits from the one given on, first parents only, newest
// first. It ends at the first commit of all or, quietly, at the boundary of a
// shallow clone, whose Boundary is true; an error ends it too.
func (r *Repo) Log(from string) iter.Seq2[Commit, error] {
	return func(yield func(Commit, error) bool) {
		for id := from; ; {
			c, err := r.Lookup(id)
			if !yield(c, err) || err != nil || c.Boundary || len(c.Parents) == 0 {
				return
			}
			id = c.Parents[0]
		}
	}
}

// Shallow reports whether history is cut off, as in a clone of depth 1. See
// [ShallowHint].
func (r *Repo) Shallow() bool {
	boundary, err := r.store.Shallow()
	return err == nil && len(boundary) > 0
}

// BlobID returns the name that git gives to a file with content b.
func BlobID(b []byte) string { return plumbing.ComputeHash(plumbing.BlobObject, b).String() }

// Has reports whether the repository holds the object with the given id. In a
// partial clone it is false for what has not been fetched.
func (r *Repo) Has(id string) bool {
	h, err := parseID(id)
	if err != nil {
		return false
	}
	if r.store.HasEncodedObject(h) == nil {
		return true
	}
	_, err = r.object(plumbing.AnyObject, h) // also asks alternates and new packs
	return err == nil
}

// Blob returns the content of the blob with the given id. In a partial clone it
// is fetched if need be, by the git command.
func (r *Repo) Blob(id string) ([]byte, error) {
	h, err := parseID(id)
	if err != nil {
		return nil, err
	}
	b, err := r.blob(h)
	if err != nil {
		return nil, fmt.Errorf("reading blob %s: %w", id, err)
	}
	return b, nil
}

func (r *Repo) blob(h plumbing.Hash) ([]byte, error) {
	o, err := r.object(plumbing.BlobObject, h)
	if errors.Is(err, plumbing.ErrObjectNotFound) && r.partial() && r.git != "" {
		return r.command(context.Background(), nil, "cat-file", "blob", h.String())
	}
	if err != nil {
		return nil, err
	}
	rd, err := o.Reader()
	if err != nil {
		return nil, err
	}
	b := make([]byte, o.Size())
	if _, err := io.ReadFull(rd, b); err != nil {
		rd.Close()
		return nil, err
	}
	return b, rd.Close()
}

// partial reports whether this is a partial clone, which fetches objects on
// demand.
func (r *Repo) partial() bool {
	return slices.ContainsFunc(r.config.Raw.Section("remote").Subsections, func(s *format.Subsection) bool {
		return strings.EqualFold(s.Option("promisor"), "true")
	})
}

// object reads an object. When it is not where go-git remembers, the packs are
// looked through once more: git may have repacked since.
func (r *Repo) object(t plumbing.ObjectType, h plumbing.Hash) (plumbing.EncodedObject, error) {
	o, err := r.store.EncodedObject(t, h)
	if err != nil {
		r.store.Reindex()
		o, err = r.store.EncodedObject(t, h)
	}
	return o, err
}

func (r *Repo) tree(h plumbing.Hash) (*object.Tree, error) {
	o, err := r.object(plumbing.TreeObject, h)
	if err != nil {
		return nil, fmt.Errorf("reading tree %s: %w", h, err)
	}
	t, err := object.DecodeTree(r.store, o)
	if err != nil {
		return nil, fmt.Errorf("reading tree %s: %w", h, err)
	}
	return t, nil
}

// TreeBlobs returns the blob id of every file below Prefix at the given commit,
// by path. Symbolic links are files here; submodules are left out.
func (r *Repo) TreeBlobs(commitID string) (map[string]string, error) {
	entries, err := r.treeFiles(commitID)
	if err != nil {
		return nil, err
	}
	m := make(map[string]string, len(entries))
	for p, e := range entries {
		m[p] = e.Hash.String()
	}
	return m, nil
}

// treeFiles returns the entries of all files below Prefix, by path.
func (r *Repo) treeFiles(commitID string) (map[string]object.TreeEntry, error) {
	files := map[string]object.TreeEntry{}
	h, err := r.prefixTree(commitID)
	if err != nil || h.IsZero() {
		return files, err
	}
	type dir struct {
		hash plumbing.Hash
		path string // with a slash at the end, or empty
	}
	for todo := []dir{{h, ""}}; len(todo) > 0; {
		d := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		t, err := r.tree(d.hash)
		if err != nil {
			return nil, err
		}
		for _, e := range t.Entries {
			switch e.Mode {
			case filemode.Dir:
				todo = append(todo, dir{e.Hash, d.path + e.Name + "/"})
			case filemode.Submodule:
			default:
				files[d.path+e.Name] = e
			}
		}
	}
	return files, nil
}

// prefixTree returns the tree at Prefix in the given commit, zero if there is
// none.
func (r *Repo) prefixTree(commitID string) (plumbing.Hash, error) {
	c, err := r.commit(commitID)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	h := c.TreeHash
	if r.prefix == "" {
		return h, nil
	}
	for name := range strings.SplitSeq(r.prefix, "/") {
		t, err := r.tree(h)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		i := slices.IndexFunc(t.Entries, func(e object.TreeEntry) bool { return e.Name == name })
		if i < 0 || t.Entries[i].Mode != filemode.Dir {
			return plumbing.ZeroHash, nil
		}
		h = t.Entries[i].Hash
	}
	return h, nil
}

func parseID(id string) (plumbing.Hash, error) {
	if !plumbing.IsHash(id) {
		return plumbing.ZeroHash, fmt.Errorf("%q is not an object id", id)
	}
	return plumbing.NewHash(id), nil
}

// trailers reads the last paragraph of message.
func trailers(message string) map[string]string {
	m := map[string]string{}
	message = strings.TrimRight(message, " \t\r\n")
	_, last, ok := cutLast(message, "\n\n")
	if !ok {
		return m
	}
	key := ""
	for line := range strings.SplitSeq(last, "\n") {
		if key != "" && line != "" && (line[0] == ' ' || line[0] == '\t') {
			m[key] += " " + strings.TrimSpace(line)
			continue
		}
		k, v, ok := strings.Cut(line, ":")
		if !ok || !isTrailerKey(k) {
			return map[string]string{}
		}
		key = k
		m[key] = strings.TrimSpace(v)
	}
	return m
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func isTrailerKey(s string) bool {
	for _, c := range s {
		if c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != ""
}
