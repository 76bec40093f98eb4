package site

import (
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestServerPath(t *testing.T) {
	tests := []struct{ name, want string }{
		{"io.github.foo/bar", "s/io.github.foo/bar/"},
		{"io.github.Foo/Bar", "s/io.github.~foo/~bar/"},
		{"../..", "s/=2e=2e/=2e=2e/"},
		{"x/..", "s/x/=2e=2e/"},
		{"x/.", "s/x/=2e/"},
		{"./x", "s/=2e/x/"},
		{".x/y", "s/=2ex/y/"},
		{"aux/con", "s/=61ux/=63on/"},
		{"a/CON.txt", "s/a/=43~o~n.txt/"},
		{"x/y.", "s/x/y=2e/"},
		{"x/index.html", "s/x/=69ndex.html/"},
		{"x/a/b", "s/x/a=2fb/"},
		{"x", "s/=-/x/"},
		{"/x", "s/=/x/"},
		{"x/", "s/x/=/"},
		{"a b/ü", "s/a=20b/=c3=bc/"},
		{`"><script>/x`, "s/=22=3e=3cscript=3e/x/"},
		{"x/%2e%2e", "s/x/=252e=252e/"},
	}
	for _, tt := range tests {
		if got := ServerPath(tt.name); got != tt.want {
			t.Errorf("ServerPath(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
	long := strings.Repeat("Ab", 250)
	if got := Segment(long); len(got) > maxSegment || !strings.Contains(got, "==") {
		t.Errorf("Segment of 500 bytes = %q, want it cut and its digest after it", got)
	}
}

// hostilePart draws parts of names that are near each other and near what file
// systems and hosts take for something else.
func hostilePart() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringOf(rapid.SampledFrom([]rune("aAbB.=~-_%2e2f/\\ \u00fc\u202e\ufb33"))),
		rapid.SampledFrom([]string{"", ".", "..", "aux", "AUX", "con.txt", "Con", "nul.", "index.html", "INDEX.html", "index", "~a", "A", "=41", "=", "==", "=-"}),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat("x", rapid.IntRange(100, 200).Draw(t, "n")) + rapid.StringOf(rapid.SampledFrom([]rune("aA="))).Draw(t, "end")
		}),
	)
}

// A path is local, needs no encoding, has nothing that a file system or a host
// takes for something else, and no two names share one, case folded or not.
func TestServerPathIsSafeAndInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) string {
			name := hostilePart().Draw(t, label)
			if rapid.Bool().Draw(t, label+" has a slash") {
				name += "/" + hostilePart().Draw(t, label+" short")
			}
			return name
		}
		a, b := draw("a"), draw("b")
		p, q := ServerPath(a), ServerPath(b)
		if a != b && strings.EqualFold(p, q) {
			t.Fatalf("ServerPath of %q and %q = %q and %q", a, b, p, q)
		}
		if (&url.URL{Path: p}).EscapedPath() != p {
			t.Errorf("ServerPath(%q) = %q, which a URL would encode", a, p)
		}
		file := path.Join(p, "index.html")
		if !filepath.IsLocal(filepath.FromSlash(file)) || !local(file) || file != p+"index.html" || strings.Count(p, "/") != 3 {
			t.Errorf("ServerPath(%q) = %q, which is no folder below s/", a, p)
		}
		for part := range strings.SplitSeq(strings.TrimSuffix(p, "/"), "/") {
			device, _, _ := strings.Cut(part, ".")
			if part == "" || len(part) > 255 || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".") || device == "index" || device == "con" || device == "aux" || device == "nul" || strings.ToLower(part) != part {
				t.Errorf("ServerPath(%q) = %q: a host would not take %q for a folder", a, p, part)
			}
		}
		ns, other := NamespacePath(a), NamespacePath(b)
		if a != b && strings.EqualFold(ns, other) {
			t.Fatalf("NamespacePath of %q and %q = %q", a, b, ns)
		}
	})
}

func TestLinks(t *testing.T) {
	p := Page{Path: "s/x/y/", Root: rootOf("s/x/y/")}
	tests := []struct{ got, want string }{
		{p.Link(""), "../../../index.html"},
		{p.Link("half-life"), "../../../half-life/index.html"},
		{p.Link("methodology/v1/"), "../../../methodology/v1/index.html"},
		{p.Link("half-life/half-life.svg"), "../../../half-life/half-life.svg"},
		{p.Link("data/#event"), "../../../data/index.html#event"},
		{p.ServerLink("a/B"), "../../../s/a/~b/index.html"},
		{p.NamespaceLink("a"), "../../../n/a/index.html"},
		{p.DayLink("2026-01-02"), "../../../changes/2026-01-02/index.html"},
		{p.Asset("style.css"), "../../../assets/style.css"},
		{p.JSONLink(), "../../../s/x/y/index.json"},
		{Page{Root: "./"}.Link(""), "./index.html"},
		{Page{Root: rootOf("")}.FeedLink(), ""},
	}
	for i, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("link %d = %q, want %q", i, tt.got, tt.want)
		}
	}
}

func TestWhere(t *testing.T) {
	tests := []struct{ pointer, want string }{
		{"/description", "description"},
		{"/inputSchema", "input schema"},
		{"/inputSchema/properties/query/description", "parameter query: description"},
		{"/inputSchema/properties/query", "parameter query"},
		{"/inputSchema/properties/a~1b/type", "parameter a/b: type"},
		{"/inputSchema/properties/filter/properties/from/type", "parameter filter › from: type"},
		{"/inputSchema/properties/tags/items/type", "parameter tags[]: type"},
		{"/inputSchema/required", "input schema: required"},
		{"/inputSchema/$defs/Point/properties/x/type", "definition Point › x: type"},
		{"/outputSchema/properties/total/type", "result total: type"},
		{"/annotations/readOnlyHint", "annotation readOnlyHint"},
		{"/annotations", "annotations"},
		{"", "the whole entry"},
		{"/inputSchema/allOf/0/type", "/inputSchema/allOf/0/type"},
		{"/_meta/x/y", "/_meta/x/y"},
		{"/inputSchema/properties", "input schema: properties"},
		{"/inputSchema/properties/a/properties", "/inputSchema/properties/a/properties"},
	}
	for _, tt := range tests {
		if got := where(tt.pointer); got != tt.want {
			t.Errorf("where(%q) = %q, want %q", tt.pointer, got, tt.want)
		}
	}
}
