package gitrepo

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// An edit is what is to happen at one name of a tree.
type edit struct {
	blob     plumbing.Hash    // not zero: becomes this file
	gone     bool             // what is there is removed, before below is applied
	children map[string]*edit // edits below it
}

// at returns the edit of the slash-separated path below e, made if need be.
func (e *edit) at(path string) *edit {
	for name := range strings.SplitSeq(path, "/") {
		if e.children == nil {
			e.children = map[string]*edit{}
		}
		child := e.children[name]
		if child == nil {
			child = &edit{}
			e.children[name] = child
		}
		e = child
	}
	return e
}

// adds reports whether e makes any file.
func (e *edit) adds() bool {
	if !e.blob.IsZero() {
		return true
	}
	for _, c := range e.children {
		if c.adds() {
			return true
		}
	}
	return false
}

// apply returns the id of tree base (zero: empty) with the edits of e made, zero
// if nothing is left. Trees that change are given to p.
func (r *Repo) apply(p *packer, base plumbing.Hash, e *edit) (plumbing.Hash, error) {
	old := &object.Tree{}
	if !base.IsZero() {
		var err error
		if old, err = r.tree(base); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	entries := make(map[string]object.TreeEntry, len(old.Entries)+len(e.children))
	for _, te := range old.Entries {
		entries[te.Name] = te
	}
	for name, child := range e.children {
		te, err := r.applyEntry(p, entries[name], child)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if te.Hash.IsZero() {
			delete(entries, name)
			continue
		}
		te.Name = name
		entries[name] = te
	}
	if len(entries) == 0 {
		return plumbing.ZeroHash, nil
	}
	return writeTree(p, slices.Collect(maps.Values(entries)))
}

// applyEntry returns what becomes of one entry; the zero entry is none.
func (r *Repo) applyEntry(p *packer, old object.TreeEntry, e *edit) (object.TreeEntry, error) {
	if !e.blob.IsZero() {
		return object.TreeEntry{Mode: filemode.Regular, Hash: e.blob}, nil
	}
	if e.gone {
		old = object.TreeEntry{}
	}
	if len(e.children) == 0 {
		return old, nil
	}
	base := old.Hash
	if old.Mode != filemode.Dir {
		if !old.Hash.IsZero() && !e.adds() {
			return old, nil // a file, and there is nothing below a file to remove
		}
		base = plumbing.ZeroHash
	}
	h, err := r.apply(p, base, e)
	return object.TreeEntry{Mode: filemode.Dir, Hash: h}, err
}

func writeTree(p *packer, entries []object.TreeEntry) (plumbing.Hash, error) {
	sort.Sort(object.TreeEntrySorter(entries))
	o := &plumbing.MemoryObject{}
	if err := (&object.Tree{Entries: entries}).Encode(o); err != nil {
		return plumbing.ZeroHash, fmt.Errorf("encoding a tree: %w", err)
	}
	return p.addObject(o)
}

// addObject is add for an encoded object in memory.
func (p *packer) addObject(o *plumbing.MemoryObject) (plumbing.Hash, error) {
	rd, err := o.Reader()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	b, err := io.ReadAll(rd)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return p.add(o.Type(), b)
}
