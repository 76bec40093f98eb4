package target

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// row returns a registry row in the shape of the API.
func row(name, version, remotes, official string) record.ListingRow {
	return record.ListingRow{Name: name, Bytes: fmt.Sprintf(
		`{"server":{"name":%q,"version":%q,"remotes":%s},"_meta":{"io.modelcontextprotocol.registry/official":%s}}`,
		name, version, remotes, official)}
}

// marked is the official block of a version published on that day of May.
func marked(latest string, day int) string {
	return fmt.Sprintf(`{"status":"active","publishedAt":"2026-05-%02dT00:00:00Z","updatedAt":"2026-05-%02dT00:00:00Z","isLatest":%s}`, day, day, latest)
}

const active = `{"status":"active","publishedAt":"2026-05-01T00:00:00Z","isLatest":true}`

// at returns remotes with one endpoint.
func at(url string) string { return fmt.Sprintf(`[{"type":"streamable-http","url":%q}]`, url) }

func TestChooseVersion(t *testing.T) {
	ambiguous := []record.Flag{record.FlagLatestAmbiguous}
	tests := []struct {
		name    string
		rows    []record.ListingRow
		version string // "none" when there is no target
		flags   []record.Flag
	}{
		{"one, marked", []record.ListingRow{row("a/a", "1.0.0", `[]`, active)}, "1.0.0", nil},
		{"one, not marked", []record.ListingRow{row("a/a", "1.0.0", `[]`, marked("false", 1))}, "1.0.0", ambiguous},
		{"one, mark null", []record.ListingRow{row("a/a", "1.0.0", `[]`, marked("null", 1))}, "1.0.0", ambiguous},
		{"mark is a string", []record.ListingRow{row("a/a", "1.0.0", `[]`, marked(`"true"`, 1))}, "1.0.0", ambiguous},
		{"no official block", []record.ListingRow{row("a/a", "1.0.0", `[]`, `null`)}, "1.0.0", ambiguous},
		{"marked beats higher and later", []record.ListingRow{
			row("a/a", "2.0.0", `[]`, marked("false", 9)), row("a/a", "1.0.0", `[]`, marked("true", 1))}, "1.0.0", nil},
		{"two marked, later publication", []record.ListingRow{
			row("a/a", "1.0.0", `[]`, marked("true", 9)), row("a/a", "2.0.0", `[]`, marked("true", 1))}, "1.0.0", ambiguous},
		{"two marked, same publication, higher version", []record.ListingRow{
			row("a/a", "1.10.0", `[]`, marked("true", 1)), row("a/a", "1.9.0", `[]`, marked("true", 1))}, "1.10.0", ambiguous},
		{"none marked, by precedence and not as text", []record.ListingRow{
			row("a/a", "1.9.0", `[]`, marked("false", 9)), row("a/a", "1.10.0", `[]`, marked("false", 1))}, "1.10.0", ambiguous},
		{"none marked, release before its prerelease", []record.ListingRow{
			row("a/a", "2.0.0-beta.1", `[]`, marked("false", 9)), row("a/a", "2.0.0", `[]`, marked("false", 1))}, "2.0.0", ambiguous},
		{"none marked, semantic before other", []record.ListingRow{
			row("a/a", "2026-05", `[]`, marked("false", 9)), row("a/a", "0.0.1", `[]`, marked("false", 1))}, "0.0.1", ambiguous},
		{"none marked, two numbers are not semantic", []record.ListingRow{
			row("a/a", "9.0", `[]`, marked("false", 9)), row("a/a", "0.0.1", `[]`, marked("false", 1))}, "0.0.1", ambiguous},
		{"none marked, with and without v", []record.ListingRow{
			row("a/a", "v1.2.0", `[]`, marked("false", 1)), row("a/a", "1.1.0", `[]`, marked("false", 9))}, "v1.2.0", ambiguous},
		{"none marked, none semantic, later publication", []record.ListingRow{
			row("a/a", "zulu", `[]`, marked("false", 1)), row("a/a", "alpha", `[]`, marked("false", 9))}, "alpha", ambiguous},
		{"none marked, builds differ, later publication", []record.ListingRow{
			row("a/a", "1.0.0+b9", `[]`, marked("false", 1)), row("a/a", "1.0.0+b1", `[]`, marked("false", 9))}, "1.0.0+b1", ambiguous},
		{"deleted marked one does not count", []record.ListingRow{
			row("a/a", "2.0.0", `[]`, strings.Replace(active, "active", "deleted", 1)), row("a/a", "1.0.0", `[]`, marked("false", 1))}, "1.0.0", ambiguous},
		{"deprecated counts", []record.ListingRow{row("a/a", "1.0.0", `[]`, strings.Replace(active, "active", "deprecated", 1))}, "1.0.0", nil},
		{"only deleted", []record.ListingRow{row("a/a", "1.0.0", `[]`, strings.Replace(active, "active", "deleted", 1))}, "none", nil},
		{"listed twice", []record.ListingRow{row("a/a", "1.0.0", `[]`, active), row("a/a", "1.0.0", `[]`, active)}, "1.0.0", nil},
		{"listed twice, deleted in between", []record.ListingRow{
			row("a/a", "1.0.0", `[]`, marked("true", 1)), row("a/a", "1.0.0", `[]`, strings.Replace(marked("true", 2), "active", "deleted", 1))}, "none", nil},
		{"unreadable beside a readable one", []record.ListingRow{{Name: "a/a", Bytes: `{"server":7}`}, row("a/a", "1.0.0", `[]`, active)}, "1.0.0", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Choose(tt.rows, OptOut{})
			if tt.version == "none" {
				if len(got) != 0 {
					t.Fatalf("Choose(rows) = %+v, want no target", got)
				}
				return
			}
			if len(got) != 1 || got[0].Version != tt.version || !cmp.Equal(got[0].Flags, tt.flags) {
				t.Fatalf("Choose(rows) = %+v, want version %s, flags %v", got, tt.version, tt.flags)
			}
			if (len(got[0].Warnings) > 0) != (len(tt.flags) > 0) {
				t.Errorf("Choose(rows) warns %q with flags %v", got[0].Warnings, got[0].Flags)
			}
		})
	}
}

