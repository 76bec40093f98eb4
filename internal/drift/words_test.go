package drift

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// checkWords checks what [Words] promises of every pair of texts.
func checkWords(t interface{ Errorf(string, ...any) }, old, new string) {
	var a, b strings.Builder
	last := Op(7)
	for _, s := range Words(old, new) {
		if s.Text == "" || s.Op == last {
			t.Errorf("Words(%.80q, %.80q) has a span %d %.80q after one of op %d", old, new, s.Op, s.Text, last)
		}
		last = s.Op
		if s.Op != Inserted {
			a.WriteString(s.Text)
		}
		if s.Op != Deleted {
			b.WriteString(s.Text)
		}
	}
	if a.String() != old {
		t.Errorf("Words(%.80q, %.80q) without the inserted spans = %.80q", old, new, a.String())
	}
	if b.String() != new {
		t.Errorf("Words(%.80q, %.80q) without the deleted spans = %.80q", old, new, b.String())
	}
}

// marked writes spans as WriteText does.
func marked(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString([]string{"[-" + s.Text + "-]", s.Text, "{+" + s.Text + "+}"}[s.Op+1])
	}
	return b.String()
}

func TestWords(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		{"nothing", "", "", ""},
		{"all new", "", "a b", "{+a b+}"},
		{"all gone", "a b", "", "[-a b-]"},
		{"equal", "a b", "a b", "a b"},
		{"word", "Search the web.", "Search the net.", "Search the [-web-]{+net+}."},
		{"a word is not cut", "list_users2", "list_user2", "[-list_users2-]{+list_user2+}"},
		{"spaces are one token", "a b", "a  b", "a[- -]{+  +}b"},
		{"marks join their letter", "caf\u0065\u0301 x", "cafe x", "[-caf\u0065\u0301-]{+cafe+} x"},
		{"ideographs are words", "搜索網頁", "搜尋網頁", "搜[-索-]{+尋+}網頁"},
		{"hidden characters stand alone", "Send mail", "Send\u200b mail", "Send{+\u200b+} mail"},
		{"a variation selector joins its emoji", "a❤ b", "a❤\ufe0f b", "a[-❤-]{+❤\ufe0f+} b"},
		{"bytes that are not UTF-8", "a\xff\xfe b", "a\xff b", "a\xff[-\xfe-] b"},
		{"ends", "a, b", "a, b\n", "a, b{+\n+}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, marked(Words(tt.old, tt.new))); diff != "" {
				t.Errorf("Words(%q, %q) (-want +got):\n%s", tt.old, tt.new, diff)
			}
			checkWords(t, tt.old, tt.new)
			checkWords(t, tt.new, tt.old)
		})
	}
}

func TestWordsProperties(t *testing.T) {
	near := rapid.StringOfN(rapid.RuneFrom([]rune("ab_1 \n\t.,\u200b\u0301\ufe0f😀文\ufffd")), 0, 60, -1)
	text := rapid.OneOf(near, rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) { checkWords(t, text.Draw(t, "old"), text.Draw(t, "new")) })
}

// Token ids step over the runes that a string can't hold.
func TestCountWords(t *testing.T) {
	tests := []struct {
		in   string
		want int
	}{{"", 0}, {"one two", 3}, {"a.b.", 4}, {"漢字", 2}, {"e\u0301t", 1}}
	for _, tt := range tests {
		if got := CountWords(tt.in); got != tt.want || got != len(words(tt.in)) {
			t.Errorf("CountWords(%q) = %d, want %d", tt.in, got, tt.want)
		}
	}
}

func TestTokenRune(t *testing.T) {
	seen := rune(0)
	for i := range MaxTokens + 0x10000 {
		r := tokenRune(i)
		if r <= seen || r == utf8.RuneError || string(r) == string(utf8.RuneError) || !utf8.ValidRune(r) {
			t.Fatalf("tokenRune(%d) = %U after %U, want a valid rune after it", i, r, seen)
		}
		seen = r
	}
}

