package canon

import (
	"slices"
	"testing"
)

// The cases of group b for form v2, by id, where the tests above ask v1 alone.
// Those of the reader (b-009, b-014) are of both forms: what Parse refuses has
// neither.
func TestCasesV2(t *testing.T) {
	v2 := func(t *testing.T, src string) string {
		t.Helper()
		b, err := Canonical(FormV2, []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	tests := map[string]func(t *testing.T, c hardCase){
		"b-007": func(t *testing.T, c hardCase) {
			if got := v2(t, c.Input.Raw); got != c.Expected.RefCanonical {
				t.Errorf("v2 of %s = %s, want %s", c.Input.Raw, got, c.Expected.RefCanonical)
			}
			if w := c.Expected.WireForms; v2(t, w[0]) != `"a<b"` || v2(t, w[1]) != `"a<b"` {
				t.Errorf("v2 of %q, want both %q", w, `"a<b"`)
			}
		},
		"b-009": func(t *testing.T, c hardCase) {
			for _, src := range []string{c.Input.RawKey, c.Input.Pairs[0].A, c.Input.Pairs[0].B, c.Input.Pairs[1].A} {
				if b, err := Canonical(FormV2, []byte(src)); err == nil {
					t.Errorf("Canonical(v2, %s) = %s, want an error", src, b)
				}
			}
		},
		"b-011": func(t *testing.T, c hardCase) {
			if len(c.Input.Pairs) == 0 {
				t.Fatal("no pairs")
			}
			for _, p := range c.Input.Pairs {
				if same(t, FormV2, p.A, p.B) {
					t.Errorf("v2 of %s and %s are equal, want them to differ", p.A, p.B)
				}
			}
		},
		"b-014": func(t *testing.T, c hardCase) {
			if b, err := Canonical(FormV2, []byte(c.Input.Raw)); err == nil {
				t.Errorf("Canonical(v2, %s) = %s, want an error", c.Input.Raw, b)
			}
		},
		"b-016": func(t *testing.T, c hardCase) {
			inOrder(t, FormV2, c.Input.Raw, c.Expected.Sorted)
			if got := v2(t, c.Input.Raw); got != c.Expected.RefCanonical {
				t.Errorf("v2 of %s = %s, want %s", c.Input.Raw, got, c.Expected.RefCanonical)
			}
		},
		// The order inside a schema counts, of arrays of objects too.
		"b-020": func(t *testing.T, c hardCase) {
			if same(t, FormV2, string(c.Input.A), string(c.Input.B)) {
				t.Errorf("v2 of %s and %s are equal, want them to differ", c.Input.A, c.Input.B)
			}
		},
	}
	// b-002, b-004, b-012 and b-018 ask both forms above.
	both := []string{"b-002", "b-004", "b-012", "b-018"}
	for id := range caseTests {
		test, ok := tests[id]
		if ok == slices.Contains(both, id) {
			t.Errorf("case %s is asked of v2 here: %v, and above: %v", id, ok, !ok)
		}
		if ok {
			t.Run(id, func(t *testing.T) { test(t, readCase(t, id)) })
		}
	}
}
