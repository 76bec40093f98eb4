package site_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/report"
	"golang.org/x/net/html"
)

// A siteFiles is a rendered site, read back.
type siteFiles struct {
	dir    string
	report *report.Published
	files  map[string][]byte // by path below the root, our own marker left out
	pages  map[string]*html.Node
}

func readSite(t testing.TB, dir string, r *report.Published) *siteFiles {
	t.Helper()
	s := &siteFiles{dir: dir, report: r, files: map[string][]byte{}, pages: map[string]*html.Node{}}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == ".mcpstrata-site" || name == ".gitignore" {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		s.files[name] = b
		if strings.HasSuffix(name, ".html") {
			s.pages[name], err = html.Parse(bytes.NewReader(b))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// handWritten are the pages on which numbers of ours may stand without a mark.
var handWritten = []string{"about/index.html", "data/index.html", "methodology/v1/index.html"}

// free reports whether numbers may stand on a page without a mark: those that must
// be there, and the pages of further methodologies.
func free(name string) bool {
	return slices.Contains(handWritten, name) || strings.HasPrefix(name, "methodology/")
}

// audible are the attributes that people hear or see.
var audible = []string{"alt", "aria-label", "aria-description", "title", "content", "placeholder", "summary", "label", "value", "aria-valuetext", "aria-valuenow", "aria-placeholder", "aria-roledescription"}

func attr(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// faults returns what on a page breaks the rule of figures: each figure stands in
// report.json with the very text, and no other digit stands outside elements
// marked as recorded, date, code or axis.
func (s *siteFiles) faults(root *html.Node, generic any, free bool) (faults []string, figures int) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	var walk func(n *html.Node, recorded, marked bool)
	walk = func(n *html.Node, recorded, marked bool) {
		if n.Type == html.ElementNode {
			if p, ok := attr(n, "data-figure"); ok {
				figures++
				marked = true
				if err := s.checkFigure(generic, p, textOf(n)); err != nil {
					fault("%v", err)
				}
			}
			_, isRecorded := attr(n, "data-recorded")
			_, isAxis := attr(n, "data-axis")
			recorded = recorded || isRecorded
			if n.Data == "time" {
				if err := checkTime(n); err != nil {
					fault("%v", err)
				}
			}
			if n.Data == "code" && !recorded && !free && proseNumber(textOf(n)) {
				fault("%q in <code> is a number, and no code", textOf(n))
			}
			marked = marked || isAxis || n.Data == "time" || n.Data == "code" || n.Data == "style"
			for _, a := range n.Attr {
				if slices.Contains(audible, a.Key) && hasDigit(a.Val) && !recorded && !free {
					fault("<%s %s=%q>", n.Data, a.Key, a.Val)
				}
			}
		}
		if n.Type == html.TextNode && hasDigit(n.Data) && !recorded && !marked && !free {
			fault("%q in <%s>", strings.TrimSpace(n.Data), n.Parent.Data)
		}
		for c := range n.ChildNodes() {
			walk(c, recorded, marked)
		}
	}
	walk(root, false, false)
	return faults, figures
}

// checkTime holds the words of a <time> to what its datetime says.
func checkTime(n *html.Node) error {
	at, _ := attr(n, "datetime")
	for _, form := range []struct{ machine, words string }{
		{"2006-01-02", "2 Jan 2006"}, {"2006-01", "January 2006"}, {"2006-01-02T15:04:05Z", "2 Jan 2006, 15:04 UTC"},
	} {
		if t, err := time.Parse(form.machine, at); err == nil {
			if want := t.Format(form.words); textOf(n) != want {
				return fmt.Errorf("<time datetime=%q> says %q, want %q", at, textOf(n), want)
			}
			return nil
		}
	}
	return fmt.Errorf("<time datetime=%q> says %q: no machine form of a time", at, textOf(n))
}

// proseNumber reports whether the text of a <code> is a number that belongs into a
// sentence, with or without its unit.
func proseNumber(s string) bool {
	if regexp.MustCompile(`^\d{4}-\d\d-\d\d(\.\d+)?$`).MatchString(s) {
		return false // a run, or a version of the protocol
	}
	if strings.Count(s, ".") > 1 {
		return false // a version of a program
	}
	return hasDigit(s) && strings.Trim(s, "0123456789.,% +-") == "" || regexp.MustCompile(`^[0-9.,]+ [a-z]+$`).MatchString(s)
}

// checkFigure looks a figure up in report.json, and in the report for its text.
func (s *siteFiles) checkFigure(generic any, pointer, text string) error {
	at := generic
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := at.(type) {
		case map[string]any:
			next, ok := v[token]
			if !ok {
				return fmt.Errorf("figure %s is not in report.json", pointer)
			}
			at = next
		case []any:
			var i int
			if _, err := fmt.Sscan(token, &i); err != nil || i < 0 || i >= len(v) {
				return fmt.Errorf("figure %s is not in report.json", pointer)
			}
			at = v[i]
		default:
			return fmt.Errorf("figure %s is not in report.json", pointer)
		}
	}
	v, err := s.report.Lookup(pointer)
	if err != nil {
		return err
	}
	a, _ := json.Marshal(at)
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil || fmt.Sprint(x) != fmt.Sprint(y) {
		return fmt.Errorf("figure %s is %s in report.json, %s in the report", pointer, a, b)
	}
	want, err := report.Text(v)
	if err != nil || text != want {
		return fmt.Errorf("figure %s says %q, want %q (%v)", pointer, text, want, err)
	}
	return nil
}

// TestFigures walks every page and every chart (acceptance 3 of the first site).
func TestFigures(t *testing.T) {
	h := recordedFleet(t)
	checkFigures(t, readSite(t, h.build(t, nil), h.report))
}

func checkFigures(t *testing.T, s *siteFiles) {
	t.Helper()
	if n := checkFewFigures(t, s); n < 1000 {
		t.Errorf("%d figures on all pages, want more: is the walk blind?", n)
	}
}

// checkFewFigures is checkFigures for a site of few pages; it returns how many
// figures it checked.
func checkFewFigures(t *testing.T, s *siteFiles) int {
	t.Helper()
	var generic any
	if err := json.Unmarshal(s.files["report.json"], &generic); err != nil {
		t.Fatal(err)
	}
	total := 0
	for name, b := range s.files {
		root := s.pages[name]
		if strings.HasSuffix(name, ".svg") && !strings.HasPrefix(name, "assets/") {
			var err error
			if root, err = html.Parse(bytes.NewReader(b)); err != nil {
				t.Fatal(err)
			}
		}
		if root == nil {
			continue
		}
		faults, n := s.faults(root, generic, free(name))
		total += n
		for i, f := range faults {
			if i == 5 {
				t.Errorf("%s: and %d more", name, len(faults)-i)
				break
			}
			t.Errorf("%s: %s", name, f)
		}
	}
	for _, name := range handWritten {
		if s.pages[name] == nil {
			t.Errorf("the hand-written page %s is not there", name)
		}
	}
	return total
}

// The walk finds what it is there for.
func TestFigureWalkIsNotBlind(t *testing.T) {
	r := &report.Published{Report: report.Report{Population: report.Population{Names: 12}}}
	s := &siteFiles{report: r}
	var generic any
	b, _ := json.Marshal(r)
	if err := json.Unmarshal(b, &generic); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, page string
		want       int
	}{
		{"a figure", `<span data-figure="/population/names">12</span>`, 0},
		{"another text", `<span data-figure="/population/names">13</span>`, 1},
		{"another place", `<span data-figure="/population/nobody">12</span>`, 1},
		{"a bare digit", `<p>12 servers</p>`, 1},
		{"in a title", `<title>12 servers</title>`, 1},
		{"in a label", `<a aria-label="12 servers">x</a>`, 1},
		{"recorded", `<bdi data-recorded><abbr title="U+202E">RLO</abbr>4</bdi>`, 0},
		{"a date", `<time datetime="2026-01-01">1 Jan 2026</time>`, 0},
		{"a date without its machine form", `<time>1 Jan 2026</time>`, 1},
		{"a date with another text", `<time datetime="2026-01-01">2 Jan 2026</time>`, 1},
		{"a time", `<time datetime="2026-01-01T03:04:05Z">1 Jan 2026, 03:04 UTC</time>`, 0},
		{"a month", `<time datetime="2026-01">January 2026</time>`, 0},
		{"a number as a time", `<time datetime="12">12</time>`, 1},
		{"code", `<code>v1</code>`, 0},
		{"a number as code", `<code>30</code> days`, 1},
		{"a version as code", `<code>0.1.0</code> <code>2025-11-25</code>`, 0},
		{"a number with its unit as code", `<code>30 days</code>`, 1},
		{"a recorded number as code", `<code data-recorded>30</code>`, 0},
		{"in a value", `<meter value="12"></meter>`, 1},
		{"in what is read for a value", `<p aria-valuetext="12 servers"></p>`, 1},
		{"an axis", `<svg><text data-axis>10</text><text>11</text></svg>`, 1},
	}
	for _, tt := range tests {
		root, err := html.Parse(strings.NewReader(tt.page))
		if err != nil {
			t.Fatal(err)
		}
		if faults, _ := s.faults(root, generic, false); len(faults) != tt.want {
			t.Errorf("%s: faults of %s = %q, want %d", tt.name, tt.page, faults, tt.want)
		}
	}
}

// inRecorded are the elements that may stand inside recorded text.
var inRecorded = []string{"a", "abbr", "bdi", "b", "br", "code", "del", "em", "ins", "mark", "span", "strong", "wbr", "text", "tspan", "title"}

// knownElements are all elements that templates, charts and goldmark write.
var knownElements = []string{
	"html", "head", "meta", "title", "link", "script", "body", "a", "abbr", "article", "aside", "bdi", "blockquote", "br", "button", "caption",
	"code", "dd", "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "header", "hr",
	"input", "ins", "label", "li", "main", "nav", "ol", "p", "pre", "section", "small", "span", "strong", "summary", "table", "tbody", "td", "th",
	"thead", "time", "tr", "ul", "wbr",
	"svg", "g", "path", "rect", "line", "circle", "text", "tspan", "desc", "polyline", "polygon",
}

const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"

// checkInert holds every page to what makes it harmless: known elements only, no
// inline script or style, a strict policy, safe links.
func checkInert(t *testing.T, s *siteFiles) {
	t.Helper()
	for name, root := range s.pages {
		said := 0
		fault := func(format string, args ...any) {
			if said++; said <= 5 {
				t.Errorf("%s: "+format, append([]any{name}, args...)...)
			}
		}
		strict := false
		var walk func(n *html.Node, recorded bool)
		walk = func(n *html.Node, recorded bool) {
			if n.Type == html.ElementNode {
				if recorded && !slices.Contains(inRecorded, n.Data) {
					fault("<%s> inside recorded text", n.Data)
				}
				strict = strict || checkElement(n, strict, free(name), fault)
				_, is := attr(n, "data-recorded")
				recorded = recorded || is
			}
			for c := range n.ChildNodes() {
				walk(c, recorded)
			}
		}
		walk(root, false)
		if !strict {
			fault("no Content-Security-Policy")
		}
	}
}

// checkElement checks one element, and reports whether it is the policy.
func checkElement(n *html.Node, strict, free bool, fault func(string, ...any)) bool {
	if !slices.Contains(knownElements, n.Data) {
		fault("<%s>: no template writes it", n.Data)
	}
	for _, a := range n.Attr {
		switch {
		case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc", a.Key == "formaction":
			fault("<%s %s=%q>", n.Data, a.Key, a.Val)
		case a.Key == "href" || a.Key == "src" || a.Key == "xlink:href":
			checkURL(n, a.Val, free, fault)
		}
	}
	content, _ := attr(n, "content")
	equiv, _ := attr(n, "http-equiv")
	switch {
	case n.Data == "meta" && strings.EqualFold(equiv, "Content-Security-Policy"):
		if content != policy {
			fault("policy %q, want %q", content, policy)
		}
		return true
	case n.Data == "meta" && equiv != "":
		fault("<meta http-equiv=%q>", equiv)
	case n.Data == "script":
		if _, ok := attr(n, "src"); !ok || n.FirstChild != nil {
			fault("an inline script")
		}
		fallthrough
	case n.Data == "link":
		if !strict {
			fault("<%s> before the policy", n.Data)
		}
	}
	return false
}

// ourLinks are where our own words lead outside the site.
var ourLinks = []string{"github.com", "registry.modelcontextprotocol.io", "creativecommons.org"}

func checkURL(n *html.Node, address string, free bool, fault func(string, ...any)) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "" && u.Scheme != "https":
		fault("<%s> leads to %q", n.Data, address)
	case u.Scheme == "" && u.Host == "":
	case n.Data == "link":
		if rel, _ := attr(n, "rel"); rel != "canonical" {
			fault("<link rel=%q> to %q", rel, address)
		}
	case n.Data != "a":
		fault("<%s> loads %q", n.Data, address)
	case free || slices.Contains(ourLinks, u.Host):
	default:
		rel, _ := attr(n, "rel")
		for _, want := range []string{"nofollow", "ugc", "noopener", "noreferrer"} {
			if !slices.Contains(strings.Fields(rel), want) {
				fault("rel=%q to %q, want %s in it", rel, address, want)
			}
		}
	}
}

