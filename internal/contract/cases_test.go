package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/jsonrpc"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A hardCase is one file of testdata/cases: a case drawn from a public bug
// report, with what is expected of us.
type hardCase struct {
	t        *testing.T
	Input    map[string]json.RawMessage
	Expected map[string]json.RawMessage
}

// decode reads raw, a part of the case, into v.
func (c hardCase) decode(raw json.RawMessage, v any) {
	c.t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		c.t.Fatalf("decoding %s: %v", raw, err)
	}
}

func (c hardCase) read(doc []byte) *Contract {
	c.t.Helper()
	return mustRead(c.t, string(doc))
}

// sameIdentity checks whether two documents have one identity in that form.
func (c hardCase) sameIdentity(form string, a, b []byte, want bool) {
	c.t.Helper()
	x, y := mustIdentity(c.t, c.read(a), form), mustIdentity(c.t, c.read(b), form)
	if got := x == y; got != want {
		c.t.Errorf("%s identities of %s and %s equal: %v, want %v", form, a, b, got, want)
	}
}

// basic checks the members of expected that most cases have.
func (c hardCase) basic() *Contract {
	c.t.Helper()
	got, err := Read([][]byte{c.Input["response"]})
	if err != nil {
		c.t.Fatalf("Read = %v, want the outcome ok", err)
	}
	var names, warnings []string
	var count int
	if raw, ok := c.Expected["tools_count"]; ok {
		if c.decode(raw, &count); len(got.Tools) != count {
			c.t.Errorf("%d tools, want %d", len(got.Tools), count)
		}
	}
	if raw, ok := c.Expected["tool_names"]; ok {
		if c.decode(raw, &names); !slices.Equal(toolNames(got), names) {
			c.t.Errorf("tools %q, want %q", toolNames(got), names)
		}
	}
	if raw, ok := c.Expected["warnings_include"]; ok {
		c.decode(raw, &warnings)
	}
	for _, w := range warnings {
		if !slices.ContainsFunc(got.Warnings, func(g Warning) bool { return strings.Contains(g.Text, w) }) {
			c.t.Errorf("warnings %q, want one with %q", got.Warnings, w)
		}
	}
	return got
}

// tool wraps a schema as the one tool of a list.
func tool(schema []byte) []byte {
	return fmt.Appendf(nil, `[{"name":"x","inputSchema":%s}]`, schema)
}

