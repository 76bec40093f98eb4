package fingerprint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
)

func TestKinds(t *testing.T) {
	var names []string
	for _, k := range Kinds() {
		names = append(names, fmt.Sprintf("%v%s", k.Set, k.Name))
	}
	var got []string
	for _, d := range OfTool(loose(t, `{"name":"a"}`)) {
		got = append(got, "false"+d.Kind)
	}
	for _, d := range OfSet(new(contract.Contract), true) {
		got = append(got, "true"+d.Kind)
	}
	if !slices.Equal(got, names) {
		t.Errorf("kinds are %q, but digests come as %q", names, got)
	}
}

// One row a rule: what each format makes of what it does not hash as it is.
func TestRefusals(t *testing.T) {
	tests := []struct{ name, kind, tool, want string }{
		{"null is no tool", Heldfast, `null`, RefusedNotObject},
		{"a number for a name", Heldfast, `{"name":7}`, RefusedNotString},
		{"repeated, deep", Heldfast, `{"name":"a","inputSchema":{"x":[{"a":1,"a":1}]}}`, RefusedRepeated},
		{"repeated in what is not hashed", AgentAvow, `{"name":"a","_meta":{"a":1,"a":2}}`, RefusedRepeated},
		{"beyond every double", Heldfast, `{"name":"a","inputSchema":{"maximum":1e400}}`, RefusedNumber},
		{"beyond every double", Definition, `{"name":"a","inputSchema":{"maximum":1e400}}`, RefusedNumber},
		{"beyond every double", AgentAvow, `{"name":"a","inputSchema":{"maximum":1e400}}`, RefusedNumber},
		{"beyond every double", RugSnareHash, `{"name":"a","inputSchema":{"maximum":1e400}}`, RefusedNumber},
		{"half a pair", AgentAvow, `{"name":"\ud83d"}`, RefusedSurrogate},
		{"half a pair", RugSnareProse, `{"name":"a","description":"\udead"}`, RefusedSurrogate},
		{"no name", RugSnareHash, `{"description":"d"}`, RefusedNoName},
		{"no schema", RugSnareSchema, `{"name":"a"}`, RefusedNoSchema},
		{"no prose", RugSnareProse, `{"name":"a"}`, RefusedNoDescription},
		{"null for prose", RugSnareProse, `{"name":"a","description":null}`, RefusedNotString},
	}
	for _, tt := range tests {
		if got := digestOf(t, tt.kind, loose(t, tt.tool)); got != refused(tt.kind, tt.want) {
			t.Errorf("%s: %s of %s = %+v, want it refused as %s", tt.name, tt.kind, tt.tool, got, tt.want)
		}
	}
	sets := []struct{ name, list, mtl, definition string }{
		{"empty", `[]`, RefusedMTLEmpty, ""},
		{"two of a name", `[{"name":"a"},{"name":"a","title":"t"}]`, RefusedMTLDuplicate, ""},
		{"empty name", `[{"name":""}]`, RefusedMTLName, ""},
		{"no tool", `[{"name":"a"},null]`, RefusedMTLName, RefusedNotObject},
		{"a fraction of nothing", `[{"name":"a","inputSchema":{"minimum":1.0}}]`, RefusedMTLNumber, ""},
		{"an exponent", `[{"name":"a","inputSchema":{"minimum":1e2}}]`, RefusedMTLNumber, ""},
		{"the greatest integer", `[{"name":"a","inputSchema":{"minimum":-9007199254740991}}]`, "", ""},
		{"one more", `[{"name":"a","inputSchema":{"minimum":-9007199254740992}}]`, RefusedMTLRange, ""},
		{"a fraction that is cut away", `[{"name":"a","annotations":{"x":1.5}}]`, "", ""},
		{"repeated", `[{"name":"a","name":"a"}]`, RefusedMTLRepeated, RefusedRepeated},
		{"half a pair", `[{"name":"a\ud83d"}]`, RefusedMTLSurrogate, ""},
		{"two faults, in either order", `[{"name":"a","inputSchema":{"x":1.5,"y":9007199254740992}}]`, RefusedMTLRange, ""},
	}
	for _, tt := range sets {
		list := OfElements(loose(t, tt.list).Elems, true)
		if got := pick(t, MTL, list); got.Refused != tt.mtl || (got.Value == "") != (tt.mtl != "") {
			t.Errorf("%s: MTL/1 of %s = %+v, want refusal %q", tt.name, tt.list, got, tt.mtl)
		}
		if got := pick(t, Definition, list); got.Refused != tt.definition || (got.Value == "") != (tt.definition != "") {
			t.Errorf("%s: definition set of %s = %+v, want refusal %q", tt.name, tt.list, got, tt.definition)
		}
	}
	for _, d := range OfElements(loose(t, `[{"name":"a"}]`).Elems, false) {
		if d != refused(d.Kind, RefusedIncomplete) {
			t.Errorf("of a list that was not read to its end: %+v, want it refused as %s", d, RefusedIncomplete)
		}
	}
}