// Two long texts are compared line by line, and two very long ones not at all;
// what they have in common at both ends doesn't count.
func TestWordsFallsBack(t *testing.T) {
	numbered := func(prefix, sep string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s%d%s", prefix, i, sep)
		}
		return b.String()
	}
	const n = MaxTokens
	text := func(a, b string) string {
		return numbered(a, ", ", n/4) + "\n" + numbered("k", " ", 40) + "\n" + numbered(b, ", ", n/4)
	}
	part := func(prefix string) string { return strings.TrimSuffix(numbered(prefix, ", ", n/4), ", ") }
	whole := func(prefix string) string { return strings.TrimSuffix(numbered(prefix, "\n", n), "\n") }
	tests := []struct{ name, old, new, want string }{
		{
			"lines", text("a", "c"), text("b", "d"),
			"[-" + part("a") + ", \n-]{+" + part("b") + ", \n+}" + numbered("k", " ", 40) + "\n[-" + part("c") + "-]{+" + part("d") + "+}, ",
		},
		{
			"whole", "x " + whole("a") + " y", "x " + whole("b") + " y",
			"x [-" + whole("a") + "-]{+" + whole("b") + "+} y",
		},
		{
			"one word in a long text", numbered("a", " ", MaxTokens) + "old" + numbered("b", " ", MaxTokens), numbered("a", " ", MaxTokens) + "new" + numbered("b", " ", MaxTokens),
			numbered("a", " ", MaxTokens) + "[-oldb0-]{+newb0+}" + strings.TrimPrefix(numbered("b", " ", MaxTokens), "b0"),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkWords(t, tt.old, tt.new)
			if got := marked(Words(tt.old, tt.new)); got != tt.want {
				t.Errorf("Words = %.300q, want %.300q", got, tt.want)
			}
		})
	}
}

// hardTexts are pairs that make comparing slow: MaxTokens words and more that
// are all different, that only turned round, that repeat, that are random.
func hardTexts() map[string][2]string {
	numbered := func(prefix string, n int) []string {
		var words []string
		for i := range n {
			words = append(words, fmt.Sprintf("%s%d", prefix, i))
		}
		return words
	}
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(alphabet string, n int) string {
		letters := []rune(alphabet)
		b := make([]rune, n)
		for i := range b {
			b[i] = letters[rng.IntN(len(letters))]
		}
		return string(b)
	}
	const half = MaxTokens / 2
	turned := numbered("a", half/2)
	slices.Reverse(turned)
	repeat := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	return map[string][2]string{
		"different": {strings.Join(numbered("a", half/2), "."), strings.Join(numbered("b", half/2), ",")},
		"alternate": {strings.Join(numbered("a", half/2), "."), strings.Join(numbered("b", half/2), ".")},
		"turned":    {strings.Join(numbered("a", half/2), "."), strings.Join(turned, ".")},
		"9kB":       {repeat("ab ", 9000), repeat("ba ab ", 9000)},
		"100kB":     {repeat("abc def. ", 100_000), repeat("def abc, ", 100_000)},
		"lines":     {strings.Join(numbered("a", half), "\n"), strings.Join(numbered("b", half), "\n")},
		"shift":     {"A" + repeat(".", half-2) + "B", "C" + repeat(".", half/2) + "D"},
		"two":       {random(".,", half), random(".,", half)},
		"four":      {random(".,;:", half), random(".,;:", half)},
		"fifty":     {random(".,;:!?()[]{}<>+*/-=^~|@#$%&'áéíóúñçåøæ", half), random(".,;:!?()[]{}<>+*/-=^~|@#$%&'áéíóúñçåøæ", half)},
	}
}

func TestWordsOfHardTexts(t *testing.T) {
	for name, pair := range hardTexts() {
		t.Run(name, func(t *testing.T) { checkWords(t, pair[0], pair[1]) })
	}
}

func BenchmarkWords(b *testing.B) {
	for name, pair := range hardTexts() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Words(pair[0], pair[1])
			}
		})
	}
}
