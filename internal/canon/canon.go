// Package canon decides when two JSON documents are the same document, reads
// JSON strictly for everybody, and names bytes by digest.
//
// # What is refused
//
// [Parse] refuses every text that has no one meaning, so that two different
// documents can't share a digest by accident:
//
//   - invalid UTF-8, and escapes that name half of a surrogate pair (RFC 8259
//     section 8.2: most libraries turn both into U+FFFD, silently);
//   - two members of one name in one object (RFC 8259 section 4: some readers
//     take the first, some the last);
//   - anything after the value but white space; NaN, Infinity, comments,
//     trailing commas and whatever else is not JSON;
//   - a byte order mark (RFC 8259 section 8.1 forbids it; a reader that wants to
//     be lenient strips it first and says so);
//   - nesting deeper than [MaxDepth];
//   - more than [MaxValues] values ([ErrTooMany]).
//
// Numbers are kept as the text that was sent. No number is out of range for
// Parse, and 1, 1.0 and 1e0 are three texts.
//
// # Form v1
//
// The frozen form of methodology v1: "re-serialised with sorted object keys, no
// insignificant whitespace, and arrays of objects are sorted by their canonical
// serialisation". What that sentence leaves open is decided as follows
// (DESIGN.md section 6), and never changes:
//
//   - Member names sort by Unicode code point, which is the order of their UTF-8
//     bytes.
//   - An array of which every element is an object has its elements sorted by
//     the bytes of their own v1 form. Inner arrays are sorted before outer ones.
//     Equal elements are all kept. Any other array, one mixed of objects and
//     other values included, keeps its order.
//   - Strings are raw UTF-8. Only the quotation mark, the backslash and U+0000 to
//     U+001F are escaped: \" \\ \b \t \n \f \r, the others as \u00xx in lower
//     case. There is no normalisation: precomposed and decomposed letters differ.
//   - Numbers are the literal text as sent.
//
// # Form v2
//
// The form of methodology v2 is RFC 8785, the JSON Canonicalization Scheme. It
// differs from v1 in three ways: member names sort by UTF-16 code unit, so that
// U+10000 and above stand before U+E000 to U+FFFF; arrays keep their order; and
// numbers are written as ECMAScript writes the nearest float64. It therefore
// refuses numbers that no float64 can hold ([RangeError]), where the scheme's
// implementations differ or clamp. Numbers that only lose digits, or that round
// to zero, are rounded as the RFC says.
//
// # Other forms
//
// [AppendPretty] is for people and for git, [AppendCompact] keeps the document's
// own order, [AppendSorted] has the order of AppendPretty on one line. All are
// lossless: parsing them again gives the same v1 and v2 bytes.
package canon

import "fmt"

// The names of the canonical forms, as methodologies give them.
const (
	FormV1 = "v1"
	FormV2 = "v2"
)

// Canonical returns the canonical bytes of the JSON document src in the named
// form, [FormV1] or [FormV2]. It fails with *[SyntaxError] if src is not strict
// JSON and with *[RangeError] if form v2 cannot hold one of its numbers. It gives
// what [AppendV1] and [AppendV2] give for the parsed document, without building
// its tree.
func Canonical(form string, src []byte) ([]byte, error) {
	if form != FormV1 && form != FormV2 {
		return nil, fmt.Errorf("canonical form %q is not known: want %s or %s", form, FormV1, FormV2)
	}
	c := copier{reader: newReader(src), v2: form == FormV2}
	c.dst = make([]byte, 0, len(src))
	err := c.value(0)
	if err == nil {
		err = c.end()
	}
	if err != nil {
		return nil, c.fault(err)
	}
	return c.dst, nil
}
