package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

func TestReadPageVerbatim(t *testing.T) {
	spaced := `{ "server" : {"name":"a\u002fa","n":1.0e+2,"s":"\u00e9é\u2028"} }`
	tests := []struct {
		name, page string
		rows       []string // as stored
		raw        bool
	}{
		{"as the registry writes", body("", row("a/a"), row("b/b")), []string{row("a/a"), row("b/b")}, false},
		{"no rows", body(""), nil, false},
		{"one row", body("", row("a/a")), []string{row("a/a")}, false},
		{"spaces and escapes stay", `{"servers": [` + spaced + ` , ` + spaced + "],\n \"metadata\":{}}\n", []string{spaced, spaced}, false},
		{"line breaks between rows", "{\"servers\":[\n" + row("a/a") + ",\n" + row("b/b") + ",\n" + row("c/c") + "\n]}", []string{row("a/a"), row("b/b"), row("c/c")}, false},
		{"members before and after", `{"x":"]","metadata":{"count":1},"servers":[` + row("a/a") + `],"y":[{}]}`, []string{row("a/a")}, false},
		{"numbers and literals as rows", `{"servers":[ 1.50 , null , "s" , [1, 2] ]}`, []string{"1.50", "null", `"s"`, "[1, 2]"}, false},
		{"servers of another object", `{"x":{"servers":[1]},"servers":[` + row("a/a") + `]}`, []string{row("a/a")}, false},
		{"escaped member name", `{"server\u0073":[` + row("a/a") + `]}`, []string{row("a/a")}, false},

		{"separators differ", `{"servers":[` + row("a/a") + `,` + row("b/b") + `, ` + row("c/c") + `]}`, []string{row("a/a"), row("b/b"), row("c/c")}, true},
		{"line break in a row", "{\"servers\":[{\n\"server\": {\"name\": \"a/a <b>\"}}]}", []string{`{"server":{"name":"a/a <b>"}}`}, true},
		{"carriage return in a row", "{\"servers\":[{\r\"server\":{}}]}", []string{`{"server":{}}`}, true},
		{"invalid UTF-8 in a row", "{\"servers\":[{\"x\": \"\xff\"}, {\"y\": 1}]}", []string{"{\"x\":\"\uFFFD\"}", `{"y": 1}`}, true},
		{"invalid UTF-8 outside", "{\"servers\":[{\"y\": 1}],\"x\":\"\xff\"}", []string{`{"y": 1}`}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := readPage([]byte(tt.page))
			if err != nil {
				t.Fatalf("readPage(%q) = %v", tt.page, err)
			}
			var got []string
			for _, r := range p.rows {
				got = append(got, r.Bytes)
			}
			if d := cmp.Diff(tt.rows, got); d != "" {
				t.Errorf("rows (-want +got):\n%s", d)
			}
			if (p.Raw != nil) != tt.raw || tt.raw && p.Prefix+p.Separator+p.Suffix != "" || p.Rows != len(tt.rows) {
				t.Errorf("page = %+v, want raw %v, %d rows", p.Page, tt.raw, len(tt.rows))
			}
			b, err := Rebuild(p.Page, got)
			if err != nil || string(b) != tt.page {
				t.Errorf("Rebuild(page) = %q, %v; want %q", b, err, tt.page)
			}
		})
	}
}

func TestReadPageRefuses(t *testing.T) {
	for _, page := range []string{
		``, `null`, `[]`, `"x"`, `{}`, `{"Servers":[]}`, `{"servers":{}}`, `{"servers":"x"}`, `{"servers":[}`, `{"servers":[]}{}`,
		`{"servers":[]`, `{"servers":[],"servers":[]}`, `{"metadata":{},"servers":[],"metadata":{}}`, "\uFEFF" + `{"servers":[]}`,
		`{"servers":[` + strings.Repeat("[", 100_000), strings.Repeat(`{"servers":`, 100_000),
		`{"servers":[` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `]}`,
	} {
		if p, err := readPage([]byte(page)); err == nil {
			t.Errorf("readPage(%.60q) = %+v, want an error", page, p.Page)
		}
	}
}

func TestReadRow(t *testing.T) {
	long := strings.Repeat("n", record.MaxName)
	tests := []struct{ row, name, reason string }{
		{`{"server":{"name":"a/a"}}`, "a/a", ""},
		{`{"server":{"name":"a\/\u0061"}}`, "a/a", ""},
		{`{"server":{"name":"ü/日本"}}`, "ü/日本", ""},
		{`{"server":{"name":"` + long + `"}}`, long, ""},
		{`{"server":{"name":"a/a","remotes":null}}`, "a/a", ""},
		{`{"server":{"name":"a/a","remotes":[]}}`, "a/a", ""},
		{`{"server":{"name":"a/a","description":"\ud800","x":{"a":1,"a":2}}}`, "a/a", ""},
		{`{"server":{"name":"a/a","remotes":{}}}`, "a/a", "remotes: not an array"},
		{"{\"server\":{\"name\":\"a/a\",\"x\":\"\xff\"}}", "a/a", "invalid UTF-8"},
		{"{\"server\":{\"name\":\"a/\xff\"}}", "", "invalid UTF-8"},
		{`{"server":{"name":"a/a` + long + `"}}`, "", "name: longer than 500 bytes"},
		{`{"server":{"name":"a/\ud800"}}`, "", "name: control or replacement characters"},
		{`{"server":{"name":"a/a\n"}}`, "", "name: control or replacement characters"},
		{`{"server":{"name":"a/a\u0085"}}`, "", "name: control or replacement characters"},
		{`{"server":{"name":""}}`, "", "name: not a string, or empty"},
		{`{"server":{"name":null}}`, "", "name: not a string, or empty"},
		{`{"server":{"name":7}}`, "", "name: not a string, or empty"},
		{`{"server":{"Name":"a/a"}}`, "", "name: not there"},
		{`{"server":{"name":"a/a","name":"b/b"}}`, "", `server: member "name" stands twice`},
		{`{"server":[]}`, "", "server: not an object"},
		{`{"server":null}`, "", "server: not an object"},
		{`{"name":"a/a"}`, "", "server: not an object"},
		{`{"server":{"name":"a/a"},"server":{"name":"a/a"}}`, "", `entry: member "server" stands twice`},
		{`null`, "", "entry: not an object"},
		{`7`, "", "entry: not an object"},
	}
	for _, tt := range tests {
		r, m := readRow([]byte(tt.row))
		if r.Name != tt.name || m.Name != tt.name || m.Reason != tt.reason {
			t.Errorf("readRow(%.80q) = %.80q, reason %q; want %.80q, %q", tt.row, r.Name, m.Reason, tt.name, tt.reason)
		}
	}
}

