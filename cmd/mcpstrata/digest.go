package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/fingerprint"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// digestVerb prints the identities of a tools/list result, a response, or an
// array of tools, and the digests that other records publish of it. Tools that
// repeat a member name, or hold half of a surrogate pair, have no identity; each
// other digest is refused or not as its own record says.
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
	if err == nil {
		return c.json(append(digestsJSON(tools, !tools.More), '\n'))
	}
	if elems, more, code := irregularTools(src); code != "" {
		none := func(string) (string, string) { return "", code }
		return c.json(append(digestsOfList(elems, !more, none), '\n'))
	}
	return fmt.Errorf("%s: %w", name, err)
}

// irregularTools reads the elements of a list as [canon.ParseLoose] does, and
// whether more pages follow. The code says why they have no identity; it is empty
// where what the document lacks is something else, or does not lie in its tools.
func irregularTools(src []byte) (elems []*canon.Value, more bool, code string) {
	v, err := canon.ParseLoose(bytes.TrimPrefix(bytes.TrimSpace(src), []byte("\ufeff")))
	for _, member := range []string{"result", "tools"} {
		if err != nil || v == nil {
			return nil, false, ""
		}
		if v.Kind != canon.Object || member == "result" && v.Get(member) == nil {
			continue
		}
		same := func(m canon.Member) bool { return m.Name == member }
		if i := slices.IndexFunc(v.Members, same); i >= 0 && slices.ContainsFunc(v.Members[i+1:], same) {
			return nil, false, "" // two lists
		}
		next := v.Get("nextCursor")
		more = next != nil && next.Kind == canon.String
		v = v.Get(member)
	}
	if v == nil || v.Kind != canon.Array || len(v.Elems) > contract.MaxTools {
		return nil, false, ""
	}
	switch repeated, surrogate := canon.Irregular(v); {
	case repeated:
		code = fingerprint.RefusedRepeated
	case surrogate:
		code = fingerprint.RefusedSurrogate
	}
	return v.Elems, more, code
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

// digestsJSON returns all digests of a contract as JSON.
func digestsJSON(tools *contract.Contract, complete bool) json.RawMessage {
	return digestsOfList(tools.Elems, complete, func(form string) (string, string) {
		id, err := tools.Identity(form)
		if err != nil {
			return "", fingerprint.RefusedNumber
		}
		return string(id), ""
	})
}

// digestsOfList returns all digests of the elements of a list as JSON, each as its
// own record spells it. One that is refused is null, and refused says why; of an
// identity, identity says it.
func digestsOfList(elems []*canon.Value, complete bool, identity func(form string) (id, refused string)) json.RawMessage {
	d := allDigests{Identity: map[string]*string{}, Tools: []toolDigests{}, Sets: map[string]*string{}, Refused: map[string]string{}}
	for _, form := range []string{canon.FormV1, canon.FormV2} {
		id, refused := identity(form)
		if d.Identity[form] = &id; refused != "" {
			d.Identity[form] = nil
			d.Refused["/identity/"+form] = refused
		}
	}
	note := func(path string, p fingerprint.Digest) *string {
		if p.Refused != "" {
			d.Refused[path] = p.Refused
			return nil
		}
		return &p.Published
	}
	for _, e := range elems {
		if e.Kind != canon.Object {
			continue
		}
		at := fmt.Sprintf("/tools/%d/", len(d.Tools))
		out := toolDigests{RugSnare: map[string]*string{}}
		if name := e.Get("name"); name != nil && name.Kind == canon.String {
			out.Name = canon.ReplaceSurrogates(name.Text)
		}
		for _, p := range fingerprint.OfTool(e) {
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
	for _, p := range fingerprint.OfElements(elems, complete) {
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
