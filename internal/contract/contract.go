// Package contract reads the artifacts of a probe, of either protocol era, as one
// contract: the tools that a server declares.
//
// # What is contract
//
// The members of result.tools, whole and as sent, and nothing else. Members of
// the result beside it (_meta, ttlMs, cacheScope, resultType, nextCursor) belong
// to the transport: they vary by protocol version and by SDK, some of them count
// down (protocol.md 1.2, case a-049). The _meta of a tool is contract (a-057).
//
// Page boundaries are not contract either: the lists of all pages are joined in
// page order. Nothing is dropped. An entry that stands twice, on one page or on
// two, is there twice, because a list is a multiset: names SHOULD be unique, no
// more (a-012).
//
// # What is not a tool
//
// An element that is not an object, such as null, is no tool and is not counted
// as one, but it was served, so it is part of the identity (a-009). A tool
// without a name is a tool; its Name is empty. A missing, null or odd schema
// never makes a tool disappear (a-001, a-003). A list that is null, which is how
// some languages write an empty one, is an empty list. [Contract.Warnings] says
// what the specification would have otherwise, and [Contract.Flags] says so in
// the row.
//
// # Identity
//
// v1 is the SHA-256 of the list in canonical form v1 (DESIGN.md 6). That form
// sorts an array whose elements are all objects, and a list that holds a null is
// not such an array: its order counts (pinned by a-009). v2 is the SHA-256 of
// the array of the elements' RFC 8785 texts, sorted by name in UTF-16 order,
// then by that text; an element without a name that is a string sorts as if its
// name were empty.
//
// # Contract file
//
// [Contract.File] writes the list for people and git, one value a line. A hostile
// body of 8 MiB would make a file of some 50 MB that way. Where the file would be
// larger than [MaxPretty], it has one element a line instead: keys sorted by code
// point, no white space, numbers as sent. Order and identity are the same either
// way, and which of the two it is depends on nothing but the contract.
package contract

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/jsonrpc"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// MaxTools is the greatest number of elements, over all pages, that are read as
// one contract (DESIGN.md 12). The largest list in the field had a tenth of it.
const MaxTools = 10_000

// MaxPretty is the greatest size of a pretty-printed contract file, in bytes:
// twice the body that is read by default, and a size that git hosts take.
const MaxPretty = 16 << 20

// FirstID is the JSON-RPC id of the request for the first page; every further
// page has the next one. Ids are fixed, so that equal answers are equal bytes.
const FirstID = 2

// A Contract is the list of tools that a server declared. It is not changed
// after it was read.
type Contract struct {
	// Elems holds every element of the list as sent: tools and what is none.
	Elems []*canon.Value
	// Tools holds the elements that are objects, in the same order.
	Tools []Tool
	// Flags are those of the envelope and of the list, sorted, each once.
	Flags []record.Flag
	// More says that the last page read names a further one (nextCursor), so that the
	// list is not whole. It is no part of the contract.
	More bool
	// Warnings say in words what the flags of the list stand for, in list order.
	Warnings []Warning
}

// A Tool is one element of the list that is an object.
type Tool struct {
	Name  string       // empty if there is none, or none that is a string; as sent, so hostile
	Value *canon.Value // the whole object
}

// A Warning is one finding about the list. It stands beside the record, never
// instead of it.
type Warning struct {
	Flag record.Flag
	Tool string // the name of the tool; empty if it has none or if the finding is about the list
	Text string // one sentence without a full stop; quotes names as sent, so hostile
}

// Read reads the bodies of one reading, in page order, as one contract: body i,
// counted from 0, answers the request with the id FirstID+i.
//
// The error is a *jsonrpc.Fault: a body without a response, a JSON-RPC error
// object (rpc:<code>), a result without a list of tools (not_jsonrpc), or more
// than MaxTools elements or, in one body, canon.MaxValues values (too_large).
func Read(pages [][]byte) (*Contract, error) {
	if len(pages) == 0 {
		return nil, &jsonrpc.Fault{Detail: record.DetailEmpty, Reason: "no body"}
	}
	c := new(Contract)
	for i, body := range pages {
		r, err := jsonrpc.Read(body, FirstID+int64(i))
		if err != nil {
			return nil, err
		}
		if err := c.addResponse(r); err != nil {
			return nil, err
		}
	}
	c.finish()
	return c, nil
}

// ReadDocument reads one document as a contract: a JSON-RPC response or the
// event stream that held it, whatever its id; a tools/list result, or any object
// with a member tools; or an array of tools, such as [Contract.File] writes.
//
// An object is taken for a response if it has a member jsonrpc, result or error,
// an array for a batch of messages if an element has a member jsonrpc. The error
// is a *jsonrpc.Fault, as that of [Read].
func ReadDocument(b []byte) (*Contract, error) {
	c := new(Contract)
	text, bom := bytes.CutPrefix(b, []byte("\ufeff"))
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return c.readMessage(b)
	}
	v, err := canon.Parse(text)
	if err != nil {
		return nil, jsonrpc.Unparsed(err)
	}
	if isMessage(v) {
		return c.readMessage(b)
	}
	if bom {
		c.Flags = append(c.Flags, record.FlagBOM)
	}
	if v.Kind == canon.Array {
		err = c.add(v)
	} else {
		err = c.addResult(v)
	}
	if err != nil {
		return nil, err
	}
	c.finish()
	return c, nil
}

