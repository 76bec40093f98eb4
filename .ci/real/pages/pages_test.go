package pages

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
	"github.com/mcpstrata/mcpstrata/ci/real/chrome"
)

// A bench is a browser with the pages of testdata/site, whose home can be
// changed.
type bench struct {
	tab   *chrome.Tab
	axe   *Axe
	dir   string // of the pages
	home  string // URL of the folder
	other string // a host that is not ours
	good  string // index.html without faults
}

// newBench skips the test where there is no Chromium.
func newBench(t *testing.T) *bench {
	t.Helper()
	if _, err := chrome.Find(); err != nil {
		t.Skip(err)
	}
	browser, err := chrome.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(browser.Close)
	b := &bench{dir: t.TempDir()}
	if b.tab, err = browser.NewTab(); err != nil {
		t.Fatal(err)
	}
	if b.axe, err = LoadAxe(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	site, err := fs.Sub(os.DirFS("testdata"), "site")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(b.dir, site); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(b.dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	b.good = string(index)
	files := http.StripPrefix("/sub", http.FileServer(http.Dir(b.dir)))
	server := httptest.NewServer(files)
	t.Cleanup(server.Close)
	b.home = server.URL + "/sub/"
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	b.other = other.URL
	return b
}

// with writes index.html with one text replaced by another; OTHER stands for the
// host that is not ours.
func (b *bench) with(t *testing.T, old, new string) {
	t.Helper()
	if !strings.Contains(b.good, old) {
		t.Fatalf("the page has no %q", old)
	}
	b.write(t, "index.html", strings.ReplaceAll(strings.Replace(b.good, old, new, 1), "OTHER", b.other))
}

func (b *bench) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) open(t *testing.T, v chrome.View) {
	t.Helper()
	if err := b.tab.Open(b.home, v); err != nil {
		t.Fatal(err)
	}
}

// text opens the page twice.
func (b *bench) text(t *testing.T) check.List {
	t.Helper()
	var said [2]string
	for i, v := range []chrome.View{{}, {NoScript: true}} {
		b.open(t, v)
		var err error
		if said[i], err = Text(b.tab); err != nil {
			t.Fatal(err)
		}
	}
	return SameText(said[0], said[1])
}

// file opens the page as a file and compares how it looks.
func (b *bench) file(t *testing.T) check.List {
	t.Helper()
	b.open(t, chrome.View{})
	want, err := Look(b.tab)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.tab.Open(chrome.FileURL(filepath.Join(b.dir, "index.html")), chrome.View{}); err != nil {
		t.Fatal(err)
	}
	got, err := Look(b.tab)
	if err != nil {
		t.Fatal(err)
	}
	seen := b.tab.Seen()
	return append(append(SameLook(got, want), Quiet(seen, "")...), Local(seen, chrome.FileURL(b.dir)+"/", "")...)
}

// in returns a check of the page in one view.
func in(v chrome.View, ask func(*bench) check.List) func(*testing.T, *bench) check.List {
	return func(t *testing.T, b *bench) check.List {
		b.open(t, v)
		return ask(b)
	}
}

// runs are the checks by name; each opens the page.
var runs = map[string]func(*testing.T, *bench) check.List{
	"quiet":      in(desktop, func(b *bench) check.List { return Quiet(b.tab.Seen(), "") }),
	"local":      in(desktop, func(b *bench) check.List { return Local(b.tab.Seen(), b.home, "") }),
	"inert":      in(desktop, func(b *bench) check.List { return Inert(b.tab) }),
	"fits":       in(desktop, func(b *bench) check.List { return Fits(b.tab) }),
	"fits-phone": in(phone, func(b *bench) check.List { return Fits(b.tab) }),
	"printed":    in(paper, func(b *bench) check.List { return Printed(b.tab) }),
	"light":      in(desktop, func(b *bench) check.List { return Themed(b.tab, false) }),
	"dark":       in(dark, func(b *bench) check.List { return Themed(b.tab, true) }),
	"axe":        in(desktop, func(b *bench) check.List { return b.axe.Accessible(b.tab) }),
	"axe-dark":   in(dark, func(b *bench) check.List { return b.axe.Accessible(b.tab) }),
	"drawn":      in(desktop, func(b *bench) check.List { return Drawn(b.tab) }),
	"keyboard":   in(desktop, func(b *bench) check.List { return Keyboard(b.tab) }),
	"skip-link":  in(desktop, func(b *bench) check.List { return SkipLink(b.tab) }),
	"search":     in(desktop, func(b *bench) check.List { return Search(b.tab, "com.example/server", b.home+"server/") }),
	"no-script":  func(t *testing.T, b *bench) check.List { return b.text(t) },
	"as-file":    func(t *testing.T, b *bench) check.List { return b.file(t) },
}

// Views.
var (
	desktop = chrome.View{}
	dark    = chrome.View{Dark: true}
	phone   = chrome.View{Width: chrome.Phone, Phone: true}
	paper   = chrome.View{Width: chrome.Paper, Print: true}
)

// seeds are faults, one for each thing that a check must find.
var seeds = []struct {
	name     string
	check    string
	old, new string // in index.html, or in the asset
	asset    string
	want     string // in what the check says
}{
	{name: "console error", check: "quiet", asset: "site.js", new: "console.error('broken');", want: "broken"},
	{name: "console warning", check: "quiet", asset: "site.js", new: "console.warn('odd');", want: "odd"},
	{name: "uncaught exception", check: "quiet", asset: "site.js", new: "undefinedName();", want: "undefinedName"},
	{name: "rejected promise", check: "quiet", asset: "site.js", new: "Promise.reject(new Error('nobody cares'));", want: "nobody cares"},
	{name: "inline style against the policy", check: "quiet", old: "<h1>", new: `<h1 style="color:red">`, want: "Content Security Policy"},
	{name: "inline script against the policy", check: "quiet", old: "<h1>", new: "<script>1</script><h1>", want: "Content Security Policy"},
	{name: "missing picture", check: "quiet", old: "<h1>", new: `<img src="none.png" alt=""><h1>`, want: "404"},
	{name: "missing picture is a failed request", check: "local", old: "<h1>", new: `<img src="none.png" alt=""><h1>`, want: "none.png answered 404"},
	{name: "request of another host", check: "local", old: "<title>", new: "<script src=OTHER/x.js></script><title>", want: "outside"},
	{name: "request above the folder", check: "local", old: "<h1>", new: `<img src="/x.png" alt=""><h1>`, want: "outside"},
	{name: "request of a name on the net", check: "local", old: "<h1>", new: `<img src="https://attacker.example/x.png" alt=""><h1>`, want: "attacker.example"},
	{name: "dialog", check: "inert", asset: "site.js", new: "alert('hello');", want: `"hello"`},
	{name: "marked window", check: "inert", asset: "site.js", new: "window.__pwned = 1;", want: "__pwned"},
	{name: "named window", check: "inert", asset: "site.js", new: "window.name = 'x';", want: "window.name"},
	{name: "owned title", check: "inert", asset: "site.js", new: "document.title = 'owned';", want: "title"},
	{name: "element from recorded text", check: "inert", old: "&lt;script&gt;", new: "<u>x</u>", want: "in recorded text"},
	{name: "picture from recorded text", check: "inert", old: "&lt;script&gt;", new: "<img src=x>", want: "no <img>"},
	{name: "frame", check: "inert", old: "<h1>", new: "<iframe></iframe><h1>", want: "no <iframe>"},
	{name: "foreign object", check: "inert", old: "<h1>", new: "<svg><foreignObject></foreignObject></svg><h1>", want: "no <foreignObject>"},
	{name: "script in the text", check: "inert", old: "<h1>", new: "<script src=x.js></script><h1>", want: "outside the head"},
	{name: "script in the head", check: "inert", old: "<title>", new: "<script>1</script><title>", want: "a script in the page"},
	{name: "script from elsewhere", check: "inert", old: "<title>", new: "<script src=OTHER/x.js></script><title>", want: "from elsewhere"},
	{name: "handler", check: "inert", old: "<h1>", new: "<h1 onclick=1>", want: "a handler"},
	{name: "style", check: "inert", old: "<h1>", new: `<h1 style="color:red">`, want: "a style"},
	{name: "script address", check: "inert", old: `href="server/"`, new: `href="javascript:alert(1)"`, want: "no web address"},
	{name: "recorded link followed", check: "inert", old: "&lt;script&gt;", new: `<a href="https://x.example/">x</a>`, want: "without nofollow"},
	{name: "recorded link in the clear", check: "inert", old: "&lt;script&gt;", new: `<a rel="nofollow" href="http://x.example/">x</a>`, want: "not https"},
	{name: "too wide", check: "fits", asset: "style.css", new: "h1 { width: 1400px; }", want: "1416"},
	{name: "too wide and hidden", check: "fits", asset: "style.css", new: "h1 { width: 1400px; } html, body { overflow-x: hidden; }", want: "ends at 1416 px of 1280"},
	{name: "too wide for a phone", check: "fits-phone", asset: "style.css", new: "h1 { width: 500px; }", want: "516"},
	{name: "long word on a phone", check: "fits-phone", old: "A page without", new: strings.Repeat("name", 30), want: "px"},
	{name: "label that left its scroll box", check: "fits-phone", asset: "style.css", new: "table { width: 900px; } td { position: absolute; left: 800px; }", want: "ends at"},
	{name: "no dark theme", check: "dark", asset: "style.css", new: "body { background: #fff; color: #000; }", want: "255"},
	{name: "no light theme", check: "light", asset: "style.css", new: "body { background: #000; color: #fff; }", want: "ground"},
	{name: "field without a label", check: "axe", old: "<label ", new: "<span ", want: "label"},
	{name: "too little contrast", check: "axe", asset: "style.css", new: "h1 { color: #aaa; }", want: "color-contrast"},
	{name: "too little contrast in the dark", check: "axe-dark", asset: "style.css", new: "h1 { color: #333; }", want: "color-contrast"},
	{name: "two pages' worth of main", check: "axe", old: "</main>", new: "</main><main></main>", want: "landmark"},
	{name: "heading left out", check: "axe", old: "</main>", new: "<h4>x</h4></main>", want: "heading-order"},
	{name: "pale text in a drawing", check: "drawn", asset: "style.css", new: "svg text { fill: #999; }", want: "2.8 to 1"},
	{name: "details closed on paper", check: "printed", asset: "style.css", new: "@media print { details::details-content { content-visibility: hidden; } }", want: "closed on paper"},
	{name: "wide table on paper", check: "printed", asset: "style.css", new: "table { width: 900px; }", want: "cut off on paper"},
	{name: "too wide for paper", check: "printed", asset: "style.css", new: "h1 { width: 900px; }", want: "916"},
	{name: "no skip link", check: "keyboard", old: `class="skip" href="#content"`, new: `class="skip" href="server/"`, want: "first stop"},
	{name: "skip link that leads nowhere", check: "skip-link", old: `<main id="content" tabindex="-1">`, new: `<main id="content" tabindex="-1" inert>`, want: "<main>"},
	{name: "invisible focus", check: "keyboard", asset: "style.css", new: "a:focus-visible { outline: none; }", want: "no visible focus"},
	{name: "focus out of sight", check: "keyboard", asset: "style.css", new: ".skip:focus { left: -999px; }", want: "out of sight"},
	{name: "keyboard trap", check: "keyboard", asset: "site.js", new: "input.addEventListener('keydown', (e) => { if (e.key === 'Tab') e.preventDefault(); });", want: "does not leave"},
	{name: "search out of reach", check: "search", asset: "site.js", new: "input.tabIndex = -1;", want: "the Tab key leads to"},
	{name: "search that offers nothing", check: "search", asset: "site.js", new: "found.remove();", want: "nothing is offered"},
	{name: "arrow key without effect", check: "search", asset: "site.js", new: "input.addEventListener('keydown', (e) => { if (e.key === 'ArrowDown') e.stopImmediatePropagation(); }, true);", want: "arrow key"},
	{name: "search that leads elsewhere", check: "search", asset: "site.js", new: "input.addEventListener('keydown', (e) => { if (e.key === 'Enter') { e.stopImmediatePropagation(); location.href = './?x'; } }, true);", want: "lead to"},
	{name: "text only with a script", check: "no-script", asset: "site.js", new: "document.querySelector('main').append('more');", want: "the first difference"},
	{name: "empty without a script", check: "no-script", asset: "style.css", new: "@media (scripting: none) { main > * { display: none; } }", want: "<main> says only"},
	{name: "style sheet from the root", check: "as-file", old: "assets/style.css", new: "/sub/assets/style.css", want: "body"},
}

func TestFaultlessPage(t *testing.T) {
	b := newBench(t)
	for name, run := range runs {
		if bad := run(t, b); len(bad) > 0 {
			t.Errorf("%s of a page without faults = %q, want none", name, bad)
		}
	}
}

// Each check is seen to fail.
func TestSeededFaults(t *testing.T) {
	b := newBench(t)
	for _, s := range seeds {
		t.Run(s.name, func(t *testing.T) {
			if s.asset == "" {
				b.with(t, s.old, s.new)
			} else {
				b.write(t, "index.html", b.good)
				name := "assets/" + s.asset
				good, err := os.ReadFile(filepath.Join("testdata", "site", filepath.FromSlash(name)))
				if err != nil {
					t.Fatal(err)
				}
				b.write(t, name, string(good)+"\n"+strings.ReplaceAll(s.new, "OTHER", b.other))
				defer b.write(t, name, string(good))
			}
			bad := runs[s.check](t, b)
			if !strings.Contains(strings.Join(bad, "\n"), s.want) || len(bad) == 0 {
				t.Errorf("%s = %q, want it to say %q", s.check, bad, s.want)
			}
		})
	}
}
