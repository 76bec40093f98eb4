package site

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/drift"
	"github.com/mcpstrata/mcpstrata/internal/fingerprint"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
)

func TestRegistryFacts(t *testing.T) {
	row := func(server, meta string) string { return `{"server":` + server + `,"_meta":` + meta + `}` }
	latest := `{"io.modelcontextprotocol.registry/official":{"isLatest":true}}`
	tests := []struct {
		name string
		rows []string
		want Registry
	}{
		{"none", nil, Registry{}},
		{"one", []string{row(`{"title":"T","description":"D","version":"1","repository":{"url":"https://a.example/r"},"websiteUrl":"https://b.example"}`, `{}`)},
			Registry{"T", "D", "1", []Link{{"Repository", "a.example", "https://a.example/r"}, {"Website", "b.example", "https://b.example"}}}},
		{"the latest of three", []string{row(`{"title":"a"}`, `{}`), row(`{"title":"b"}`, latest), row(`{"title":"c"}`, `{}`)}, Registry{Title: "b"}},
		{"the last where none is marked", []string{row(`{"title":"a"}`, `{}`), row(`{"title":"b"}`, `[]`), `nonsense`}, Registry{Title: "b"}},
		{"other kinds", []string{row(`{"title":7,"description":["x"],"repository":"https://a.example","websiteUrl":{}}`, latest)}, Registry{}},
		{"members in another case", []string{row(`{"TITLE":"x"}`, latest)}, Registry{}},
		{"no https", []string{row(`{"repository":{"url":"http://a.example"},"websiteUrl":"javascript:alert(1)"}`, latest)}, Registry{}},
		{"credentials", []string{row(`{"repository":{"url":"https://u:p@a.example/"},"websiteUrl":"https:///x"}`, latest)}, Registry{}},
	}
	for _, tt := range tests {
		got, _ := registryFacts(tt.rows)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: registryFacts (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestExternalIsInert(t *testing.T) {
	l, err := newLink("Website", `https://evil.example/"onclick="alert(1)`)
	if err != nil {
		t.Fatal(err)
	}
	got := string(external(l))
	if strings.Contains(got, `"onclick=`) || !strings.Contains(got, `rel="nofollow ugc noopener noreferrer"`) {
		t.Errorf("external = %s", got)
	}
}

func TestShell(t *testing.T) {
	tests := []struct{ in, want string }{
		{"io.github.foo/bar-1_2", "io.github.foo/bar-1_2"},
		{"x/$(rm -rf ~)", "'x/$(rm -rf ~)'"},
		{"x/a'b", `'x/a'\''b'`},
		{"-rf", "'-rf'"},
		{"", "''"},
		{"a\nb", "'a↵b'"},
		{"data/s~!x.json", "'data/s~!x.json'"},
	}
	for _, tt := range tests {
		if got := shell(tt.in); got != tt.want {
			t.Errorf("shell(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestRecorded(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", "—"},
		{"plain", "<bdi data-recorded>plain</bdi>"},
		{`"><b onclick='x'>&amp;`, "<bdi data-recorded>&#34;&gt;&lt;b onclick=&#39;x&#39;&gt;&amp;amp;</bdi>"},
		{"a\u202eb", `<bdi data-recorded>a<abbr class="inv" title="U+202E">RLO</abbr>b</bdi>`},
		{"\xff", `<bdi data-recorded><abbr class="inv" title="byte 0xFF">byte 0xFF</abbr></bdi>`},
		{"\U000E0041\U000E0042", `<bdi data-recorded><abbr class="inv" title="U+E0041">TAG AB</abbr></bdi>`},
	}
	for _, tt := range tests {
		if got := string(recorded(tt.in)); got != tt.want {
			t.Errorf("recorded(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
	if got := string(recorded(strings.Repeat("ü", 2000))); strings.Count(got, "ü") != maxInline || !strings.Contains(got, "…") {
		t.Errorf("recorded of 2,000 characters has %d, want %d and an ellipsis", strings.Count(got, "ü"), maxInline)
	}
}

// A text that is cut still shows each change that fits.
func TestCutSpans(t *testing.T) {
	long := strings.Repeat("ü ", 3000)
	spans, cut := cutSpans(drift.Words(long+"old "+long, long+"new "+long), shownText)
	var kept, changed strings.Builder
	for _, s := range spans {
		if s.Op == drift.Kept {
			kept.WriteString(s.Text)
		} else {
			changed.WriteString(s.Text)
		}
	}
	if !cut || changed.String() != "oldnew" || !strings.Contains(kept.String(), "[…]") || utf8.RuneCountInString(kept.String()) > 4*shownContext {
		t.Errorf("cutSpans kept %q and changed %q, cut %v", kept.String(), changed.String(), cut)
	}
}

func TestCutSpansNeverSplitsACharacter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := drift.Words(rapid.String().Draw(t, "old"), rapid.String().Draw(t, "new"))
		n := rapid.IntRange(1, 40).Draw(t, "n")
		out, cut := cutSpans(spans, n)
		total := 0
		for _, s := range out {
			if !utf8.ValidString(s.Text) {
				t.Fatalf("cutSpans(%+v, %d) splits a character: %q", spans, n, s.Text)
			}
			total += utf8.RuneCountInString(s.Text)
		}
		if total > n+1 {
			t.Fatalf("cutSpans(%+v, %d) has %d characters", spans, n, total)
		}
		if !cut && len(out) != len(spans) {
			t.Fatalf("cutSpans(%+v, %d) is not cut and has %d spans", spans, n, len(out))
		}
	})
}

func TestSinceOf(t *testing.T) {
	change := func(kind, name string) record.ToolChange { return record.ToolChange{Kind: kind, Name: name} }
	since := sinceOf([]report.Version{
		{}, {Changes: []record.ToolChange{change("added", "b"), change("removed", "a")}},
		{Changes: []record.ToolChange{change("changed", "b"), change("added", "a")}},
	})
	for name, want := range map[string]int{"a": 2, "b": 1, "c": 0} {
		if got := since[name]; got != want {
			t.Errorf("%s is since version index %d, want %d", name, got, want)
		}
	}
}

func TestTypeOf(t *testing.T) {
	tests := []struct{ schema, want string }{
		{`{"type":"string"}`, "string"},
		{`{"type":["string","null"]}`, "string or null"},
		{`{"type":"array","items":{"type":"integer"}}`, "array of integer"},
		{`{"type":"array"}`, "array"},
		{`{"enum":["a",1]}`, `one of ["a",1]`},
		{`true`, ""},
		{`{"type":7}`, ""},
	}
	for _, tt := range tests {
		v, err := canon.Parse([]byte(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		if got := typeOf(v); got != tt.want {
			t.Errorf("typeOf(%s) = %q, want %q", tt.schema, got, tt.want)
		}
	}
}

func TestPointerOfPath(t *testing.T) {
	got, err := pointer([]any{"servers", "a/b~c", "versions", report.Count(3), "n"})
	if want := "/servers/a~1b~0c/versions/3/n"; err != nil || got != want {
		t.Errorf("pointer = %q, %v, want %q", got, err, want)
	}
	if _, err := pointer([]any{1.5}); err == nil {
		t.Error("a number with a fraction in a path is no error")
	}
}

func TestSiteThatIsTooLarge(t *testing.T) {
	f, err := openFolder(t.TempDir(), "/")
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	f.bytes = maxSite - 3
	if err := f.write("a", []byte("abc")); err != nil {
		t.Errorf("writing up to the bound: %v", err)
	}
	if _, ok := f.write("b", []byte("a")).(*SizeError); !ok {
		t.Error("writing over the bound is no *SizeError")
	}
	for _, name := range []string{"../x", "/x", "a/../b", "a//b", "", ".", MarkerName, "a\\b", "a\nb", "a"} {
		if err := f.write(name, nil); err == nil {
			t.Errorf("writing %q succeeded", name)
		}
	}
}

func TestBasePath(t *testing.T) {
	tests := []struct{ name, marker, want string }{
		{"below a path", "mcpstrata site 1\nbase /mcpstrata/\nindex.html\n", "/mcpstrata/"},
		{"deeper", "base /a/b/\n", "/a/b/"},
		{"the root", "base /\n", "/"},
		{"none", "mcpstrata site 1\n", "/"},
		{"no path", "base mcpstrata/\n", "/"},
		{"no final slash", "base /mcpstrata\n", "/"},
		{"up", "base /../\n", "/"},
		{"two slashes", "base //example.com/\n", "/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, MarkerName), []byte(tt.marker), 0o666); err != nil {
				t.Fatal(err)
			}
			if got := BasePath(os.DirFS(dir)); got != tt.want {
				t.Errorf("BasePath(%q) = %q, want %q", tt.marker, got, tt.want)
			}
		})
	}
}

// Pages show the digests of every tool that they show, until the tools of all
// servers are so many that the site would not fit.
// A server that declares hundreds of hidden names, and others every day, does not
// make its page large.
func TestHandshakesAreBounded(t *testing.T) {
	var m ServerPage
	var events []report.ServerEvent
	names := func(first rune) (list []string) {
		for i := range 200 {
			list = append(list, string(first)+fmt.Sprint(i)+strings.Repeat("\u200b", 60))
		}
		return list
	}
	a, b := &report.Handshake{Capabilities: names('a')}, &report.Handshake{Capabilities: names('b')}
	small := report.ServerEvent{Transition: report.Transition{Kind: record.ServerChanged, From: "1", To: "2"}}
	for range 30 {
		events = append(events, report.ServerEvent{Transition: report.Transition{Kind: record.ServerChanged}, Before: a, After: b})
	}
	events = append(events, small)
	m.sortEvents(events)
	if len(m.Handshake) != 1 || m.Handshake[0] != small || !m.MoreHandshake || m.MoreEvents {
		t.Errorf("of 30 changes of 400 names each, and a small one after them, %d are shown (more: %v), want the small one", len(m.Handshake), m.MoreHandshake)
	}
}

// A digest is shown as its own record spells it.
func TestDigestsText(t *testing.T) {
	const want = "mtl/1 sha256-AA==\nagentavow-v1 refused: no_name"
	got := digestsText([]fingerprint.Digest{
		{Kind: fingerprint.MTL, Value: "00", Published: "sha256-AA=="},
		{Kind: fingerprint.AgentAvow, Refused: fingerprint.RefusedNoName},
	})
	if got != want {
		t.Errorf("digestsText = %q, want %q", got, want)
	}
}

func TestShownDigests(t *testing.T) {
	for _, tt := range []struct {
		tools report.Count
		want  int
	}{{0, shownTools}, {digestsBudget / toolDigests, shownTools}, {digestsBudget/toolDigests + 1, fewDigests}} {
		b := &builder{newest: &line{report: &report.Report{Population: report.Population{Tools: tt.tools}}}}
		if got := b.shownDigests(); got != tt.want {
			t.Errorf("shownDigests of %d tools = %d, want %d", tt.tools, got, tt.want)
		}
	}
}
