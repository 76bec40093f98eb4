package site

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

func renderMarkdown(t testing.TB, d document) (title, body string, contents []Heading) {
	t.Helper()
	title, b, contents, err := renderDocument(d, Page{Path: d.path, Root: rootOf(d.path)})
	if err != nil {
		t.Fatal(err)
	}
	return title, string(b), contents
}

func TestDocument(t *testing.T) {
	d := document{path: "methodology/v1/", file: "templates/pages/methodology/v1.md", source: []byte(`# The *methodology*

[About](../../about/), [data](/data/#event), [here](#second-part), <https://example.com/>, [chart](../../half-life/half-life.svg)

## Second part

<b>raw</b> ![picture](https://example.com/x.png)

| a | b |
|---|--:|
| 1 | 2 |
`)}
	title, body, contents := renderMarkdown(t, d)
	if title != "The methodology" {
		t.Errorf("title %q", title)
	}
	for _, want := range []string{
		`<a href="../../about/index.html">About</a>`, `<a href="../../data/index.html#event">data</a>`, `<a href="#second-part">here</a>`,
		`<a href="https://example.com/">`, `<a href="../../half-life/half-life.svg">chart</a>`,
		`<h2 id="second-part">Second part <a class="anchor" href="#second-part" aria-label="Link to this section">#</a></h2>`,
		`<div class="scroll" role="group" aria-label="table" tabindex="0">`, `<td align="right">2</td>`, `</table>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s:\n%s", want, body)
		}
	}
	for _, never := range []string{"<b>", "<h1", "style=", "<img", "example.com/x.png"} {
		if strings.Contains(body, never) {
			t.Errorf("the page has %s:\n%s", never, body)
		}
	}
	if want := []Heading{{ID: "second-part", Text: "Second part", Level: 2}}; !slices.Equal(contents, want) {
		t.Errorf("contents = %v, want %v", contents, want)
	}
	for _, bad := range []string{"mailto:a@b.example", "http://example.com/", "javascript:alert(1)", "//example.com/"} {
		if _, _, _, err := renderDocument(document{path: "x/", source: []byte("# X\n\n[x](" + bad + ")")}, Page{}); err == nil {
			t.Errorf("a link to %s is no error", bad)
		}
	}
	_, body, _ = renderMarkdown(t, document{path: dictionary, file: "data/README.md", source: []byte("# D\n\n[schema](schema/run.schema.json)")})
	if want := `href="` + Repository + `/blob/main/data/schema/run.schema.json"`; !strings.Contains(body, want) {
		t.Errorf("a file beside the dictionary is linked as %s, want %s", body, want)
	}
}

// The tables of classes and flags are those of the code.
func TestGeneratedTables(t *testing.T) {
	_, body, _ := renderMarkdown(t, document{path: "x/", source: []byte("# X\n\n<!-- generated: classes -->\n\n<!-- generated: flags -->\n")})
	for _, c := range record.Classes {
		if !strings.Contains(body, "<code>"+string(c.Class)+"</code>") || !strings.Contains(body, html.EscapeString(c.Means)) {
			t.Errorf("the table lacks %s", c.Class)
		}
		for _, d := range c.Details {
			if !strings.Contains(body, "<code>"+html.EscapeString(string(d.Detail))+"</code>") {
				t.Errorf("the table lacks %s/%s", c.Class, d.Detail)
			}
		}
	}
	for _, f := range record.Flags {
		if !strings.Contains(body, "<code>"+string(f.Flag)+"</code>") {
			t.Errorf("the table lacks %s", f.Flag)
		}
	}
	if strings.Contains(body, "generated:") || strings.Count(body, "<table>") != 2 {
		t.Errorf("two tables in place of two comments, got:\n%s", body)
	}
}

// leadsInside reports whether a browser takes an address for a place on the site,
// or for one that is read over https.
func leadsInside(address string) bool {
	address = strings.ToLower(strings.TrimLeft(address, " \t\r\n"))
	path, _, _ := strings.Cut(address, "#")
	path, _, _ = strings.Cut(path, "?")
	first, _, _ := strings.Cut(path, "/")
	return strings.HasPrefix(address, "https://") || !strings.Contains(first, ":") && !strings.HasPrefix(address, "//")
}

// Whatever stands in a page that we write, no link of it runs a script and no
// markup of its own gets through.
func FuzzDocument(f *testing.F) {
	for _, s := range []string{
		"[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](javascript&colon;alert(1))", "[x](java\tscript:alert(1))",
		"<javascript:alert(1)>", "[x]: javascript:alert(1)\n[x]", "![x](javascript:alert(1))", "[x](data:text/html,<script>)", "[x](vbscript:x)",
		"<script>alert(1)</script>", "<a href=javascript:alert(1)>x</a>", "[x](<javascript:alert(1)>)", "[x](&#106;avascript:alert(1))",
		"[x](javascript\\:alert(1))", "# <img src=x onerror=alert(1)>", "|a|\n|-|\n|<script>|", "[x](//evil.example/)", "[x](https://a@b/)",
		"javascript:alert(1)", "https://example.com/\"onclick=alert(1)", "[x](\"onclick=alert(1))", "# a {onclick=alert(1)}", "[a](%6aavascript:x)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		_, b, _, err := renderDocument(document{path: "x/", source: []byte(source)}, Page{Root: "../"})
		if err != nil {
			return // a link that leads nowhere
		}
		body := string(b)
		root, err := html.Parse(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if slices.Contains([]string{"script", "iframe", "object", "style", "form"}, n.Data) {
				t.Errorf("%q gives <%s>: %s", source, n.Data, body)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || (a.Key == "href" || a.Key == "src") && !leadsInside(a.Val) {
					t.Errorf("%q gives %s=%q", source, a.Key, a.Val)
				}
			}
		}
	})
}

// Every conversion to a type that html/template does not escape stands in html.go.
func TestConversionsStandInOneFile(t *testing.T) {
	types := []string{"CSS", "HTML", "HTMLAttr", "JS", "JSStr", "Srcset", "URL"}
	found := map[string]int{}
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			if d != nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
				return fs.SkipDir
			}
			return err
		}
		src, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil || !bytes.Contains(src, []byte("html/template")) {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "template" && slices.Contains(types, sel.Sel.Name) {
				found[name]++
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range found {
		if name != "internal/site/html.go" {
			t.Errorf("%s has %d conversions to a type of html/template that is not escaped", name, n)
		}
	}
	if found["internal/site/html.go"] < 5 {
		t.Errorf("%d conversions found in html.go: is the search blind?", found["internal/site/html.go"])
	}
}
