package site_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/fingerprint"
	"github.com/mcpstrata/mcpstrata/internal/site"
)

// A hit is what the files of digests say of one digest.
type hit struct{ kind, path, days string }

// lookUp finds a digest as the page says that it is done by hand.
func lookUp(t *testing.T, s *siteFiles, digest string) (hits []hit) {
	t.Helper()
	file, ok := s.files["lookup/"+digest[:2]+".txt"]
	if !ok {
		t.Fatalf("there is no file for %s", digest[:2])
	}
	servers := strings.Split(string(s.files["lookup/servers.txt"]), "\n")
	for line := range strings.Lines(string(file)) {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), digest[2:16]+" ")
		if !ok {
			continue
		}
		var kind, days string
		var number int
		if _, err := fmt.Sscan(rest, &kind, &number, &days); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		_, path, _ := strings.Cut(servers[number-1], "\t")
		hits = append(hits, hit{kind, path, days})
	}
	return hits
}

// toolDigest returns one digest of a tool given as JSON.
func toolDigest(t *testing.T, kind, tool string) string {
	t.Helper()
	v, err := canon.Parse([]byte(tool))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range fingerprint.OfTool(v) {
		if d.Kind == kind {
			return d.Value
		}
	}
	t.Fatalf("no digest of the kind %s", kind)
	return ""
}

// Every kind of digest has a code of its own, and the page names it.
func TestLookupKinds(t *testing.T) {
	h := smallHistory(t)
	s := readSite(t, h.build(t, nil), h.report)
	var machine struct {
		Bytes, Entries, Longest int
		Kinds                   []struct{ Code, Of, Title string }
	}
	if err := json.Unmarshal(s.files["lookup/index.json"], &machine); err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, k := range machine.Kinds {
		if len(k.Code) != 1 || codes[k.Code] || k.Title == "" {
			t.Errorf("kind %+v: no code of its own, or no title", k)
		}
		codes[k.Code] = true
	}
	if want := 3 + len(fingerprint.Kinds()); len(machine.Kinds) != want {
		t.Errorf("%d kinds, want %d: ours and those of package fingerprint", len(machine.Kinds), want)
	}
	bytes, lines, longest := len(s.files["lookup/servers.txt"]), 0, 0
	for shard := range 256 {
		b, ok := s.files[fmt.Sprintf("lookup/%02x.txt", shard)]
		if !ok {
			t.Fatalf("there is no file for %02x", shard)
		}
		bytes += len(b)
		longest = max(longest, len(b))
		lines += strings.Count(string(b), "\n")
	}
	if machine.Bytes != bytes || machine.Entries != lines || machine.Longest != longest || lines < 10 {
		t.Errorf("index.json says %d bytes, %d entries, longest %d; the files have %d, %d, %d", machine.Bytes, machine.Entries, machine.Longest, bytes, lines, longest)
	}
}

// A digest leads to the servers that had it and the days on which they did, also
// of a version that is no longer in force and of one that came back.
func TestLookup(t *testing.T) {
	const one, two = `{"name":"one","title":"One","description":"Does one thing.","inputSchema":{"type":"object"}}`, `{"name":"two","title":"Two","description":"Does two.","inputSchema":{"type":"object"}}`
	w := newWorld(t)
	w.add("x/a", "["+one+"]", "")
	w.add("x/b", "["+one+"]", "")
	w.run("2026-05-01", nil)
	w.set("x/a", "["+two+"]")
	w.run("2026-05-02", nil)
	w.run("2026-05-03", nil)
	w.set("x/a", "["+one+"]")
	w.run("2026-05-04", nil)
	h := w.history()
	s := readSite(t, h.build(t, nil), h.report)
	for _, k := range fingerprint.Kinds() {
		if k.Set {
			continue
		}
		got := lookUp(t, s, toolDigest(t, k.Name, two))
		if len(got) != 1 || got[0].path != "s/x/a/" || got[0].days != "20260502-20260503" {
			t.Errorf("the %s of a tool that came and went: %v, want x/a from the 2nd to the 3rd", k.Name, got)
		}
		got = lookUp(t, s, toolDigest(t, k.Name, one))
		kinds := map[string]bool{}
		for i := range got {
			kinds[got[i].kind] = true
			got[i].kind = ""
		}
		want := []hit{{"", "s/x/a/", "20260501-20260501"}, {"", "s/x/a/", "20260504-"}, {"", "s/x/b/", "20260501-"}}
		if !slices.Equal(got, want) || len(kinds) != 1 {
			t.Errorf("the %s of a tool that two have: %v, want %v", k.Name, got, want)
		}
	}
	for _, l := range []string{"v1", "v2"} {
		r, _ := h.report.Line(l)
		v := r.Servers["x/a"].Versions[1]
		for _, d := range append([]canon.Digest{v.Identity}, v.Artifacts...) {
			if got := lookUp(t, s, d.Hex()); len(got) == 0 || got[0].path != "s/x/a/" || got[0].days != "20260502-20260503" {
				t.Errorf("%s of %s: %v, want x/a from the 2nd to the 3rd", d, l, got)
			}
		}
	}
}

