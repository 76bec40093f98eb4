package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// A view is a data folder that a query verb reads: the work tree, and for old
// bodies the history of the repository that holds it, if one does.
type view struct {
	tree        *archive.Tree
	data        string
	methodology string
	json        bool
	repo        *gitrepo.Repo // nil outside a repository
}

// viewFlags adds the flags that query verbs take, and returns what opens the
// view once they are read.
func viewFlags(c *call) (open func() (*view, error)) {
	v := &view{}
	c.flags.StringVar(&v.data, "data", "data", "the data folder")
	c.flags.StringVar(&v.methodology, "methodology", record.V1.Version, "`version` whose line of observation is read")
	c.flags.BoolVar(&v.json, "json", false, "print JSON")
	return func() (*view, error) {
		if _, ok := record.MethodologyByVersion(v.methodology); !ok {
			return nil, usageError{fmt.Sprintf("-methodology %q: this version reads with %s", v.methodology, strings.Join(methodologyVersions(), ", "))}
		}
		v.tree = archive.Open(os.DirFS(v.data))
		runs, err := v.tree.Runs()
		if err != nil {
			return nil, err
		}
		if len(runs) == 0 {
			return nil, &daily.HintError{Err: fmt.Errorf("%s: nothing is recorded there", v.data), Next: "name the data folder of a clone with -data"}
		}
		repo, err := gitrepo.Open(v.data)
		var none *gitrepo.NotRepositoryError
		if err != nil && !errors.As(err, &none) {
			return nil, err
		}
		v.repo = repo
		return v, nil
	}
}

// body returns the bytes of a recorded body: from the file that still has them,
// else from the history, checked either way.
func (v *view) body(d canon.Digest) ([]byte, error) {
	e, ok, err := v.tree.FindBody(d)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &daily.HintError{Err: fmt.Errorf("%s: no run recorded such a body", d), Next: "`mcpstrata show NAME` prints the digests of a target's bodies"}
	}
	b, err := v.tree.ReadFile(archive.Dir + "/" + e.Path)
	if err == nil && canon.Sum(b) == d {
		return b, nil
	}
	if v.repo == nil {
		return nil, &daily.HintError{Err: fmt.Errorf("%s: its bytes are no longer in the data folder, and this is no git repository", d), Next: "read it in a clone: the history keeps every body"}
	}
	if b, err = v.repo.Blob(e.Blob); err != nil {
		hint := "the blob is not here; fetch the whole history"
		if v.repo.Shallow() {
			hint = gitrepo.ShallowHint
		}
		return nil, &daily.HintError{Err: fmt.Errorf("%s: reading blob %s: %w", d, e.Blob, err), Next: hint}
	}
	if got := canon.Sum(b); got != d {
		return nil, fmt.Errorf("%s: blob %s holds %s", d, e.Blob, got)
	}
	return b, nil
}

// contract reads the contract that a list of bodies means.
func (v *view) contract(bodies []canon.Digest) (*contract.Contract, error) {
	var pages [][]byte
	for _, d := range bodies {
		b, err := v.body(d)
		if err != nil {
			return nil, err
		}
		pages = append(pages, b)
	}
	return contract.Read(pages)
}

// rows returns the dated rows of one target, oldest first.
func (v *view) rows(name string) ([]archive.DatedRow, error) {
	var rows []archive.DatedRow
	for r, err := range v.tree.History(v.methodology, name) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, &daily.HintError{Err: fmt.Errorf("%s: no such target is recorded", name), Next: "names are those of the registry, such as com.example/mcp; `mcpstrata observations DAY` prints all"}
	}
	return rows, nil
}

// rowOn returns the row of a target as it stood at the end of a day, and its
// newest one for the empty day.
func (v *view) rowOn(name string, day record.Day) (record.Observation, error) {
	rows, err := v.rows(name)
	if err != nil {
		return record.Observation{}, err
	}
	for _, r := range slices.Backward(rows) {
		if d, _, err := record.ParseRunID(r.Run); err == nil && (day == "" || d <= day) {
			return r.Observation, nil
		}
	}
	return record.Observation{}, &daily.HintError{Err: fmt.Errorf("%s: it was not yet recorded on %s", name, day), Next: "`mcpstrata log " + name + "` prints its history"}
}

// lives returns the contracts of a target, oldest first.
func (v *view) lives(name string) ([]timeline.Life, error) {
	rows, err := v.rows(name)
	if err != nil {
		return nil, err
	}
	observations := make([]record.Observation, len(rows))
	for i, r := range rows {
		observations[i] = r.Observation
	}
	return timeline.Lives(observations), nil
}
