package canon

import (
	"crypto/sha256"
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
