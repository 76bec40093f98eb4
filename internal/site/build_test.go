package site_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/body"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/site"
)

// sameFiles compares two folders, byte by byte.
func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	x, y := files(t, a), files(t, b)
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if y[name] != x[name] {
			t.Errorf("%s differs between two builds", name)
		}
	}
	if len(x) != len(y) || len(x) < 50 {
		t.Errorf("%d and %d files, want as many, and a whole site", len(x), len(y))
	}
}

func TestSameBytes(t *testing.T) {
	h := recordedFleet(t)
	one := h.build(t, func(c *site.Config) { c.Workers = 1 })
	eight := h.build(t, func(c *site.Config) { c.Workers = 8 })
	sameFiles(t, one, eight)
	again := recordedFleet(t).build(t, nil) // the report computed anew
	sameFiles(t, one, again)
}

// A page depends on its server's files and the report: built alone it is the same.
func TestOnly(t *testing.T) {
	h := recordedFleet(t)
	all := h.build(t, nil)
	changed := ""
	for _, name := range slices.Sorted(maps.Keys(h.report.Servers)) {
		if h.report.Servers[name].Changes > 1 {
			changed = name
			break
		}
	}
	for _, name := range []string{"com.example.hostile/bidi", changed} {
		one := h.build(t, func(c *site.Config) { c.Only = name })
		for _, file := range []string{"index.html", "index.json"} {
			file = site.ServerPath(name) + file
			a, err := os.ReadFile(filepath.Join(all, file))
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(filepath.Join(one, file))
			if err != nil || !bytes.Equal(a, b) {
				t.Errorf("%s built alone differs (%v)", file, err)
			}
		}
		if _, err := os.Stat(filepath.Join(one, "index.html")); err == nil {
			t.Error("the home page was written too, want one server's page")
		}
	}
	cfg := h.config(t.TempDir())
	cfg.Only = "no.such/server"
	_, err := site.Build(t.Context(), cfg)
	if unknown, ok := errors.AsType[*site.UnknownServerError](err); !ok || unknown.Hint() == "" {
		t.Errorf("Build of one page of nobody = %v, want an *UnknownServerError", err)
	}
	// A page built into a whole site leaves the rest alone.
	cfg = h.config(all)
	cfg.Only = "com.example.hostile/bidi"
	marker := func() string { return files(t, all)[site.MarkerName] }
	before := marker()
	whole, err := site.Build(t.Context(), h.config(all))
	if err != nil {
		t.Fatal(err)
	}
	stats, err := site.Build(t.Context(), cfg)
	if err != nil || stats != whole || stats.Written != 0 || stats.Removed != 0 {
		t.Errorf("Build of one page into its site = %+v, %v, want %+v: nothing written or removed, and all of the site counted", stats, err, whole)
	}
	if marker() != before || strings.Count(before, "\n") != whole.Files+2 {
		t.Errorf("the marker lists %d files after a build of one page, want those of the whole site, %d", strings.Count(marker(), "\n")-2, whole.Files)
	}
	if stats, err := site.Build(t.Context(), h.config(all)); err != nil || stats.Removed != 0 || stats.Written != 0 {
		t.Errorf("Build over its own output = %+v, %v, want nothing written or removed", stats, err)
	}
}

// A page depends on its server's files and the report: without all that the tree
// holds of the other servers it is the same.
func TestPageOfOneServersFiles(t *testing.T) {
	h := recordedFleet(t)
	const name = "com.example/weather"
	if h.report.Servers[name].Changes == 0 {
		t.Fatalf("%s never changed", name)
	}
	alone := openHistory(t, h.root)
	alone.report = h.report
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(h.root, "data"))); err != nil {
		t.Fatal(err)
	}
	leaveOnly(t, filepath.Join(dir, archive.Dir), name)
	alone.tree = archive.Open(os.DirFS(dir))
	only := func(c *site.Config) { c.Only = name }
	want, got := files(t, h.build(t, only)), files(t, alone.build(t, only))
	if !maps.Equal(want, got) || len(want) < 2 {
		t.Errorf("the page of %s, %d files, is another without the files of the other servers", name, len(want))
	}
}

