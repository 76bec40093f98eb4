package site

import (
	"bytes"
	"fmt"
	htmlpkg "html"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/templates"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A document is a page that we wrote by hand, in Markdown. Digits are free in it.
type document struct {
	path        string // of the page's folder
	file        string // in the repository, to which links to other files lead
	section     string
	description string
	source      []byte
}

// dictionary is the path of the page that is made of the data folder's README.
const dictionary = "data/"

// readDocuments reads the hand-written pages, in order of path.
func readDocuments() ([]document, error) {
	source, err := fs.ReadFile(templates.Data(), "README.md")
	if err != nil {
		return nil, err
	}
	docs := []document{{
		path: dictionary, file: "data/README.md", section: "data", source: source,
		description: "What each file and each member of the records means, with examples.",
	}}
	err = fs.WalkDir(templates.Pages(), ".", func(name string, d fs.DirEntry, err error) error {
		page, ok := strings.CutSuffix(name, ".md")
		if err != nil || d.IsDir() || !ok {
			return err
		}
		source, err := fs.ReadFile(templates.Pages(), name)
		if err != nil {
			return err
		}
		section, _, _ := strings.Cut(page, "/")
		doc := document{path: page + "/", file: "templates/pages/" + name, section: section, source: source}
		switch section {
		case "methodology":
			doc.description = "How the servers are read, what counts as a change, and how the figures are computed."
		default:
			doc.description = "What mcpstrata is, who makes it, and how to use what it records."
		}
		docs = append(docs, doc)
		return nil
	})
	slices.SortFunc(docs, func(a, b document) int { return strings.Compare(a.path, b.path) })
	return docs, err
}

// documentPaths returns the folders of the hand-written pages, sorted.
func documentPaths() ([]string, error) {
	docs, err := readDocuments()
	var paths []string
	for _, d := range docs {
		paths = append(paths, d.path)
	}
	return paths, err
}

// documents writes the hand-written pages.
func (b *builder) documents() error {
	docs, err := readDocuments()
	if err != nil {
		return fmt.Errorf("reading the hand-written pages: %w", err)
	}
	for _, d := range docs {
		p := b.page(b.record, d.path, "", d.description, d.section)
		title, body, contents, err := renderDocument(d, p)
		if err != nil {
			return fmt.Errorf("rendering %s: %w", d.file, err)
		}
		p.Title = title
		machine := documentJSON{Head: b.head(p), Headings: []headingJSON{}}
		for _, h := range contents {
			machine.Headings = append(machine.Headings, headingJSON{h.ID, h.Level, h.Text})
		}
		if err := b.render("doc.html", p, DocPage{Page: p, Body: written(body), Contents: contents, Versions: b.versions(d)}, record.File(machine)); err != nil {
			return err
		}
	}
	return nil
}

// versions returns which methodologies have a page, where a document is one of
// them.
func (b *builder) versions(d document) []string {
	if d.section != "methodology" {
		return nil
	}
	return slices.Sorted(maps.Keys(b.methods))
}

// renderDocument returns the title of a document, which is its first heading,
// the rest as HTML, and the headings in it.
func renderDocument(d document, p Page) (title string, body []byte, contents []Heading, err error) {
	t := &transformer{doc: d, page: p}
	md := goldmark.New(
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.Linkify,
		),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(t, 999))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(tables{html.NewConfig()}, 100))),
	)
	var buf bytes.Buffer
	if err := md.Convert(generated(d.source), &buf); err != nil {
		return "", nil, nil, err
	}
	return t.title, buf.Bytes(), t.contents, t.err
}

// generated replaces the lines of a document that stand for tables of the code.
func generated(source []byte) []byte {
	var out []byte
	for line := range bytes.Lines(source) {
		switch string(bytes.TrimSpace(line)) {
		case "<!-- generated: classes -->":
			out = append(out, classTable()...)
		case "<!-- generated: flags -->":
			out = append(out, flagTable()...)
		case "<!-- generated: causes -->":
			out = append(out, causeTable()...)
		default:
			out = append(out, line...)
		}
	}
	return out
}

// classTable returns the table of error classes, in Markdown.
func classTable() string {
	var b strings.Builder
	b.WriteString("| class | detail | meaning |\n|---|---|---|\n")
	for _, c := range record.Classes {
		fmt.Fprintf(&b, "| `%s` | | %s |\n", c.Class, cell(c.Means))
		for _, d := range c.Details {
			forced := ""
			if d.Forced {
				forced = " The closed set has no class for it, so it is counted separately wherever shares are shown."
			}
			fmt.Fprintf(&b, "| `%s` | `%s` | %s%s |\n", c.Class, d.Detail, cell(d.Means), forced)
		}
	}
	return b.String()
}

