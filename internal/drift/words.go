package drift

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// An Op says on which side of a comparison a span of text stands.
type Op int8

// The ops.
const (
	Deleted  Op = -1 // only in the old text
	Kept     Op = 0  // in both
	Inserted Op = 1  // only in the new text
)

// A Span is a run of text that stands on one side of a comparison, or on both.
type Span struct {
	Op   Op
	Text string // not empty; as recorded, so hostile
}

// MaxTokens bounds the words, and after that the lines, of the two texts
// together that are compared one by one, the common beginning and end not
// counted. The time is at worst quadratic in it: at this size, two texts without
// a word in common took 0.4 s on one busy core, at 20,000 already 1.2 s
// (BenchmarkWords).
const MaxTokens = 12_000

// Words compares two texts word by word. The spans without the inserted ones are
// old, without the deleted ones new; no two neighbours have the same op. A word
// is a run of letters, digits and underscores, with its combining marks, or a
// run of spaces, or any other single character; ideographs and kana count one by
// one, as their languages set no spaces.
//
// Texts of more than MaxTokens words are compared line by line, and of more than
// that many lines not at all: all of old is then deleted and all of new
// inserted. The result depends on the texts alone, never on the speed of the
// machine.
func Words(old, new string) []Span {
	prefix, oldMid, newMid, suffix := trim(words(old), words(new))
	byLine := len(oldMid)+len(newMid) > MaxTokens
	if byLine {
		a, b := strings.Join(oldMid, ""), strings.Join(newMid, "")
		var head, tail []string
		head, oldMid, newMid, tail = trim(lines(a), lines(b))
		prefix, suffix = append(prefix, head...), append(tail, suffix...)
	}
	var spans spanList
	spans.add(Kept, prefix...)
	if len(oldMid)+len(newMid) > MaxTokens {
		spans.add(Deleted, oldMid...)
		spans.add(Inserted, newMid...)
	} else {
		spans.compare(oldMid, newMid, !byLine)
	}
	spans.add(Kept, suffix...)
	return spans.merged()
}

// trim splits off what two token lists have in common at both ends.
func trim(a, b []string) (prefix, aMid, bMid, suffix []string) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	prefix, a, b = a[:n:n], a[n:], b[n:]
	n = 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return prefix, a[:len(a)-n], b[:len(b)-n], a[len(a)-n:]
}

// CountWords returns how many words [Words] sees in a text: the measure of what a
// comparison costs.
func CountWords(s string) (n int) {
	for range eachWord(s) {
		n++
	}
	return n
}

// words cuts s into its words; see [Words].
func words(s string) []string { return slices.Collect(eachWord(s)) }

// eachWord yields the words of s; see [Words].
func eachWord(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, last := 0, other
		for i, n := 0, 0; i < len(s); i += n {
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			k := kindOf(r)
			if k == mark && i > start {
				continue
			}
			if i > start && (k != last || k == other || k == mark) {
				if !yield(s[start:i]) {
					return
				}
				start = i
			}
			last = k
		}
		if start < len(s) {
			yield(s[start:])
		}
	}
}

type tokenKind byte

const (
	other tokenKind = iota
	word
	space
	mark // joins the token before it
)

func kindOf(r rune) tokenKind {
	switch {
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_':
		return word
	case r == ' ' || r == '\t':
		return space
	case r < utf8.RuneSelf || r == utf8.RuneError:
		return other
	case unicode.Is(unicode.M, r):
		return mark
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		return other
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		return word
	}
	return other
}

// lines cuts s into lines, each with its line feed.
func lines(s string) []string {
	l := strings.SplitAfter(s, "\n")
	if n := len(l) - 1; l[n] == "" {
		l = l[:n]
	}
	return l
}

// A spanList collects spans.
type spanList []Span

func (l *spanList) add(op Op, tokens ...string) {
	if text := strings.Join(tokens, ""); text != "" {
		*l = append(*l, Span{op, text})
	}
}

// compare adds the spans of two token lists. The library compares runes, so each
// distinct token becomes one rune; see [tokenRune]. If tidy is set, what little
// is kept between long changes is told as changed: a few words are chance, but a
// line is not.
func (l *spanList) compare(old, new []string, tidy bool) {
	ids := make(map[string]rune)
	texts := make(map[rune]string)
	encode := func(tokens []string) []rune {
		runes := make([]rune, len(tokens))
		for i, t := range tokens {
			r, ok := ids[t]
			if !ok {
				r = tokenRune(len(ids))
				ids[t], texts[r] = r, t
			}
			runes[i] = r
		}
		return runes
	}
	a, b := encode(old), encode(new)
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0 // no deadline, or the result would depend on the machine
	diffs := dmp.DiffMainRunes(a, b, false)
	if tidy {
		diffs = dmp.DiffCleanupSemantic(diffs)
	}
	for _, d := range diffs {
		var text strings.Builder
		for _, r := range d.Text {
			text.WriteString(texts[r])
		}
		l.add(Op(d.Type), text.String())
	}
}

// tokenRune returns a rune for the i-th distinct token. It steps over the
// surrogates, which a string of Go cannot hold, and U+FFFD, which it holds in
// their place. MaxTokens keeps i far below the last rune.
func tokenRune(i int) rune {
	r := rune(i) + 1
	if r >= 0xD800 {
		r += 0xE000 - 0xD800
	}
	if r >= utf8.RuneError {
		r++
	}
	return r
}

// merged returns the spans with neighbours of one op joined, and a deletion
// before the insertion that stands beside it.
func (l spanList) merged() []Span {
	var out []Span
	var deleted, inserted strings.Builder
	flush := func() {
		if deleted.Len() > 0 {
			out = append(out, Span{Deleted, deleted.String()})
		}
		if inserted.Len() > 0 {
			out = append(out, Span{Inserted, inserted.String()})
		}
		deleted.Reset()
		inserted.Reset()
	}
	for _, s := range l {
		switch n := len(out); s.Op {
		case Deleted:
			deleted.WriteString(s.Text)
		case Inserted:
			inserted.WriteString(s.Text)
		default:
			if flush(); len(out) == n && n > 0 {
				out[n-1].Text += s.Text
			} else {
				out = append(out, s)
			}
		}
	}
	flush()
	return out
}
