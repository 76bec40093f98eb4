package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/visible"
)

// An observed row says of a target that has an endpoint whether the day's runs
// attempted it. A target that no run ever attempted has no row: only its name.
type observed struct {
	Attempted *bool `json:"attempted,omitempty"`
	record.Observation
	never bool
}

// MarshalJSON writes the row with the attempt, or the attempt and the name.
func (o observed) MarshalJSON() ([]byte, error) {
	if o.never {
		return json.Marshal(struct {
			Attempted bool   `json:"attempted"`
			Name      string `json:"name"`
		}{false, o.Name})
	}
	type row observed
	return record.Value(row(o)), nil
}

// observationsVerb prints the row of every target as it stood at the end of a
// day, from the dated files alone.
func observationsVerb(_ context.Context, c *call) error {
	open := viewFlags(c)
	words, err := c.parse(1, 1)
	if err != nil {
		return err
	}
	day, err := record.ParseDay(words[0])
	if err != nil {
		return usageError{err.Error()}
	}
	v, err := open()
	if err != nil {
		return err
	}
	rows, err := v.observed(day)
	if err != nil {
		return err
	}
	w := &lines{w: c.stdout}
	for _, o := range rows {
		if v.json {
			w.printf("%s", visible.JSON(record.Line(o)))
			continue
		}
		identity, tools := "-", "-"
		if o.Head != nil {
			identity, tools = o.Head.Identity.Short(), fmt.Sprint(o.Head.Tools)
		}
		class := o.Outcome().String()
		switch {
		case o.never:
			class = "never attempted"
		case o.Retired != "":
			class = "retired"
		case o.Attempted != nil && !*o.Attempted:
			class += " (not attempted)"
		case o.Head != nil && o.Head.Unstable == day:
			class += " (unstable)"
		}
		w.printf("%-32s %6s  %-12s %s  %s\n", class, tools, identity, o.Since, visible.Line(o.Name))
	}
	return w.err
}

// observed returns the rows of a day, sorted by name.
func (v *view) observed(day record.Day) ([]observed, error) {
	runs, err := v.tree.Runs()
	if err != nil {
		return nil, err
	}
	run := ""
	for _, r := range runs {
		if d, _, err := record.ParseRunID(r); err == nil && d == day {
			run = r
		}
	}
	if run == "" {
		return nil, &daily.HintError{Err: fmt.Errorf("%s: no run is recorded of that day", day), Next: fmt.Sprintf("recorded are %d runs from %s to %s", len(runs), runs[0], runs[len(runs)-1])}
	}
	if err := v.asOf(run); err != nil {
		return nil, err
	}
	rows, head, err := v.tree.Fold(v.methodology, run)
	if err != nil {
		return nil, err
	}
	missed := map[string]bool{}
	if head.Run == run && head.Missed != nil {
		names, err := report.Missed(v.tree, v.methodology, run)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			missed[n] = true
		}
	}
	var out []observed
	for _, o := range rows {
		row := observed{Observation: o}
		if missed[o.Name] || o.ErrorClass != record.NoEndpoint && o.Retired == "" {
			attempted := !missed[o.Name]
			row.Attempted = &attempted
		}
		delete(missed, o.Name)
		out = append(out, row)
	}
	for name := range missed {
		out = append(out, observed{Observation: record.Observation{Name: name}, never: true})
	}
	slices.SortFunc(out, func(a, b observed) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