// cases says of every case which members of its expected are checked here, and
// which wait for the package that answers for them.
var cases = []struct {
	id      string
	checked []string
	pending map[string]string
	check   func(hardCase)
}{
	{
		"a-001", []string{"outcome", "tools_count", "tool_names", "warnings_include", "diff_if_tomorrow_inputSchema_becomes"},
		map[string]string{"head_advances": "ledger", "ref_hash_of_tools": "another canonical form"},
		func(c hardCase) {
			got := c.basic()
			want := []record.Flag{record.FlagInputSchema}
			if !slices.Equal(got.Flags, want) {
				c.t.Errorf("flags %q, want %q", got.Flags, want)
			}
			var tomorrow struct{ To json.RawMessage }
			c.decode(c.Expected["diff_if_tomorrow_inputSchema_becomes"], &tomorrow) // its classification: drift
			next := strings.Replace(string(c.Input["response"]), `"inputSchema":null`, `"inputSchema":`+string(tomorrow.To), 1)
			c.sameIdentity("v1", c.Input["response"], []byte(next), false)
		},
	},
	{
		"a-003", []string{"outcome", "tools_count", "warnings_include"},
		map[string]string{"ref_hash_of_tools": "another canonical form"},
		func(c hardCase) { c.basic() },
	},
	{
		"a-005", []string{"outcome", "tools_count", "warnings_include"},
		map[string]string{"ref_hash_of_tools": "another canonical form"},
		func(c hardCase) {
			want := []record.Flag{record.FlagInputSchema, record.FlagOutputSchema}
			if got := c.basic(); !slices.Equal(got.Flags, want) {
				c.t.Errorf("flags %q, want %q", got.Flags, want)
			}
		},
	},
	{
		"a-007", []string{"outcome", "tools_count"},
		map[string]string{"walk_positions_that_may_hold_booleans": "grading; drift walks without knowing keywords", "ref_hash_of_tools": "another canonical form"},
		func(c hardCase) { c.basic() },
	},
	{
		"a-009", []string{"outcome", "tool_names", "warnings_include", "canonical", "must_not"},
		map[string]string{"ref_hash_of_tools": "another canonical form"},
		func(c hardCase) {
			got := c.basic()
			if !slices.Contains(got.Flags, record.FlagNotATool) {
				c.t.Errorf("flags %q, want %q among them", got.Flags, record.FlagNotATool)
			}
			// The list isn't sorted in v1, because it isn't one of objects only.
			turned := &Contract{Elems: slices.Clone(got.Elems)}
			slices.Reverse(turned.Elems)
			turned.finish()
			if mustIdentity(c.t, got, "v1") == mustIdentity(c.t, turned, "v1") {
				c.t.Error("v1 identity is equal for another order, want the order of a mixed list to count")
			}
			if mustIdentity(c.t, got, "v2") != mustIdentity(c.t, turned, "v2") {
				c.t.Error("v2 identity differs for another order, want it sorted")
			}
		},
	},
	{
		"a-012", []string{"outcome", "entries", "distinct_names", "warnings_include", "must_not", "tomorrow_one_copy"},
		map[string]string{"ref_hash_of_tools": "another canonical form"},
		func(c hardCase) {
			got := c.basic()
			var entries, distinct int
			c.decode(c.Expected["entries"], &entries)
			c.decode(c.Expected["distinct_names"], &distinct)
			names := toolNames(got)
			if len(names) != entries {
				c.t.Errorf("%d entries, want %d", len(names), entries)
			}
			slices.Sort(names)
			if n := len(slices.Compact(names)); n != distinct {
				c.t.Errorf("%d names, want %d", n, distinct)
			}
			one := &Contract{Elems: got.Elems[:2]} // its report: drift
			one.finish()
			for _, form := range []string{"v1", "v2"} {
				if mustIdentity(c.t, got, form) == mustIdentity(c.t, one, form) {
					c.t.Errorf("%s identity is the same with one copy, want it to differ", form)
				}
			}
		},
	},
	{
		"a-014", []string{"distinct_names"},
		map[string]string{"must_not": "archive and site: paths and anchors; that names are kept as sent is checked"},
		func(c hardCase) {
			got := c.read(c.Input["tools"])
			if names := toolNames(got); !slices.Equal(names, []string{"get-user", "get_user", "Get_User"}) || len(got.Warnings) > 0 {
				c.t.Errorf("tools %q with warnings %q, want three names as sent, without a warning", names, got.Warnings)
			}
		},
	},
	{
		"a-049", []string{"identity_hash_equal"},
		map[string]string{"diff": "drift", "raw_kept": "archive"},
		func(c hardCase) {
			for _, form := range []string{"v1", "v2"} {
				c.sameIdentity(form, c.Input["day1"], c.Input["day2"], true)
			}
			if got := c.read(c.Input["day1"]); len(got.Flags) > 0 {
				c.t.Errorf("flags %q, want none", got.Flags)
			}
		},
	},
	{
		"b-004", []string{"parses", "must_not", "pair"},
		map[string]string{"ref_canonical": "another canonical form", "ref_sha256": "another canonical form"},
		func(c hardCase) {
			var raw string
			c.decode(c.Input["raw"], &raw)
			got := c.read([]byte(raw))
			if len(got.Tools) != 1 {
				c.t.Errorf("%d tools, want 1", len(got.Tools))
			}
			mustIdentity(c.t, got, "v1")
			if d, err := got.Identity("v2"); err == nil {
				c.t.Errorf("Identity(v2) = %s, want an error for 1E400", d)
			}
			var pair struct {
				A string `json:"a_raw"`
				B string `json:"b_raw"`
			}
			c.decode(c.Expected["pair"], &pair)
			c.sameIdentity("v1", tool([]byte(pair.A)), tool([]byte(pair.B)), false)
		},
	},
	{
		"b-012", []string{"utf16_order", "codepoint_or_utf8_order", "must", "array_vector"},
		map[string]string{"ref_canonical": "another canonical form", "ref_sha256": "another canonical form"},
		func(c hardCase) {
			// Tools with these names: the file sorts by code point, v2 by UTF-16.
			var list []string
			for _, n := range []string{"😀", "\ufb33", "a"} {
				list = append(list, `{"name":"`+n+`"}`)
			}
			got := c.read([]byte("[" + strings.Join(list, ",") + "]"))
			if names := toolNames(c.read(got.File())); !slices.Equal(names, []string{"a", "\ufb33", "😀"}) {
				c.t.Errorf("names in File %q, want the order of code points", names)
			}
			want := canon.Sum([]byte("[" + strings.Join([]string{list[2], list[0], list[1]}, ",") + "]"))
			if d := mustIdentity(c.t, got, "v2"); d != want {
				c.t.Errorf("Identity(v2) = %s, want %s: sorted by UTF-16", d, want)
			}
			want = canon.Sum([]byte("[" + strings.Join([]string{list[2], list[1], list[0]}, ",") + "]"))
			if d := mustIdentity(c.t, got, "v1"); d != want {
				c.t.Errorf("Identity(v1) = %s, want %s: sorted by code point", d, want)
			}
		},
	},
	{
		"b-014", []string{"outcome", "must_not"},
		map[string]string{"raw_kept": "archive", "ref_canonical": "another canonical form", "ref_sha256": "another canonical form"},
		func(c hardCase) {
			var raw string
			c.decode(c.Input["raw"], &raw)
			wantFault(c.t, raw, record.DetailInvalidJSON)
		},
	},
	{
		"b-018", []string{"hash_equal_by_seed_rule", "second_signal"},
		map[string]string{"ref_same_hash": "the same as hash_equal_by_seed_rule"},
		func(c hardCase) {
			c.sameIdentity("v1", tool(c.Input["a"]), tool(c.Input["b"]), true)
			c.sameIdentity("v2", tool(c.Input["a"]), tool(c.Input["b"]), false)
		},
	},
	{
		"b-020", []string{"hash_equal", "c", "c_equal"},
		map[string]string{"ref_same_hash": "the same as hash_equal"},
		func(c hardCase) {
			schema := func(raw json.RawMessage) []byte { return tool(fmt.Appendf(nil, `{"default":%s}`, raw)) }
			c.sameIdentity("v1", schema(c.Input["a"]), schema(c.Input["b"]), true)
			less := strings.Replace(string(c.Input["a"]), `{"x":[{"a":1}]},`, "", 1)
			if less == string(c.Input["a"]) {
				c.t.Fatalf("input a is %s, want a copy of an element to take out", less)
			}
			c.sameIdentity("v1", schema(c.Input["a"]), schema([]byte(less)), false)
			c.sameIdentity("v2", schema(c.Input["a"]), schema(c.Input["b"]), false) // order inside a schema counts
			c.sameIdentity("v2", schema(c.Input["a"]), schema([]byte(less)), false)
		},
	},
	{
		"b-022", []string{"outcomes"},
		map[string]string{"note": "how to"},
		func(c hardCase) {
			var raws, outcomes []string
			c.decode(c.Input["raws"], &raws)
			c.decode(c.Expected["outcomes"], &outcomes)
			for i, raw := range raws {
				if outcomes[i] == "ok" {
					if got, err := Read([][]byte{[]byte(raw)}); err != nil || len(got.Tools) != 0 {
						c.t.Errorf("Read(%q) = %v, %v, want no tools", raw, got, err)
					}
				} else if _, err := Read([][]byte{[]byte(raw)}); err == nil {
					c.t.Errorf("Read(%q) succeeded, want a fault", raw)
				} else if f, ok := err.(*jsonrpc.Fault); !ok || f.Detail != record.DetailInvalidJSON {
					c.t.Errorf("Read(%q) = %v, want invalid_json", raw, err)
				}
			}
		},
	},
}

func TestCases(t *testing.T) {
	var ids []string
	for _, tt := range cases {
		ids = append(ids, tt.id)
		t.Run(tt.id, func(t *testing.T) {
			b, err := os.ReadFile("testdata/cases/" + tt.id + ".json")
			if err != nil {
				t.Fatal(err)
			}
			c := hardCase{t: t}
			var compact bytes.Buffer
			if err := json.Compact(&compact, b); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(compact.Bytes(), &c); err != nil {
				t.Fatal(err)
			}
			told := slices.Sorted(maps.Keys(tt.pending))
			told = append(told, tt.checked...)
			slices.Sort(told)
			if keys := slices.Sorted(maps.Keys(c.Expected)); !slices.Equal(told, keys) {
				t.Errorf("members checked or pending: %q, want those of expected: %q", told, keys)
			}
			for member, owner := range tt.pending {
				t.Logf("%s waits: %s", member, owner)
			}
			tt.check(c)
		})
	}
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) != len(ids) {
		t.Errorf("%d case files (%v), want one for each of %q", len(files), err, ids)
	}
}
