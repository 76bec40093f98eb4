package visible

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "a b\tc\nd ~", "a b\tc\nd ~"},
		{"letters", "é 文字 ß क्षि cafe\u0301", "é 文字 ß क्षि cafe\u0301"},
		{"escape sequence", "\x1b[2Jx", "‹U+001B ESC›[2Jx"},
		{"controls", "a\x00\x07\r\x7f\u0085\u009b", "a‹U+0000 NUL›‹U+0007 BEL›‹U+000D CR›‹U+007F DEL›‹U+0085 NEL›‹U+009B CSI›"},
		{"text direction", "ok\u202e", "ok‹U+202E RLO›"},
		{"zero width", "a\u200bb\u200cc\u200dd\u2060e\ufefff", "a‹U+200B ZWSP›b‹U+200C ZWNJ›c‹U+200D ZWJ›d‹U+2060 WJ›e‹U+FEFF BOM›f"},
		{"spaces", "a\u00a0b\u3000c\u2009d", "a‹U+00A0 NBSP›b‹U+3000 IDSP›c‹U+2009›d"},
		{"line separators", "a\u2028b\u2029", "a‹U+2028 LSEP›b‹U+2029 PSEP›"},
		{"tags are decoded", "x\U000e0001\U000e0068\U000e0069\U000e0020\U000e0021\U000e007fy", "x‹U+E0001 LANGUAGE TAG›‹TAG hi !›‹U+E007F CANCEL TAG›y"},
		{"variation selectors", "a\ufe00\U000e0100", "a‹U+FE00›‹U+E0100›"},
		{"fillers", "\u115f\u1160\u3164\uffa0\u034f\u2800", "‹U+115F HCF›‹U+1160 HJF›‹U+3164 HF›‹U+FFA0 HHF›‹U+034F CGJ›‹U+2800 BLANK›"},
		{"private use", "\ue000\U000f0000\U0010ffff", "‹U+E000›‹U+F0000›‹U+10FFFF›"},
		{"noncharacters", "\ufdd0\ufffe\U0001ffff", "‹U+FDD0›‹U+FFFE›‹U+1FFFF›"},
		{"not UTF-8", "a\xffb\xed\xa0\x80", "a‹byte 0xFF›b‹byte 0xED›‹byte 0xA0›‹byte 0x80›"},
		{"replacement character", "a\ufffd", "a\ufffd"},
		{"emoji", "👍 👍🏽 ❤️ 👩‍💻 👩🏽‍💻 🏳️‍🌈 1️⃣ 🇫🇷 ©️ ↔️ ▶️", "👍 👍🏽 ❤️ 👩‍💻 👩🏽‍💻 🏳️‍🌈 1️⃣ 🇫🇷 ©️ ↔️ ▶️"},
		{"joiner beside one emoji", "👍\u200da\u200d👍", "👍‹U+200D ZWJ›a‹U+200D ZWJ›👍"},
		{"second selector", "❤\ufe0f\ufe0f", "❤\ufe0f‹U+FE0F VS16›"},
		{"selector after a letter", "a\ufe0f1\ufe0f2", "a‹U+FE0F VS16›1‹U+FE0F VS16›2"},
		{"second joiner", "👩\u200d\u200d💻", "👩‹U+200D ZWJ›‹U+200D ZWJ›💻"},
		{"joiner after a blank", "\u2800\u200d👍", "‹U+2800 BLANK›‹U+200D ZWJ›👍"},
		{"what looks like a chip", "‹U+202E RLO›", "‹U+202E RLO›"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Text(tt.in); got != tt.want {
				t.Errorf("Text(%+q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestLine(t *testing.T) {
	const in, want = "a\tb\nc\r\n\u202e", "a⇥b↵c‹U+000D CR›↵‹U+202E RLO›"
	if got := Line(in); got != want {
		t.Errorf("Line(%q) = %q, want %q", in, got, want)
	}
}

func TestHidden(t *testing.T) {
	tests := []struct {
		in   string
		want int
	}{
		{"", 0},
		{"plain\n", 0},
		{"❤️ é", 0},
		{"a\u200b\u202eb", 2},
		{"\U000e0068\U000e0069", 2},
		{"\xff\xfe", 2},
	}
	for _, tt := range tests {
		if got := Hidden(tt.in); got != tt.want {
			t.Errorf("Hidden(%+q) = %d, want %d", tt.in, got, tt.want)
		}
	}
}

func TestPieces(t *testing.T) {
	var got []Piece
	for p := range Pieces("a\u202e\U000e0041b") {
		got = append(got, p)
	}
	want := []Piece{
		{Text: "a"},
		{Text: "\u202e", Hidden: true, Code: "U+202E", Name: "RLO"},
		{Text: "\U000e0041", Hidden: true, Code: "U+E0041", Name: "TAG A"},
		{Text: "b"},
	}
	if len(got) != len(want) {
		t.Fatalf("Pieces = %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("piece %d = %v, want %v", i, got[i], want[i])
		}
	}
	for range Pieces("a\u202eb") { // a caller may stop at any piece
		break
	}
}

// The pieces are the text, cut; what is shown holds nothing that acts; and what
// is shown already doesn't change.
func TestProperties(t *testing.T) {
	some := rapid.StringOf(rapid.RuneFrom([]rune("a1#*\n\t \r\u00a0\u200d\ufe0f\u20e3❤👩💻🏽\U000e0041\u202e\u2800\u115f\ufffd\ue000")))
	text := rapid.OneOf(some, rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		in := text.Draw(t, "in")
		var joined strings.Builder
		for p := range Pieces(in) {
			joined.WriteString(p.Text)
			if p.Text == "" || p.Hidden != (p.Code != "") {
				t.Errorf("Pieces(%+q) has the piece %v", in, p)
			}
		}
		if joined.String() != in {
			t.Errorf("the pieces of %+q are %+q", in, joined.String())
		}
		got := Text(in)
		if !utf8.ValidString(got) {
			t.Errorf("Text(%+q) = %+q, not UTF-8", in, got)
		}
		for _, r := range got {
			if unicode.In(r, unicode.C) && r != '\n' && r != '\t' && r != zwj {
				t.Errorf("Text(%+q) = %+q, which holds %U", in, got, r)
			}
		}
		if again := Text(got); again != got {
			t.Errorf("Text(%+q) = %+q, again = %+q", in, got, again)
		}
		if line := Line(in); strings.ContainsAny(line, "\n\t\r") {
			t.Errorf("Line(%+q) = %q", in, line)
		}
		if (Hidden(in) == 0) != (got == in) {
			t.Errorf("Hidden(%+q) = %d, but Text gives %+q", in, Hidden(in), got)
		}
	})
}
