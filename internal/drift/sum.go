package drift

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpstrata/mcpstrata/internal/canon"
)

// A form says what of a value is told apart. Order of members never counts,
// order of elements does. The zero form, strict, tells everything else apart.
type form struct {
	sortObjects bool                // order counts not in arrays of nothing but objects: canonical form v1
	sortAll     bool                // order counts in no array
	number      func(string) string // applied to the literal of each number; nil: as sent
	text        func(string) string // applied to each string, names of members excepted; nil: as sent
}

var strict form

// scalar returns what counts of the text of a value that is no array or object.
func (f form) scalar(v *canon.Value) string {
	switch {
	case v.Kind == canon.Number && f.number != nil:
		return f.number(v.Text)
	case v.Kind == canon.String && f.text != nil:
		return f.text(v.Text)
	}
	return v.Text
}

// same compares two values in a form that sorts nothing, in one pass that ends
// at the first difference. Nil is nothing, which only nil equals.
func (f form) same(a, b *canon.Value) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || len(a.Elems) != len(b.Elems) || len(a.Members) != len(b.Members) {
		return false
	}
	switch a.Kind {
	case canon.Array:
		return slices.EqualFunc(a.Elems, b.Elems, f.same)
	case canon.Object:
		return slices.EqualFunc(sortedMembers(a), sortedMembers(b), func(m, n canon.Member) bool {
			return m.Name == n.Name && f.same(m.Value, n.Value)
		})
	}
	return f.scalar(a) == f.scalar(b)
}

// A sum stands for a value in one form: two values have the same sum iff they
// are equal in that form. It lives as long as a comparison and is not published.
type sum [sha256.Size]byte

// A summer computes sums as a hash tree over arrays and objects.
type summer struct {
	form form
	memo map[*canon.Value]sum // of arrays and objects; nil for a summer that sees no value twice
	buf  []byte               // what is being hashed, of every level that is open
}

// equal compares two values; nil is nothing, which only nil equals.
func (s *summer) equal(a, b *canon.Value) bool {
	if a == nil || b == nil {
		return a == b
	}
	return weigh(a) == weigh(b) && s.sum(a) == s.sum(b)
}

// sameElements reports whether a and b hold the same values, each as often, in
// any order.
func (s *summer) sameElements(a, b []*canon.Value) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 1 {
		return s.equal(a[0], b[0])
	}
	return s.array(a, true) == s.array(b, true)
}

// sum returns the sum of v.
func (s *summer) sum(v *canon.Value) sum {
	switch v.Kind {
	case canon.Array, canon.Object:
	default:
		base := len(s.buf)
		s.add(v)
		return s.close(base)
	}
	known, ok := s.memo[v]
	if ok {
		return known
	}
	if v.Kind == canon.Array {
		sorted := s.form.sortAll || s.form.sortObjects && !slices.ContainsFunc(v.Elems, func(e *canon.Value) bool { return e.Kind != canon.Object })
		known = s.array(v.Elems, sorted)
	} else {
		base := len(s.buf)
		for _, m := range sortedMembers(v) {
			s.addText(m.Name)
			s.add(m.Value)
		}
		known = s.close(base)
	}
	if s.memo != nil {
		s.memo[v] = known
	}
	return known
}

// array returns the sum of an array of elems.
func (s *summer) array(elems []*canon.Value, sorted bool) sum {
	base := len(s.buf)
	ends := make([]int, 0, len(elems)+1)
	for _, e := range elems {
		s.add(e)
		ends = append(ends, len(s.buf))
	}
	if sorted {
		parts := make([][]byte, len(elems))
		from := base
		for i, end := range ends {
			parts[i] = s.buf[from:end]
			from = end
		}
		slices.SortFunc(parts, bytes.Compare)
		copy(s.buf[base:], bytes.Join(parts, nil))
	}
	return s.close(base)
}

// add appends v: its kind, and its text or its sum.
func (s *summer) add(v *canon.Value) {
	switch v.Kind {
	case canon.Array, canon.Object:
		known := s.sum(v)
		s.buf = append(s.buf, byte(v.Kind))
		s.buf = append(s.buf, known[:]...)
	default:
		s.buf = append(s.buf, byte(v.Kind))
		s.addText(s.form.scalar(v))
	}
}

func (s *summer) addText(t string) {
	s.buf = binary.AppendUvarint(s.buf, uint64(len(t)))
	s.buf = append(s.buf, t...)
}

// close hashes what was appended since base and takes it off.
func (s *summer) close(base int) sum {
	result := sum(sha256.Sum256(s.buf[base:]))
	s.buf = s.buf[:base]
	return result
}

// A weight is how much a value holds. Values of unequal weight are not equal in
// any form that masks nothing, which is found out quicker than by their sums.
type weight struct{ values, bytes int }

func weigh(v *canon.Value) weight {
	w := weight{1, len(v.Text)}
	for _, e := range v.Elems {
		x := weigh(e)
		w.values, w.bytes = w.values+x.values, w.bytes+x.bytes
	}
	for _, m := range v.Members {
		x := weigh(m.Value)
		w.values, w.bytes = w.values+x.values, w.bytes+x.bytes+len(m.Name)
	}
	return w
}

// sortedMembers returns the members of an object by name; of nil, none.
func sortedMembers(v *canon.Value) []canon.Member {
	if v == nil {
		return nil
	}
	byName := func(a, b canon.Member) int { return strings.Compare(a.Name, b.Name) }
	if slices.IsSortedFunc(v.Members, byName) {
		return v.Members
	}
	return slices.SortedFunc(slices.Values(v.Members), byName)
}

// classOf returns the class of the groups that are left: the first in whose form
// all of them are equal. There are none if only the order of a list differs.
// Reordering is tried first: exchanged numbers are moved, not masked away.
func classOf(left []*group) string {
	all := func(same func(a, b []*canon.Value) bool) bool {
		return !slices.ContainsFunc(left, func(g *group) bool { return !same(g.old, g.new) })
	}
	switch {
	case all((&summer{form: form{sortAll: true}}).sameElements):
		return ReorderedOnly
	case all(form{number: maskNumber, text: maskDigits}.sameElements):
		return NumbersOnly
	case all(form{text: foldSpace}.sameElements):
		return WhitespaceOnly
	}
	return Substantive
}

// sameElements is that of summer, for a form that sorts nothing.
func (f form) sameElements(a, b []*canon.Value) bool {
	switch {
	case len(a) != len(b):
		return false
	case len(a) == 1:
		return f.same(a[0], b[0])
	}
	s := &summer{form: f}
	return s.array(a, true) == s.array(b, true)
}

func maskNumber(string) string { return "0" }

// maskDigits replaces every run of decimal digits by one 0.
func maskDigits(s string) string {
	masked := false
	return strings.Map(func(r rune) rune {
		digit := unicode.IsDigit(r)
		again := digit && masked
		masked = digit
		switch {
		case again:
			return -1
		case digit:
			return '0'
		}
		return r
	}, s)
}

// foldSpace trims white space and makes one space of every run of it.
func foldSpace(s string) string { return strings.Join(strings.Fields(s), " ") }