func TestRebuildRefuses(t *testing.T) {
	page := body("", row("a/a"), row("b/b"))
	p, err := readPage([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	raw := p.Page
	raw.Raw = []byte(page + " ")
	short := p.Page
	short.Bytes--
	tests := []struct {
		name string
		page record.Page
		rows []string
	}{
		{"a row changed", p.Page, []string{row("a/a"), row("b/c")}},
		{"another order", p.Page, []string{row("b/b"), row("a/a")}},
		{"a row less", p.Page, []string{row("a/a")}},
		{"a row more", p.Page, []string{row("a/a"), row("b/b"), row("b/b")}},
		{"joined", p.Page, []string{row("a/a") + "," + row("b/b")}},
		{"raw page changed", raw, nil},
		{"another length", short, []string{row("a/a"), row("b/b")}},
	}
	for _, tt := range tests {
		if b, err := Rebuild(tt.page, tt.rows); err == nil {
			t.Errorf("%s: Rebuild(page) = %q, want an error", tt.name, b)
		}
	}
	if p.SHA256 != digest(page) {
		t.Errorf("SHA256 = %s, want that of the page", p.SHA256)
	}
}

// Whatever JSON a page is made of, it is rebuilt byte for byte, its rows are
// those that encoding/json reads, and each is one line.
func TestPageProperties(t *testing.T) {
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n", "\t ", "\r\n"})
	value := rapid.SampledFrom([]string{`null`, `1e5`, `"a,]}b"`, `[1 , {"x":"\u2028"}]`, `{"server":{"name":"a/a"}}`, "{\"server\" :\n{\"name\":\"b/b\"}}", "\"\xff\"", `"é"`})
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		ws := func() { b.WriteString(space.Draw(t, "space")) }
		ws()
		b.WriteByte('{')
		if rapid.Bool().Draw(t, "before") {
			fmt.Fprintf(&b, `"metadata":{"count":%s},`, "7")
		}
		ws()
		b.WriteString(`"servers":`)
		ws()
		b.WriteByte('[')
		for i := range rapid.IntRange(0, 6).Draw(t, "rows") {
			if i > 0 {
				ws()
				b.WriteByte(',')
			}
			ws()
			b.WriteString(value.Draw(t, "row"))
		}
		ws()
		b.WriteByte(']')
		ws()
		b.WriteByte('}')
		ws()
		p, err := readPage(b.Bytes())
		if err != nil {
			t.Fatalf("readPage(%q) = %v", b.Bytes(), err)
		}
		var want struct{ Servers []json.RawMessage }
		if err := json.Unmarshal(b.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		var rows []string
		for i, r := range p.rows {
			if strings.ContainsAny(r.Bytes, "\r\n") {
				t.Fatalf("row %d = %q, has a line break", i, r.Bytes)
			}
			if p.Raw == nil && r.Bytes != string(want.Servers[i]) {
				t.Fatalf("row %d = %q, want %q", i, r.Bytes, want.Servers[i])
			}
			rows = append(rows, r.Bytes)
		}
		if len(rows) != len(want.Servers) {
			t.Fatalf("readPage(%q) = %d rows, want %d", b.Bytes(), len(rows), len(want.Servers))
		}
		got, err := Rebuild(p.Page, rows)
		if err != nil || !bytes.Equal(got, b.Bytes()) {
			t.Fatalf("Rebuild(page) = %q, %v; want %q", got, err, b.Bytes())
		}
	})
}

// What comes over the wire is read or refused, never more.
func FuzzReadPage(f *testing.F) {
	f.Add([]byte(body("c", row("a/a"), row("b/b"))))
	f.Add([]byte("{\"servers\" : [ 1,\n{\"server\":{\"name\":\"\xff\"}}, [ ] ]}"))
	f.Add([]byte(`{"metadata":{"nextCursor":7},"servers":[{}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := readPage(b)
		if err != nil {
			return
		}
		var rows []string
		for _, r := range p.rows {
			rows = append(rows, r.Bytes)
		}
		if got, err := Rebuild(p.Page, rows); err != nil || !bytes.Equal(got, b) {
			t.Errorf("Rebuild(readPage(%q)) = %q, %v", b, got, err)
		}
	})
}