// leaveOnly removes from a series whatever is rewritten and is of another server.
func leaveOnly(t *testing.T, series, name string) {
	t.Helper()
	removed := 0
	err := filepath.WalkDir(series, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(series, file)
		if err != nil {
			return err
		}
		switch kind, _, _ := strings.Cut(filepath.ToSlash(rel), "/v1/"); {
		case kind == "contracts", kind == "artifacts":
			if slug := archive.Slug(name); d.Name() != slug+".json" && !strings.HasPrefix(d.Name(), slug+"+") {
				removed++
				return os.Remove(file)
			}
		case kind == "current", strings.HasPrefix(filepath.ToSlash(rel), "roster/rows/"):
			b, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			var kept []byte
			for line := range bytes.Lines(b) {
				if bytes.Contains(line, []byte(`"name":"`+name+`"`)) {
					kept = append(kept, line...)
				} else {
					removed++
				}
			}
			return os.WriteFile(file, kept, 0o666)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if removed < 100 {
		t.Fatalf("only %d files and rows of others were removed", removed)
	}
}

func smallHistory(t *testing.T) *history {
	t.Helper()
	w := newWorld(t, "a/a", "b/b")
	w.run("2026-05-01", nil)
	return w.history()
}

// put writes a file of somebody else's into a folder.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func exists(dir, name string) bool { _, err := os.Lstat(filepath.Join(dir, name)); return err == nil }

// A folder that no build made is refused and left as it is.
func TestOutputFolderThatIsNotOurs(t *testing.T) {
	h := smallHistory(t)
	for _, name := range []string{"thesis.txt", ".git/HEAD", site.MarkerName} {
		dir := t.TempDir()
		put(t, dir, name, "mine")
		_, err := site.Build(t.Context(), h.config(dir))
		if foreign, ok := errors.AsType[*site.FolderError](err); !ok || foreign.Hint() == "" {
			t.Errorf("Build over %s = %v, want a *FolderError with a hint", name, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, name)); string(b) != "mine" {
			t.Errorf("%s is %q, %v after the refusal", name, b, err)
		}
	}
}

// What may stand beside a site is left alone.
func TestFilesBesideTheSite(t *testing.T) {
	h := smallHistory(t)
	dir := t.TempDir()
	put(t, dir, "README.md", "mine")
	put(t, dir, ".gitignore", "mine\n")
	h.build(t, func(c *site.Config) { c.Out = dir })
	for _, name := range []string{"README.md", ".gitignore"} {
		if b, _ := os.ReadFile(filepath.Join(dir, name)); !strings.HasPrefix(string(b), "mine") {
			t.Errorf("%s is now %q", name, b)
		}
	}
}

// A new folder is made, and kept out of the repository around it.
func TestNewOutputFolder(t *testing.T) {
	h := smallHistory(t)
	dir := filepath.Join(t.TempDir(), "deep", "site")
	h.build(t, func(c *site.Config) { c.Out = dir })
	if b, _ := os.ReadFile(filepath.Join(dir, ".gitignore")); string(b) != "*\n" {
		t.Errorf(".gitignore = %q, want all of the output ignored", b)
	}
}

// Of a folder only what a build wrote is removed.
func TestStaleFiles(t *testing.T) {
	h := smallHistory(t).alone()
	dir := h.build(t, nil)
	put(t, dir, "mine.txt", "mine")
	put(t, dir, "s/a/a/mine.txt", "mine")
	fewer := *h.report
	fewer.Servers = map[string]*report.Server{"b/b": h.report.Servers["b/b"]}
	stats, err := site.Build(t.Context(), site.Config{Tree: h.tree, Bodies: h.bodies(), Report: &fewer, Out: dir})
	if err != nil || stats.Removed != 4 {
		t.Errorf("Build of a site without one server = %+v, %v, want 4 files removed", stats, err)
	}
	for name, want := range map[string]bool{
		"s/a/a/index.html": false, "s/a/a/index.json": false, "n/a": false,
		"s/b/b/index.html": true, "mine.txt": true, "s/a/a/mine.txt": true,
	} {
		if exists(dir, name) != want {
			t.Errorf("%s exists: %v, want %v", name, !want, want)
		}
	}
}

// What a build that was cut short wrote is known to the next one.
func TestBuildThatWasCutShort(t *testing.T) {
	h := smallHistory(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := site.Build(ctx, h.config(dir)); !errors.Is(err, context.Canceled) {
		t.Fatalf("Build with a cancelled context = %v", err)
	}
	put(t, dir, site.MarkerName, "mcpstrata site 1\nbase /mcpstrata/\nleft/behind.html\n../outside.txt\n")
	put(t, dir, "left/behind.html", "x")
	put(t, dir, "../outside.txt", "x")
	h.build(t, func(c *site.Config) { c.Out = dir })
	if exists(dir, "left") {
		t.Error("what a build before left behind is still there")
	}
	if !exists(dir, "../outside.txt") {
		t.Error("a file outside the folder was removed")
	}
}

// A build that fails leaves the site of before as it was, and nothing where there
// was none.
func TestBuildThatFails(t *testing.T) {
	h := smallHistory(t)
	changed := *h.report
	changed.ProberVersion = "another" // on every page
	fails := h.config("")
	fails.Report = &changed
	fails.Bodies = body.New(archive.Open(os.DirFS(t.TempDir())), nil) // knows no body
	for _, dir := range []string{h.build(t, nil), t.TempDir()} {
		before := files(t, dir)
		fails.Out = dir
		if _, err := site.Build(t.Context(), fails); err == nil {
			t.Fatal("Build without bodies succeeded")
		}
		if after := files(t, dir); !maps.Equal(before, after) {
			t.Errorf("a build that failed left %d files of %d, or others", len(after), len(before))
		}
	}
}

// files returns what a folder holds, by path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A disk that was full left an empty marker, and a link or a pipe has come into the
// place of a page: the next build writes anew.
func TestFolderThatSuffered(t *testing.T) {
	h := smallHistory(t)
	dir := t.TempDir()
	put(t, dir, site.MarkerName, "")
	h.build(t, func(c *site.Config) { c.Out = dir })
	want := files(t, dir)
	for _, name := range []string{"index.html", "about/index.html"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("report.json", filepath.Join(dir, "index.html")); err != nil {
		t.Skip("no symbolic links here")
	}
	if err := os.Mkdir(filepath.Join(dir, ".mcpstrata-site.new"), 0o777); err != nil {
		t.Fatal(err)
	}
	put(t, dir, ".mcpstrata-site.new/0", "of a build that died")
	h.build(t, func(c *site.Config) { c.Out = dir })
	if got := files(t, dir); !maps.Equal(got, want) {
		t.Errorf("the folder has %d files after it was mended, of %d, or others", len(got), len(want))
	}
}

// A link inside the folder does not lead a build out of it.
func TestLinkOutOfTheOutputFolder(t *testing.T) {
	h := smallHistory(t)
	dir, outside := h.build(t, nil), t.TempDir()
	if err := os.RemoveAll(filepath.Join(dir, "about")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "about")); err != nil {
		t.Skip("no symbolic links here")
	}
	if _, err := site.Build(t.Context(), h.config(dir)); err == nil {
		t.Error("Build through a link out of its folder succeeded")
	}
	if exists(outside, "index.html") {
		t.Error("Build wrote outside its folder")
	}
}

// The site's root is an absolute URL; 404.html links from its path.
func TestBase(t *testing.T) {
	h := smallHistory(t)
	for _, base := range []string{"/x/", "https://example.com", "https://example.com/x", "::", "javascript://x/", "https://u:p@h/", "https://h//evil.example/", "https://h/../", "https://h/%2e%2e/", "https://h/?x=/", "https://h/#/"} {
		cfg := h.config(t.TempDir())
		cfg.Base = base
		if _, err := site.Build(t.Context(), cfg); err == nil {
			t.Errorf("Build with the base %q succeeded", base)
		}
	}
	dir := h.build(t, func(c *site.Config) { c.Base = "http://127.0.0.1:8080/" })
	b, err := os.ReadFile(filepath.Join(dir, "404.html"))
	if err != nil || !bytes.Contains(b, []byte(`href="/assets/style.css"`)) {
		t.Errorf("404.html does not link from the root of its host (%v):\n%s", err, b)
	}
}

// hostileNames are names that the registry's own pattern admits, and worse.
var hostileNames = []string{
	"../..", "x/..", "x/.", "./x", "aux/con", "CON/nul.txt", "x/y.", "x/index.html", "x/index.json", "x/feed.atom",
	"io.github.Foo/Bar", "io.github.foo/bar", "IO.GITHUB.FOO/BAR", "a/b/c", "noslash", "/noslash", "noslash/", "%2e%2e/%2f",
	`"><script>alert(1)</script>/x`, "javascript:alert(1)/x", "x/'onmouseover='alert(1)", "x/{{.Name}}", "x/</title><svg onload=alert(1)>",
	"\u00dcn\u00ef/\u202ecod\u200be", "x/a b?c#d&e=f", "http://evil.example/x", "x/:8080", "x/\u2028y", "n/\u00e9", "n/e\u0301",
}

const hostileTools = `[{"name":"</code><script>alert(1)</script>","title":"\" onclick=\"alert(1)","description":"<img src=x onerror=alert(1)> [x](javascript:alert(1)) \u202ereversed\u202c \udb40\udc41\udb40\udc42 \u001b[31m","annotations":{"title":"t","</bdi>":"<b>"},"inputSchema":{"type":"object","required":["\"><i>"],"properties":{"\"><i>":{"type":["string","<u>"],"description":"<script>"},"__proto__":{"type":7}}}},null,{"name":7},{"description":"nameless"}]`

func TestHostileNamesAndTexts(t *testing.T) {
	w := newWorld(t)
	for i, n := range hostileNames {
		row := ""
		if i == 0 {
			row = `,"title":"<b>\u202e","description":"</p><script>alert(1)</script>","websiteUrl":"javascript:alert(1)","repository":{"url":"https://evil.example/\"><script>"}`
		}
		w.add(n, hostileTools, row)
	}
	w.run("2026-05-01", nil)
	for _, n := range hostileNames {
		w.set(n, strings.ReplaceAll(strings.ReplaceAll(hostileTools, "alert(1)", "alert(2)"), "nameless", "<nameless>"))
	}
	w.run("2026-05-02", nil)
	w.run("2026-05-03", nil) // confirms
	h := w.history()
	if len(h.report.Servers) != len(hostileNames) {
		t.Fatalf("%d servers recorded, want %d", len(h.report.Servers), len(hostileNames))
	}
	s := readSite(t, h.build(t, nil), h.report)
	checkFigures(t, s)
	checkAll(t, s)
	folded := map[string]string{}
	for name := range s.files {
		lower := strings.ToLower(name)
		if other, ok := folded[lower]; ok {
			t.Errorf("%s and %s are one file where case is folded", name, other)
		}
		folded[lower] = name
	}
	for _, n := range hostileNames {
		var machine struct {
			Name     string
			Contract struct{ Tools []json.RawMessage }
			Versions []json.RawMessage
		}
		b := s.files[site.ServerPath(n)+"index.json"]
		if err := json.Unmarshal(b, &machine); err != nil || machine.Name != n || len(machine.Contract.Tools) != 4 || len(machine.Versions) != 2 {
			t.Errorf("index.json of %q has the name %q, %d tools, %d versions (%v)", n, machine.Name, len(machine.Contract.Tools), len(machine.Versions), err)
		}
		if page := s.files[site.ServerPath(n)+"index.html"]; !bytes.Contains(page, []byte("&lt;script&gt;")) || !bytes.Contains(page, []byte(`<abbr class="inv" title="U+202E">RLO</abbr>`)) {
			t.Errorf("the page of %q does not show the text, escaped and with chips", n)
		}
	}
	if list := string(s.files["names.txt"]); strings.Count(list, "\n") != len(hostileNames) {
		t.Errorf("names.txt has %d lines, want %d", strings.Count(list, "\n"), len(hostileNames))
	}
}

// What a server says does not decide how long a page takes, or how long it is.
func TestHugeContracts(t *testing.T) {
	many := func(n int, tag string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"name":"t%d","description":"%s %d","inputSchema":{"type":"object"}}`, i, tag, i))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	words := func(n int, seed int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "w%d ", (i*seed)%(n+7))
		}
		return b.String()
	}
	deep := func(leaf string) string {
		return `[{"name":"deep","inputSchema":` + strings.Repeat(`{"type":"object","properties":{"x":`, 250) + leaf + strings.Repeat("}}", 250) + `}]`
	}
	manyDeep := func(n int, leaf string) string { // 1.2 kB each, and 250 times that when indented
		one := strings.Repeat(`{"items":`, 450) + `{"type":"` + leaf + `"}` + strings.Repeat("}", 450)
		return `[{"name":"deep","inputSchema":{"allOf":[` + strings.Repeat(one+",", n-1) + one + `]}}]`
	}
	text := func(s string) string { return `[{"name":"long","description":"` + s + `","inputSchema":{}}]` }
	tests := []struct{ name, before, after string }{
		{"x/tools", many(4000, "a"), many(4000, "b")},
		{"x/long", text(words(150_000, 3)), text(words(150_000, 5))},
		{"x/deep", deep(`{"type":"string"}`), deep(`{"type":"number"}`)},
		{"x/many-deep", manyDeep(100, "string"), manyDeep(100, "number")},
		{"x/letters", text(strings.Repeat("a.", 200_000)), text(strings.Repeat("b.", 200_000))},
		{"x/chips", text(strings.Repeat(`\u202e`, 100_000)), text(strings.Repeat(`\u202d`, 100_000))},
		{"x/name", `[{"name":"` + strings.Repeat("n", 1_000_000) + `"}]`, `[]`},
	}
	w := newWorld(t)
	for _, tt := range tests {
		w.add(tt.name, tt.before, "")
	}
	w.run("2026-05-01", nil)
	for _, tt := range tests {
		w.set(tt.name, tt.after)
	}
	w.run("2026-05-02", nil)
	h := w.history()
	s := readSite(t, h.build(t, nil), h.report)
	checkAll(t, s)
	for _, tt := range tests {
		for _, file := range []string{"index.html", "index.json"} {
			if n := len(s.files[site.ServerPath(tt.name)+file]); n > 3<<20 || n < 1000 {
				t.Errorf("%s of %s has %d bytes, want some and not too many", file, tt.name, n)
			}
		}
	}
	if b := s.files[site.ServerPath("x/tools")+"index.json"]; !bytes.Contains(b, []byte(`"t3999"`)) {
		t.Error("index.json leaves out tools")
	}
}

// A body that was removed on request is told in words, and so is one whose
// history is not there at all; one that the repository should have ends the build
// and says what to do.
func TestBodiesThatAreGone(t *testing.T) {
	w := newWorld(t, "a/a")
	w.run("2026-05-01", nil)
	first := w.history().report.Servers["a/a"].Versions[0].Artifacts[0]
	w.set("a/a", `[{"name":"two","description":"Does two things."}]`)
	w.run("2026-05-02", nil)
	h := w.history()

	// Another repository, which should have the body and has not.
	other := t.TempDir()
	if err := gitrepo.Init(other); err != nil {
		t.Fatal(err)
	}
	repo, err := gitrepo.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	cfg := h.config(t.TempDir())
	cfg.Bodies = body.New(h.tree, repo)
	_, err = site.Build(t.Context(), cfg)
	if missing, ok := errors.AsType[*body.MissingError](err); !ok || missing.Hint() == "" {
		t.Errorf("Build without the history = %v, want a *body.MissingError", err)
	}

	// No repository at all: the dated files alone.
	s := readSite(t, h.build(t, func(c *site.Config) { c.Bodies = body.New(h.tree, nil) }), h.report)
	whole := readSite(t, h.build(t, nil), h.report)
	if !bytes.Equal(s.files["report.json"], whole.files["report.json"]) {
		t.Error("report.json differs without the history")
	}
	if page := string(s.files["s/a/a/index.html"]); !strings.Contains(page, "lie in the history of the repository") || !strings.Contains(page, "Does two things.") {
		t.Errorf("the page does not say where the earlier text is, or lacks the tools in force:\n%s", page)
	}
	checkFewFigures(t, s)

	line := record.Line(record.Tombstone{Day: "2026-05-03", Reason: "asked", SHA256: first})
	if err := os.WriteFile(filepath.Join(w.root, "data", body.TombstonesPath), line, 0o666); err != nil {
		t.Fatal(err)
	}
	s = readSite(t, h.build(t, nil), h.report)
	if page := string(s.files["s/a/a/index.html"]); !strings.Contains(page, "removed on request") {
		t.Errorf("the page does not say that a text was removed:\n%s", page)
	}
	checkFewFigures(t, s)
	checkAll(t, s)
}

func TestServersPages(t *testing.T) {
	r := &report.Published{Report: report.Report{Servers: map[string]*report.Server{}, Methodology: "v1", AsOf: "2026-05-01", First: "2026-05-01"}}
	w := newWorld(t, "a/a")
	w.run("2026-05-01", nil)
	h := w.history().alone()
	*r = *h.report
	r.Servers = maps.Clone(r.Servers)
	for i := range 900 {
		r.Servers[fmt.Sprintf("b/n%03d", i)] = &report.Server{Listed: "2026-05-01", Since: "2026-05-01", State: "no_data"}
	}
	h.report = r
	s := readSite(t, h.build(t, nil), r)
	for _, name := range []string{"servers/index.html", "servers/2/index.html", "servers/3/index.html", "n/b/index.html", "n/b/3/index.html", "s/b/n899/index.html"} {
		if s.files[name] == nil {
			t.Errorf("%s is not there", name)
		}
	}
	if s.files["servers/4/index.html"] != nil {
		t.Error("there is a fourth page of 901 servers, want 400 a page")
	}
	checkFigures(t, s)
	checkAll(t, s)
}
