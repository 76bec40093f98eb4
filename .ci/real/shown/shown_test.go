package shown

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/ci/real/wire"
)

const (
	was = `{"tools":[{"name":"find","title":"Find","description":"Finds a thing in the store.","inputSchema":{"properties":{"limit":{"description":"At most so many.","maximum":50}}}},{"name":"gone","description":"Goes away."}]}`
	is  = `{"tools":[{"name":"find","title":"Find","description":"Finds a` + "\u200b" + ` thing quickly in the store.","inputSchema":{"properties":{"limit":{"description":"At most so many.","maximum":10}}}},{"name":"fresh","description":"Is new."}]}`
	// changed is what a page shows between them.
	changed = `<article id="v2"><h3><time datetime="2026-12-01">1 Dec 2026</time></h3>
<div class="td"><h4><code data-recorded>find</code> <span>changed</span> <code data-recorded>description</code></h4>
<p><span data-recorded>description</span></p><div data-recorded>Finds a<ins><abbr title="U+200B">ZWSP</abbr></ins> thing <ins>quickly </ins>in the store.</div>
<table><tr><th><code data-recorded>limit: maximum</code></th><td><del><code data-recorded>50</code></del></td><td><ins><code data-recorded>10</code></ins></td></tr></table></div>
<div class="td"><h4><code data-recorded>fresh</code> added</h4><div data-recorded><ins>Is new.</ins></div></div>
<div class="td"><h4><code data-recorded>gone</code> removed</h4><div data-recorded><del>Goes away.</del></div></div>
</article>`
)

func list(t *testing.T, text string) wire.List {
	t.Helper()
	l, err := wire.Tools(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func page(t *testing.T, body string) *Page {
	t.Helper()
	p, err := Parse([]byte("<!doctype html><main><h1><bdi data-recorded>a</bdi>/<wbr><bdi data-recorded>b</bdi></h1>" + body + "</main>"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	p := page(t, changed)
	if p.Title != "a/b" {
		t.Errorf("Title = %q, want a/b", p.Title)
	}
	for _, want := range []string{"find", "Finds a\u200b thing quickly in the store.", "Is new."} {
		if !slices.Contains(p.Recorded, want) {
			t.Errorf("Recorded = %q, want it to hold %q", p.Recorded, want)
		}
	}
	tools, err := p.Version("2026-12-01")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%q", tools)
	want := `[{"find" "changed" [{"Finds a thing in the store." "Finds a\u200b thing quickly in the store." ["Finds a" " thing " "in the store."]}] ["50"] ["10"]}` +
		` {"fresh" "added" [{"" "Is new." ["" ""]}] [] []} {"gone" "removed" [{"Goes away." "" ["" ""]}] [] []}]`
	if got != want {
		t.Errorf("Version = %s, want %s", got, want)
	}
	if _, err := p.Version("2026-12-02"); err == nil {
		t.Error("Version of a day without one = nil error, want one")
	}
	if _, err := Parse([]byte("<p>no heading")); err == nil {
		t.Error("Parse of no page = nil error, want one")
	}
}

func TestCompareAgrees(t *testing.T) {
	tools, err := page(t, changed).Version("2026-12-01")
	if err != nil {
		t.Fatal(err)
	}
	if bad := Compare(tools, list(t, was), list(t, is)); len(bad) > 0 {
		t.Errorf("Compare = %q, want nothing", bad)
	}
}

// Each thing that a page may show wrongly is found.
func TestCompareFindsFaults(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"tool not shown", `<div class="td"><h4><code data-recorded>gone</code> removed</h4>`, `<div><p>`, "not shown: removed gone"},
		{"tool that did not change", "</article>", `<div><h4><code data-recorded>other</code> added</h4></div></article>`, "not so: added other"},
		{"wrong kind", "fresh</code> added", "fresh</code> removed", "not shown: added fresh"},
		{"tool twice", "</article>", `<div><h4><code data-recorded>gone</code> removed</h4></div></article>`, "twice: removed gone"},
		{"word left out", "<ins>quickly </ins>", "", "not shown word by word"},
		{"word made up", "<ins>quickly </ins>", "<ins>very quickly </ins>", "no place held"},
		{"sides swapped", "<ins>quickly </ins>", "<del>quickly </del>", "not shown word by word"},
		{"hidden character left out", `<ins><abbr title="U+200B">ZWSP</abbr></ins>`, "", "not shown word by word"},
		{"another hidden character", "U+200B", "U+200C", "not shown word by word"},
		{"all of the text replaced", `Finds a<ins><abbr title="U+200B">ZWSP</abbr></ins> thing <ins>quickly </ins>in the store.`,
			"<del>Finds a thing in the store.</del><ins>Finds a\u200b thing quickly in the store.</ins>", "kept at its end"},
		{"text that did not change", "<table>", "<div data-recorded>Find<ins></ins></div><table>", "nothing changed"},
		{"value that is not recorded", "<code data-recorded>50", "<code data-recorded>51", "gone, but not recorded: 51"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(changed, c.old) {
				t.Fatalf("the page has no %q", c.old)
			}
			tools, err := page(t, strings.Replace(changed, c.old, c.new, 1)).Version("2026-12-01")
			if err != nil {
				t.Fatal(err)
			}
			if bad := Compare(tools, list(t, was), list(t, is)); !strings.Contains(strings.Join(bad, "\n"), c.want) {
				t.Errorf("Compare = %q, want it to say %q", bad, c.want)
			}
		})
	}
}
