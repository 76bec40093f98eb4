// Package fingerprint computes the digests that other records publish for a tool or
// a tool set, from the bytes as sent.
//
// It works on [canon.Value] trees, which keep digits, order and repeated members;
// nothing passes through a map or a struct on its way. All digests are SHA-256 over
// a text in RFC 8785 form, but for the prose hash, which is over a string's bytes.
// Every rule below was reproduced from the vectors in testdata, which name the
// documents and commits that they come from.
//
// # heldfast
//
// The tool digest of heldfast (docs/LOCK.md): name, title, description,
// input_schema and annotations, with "" or {} where one is missing; output_schema
// unless it is missing or empty, icons unless missing or empty. The wire names
// inputSchema and outputSchema stand in where the other spelling is missing or
// null. A schema, an output schema or annotations of another type count as
// missing. Integers beyond 2^53 are hashed as the nearest double; the list of
// refusals in an older vector file says otherwise, and the later text wins. Half a
// surrogate pair is written as an escape. A name, title or description that is
// neither a string nor null is refused ([RefusedNotString]): the implementations
// write it differently.
//
// # Tool definition hash, version 1
//
// The whole object as sent (docs/TOOL_DEFINITION_HASH.md of mcp-pin). A repeated
// member name anywhere is refused. The set hash is over lines of name, colon, hash,
// sorted by name in UTF-16 order, then by hash, joined by LF; a definition without a
// name that is a string refuses the set.
//
// # AgentAvow, version 1
//
// The object {profile, tool}, where tool has those of name, title, description,
// inputSchema, outputSchema and annotations that are there and not null; {} is kept.
// [AgentAvowKey] names a tool in their lists.
//
// # MTL/1
//
// The whole list, every page read, each tool cut down to name, description,
// inputSchema and, if it is an object, outputSchema, sorted by name (PROFILE.md,
// section 5). Only integers within 2^53 are digestible, by the letters of the
// number (SPEC.md, section 4.3): 1.0 is refused. The rule is applied to what is
// left after the cutting. Refusals carry the codes of those documents.
//
// # RugSnare
//
// hash is over {name, description, inputSchema}, proseHash over the description.
// The text of the specification (docs/PIN-SPEC.md, section 3) says that schemaHash is
// over inputSchema alone; the stored vectors are over {name, inputSchema}, and
// stored vectors win. A member that is missing is left out of hash.
//
// # What no document decides
//
// Repeated members: JSON parsers take the first or the last, and but for two of the
// documents none says which, so every digest is refused ([RefusedRepeated]). Half a
// surrogate pair is refused where the document does not say how it is written
// ([RefusedSurrogate]), and so is a number outside the range of a double
// ([RefusedNumber]).
package fingerprint

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
)

// The names of the kinds, which are never renamed.
const (
	Heldfast       = "heldfast"
	Definition     = "tool-definition-hash-v1" // of a tool and of a set
	AgentAvow      = "agentavow-v1"
	RugSnareHash   = "rugsnare/hash"
	RugSnareSchema = "rugsnare/schemaHash"
	RugSnareProse  = "rugsnare/proseHash"
	MTL            = "mtl/1"
)

// A Kind is one kind of digest.
type Kind struct {
	Name  string // one of the constants
	Title string // for people
	Set   bool   // over a list, not over a tool
}

// Kinds returns the kinds in a fixed order: those of a tool as [OfTool] returns
// them, then those of a set as [OfSet] does.
func Kinds() []Kind {
	return []Kind{
		{Heldfast, "heldfast tool digest", false},
		{Definition, "Tool definition hash, version 1", false},
		{AgentAvow, "AgentAvow tool digest, version 1", false},
		{RugSnareHash, "RugSnare hash", false},
		{RugSnareSchema, "RugSnare schema hash", false},
		{RugSnareProse, "RugSnare prose hash", false},
		{MTL, "MTL/1 tool set", true},
		{Definition, "Tool definition set hash, version 1", true},
	}
}

