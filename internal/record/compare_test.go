package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Each file of testdata/compare has two published objects and what comparing them
// is to give, in either order. Those of a measured kind of capture difference have
// its name.
func TestCompare(t *testing.T) {
	files, err := filepath.Glob("testdata/compare/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	kinds := map[Cause]bool{}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".json"), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var pair struct {
				A, B json.RawMessage
				Want Comparison
			}
			if err := json.Unmarshal(b, &pair); err != nil {
				t.Fatal(err)
			}
			a, b1 := mustPublished(t, pair.A), mustPublished(t, pair.B)
			for _, got := range []Comparison{Compare(a, b1), Compare(b1, a)} {
				if !reflect.DeepEqual(got, pair.Want) {
					t.Errorf("Compare = %+v, want %+v", got, pair.Want)
				}
				for _, c := range got.Causes {
					kinds[c] = true
				}
			}
			if a.Digest != "" && b1.Digest != "" && pair.Want.Verdict != VerdictNotComparable {
				if got := CausesOf(a, b1); !slices.Equal(got, pair.Want.Causes) {
					t.Errorf("CausesOf = %q, want %q", got, pair.Want.Causes)
				}
			}
			rowsAgree(t, pair.A, a)
			rowsAgree(t, pair.B, b1)
		})
	}
	for _, d := range Causes {
		if !kinds[d.Cause] {
			t.Errorf("no file has the cause %s", d.Cause)
		}
	}
}

func mustPublished(t *testing.T, b []byte) Reading {
	t.Helper()
	r, err := ReadPublished(b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rowsAgree checks that a row of ours says the same as a row and as an object that
// was read.
func rowsAgree(t *testing.T, b []byte, want Reading) {
	t.Helper()
	var o Observation
	if Decode(b, &o) != nil || o.Since == "" {
		return // somebody else's
	}
	methodology := V2.Version
	if want.Format == formatV1 {
		methodology = V1.Version
	}
	got := ReadingOf(o, methodology)
	if !slices.Equal(got.Unknown, want.Unknown) || !slices.Equal(got.Flags, want.Flags) {
		t.Errorf("ReadingOf = %+v, want %+v", got, want)
	}
	got.Unknown, got.Flags, want.Unknown, want.Flags = nil, nil, nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("ReadingOf = %+v, want %+v", got, want)
	}
}

func TestCausesOfADay(t *testing.T) {
	a := Reading{Name: "x", Format: "f", Digest: "1", Day: "2026-11-03"}
	b := Reading{Name: "x", Format: "f", Digest: "2", Day: "2026-11-03", Unstable: "2026-11-02"}
	if got := CausesOf(a, b); len(got) > 0 {
		t.Errorf("CausesOf on the day after it varied = %q, want none", got)
	}
	b.Unstable = b.Day
	if got := CausesOf(a, b); !slices.Equal(got, []Cause{CauseUnstable}) {
		t.Errorf("CausesOf on the day that it varied = %q, want %s", got, CauseUnstable)
	}
}

func TestReadPublished(t *testing.T) {
	const hex = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	tests := []struct{ src, digest, member, format string }{
		{`{"digest":"sha256:` + hex + `","hash":"x"}`, hex, "digest", "digest"},
		{`{"digest":7,"hash":"md5:0123456789abcdef0123456789abcdef"}`, "md5:0123456789abcdef0123456789abcdef", "hash", "hash"},
		{`{"head":{"setHash":"` + hex + `"},"digest":"1"}`, hex, "head.setHash", "setHash"},
		{`{"identity":"` + hex + `"}`, hex, "identity", "identity"},
		{`{"identity":"` + hex + `","profile":"mtl/1"}`, hex, "identity", "mtl/1"},
		{`{"head":{"identity":"` + hex + `"},"methodology_version":"v1"}`, hex, "head.identity", "identity/v1"},
		{`{"head":{"identity":"` + hex + `"}}`, hex, "head.identity", "identity/v2"},
		{`{"head":7,"capture":[]}`, "", "", ""},
	}
	for _, tt := range tests {
		r := mustPublished(t, []byte(tt.src))
		if r.Digest != tt.digest || r.Member != tt.member || r.Format != tt.format {
			t.Errorf("ReadPublished(%s) = %s of %s, format %s, want %s of %s, format %s", tt.src, r.Digest, r.Member, r.Format, tt.digest, tt.member, tt.format)
		}
	}
	for _, src := range []string{"", "[]", "null", `{"a":1,"a":2}`, `{} {}`} {
		if r, err := ReadPublished([]byte(src)); err == nil {
			t.Errorf("ReadPublished(%s) = %+v, want an error", src, r)
		}
	}
}

// What is no digest is none: a text that was cut says nothing of its server.
func TestReadPublishedWithoutADigest(t *testing.T) {
	const whole = "8fc1534c6f0caa480fd2f8108fc1534c6f0caa480fd2f8108fc1534c6f0caa48"
	for s, want := range map[string]string{
		whole: whole, "sha256:" + whole: whole, "sha512:" + whole + whole: "sha512:" + whole + whole,
		"banana": "", "sha256:zz": "", "sha256:" + whole[:40]: "", whole[:24]: "", "s\x1b[31m" + whole: "",
	} {
		b, err := json.Marshal(map[string]any{"head": map[string]string{"identity": s}})
		if err != nil {
			t.Fatal(err)
		}
		if got := mustPublished(t, b); got.Digest != want {
			t.Errorf("ReadPublished of the identity %q has the digest %q, want %q", s, got.Digest, want)
		}
	}
}

// The order in which a reader lists variables is no cause of anything.
func TestCausesInNoOrderOfNames(t *testing.T) {
	with := func(digest string, names ...string) Reading {
		return Reading{Digest: digest, Format: "f", Capture: &Capture{Pages: Pages{Complete: true}, Launch: &Launch{EnvNames: names}}}
	}
	if got := CausesOf(with("a", "A", "B"), with("b", "B", "A")); len(got) > 0 {
		t.Errorf("CausesOf = %q, want none", got)
	}
	if got := CausesOf(with("a", "A", "B"), with("b", "A")); !slices.Equal(got, []Cause{CauseLaunch}) {
		t.Errorf("CausesOf = %q, want launch_conditions", got)
	}
}