// flagTable returns the table of flags, in Markdown.
func flagTable() string {
	var b strings.Builder
	b.WriteString("| flag | meaning |\n|---|---|\n")
	for _, f := range record.Flags {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Flag, cell(f.Means))
	}
	return b.String()
}

// causeTable returns the table of causes of capture differences, in Markdown.
func causeTable() string {
	var b strings.Builder
	b.WriteString("| cause | meaning |\n|---|---|\n")
	for _, c := range record.Causes {
		launched := ""
		if c.Launched {
			launched = " Only of a server that the reader started."
		}
		fmt.Fprintf(&b, "| `%s` | %s%s |\n", c.Cause, cell(c.Means), launched)
	}
	return b.String()
}

// cell returns text for a cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// A transformer takes the title out of a document, notes its headings and gives
// each an anchor, and settles where links lead.
type transformer struct {
	doc      document
	page     Page
	title    string
	contents []Heading
	err      error // of the first link that leads nowhere
}

// Transform implements parser.ASTTransformer.
func (t *transformer) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var headings []*ast.Heading
	var images []*ast.Image
	ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the callback returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			headings = append(headings, n)
		case *ast.Link:
			n.Destination = []byte(t.destination(string(n.Destination)))
		case *ast.AutoLink:
			to := string(n.URL(reader.Source()))
			if n.AutoLinkType == ast.AutoLinkEmail {
				to = "mailto:" + to
			}
			t.destination(to) // says what is wrong with it
		case *ast.Image:
			images = append(images, n)
		}
		return ast.WalkContinue, nil
	})
	for _, i := range images { // pages have no pictures, only their words
		i.Parent().ReplaceChild(i.Parent(), i, ast.NewString([]byte(plainText(i, reader.Source()))))
	}
	for _, h := range headings {
		words := plainText(h, reader.Source())
		if t.title == "" {
			t.title = words
			h.Parent().RemoveChild(h.Parent(), h)
			continue
		}
		id, _ := h.AttributeString("id")
		anchor, _ := id.([]byte)
		t.contents = append(t.contents, Heading{ID: string(anchor), Text: words, Level: h.Level})
		link := ast.NewString([]byte(` <a class="anchor" href="#` + htmlpkg.EscapeString(string(anchor)) + `" aria-label="Link to this section">#</a>`))
		link.SetCode(true) // as it is
		h.AppendChild(h, link)
	}
}

// plainText returns the words of a heading.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the callback returns no error
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// destination returns where a link of a document leads. From the data dictionary
// relative links name files beside it, so they lead to the repository; from the
// other pages they name pages, from the page's own folder.
func (t *transformer) destination(to string) string {
	u, err := url.Parse(to)
	switch {
	case err == nil && u.Scheme == "https" && u.Host != "":
		return to
	case err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.RawQuery != "" || u.Path+u.Fragment == "":
		if t.err == nil {
			t.err = fmt.Errorf("a link to %q: neither https nor inside the site", to)
		}
		return ""
	case u.Path == "":
		return "#" + u.EscapedFragment() // a place on the page
	case t.doc.path == dictionary:
		return Repository + "/blob/main/" + path.Join(path.Dir(t.doc.file), u.Path)
	}
	at := strings.TrimPrefix(path.Join("/", t.doc.path, u.Path), "/")
	if strings.HasPrefix(u.Path, "/") {
		at = strings.TrimPrefix(path.Clean(u.Path), "/")
	}
	if strings.HasSuffix(u.Path, "/") && at != "" {
		at += "/"
	}
	if u.Fragment != "" {
		at += "#" + u.EscapedFragment()
	}
	return t.page.Link(at)
}

// tables writes a table in a box of its own that scrolls, also by keyboard.
type tables struct{ html.Config }

// RegisterFuncs implements renderer.NodeRenderer.
func (t tables) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(extast.KindTable, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		s := "</table>\n</div>\n"
		if entering {
			s = `<div class="scroll" role="group" aria-label="table" tabindex="0">` + "\n<table>\n"
		}
		_, err := w.WriteString(s)
		return ast.WalkContinue, err
	})
}
