package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/body"
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
	newest      bool // no methodology was asked for: it is the newest recorded
	json        bool
	bodies      *body.Store
}

// defaultMethodology is the line of observation that figures are drawn from unless
// another is named: the series of record.
var defaultMethodology = record.V1.Version

// viewFlags adds the flags that query verbs take, and returns what opens the
// view once they are read. They read the newest methodology that is recorded.
func viewFlags(c *call) (open func() (*view, error)) {
	asJSON := c.flags.Bool("json", false, "print JSON")
	data := methodologyFlags(c, "", "`version` whose line of observation is read (default: the newest recorded)")
	return func() (*view, error) {
		v, err := data()
		if err == nil {
			v.json = *asJSON
		}
		return v, err
	}
}

// dataFlags adds the flags that name what is read, and returns what opens the
// view once they are read. They read the series of record.
func dataFlags(c *call) (open func() (*view, error)) {
	return methodologyFlags(c, defaultMethodology, "`version` whose line of observation is read")
}

func methodologyFlags(c *call, version, usage string) (open func() (*view, error)) {
	data := c.flags.String("data", "data", "the data folder")
	methodology := c.flags.String("methodology", version, usage)
	return func() (*view, error) {
		if _, ok := record.MethodologyByVersion(*methodology); !ok && *methodology != "" {
			return nil, usageError{fmt.Sprintf("-methodology %q: this version reads with %s", *methodology, strings.Join(methodologyVersions(), ", "))}
		}
		return openView(*data, *methodology)
	}
}

// openView opens a data folder in which something is recorded. Without a
// methodology it is the newest that is recorded there.
func openView(data, methodology string) (*view, error) {
	tree := archive.Open(os.DirFS(data))
	runs, err := tree.Runs()
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, &daily.HintError{Err: fmt.Errorf("%s: nothing is recorded there", data), Next: "name the data folder of a clone with -data"}
	}
	repo, err := gitrepo.Open(data)
	var none *gitrepo.NotRepositoryError
	if err != nil && !errors.As(err, &none) {
		return nil, err
	}
	v := &view{tree: tree, data: data, methodology: methodology, newest: methodology == "", bodies: body.New(tree, repo)}
	return v, v.asOf(runs[len(runs)-1])
}

// asOf makes the view one of the newest methodology that a run up to that one
// read with, unless one was asked for.
func (v *view) asOf(run string) error {
	if !v.newest {
		return nil
	}
	runs, err := v.tree.Runs()
	if err != nil {
		return err
	}
	v.methodology = defaultMethodology
	for _, m := range slices.Backward(record.Methodologies) {
		for _, r := range runs {
			there, err := v.tree.Has(archive.ObservationsPath(r, m.Version))
			if err != nil {
				return err
			}
			if there && record.CompareRuns(r, run) <= 0 {
				v.methodology = m.Version
				return nil
			}
		}
	}
	return nil
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

// maxRuns is a number that the runs of no day reach.
const maxRuns = 1 << 30

// rowOn returns the row of a target as it stood at the end of a day, and its
// newest one for the empty day.
func (v *view) rowOn(name string, day record.Day) (record.Observation, error) {
	if day != "" {
		if err := v.asOf(record.RunID(day, maxRuns)); err != nil {
			return record.Observation{}, err
		}
	}
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
