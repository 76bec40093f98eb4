package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/progress"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/visible"
)

// showVerb prints a target and its tools, as of a day.
func showVerb(_ context.Context, c *call) error {
	open := viewFlags(c)
	words, err := c.parse(1, 1)
	if err != nil {
		return err
	}
	name, at, dated := strings.Cut(words[0], "@")
	var day record.Day
	if dated {
		if day, err = record.ParseDay(at); err != nil {
			return usageError{err.Error()}
		}
	}
	v, err := open()
	if err != nil {
		return err
	}
	o, err := v.rowOn(name, day)
	if err != nil {
		return err
	}
	tools := &contract.Contract{}
	if o.Head != nil {
		if tools, err = v.bodies.Contract(o.Head.Artifacts); err != nil {
			return fmt.Errorf("reading the tools of %s: %w", name, err)
		}
	}
	if v.json {
		return showJSON(c, o, tools)
	}
	return showText(c, o, tools)
}

func showJSON(c *call, o record.Observation, tools *contract.Contract) error {
	elems := []json.RawMessage{}
	for _, e := range tools.Elems {
		elems = append(elems, canon.AppendCompact(nil, e))
	}
	return c.json(record.Line(struct {
		Row   record.Observation `json:"row"`
		Tools []json.RawMessage  `json:"tools"`
	}{o, elems}))
}

func showText(c *call, o record.Observation, tools *contract.Contract) error {
	w := &lines{w: c.stdout}
	row := func(key, value string) {
		if value != "" {
			w.printf("%-13s %s\n", key, visible.Line(value))
		}
	}
	row("name", o.Name)
	row("endpoint", o.Endpoint)
	row("state", state(o))
	if s := o.Server; s != nil {
		row("server", strings.TrimSpace(s.Name+" "+s.Version))
		row("capabilities", strings.Join(s.Capabilities, ", "))
	}
	if h := o.Head; h != nil {
		confirmed := "confirmed"
		if !h.Confirmed {
			confirmed = "not yet confirmed"
		}
		row("contract", fmt.Sprintf("%s, since %s, %s", h.Identity, h.FirstObserved, confirmed))
		row("read", fmt.Sprintf("%s, asked %s, answered %s, complete %v", h.Capture.ObservedAt.Format("2006-01-02T15:04:05Z"),
			h.Capture.Protocol.Requested, h.Capture.Protocol.Negotiated, h.Capture.Pages.Complete))
		row("last read", string(h.LastObserved))
		row("unstable", string(h.Unstable))
		for _, a := range h.Artifacts {
			row("body", string(a))
		}
		row("bytes", progress.Count(int(h.Bytes)))
	}
	for _, f := range o.Flags {
		row("flag", string(f))
	}
	for _, warning := range tools.Warnings {
		row("remark", warning.Text)
	}
	w.printf("\n")
	for _, t := range tools.Tools {
		text := ""
		if d := t.Value.Get("description"); d != nil && d.Kind == canon.String {
			text, _, _ = strings.Cut(d.Text, "\n")
		}
		w.printf("%s\n    %s\n", visible.Line(t.Name), visible.Line(text))
	}
	return w.err
}