// readMessage reads b as a response. Nobody knows which id was asked for, so
// what its id looks like is no finding.
func (c *Contract) readMessage(b []byte) (*Contract, error) {
	r, err := jsonrpc.Read(b, FirstID)
	if err != nil {
		return nil, err
	}
	r.Flags = slices.DeleteFunc(slices.Clone(r.Flags), func(f record.Flag) bool {
		return f == record.FlagIDMismatch || f == record.FlagIDType
	})
	if err := c.addResponse(r); err != nil {
		return nil, err
	}
	c.finish()
	return c, nil
}

// isMessage reports whether v is a JSON-RPC message or a batch of them, rather
// than a result or a list of tools.
func isMessage(v *canon.Value) bool {
	if v.Kind == canon.Array {
		return slices.ContainsFunc(v.Elems, func(e *canon.Value) bool { return e.Get("jsonrpc") != nil })
	}
	return v.Get("jsonrpc") != nil || v.Get("result") != nil || v.Get("error") != nil
}

func (c *Contract) addResponse(r jsonrpc.Response) error {
	c.Flags = append(c.Flags, r.Flags...)
	if r.Error != nil {
		return &jsonrpc.Fault{Detail: record.RPCDetail(r.Error.Code), Reason: r.Error.Error()}
	}
	return c.addResult(r.Result)
}

// addResult adds the tools of one tools/list result. A resultType that is
// missing means complete (2026-07-28, "Results").
func (c *Contract) addResult(result *canon.Value) error {
	if result == nil || result.Kind != canon.Object {
		return &jsonrpc.Fault{Detail: record.DetailNotJSONRPC, Reason: "the result is " + kindOf(result) + ", not an object"}
	}
	if t := result.Get("resultType"); t != nil && (t.Kind != canon.String || t.Text != "complete") {
		c.warn(record.FlagResultType, "", "resultType is "+string(canon.AppendCompact(nil, t)))
	}
	next := result.Get("nextCursor")
	c.More = next != nil && next.Kind == canon.String
	return c.add(result.Get("tools"))
}

func (c *Contract) add(tools *canon.Value) error {
	if tools != nil && tools.Kind == canon.Null {
		c.warn(record.FlagNotATool, "", "tools is null (spec wants an array)")
		return nil
	}
	if tools == nil || tools.Kind != canon.Array {
		return &jsonrpc.Fault{Detail: record.DetailNotJSONRPC, Reason: "the result's tools is " + kindOf(tools) + ", not an array"}
	}
	if len(c.Elems)+len(tools.Elems) > MaxTools {
		return &jsonrpc.Fault{Detail: record.DetailTooLarge, Reason: fmt.Sprintf("more than %d tools", MaxTools)}
	}
	c.Elems = append(c.Elems, tools.Elems...)
	return nil
}

// finish derives tools, warnings and flags from the elements.
func (c *Contract) finish() {
	entries := make(map[string]int)
	for i, e := range c.Elems {
		place := fmt.Sprintf("tools[%d]", i)
		if e.Kind != canon.Object {
			c.warn(record.FlagNotATool, "", place+" is "+kindOf(e))
			continue
		}
		name, ok := nameOf(e)
		c.Tools = append(c.Tools, Tool{Name: name, Value: e})
		if ok {
			entries[name]++
			place = name
		} else if n := e.Get("name"); n == nil {
			c.warn(record.FlagNoName, "", place+" has no name")
		} else {
			c.warn(record.FlagNoName, "", place+": name is "+kindOf(n)+" (spec wants a string)")
		}
		c.checkSchema(record.FlagInputSchema, name, place, "inputSchema", e.Get("inputSchema"))
		if s := e.Get("outputSchema"); s != nil {
			c.checkSchema(record.FlagOutputSchema, name, place, "outputSchema", s)
		}
	}
	for _, t := range c.Tools {
		if n := entries[t.Name]; n > 1 {
			c.warn(record.FlagDuplicateName, t.Name, fmt.Sprintf("duplicate name %s (%d entries)", t.Name, n))
			delete(entries, t.Name)
		}
	}
	slices.Sort(c.Flags)
	c.Flags = slices.Compact(c.Flags)
}