// The refusals. Where the document that defines a digest has a code of its own,
// it is that.
const (
	RefusedNotObject     = "not_an_object"   // the element of the list is no tool
	RefusedRepeated      = "repeated_member" // two members of one name in one object
	RefusedSurrogate     = "lone_surrogate"  // half of a surrogate pair
	RefusedNumber        = "number_range"    // a number that no double holds
	RefusedNotString     = "not_a_string"    // a member has another type
	RefusedNoName        = "no_name"         // no name that is a string
	RefusedNoDescription = "no_description"  // nothing to hash
	RefusedNoSchema      = "no_input_schema" // nothing to hash
	RefusedIncomplete    = "incomplete_list" // the list was not read to its end

	RefusedMTLName      = "MTL-SUBJ-001"  // a name that is missing, empty or no string
	RefusedMTLEmpty     = "MTL-SUBJ-002"  // an empty list
	RefusedMTLDuplicate = "MTL-SUBJ-003"  // two tools of one name
	RefusedMTLNumber    = "MTL-NUM-001"   // a number with a fraction or an exponent
	RefusedMTLRange     = "AWR-CANON-002" // an integer beyond 2^53-1
	RefusedMTLSurrogate = "AWR-CANON-003" // half of a surrogate pair
	RefusedMTLRepeated  = "AWR-CANON-004" // two members of one name in one object
)

// A Digest is one digest, or why there is none.
type Digest struct {
	Kind      string // name of the kind
	Value     string // 64 lower-case hex digits; empty if it is refused
	Published string // the digest as its own record spells it; empty if it is refused
	Refused   string // code of the refusal; empty if there is a digest
}

func refused(kind, code string) Digest { return Digest{Kind: kind, Refused: code} }

// sum returns the digest of text.
func sum(kind string, text []byte) Digest {
	h := sha256.Sum256(text)
	d := Digest{Kind: kind, Value: hex.EncodeToString(h[:])}
	switch kind {
	case AgentAvow:
		d.Published = "sha256:" + d.Value
	case MTL:
		d.Published = "sha256-" + base64.StdEncoding.EncodeToString(h[:])
	default:
		d.Published = d.Value
	}
	return d
}

// object returns the digest over an object in RFC 8785 form.
func object(kind string, members []canon.Member) Digest {
	return of(kind, &canon.Value{Kind: canon.Object, Members: members})
}

// of returns the digest over a value in RFC 8785 form.
func of(kind string, v *canon.Value) Digest {
	text, err := canon.AppendV2(nil, v)
	if err != nil {
		return refused(kind, RefusedNumber)
	}
	return sum(kind, text)
}

func str(s string) *canon.Value { return &canon.Value{Kind: canon.String, Text: s} }

// is returns v if it is of that kind, otherwise nil.
func is(v *canon.Value, kind canon.Kind) *canon.Value {
	if v == nil || v.Kind != kind {
		return nil
	}
	return v
}

// stated returns v unless it is null.
func stated(v *canon.Value) *canon.Value {
	if v == nil || v.Kind == canon.Null {
		return nil
	}
	return v
}

// OfTool returns the digests of one element of a list, one for each kind of a
// tool, in the order of [Kinds]. It costs some ten times what canonicalising the
// tool costs. It takes what [canon.ParseLoose] returns as well.
func OfTool(tool *canon.Value) []Digest {
	return []Digest{heldfast(tool), definition(tool), agentAvow(tool), rugHash(tool), rugSchema(tool), rugProse(tool)}
}

// check returns the refusal that every kind has of a tool, or an empty string.
// Half a surrogate pair is let through where the kind says how it is written.
func check(tool *canon.Value, surrogates bool) string {
	if is(tool, canon.Object) == nil {
		return RefusedNotObject
	}
	switch repeated, surrogate := canon.Irregular(tool); {
	case repeated:
		return RefusedRepeated
	case surrogate && !surrogates:
		return RefusedSurrogate
	}
	return ""
}

func heldfast(tool *canon.Value) Digest {
	if code := check(tool, true); code != "" {
		return refused(Heldfast, code)
	}
	empty := &canon.Value{Kind: canon.Object}
	var body []canon.Member
	for _, name := range []string{"name", "title", "description"} {
		v := stated(tool.Get(name))
		if v == nil {
			v = str("")
		}
		if v.Kind != canon.String {
			return refused(Heldfast, RefusedNotString)
		}
		body = append(body, canon.Member{Name: name, Value: v})
	}
	schema := func(name, wire string) *canon.Value {
		v := stated(tool.Get(name))
		if v == nil {
			v = tool.Get(wire)
		}
		return is(v, canon.Object)
	}
	body = append(body,
		canon.Member{Name: "input_schema", Value: cmp.Or(schema("input_schema", "inputSchema"), empty)},
		canon.Member{Name: "annotations", Value: cmp.Or(is(tool.Get("annotations"), canon.Object), empty)})
	if v := schema("output_schema", "outputSchema"); v != nil && len(v.Members) > 0 {
		body = append(body, canon.Member{Name: "output_schema", Value: v})
	}
	if v := is(tool.Get("icons"), canon.Array); v != nil && len(v.Elems) > 0 {
		body = append(body, canon.Member{Name: "icons", Value: v})
	}
	return object(Heldfast, body)
}

