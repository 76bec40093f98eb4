package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/fingerprint"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// digestVerb prints the identities of a tools/list result, a response, or an
// array of tools, and the digests that other records publish of it.
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
	return c.json(append(digestsJSON(tools, !tools.More), '\n'))
}

// allDigests is what digest prints.
type allDigests struct {
	Identity map[string]*string `json:"identity"`
	Tools    []toolDigests      `json:"tools"`
	Sets     map[string]*string `json:"sets"`
	Refused  map[string]string  `json:"refused,omitempty"` // JSON Pointer of what is null, to the code
}

// toolDigests has the digests of one tool.
type toolDigests struct {
	Name       string             `json:"name"`
	Heldfast   *string            `json:"heldfast"`
	Definition *string            `json:"tool-definition-hash-v1"`
	AgentAvow  *string            `json:"agentavow-v1"`
	RugSnare   map[string]*string `json:"rugsnare"`
}

// digestsJSON returns all digests of a contract as JSON, each as its own record
// spells it. One that is refused is null, and refused says why.
func digestsJSON(tools *contract.Contract, complete bool) json.RawMessage {
	d := allDigests{Identity: map[string]*string{}, Tools: []toolDigests{}, Sets: map[string]*string{}, Refused: map[string]string{}}
	for _, form := range []string{canon.FormV1, canon.FormV2} {
		id, err := tools.Identity(form)
		text := string(id)
		if d.Identity[form] = &text; err != nil {
			d.Identity[form] = nil
			d.Refused["/identity/"+form] = fingerprint.RefusedNumber
		}
	}
	note := func(path string, p fingerprint.Digest) *string {
		if p.Refused != "" {
			d.Refused[path] = p.Refused
			return nil
		}
		return &p.Published
	}
	for i, t := range tools.Tools {
		at := fmt.Sprintf("/tools/%d/", i)
		out := toolDigests{Name: t.Name, RugSnare: map[string]*string{}}
		for _, p := range fingerprint.OfTool(t.Value) {
			text := note(at+p.Kind, p)
			switch p.Kind {
			case fingerprint.Heldfast:
				out.Heldfast = text
			case fingerprint.Definition:
				out.Definition = text
			case fingerprint.AgentAvow:
				out.AgentAvow = text
			default:
				out.RugSnare[strings.TrimPrefix(p.Kind, "rugsnare/")] = text
			}
		}
		d.Tools = append(d.Tools, out)
	}
	for _, p := range fingerprint.OfSet(tools, complete) {
		d.Sets[p.Kind] = note("/sets/"+strings.ReplaceAll(p.Kind, "/", "~1"), p)
	}
	return record.Value(d)
}

// digestsOf returns the digests of the contract that was read from pages, the last
// of which may name a further one.
func digestsOf(pages [][]byte) (json.RawMessage, error) {
	tools, err := contract.Read(pages)
	if err != nil {
		return nil, fmt.Errorf("reading the tools: %w", err)
	}
	return digestsJSON(tools, !tools.More), nil
}
