package canon

import (
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
