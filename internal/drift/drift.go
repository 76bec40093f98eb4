// Package drift compares two contracts.
//
// It states facts: which tools came, went and changed, in which members, at
// which places, from what to what. What a change means for a caller is decided
// elsewhere, from these facts.
//
// # When two contracts are equal
//
// When they hold the same elements, in any order of the list. Two elements are
// the same when their members are, in any order of the members; order inside an
// array counts, also where canonical form v1 sorts it away, and numbers count as
// they are spelled. A change that the v1 identity cannot see, such as two schemas
// swapped in a prefixItems, is therefore in the Diff, and [Diff.Reordered] says
// that v1 does not see it. The other way round, the order of a list that holds
// something other than tools is part of its v1 identity: where only that
// differs, the Diff is not equal, is reordered_only, and names no tool.
//
// # Tools and entries
//
// Tools are matched by name, and names as they are: neither case nor
// punctuation is folded (case a-014). A name may stand more than once. Entries
// that both sides have cancel out; what is left is paired in the order of its
// text. An entry too many or too few of a name that both sides have is no tool
// added or removed but the tool changed, with the one member [Entries] (case
// a-012). Elements that are no tools are removed and added under the empty name.
//
// # Renaming
//
// A rename is never assumed: the old name is removed and the new one added,
// because that is what callers meet. [Diff.Hints] lists the pairs that are
// probably renamed tools (case a-016): their inputSchema and outputSchema are
// equal, and either no other pair of the Diff has the same and the schema says
// something, or they are each other's nearest by name, with at least half of the
// longer name in common.
//
// # Classes
//
// Every unequal pair has exactly one class (DESIGN.md 7): the first of
// reordered_only, numbers_only and whitespace_only that explains all that
// differs, else substantive. A tool or a duplicate that comes or goes is
// substantive. Names of tools and of members are never masked or folded. A class
// says how little of the text differs, not how little it matters: a lower bound
// and a date in a description are both numbers.
package drift

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
)

// A Kind says what happened to a tool. The values are published and never
// renamed.
type Kind string

// The kinds.
const (
	Added   Kind = "added"
	Changed Kind = "changed"
	Removed Kind = "removed"
)

// Entries is the member that a changed tool lists when its name stands in the
// list more or less often than before. The specification gives no tool a member
// of that name.
const Entries = "entries"

// The classes of a difference; see the package comment. The values are
// published and never renamed.
const (
	Substantive    = "substantive"
	NumbersOnly    = "numbers_only"    // equal with every number, and every run of digits in a string, masked
	ReorderedOnly  = "reordered_only"  // equal after sorting every array
	WhitespaceOnly = "whitespace_only" // equal with white space in strings trimmed and folded
)

// MaxPlaces bounds the places, and the texts, that are listed of one tool, and
// MaxPointer the length in bytes of what points to them. Beyond either, a
// difference is told by its nearest ancestor or not at all; the schemas are
// whole in any case.
const (
	MaxPlaces  = 256
	MaxPointer = 4096
)

// A Diff is what differs between two contracts, old and new. Its JSON form is
// that of `mcpstrata diff -json` (DESIGN.md 9).
type Diff struct {
	Equal     bool         `json:"equal"`
	Reordered bool         `json:"reordered,omitempty"` // not equal, and yet of one v1 identity
	Classes   []string     `json:"classes"`             // one class; empty, never nil, iff Equal
	Tools     []ToolDiff   `json:"tools"`               // sorted by name by code point, then kind; never nil
	Hints     []RenameHint `json:"rename_hints,omitempty"`
}

// A ToolDiff is what happened to one entry of the list. All text in it is as
// recorded, so hostile.
type ToolDiff struct {
	Name string `json:"name"` // empty for a tool without one, and for what is no tool
	Kind Kind   `json:"kind"`
	// Members names the members that differ, sorted, of a changed tool; or
	// Entries alone.
	Members []string `json:"members,omitempty"`
	// Reordered names those of the Members that are equal in canonical form v1.
	Reordered []string `json:"reordered,omitempty"`
	// Entries counts the entries of the name; only where one of the counts is
	// more than one.
	Entries *Count `json:"entries,omitempty"`
	// InputSchema and OutputSchema stand if the member is among the Members, or
	// if the entry came or went and has one.
	InputSchema  *Schemas `json:"inputSchema,omitempty"`
	OutputSchema *Schemas `json:"outputSchema,omitempty"`
	// Texts are the strings that differ outside the schemas, and the titles and
	// descriptions that differ inside them; of an entry that came or went, all
	// of these but its name.
	Texts []TextChange `json:"texts,omitempty"`
	// Paths are the JSON Pointers (RFC 6901) into the tool at which a changed
	// tool differs, in order of the members' names: the deepest places, but the
	// whole array where its length or only its order differs, or where it holds
	// nothing but strings, numbers, booleans and nulls.
	Paths    []string `json:"paths,omitempty"`
	PathsCut bool     `json:"paths_cut,omitempty"` // there were more than MaxPlaces
	// Value is the element, where it is not an object.
	Value json.RawMessage `json:"value,omitempty"`

	Places []Place      `json:"-"` // Paths with what stands there
	Old    *canon.Value `json:"-"` // the entry before; nil if it was added
	New    *canon.Value `json:"-"` // the entry after; nil if it was removed
}