func TestChooseEndpoint(t *testing.T) {
	long := "https://a.example/" + strings.Repeat("x", MaxURL-len("https://a.example/"))
	tests := []struct {
		name     string
		remotes  string
		endpoint string
		reason   record.Detail
	}{
		{"plain", at("https://a.example/mcp"), "https://a.example/mcp", ""},
		{"first of two", `[{"type":"streamable-http","url":"https://a.example/1"},{"type":"streamable-http","url":"https://a.example/2"}]`, "https://a.example/1", ""},
		{"after sse", `[{"type":"sse","url":"https://a.example/sse"},{"type":"streamable-http","url":"https://a.example/mcp"}]`, "https://a.example/mcp", ""},
		{"after null", `[null,7,{"type":"streamable-http","url":"https://a.example/mcp"}]`, "https://a.example/mcp", ""},
		{"verbatim", at("HTTPS://API.Example.com:443/A%2fb//?q=%20#frag"), "HTTPS://API.Example.com:443/A%2fb//?q=%20#frag", ""},
		{"http", at("http://a.example"), "http://a.example", ""},
		{"address", at("https://[2001:db8::1]:8443/mcp"), "https://[2001:db8::1]:8443/mcp", ""},
		{"headers are no obstacle", `[{"type":"streamable-http","url":"https://a.example/mcp","headers":[{"name":"Authorization","isRequired":true}]}]`, "https://a.example/mcp", ""},
		{"longest", at(long), long, ""},

		{"template", at("https://{region}.example/mcp"), "", record.DetailURLTemplate},
		{"template with default", `[{"type":"streamable-http","url":"https://a.example/{r}","variables":{"r":{"default":"eu"}}}]`, "", record.DetailURLTemplate},
		{"template is the whole URL", at("{baseUrl}/mcp"), "", record.DetailURLTemplate},
		{"template is not skipped", `[{"type":"streamable-http","url":"https://{r}.example/"},{"type":"streamable-http","url":"https://a.example/"}]`, "", record.DetailURLTemplate},
		{"closing brace alone", at("https://a.example/}"), "", record.DetailURLTemplate},

		{"not a web URL", at("ftp://a.example/mcp"), "", record.DetailBadURL},
		{"no scheme", at("a.example/mcp"), "", record.DetailBadURL},
		{"no host", at("https:///mcp"), "", record.DetailBadURL},
		{"opaque", at("https:a.example"), "", record.DetailBadURL},
		{"port alone", at("https://:443/mcp"), "", record.DetailBadURL},
		{"dot for a host", at("https://./mcp"), "", record.DetailBadURL},
		{"fragment", at("#mcp"), "", record.DetailBadURL},
		{"user", at("https://u@a.example/mcp"), "", record.DetailBadURL},
		{"empty user", at("https://@a.example/mcp"), "", record.DetailBadURL},
		{"port too high", at("https://a.example:65536/mcp"), "", record.DetailBadURL},
		{"port zero", at("https://a.example:0/mcp"), "", record.DetailBadURL},
		{"no name to look up", at("https://xn--ü.example/mcp"), "", record.DetailBadURL},
		{"line break", at("https://a.example/m\ncp"), "", record.DetailBadURL},
		{"space", at("https://a.example/m cp"), "", record.DetailBadURL},
		{"broken escape", at("https://a.example/%zz"), "", record.DetailBadURL},
		{"lone surrogate", `[{"type":"streamable-http","url":"https://a.example/\ud800"}]`, "", record.DetailBadURL},
		{"too long", at(long + "x"), "", record.DetailBadURL},
		{"empty", at(""), "", record.DetailBadURL},
		{"no URL", `[{"type":"streamable-http"}]`, "", record.DetailBadURL},
		{"null URL", `[{"type":"streamable-http","url":null}]`, "", record.DetailBadURL},

		{"sse only", `[{"type":"sse","url":"https://a.example/sse"}]`, "", record.DetailSSEOnly},
		{"sse and unknown", `[{"type":"sse","url":"https://a.example/sse"},{"type":"ws","url":"wss://a.example"}]`, "", record.DetailSSEOnly},
		{"empty list", `[]`, "", record.DetailNoRemote},
		{"null list", `null`, "", record.DetailNoRemote},
		{"unknown type", `[{"type":"http","url":"https://a.example/mcp"}]`, "", record.DetailNoRemote},
		{"type in another case", `[{"type":"Streamable-HTTP","url":"https://a.example/mcp"}]`, "", record.DetailNoRemote},
		{"member in another case", `[{"Type":"streamable-http","URL":"https://a.example/mcp"}]`, "", record.DetailNoRemote},

		{"remotes is an object", `{"type":"streamable-http","url":"https://a.example/mcp"}`, "", record.DetailMalformed},
		{"remotes is a string", `"https://a.example/mcp"`, "", record.DetailMalformed},
		{"URL is a number", `[{"type":"streamable-http","url":7}]`, "", record.DetailMalformed},
		{"element is a string", `["https://a.example/mcp"]`, "", record.DetailMalformed},
		{"two URLs", `[{"type":"streamable-http","url":"https://a.example/1","url":"https://a.example/2"}]`, "", record.DetailMalformed},
		{"two types", `[{"type":"sse","type":"streamable-http","url":"https://a.example/2"}]`, "", record.DetailMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Choose([]record.ListingRow{row("a/a", "1.0.0", tt.remotes, active)}, OptOut{})
			if len(got) != 1 || got[0].Endpoint != tt.endpoint || got[0].Reason != tt.reason {
				t.Errorf("Choose(%.200s) = %+v, want endpoint %q, reason %q", tt.remotes, got, tt.endpoint, tt.reason)
			}
		})
	}
}

