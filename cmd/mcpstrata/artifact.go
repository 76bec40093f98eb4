package main

import (
	"context"

	"github.com/mcpstrata/mcpstrata/internal/canon"
)

// artifactVerb prints a recorded body, verbatim and checked.
func artifactVerb(_ context.Context, c *call) error {
	open := viewFlags(c)
	words, err := c.parse(1, 1)
	if err != nil {
		return err
	}
	d, err := canon.ParseDigest(words[0])
	if err != nil {
		return usageError{err.Error()}
	}
	v, err := open()
	if err != nil {
		return err
	}
	b, err := v.bodies.Read(d)
	if err != nil {
		return err
	}
	_, err = c.stdout.Write(b)
	return err
}
