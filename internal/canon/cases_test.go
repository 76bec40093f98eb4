package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A hardCase is a file of testdata/cases. Its ref_ members were computed with
// Python's json; where they differ from DESIGN.md section 6, the tests below pin
// the design.
type hardCase struct {
	Input struct {
		Raw    string
		RawKey string `json:"raw_key"`
		Pairs  []struct {
			A string `json:"a_raw"`
			B string `json:"b_raw"`
		}
		A, B json.RawMessage
	}
	Expected struct {
		Pair struct {
			A string `json:"a_raw"`
			B string `json:"b_raw"`
		}
		WireForms    []string        `json:"same_hash_for_wire_forms"`
		UTF16        []string        `json:"utf16_order"`
		CodePoint    []string        `json:"codepoint_or_utf8_order"`
		ArrayVector  string          `json:"array_vector"`
		Sorted       []string        `json:"sorted"`
		RefCanonical string          `json:"ref_canonical"`
		RefSHA256    string          `json:"ref_sha256"`
		RefSame      json.RawMessage `json:"ref_same_hash"` // bool, or one for each pair
	}
}

func readCase(t *testing.T, id string) hardCase {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "cases", id+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var c hardCase
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatalf("reading case %s: %v", id, err)
	}
	return c
}

// refSame returns what Python found of each pair.
func (c hardCase) refSame(t *testing.T) []bool {
	t.Helper()
	var one bool
	if json.Unmarshal(c.Expected.RefSame, &one) == nil {
		return []bool{one}
	}
	var many []bool
	if err := json.Unmarshal(c.Expected.RefSame, &many); err != nil {
		t.Fatal(err)
	}
	return many
}

// same reports whether a and b are one document in the given form.
func same(t *testing.T, form, a, b string) bool {
	t.Helper()
	ca, err := Canonical(form, []byte(a))
	if err != nil {
		t.Fatal(err)
	}
	cb, err := Canonical(form, []byte(b))
	if err != nil {
		t.Fatal(err)
	}
	return Sum(ca) == Sum(cb)
}