// A Count is a number of entries on each side.
type Count struct {
	Before int `json:"before"`
	After  int `json:"after"`
}

// Schemas are a schema on each side, in document order without white space, of
// whatever kind the server sent. A side without the member is absent.
type Schemas struct {
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// A TextChange is a string that differs. A side without it is empty.
type TextChange struct {
	Path   string `json:"path"` // JSON Pointer into the tool
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// A Place is where a tool differs, and what stands there; nil if nothing.
type Place struct {
	Path     string // JSON Pointer into the tool
	Old, New *canon.Value
}

// A RenameHint says that a removed tool probably became an added one.
type RenameHint struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Same []string `json:"same"` // members that are equal in both, sorted; empty, never nil
}

// Compare returns what differs between two contracts. It depends on what they
// declare, not on the order of their lists, but for lists that hold something
// other than tools.
func Compare(old, new *contract.Contract) Diff {
	c := comparer{strict: &summer{form: strict}, v1: newV1Summer()}
	d := Diff{Classes: []string{}, Tools: []ToolDiff{}}
	left := c.unmatched(old, new)
	for _, g := range left {
		d.Tools = append(d.Tools, c.toolDiffs(g)...)
	}
	slices.SortStableFunc(d.Tools, func(a, b ToolDiff) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	v1Equal := c.v1Equal(old, new, left)
	d.Equal = len(left) == 0 && v1Equal
	d.Reordered = len(left) > 0 && v1Equal
	if !d.Equal {
		d.Classes = append(d.Classes, classOf(left))
	}
	d.Hints = c.renameHints(d.Tools)
	return d
}

// A comparer holds the sums that one comparison needs.
type comparer struct {
	strict *summer // order in arrays counts
	v1     *summer // equal iff the canonical form v1 is
}

func newV1Summer() *summer {
	return &summer{form: form{sortObjects: true}, memo: make(map[*canon.Value]sum)}
}

// A group is the entries of one name on both sides, less those that both have.
type group struct {
	tool               bool // false: elements that are not objects
	name               string
	old, new           []*canon.Value // in order of text
	oldCount, newCount int            // before entries cancelled out
}

// unmatched returns the groups that are not empty, in order of name; what is no
// tool comes first.
func (c comparer) unmatched(old, new *contract.Contract) []*group {
	type key struct {
		tool bool
		name string
	}
	groups := make(map[key]*group)
	at := func(e *canon.Value) *group {
		k := key{tool: e.Kind == canon.Object}
		if n := e.Get("name"); n != nil && n.Kind == canon.String {
			k.name = n.Text
		}
		if groups[k] == nil {
			groups[k] = &group{tool: k.tool, name: k.name}
		}
		return groups[k]
	}
	for _, e := range old.Elems {
		g := at(e)
		g.old = append(g.old, e)
	}
	for _, e := range new.Elems {
		g := at(e)
		g.new = append(g.new, e)
	}
	keys := slices.SortedFunc(maps.Keys(groups), func(a, b key) int {
		if a.tool != b.tool {
			if b.tool {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	var left []*group
	for _, k := range keys {
		g := groups[k]
		g.oldCount, g.newCount = len(g.old), len(g.new)
		if c.cancel(g); len(g.old)+len(g.new) > 0 {
			left = append(left, g)
		}
	}
	return left
}

// cancel takes the entries from g that both sides have, each as often as both
// have it, and sorts the others by their text.
func (c comparer) cancel(g *group) {
	type tally struct{ surplus, matched int } // entries of new without and with a partner
	tallies := make(map[sum]*tally)
	var sums []*tally // of the entries of new
	for _, e := range g.new {
		s := c.strict.sum(e)
		if tallies[s] == nil {
			tallies[s] = new(tally)
		}
		tallies[s].surplus++
		sums = append(sums, tallies[s])
	}
	g.old = slices.DeleteFunc(g.old, func(e *canon.Value) bool {
		t := tallies[c.strict.sum(e)]
		if t == nil || t.surplus == 0 {
			return false
		}
		t.surplus--
		t.matched++
		return true
	})
	kept := g.new[:0]
	for i, e := range g.new {
		if t := sums[i]; t.matched > 0 {
			t.matched--
		} else {
			kept = append(kept, e)
		}
	}
	g.new = kept
	sortByText(g.old)
	sortByText(g.new)
}

// sortByText sorts values by their canonical text, then by their text as sent.
func sortByText(values []*canon.Value) {
	if len(values) < 2 {
		return
	}
	texts := make(map[*canon.Value][2]string, len(values))
	for _, v := range values {
		texts[v] = [2]string{string(canon.AppendV1(nil, v)), string(canon.AppendCompact(nil, v))}
	}
	slices.SortStableFunc(values, func(a, b *canon.Value) int {
		x, y := texts[a], texts[b]
		return cmp.Or(strings.Compare(x[0], y[0]), strings.Compare(x[1], y[1]))
	})
}

// v1Equal reports whether both contracts have the same v1 identity, given the
// groups that are left of them. The order of a list that holds something other
// than objects is part of it.
func (c comparer) v1Equal(old, new *contract.Contract, left []*group) bool {
	if old.Mixed() || new.Mixed() {
		return slices.EqualFunc(old.Elems, new.Elems, c.v1.equal)
	}
	return !slices.ContainsFunc(left, func(g *group) bool { return !c.v1.sameElements(g.old, g.new) })
}

// toolDiffs describes one group.
func (c comparer) toolDiffs(g *group) []ToolDiff {
	var out []ToolDiff
	pairs := 0
	if g.tool {
		pairs = min(len(g.old), len(g.new))
	}
	for i := range pairs {
		out = append(out, c.changed(g, g.old[i], g.new[i]))
	}
	for _, e := range g.old[pairs:] {
		out = append(out, c.oneSided(g, e, nil))
	}
	for _, e := range g.new[pairs:] {
		out = append(out, c.oneSided(g, nil, e))
	}
	return out
}

// base starts the description of one entry, or pair of entries, of g.
func (g *group) base(kind Kind, old, new *canon.Value) ToolDiff {
	t := ToolDiff{Name: g.name, Kind: kind, Old: old, New: new}
	if g.tool && (g.oldCount > 1 || g.newCount > 1) {
		t.Entries = &Count{g.oldCount, g.newCount}
	}
	return t
}

// oneSided describes an entry that came or went; the other side is nil.
func (c comparer) oneSided(g *group, old, new *canon.Value) ToolDiff {
	kind, e := Removed, old
	if old == nil {
		kind, e = Added, new
	}
	if !g.tool {
		t := g.base(kind, old, new)
		t.Value = canon.AppendCompact(nil, e)
		return t
	}
	if g.oldCount > 0 && g.newCount > 0 {
		kind = Changed
	}
	t := g.base(kind, old, new)
	if kind == Changed {
		t.Members = []string{Entries}
	}
	t.InputSchema = schemas(old.Get("inputSchema"), new.Get("inputSchema"))
	t.OutputSchema = schemas(old.Get("outputSchema"), new.Get("outputSchema"))
	for _, m := range sortedMembers(e) {
		if m.Name != "name" {
			t.addTexts(appendPointer("", m.Name), m.Value, old != nil)
		}
	}
	return t
}

// changed describes a pair of entries of one name that are not equal.
func (c comparer) changed(g *group, old, new *canon.Value) ToolDiff {
	t := g.base(Changed, old, new)
	w := walker{v1: c.v1}
	for _, p := range pairMembers(old, new) {
		pointer := appendPointer("", p.Path)
		if len(pointer) > MaxPointer {
			if strict.same(p.Old, p.New) {
				continue
			}
			w.cut = true
		} else if !w.walk(pointer, p.Old, p.New) {
			continue
		}
		t.Members = append(t.Members, p.Path)
		if c.v1.equal(p.Old, p.New) {
			t.Reordered = append(t.Reordered, p.Path)
		}
		switch p.Path {
		case "inputSchema":
			t.InputSchema = schemas(p.Old, p.New)
		case "outputSchema":
			t.OutputSchema = schemas(p.Old, p.New)
		}
	}
	t.addPlaces(&w)
	return t
}

func schemas(old, new *canon.Value) *Schemas {
	if old == nil && new == nil {
		return nil
	}
	var s Schemas
	if old != nil {
		s.Before = canon.AppendCompact(nil, old)
	}
	if new != nil {
		s.After = canon.AppendCompact(nil, new)
	}
	return &s
}
