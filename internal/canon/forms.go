package canon

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendV1 appends the frozen form v1 of v to dst; the package comment gives its
// rules.
func AppendV1(dst []byte, v *Value) []byte {
	w := writer{dst: dst}
	w.v1(v)
	return w.dst
}

// AppendV2 appends form v2 of v, RFC 8785, to dst. It fails with *[RangeError]
// on a number that no float64 can hold, and then returns dst as it was.
func AppendV2(dst []byte, v *Value) ([]byte, error) {
	w := writer{dst: dst}
	if fault := w.v2(v); fault != nil {
		return dst, fault
	}
	return w.dst, nil
}

// AppendCompact appends v to dst in document order, without white space.
// Numbers are as sent; strings are raw UTF-8.
func AppendCompact(dst []byte, v *Value) []byte {
	w := writer{dst: dst}
	w.compact(v)
	return w.dst
}

// AppendPretty appends v to dst for people and for git: one value a line, one
// space of indent for each level (at most 32), member names sorted by code point, arrays in
// order, numbers as sent, strings raw UTF-8. There is no LF at the end. An edit
// of one string changes one line.
func AppendPretty(dst []byte, v *Value) []byte {
	w := writer{dst: dst}
	w.pretty(v, 1)
	return w.dst
}

// AppendSorted appends v to dst as [AppendPretty] orders and spells it, but
// without white space.
func AppendSorted(dst []byte, v *Value) []byte {
	w := writer{dst: dst, flat: true}
	w.pretty(v, 1)
	return w.dst
}

// A RangeError reports a number that form v2 cannot hold.
type RangeError struct {
	Pointer string // JSON Pointer (RFC 6901) to the number; empty at the top
	Number  string // its literal text
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("number %s at %q is outside the range of a float64", e.Number, e.Pointer)
}

// within returns e with one reference token put before its pointer.
func (e *RangeError) within(token string) *RangeError {
	token = strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
	return &RangeError{Pointer: "/" + token + e.Pointer, Number: e.Number}
}

// A writer holds the bytes written and scratch space that one walk uses again
// and again. Scratch slices are stacks: who pushes pops. They hold no pointers,
// which keeps the garbage collector out of the sort.
type writer struct {
	dst    []byte
	order  []int32 // indexes of members, of each open object
	spans  []span  // of elements, of each open array
	copied []byte
	flat   bool // pretty writes no white space
}

// A span is a range of writer.dst: an element, or a member with its name.
type span struct {
	from, to int
	colon    int // end of the name, if it is a member
}

func (w *writer) scalar(v *Value) {
	switch v.Kind {
	case Null:
		w.dst = append(w.dst, "null"...)
	case Bool, Number:
		w.dst = append(w.dst, v.Text...)
	case String:
		w.dst = appendString(w.dst, v.Text)
	}
}

// sorted pushes the indexes of v's members in the order of their names. The
// caller pops them by cutting w.order to base.
func (w *writer) sorted(v *Value, compare func(a, b string) int) (base int) {
	base = len(w.order)
	inOrder := true
	for i := range v.Members {
		w.order = append(w.order, int32(i))
		inOrder = inOrder && (i == 0 || compare(v.Members[i-1].Name, v.Members[i].Name) <= 0)
	}
	if !inOrder {
		slices.SortFunc(w.order[base:], func(a, b int32) int {
			return compare(v.Members[a].Name, v.Members[b].Name)
		})
	}
	return base
}

func (w *writer) v1(v *Value) {
	switch v.Kind {
	case Array:
		w.v1Array(v)
	case Object:
		base := w.sorted(v, strings.Compare)
		w.dst = append(w.dst, '{')
		for i := range v.Members {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			m := &v.Members[w.order[base+i]]
			w.dst = append(appendString(w.dst, m.Name), ':')
			w.v1(m.Value)
		}
		w.dst = append(w.dst, '}')
		w.order = w.order[:base]
	default:
		w.scalar(v)
	}
}

// v1Array writes the elements in order and, if they are all objects, puts them
// in the order of their text afterwards.
func (w *writer) v1Array(v *Value) {
	objects := true
	base := len(w.spans)
	w.dst = append(w.dst, '[')
	for i, e := range v.Elems {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		objects = objects && e.Kind == Object
		from := len(w.dst)
		w.v1(e)
		w.spans = append(w.spans, span{from: from, to: len(w.dst)})
	}
	if objects {
		w.reorder(w.spans[base:], w.byText)
	}
	w.spans = w.spans[:base]
	w.dst = append(w.dst, ']')
}

// byText compares what stands at a and b.
func (w *writer) byText(a, b span) int {
	return bytes.Compare(w.dst[a.from:a.to], w.dst[b.from:b.to])
}

// reorder sorts what stands at spans, which follow one another with a comma
// between, and reach to the end of w.dst.
func (w *writer) reorder(spans []span, compare func(a, b span) int) {
	if slices.IsSortedFunc(spans, compare) {
		return
	}
	start := spans[0].from
	slices.SortFunc(spans, compare)
	w.copied = append(w.copied[:0], w.dst[start:]...)
	w.dst = w.dst[:start]
	for i, s := range spans {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.dst = append(w.dst, w.copied[s.from-start:s.to-start]...)
	}
}

