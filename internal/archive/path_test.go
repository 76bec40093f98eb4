package archive

import (
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSlug(t *testing.T) {
	tests := []struct{ name, want string }{
		{"com.example/mcp", "com.example~mcp"},
		{"io.github.Foo/Bar", "io.github.!foo~!bar"},
		{"a b/ü", "a=20b~=c3=bc"},
		{"a%2Fb/c", "a=252!fb~c"},
		{"x/con", "x~con~" + digest16("x/con")},
		{"x/COM1.txt", "x~!c!o!m1.txt~" + digest16("x/COM1.txt")},
		{"x/..", "x~..~" + digest16("x/..")},
		{"x/a.", "x~a.~" + digest16("x/a.")},
		{"a-b/", "a-b~~" + digest16("a-b/")},
		{"x/console", "x~console"},
		{"con.example/x", "=63on.example~x~" + digest16("con.example/x")},
		{"x/0123456789abcdef", "x~0123456789abcdef~" + digest16("x/0123456789abcdef")},
	}
	for _, tt := range tests {
		if got := Slug(tt.name); got != tt.want {
			t.Errorf("Slug(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func digest16(name string) string {
	s := Slug(name)
	return s[len(s)-16:]
}

// Case d-017: names that differ only in what a careless mapping folds.
func TestSlugsOfHardNames(t *testing.T) {
	b, err := os.ReadFile("testdata/cases/d-017.json")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Input    struct{ Names []string }
		Expected struct {
			Pages int `json:"distinct_pages"`
		}
	}
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, n := range c.Input.Names {
		p := ContractPath("v1", n)
		if path.Clean(p) != p || !strings.HasPrefix(p, Dir+"/contracts/v1/") || strings.Count(p, "/") != 4 {
			t.Errorf("ContractPath(%q) = %q, which leaves its folder", n, p)
		}
		seen[strings.ToLower(p)] = true
	}
	if len(seen) != c.Expected.Pages || c.Expected.Pages == 0 {
		t.Errorf("%d distinct paths, want %d", len(seen), c.Expected.Pages)
	}
}

// Every slug is safe as one path segment of any file system, fits, and leads
// back to its name where it is not shortened; no two names share one, whatever
// the case of letters means to the file system.
func TestSlugProperties(t *testing.T) {
	names := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9.-]{1,60}/[a-zA-Z0-9._-]{1,150}`),
		rapid.String(),
		rapid.SampledFrom([]string{"con.a/b", "NUL.", "", ".", "..", "con", "a/con", "a/CON.x", "a//b", "/", "a/b.", "nul/x", "a~b", "a!b", "a=41", "a+b"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		s := Slug(a)
		if len(s) == 0 || len(s) > maxSlug || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789._-~!=") != "" {
			t.Fatalf("Slug(%q) = %q, which is no safe segment", a, s)
		}
		device, _, _ := strings.Cut(s, ".")
		if unholdable(s) || slices.Contains(devices, device) {
			t.Fatalf("Slug(%q) = %q, which a file system can't hold", a, s)
		}
		if back, ok := NameOf(s); ok != !shortened(s) || ok && back != a {
			t.Fatalf("NameOf(Slug(%q)) = %q, %v", a, back, ok)
		}
		if a != b && strings.EqualFold(Slug(b), s) {
			t.Fatalf("Slug(%q) = Slug(%q) = %q", a, b, s)
		}
	})
}

func TestNameOfRefusesWhatSlugDoesNotWrite(t *testing.T) {
	for _, s := range []string{"A", "a=4", "a=zz", "a=41", "!", "a+b", "con", "a~con", "x "} {
		if name, ok := NameOf(s); ok {
			t.Errorf("NameOf(%q) = %q, want none", s, name)
		}
	}
}
