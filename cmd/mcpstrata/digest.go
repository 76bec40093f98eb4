package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// digestVerb prints the identities of a tools/list result, a response, or an
// array of tools.
func digestVerb(_ context.Context, c *call) error {
	words, err := c.parse(0, 1)
	if err != nil {
		return err
	}
	name, src, err := readOne(c, words)
	if err != nil {
		return err
	}
	tools, err := contract.ReadDocument(src)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return c.json(append(identities(tools), '\n'))
}

// identities returns the identities of a contract as JSON; one that a form
// refuses is null.
func identities(tools *contract.Contract) json.RawMessage {
	identity := map[string]*canon.Digest{"v1": nil, "v2": nil}
	for form := range identity {
		if d, err := tools.Identity(form); err == nil {
			identity[form] = &d
		}
	}
	type toolName struct {
		Name string `json:"name"`
	}
	names := []toolName{}
	for _, t := range tools.Tools {
		names = append(names, toolName{t.Name})
	}
	return record.Value(struct {
		Identity map[string]*canon.Digest `json:"identity"`
		Tools    []toolName               `json:"tools"`
	}{identity, names})
}

// digestsOf returns the identities of the contract that was read from pages.
func digestsOf(pages [][]byte) (json.RawMessage, error) {
	tools, err := contract.Read(pages)
	if err != nil {
		return nil, fmt.Errorf("reading the tools: %w", err)
	}
	return identities(tools), nil
}
