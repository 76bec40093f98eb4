package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/jsonrpc"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

func mustRead(t testing.TB, doc string) *Contract {
	t.Helper()
	c, err := ReadDocument([]byte(doc))
	if err != nil {
		t.Fatalf("ReadDocument(%.200q) = %v", doc, err)
	}
	return c
}

func mustIdentity(t testing.TB, c *Contract, form string) canon.Digest {
	t.Helper()
	d, err := c.Identity(form)
	if err != nil {
		t.Fatalf("Identity(%s) = %v", form, err)
	}
	return d
}

func toolNames(c *Contract) []string {
	var names []string
	for _, t := range c.Tools {
		names = append(names, t.Name)
	}
	return names
}

// wantFault checks that doc is refused with that detail, as a body and as a
// document.
func wantFault(t *testing.T, doc string, want record.Detail) {
	t.Helper()
	for name, read := range map[string]func([]byte) (*Contract, error){
		"Read":         func(b []byte) (*Contract, error) { return Read([][]byte{b}) },
		"ReadDocument": ReadDocument,
	} {
		_, err := read([]byte(doc))
		var fault *jsonrpc.Fault
		if !errors.As(err, &fault) || fault.Detail != want {
			t.Errorf("%s(%.200q) = %v, want a fault %s", name, doc, err, want)
		}
	}
}

// page is the body that answers the request for page i, counted from 0.
func page(i int, result string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":%s}`, FirstID+i, result)
}

