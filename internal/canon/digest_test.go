package canon

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The digest of "abc" is FIPS 180-4's own example.
const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

func TestSum(t *testing.T) {
	d := Sum([]byte("abc"))
	if want := Digest("sha256:" + abc); d != want {
		t.Errorf("Sum(abc) = %s, want %s", d, want)
	}
	if got := d.Hex(); got != abc {
		t.Errorf("Hex() = %s, want %s", got, abc)
	}
	if got := d.Short(); got != abc[:12] {
		t.Errorf("Short() = %s, want %s", got, abc[:12])
	}
	if got := Digest("").Short(); got != "" {
		t.Errorf("Short() of the empty digest = %q, want it empty", got)
	}
}

func TestParseDigestRefuses(t *testing.T) {
	for _, s := range []string{
		"", "sha256:", abc, "sha256:" + abc[1:], "sha256:" + abc + "0", "SHA256:" + abc, "sha512:" + abc,
		"sha256:BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", "sha256:" + abc[:63] + "g", " sha256:" + abc[:63],
	} {
		if d, err := ParseDigest(s); err == nil {
			t.Errorf("ParseDigest(%q) = %s, want an error", s, d)
		}
	}
}

func TestDigestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Sum(rapid.SliceOf(rapid.Byte()).Draw(t, "b"))
		if got, err := ParseDigest(string(d)); err != nil || got != d {
			t.Fatalf("ParseDigest(%q) = %v, %v, want itself", d, got, err)
		}
	})
}

// Each spelling that a record publishes is read, and what only looks like one is not.
func TestReadSHA256(t *testing.T) {
	const digits = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	const base64 = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	tests := []struct{ in, want, spelling string }{
		{digits, digits, "hex"},
		{strings.ToUpper(digits), digits, "hex"},
		{" \n" + digits + "\t", digits, "hex"},
		{"sha256:" + digits, digits, "sha256"},
		{`"SHA256:` + digits + `"`, digits, "sha256"},
		{"sha256-" + base64, digits, "sri"},
		{"urn:awr:mtl:1:subject:sha256:" + digits, digits, "urn"},
		{"", "", ""},
		{digits[1:], "", ""},
		{"g" + digits[1:], "", ""},
		{digits + "0", "", ""},
		{"sha512:" + digits, "", ""},
		{"sha256-" + base64[:43], "", ""},
		{"sha256-" + base64[:42] + "V=", "", ""},
		{"SHA256-" + base64, "", ""},
		{"urn:" + digits, "", ""},
		{"x:sha256:" + digits, "", ""},
		{"urn:" + strings.Repeat("a", 2000) + ":sha256:" + digits, "", ""},
	}
	for _, tt := range tests {
		if got, spelling := ReadSHA256(tt.in); got != tt.want || spelling != tt.spelling {
			t.Errorf("ReadSHA256(%.90q) = %q, %q, want %q, %q", tt.in, got, spelling, tt.want, tt.spelling)
		}
	}
}
