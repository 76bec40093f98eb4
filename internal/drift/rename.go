package drift

import (
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
)

// maxRenamePairs bounds the pairs of one schema that are weighed, and
// maxRenameName the bytes of a name that takes part.
const (
	maxRenamePairs = 10_000
	maxRenameName  = 256
)

// renameHints pairs removed with added tools whose schemas are equal; see the
// package comment. Names that stood more than once take no part. The hints are
// sorted by the old name.
func (c comparer) renameHints(tools []ToolDiff) []RenameHint {
	type key struct{ input, output sum }
	type candidates struct{ removed, added []ToolDiff }
	bySchema := make(map[key]*candidates)
	sumOf := func(v *canon.Value) sum {
		if v == nil {
			return sum{}
		}
		return c.strict.sum(v)
	}
	var order []key
	for _, t := range tools {
		e := t.Old
		if t.Kind == Added {
			e = t.New
		}
		if t.Kind == Changed || t.Entries != nil || t.Name == "" || len(t.Name) > maxRenameName {
			continue
		}
		k := key{sumOf(e.Get("inputSchema")), sumOf(e.Get("outputSchema"))}
		if bySchema[k] == nil {
			bySchema[k] = new(candidates)
			order = append(order, k)
		}
		if g := bySchema[k]; t.Kind == Removed {
			g.removed = append(g.removed, t)
		} else {
			g.added = append(g.added, t)
		}
	}
	var hints []RenameHint
	for _, k := range order {
		if g := bySchema[k]; len(g.removed)*len(g.added) <= maxRenamePairs {
			hints = append(hints, c.pairNames(g.removed, g.added)...)
		}
	}
	slices.SortFunc(hints, func(a, b RenameHint) int { return strings.Compare(a.From, b.From) })
	return hints
}

// pairNames pairs tools of one schema. One of each whose schema says something
// are a pair; otherwise two that are each other's only nearest by name, if at
// least half of the longer name is common to both.
func (c comparer) pairNames(removed, added []ToolDiff) []RenameHint {
	if len(removed) == 1 && len(added) == 1 && telling(removed[0].Old) {
		return []RenameHint{c.hint(removed[0], added[0])}
	}
	var hints []RenameHint
	for _, r := range removed {
		if a, ok := nearest(r, added); ok {
			if back, ok := nearest(a, removed); ok && back.Name == r.Name {
				hints = append(hints, c.hint(r, a))
			}
		}
	}
	return hints
}

func (c comparer) hint(from, to ToolDiff) RenameHint {
	h := RenameHint{From: from.Name, To: to.Name, Same: []string{}}
	for _, p := range pairMembers(from.Old, to.New) {
		if strict.same(p.Old, p.New) {
			h.Same = append(h.Same, p.Path)
		}
	}
	return h
}

// telling reports whether a tool's schemas are more than any tool has that takes
// no arguments.
func telling(tool *canon.Value) bool {
	p := tool.Get("inputSchema").Get("properties")
	return p != nil && len(p.Members) > 0 || tool.Get("outputSchema") != nil
}

// nearest returns the tool whose name has the most in common with t's, if that
// is at least half of the longer name and no other has as much.
func nearest(t ToolDiff, among []ToolDiff) (best ToolDiff, ok bool) {
	most := 0
	for _, u := range among {
		n := shared(t.Name, u.Name)
		switch {
		case 2*n < max(len(t.Name), len(u.Name)) || n < most:
		case n == most:
			ok = false
		default:
			best, most, ok = u, n, true
		}
	}
	return best, ok
}

// shared returns how many bytes a and b have in common at both ends.
func shared(a, b string) int {
	n, m := 0, 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for m < min(len(a), len(b))-n && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	return n + m
}
