package drift

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
)

// documents generates lists of tools that are near to one another: few names, so
// that entries repeat, and values that differ in order, digits or white space.
func documents() *rapid.Generator[string] {
	values := rapid.SampledFrom([]string{
		`"a 1"`, `"a 2"`, `"a  1"`, `1`, `1.0`, `null`, `true`, `{}`, `{"k":[1,2],"l":{"m":"x"}}`, `{"l":{"m":"y"},"k":[2,1]}`,
		`[{"k":2},{"k":1}]`, `[{"k":1},{"k":2}]`, `[{"k":1},{"k":2},1]`, `["y","x"]`, `["x","y"]`, `[[{"a":[{"b":1},{"c":2}]}],[]]`, `[[{"a":[{"c":2},{"b":1}]}],[]]`,
	})
	names := rapid.SampledFrom([]string{"get_user", "get_users", "b", ""})
	members := rapid.SampledFrom([]string{"description", "inputSchema", "outputSchema", "x/y"})
	return rapid.Custom(func(t *rapid.T) string {
		var list []string
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
				list = append(list, values.Draw(t, "element"))
				continue
			}
			fields := []string{fmt.Sprintf(`"name":%q`, names.Draw(t, "name"))}
			for _, m := range rapid.SliceOfNDistinct(members, 0, 3, rapid.ID).Draw(t, "members") {
				fields = append(fields, fmt.Sprintf("%q:%s", m, values.Draw(t, "value")))
			}
			list = append(list, "{"+strings.Join(rapid.Permutation(fields).Draw(t, "order"), ",")+"}")
		}
		return "[" + strings.Join(list, ",") + "]"
	})
}

func identity(t *testing.T, c *contract.Contract, form string) canon.Digest {
	t.Helper()
	d, err := c.Identity(form)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What a Diff says of the whole agrees with the identities.
func TestCompareAgreesWithIdentity(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x, y := documents().Draw(rt, "old"), documents().Draw(rt, "new")
		old, new := mustRead(t, []byte(x)), mustRead(t, []byte(y))
		d := Compare(old, new)
		v1 := identity(t, old, "v1") == identity(t, new, "v1")
		v2 := identity(t, old, "v2") == identity(t, new, "v2")
		if d.Equal && !(v1 && v2) {
			rt.Errorf("Compare says equal, but the identities are equal: v1 %v, v2 %v", v1, v2)
		}
		if v1 != (d.Equal || d.Reordered) {
			rt.Errorf("v1 identities equal: %v, but Compare says equal %v, reordered %v", v1, d.Equal, d.Reordered)
		}
		if v1 && !v2 && !d.Reordered {
			rt.Error("only v2 differs, but Compare doesn't say reordered")
		}
		if d.Equal != (len(d.Classes) == 0) || len(d.Classes) > 1 {
			rt.Errorf("equal %v with classes %q, want one class iff not equal", d.Equal, d.Classes)
		}
		if d.Equal && len(d.Tools) > 0 {
			rt.Errorf("equal, and yet %q", told(d))
		}
		if d.Reordered && d.Classes[0] != ReorderedOnly {
			rt.Errorf("reordered of class %q, want %s", d.Classes, ReorderedOnly)
		}
	})
}

// Comparing the other way round tells the same with the sides exchanged.
func TestCompareIsSymmetric(t *testing.T) {
	turned := map[Kind]Kind{Added: Removed, Removed: Added, Changed: Changed}
	rapid.Check(t, func(rt *rapid.T) {
		x, y := documents().Draw(rt, "old"), documents().Draw(rt, "new")
		d, back := compareDocs(t, x, y), compareDocs(t, y, x)
		var there, again []string
		for _, u := range d.Tools {
			there = append(there, fmt.Sprint(u.Name, turned[u.Kind], u.Members, u.Reordered, u.Paths))
		}
		for _, u := range back.Tools {
			again = append(again, fmt.Sprint(u.Name, u.Kind, u.Members, u.Reordered, u.Paths))
		}
		slices.Sort(there)
		slices.Sort(again)
		if !slices.Equal(there, again) || !slices.Equal(d.Classes, back.Classes) {
			rt.Errorf("old to new %q %q, new to old %q %q", there, d.Classes, again, back.Classes)
		}
		if len(d.Hints) != len(back.Hints) {
			rt.Errorf("hints %v, back %v", d.Hints, back.Hints)
		}
	})
}