// checkLinks holds every link inside the site to a file that is there, and every
// fragment to an element.
func checkLinks(t *testing.T, s *siteFiles) {
	t.Helper()
	ids := map[string]map[string]bool{}
	for name, root := range s.pages {
		ids[name] = map[string]bool{}
		for n := range root.Descendants() {
			if id, ok := attr(n, "id"); ok {
				if ids[name][id] {
					t.Errorf("%s: two elements have the id %q", name, id)
				}
				ids[name][id] = true
			}
		}
	}
	links := 0
	for name, root := range s.pages {
		for n := range root.Descendants() {
			for _, key := range []string{"href", "src"} {
				address, ok := attr(n, key)
				u, err := url.Parse(address)
				if !ok || err != nil || u.Scheme != "" {
					continue
				}
				links++
				target := name
				if u.Path != "" {
					target = path.Join(path.Dir(name), u.Path)
				}
				if rest, ok := strings.CutPrefix(u.Path, "/mcpstrata/"); ok && name == "404.html" {
					target = rest
				}
				if _, ok := s.files[target]; !ok {
					t.Errorf("%s: %q leads to %s, which is not there", name, address, target)
				} else if u.Fragment != "" && !ids[target][u.Fragment] {
					t.Errorf("%s: %q leads to no element", name, address)
				}
			}
		}
	}
	if links < len(s.pages) {
		t.Errorf("%d links on %d pages: is the check blind?", links, len(s.pages))
	}
}

