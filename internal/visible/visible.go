// Package visible makes the hidden characters of recorded text visible.
//
// What servers publish is hostile text: it may hold escape sequences for a
// terminal, characters that reverse the order of what follows, and whole prompts
// in characters that no font draws. Records keep such text verbatim. Whatever
// shows it to a person passes it through here, and shows a chip such as
// ‹U+202E RLO› in the place of each character that would act without being seen.
//
// # What is replaced
//
// Every character of the Unicode categories Cc, Cf, Co, Cs, Zl and Zp, and of Zs
// but the space; tag characters, a run of which is decoded into one chip,
// ‹TAG ignore all›; variation selectors; the other default-ignorable characters,
// such as U+034F and the Hangul fillers; the blank Braille pattern;
// noncharacters; and bytes that are not UTF-8, ‹byte 0xFF› (site.md 2.3). Line
// feed and tab stay in [Text]; [Line] shows them as ↵ and ⇥. A zero-width joiner
// between two emoji and one U+FE0F after an emoji or in a keycap stay, or chips
// would drown real emoji.
//
// # What is not
//
// Look-alike letters, and characters that are merely unusual. The form is for
// people and can't be reversed: text may itself contain what looks like a chip.
// Nor is it an escape for HTML or Markdown, and a line of text may still begin
// with ::, which a workflow runner takes for a command even after white space:
// whoever prints recorded text at the start of a line sets something before it.
package visible

import (
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Piece is a run of plain text, or one hidden character.
type Piece struct {
	Text   string // the bytes as recorded
	Hidden bool   // Text must not be shown as it is
	Code   string // of a hidden piece: U+202E, or byte 0xFF; of a run of tag characters the first one's
	Name   string // of a hidden piece: its usual short name, such as RLO or TAG ignore all; may be empty
}

// Label returns the text of the chip for a hidden piece.
func (p Piece) Label() string {
	switch {
	case p.Name == "":
		return p.Code
	case strings.HasPrefix(p.Name, tagPrefix):
		return p.Name
	}
	return p.Code + " " + p.Name
}

// Text returns s with every hidden character replaced by a chip. Line feeds and
// tabs stay.
func Text(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for p := range Pieces(s) {
		if p.Hidden {
			b.WriteString("‹" + p.Label() + "›")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// Line returns s as [Text] does, and on one line: line feeds become ↵, tabs ⇥.
// It is for terminals' tables and for subjects of commits.
func Line(s string) string { return marks.Replace(Text(s)) }

var marks = strings.NewReplacer("\n", "↵", "\t", "⇥")

// Hidden returns how many hidden characters s holds.
func Hidden(s string) int {
	if plain(s) {
		return 0
	}
	n := 0
	for p := range Pieces(s) {
		if p.Hidden {
			n += utf8.RuneCountInString(p.Text)
		}
	}
	return n
}

// plain reports whether s is printable ASCII, line feeds and tabs, which most
// text is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// Pieces yields the pieces of s in order; their texts together are s.
func Pieces(s string) iter.Seq[Piece] {
	return func(yield func(Piece) bool) {
		start := 0 // of the plain run that is being read
		for i := 0; i < len(s); {
			r, n := utf8.DecodeRuneInString(s[i:])
			if !hidden(r, n) || joins(s, i, r, n) {
				i += n
				continue
			}
			if start < i && !yield(Piece{Text: s[start:i]}) {
				return
			}
			p := chip(s[i:], r, n)
			if !yield(p) {
				return
			}
			i += len(p.Text)
			start = i
		}
		if start < len(s) {
			yield(Piece{Text: s[start:]})
		}
	}
}

const tagPrefix = "TAG "

// chip returns the hidden piece that s begins with. Its first character is r, of
// n bytes. Printable tag characters mirror ASCII from U+E0020 to U+E007E.
func chip(s string, r rune, n int) Piece {
	if r == utf8.RuneError && n == 1 {
		return Piece{Text: s[:1], Hidden: true, Code: fmt.Sprintf("byte 0x%02X", s[0])}
	}
	p := Piece{Text: s[:n], Hidden: true, Code: fmt.Sprintf("U+%04X", r), Name: names[r]}
	if !tag(r) {
		return p
	}
	var decoded strings.Builder
	end := 0
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if !tag(r) {
			break
		}
		decoded.WriteByte(byte(r - 0xE0000))
		end += n
	}
	p.Text, p.Name = s[:end], tagPrefix+decoded.String()
	return p
}

func tag(r rune) bool { return r >= 0xE0020 && r <= 0xE007E }

// hidden reports whether r, read from n bytes, acts without being seen.
func hidden(r rune, n int) bool {
	switch {
	case r == utf8.RuneError:
		return n == 1 // U+FFFD itself can be seen
	case r >= ' ' && r <= '~' || r == '\n' || r == '\t':
		return false
	}
	return unicode.In(r, unicode.C, unicode.Z, ignorable)
}

// ignorable lists what is not in the categories C and Z and yet is not seen: the
// rest of Default_Ignorable_Code_Point (Unicode 15, DerivedCoreProperties.txt),
// among it the reserved ranges; noncharacters; the blank Braille pattern.
var ignorable = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x034F, 0x034F, 1}, // combining grapheme joiner
		{0x115F, 0x1160, 1}, // Hangul fillers
		{0x17B4, 0x17B5, 1}, // Khmer inherent vowels
		{0x180B, 0x180F, 1}, // Mongolian variation selectors
		{0x2065, 0x2065, 1},
		{0x2800, 0x2800, 1}, // blank Braille pattern
		{0x3164, 0x3164, 1}, // Hangul filler
		{0xFDD0, 0xFDEF, 1}, // noncharacters
		{0xFE00, 0xFE0F, 1}, // variation selectors
		{0xFFA0, 0xFFA0, 1}, // half-width Hangul filler
		{0xFFF0, 0xFFF8, 1},
		{0xFFFE, 0xFFFF, 1},
	},
	R32: []unicode.Range32{
		{0x1FFFE, 0x1FFFF, 1},
		{0x2FFFE, 0x2FFFF, 1},
		{0x3FFFE, 0x3FFFF, 1},
		{0x4FFFE, 0x4FFFF, 1},
		{0x5FFFE, 0x5FFFF, 1},
		{0x6FFFE, 0x6FFFF, 1},
		{0x7FFFE, 0x7FFFF, 1},
		{0x8FFFE, 0x8FFFF, 1},
		{0x9FFFE, 0x9FFFF, 1},
		{0xAFFFE, 0xAFFFF, 1},
		{0xBFFFE, 0xBFFFF, 1},
		{0xCFFFE, 0xCFFFF, 1},
		{0xDFFFE, 0xDFFFF, 1},
		{0xE0000, 0xE0FFF, 1}, // tags, variation selectors
		{0xEFFFE, 0x10FFFF, 1},
	},
}

