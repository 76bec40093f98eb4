package canon

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// A Digest names bytes by their SHA-256. It is written sha256:<64 lower-case hex
// digits>; the empty Digest names nothing.
type Digest string

const digestPrefix = "sha256:"

// Sum returns the digest of b.
func Sum(b []byte) Digest {
	h := sha256.Sum256(b)
	return Digest(digestPrefix + hex.EncodeToString(h[:]))
}

// ParseDigest reads what Digest writes, and nothing else.
func ParseDigest(s string) (Digest, error) {
	h, ok := strings.CutPrefix(s, digestPrefix)
	if ok && len(h) == 64 && strings.Trim(h, "0123456789abcdef") == "" {
		return Digest(s), nil
	}
	return "", fmt.Errorf("%q is not a digest of the form sha256:<64 hex digits>", s)
}

// Hex returns the hex digits of d without the name of the hash.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), digestPrefix) }

// Short returns the first 12 hex digits, for people.
func (d Digest) Short() string {
	h := d.Hex()
	return h[:min(12, len(h))]
}

// ReadSHA256 reads a SHA-256 in any spelling that records publish: 64 hex digits
// (spelling hex), the same after sha256: (sha256), 44 characters of base64 after
// sha256- (sri), and a URN that ends in :sha256: and hex digits (urn). White space
// and one pair of quotation marks around it are passed over, and letters may be of
// either case but in base64. Digits and spelling are empty if s is none of them.
func ReadSHA256(s string) (digits, spelling string) {
	s = strings.TrimSpace(s)
	if n := len(s); n >= 2 && s[0] == '"' && s[n-1] == '"' {
		s = strings.TrimSpace(s[1 : n-1])
	}
	if len(s) > 1024 { // no record's
		return "", ""
	}
	if text, ok := strings.CutPrefix(s, "sha256-"); ok {
		b, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil || len(b) != sha256.Size || strings.ContainsAny(text, "\r\n") {
			return "", ""
		}
		return hex.EncodeToString(b), "sri"
	}
	lower := asciiLower(s)
	if len(lower) < 64 {
		return "", ""
	}
	before, digits := lower[:len(lower)-64], lower[len(lower)-64:]
	if strings.Trim(digits, "0123456789abcdef") != "" {
		return "", ""
	}
	switch {
	case before == "":
		return digits, "hex"
	case before == digestPrefix:
		return digits, "sha256"
	case strings.HasPrefix(before, "urn:") && strings.HasSuffix(before, ":"+digestPrefix):
		return digits, "urn"
	}
	return "", ""
}

// asciiLower returns s with A to Z in lower case, and nothing else changed.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
