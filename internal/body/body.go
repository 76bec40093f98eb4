// Package body returns recorded bodies: from the file that still has them, else
// from the history of the repository, checked against their digest either way.
package body

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// TombstonesPath lists the bodies that were removed on request, in the data
// folder.
const TombstonesPath = "tombstones.jsonl"

// A Store finds bodies by digest. It is safe for concurrent use.
type Store struct {
	tree    *archive.Tree
	index   map[canon.Digest]record.Body // nil until Load
	removed func() (map[canon.Digest]record.Tombstone, error)

	mu   sync.Mutex    // held while repo is read
	repo *gitrepo.Repo // nil outside a repository
}

// New returns a store of the bodies of a tree. The repository may be nil: only
// what lies in the tree is found then.
func New(tree *archive.Tree, repo *gitrepo.Repo) *Store {
	s := &Store{tree: tree, repo: repo}
	s.removed = sync.OnceValues(s.tombstones)
	return s
}

// Load reads the index of all runs into memory, once, for who reads many bodies.
// It is called before the store is shared.
func (s *Store) Load() error {
	runs, err := s.tree.Runs()
	if err != nil {
		return err
	}
	s.index = map[canon.Digest]record.Body{}
	for _, run := range runs {
		bodies, err := s.tree.Index(run)
		if err != nil {
			return err
		}
		for _, b := range bodies {
			s.index[b.SHA256] = b
		}
	}
	return nil
}

// An UnknownError says that no run recorded a body.
type UnknownError struct{ Digest canon.Digest }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s: no run recorded such a body", e.Digest)
}

// Hint says what to do.
func (e *UnknownError) Hint() string {
	return "`mcpstrata show NAME` prints the digests of a target's bodies, and `mcpstrata verify` says whether the record lacks a file"
}

// A RemovedError says that a body was removed on request.
type RemovedError struct{ record.Tombstone }

func (e *RemovedError) Error() string {
	return fmt.Sprintf("%s: it was removed on %s: %s", e.SHA256, e.Day, e.Reason)
}

// ErrNoHistory is in the chain of a [MissingError] where there is no repository
// that could hold the body.
var ErrNoHistory = errors.New("its bytes are no longer in the data folder, and this is no git repository")

// A MissingError says that the bytes of a recorded body are not here.
type MissingError struct {
	Digest canon.Digest
	Err    error
	Next   string // what to do
}

func (e *MissingError) Error() string { return fmt.Sprintf("%s: %v", e.Digest, e.Err) }

// Hint says what to do.
func (e *MissingError) Hint() string { return e.Next }

// Unwrap returns why.
func (e *MissingError) Unwrap() error { return e.Err }

// Read returns a body. The error is an *UnknownError, a *RemovedError or a
// *MissingError, or says that the tree could not be read.
func (s *Store) Read(d canon.Digest) ([]byte, error) {
	e, ok, err := s.find(d)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, &UnknownError{d}
	}
	b, err := s.tree.ReadFile(archive.Dir + "/" + e.Path)
	if err == nil && canon.Sum(b) == d {
		return b, nil
	}
	// A body that was removed on request is not told from the history either.
	removed, err := s.removed()
	if err != nil {
		return nil, err
	}
	if t, ok := removed[d]; ok {
		return nil, &RemovedError{t}
	}
	if s.repo == nil {
		return nil, &MissingError{d, ErrNoHistory, "read it in a clone: the history keeps every body"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, err = s.repo.Blob(e.Blob); err != nil {
		hint := "the blob is not here; fetch the whole history"
		if s.repo.Shallow() {
			hint = gitrepo.ShallowHint
		}
		return nil, &MissingError{d, fmt.Errorf("reading blob %s: %w", e.Blob, err), hint}
	}
	if got := canon.Sum(b); got != d {
		return nil, &MissingError{d, fmt.Errorf("blob %s holds %s", e.Blob, got), "`mcpstrata verify` says what is wrong"}
	}
	return b, nil
}

func (s *Store) find(d canon.Digest) (record.Body, bool, error) {
	if s.index == nil {
		return s.tree.FindBody(d)
	}
	e, ok := s.index[d]
	return e, ok, nil
}

// tombstones reads the list of removed bodies.
func (s *Store) tombstones() (map[canon.Digest]record.Tombstone, error) {
	list, err := s.tree.ReadFile(TombstonesPath)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", TombstonesPath, err)
	}
	removed := map[canon.Digest]record.Tombstone{}
	for line := range bytes.Lines(list) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var t record.Tombstone
		if err := record.Decode(line, &t); err != nil {
			return nil, fmt.Errorf("reading %s: %w", TombstonesPath, err)
		}
		removed[t.SHA256] = t
	}
	return removed, nil
}

// Contract reads the contract that a list of bodies means, in page order.
func (s *Store) Contract(bodies []canon.Digest) (*contract.Contract, error) {
	var pages [][]byte
	for _, d := range bodies {
		b, err := s.Read(d)
		if err != nil {
			return nil, err
		}
		pages = append(pages, b)
	}
	return contract.Read(pages)
}