// A package's transport is not a remote, though it has the same shape.
func TestPackageTransportIsNoRemote(t *testing.T) {
	r := record.ListingRow{Name: "a/a", Bytes: `{"server":{"name":"a/a","packages":[{"transport":{"type":"streamable-http","url":"http://localhost:3000/mcp"}}]}}`}
	got := Choose([]record.ListingRow{r}, OptOut{})
	if len(got) != 1 || got[0].Reason != record.DetailNoRemote {
		t.Errorf("Choose(%s) = %+v, want %s", r.Bytes, got, record.DetailNoRemote)
	}
}

func TestChooseHostileRows(t *testing.T) {
	deep := strings.Repeat(`{"server":`, 200_000)
	nested := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	big := strings.Repeat("x", 1<<20)
	tests := []struct {
		name, bytes string
		reason      record.Detail
	}{
		{"empty", ``, record.DetailMalformed},
		{"not JSON", `<html>`, record.DetailMalformed},
		{"null", `null`, record.DetailMalformed},
		{"cut", `{"server":{"name":"a/a"`, record.DetailMalformed},
		{"trailing", `{"server":{"name":"a/a"}} {}`, record.DetailMalformed},
		{"server null", `{"server":null}`, record.DetailMalformed},
		{"two servers", `{"server":{"name":"a/a"},"server":{"name":"a/a"}}`, record.DetailMalformed},
		{"two remotes", `{"server":{"remotes":[],"remotes":[]}}`, record.DetailMalformed},
		{"deep objects", deep, record.DetailMalformed},
		{"deep arrays", strings.Repeat("[", 1<<20), record.DetailMalformed},
		{"nested remotes", `{"server":{"remotes":` + nested + `}}`, record.DetailMalformed},
		{"null everywhere", `{"server":{"name":null,"version":null,"remotes":null},"_meta":null}`, record.DetailNoRemote},
		{"meta is a list", `{"server":{"remotes":[]},"_meta":[]}`, record.DetailNoRemote},
		{"numbers everywhere", `{"server":{"version":1,"remotes":[{"type":1,"url":1}]},"_meta":{"io.modelcontextprotocol.registry/official":{"status":1,"publishedAt":1,"isLatest":1}}}`, record.DetailMalformed},
		{"large URL", `{"server":{"remotes":[{"type":"streamable-http","url":"https://a.example/` + big + `"}]}}`, record.DetailBadURL},
		{"large version", `{"server":{"version":"` + big + `","remotes":[]}}`, record.DetailNoRemote},
		{"duplicate elsewhere", `{"server":{"x":{"a":1,"a":2},"remotes":[]}}`, record.DetailNoRemote},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Choose([]record.ListingRow{{Name: "a/a", Bytes: tt.bytes}, {Name: "", Bytes: tt.bytes}}, OptOut{})
			if len(got) != 1 || got[0].Endpoint != "" || got[0].Reason != tt.reason {
				t.Errorf("Choose(%.80s) = %d targets, want one with reason %s", tt.bytes, len(got), tt.reason)
				if len(got) == 1 {
					t.Errorf("reason = %q", got[0].Reason)
				}
			}
		})
	}
}