// A list that is not read loosely gives what the loose one gives; half a pair in a
// name is U+FFFD in the lines of a set hash.
func TestDefinitionSetOfHalfAPair(t *testing.T) {
	hash := digestOf(t, Definition, loose(t, `{"name":"a\ud83d"}`)).Value
	want := canon.Sum([]byte("a\ufffd:" + hash)).Hex()
	if got := pick(t, Definition, OfElements(loose(t, `[{"name":"a\ud83d"}]`).Elems, true)); got.Value != want {
		t.Errorf("set hash = %+v, want %s", got, want)
	}
}

// Member order, white space and string escapes never move a digest or a refusal,
// of any kind, nor an identity; the order of tools moves none over a list.
func TestSpellingNeverMovesADigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		list := make([]any, 1+r.IntN(3))
		for i := range list {
			list[i] = randomTool(r, i)
		}
		first, second := spell(r, list), spell(r, list)
		a, err := contract.ReadDocument([]byte(first))
		if err != nil {
			t.Fatal(err)
		}
		b, err := contract.ReadDocument([]byte(second))
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.Tools {
			if x, y := OfTool(a.Tools[i].Value), OfTool(b.Tools[i].Value); !slices.Equal(x, y) {
				t.Fatalf("digests of tool %d of\n%s\nand\n%s\nare %+v and %+v", i, first, second, x, y)
			}
		}
		slices.Reverse(b.Elems)
		if x, y := OfSet(a, true), OfSet(b, true); !slices.Equal(x, y) {
			t.Fatalf("digests of\n%s\nand\n%s\nare %+v and %+v", first, second, x, y)
		}
		for _, form := range []string{"v1", "v2"} {
			x, err1 := a.Identity(form)
			y, err2 := b.Identity(form)
			if x != y || (err1 == nil) != (err2 == nil) {
				t.Fatalf("identities %s of\n%s\nand\n%s\nare %s, %v and %s, %v", form, first, second, x, err1, y, err2)
			}
		}
	})
}

// An object for spell: pairs in some order.
type pairs [][2]any

// A literal for spell: a number as it is to be sent.
type literal string

func randomTool(r *rand.Rand, i int) pairs {
	p := pairs{{"name", fmt.Sprintf("tool/%d \u00e9\U0001f642", i)}}
	for _, m := range []string{"title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta", "\ufb33"} {
		if r.IntN(3) > 0 {
			p = append(p, [2]any{m, randomValue(r, 3)})
		}
	}
	return p
}

func randomValue(r *rand.Rand, depth int) any {
	words := []string{"", "a", "<b>&", "\u2028\n\t\"\\/", "é\U0001f642", "\ufb33", "type", "properties"}
	kind := r.IntN(8)
	if depth == 0 {
		kind = r.IntN(5)
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return literal([]string{"0", "-0", "1.0", "1e2", "9007199254740993", "1e400", "0.1", "12"}[r.IntN(8)])
	case 3, 4:
		return words[r.IntN(len(words))]
	case 5:
		list := make([]any, r.IntN(3))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	}
	var p pairs
	for i := range r.IntN(4) {
		p = append(p, [2]any{words[(i*3+r.IntN(3))%8] + fmt.Sprint(i), randomValue(r, depth-1)})
	}
	return p
}

// spell writes v in a random spelling.
func spell(r *rand.Rand, v any) string {
	space := func() string { return []string{"", " ", "\n\t"}[r.IntN(3)] }
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case literal:
		return string(v)
	case string:
		var b strings.Builder
		for _, c := range v {
			switch {
			case c > 0xffff && r.IntN(2) == 0:
				c -= 0x10000
				fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+c>>10, 0xdc00+c&0x3ff)
			case c <= 0xffff && (r.IntN(3) == 0 || c < 0x20 || c == '"' || c == '\\'):
				fmt.Fprintf(&b, `\u%04x`, c)
			default:
				b.WriteRune(c)
			}
		}
		return `"` + b.String() + `"`
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, space()+spell(r, e)+space())
		}
		return "[" + strings.Join(out, ",") + space() + "]"
	case pairs:
		var out []string
		for _, m := range v {
			out = append(out, space()+spell(r, m[0])+space()+":"+space()+spell(r, m[1]))
		}
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return "{" + strings.Join(out, ",") + space() + "}"
	}
	panic("no JSON")
}

// BenchmarkHostile is 8 MB of tools: all digests of it against its identity.
func BenchmarkHostile(b *testing.B) {
	one := `{"name":"%06d","description":"` + strings.Repeat("é", 300) + `","inputSchema":{"z":1.50,"y":[{"b":1},{"a":2}],"x":{"k":null}}}`
	var text strings.Builder
	text.WriteByte('[')
	for i := 0; text.Len() < 8<<20 && i < contract.MaxTools; i++ {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, one, i)
	}
	text.WriteByte(']')
	c, err := contract.ReadDocument([]byte(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("digests", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			for _, t := range c.Tools {
				OfTool(t.Value)
			}
			OfSet(c, true)
		}
	})
	b.Run("identity", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			if _, err := c.Identity("v2"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
