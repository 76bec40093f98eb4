package site

import (
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpstrata/mcpstrata/internal/drift"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/visible"
)

// Every conversion to a type of html/template that is not escaped stands in this
// file; a test holds the module to it. What is converted is either escaped here,
// drawn by package chart, which escapes every text, or made by goldmark of pages
// that we wrote.

// maxInline is the number of characters of a recorded text that stand inline. A
// registry name never has more.
const maxInline = record.MaxName

// Repository is the URL of the project, which pages name for cloning and where the
// dictionary links to files.
const Repository = "https://github.com/mcpstrata/mcpstrata"

// functions returns the functions of the templates, over one line of a report.
// Figures of the whole, such as the comparison of two lines, are named by all of
// their path with the function overall.
func functions(p *report.Published, l *line) template.FuncMap {
	r := source{l.report, l.prefix}
	whole := source{p, ""}
	return template.FuncMap{
		"figure":     func(path ...any) (template.HTML, error) { return figure(r, path) },
		"overall":    func(path ...any) (template.HTML, error) { return figure(whole, path) },
		"fewest":     fewest,
		"handshakes": handshakeChanges,
		"known":      func(path ...any) (bool, error) { return known(r, path) },
		"plural":     func(one, many string, path ...any) (string, error) { return plural(r, one, many, path) },
		"day":        day,
		"stamp":      stamp,
		"month":      month,
		"recorded":   recorded,
		"text":       block,
		"code":       func(v any) template.HTML { return element("code", "", v) },
		"rcode":      func(v any) template.HTML { return element("code", " data-recorded", v) },
		"codetext":   codetext,
		"words":      words,
		"plain":      plain,
		"shell":      shell,
		"add":        add,
		"dict":       dict,
		"state":      report.StateWords,
		"external":   external,
	}
}

// pointer returns the JSON Pointer of a path given by a template: strings and
// numbers of any type.
func pointer(path []any) (string, error) {
	clean := make([]any, len(path))
	for i, p := range path {
		switch v := reflect.ValueOf(p); {
		case v.Kind() == reflect.String:
			clean[i] = v.String()
		case v.CanInt():
			clean[i] = int(v.Int())
		default:
			return "", fmt.Errorf("%T in a path of a figure", p)
		}
	}
	return report.Pointer(clean...), nil
}

// A source is what figures are taken from, and the JSON Pointer of its place in
// report.json.
type source struct {
	report interface {
		Lookup(pointer string) (any, error)
	}
	at string
}

// lookup returns the value of the report at a path given by a template, and its
// JSON Pointer in report.json.
func lookup(r source, path []any) (v any, p string, err error) {
	if p, err = pointer(path); err == nil {
		v, err = r.report.Lookup(p)
	}
	return v, r.at + p, err
}

// figure is the one marking function: it writes a figure of the report with its
// place in it.
func figure(r source, path []any) (template.HTML, error) {
	v, p, err := lookup(r, path)
	if err != nil {
		return "", err
	}
	text, err := report.Text(v)
	if err != nil {
		return "", fmt.Errorf("writing the figure %s: %w", p, err)
	}
	return template.HTML(`<span data-figure="` + template.HTMLEscapeString(p) + `">` + template.HTMLEscapeString(text) + `</span>`), nil
}

// known reports whether a figure is there and not null. What report.json leaves
// out is not there.
func known(r source, path []any) (bool, error) {
	p, err := pointer(path)
	if err != nil {
		return false, err
	}
	v, err := r.report.Lookup(p)
	return err == nil && v != nil, nil
}

// plural returns the first word where a count is one, else the second.
func plural(r source, one, many string, path []any) (string, error) {
	v, _, err := lookup(r, path)
	if err != nil {
		return "", err
	}
	switch rv := reflect.ValueOf(v); {
	case rv.CanInt() && rv.Int() == 1, rv.CanFloat() && rv.Float() == 1:
		return one, nil
	}
	return many, nil
}

// day writes a UTC day, and a dash for none.
func day(d report.Date) template.HTML {
	if d == "" {
		return report.Dash
	}
	return template.HTML(`<time datetime="` + template.HTMLEscapeString(string(d)) + `">` + template.HTMLEscapeString(report.Written(d)) + `</time>`)
}

// stamp writes an instant, in UTC and saying so.
func stamp(t record.Time) template.HTML {
	if t.IsZero() {
		return report.Dash
	}
	u := t.UTC()
	return template.HTML(`<time datetime="` + u.Format("2006-01-02T15:04:05Z") + `">` + u.Format("2 Jan 2006, 15:04") + ` UTC</time>`)
}

// fewest writes report.MinOperators as a word: it is a rule, and no figure.
func fewest() (string, error) {
	words := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	if report.MinOperators >= len(words) {
		return "", errors.New("there is no word for the least number of operators")
	}
	return words[report.MinOperators], nil
}

// month writes the name of a calendar month, such as January 2026.
func month(name string) (template.HTML, error) {
	t, err := time.Parse(monthName, name)
	if err != nil {
		return "", err
	}
	return template.HTML(`<time datetime="` + t.Format("2006-01") + `">` + template.HTMLEscapeString(name) + `</time>`), nil
}