// Names are compared byte for byte, order is that of first occurrence, and
// targets are numbered without gaps.
func TestChooseOrder(t *testing.T) {
	deleted := `{"status":"deleted","isLatest":true}`
	rows := []record.ListingRow{
		row("io.github.Foo/x", "1.0.0", `[]`, active),
		row("gone/gone", "1.0.0", `[]`, deleted),
		{Bytes: `{}`},
		row("io.github.foo/x", "1.0.0", `[]`, active),
		row("io.github.Foo/x", "0.9.0", `[]`, marked("false", 1)),
		row("a/a", "1.0.0", `[]`, active),
	}
	var got []string
	for _, target := range Choose(rows, OptOut{}) {
		got = append(got, fmt.Sprint(target.Position, " ", target.Name))
	}
	want := []string{"1 io.github.Foo/x", "2 io.github.foo/x", "3 a/a"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Choose(rows) in another order (-want +got):\n%s", d)
	}
}

func TestCases(t *testing.T) {
	type caseFile struct {
		ID    string
		Input json.RawMessage
	}
	only := func(t *testing.T, rows []record.ListingRow) Target {
		t.Helper()
		got := Choose(rows, OptOut{})
		if len(got) != 1 {
			t.Fatalf("Choose(rows) = %d targets, want 1", len(got))
		}
		return got[0]
	}
	named := func(raw []json.RawMessage) (rows []record.ListingRow) {
		for _, b := range raw {
			var r struct{ Server struct{ Name string } }
			if err := json.Unmarshal(b, &r); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, record.ListingRow{Name: r.Server.Name, Bytes: string(b)})
		}
		return rows
	}
	tests := map[string]func(t *testing.T, input []byte){
		"d-005": func(t *testing.T, _ []byte) { // the malformed entry of page 3
			got := only(t, []record.ListingRow{row("a/a", "1.0.0", `{"type":"streamable-http"}`, active)})
			if got.Reason != record.DetailMalformed {
				t.Errorf("reason = %q, want malformed", got.Reason)
			}
		},
		"d-006": func(t *testing.T, input []byte) {
			var in struct{ Day1, Day2, Day30 []json.RawMessage }
			decode(t, input, &in)
			a, b := only(t, named(in.Day1)), only(t, named(in.Day30))
			if gone := Choose(named(in.Day2), OptOut{}); len(gone) != 0 {
				t.Errorf("targets of day 2 = %v, want none", gone)
			}
			if a.Name != b.Name || a.Endpoint != b.Endpoint || a.Version == b.Version {
				t.Errorf("targets of day 1 and 30 = %+v, %+v; want the same name and endpoint, another version", a, b)
			}
		},
		"d-008": func(t *testing.T, input []byte) {
			var in struct{ Rows []json.RawMessage }
			decode(t, input, &in)
			got := only(t, named(in.Rows))
			if got.Version != "1.0.0" || got.Reason != record.DetailNoRemote || len(got.Flags) != 0 {
				t.Errorf("target = %+v, want that of the version marked as the latest, 1.0.0, without remote", got)
			}
		},
		"d-010": func(t *testing.T, input []byte) {
			var in struct {
				None []json.RawMessage `json:"rows_none"`
				Two  []json.RawMessage `json:"rows_two"`
			}
			decode(t, input, &in)
			for _, rows := range [][]json.RawMessage{in.None, in.Two} {
				got := only(t, named(rows))
				want := []string{"isLatest missing/ambiguous for q/q"}
				if got.Version != "1.1.0" || !cmp.Equal(got.Warnings, want) || !cmp.Equal(got.Flags, []record.Flag{record.FlagLatestAmbiguous}) {
					t.Errorf("target = %+v, want version 1.1.0 with a flag and the warning %q", got, want)
				}
			}
		},
		"d-012": func(t *testing.T, input []byte) {
			var in struct{ Remote json.RawMessage }
			decode(t, input, &in)
			if got := only(t, []record.ListingRow{row("a/a", "1.0.0", "["+string(in.Remote)+"]", active)}); got.Reason != record.DetailURLTemplate || got.Endpoint != "" {
				t.Errorf("target = %+v, want url_template", got)
			}
		},
		"d-014": func(t *testing.T, input []byte) {
			var in struct{ Day1, Day2 string }
			decode(t, input, &in)
			for _, u := range []string{in.Day1, in.Day2} {
				if got := only(t, []record.ListingRow{row("a/a", "1.0.0", at(u), active)}); got.Endpoint != u {
					t.Errorf("endpoint = %q, want %q verbatim", got.Endpoint, u)
				}
			}
			if a, b := Host(in.Day1), Host(in.Day2); a != b || a != "api.example.com:443" {
				t.Errorf("hosts = %q, %q; want api.example.com:443 for both", a, b)
			}
		},
		"d-017": func(t *testing.T, input []byte) {
			var in struct{ Names []string }
			decode(t, input, &in)
			var rows []record.ListingRow
			for _, n := range in.Names {
				rows = append(rows, row(n, "1.0.0", `[]`, active))
			}
			var got []string
			for _, target := range Choose(rows, OptOut{}) {
				got = append(got, target.Name)
			}
			if d := cmp.Diff(in.Names, got); d != "" {
				t.Errorf("names (-want +got):\n%s", d)
			}
		},
	}
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) != len(tests) {
		t.Fatalf("%d case files, %v; want one for each of %d tests", len(files), err, len(tests))
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c caseFile
		decode(t, b, &c)
		t.Run(c.ID, func(t *testing.T) {
			test, ok := tests[c.ID]
			if !ok {
				t.Fatalf("case %s has no test", c.ID)
			}
			test(t, c.Input)
		})
	}
}