func definition(tool *canon.Value) Digest {
	if code := check(tool, true); code != "" {
		return refused(Definition, code)
	}
	return of(Definition, tool)
}

// agentAvowProfile labels the text that is hashed.
const agentAvowProfile = "agentavow.mcp-tool-definition.v1"

func agentAvow(tool *canon.Value) Digest {
	if code := check(tool, false); code != "" {
		return refused(AgentAvow, code)
	}
	body := &canon.Value{Kind: canon.Object}
	for _, name := range []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations"} {
		if v := stated(tool.Get(name)); v != nil {
			body.Members = append(body.Members, canon.Member{Name: name, Value: v})
		}
	}
	return object(AgentAvow, []canon.Member{{Name: "profile", Value: str(agentAvowProfile)}, {Name: "tool", Value: body}})
}

// rugBody returns the named members of tool that are there.
func rugBody(tool *canon.Value, names ...string) []canon.Member {
	var body []canon.Member
	for _, name := range names {
		if v := tool.Get(name); v != nil {
			body = append(body, canon.Member{Name: name, Value: v})
		}
	}
	return body
}

// checkRug returns the refusal that all hashes of RugSnare have of a tool: pins
// are kept by name.
func checkRug(tool *canon.Value) string {
	code := check(tool, false)
	if code == "" && is(tool.Get("name"), canon.String) == nil {
		code = RefusedNoName
	}
	return code
}

func rugHash(tool *canon.Value) Digest {
	if code := checkRug(tool); code != "" {
		return refused(RugSnareHash, code)
	}
	return object(RugSnareHash, rugBody(tool, "name", "description", "inputSchema"))
}

func rugSchema(tool *canon.Value) Digest {
	if code := checkRug(tool); code != "" {
		return refused(RugSnareSchema, code)
	}
	if tool.Get("inputSchema") == nil {
		return refused(RugSnareSchema, RefusedNoSchema)
	}
	return object(RugSnareSchema, rugBody(tool, "name", "inputSchema"))
}

func rugProse(tool *canon.Value) Digest {
	if code := checkRug(tool); code != "" {
		return refused(RugSnareProse, code)
	}
	switch d := tool.Get("description"); {
	case d == nil:
		return refused(RugSnareProse, RefusedNoDescription)
	case d.Kind != canon.String:
		return refused(RugSnareProse, RefusedNotString)
	default:
		return sum(RugSnareProse, []byte(d.Text))
	}
}

// OfSet returns the digests of a list, one for each kind of a set, in the order of
// [Kinds]. All are refused unless the list was read to its end.
func OfSet(c *contract.Contract, complete bool) []Digest {
	return OfElements(c.Elems, complete)
}

// OfElements is [OfSet] for the elements of a list, those that [canon.ParseLoose]
// returned included.
func OfElements(elems []*canon.Value, complete bool) []Digest {
	if !complete {
		return []Digest{refused(MTL, RefusedIncomplete), refused(Definition, RefusedIncomplete)}
	}
	return []Digest{mtl(elems), definitionSet(elems)}
}

// named is a definition with its name and, in a list of lines, its hash.
type named struct {
	name  string
	hash  string
	value *canon.Value
}

func byName(a, b named) int {
	return cmp.Or(canon.CompareUTF16(a.name, b.name), strings.Compare(a.hash, b.hash))
}

func definitionSet(elems []*canon.Value) Digest {
	var lines []named
	code := ""
	for _, e := range elems {
		d := definition(e)
		name := is(e.Get("name"), canon.String)
		switch {
		case d.Refused != "":
			code = first(code, d.Refused)
		case name == nil:
			code = first(code, RefusedNoName)
		default:
			lines = append(lines, named{name: name.Text, hash: d.Value})
		}
	}
	if code != "" {
		return refused(Definition, code)
	}
	slices.SortFunc(lines, byName)
	var text bytes.Buffer
	for i, l := range lines {
		if i > 0 {
			text.WriteByte('\n')
		}
		// Half a surrogate pair becomes U+FFFD, as the document says of UTF-8.
		text.WriteString(canon.ReplaceSurrogates(l.name) + ":" + l.hash)
	}
	return sum(Definition, text.Bytes())
}