func mustV1(t *testing.T, src string) string {
	t.Helper()
	b, err := Canonical(FormV1, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// caseTests holds a test for each case, by id.
var caseTests = map[string]func(t *testing.T, c hardCase){
	// Numbers keep their literal text in v1, so every spelling is another
	// document; Python rewrites floats. v2 knows the value only.
	"b-002": func(t *testing.T, c hardCase) {
		if ref := c.refSame(t); len(ref) != 3 || len(c.Input.Pairs) != 3 {
			t.Fatalf("case has %d pairs and %d references, want 3", len(c.Input.Pairs), len(ref))
		}
		for _, p := range c.Input.Pairs {
			if same(t, FormV1, p.A, p.B) {
				t.Errorf("v1 of %s and %s are equal, want them to differ", p.A, p.B)
			}
			if !same(t, FormV2, p.A, p.B) {
				t.Errorf("v2 of %s and %s differ, want them equal", p.A, p.B)
			}
		}
	},
	"b-004": func(t *testing.T, c hardCase) {
		got := mustV1(t, c.Input.Raw)
		for _, want := range []string{`"maximum":1E400`, `"default":1e21`, `"minimum":1e-400`} {
			if !strings.Contains(got, want) {
				t.Errorf("v1 = %s, want %s in it", got, want)
			}
		}
		p := c.Expected.Pair
		if same(t, FormV1, p.A, p.B) {
			t.Errorf("v1 of %s and %s are equal, want them to differ", p.A, p.B)
		}
		for _, src := range []string{c.Input.Raw, p.A, p.B} {
			_, err := Canonical(FormV2, []byte(src))
			if _, ok := errors.AsType[*RangeError](err); !ok {
				t.Errorf("Canonical(v2, %s) = %v, want a *RangeError", src, err)
			}
		}
	},
	"b-007": func(t *testing.T, c hardCase) {
		likePython(t, c)
		w := c.Expected.WireForms
		if len(w) != 2 || !same(t, FormV1, w[0], w[1]) || mustV1(t, w[0]) != `"a<b"` {
			t.Errorf("v1 of %q differ or are escaped, want both %q", w, `"a<b"`)
		}
		// A round trip through another library, which escapes < > & U+2028.
		var v any
		if err := json.Unmarshal([]byte(c.Input.Raw), &v); err != nil {
			t.Fatal(err)
		}
		other, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(other, []byte(`\u003c`)) || !same(t, FormV1, string(other), c.Input.Raw) {
			t.Errorf("v1 of %s differs from that of %s", other, c.Input.Raw)
		}
	},
	// Refused: no two of them can collide.
	"b-009": func(t *testing.T, c hardCase) {
		refused := []string{c.Input.RawKey, c.Input.Pairs[0].A, c.Input.Pairs[0].B, c.Input.Pairs[1].A}
		for _, src := range refused {
			if v, err := Parse([]byte(src)); err == nil {
				t.Errorf("Parse(%s) = %s, want an error", src, AppendV1(nil, v))
			}
		}
		if got, want := mustV1(t, c.Input.Pairs[1].B), "{\"k\":\"\ufffd\"}"; got != want {
			t.Errorf("v1 of %s = %s, want %s", c.Input.Pairs[1].B, got, want)
		}
	},
	"b-011": pairsAsPython,
	"b-012": func(t *testing.T, c hardCase) {
		likePython(t, c)
		inOrder(t, FormV1, c.Input.Raw, c.Expected.CodePoint)
		inOrder(t, FormV2, c.Input.Raw, c.Expected.UTF16)
		if got, want := mustV1(t, c.Expected.ArrayVector), "[{\"k\":\"\ufb33\"},{\"k\":\"😀\"}]"; got != want {
			t.Errorf("v1 of %s = %s, want %s", c.Expected.ArrayVector, got, want)
		}
	},
	// Refused, where Python takes the last member.
	"b-014": func(t *testing.T, c hardCase) {
		_, err := Parse([]byte(c.Input.Raw))
		se, ok := errors.AsType[*SyntaxError](err)
		if !ok || se.Pointer != "/tools/0/description" || !strings.Contains(se.Reason, "duplicate") {
			t.Errorf("Parse(%s) = %v, want a duplicate at /tools/0/description", c.Input.Raw, err)
		}
	},
	"b-016": func(t *testing.T, c hardCase) {
		likePython(t, c)
		inOrder(t, FormV1, c.Input.Raw, c.Expected.Sorted)
		_, err := Parse([]byte(`{"properties":{"":{"a~/b":[NaN]}}}`))
		if se, ok := errors.AsType[*SyntaxError](err); !ok || se.Pointer != "/properties//a~0~1b/0" {
			t.Errorf("pointer of %v, want /properties//a~0~1b/0", err)
		}
	},
	// The second signal is v2, which keeps the order.
	"b-018": func(t *testing.T, c hardCase) {
		pairsAsPython(t, c)
		if same(t, FormV2, string(c.Input.A), string(c.Input.B)) {
			t.Errorf("v2 of %s and %s are equal, want them to differ", c.Input.A, c.Input.B)
		}
	},
	"b-020": func(t *testing.T, c hardCase) {
		pairsAsPython(t, c)
		v, err := Parse(c.Input.A)
		if err != nil {
			t.Fatal(err)
		}
		less := &Value{Kind: Array, Elems: v.Elems[:2]}
		if same(t, FormV1, string(c.Input.A), string(AppendCompact(nil, less))) {
			t.Errorf("v1 of %s is equal with one element less, want it to differ", c.Input.A)
		}
	},
}

func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) != len(caseTests) {
		t.Fatalf("%d case files, %v, but %d tests, want as many", len(files), err, len(caseTests))
	}
	for id, test := range caseTests {
		t.Run(id, func(t *testing.T) { test(t, readCase(t, id)) })
	}
}

// pairsAsPython checks that v1 finds equal exactly what Python found equal.
func pairsAsPython(t *testing.T, c hardCase) {
	t.Helper()
	pairs := [][2]string{}
	if c.Input.A != nil {
		pairs = append(pairs, [2]string{string(c.Input.A), string(c.Input.B)})
	}
	for _, p := range c.Input.Pairs {
		pairs = append(pairs, [2]string{p.A, p.B})
	}
	ref := c.refSame(t)
	if len(pairs) == 0 || len(ref) != len(pairs) {
		t.Fatalf("case has %d pairs and %d references, want as many and some", len(pairs), len(ref))
	}
	for i, p := range pairs {
		if got := same(t, FormV1, p[0], p[1]); got != ref[i] {
			t.Errorf("v1 of %s and %s equal: %v, want %v", p[0], p[1], got, ref[i])
		}
	}
}

// likePython checks that v1 is byte for byte what Python's json writes with
// sort_keys, which holds where there are no numbers with a fraction.
func likePython(t *testing.T, c hardCase) {
	t.Helper()
	got := mustV1(t, c.Input.Raw)
	if got != c.Expected.RefCanonical || Sum([]byte(got)).Hex() != c.Expected.RefSHA256 {
		t.Errorf("v1 of %s = %s, want %s", c.Input.Raw, got, c.Expected.RefCanonical)
	}
}

// inOrder checks that the quoted names stand in that order in the form of src.
func inOrder(t *testing.T, form, src string, names []string) {
	t.Helper()
	b, err := Canonical(form, []byte(src))
	if err != nil || len(names) == 0 {
		t.Fatalf("Canonical(%s, %s): %v; %d names", form, src, err, len(names))
	}
	at := -1
	for _, n := range names {
		i := strings.Index(string(b), string(appendString(nil, n))+":")
		if i <= at {
			t.Errorf("Canonical(%s, %s) = %s, want names in the order %q", form, src, b, names)
		}
		at = i
	}
}