func decode(t *testing.T, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

// Choose gives one target per name, the same for every order of the rows but for
// positions, and twice the same for the same rows.
func TestChooseProperties(t *testing.T) {
	pick := func(t *rapid.T, label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	rapid.Check(t, func(t *rapid.T) {
		var rows []record.ListingRow
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			name := pick(t, "name", "a/a", "A/a", "b/b", "")
			official := fmt.Sprintf(`{"status":%s,"publishedAt":%s,"updatedAt":%s,"isLatest":%s}`,
				pick(t, "status", `"active"`, `"deleted"`, `null`),
				pick(t, "published", `"2026-05-01T00:00:00Z"`, `"2026-05-02T00:00:00.5Z"`, `null`, `"yesterday"`),
				pick(t, "updated", `"2026-05-01T00:00:00Z"`, `"2026-05-02T00:00:00Z"`, `null`),
				pick(t, "latest", `true`, `false`, `null`))
			r := row(name, pick(t, "version", "1.0.0", "1.10.0", "1.9.0", "1.0.0+a", "1.0.0+b", "2026", "", "v2.0.0-rc.1"),
				pick(t, "remotes", `null`, `[]`, `{}`, at("https://a.example/"), at("https://b.example/"), at("{x}"), `[{"type":"sse"}]`), official)
			if pick(t, "cut", "no", "no", "no", "yes") == "yes" {
				r.Bytes = r.Bytes[:len(r.Bytes)/2]
			}
			rows = append(rows, r)
		}
		byName := func(targets []Target) map[string]Target {
			m := make(map[string]Target)
			for i, target := range targets {
				if target.Position != i+1 {
					t.Fatalf("position of target %d = %d", i, target.Position)
				}
				if _, ok := m[target.Name]; ok || target.Name == "" {
					t.Fatalf("two targets, or one without a name: %q", target.Name)
				}
				if (target.Endpoint == "") == (target.Reason == "") {
					t.Fatalf("target %+v has not exactly one of endpoint and reason", target)
				}
				target.Position = 0
				m[target.Name] = target
			}
			return m
		}
		want := byName(Choose(rows, OptOut{}))
		got := byName(Choose(rapid.Permutation(rows).Draw(t, "order"), OptOut{}))
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("Choose depends on the order of rows (-want +got):\n%s", d)
		}
	})
}