// checkSchema warns of a schema that is not an object with the type object, the
// one shape that every protocol version accepts.
func (c *Contract) checkSchema(flag record.Flag, tool, place, member string, s *canon.Value) {
	switch t := s.Get("type"); {
	case s == nil || s.Kind != canon.Object:
		c.warn(flag, tool, place+": "+member+" is "+kindOf(s)+" (spec wants an object)")
	case t == nil || t.Kind != canon.String || t.Text != "object":
		c.warn(flag, tool, place+": "+member+" has no type: object")
	}
}

func (c *Contract) warn(flag record.Flag, tool, text string) {
	c.Flags = append(c.Flags, flag)
	c.Warnings = append(c.Warnings, Warning{Flag: flag, Tool: tool, Text: text})
}

// nameOf returns the name of a tool, and whether it has one that is a string.
func nameOf(v *canon.Value) (string, bool) {
	if n := v.Get("name"); n != nil && n.Kind == canon.String {
		return n.Text, true
	}
	return "", false
}

// kindOf names the kind of v for people; nil is missing.
func kindOf(v *canon.Value) string {
	if v == nil {
		return "missing"
	}
	switch v.Kind {
	case canon.Null:
		return "null"
	case canon.Bool:
		return "a boolean"
	case canon.Number:
		return "a number"
	case canon.String:
		return "a string"
	case canon.Array:
		return "an array"
	}
	return "an object"
}

// Mixed reports whether the list holds an element that is not an object. The
// order of such a list is part of its v1 identity.
func (c *Contract) Mixed() bool { return len(c.Tools) != len(c.Elems) }

// Identity returns the digest over the canonical bytes of the list, in form v1
// or v2. Equal identity means the same contract. It fails on an unknown form
// and, for v2, on a number that a float64 cannot hold, which RFC 8785 has no
// text for.
func (c *Contract) Identity(form string) (canon.Digest, error) {
	switch form {
	case "v1":
		return canon.Sum(canon.AppendV1(nil, &canon.Value{Kind: canon.Array, Elems: c.Elems})), nil
	case "v2":
		return c.identityV2()
	}
	return "", fmt.Errorf("computing the identity: unknown canonical form %q", form)
}

func (c *Contract) identityV2() (canon.Digest, error) {
	type entry struct {
		name string
		text []byte
	}
	entries := make([]entry, len(c.Elems))
	for i, e := range c.Elems {
		text, err := canon.AppendV2(nil, e)
		if err != nil {
			return "", fmt.Errorf("computing the v2 identity: tools[%d]: %w", i, err)
		}
		name, _ := nameOf(e)
		entries[i] = entry{name, text}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(compareUTF16(a.name, b.name), bytes.Compare(a.text, b.text))
	})
	list := []byte{'['}
	for i, e := range entries {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, e.text...)
	}
	return canon.Sum(append(list, ']')), nil
}

// compareUTF16 compares two strings by UTF-16 code units, as RFC 8785 sorts
// member names. That is the order of code points but for the supplementary
// planes, whose surrogates (from U+D800) sort before U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	unit := func(r rune) rune {
		if r > 0xFFFF {
			return 0xD800
		}
		return r
	}
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x != y {
			return cmp.Or(cmp.Compare(unit(x), unit(y)), cmp.Compare(x, y))
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// File returns the contract file: the list as a pretty-printed JSON array for
// people and git, keys sorted by code point, with a final newline; above
// [MaxPretty] with one element a line (see the package comment). Tools stand
// in order of name by code point, then of canonical v1 text; a list that holds
// something other than objects stays as sent, because its order is identity.
//
// The file is itself a contract with the same identity, in both forms, as the
// one that it was written from. Two contracts of one v1 identity have the same
// file unless the order inside a tool's arrays of objects differs, which v1
// sorts away and the file shows.
func (c *Contract) File() []byte {
	type entry struct {
		name, v1 string
		value    *canon.Value
	}
	entries := make([]entry, len(c.Elems))
	for i, e := range c.Elems {
		name, _ := nameOf(e)
		entries[i] = entry{name, string(canon.AppendV1(nil, e)), e}
	}
	if !c.Mixed() {
		slices.SortFunc(entries, func(a, b entry) int {
			if order := cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.v1, b.v1)); order != 0 {
				return order
			}
			// Equal in v1, so there is no order but that of what is written.
			return bytes.Compare(canon.AppendPretty(nil, a.value), canon.AppendPretty(nil, b.value))
		})
	}
	list := &canon.Value{Kind: canon.Array}
	for _, e := range entries {
		list.Elems = append(list.Elems, e.value)
	}
	if file := append(canon.AppendPretty(nil, list), '\n'); len(file) <= MaxPretty {
		return file
	}
	return appendLines(nil, list.Elems)
}

// appendLines appends a contract file that has one element a line.
func appendLines(dst []byte, elems []*canon.Value) []byte {
	dst = append(dst, '[')
	for i, e := range elems {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = canon.AppendSorted(append(dst, '\n'), e)
	}
	return append(dst, "\n]\n"...)
}