func (w *writer) v2(v *Value) *RangeError {
	switch v.Kind {
	case Number:
		return w.number(v)
	case Array:
		w.dst = append(w.dst, '[')
		for i, e := range v.Elems {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			if fault := w.v2(e); fault != nil {
				return fault.within(strconv.Itoa(i))
			}
		}
		w.dst = append(w.dst, ']')
	case Object:
		base := w.sorted(v, compareUTF16[string])
		w.dst = append(w.dst, '{')
		for i := range v.Members {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			m := &v.Members[w.order[base+i]]
			w.dst = append(appendString(w.dst, m.Name), ':')
			if fault := w.v2(m.Value); fault != nil {
				return fault.within(m.Name)
			}
		}
		w.dst = append(w.dst, '}')
		w.order = w.order[:base]
	default:
		w.scalar(v)
	}
	return nil
}

func (w *writer) number(v *Value) *RangeError {
	var ok bool
	if w.dst, ok = appendNumber(w.dst, v.Text); !ok {
		return &RangeError{Number: v.Text}
	}
	return nil
}

func (w *writer) compact(v *Value) {
	switch v.Kind {
	case Array:
		w.dst = append(w.dst, '[')
		for i, e := range v.Elems {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			w.compact(e)
		}
		w.dst = append(w.dst, ']')
	case Object:
		w.dst = append(w.dst, '{')
		for i, m := range v.Members {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			w.dst = append(appendString(w.dst, m.Name), ':')
			w.compact(m.Value)
		}
		w.dst = append(w.dst, '}')
	default:
		w.scalar(v)
	}
}

// pretty writes v, the lines of which are indented by indent spaces but for the
// first and the last.
func (w *writer) pretty(v *Value, indent int) {
	switch {
	case v.Kind == Array && len(v.Elems) > 0:
		w.dst = append(w.dst, '[')
		for i, e := range v.Elems {
			w.line(i > 0, indent)
			w.pretty(e, indent+1)
		}
		w.line(false, indent-1)
		w.dst = append(w.dst, ']')
	case v.Kind == Object && len(v.Members) > 0:
		base := w.sorted(v, strings.Compare)
		w.dst = append(w.dst, '{')
		for i := range v.Members {
			w.line(i > 0, indent)
			m := &v.Members[w.order[base+i]]
			w.dst = append(appendString(w.dst, m.Name), ':')
			if !w.flat {
				w.dst = append(w.dst, ' ')
			}
			w.pretty(m.Value, indent+1)
		}
		w.order = w.order[:base]
		w.line(false, indent-1)
		w.dst = append(w.dst, '}')
	default:
		w.compact(v) // a scalar, or empty
	}
}

// maxIndent is the deepest indent of pretty, in spaces. Schemas that people write
// stay below it; without it a hostile body nested 500 deep would grow a
// hundredfold.
const maxIndent = 32

// line ends the line, after a comma if there is one due, and indents the next.
func (w *writer) line(comma bool, indent int) {
	if comma {
		w.dst = append(w.dst, ',')
	}
	if w.flat {
		return
	}
	w.dst = append(w.dst, '\n')
	for range min(indent, maxIndent) {
		w.dst = append(w.dst, ' ')
	}
}

// appendString appends s as a JSON string with only the escapes that JSON needs,
// in the shortest spelling (RFC 8785 section 3.2.2.2).
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	done := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && (c != surrogateLead || !isSurrogate(s[i:])) {
			continue
		}
		dst = append(dst, s[done:i]...)
		done = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case surrogateLead: // only in what ParseLoose read
			dst = append(dst, '\\', 'u', 'd', hex[8+(s[i+1]&0x3f-0x20)>>2], hex[(s[i+1]&3)<<2|(s[i+2]&0x3f)>>4], hex[s[i+2]&15])
			done = i + 3
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[done:]...), '"')
}

// appendNumber appends the JSON number that text is as ECMAScript writes the
// nearest float64 (RFC 8785 section 3.2.2.3); negative zero is 0. It reports
// whether there is one.
func appendNumber(dst []byte, text string) ([]byte, bool) {
	if isShort(text) {
		return append(dst, text...), true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return dst, false
	}
	if f == 0 {
		f = 0 // not -0
	}
	return jsontext.AppendFloat(dst, f, 64), true
}

// isShort reports whether text is a non-negative integer that a float64 holds
// and ECMAScript writes with the same digits.
func isShort(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return len(text) <= 15
}

// compareUTF16 compares two strings of valid UTF-8 by their UTF-16 code units.
func compareUTF16[T string | []byte](a, b T) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			if halfAgainstPair(a[i:], b[i:]) || halfAgainstPair(b[i:], a[i:]) {
				return compareUnits(string(a[i:]), string(b[i:]))
			}
			return cmp.Compare(rankUTF16(a[i]), rankUTF16(b[i]))
		}
	}
	return cmp.Compare(len(a), len(b))
}

// halfAgainstPair reports whether a begins with half of a surrogate pair, which only
// [ParseLoose] keeps, and b with a character that is a pair in UTF-16.
func halfAgainstPair[T string | []byte](a, b T) bool {
	return a[0] == surrogateLead && b[0] >= 0xf0 && len(a) > 1 && a[1] >= 0xa0
}

// rankUTF16 ranks the first byte in which two strings of UTF-8 differ. UTF-16
// sorts as UTF-8 does, but for the supplementary planes (first bytes F0 to F4),
// whose surrogates, U+D800 to U+DFFF, come before U+E000 to U+FFFF (EE and EF).
func rankUTF16(c byte) byte {
	if c == 0xee || c == 0xef {
		return c + 0x10
	}
	return c
}
