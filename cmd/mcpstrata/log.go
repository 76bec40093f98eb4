package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/visible"
)

// logVerb prints the history of one target, newest first.
func logVerb(_ context.Context, c *call) error {
	open := viewFlags(c)
	words, err := c.parse(1, 1)
	if err != nil {
		return err
	}
	v, err := open()
	if err != nil {
		return err
	}
	rows, err := v.rows(words[0])
	if err != nil {
		return err
	}
	var events []record.Event
	for e, err := range v.tree.EventsOf(words[0]) {
		if err != nil {
			return err
		}
		if e.Methodology == "" || e.Methodology == v.methodology {
			events = append(events, e)
		}
	}
	slices.Reverse(events)
	newest := rows[len(rows)-1].Observation
	if v.json {
		if events == nil {
			events = []record.Event{}
		}
		return c.json(record.File(struct {
			Events []record.Event     `json:"events"`
			First  string             `json:"first_run"`
			Row    record.Observation `json:"row"`
		}{events, rows[0].Run, newest}))
	}
	w := &lines{w: c.stdout}
	w.printf("%s  %s\n", visible.Line(newest.Name), visible.Line(state(newest)))
	for _, e := range events {
		w.printf("%s  %-18s %s\n", e.Day, e.Kind, visible.Line(tell(e)))
	}
	w.printf("%s  %-18s\n", rows[0].Run, "first recorded")
	return w.err
}

// state says how a target stands.
func state(o record.Observation) string {
	s := fmt.Sprintf("%s since %s", o.Outcome(), o.Since)
	if o.Retired != "" {
		s = fmt.Sprintf("retired %s (was %s)", o.Retired, o.Outcome())
	}
	if o.Head != nil {
		s += fmt.Sprintf(", %d tools", o.Head.Tools)
		if o.Head.Unstable != "" {
			s += fmt.Sprintf(", unstable on %s", o.Head.Unstable)
		}
	}
	return s
}

// tell says in one line what an event changed.
func tell(e record.Event) string {
	switch e.Kind {
	case record.Drift, record.CaptureDifference:
		s := fmt.Sprintf("%s -> %s", e.Old.Short(), e.New.Short())
		if e.ReturnOf != "" {
			s += " (back to the contract of " + string(e.ReturnOf) + ")"
		}
		if e.Comparable != nil && !*e.Comparable {
			s += " (read under other conditions: " + strings.Join(e.Differs, ", ") + ")"
		}
		if e.Reread == record.RereadFailed {
			s += " (the second reading of the day failed)"
		}
		return s + ": " + tellChanges(e.Changes)
	case record.Unstable:
		s := fmt.Sprintf("read %s", e.New.Short())
		if e.Other != "" {
			return fmt.Sprintf("%s, read again %s: neither is %s, which stays", s, e.Other.Short(), e.Old.Short())
		}
		return fmt.Sprintf("%s, read again %s, which stays", s, e.Old.Short())
	case record.ClassChanged:
		return value(e.From, "answered") + " -> " + value(e.To, "answered")
	case record.EndpointMoved, record.ServerChanged:
		return value(e.From, "none") + " -> " + value(e.To, "none")
	case record.FirstAnswer:
		return e.New.Short()
	case record.Confirmed:
		return fmt.Sprintf("the contract of %s (%s)", e.Confirms, e.New.Short())
	case record.Reordered:
		return shortDigests(e.OldArtifacts) + " -> " + shortDigests(e.NewArtifacts)
	}
	return ""
}

// shownChanges is how many tools a line of the log names.
const shownChanges = 4

func tellChanges(changes []record.ToolChange) string {
	var parts []string
	for i, ch := range changes {
		if i == shownChanges {
			parts = append(parts, fmt.Sprintf("and %d more", len(changes)-i))
			break
		}
		s := ch.Kind + " " + ch.Name
		if len(ch.Members) > 0 {
			s += " (" + strings.Join(ch.Members, ", ") + ")"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// value returns a JSON string without its quotes, another value as it is, and
// null in words.
func value(raw []byte, null string) string {
	if s := strings.Trim(string(raw), `"`); s != "null" && s != "" {
		return s
	}
	return null
}

func shortDigests(ds []canon.Digest) string {
	parts := make([]string, len(ds))
	for i, d := range ds {
		parts[i] = d.Short()
	}
	return strings.Join(parts, "+")
}

// lines writes formatted text and keeps the first error.
type lines struct {
	w   io.Writer
	err error
}

func (l *lines) printf(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.w, format, args...)
	}
}