// The digests of the tools in force stand on the page and in its JSON, and a
// refusal with its code.
func TestDigestsOnServerPage(t *testing.T) {
	w := newWorld(t)
	w.add("x/a", `[{"name":"one","description":"d","inputSchema":{"type":"object"}},null,{"description":"no name"}]`, "")
	w.run("2026-05-01", nil)
	h := w.history()
	s := readSite(t, h.build(t, nil), h.report)
	var machine struct {
		Contract struct {
			Tools   []json.RawMessage
			Digests struct {
				Kinds []string
				List  map[string]any
				Tools [][]any
			}
		}
	}
	if err := json.Unmarshal(s.files["s/x/a/index.json"], &machine); err != nil {
		t.Fatal(err)
	}
	d := machine.Contract.Digests
	if len(d.Tools) != len(machine.Contract.Tools) || len(d.Tools) != 3 || len(d.Tools[0]) != len(d.Kinds) || len(d.Kinds) == 0 || len(d.Tools[1]) != 0 || len(d.List) == 0 {
		t.Fatalf("digests = %+v", d)
	}
	page := textOf(s.pages["s/x/a/index.html"])
	refused := 0
	for _, i := range []int{0, 2} {
		for _, v := range d.Tools[i] {
			text := fmt.Sprint(v)
			if m, ok := v.(map[string]any); ok {
				refused++
				text = fmt.Sprint("refused: ", m["refused"])
			}
			if !strings.Contains(page, text) {
				t.Errorf("the page lacks %q", text)
			}
		}
	}
	if refused == 0 {
		t.Error("no digest of a tool without a name is refused: the test has nothing to show")
	}
}

// Hostile names and lists leave every line of the files of digests in its form.
func TestLookupOfHostileNames(t *testing.T) {
	w := newWorld(t)
	for _, n := range hostileNames {
		w.add(n, hostileTools, "")
	}
	w.run("2026-05-01", nil)
	h := w.history()
	dir := h.build(t, nil)
	s := readSite(t, dir, h.report)
	lines := strings.Split(strings.TrimSuffix(string(s.files["lookup/servers.txt"]), "\n"), "\n")
	if len(lines) != len(hostileNames) {
		t.Fatalf("the list of servers has %d lines, want %d", len(lines), len(hostileNames))
	}
	for _, line := range lines {
		name, path, ok := strings.Cut(line, "\t")
		if !ok || path != site.ServerPath(name) || !slices.Contains(hostileNames, name) {
			t.Errorf("a line of the list of servers is %q", line)
		}
	}
	if got := lookUp(t, s, toolDigest(t, fingerprint.Definition, `{"description":"nameless"}`)); len(got) != len(hostileNames) {
		t.Errorf("a tool that all have is found at %d servers, want %d", len(got), len(hostileNames))
	}
	again := files(t, h.build(t, nil))
	if !maps.Equal(again, files(t, dir)) {
		t.Error("two builds differ")
	}
}