func TestRead(t *testing.T) {
	const a, b = `{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"b","inputSchema":{"type":"object"}}`
	tests := []struct {
		name  string
		pages [][]byte
		names []string
		flags []record.Flag
		warns []string
	}{
		{name: "no tools", pages: [][]byte{page(0, `{"tools":[]}`)}},
		{name: "one page", pages: [][]byte{page(0, `{"tools":[`+b+`,`+a+`]}`)}, names: []string{"b", "a"}},
		{
			name:  "pages are joined in order",
			pages: [][]byte{page(0, `{"tools":[`+b+`],"nextCursor":"x"}`), page(1, `{"tools":[`+a+`]}`)},
			names: []string{"b", "a"},
		},
		{
			name:  "what stands on two pages is there twice",
			pages: [][]byte{page(0, `{"tools":[`+a+`],"nextCursor":"x"}`), page(1, `{"tools":[`+a+`]}`)},
			names: []string{"a", "a"},
			flags: []record.Flag{record.FlagDuplicateName},
			warns: []string{"duplicate name a (2 entries)"},
		},
		{
			name:  "event stream",
			pages: [][]byte{[]byte("event: message\ndata: " + string(page(0, `{"tools":[`+a+`]}`)) + "\n\n")},
			names: []string{"a"},
		},
		{
			name:  "flags of the envelope",
			pages: [][]byte{[]byte(`{"id":"2","result":{"tools":[` + a + `]}}`)},
			names: []string{"a"},
			flags: []record.Flag{record.FlagIDType, record.FlagNoJSONRPC},
		},
		{
			name:  "each page is asked for with the next id",
			pages: [][]byte{page(0, `{"tools":[]}`), page(0, `{"tools":[]}`)},
			flags: []record.Flag{record.FlagIDMismatch},
		},
		{
			name:  "result type",
			pages: [][]byte{page(0, `{"resultType":"input_required","tools":[]}`), page(1, `{"resultType":null,"tools":[]}`)},
			flags: []record.Flag{record.FlagResultType},
			warns: []string{`resultType is "input_required"`, "resultType is null"},
		},
		{
			name:  "no tools at all",
			pages: [][]byte{page(0, `{"tools":[null,true,1,"a",[]]}`)},
			flags: []record.Flag{record.FlagNotATool},
			warns: []string{"tools[0] is null", "tools[1] is a boolean", "tools[2] is a number", "tools[3] is a string", "tools[4] is an array"},
		},
		{
			name:  "null for a list",
			pages: [][]byte{page(0, `{"tools":null}`)},
			flags: []record.Flag{record.FlagNotATool},
			warns: []string{"tools is null (spec wants an array)"},
		},
		{
			name:  "names",
			pages: [][]byte{page(0, `{"tools":[{"inputSchema":{"type":"object"}},{"name":7,"inputSchema":{"type":"object"}},{"name":"","inputSchema":{"type":"object"}}]}`)},
			names: []string{"", "", ""},
			flags: []record.Flag{record.FlagNoName},
			warns: []string{"tools[0] has no name", "tools[1]: name is a number (spec wants a string)"},
		},
		{
			name: "schemas",
			pages: [][]byte{page(0, `{"tools":[
				{"name":"a"},
				{"name":"b","inputSchema":true,"outputSchema":null},
				{"inputSchema":{"type":["object"]},"outputSchema":{"type":"array"}}]}`)},
			names: []string{"a", "b", ""},
			flags: []record.Flag{record.FlagInputSchema, record.FlagNoName, record.FlagOutputSchema},
			warns: []string{
				"a: inputSchema is missing (spec wants an object)",
				"b: inputSchema is a boolean (spec wants an object)",
				"b: outputSchema is null (spec wants an object)",
				"tools[2] has no name",
				"tools[2]: inputSchema has no type: object",
				"tools[2]: outputSchema has no type: object",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Read(tt.pages)
			if err != nil {
				t.Fatal(err)
			}
			var warns []string
			for _, w := range c.Warnings {
				warns = append(warns, w.Text)
				if !slices.Contains(c.Flags, w.Flag) {
					t.Errorf("warning %q of flag %s, which is not among %q", w.Text, w.Flag, c.Flags)
				}
			}
			if diff := cmp.Diff(tt.names, toolNames(c)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.flags, c.Flags); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.warns, warns); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadFaults(t *testing.T) {
	tests := []struct {
		name string
		body string
		want record.Detail
	}{
		{"empty", "", record.DetailEmpty},
		{"web page", "<!doctype html><p>hello", record.DetailHTML},
		{"cut", `{"jsonrpc":"2.0","id":2,"result":{"tools":[`, record.DetailInvalidJSON},
		{"error object", `{"jsonrpc":"2.0","id":2,"error":{"code":-32001,"message":"no"}}`, record.RPCDetail(-32001)},
		{"result of another kind", `{"jsonrpc":"2.0","id":2,"result":[]}`, record.DetailNotJSONRPC},
		{"result without tools", `{"jsonrpc":"2.0","id":2,"result":{}}`, record.DetailNotJSONRPC},
		{"tools is an object", `{"jsonrpc":"2.0","id":2,"result":{"tools":{}}}`, record.DetailNotJSONRPC},
		{"too many tools", `{"jsonrpc":"2.0","id":2,"result":{"tools":[` + strings.Repeat("{},", MaxTools) + `{}]}}`, record.DetailTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wantFault(t, tt.body, tt.want) })
	}
	t.Run("too many tools over all pages", func(t *testing.T) {
		half := `{"tools":[` + strings.Repeat("{},", MaxTools/2) + `{}]}`
		var fault *jsonrpc.Fault
		if _, err := Read([][]byte{page(0, half), page(1, half)}); !errors.As(err, &fault) || fault.Detail != record.DetailTooLarge {
			t.Errorf("Read = %v, want a fault %s", err, record.DetailTooLarge)
		}
	})
	t.Run("no page", func(t *testing.T) {
		var fault *jsonrpc.Fault
		if _, err := Read(nil); !errors.As(err, &fault) || fault.Detail != record.DetailEmpty {
			t.Errorf("Read(nil) = %v, want a fault %s", err, record.DetailEmpty)
		}
	})
}

// The same tools have the same identity, whatever they are wrapped in.
func TestReadDocument(t *testing.T) {
	const tools = `[{"name":"b","x":[{"k":2},{"k":1}]},{"name":"a","n":1.0}]`
	const response = `{"jsonrpc":"2.0","id":"any","result":{"tools":` + tools + `,"ttlMs":1}}`
	tests := []struct {
		name, doc string
		flags     []record.Flag
	}{
		{"array", tools, nil},
		{"contract file", string(mustRead(t, tools).File()), nil},
		{"result", `{"tools":` + tools + `,"nextCursor":"x","_meta":{}}`, nil},
		{"response with any id", response, nil},
		{"response without jsonrpc", `{"id":2,"result":{"tools":` + tools + `}}`, []record.Flag{record.FlagNoJSONRPC}},
		{"batch", `[` + response + `]`, []record.Flag{record.FlagBatch}},
		{"event stream", "data: " + response + "\n\n", nil},
		{"byte order mark", "\ufeff " + tools, []record.Flag{record.FlagBOM}},
		{"response with a byte order mark", "\ufeff" + response, []record.Flag{record.FlagBOM}},
	}
	want := mustRead(t, tools)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := mustRead(t, tt.doc)
			for _, form := range []string{"v1", "v2"} {
				if got, want := mustIdentity(t, c, form), mustIdentity(t, want, form); got != want {
					t.Errorf("Identity(%s) = %s, want %s", form, got, want)
				}
			}
			tt.flags = append(tt.flags, record.FlagInputSchema)
			slices.Sort(tt.flags)
			if diff := cmp.Diff(tt.flags, c.Flags); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadDocumentFaults(t *testing.T) {
	tests := []struct {
		name, doc string
		want      record.Detail
	}{
		{"object without tools", `{"name":"a"}`, record.DetailNotJSONRPC},
		{"tools is an object", `{"tools":{}}`, record.DetailNotJSONRPC},
		{"array with a duplicate member", `[{"name":"a","name":"b"}]`, record.DetailInvalidJSON},
		{"two documents", `[] []`, record.DetailInvalidJSON},
		{"too many tools", `[` + strings.Repeat("1,", MaxTools) + `1]`, record.DetailTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadDocument([]byte(tt.doc))
			var fault *jsonrpc.Fault
			if !errors.As(err, &fault) || fault.Detail != tt.want {
				t.Errorf("ReadDocument(%.80q) = %v, want a fault %s", tt.doc, err, tt.want)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	const list = `[{"name":"b","k":1.0},{"name":"a"}]`
	c := mustRead(t, list)
	tests := []struct {
		form string
		want canon.Digest
	}{
		{"v1", canon.Sum([]byte(`[{"k":1.0,"name":"b"},{"name":"a"}]`))}, // by text: k before name
		{"v2", canon.Sum([]byte(`[{"name":"a"},{"k":1,"name":"b"}]`))},   // by name
	}
	for _, tt := range tests {
		if got := mustIdentity(t, c, tt.form); got != tt.want {
			t.Errorf("Identity(%s) of %s = %s, want %s", tt.form, list, got, tt.want)
		}
	}
	if d, err := c.Identity("v3"); err == nil {
		t.Errorf("Identity(v3) = %s, want an error", d)
	}
	v2 := canon.Sum([]byte(`[1,null,{"a":0},{"name":"a"}]`))
	if got := mustIdentity(t, mustRead(t, `[{"name":"a"},null,{"a":0},1]`), "v2"); got != v2 {
		t.Errorf("Identity(v2) of a list with null = %s, want %s: what has no name comes first", got, v2)
	}
}

func TestFile(t *testing.T) {
	tests := []struct{ name, list, want string }{
		{"none", `[]`, "[]\n"},
		{
			"by name, then by text; keys sorted, arrays in order, numbers as sent",
			`[{"name":"b"},{"x":[{"k":2},{"k":1}],"name":"a"},{"name":"a","n":1.0}]`,
			"[\n {\n  \"n\": 1.0,\n  \"name\": \"a\"\n },\n {\n  \"name\": \"a\",\n  \"x\": [\n   {\n    \"k\": 2\n   },\n   {\n    \"k\": 1\n   }\n  ]\n },\n {\n  \"name\": \"b\"\n }\n]\n",
		},
		{
			"of one name, by what v1 sorts",
			`[{"name":"a","k":[{"b":1}]},{"name":"a","k":[{"z":1},{"a":1}]}]`,
			"[\n {\n  \"k\": [\n   {\n    \"z\": 1\n   },\n   {\n    \"a\": 1\n   }\n  ],\n  \"name\": \"a\"\n },\n {\n  \"k\": [\n   {\n    \"b\": 1\n   }\n  ],\n  \"name\": \"a\"\n }\n]\n",
		},
		{"a list that holds null stays as sent", `[{"name":"b"},null,{"name":"a"}]`, "[\n {\n  \"name\": \"b\"\n },\n null,\n {\n  \"name\": \"a\"\n }\n]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, string(mustRead(t, tt.list).File())); diff != "" {
				t.Errorf("File (-want +got):\n%s", diff)
			}
		})
	}
}

// lists generates lists of tools with what occurs in them: equal names, equal
// tools, arrays of objects, numbers of several spellings, and elements that are
// no tools.
func lists() *rapid.Generator[[]string] {
	names := rapid.SampledFrom([]string{"a", "b", "\ufb33", "😀", ""})
	values := rapid.SampledFrom([]string{`1`, `1.0`, `null`, `[{"k":2},{"k":1}]`, `[{"k":1},{"k":2}]`, `["y","x"]`, `"é"`})
	return rapid.Custom(func(t *rapid.T) []string {
		n := rapid.IntRange(0, 6).Draw(t, "n")
		mixed := rapid.IntRange(0, 3).Draw(t, "mixed") == 0
		var list []string
		for range n {
			if mixed && rapid.Bool().Draw(t, "other") {
				list = append(list, rapid.SampledFrom([]string{`null`, `0`, `[]`}).Draw(t, "element"))
				continue
			}
			list = append(list, fmt.Sprintf(`{"name":%q,"v":%s}`, names.Draw(t, "name"), values.Draw(t, "value")))
		}
		return list
	})
}

// The contract file has the identity of what it was written from, and writing it
// again changes nothing.
func TestFileKeepsIdentity(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		doc := "[" + strings.Join(lists().Draw(rt, "list"), ",") + "]"
		c := mustRead(t, doc)
		again := mustRead(t, string(c.File()))
		for _, form := range []string{"v1", "v2"} {
			if got, want := mustIdentity(t, again, form), mustIdentity(t, c, form); got != want {
				rt.Fatalf("Identity(%s) of the file of %s = %s, want %s", form, doc, got, want)
			}
		}
		if got, want := string(again.File()), string(c.File()); got != want {
			rt.Fatalf("File of the file of %s = %s, want %s", doc, got, want)
		}
	})
}

// The order of a list of tools is not contract, nor is how it is cut into pages.
func TestOrderIsNotContract(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := lists().Draw(rt, "list")
		cut := rapid.IntRange(0, len(list)).Draw(rt, "cut")
		c := mustRead(t, "["+strings.Join(list, ",")+"]")
		if !c.Mixed() {
			rng := rand.New(rand.NewPCG(1, uint64(cut)))
			rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		paged, err := Read([][]byte{
			page(0, `{"nextCursor":"","tools":[`+strings.Join(list[:cut], ",")+`]}`),
			page(1, `{"tools":[`+strings.Join(list[cut:], ",")+`]}`),
		})
		if err != nil {
			rt.Fatal(err)
		}
		for _, form := range []string{"v1", "v2"} {
			if got, want := mustIdentity(t, paged, form), mustIdentity(t, c, form); got != want {
				rt.Fatalf("Identity(%s) of the pages %q = %s, want %s", form, list, got, want)
			}
		}
		if got, want := string(paged.File()), string(c.File()); got != want {
			rt.Fatalf("File of the pages %q = %s, want %s", list, got, want)
		}
	})
}

// Real contents of tools/list, collected from public servers, not ours to copy.
func TestPayloads(t *testing.T) {
	const dir = "../../../shared/payloads"
	b, err := os.ReadFile(filepath.Join(dir, "SOURCES.json"))
	if err != nil {
		t.Skip("the payloads are not here: ", err)
	}
	var sources []struct {
		File     string
		Tools    *int
		Distinct *int `json:"distinct_names"`
	}
	if err := json.Unmarshal(b, &sources); err != nil {
		t.Fatal(err)
	}
	for _, s := range sources {
		t.Run(s.File, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(dir, s.File))
			if err != nil {
				t.Fatal(err)
			}
			c, err := ReadDocument(b)
			if s.Tools == nil { // the recorder kept the text of an error
				var fault *jsonrpc.Fault
				if !errors.As(err, &fault) {
					t.Errorf("ReadDocument = %v, %v, want a fault", c, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Tools) != *s.Tools || c.Mixed() {
				t.Errorf("%d tools of %d elements, want %d", len(c.Tools), len(c.Elems), *s.Tools)
			}
			names := toolNames(c)
			slices.Sort(names)
			if n := len(slices.Compact(names)); n != *s.Distinct {
				t.Errorf("%d names, want %d", n, *s.Distinct)
			}
			again := mustRead(t, string(c.File()))
			for _, form := range []string{"v1", "v2"} {
				if got, want := mustIdentity(t, again, form), mustIdentity(t, c, form); got != want {
					t.Errorf("Identity(%s) of the file = %s, want %s", form, got, want)
				}
			}
		})
	}
}

// Real answers, byte for byte: what a server lists to a client of 2024-11-05 and
// to one of 2025-11-25 is one contract (protocol.md 1.6), over all pages.
func TestCaptures(t *testing.T) {
	const dir = "../../../shared/captures"
	servers, err := os.ReadDir(dir)
	if err != nil {
		t.Skip("the captures are not here: ", err)
	}
	read := func(server, step string) (*Contract, error) {
		files, err := filepath.Glob(filepath.Join(dir, server, "*-"+step+"-tools-list*.body"))
		if err != nil {
			t.Fatal(err)
		}
		var pages [][]byte
		for _, f := range files { // their names begin with the number of the step
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, b)
		}
		return Read(pages)
	}
	answered := 0
	for _, s := range servers {
		if !s.IsDir() {
			continue
		}
		t.Run(s.Name(), func(t *testing.T) {
			old, oldErr := read(s.Name(), "a-2024-11-05")
			new, newErr := read(s.Name(), "b-2025-11-25")
			if oldErr != nil || newErr != nil {
				for _, err := range []error{oldErr, newErr} {
					var fault *jsonrpc.Fault
					if err != nil && !errors.As(err, &fault) {
						t.Errorf("Read = %v, want a *jsonrpc.Fault", err)
					}
				}
				return
			}
			answered++
			if len(old.Tools) == 0 {
				t.Error("no tools")
			}
			for _, form := range []string{"v1", "v2"} {
				if got, want := mustIdentity(t, new, form), mustIdentity(t, old, form); got != want {
					t.Errorf("Identity(%s) of the list for 2025-11-25 = %s, for 2024-11-05 %s", form, got, want)
				}
			}
		})
	}
	if answered < 5 {
		t.Errorf("%d servers listed their tools, want the 5 or more that did", answered)
	}
}
