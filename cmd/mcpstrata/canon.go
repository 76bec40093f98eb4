package main

import (
	"context"
	"fmt"
	"io"

	"github.com/mcpstrata/mcpstrata/internal/canon"
)

// maxInput bounds what is read from a file or standard input, in bytes.
const maxInput = 64 << 20

// canonVerb prints the canonical bytes of one JSON document, without a newline.
func canonVerb(_ context.Context, c *call) error {
	form := c.flags.String("form", "v1", "canonical `form`: v1 or v2 (RFC 8785)")
	words, err := c.parse(0, 1)
	if err != nil {
		return err
	}
	if *form != "v1" && *form != "v2" {
		return usageError{fmt.Sprintf("-form %q: it is v1 or v2", *form)}
	}
	name, src, err := readOne(c, words)
	if err != nil {
		return err
	}
	b, err := canon.Canonical(*form, src)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, err = c.stdout.Write(b)
	return err
}

// readOne reads the file that a verb was given, or standard input.
func readOne(c *call, words []string) (name string, b []byte, err error) {
	name = "-"
	if len(words) > 0 {
		name = words[0]
	}
	b, err = readInput(c, name)
	if name == "-" {
		name = "standard input"
	}
	return name, b, err
}

func readLimited(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fmt.Errorf("it is longer than %d bytes", maxInput)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return b, nil
}
