package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/visible"
)

// compareVerb compares two published observations, ours or others', each in a file
// or on standard input, and says whether a difference is one of the server. The
// exit status is 3 unless they are the same.
func compareVerb(_ context.Context, c *call) error {
	asJSON := c.flags.Bool("json", false, "print JSON")
	words, err := c.parse(2, 2)
	if err != nil {
		return err
	}
	if words[0] == "-" && words[1] == "-" {
		return usageError{"standard input is one of the two, not both"}
	}
	var sides [2]record.Reading
	for i, word := range words {
		name, src, err := readOne(c, []string{word})
		if err != nil {
			return err
		}
		if sides[i], err = record.ReadPublished(src); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	found := record.Compare(sides[0], sides[1])
	if *asJSON {
		err = c.json(record.Line(found))
	} else {
		err = printComparison(c, found, sides, words)
	}
	if err == nil && found.Verdict != record.VerdictSame {
		err = errFound
	}
	return err
}

// printComparison prints a comparison for people.
func printComparison(c *call, found record.Comparison, sides [2]record.Reading, words []string) error {
	w := &lines{w: c.stdout}
	w.printf("%s\n", found.Verdict)
	if len(found.Members) > 0 {
		w.printf("not comparable: %s\n", strings.Join(found.Members, ", "))
	}
	for _, cause := range found.Causes {
		for _, d := range record.Causes {
			if d.Cause == cause {
				w.printf("cause: %s: %s\n", d.Cause, d.Means)
			}
		}
	}
	for i, s := range sides {
		taken := "no digest"
		if s.Digest != "" {
			taken = fmt.Sprintf("%s %s (%s)", s.Member, s.Digest, s.Format)
		}
		w.printf("%s: %s\n", visible.Line(words[i]), visible.Line(taken))
	}
	return w.err
}