// checkMachine holds every page to its index.json, and all JSON and XML to being
// well formed.
func checkMachine(t *testing.T, s *siteFiles) {
	t.Helper()
	for name, b := range s.files {
		switch path.Ext(name) {
		case ".json":
			if !json.Valid(b) {
				t.Errorf("%s is not JSON", name)
			}
		case ".html":
			if beside := path.Join(path.Dir(name), "index.json"); name != "404.html" && s.files[beside] == nil {
				t.Errorf("%s has no index.json beside it", name)
			}
		case ".svg", ".atom", ".xml":
			d := xml.NewDecoder(bytes.NewReader(b))
			for {
				tok, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
					break
				}
				if e, ok := tok.(xml.StartElement); ok {
					for _, fault := range activeParts(e) {
						t.Errorf("%s: %s", name, fault)
					}
				}
			}
		}
	}
}

// activeParts returns what of an element of XML could do something.
func activeParts(e xml.StartElement) (faults []string) {
	switch name := strings.ToLower(e.Name.Local); name {
	case "script", "foreignobject", "iframe", "object", "embed", "animate", "set", "handler", "use", "image":
		faults = append(faults, "<"+name+">")
	}
	for _, a := range e.Attr {
		value := strings.ToLower(strings.Join(strings.Fields(a.Value), ""))
		switch {
		case strings.HasPrefix(strings.ToLower(a.Name.Local), "on"),
			strings.Contains(value, "javascript:"), strings.HasPrefix(value, "data:"), strings.HasPrefix(value, "vbscript:"):
			faults = append(faults, fmt.Sprintf("%s=%q in <%s>", a.Name.Local, a.Value, e.Name.Local))
		}
	}
	return faults
}

