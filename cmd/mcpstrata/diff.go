package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/drift"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// diffVerb compares two contracts: of one target, or of two files.
func diffVerb(_ context.Context, c *call) error {
	open := viewFlags(c)
	files := c.flags.Bool("files", false, "compare two files: tools/list results, responses or arrays of tools")
	words, err := c.parse(1, 3)
	if err != nil {
		return err
	}
	if *files {
		return diffFiles(c, words)
	}
	v, err := open()
	if err != nil {
		return err
	}
	old, new, err := v.sides(words[0], words[1:])
	if err != nil {
		return err
	}
	a, err := v.bodies.Contract(old.Artifacts)
	if err != nil {
		return fmt.Errorf("reading the contract of %s: %w", old.First, err)
	}
	b, err := v.bodies.Contract(new.Artifacts)
	if err != nil {
		return fmt.Errorf("reading the contract of %s: %w", new.First, err)
	}
	if !v.json {
		c.note(fmt.Sprintf("%s of %s (%d tools) against %s of %s (%d tools)", old.Identity.Short(), old.First, old.Tools, new.Identity.Short(), new.First, new.Tools))
		if differs := old.Capture.Differs(new.Capture); old.Identity != new.Identity && len(differs) > 0 {
			c.note("they were read under other conditions, and what differs need not be of the server: " + strings.Join(differs, ", "))
		}
	}
	return c.printDiff(drift.Compare(a, b), v.json)
}

func diffFiles(c *call, words []string) error {
	if len(words) != 2 {
		return usageError{"-files takes two files"}
	}
	var sides [2]*contract.Contract
	for i, name := range words {
		b, err := readInput(c, name)
		if err != nil {
			return err
		}
		if sides[i], err = contract.ReadDocument(b); err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
	}
	asJSON := c.flags.Lookup("json").Value.String() == "true"
	return c.printDiff(drift.Compare(sides[0], sides[1]), asJSON)
}

func (c *call) printDiff(d drift.Diff, asJSON bool) error {
	if asJSON {
		return c.json(record.Line(d))
	}
	if d.Equal {
		c.note("the contracts are equal")
		return nil
	}
	return d.WriteText(c.stdout, drift.Style{})
}

// sides returns the two contracts that words name, each by a day on which it was
// in force or by its identity. Without words it is the newest contract and the
// one before. A day names the bodies as they stood on it: the order of a list
// may have changed under one identity.
func (v *view) sides(name string, words []string) (old, new timeline.Life, err error) {
	lives, err := v.lives(name)
	if err != nil {
		return old, new, err
	}
	if len(lives) == 0 {
		return old, new, &daily.HintError{Err: fmt.Errorf("%s: it never answered, so it has no contract", name), Next: "`mcpstrata log " + name + "` prints its history"}
	}
	new = lives[len(lives)-1]
	old = lives[max(0, len(lives)-2)]
	if len(words) > 0 {
		if old, err = v.side(name, lives, words[0]); err != nil {
			return old, new, err
		}
	}
	if len(words) > 1 {
		new, err = v.side(name, lives, words[1])
	}
	return old, new, err
}

// leastPrefix is how many hex digits name an identity.
const leastPrefix = 8

func (v *view) side(name string, lives []timeline.Life, word string) (timeline.Life, error) {
	if day, err := record.ParseDay(word); err == nil {
		o, err := v.rowOn(name, day)
		if err != nil {
			return timeline.Life{}, err
		}
		if o.Head == nil {
			return timeline.Life{}, fmt.Errorf("%s: it had no contract on %s; its first was read on %s", name, day, lives[0].First)
		}
		return timeline.Life{Identity: o.Head.Identity, Capture: o.Head.Capture, Artifacts: o.Head.Artifacts, Tools: o.Head.Tools, First: o.Head.FirstObserved}, nil
	}
	prefix := strings.TrimPrefix(word, "sha256:")
	if len(prefix) < leastPrefix || strings.Trim(prefix, "0123456789abcdef") != "" {
		return timeline.Life{}, usageError{fmt.Sprintf("%q is neither a day nor an identity (at least %d hex digits)", word, leastPrefix)}
	}
	for _, l := range slices.Backward(lives) {
		if strings.HasPrefix(l.Identity.Hex(), prefix) {
			return l, nil
		}
	}
	return timeline.Life{}, &daily.HintError{Err: fmt.Errorf("%s: it never had the contract %s", name, word), Next: "`mcpstrata log " + name + "` prints those that it had"}
}

// readInput reads a file, or standard input for "-".
func readInput(c *call, name string) ([]byte, error) {
	if name == "-" {
		return readLimited(c.stdin, "standard input")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readLimited(f, name)
}