const (
	zwj    = '\u200D'
	vs16   = '\uFE0F'
	keycap = '\u20E3'
)

// joins reports whether the hidden character r of n bytes at s[i] is part of an
// emoji that can be seen: a joiner between two emoji, or the first U+FE0F after
// an emoji or before the frame of a keycap.
func joins(s string, i int, r rune, n int) bool {
	if r != zwj && r != vs16 {
		return false
	}
	before, bn := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+n:])
	if r == vs16 {
		digit := before >= '0' && before <= '9' || before == '#' || before == '*'
		return emoji(before) || digit && after == keycap
	}
	if before == vs16 {
		before, _ = utf8.DecodeLastRuneInString(s[:i-bn])
	}
	return emoji(before) && emoji(after)
}

// emoji reports whether r can be drawn as an emoji, or nearly: every symbol of
// category So, the blocks that hold nothing but emoji, and the emoji of other
// categories (Unicode 15, emoji-data.txt, Extended_Pictographic). The blank
// Braille pattern is no picture.
func emoji(r rune) bool {
	switch {
	case r == 0x2800:
		return false
	case r >= 0x1F000 && r <= 0x1FAFF, // faces, skin tones, flags
		r >= 0x2190 && r <= 0x21FF,                                                     // arrows
		r == 0x25B6, r == 0x25C0, r >= 0x25FB && r <= 0x25FE, r == 0x2934, r == 0x2935, // category Sm
		r == 0x203C, r == 0x2049, r == 0x2139, r == 0x3030, r == 0x303D: // category Po, Ll, Pd
		return true
	}
	return unicode.Is(unicode.So, r)
}

// names are the usual short names.
var names = map[rune]string{
	0x00: "NUL", 0x07: "BEL", 0x08: "BS", 0x0B: "VT", 0x0C: "FF", 0x0D: "CR", 0x1B: "ESC", 0x7F: "DEL",
	0x85: "NEL", 0x9B: "CSI", 0x9D: "OSC", 0xA0: "NBSP", 0xAD: "SHY",
	0x034F: "CGJ", 0x061C: "ALM", 0x115F: "HCF", 0x1160: "HJF", 0x180E: "MVS",
	0x200B: "ZWSP", 0x200C: "ZWNJ", 0x200D: "ZWJ", 0x200E: "LRM", 0x200F: "RLM",
	0x2028: "LSEP", 0x2029: "PSEP", 0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO", 0x202E: "RLO", 0x202F: "NNBSP",
	0x2060: "WJ", 0x2061: "f()", 0x2062: "×", 0x2063: ",", 0x2064: "+",
	0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI",
	0x2800: "BLANK", 0x3000: "IDSP", 0x3164: "HF", 0xFE0E: "VS15", 0xFE0F: "VS16", 0xFEFF: "BOM", 0xFFA0: "HHF",
	0xE0001: "LANGUAGE TAG", 0xE007F: "CANCEL TAG",
}