func mtl(elems []*canon.Value) Digest {
	if len(elems) == 0 {
		return refused(MTL, RefusedMTLEmpty)
	}
	list := make([]named, 0, len(elems))
	seen := make(map[string]bool, len(elems))
	code := ""
	for _, e := range elems {
		tool, fault := mtlTool(e)
		if fault != "" {
			code = first(code, fault)
			continue
		}
		name := tool.Members[0].Value.Text
		if seen[name] {
			code = first(code, RefusedMTLDuplicate)
		}
		seen[name] = true
		list = append(list, named{name: name, value: tool})
	}
	if code != "" {
		return refused(MTL, code)
	}
	slices.SortFunc(list, byName)
	set := &canon.Value{Kind: canon.Array}
	for _, t := range list {
		set.Elems = append(set.Elems, t.value)
	}
	return of(MTL, set)
}

// mtlTool cuts a tool down to what is digested of it, its name first, or returns
// the code of the refusal.
func mtlTool(tool *canon.Value) (*canon.Value, string) {
	if is(tool, canon.Object) == nil {
		return nil, RefusedMTLName
	}
	switch repeated, surrogate := canon.Irregular(tool); {
	case repeated:
		return nil, RefusedMTLRepeated
	case surrogate:
		return nil, RefusedMTLSurrogate
	}
	name := is(tool.Get("name"), canon.String)
	if name == nil || name.Text == "" {
		return nil, RefusedMTLName
	}
	cut := &canon.Value{Kind: canon.Object, Members: []canon.Member{
		{Name: "name", Value: name},
		{Name: "description", Value: cmp.Or(is(tool.Get("description"), canon.String), str(""))},
		{Name: "inputSchema", Value: cmp.Or(is(tool.Get("inputSchema"), canon.Object), &canon.Value{Kind: canon.Object})},
	}}
	if v := is(tool.Get("outputSchema"), canon.Object); v != nil {
		cut.Members = append(cut.Members, canon.Member{Name: "outputSchema", Value: v})
	}
	return cut, mtlNumbers(cut)
}

// mtlNumbers returns the refusal that the numbers in v bring about, or an empty
// string. It looks at the letters of a number, not at its value.
func mtlNumbers(v *canon.Value) string {
	switch v.Kind {
	case canon.Number:
		digits := strings.TrimPrefix(v.Text, "-")
		switch {
		case strings.ContainsAny(digits, ".eE"):
			return RefusedMTLNumber
		case len(digits) > len(maxInteger), len(digits) == len(maxInteger) && digits > maxInteger:
			return RefusedMTLRange
		}
	case canon.Array:
		code := ""
		for _, e := range v.Elems {
			code = first(code, mtlNumbers(e))
		}
		return code
	case canon.Object:
		code := ""
		for _, m := range v.Members {
			code = first(code, mtlNumbers(m.Value))
		}
		return code
	}
	return ""
}

// first returns the code that is told of the two, whatever came first: the order of
// members and of tools moves no refusal.
func first(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return min(a, b)
}

// maxInteger is 2^53-1.
const maxInteger = "9007199254740991"

// AgentAvowKey returns the key under which AgentAvow lists the digest of the tool
// of that name: tool: and the name, in which every byte outside 0x21 to 0x7E, %
// and = are written %XX. More than 128 characters are cut to 96, with ~ and the
// first 16 hex digits of the name's SHA-256 after them.
func AgentAvowKey(name string) string {
	const digits, most, kept = "0123456789ABCDEF", 128, 96
	var body []byte
	for _, c := range []byte(name) {
		if c > 0x20 && c < 0x7f && c != '%' && c != '=' {
			body = append(body, c)
			continue
		}
		body = append(body, '%', digits[c>>4], digits[c&15])
	}
	if len(body) > most {
		h := sha256.Sum256([]byte(name))
		body = append(body[:kept], "~"+hex.EncodeToString(h[:8])...)
	}
	return "tool:" + string(body)
}
