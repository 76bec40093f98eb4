package canon

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseLoose reads one JSON document as [Parse] does, but keeps two things that
// have no one meaning, for those who need to see them or to say what they are:
//
//   - members of one name in one object, all of them, in document order;
//   - escapes that name half of a surrogate pair. Such a half stands in Text as
//     the three bytes that UTF-8 would use if it allowed surrogates, ED and two
//     more; every form of this package writes it as an escape, \udxxx in lower
//     case, as ECMAScript does.
//
// What it returns is no value to take an identity of. [Irregular] says whether it
// holds either. Bytes that are not UTF-8 are refused as ever.
func ParseLoose(src []byte) (*Value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(src), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	p := parser{reader: reader{dec: dec}, text: string(src), loose: true}
	return p.parse()
}

var errUTF8 = errors.New("invalid UTF-8")

// Irregular reports whether some object in v repeats a member name, and whether
// some string or name holds half of a surrogate pair. Neither is so of a value
// that [Parse] returned.
func Irregular(v *Value) (repeated, surrogate bool) {
	switch v.Kind {
	case String:
		return false, hasSurrogate(v.Text)
	case Array:
		for _, e := range v.Elems {
			r, s := Irregular(e)
			repeated, surrogate = repeated || r, surrogate || s
		}
	case Object:
		repeated = repeats(v.Members)
		for _, m := range v.Members {
			r, s := Irregular(m.Value)
			repeated, surrogate = repeated || r, surrogate || s || hasSurrogate(m.Name)
		}
	}
	return repeated, surrogate
}

// repeats reports whether two members have one name.
func repeats(members []Member) bool {
	if len(members) < 8 {
		for i, m := range members {
			for _, n := range members[:i] {
				if m.Name == n.Name {
					return true
				}
			}
		}
		return false
	}
	names := make(map[string]bool, len(members))
	for _, m := range members {
		if names[m.Name] {
			return true
		}
		names[m.Name] = true
	}
	return false
}

func hasSurrogate(s string) bool {
	for i := range len(s) {
		if s[i] == surrogateLead && isSurrogate(s[i:]) {
			return true
		}
	}
	return false
}

// surrogateLead is the first byte of U+D000 to U+DFFF. The second tells whether
// it is one of the surrogates, which begin at U+D800.
const surrogateLead = 0xed

func isSurrogate(s string) bool { return len(s) >= 3 && s[0] == surrogateLead && s[1] >= 0xa0 }

// unquoteLoose decodes a string literal that is JSON.
func unquoteLoose(raw string) string {
	out := make([]byte, 0, len(raw))
	for i := 1; i < len(raw)-1; {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			i++
			continue
		}
		switch c := raw[i+1]; c {
		case 'u':
			r := hex4(raw[i+2:])
			i += 6
			if utf16.IsSurrogate(r) && i+6 < len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
				if pair := utf16.DecodeRune(r, hex4(raw[i+2:])); pair != utf8.RuneError {
					r = pair
					i += 6
				}
			}
			out = appendRune(out, r)
		default:
			if at := bytes.IndexByte([]byte("bfnrt"), c); at >= 0 {
				c = "\b\f\n\r\t"[at]
			}
			out = append(out, c)
			i += 2
		}
	}
	return string(out)
}

// hex4 reads the four hex digits that s begins with.
func hex4(s string) rune {
	n, err := strconv.ParseUint(s[:4], 16, 16)
	if err != nil {
		return utf8.RuneError // not in a literal that was read
	}
	return rune(n)
}

// appendRune appends r as UTF-8, a surrogate as if it had one.
func appendRune(dst []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(dst, surrogateLead, 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(dst, r)
}

// compareUnits compares by UTF-16 code units two strings that may hold halves of
// surrogate pairs.
func compareUnits(a, b string) int { return slices.Compare(units(a), units(b)) }

func units(s string) []uint16 {
	var out []uint16
	for len(s) > 0 {
		if isSurrogate(s) {
			out = append(out, 0xd000|uint16(s[1]&0x3f)<<6|uint16(s[2]&0x3f))
			s = s[3:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		out, s = utf16.AppendRune(out, r), s[n:]
	}
	return out
}

// CompareUTF16 compares two strings by their UTF-16 code units, as RFC 8785 sorts
// member names. They may hold what [ParseLoose] keeps.
func CompareUTF16(a, b string) int { return compareUTF16(a, b) }

// ReplaceSurrogates returns s with U+FFFD for each half of a surrogate pair that
// [ParseLoose] kept.
func ReplaceSurrogates(s string) string {
	if !hasSurrogate(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		n := 1
		if isSurrogate(s) {
			b.WriteRune(utf8.RuneError)
			n = 3
		} else {
			b.WriteByte(s[0])
		}
		s = s[n:]
	}
	return b.String()
}
