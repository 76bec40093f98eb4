package drift

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/visible"
)

// A Style says how WriteText writes. The zero Style is plain text.
type Style struct {
	Color bool // ANSI colours, beside the markers and never instead of them
}

// Lengths of what is shown, in characters. All of it is in the JSON form.
const (
	shownContext = 60    // kept text on each side of a change
	shownSpan    = 2_000 // deleted or inserted text
	shownCell    = 48    // a value in the table of places
)

// wordBudget bounds the bytes of text, both sides, that WriteText compares by
// words: what comes after is shown as a whole. Comparing takes up to half a
// second for 12 kB (see [MaxTokens]), and a server may change thousands of texts.
const wordBudget = 256 << 10

// WriteText writes d for people: per tool what happened to it, each changed text
// word by word, with [-removed-] and {+added+} words, and a table of the other
// places with what stood there before and after. Hidden characters are made
// visible, and no recorded text stands at the start of a line. The error is that
// of w.
func (d Diff) WriteText(w io.Writer, style Style) error {
	p := printer{Writer: bufio.NewWriter(w), style: style, budget: wordBudget}
	if d.Equal {
		p.line("no difference")
		return p.Flush()
	}
	p.line("%s: %s", strings.Join(d.Classes, ", "), d.tally())
	if d.Reordered {
		p.line("only the order inside arrays of objects differs: the v1 identity is the same")
	} else if len(d.Tools) == 0 {
		p.line("only the order of the list differs, which counts because it holds something other than tools")
	}
	for _, t := range d.Tools {
		p.line("")
		p.tool(t)
	}
	if len(d.Hints) > 0 {
		p.line("")
	}
	for _, h := range d.Hints {
		p.line("probably renamed: %s to %s%s", visible.Line(h.From), visible.Line(h.To), equalIn(h.Same))
	}
	return p.Flush()
}

// tally counts the entries per kind.
func (d Diff) tally() string {
	n := make(map[Kind]int)
	for _, t := range d.Tools {
		n[t.Kind]++
	}
	return fmt.Sprintf("%d added, %d removed, %d changed", n[Added], n[Removed], n[Changed])
}

// A printer writes lines and keeps the first error for Flush.
type printer struct {
	*bufio.Writer
	style  Style
	budget int // of wordBudget
}

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}

func (p *printer) tool(t ToolDiff) {
	name := visible.Line(t.Name)
	switch {
	case t.Value != nil:
		p.line("%s: an element that is not a tool: %s", t.Kind, cut(visible.Line(string(t.Value)), shownCell))
		return
	case name == "":
		name = "a tool without a name"
	}
	switch {
	case t.Kind != Changed:
		p.line("%s: %s", t.Kind, name)
	case t.Old == nil:
		p.line("changed: duplicate entry of %s new (%d, now %d)", name, t.Entries.Before, t.Entries.After)
	case t.New == nil:
		p.line("changed: duplicate entry of %s gone; tool still present (%d, now %d)", name, t.Entries.Before, t.Entries.After)
	default:
		p.line("changed: %s (%s)", name, names(t.Members))
	}
	if len(t.Reordered) > 0 {
		p.line("  only the order inside arrays of objects differs in: %s", names(t.Reordered))
	}
	shown := make(map[string]bool)
	for _, c := range t.Texts {
		shown[c.Path] = true
		p.line("  %s", visible.Line(c.Path))
		p.words(p.compare(c))
	}
	p.places(t, shown)
	if t.PathsCut {
		p.line("  and more: only the first %d places are listed", MaxPlaces)
	}
}

func equalIn(members []string) string {
	if len(members) == 0 {
		return ""
	}
	return " (equal: " + names(members) + ")"
}

func names(members []string) string { return visible.Line(strings.Join(members, ", ")) }

// compare compares a text by words while the budget lasts.
func (p *printer) compare(c TextChange) []Span {
	p.budget -= len(c.Before) + len(c.After)
	if p.budget >= 0 {
		return Words(c.Before, c.After)
	}
	whole := spanList{}
	whole.add(Deleted, c.Before)
	whole.add(Inserted, c.After)
	return whole
}

// words writes a word diff, each line after a bar, so that no line of recorded
// text can be taken for one of ours or for a command.
func (p *printer) words(spans []Span) {
	var b strings.Builder
	for i, s := range spans {
		switch s.Op {
		case Deleted:
			p.mark(&b, "31", "[-", s.Text, "-]")
		case Inserted:
			p.mark(&b, "32", "{+", s.Text, "+}")
		default:
			b.WriteString(visible.Text(context(s.Text, i == 0, i == len(spans)-1)))
		}
	}
	for l := range strings.SplitSeq(b.String(), "\n") {
		p.line("  | %s", l)
	}
}

// mark writes a changed span between its markers. A colour is closed before each
// line feed, because what stands before the next line is not part of the span.
func (p *printer) mark(b *strings.Builder, color, open, text, end string) {
	text = open + visible.Text(middle(text, shownSpan)) + end
	if p.style.Color {
		on, off := "\x1b["+color+"m", "\x1b[0m"
		text = on + strings.ReplaceAll(text, "\n", off+"\n"+on) + off
	}
	b.WriteString(text)
}

// places writes the table of the places that are not among the shown texts.
func (p *printer) places(t ToolDiff, shown map[string]bool) {
	tw := tabwriter.NewWriter(p, 0, 8, 2, ' ', 0)
	rows := 0
	row := func(where, before, after string) {
		fmt.Fprintf(tw, "  %s\t%s\t%s\n", where, before, after)
	}
	for _, c := range t.Places {
		if shown[c.Path] {
			continue
		}
		if rows++; rows == 1 {
			row("where", "before", "after")
		}
		row(cut(visible.Line(c.Path), 2*shownCell), cell(c.Old), cell(c.New))
	}
	tw.Flush() // writes to a bufio.Writer, which keeps the error
}

// cell returns a value on one line. What is absent is a dash, which is no JSON.
func cell(v *canon.Value) string {
	if v == nil {
		return "-"
	}
	return cut(visible.Line(string(canon.AppendCompact(nil, v))), shownCell)
}

const ellipsis = " […] "

// context shortens kept text to what stands beside a change: its end where it
// comes first, its beginning where it comes last, else both.
func context(s string, first, last bool) string {
	switch {
	case first && last || utf8.RuneCountInString(s) <= 2*shownContext+len(ellipsis):
		return s
	case first:
		return ellipsis[1:] + tail(s, shownContext)
	case last:
		return head(s, shownContext) + ellipsis[:len(ellipsis)-1]
	}
	return middle(s, 2*shownContext)
}

// middle shortens s to n characters of its beginning and end.
func middle(s string, n int) string {
	if utf8.RuneCountInString(s) <= n+len(ellipsis) {
		return s
	}
	return head(s, n/2) + ellipsis + tail(s, n/2)
}

// cut shortens s to n characters of its beginning.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return head(s, n-1) + "…"
}

// head returns the first n characters of s, tail the last.
func head(s string, n int) string {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return s[:i]
}

func tail(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}