// The check of drawings and feeds finds what it is there for.
func TestActivePartsAreFound(t *testing.T) {
	for text, want := range map[string]int{
		`<svg/>`: 0, `<text x="1">t</text>`: 0, `<svg onload="x()"/>`: 1, `<svg OnLoad="x()"/>`: 1, `<foreignObject/>`: 1, `<SCRIPT/>`: 1,
		"<a href=\"java\tscript:x()\"/>": 1, `<link href="https://a.example/"/>`: 0, `<image href="data:text/html,x"/>`: 2,
	} {
		tok, err := xml.NewDecoder(strings.NewReader(text)).Token()
		if err != nil {
			t.Fatal(err)
		}
		if got := activeParts(tok.(xml.StartElement)); len(got) != want {
			t.Errorf("activeParts(%s) = %q, want %d", text, got, want)
		}
	}
}

func checkAll(t *testing.T, s *siteFiles) {
	t.Helper()
	checkInert(t, s)
	checkLinks(t, s)
	checkMachine(t, s)
}

// The pages of a fleet with hostile servers: their texts are inert.
func TestPagesAreInertAndWhole(t *testing.T) {
	h := recordedFleet(t)
	s := readSite(t, h.build(t, nil), h.report)
	checkAll(t, s)
	hostile := 0
	for name := range h.report.Servers {
		if !strings.Contains(name, "hostile") {
			continue
		}
		hostile++
		if len(h.report.Servers[name].Versions) == 0 {
			t.Errorf("%s was never read: the test has nothing to show", name)
		}
	}
	if hostile < 3 {
		t.Errorf("%d hostile servers in the fleet, want at least 3", hostile)
	}
}
