// Package shown reads what a server's page shows: its recorded texts, and what
// changed from one version of the contract to the next, word by word.
//
// It knows little of the page's make: recorded text stands in elements with the
// attribute data-recorded, what is gone in <del>, what is new in <ins>, a
// character that does not show as <abbr title="U+XXXX">; a version is an
// <article> whose first <time> is its first day; what happened to a tool stands
// below a heading that holds its name.
package shown

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// A Page is a server's page.
type Page struct {
	Title    string   // of the page's heading
	Recorded []string // the recorded texts, in order
	versions []*html.Node
}

// A Tool is what a version shows of one tool that differs.
type Tool struct {
	Name   string
	Kind   string // added, removed, changed
	Texts  []Text
	Before []string // values that are gone, as JSON
	After  []string // values that came, as JSON
}

// A Text is a text that changed.
type Text struct {
	Old, New string
	Kept     []string // the pieces that stand in both, in order
}

// Parse reads a page.
func Parse(b []byte) (*Page, error) {
	doc, err := html.Parse(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("reading a page: %w", err)
	}
	p := &Page{}
	for n := range doc.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "h1" && p.Title == "":
			p.Title = text(n, "")
		case n.Data == "article":
			p.versions = append(p.versions, n)
		}
		if has(n, "data-recorded") {
			p.Recorded = append(p.Recorded, text(n, ""))
		}
	}
	if p.Title == "" {
		return nil, errors.New("reading a page: it has no heading")
	}
	return p, nil
}

// Version returns what differs in the version whose first day is given.
func (p *Page) Version(day string) ([]Tool, error) {
	for _, article := range p.versions {
		when := first(article, func(n *html.Node) bool { return n.Data == "time" })
		if when != nil && attr(when, "datetime") == day {
			return tools(article), nil
		}
	}
	return nil, fmt.Errorf("the page has no version of %s", day)
}

// tools reads the tools of one version.
func tools(article *html.Node) []Tool {
	var all []Tool
	for n := range article.Descendants() {
		if !heading(n) {
			continue
		}
		name := first(n, func(n *html.Node) bool { return has(n, "data-recorded") })
		if name == nil {
			continue
		}
		t := Tool{Name: text(name, "")}
		for _, word := range strings.Fields(strings.Replace(text(n, ""), t.Name, " ", 1)) {
			switch word {
			case "added", "removed", "changed":
				t.Kind = word
			}
		}
		t.read(n.Parent)
		all = append(all, t)
	}
	return all
}

// read reads what stands beside a tool's heading.
func (t *Tool) read(box *html.Node) {
	for n := range box.Descendants() {
		switch {
		case !has(n, "data-recorded"):
		case n.Parent.Data == "del":
			t.Before = append(t.Before, text(n, ""))
		case n.Parent.Data == "ins":
			t.After = append(t.After, text(n, ""))
		case first(n, func(n *html.Node) bool { return n.Data == "ins" || n.Data == "del" }) != nil:
			t.Texts = append(t.Texts, Text{Old: text(n, "ins"), New: text(n, "del"), Kept: kept(n)})
		}
	}
}

// kept returns the pieces of a text that are neither gone nor new.
func kept(n *html.Node) []string {
	pieces := []string{""}
	for c := range n.ChildNodes() {
		if c.Data == "ins" || c.Data == "del" {
			pieces = append(pieces, "")
			continue
		}
		pieces[len(pieces)-1] += text(c, "")
	}
	return pieces
}

// text returns the text of a node, with the characters that chips stand for, and
// without the elements of the given name.
func text(n *html.Node, without string) string {
	switch {
	case n.Type == html.TextNode:
		return n.Data
	case n.Type != html.ElementNode || n.Data == without:
		return ""
	case n.Data == "br":
		return "\n"
	case n.Data == "abbr":
		if hex, ok := strings.CutPrefix(attr(n, "title"), "U+"); ok {
			if r, err := strconv.ParseUint(hex, 16, 32); err == nil {
				return string(rune(r))
			}
		}
	}
	var b strings.Builder
	for c := range n.ChildNodes() {
		b.WriteString(text(c, without))
	}
	return b.String()
}

// first returns the first descendant element that is wanted, nil if none is.
func first(n *html.Node, wanted func(*html.Node) bool) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && wanted(d) {
			return d
		}
	}
	return nil
}

// heading reports whether n is a heading of any level.
func heading(n *html.Node) bool {
	return n.Type == html.ElementNode && len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6'
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