// The places of a changed tool are where its members differ and resolve to what
// is said to stand there; setting them all on the old tool gives the new one.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := compareDocs(t, documents().Draw(rt, "old"), documents().Draw(rt, "new"))
		for _, u := range d.Tools {
			if u.Kind != Changed || u.Old == nil || u.New == nil {
				continue
			}
			var members []string
			for i, p := range u.Places {
				if u.Paths[i] != p.Path {
					rt.Errorf("path %d is %q, its place %q", i, u.Paths[i], p.Path)
				}
				if resolve(u.Old, p.Path) != p.Old || resolve(u.New, p.Path) != p.New {
					rt.Errorf("place %s doesn't resolve to its values", p.Path)
				}
				top, _, _ := strings.Cut(p.Path[1:], "/")
				members = append(members, strings.NewReplacer("~1", "/", "~0", "~").Replace(top))
			}
			if members = slices.Compact(members); !slices.Equal(members, u.Members) {
				rt.Errorf("places are in the members %q, want %q", members, u.Members)
			}
		}
	})
}

// resolve returns what a JSON Pointer points to in v, nil if there is nothing.
func resolve(v *canon.Value, pointer string) *canon.Value {
	for _, step := range strings.Split(pointer, "/")[1:] {
		if v == nil {
			return nil
		}
		if v.Kind == canon.Array {
			i := 0
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(v.Elems) {
				return nil
			}
			v = v.Elems[i]
			continue
		}
		v = v.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	return v
}

// Two values have one sum iff their canonical texts are equal.
func TestSumIsCanonical(t *testing.T) {
	ordered, v1 := &summer{form: strict}, newV1Summer()
	rapid.Check(t, func(rt *rapid.T) {
		var values [2]*canon.Value
		for i := range values {
			v, err := canon.Parse([]byte(documents().Draw(rt, "document")))
			if err != nil {
				rt.Fatal(err)
			}
			values[i] = v
		}
		a, b := values[0], values[1]
		if got, want := v1.equal(a, b), string(canon.AppendV1(nil, a)) == string(canon.AppendV1(nil, b)); got != want {
			rt.Errorf("v1 sums equal: %v, v1 texts: %v", got, want)
		}
		if got, want := ordered.equal(a, b), string(canon.AppendPretty(nil, a)) == string(canon.AppendPretty(nil, b)); got != want {
			rt.Errorf("strict sums equal: %v, pretty texts: %v", got, want)
		}
		if got, want := strict.same(a, b), ordered.equal(a, b); got != want {
			rt.Errorf("equal by walking: %v, by strict sums: %v", got, want)
		}
	})
}

// Names and texts can't run into one another.
func TestSumKeepsApart(t *testing.T) {
	pairs := [][2]string{
		{`{"a":"b","c":"d"}`, `{"a\u0003\u0001bc":"d"}`},
		{`["ab",""]`, `["a","b"]`},
		{`[[],[]]`, `[[[]]]`},
		{`["1"]`, `[1]`},
		{`["null"]`, `[null]`},
		{`{"a":[]}`, `{"a":{}}`},
	}
	for _, p := range pairs {
		a, errA := canon.Parse([]byte(p[0]))
		b, errB := canon.Parse([]byte(p[1]))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		s := &summer{form: strict}
		if s.sum(a) == s.sum(b) || strict.same(a, b) {
			t.Errorf("%s and %s are equal, want them told apart", p[0], p[1])
		}
	}
}

func TestRenameHints(t *testing.T) {
	const schema = `"inputSchema":{"properties":{"q":{}}}`
	list := func(tools ...string) string {
		for i, name := range tools {
			tools[i] = fmt.Sprintf(`{"name":%q,%s}`, name, schema)
		}
		return "[" + strings.Join(tools, ",") + "]"
	}
	tests := []struct {
		name, old, new string
		want           []string
	}{
		{"one of each", list("a"), list("b"), []string{"a > b"}},
		{"one of each without arguments", `[{"name":"a","inputSchema":{}}]`, `[{"name":"b","inputSchema":{}}]`, nil},
		{"another schema", list("get_user"), `[{"name":"get_users","inputSchema":{}}]`, nil},
		{"another output schema", list("a"), `[{"name":"b","outputSchema":{},` + schema + `}]`, nil},
		{"nearest names", list("get_user", "put_user"), list("put_users", "get_users"), []string{"get_user > get_users", "put_user > put_users"}},
		{"two as near", list("get_a"), list("get_b", "get_c"), nil},
		{"nearer to another", list("get_user", "get_user_x"), list("get_user_xy"), []string{"get_user_x > get_user_xy"}},
		{"too far", list("list", "drop"), list("users", "tables"), nil},
		{"a name that stood twice", `[{"name":"a","k":1,` + schema + `},{"name":"a","k":[]}]`, list("b"), nil},
		{"no name", `[{` + schema + `}]`, list("b"), nil},
		{"long name", list(strings.Repeat("a", maxRenameName+1)), list("b"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, h := range compareDocs(t, tt.old, tt.new).Hints {
				got = append(got, h.From+" > "+h.To)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("hints %q, want %q", got, tt.want)
			}
		})
	}
}

// No text that WriteText writes holds what could act on a terminal, and no line
// begins with what a server said.
func TestWriteTextIsVisible(t *testing.T) {
	nasty := rapid.StringOfN(rapid.RuneFrom([]rune("a1 \n\t:\u001b\r\u202e\u200d\U000e0041\u0085\ufe0f😀")), 0, 12, -1)
	rapid.Check(t, func(rt *rapid.T) {
		var lists [2]string
		for i := range lists {
			v := map[string]any{"name": nasty.Draw(rt, "name")}
			v[nasty.Draw(rt, "member")] = nasty.Draw(rt, "value")
			v["inputSchema"] = map[string]any{nasty.Draw(rt, "key"): []string{nasty.Draw(rt, "value")}, "title": nasty.Draw(rt, "title")}
			b, err := json.Marshal([]any{v, nasty.Draw(rt, "element")})
			if err != nil {
				rt.Fatal(err)
			}
			lists[i] = string(b)
		}
		d := compareDocs(t, lists[0], lists[1])
		for line := range strings.Lines(writeText(t, d, Style{})) {
			line = strings.TrimSuffix(line, "\n")
			for _, r := range line {
				if r != '\t' && !unicode.IsPrint(r) && r != '\u200d' && r != '\ufe0f' {
					rt.Errorf("line %q holds %U", line, r)
				}
			}
			if strings.HasPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::") {
				rt.Errorf("line %q begins with a command", line)
			}
		}
	})
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteTextError(t *testing.T) {
	for _, new := range []string{`[]`, `[{"name":"a"}]`, `[{"name":"b","k":[1]}]`} {
		d := compareDocs(t, `[{"name":"a"}]`, new)
		if err := d.WriteText(brokenWriter{}, Style{}); !errors.Is(err, errBroken) {
			t.Errorf("WriteText to a broken writer = %v, want its error", err)
		}
	}
}

func TestWriteTextColor(t *testing.T) {
	d := compareDocs(t, `[{"name":"a","description":"x"}]`, `[{"name":"a","description":"y\nz"}]`)
	const want = "  | \x1b[31m[-x-]\x1b[0m\x1b[32m{+y\x1b[0m\n  | \x1b[32mz+}\x1b[0m\n"
	if got := writeText(t, d, Style{Color: true}); !strings.Contains(got, want) {
		t.Errorf("WriteText in colour = %q, want %q in it", got, want)
	}
}

func TestWriteTextShortens(t *testing.T) {
	long := strings.Repeat("word ", 100)
	d := compareDocs(t, `[{"name":"a","description":"`+long+`x `+long+`x `+long+`"}]`, `[{"name":"a","description":"`+long+`y `+long+`y `+long+`"}]`)
	got := writeText(t, d, Style{})
	if n := len(got); n > 600 {
		t.Errorf("WriteText gives %d bytes, want kept text shortened:\n%s", n, got)
	}
	if n := strings.Count(got, "[-x-]{+y+}"); n != 2 {
		t.Errorf("WriteText marks %d changes, want 2:\n%s", n, got)
	}
}

// Many long texts are not all compared by words.
func TestWriteTextBudget(t *testing.T) {
	list := func(word string) string {
		var l []string
		for i := range 12 {
			l = append(l, fmt.Sprintf(`{"name":"t%02d","description":"%s %s"}`, i, strings.Repeat("k ", wordBudget/32), word))
		}
		return "[" + strings.Join(l, ",") + "]"
	}
	got := writeText(t, compareDocs(t, list("old"), list("new")), Style{})
	const want = wordBudget / (2*(wordBudget/16) + 2*len(" old"))
	if n := strings.Count(got, "[-old-]{+new+}"); n != want {
		t.Errorf("%d texts are compared by words, want %d", n, want)
	}
	if n := strings.Count(got, "-]{+"); n != 12 {
		t.Errorf("%d texts are marked, want 12", n)
	}
}

func TestLimits(t *testing.T) {
	schemaOf := func(value string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"p%04d":%s`, i, value)
		}
		return `[{"name":"a","inputSchema":{"properties":{` + b.String()[1:] + `}}}]`
	}
	t.Run("as many places as fit", func(t *testing.T) {
		d := compareDocs(t, schemaOf("1", MaxPlaces), schemaOf("2", MaxPlaces))
		if got := d.Tools[0]; len(got.Paths) != MaxPlaces || got.PathsCut {
			t.Errorf("%d paths, cut %v, want %d and not cut", len(got.Paths), got.PathsCut, MaxPlaces)
		}
	})
	t.Run("one place too many", func(t *testing.T) {
		d := compareDocs(t, schemaOf("1", MaxPlaces+1), schemaOf("2", MaxPlaces+1))
		if got := d.Tools[0]; len(got.Paths) != MaxPlaces || !got.PathsCut {
			t.Errorf("%d paths, cut %v, want %d and cut", len(got.Paths), got.PathsCut, MaxPlaces)
		}
	})
	t.Run("texts", func(t *testing.T) {
		d := compareDocs(t, `[]`, schemaOf(`{"title":"t"}`, MaxPlaces+1))
		if got := len(d.Tools[0].Texts); got != MaxPlaces {
			t.Errorf("%d texts, want %d", got, MaxPlaces)
		}
	})
	t.Run("long pointers end at the ancestor", func(t *testing.T) {
		key := strings.Repeat("k", MaxPointer/2)
		deep := func(value string) string {
			return `[{"name":"a","m":{"` + key + `":{"` + key + `":` + value + `}}}]`
		}
		d := compareDocs(t, deep("1"), deep("2"))
		if got := d.Tools[0].Paths; len(got) != 1 || got[0] != "/m/"+key {
			t.Errorf("%d paths of %d bytes, want the one to the first key", len(got), len(strings.Join(got, "")))
		}
	})
	t.Run("a long name of a member", func(t *testing.T) {
		key := strings.Repeat("k", MaxPointer)
		d := compareDocs(t, `[{"name":"a","`+key+`":1}]`, `[{"name":"a","`+key+`":2}]`)
		if got := d.Tools[0]; len(got.Paths) != 0 || !got.PathsCut || !slices.Equal(got.Members, []string{key}) {
			t.Errorf("%d paths, cut %v, %d members, want no path, cut, and the member", len(got.Paths), got.PathsCut, len(got.Members))
		}
	})
	t.Run("nesting", func(t *testing.T) {
		nested := func(value string) string {
			n := canon.MaxDepth - 4
			return `[{"name":"a","m":` + strings.Repeat(`[{"k":`, n/2) + value + strings.Repeat(`}]`, n/2) + `}]`
		}
		if d := compareDocs(t, nested("1"), nested("2")); d.Classes[0] != NumbersOnly || len(d.Tools[0].Paths) != 1 {
			t.Errorf("classes %q, %d paths, want one difference of numbers", d.Classes, len(d.Tools[0].Paths))
		}
	})
	t.Run("many tools of one schema are not paired", func(t *testing.T) {
		list := func(prefix string) string {
			var l []string
			for i := range 101 {
				l = append(l, fmt.Sprintf(`{"name":"%s_tool_%d"}`, prefix, i))
			}
			return "[" + strings.Join(l, ",") + "]"
		}
		if d := compareDocs(t, list("a"), list("b")); len(d.Hints) > 0 || len(d.Tools) != 202 {
			t.Errorf("%d hints for %d tools, want none for 202", len(d.Hints), len(d.Tools))
		}
	})
}

// Real successive versions of public servers' lists, not ours to copy, agree
// with what their collector says of each step.
func TestSequences(t *testing.T) {
	metas, err := filepath.Glob("../../../shared/sequences/*/META.json")
	if err != nil || len(metas) == 0 {
		t.Skip("the sequences are not here")
	}
	for _, meta := range metas {
		dir := filepath.Dir(meta)
		t.Run(filepath.Base(dir), func(t *testing.T) { checkSequence(t, dir) })
	}
}

func checkSequence(t *testing.T, dir string) {
	var meta struct {
		Steps []struct {
			From, To       string
			Added, Removed []string
			Changed        map[string][]string
			CanonicalEqual bool `json:"canonical_equal"`
			StrictEqual    bool `json:"strict_equal_ignoring_key_order"`
		}
	}
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if err := json.Unmarshal(read("META.json"), &meta); err != nil {
		t.Fatal(err)
	}
	for _, s := range meta.Steps {
		d := Compare(mustRead(t, read(s.From)), mustRead(t, read(s.To)))
		if got := d.Equal || d.Reordered; got != s.CanonicalEqual {
			t.Errorf("%s: of one v1 identity: %v, want %v", s.To, got, s.CanonicalEqual)
		}
		if s.StrictEqual && !d.Equal {
			t.Errorf("%s: not equal, want it equal", s.To)
		}
		var want []string
		for _, n := range s.Added {
			want = append(want, "added "+n)
		}
		for _, n := range s.Removed {
			want = append(want, "removed "+n)
		}
		for n, members := range s.Changed {
			slices.Sort(members)
			want = append(want, "changed "+n+": "+strings.Join(members, " "))
		}
		got := told(d)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: Compare tells %q, want %q", s.To, got, want)
		}
		for _, u := range d.Tools {
			for _, c := range u.Texts {
				checkWords(t, c.Before, c.After)
			}
		}
	}
}

func TestPayloadsAreEqualToThemselves(t *testing.T) {
	files, err := filepath.Glob("../../../shared/payloads/*.json")
	if err != nil || len(files) == 0 {
		t.Skip("the payloads are not here")
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(f) == "SOURCES.json" {
			continue
		}
		c := mustRead(t, b)
		if d := Compare(c, mustRead(t, c.File())); !d.Equal {
			t.Errorf("%s differs from its contract file: %q", f, told(d))
		}
	}
}