const monthName = "January 2006"

// plain returns recorded text on one line, hidden characters as ‹U+202E RLO›, for
// where no element can stand.
func plain(v any) string { return visible.Line(cutText(fmt.Sprint(v), maxInline)) }

// shell returns recorded text as one word of a POSIX shell, for a command that
// people copy.
func shell(v any) string {
	s := plain(v)
	harmless := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._+:@%-", r)
	}
	if s != "" && s[0] != '-' && strings.TrimFunc(s, harmless) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// add returns the sum of indices.
func add(n ...int) int {
	sum := 0
	for _, x := range n {
		sum += x
	}
	return sum
}

// dict returns a map of the names and values that it is given, to pass several
// to one template.
func dict(pairs ...any) (map[string]any, error) {
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok || i+1 == len(pairs) {
			return nil, errors.New("dict wants names and values")
		}
		m[name] = pairs[i+1]
	}
	return m, nil
}

// recorded writes a recorded text inline, isolated from the direction of what
// stands around it, with a chip for each hidden character. An empty text is a
// dash.
func recorded(v any) template.HTML {
	s := fmt.Sprint(v)
	if s == "" {
		return report.Dash
	}
	var b strings.Builder
	b.WriteString("<bdi data-recorded>")
	writeVisible(&b, cutText(s, maxInline))
	b.WriteString("</bdi>")
	return template.HTML(b.String())
}

// block writes a recorded text of any number of lines.
func block(s string) template.HTML {
	return wrapped(`<div class="text" data-recorded dir="ltr">`, s, "</div>")
}

// codetext writes a recorded text whose spacing counts, such as a schema.
func codetext(s string) template.HTML {
	return wrapped(`<pre class="json" data-recorded dir="ltr" tabindex="0"><code>`, s, "</code></pre>")
}

func wrapped(open, s, end string) template.HTML {
	var b strings.Builder
	b.WriteString(open)
	writeVisible(&b, s)
	b.WriteString(end)
	return template.HTML(b.String())
}

// element writes a value as the text of an element, with chips.
func element(name, attributes string, v any) template.HTML {
	return wrapped("<"+name+attributes+">", cutText(fmt.Sprint(v), maxInline), "</"+name+">")
}

// words writes a comparison of two texts.
func words(spans []drift.Span) template.HTML {
	var b strings.Builder
	b.WriteString(`<div class="text diff" data-recorded dir="ltr">`)
	for _, s := range spans {
		switch s.Op {
		case drift.Deleted:
			b.WriteString("<del>")
			writeVisible(&b, s.Text)
			b.WriteString("</del>")
		case drift.Inserted:
			b.WriteString("<ins>")
			writeVisible(&b, s.Text)
			b.WriteString("</ins>")
		default:
			writeVisible(&b, s.Text)
		}
	}
	b.WriteString("</div>")
	return template.HTML(b.String())
}

// writeVisible writes recorded text, escaped, with a chip for each hidden
// character.
func writeVisible(b *strings.Builder, s string) {
	for p := range visible.Pieces(s) {
		if !p.Hidden {
			b.WriteString(template.HTMLEscapeString(p.Text))
			continue
		}
		name := p.Name
		if name == "" {
			name = p.Code
		}
		b.WriteString(`<abbr class="inv" title="` + template.HTMLEscapeString(p.Code) + `">` + template.HTMLEscapeString(name) + `</abbr>`)
	}
}

// cutText returns the first n characters of s, with an ellipsis where there are
// more.
func cutText(s string, n int) string {
	if cut, ok := firstChars(s, n); ok {
		return cut + "…"
	}
	return s
}

// firstChars returns the first n characters of s, and whether there are more.
func firstChars(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return s[:i], i < len(s)
}

// newLink returns a link to an address that a registry row names. Only https
// addresses with a host and without credentials become links.
func newLink(what, address string) (Link, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return Link{}, err
	case u.Scheme != "https" || u.Host == "" || u.User != nil || len(address) > 2000:
		return Link{}, errors.New("not an https address")
	}
	return Link{What: what, Host: u.Host, URL: template.URL(u.String())}, nil
}

// external writes a link that leads away from the site.
func external(l Link) template.HTML {
	var b strings.Builder
	b.WriteString(`<a href="` + template.HTMLEscapeString(string(l.URL)) + `" rel="nofollow ugc noopener noreferrer">` + template.HTMLEscapeString(l.What) + ` `)
	b.WriteString(string(recorded(l.Host)))
	b.WriteString("</a>")
	return template.HTML(b.String())
}

// rendered returns what a template of this package made: it is escaped.
func rendered(html []byte) template.HTML { return template.HTML(html) }

// drawing returns what package chart drew, which escaped every text in it.
func drawing(svg []byte) template.HTML { return template.HTML(svg) }

// written returns what goldmark made of a page that we wrote, raw HTML left out.
func written(html []byte) template.HTML { return template.HTML(html) }
