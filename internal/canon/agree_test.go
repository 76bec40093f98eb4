package canon

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// Form v2 is what jsontext makes of a document, with one exception: it writes the
// largest float64 for a number that none holds, and we refuse it.
func TestAgreesWithJSONText(t *testing.T) {
	refused, agreed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := speller{r: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))}
		s.value(randomDocument(s.r, 4))
		got, err := Canonical(FormV2, s.dst)
		theirs := jsontext.Value(s.dst).Clone()
		if fault := theirs.Canonicalize(); fault != nil {
			t.Fatalf("Canonicalize(%q) = %v", s.dst, fault)
		}
		if err != nil {
			if !bytes.Contains(s.dst, []byte("1e400")) || !strings.Contains(string(theirs), "1.7976931348623157e+308") {
				t.Fatalf("Canonical(v2, %q) = %v, but jsontext has %q", s.dst, err, theirs)
			}
			refused++
			return
		}
		if agreed++; !bytes.Equal(got, theirs) {
			t.Fatalf("Canonical(v2, %q) = %q, but jsontext has %q", s.dst, got, theirs)
		}
	})
	if refused == 0 || agreed == 0 {
		t.Errorf("%d documents refused and %d agreed on, want some of each", refused, agreed)
	}
}

// randomDocument returns a value of at most depth levels.
func randomDocument(r *rand.Rand, depth int) *Value {
	words := []string{"", "a", "10", "9", "é", "e\u0301", "\ufb33", "😀", "\u2028", "\x00\x1f\"\\/", "\U0010ffff", "<>&"}
	numbers := []string{"0", "-0", "-0.0", "1.0", "1E2", "1e21", "1e-7", "0.000001", "9007199254740993", "123456789012345678", "5e-324", "1e-400", "333333333.33333329", "-1e400"}
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch r.IntN(kinds) {
	case 0:
		return &Value{Kind: Bool, Text: "true"}
	case 1:
		return &Value{Kind: Number, Text: numbers[r.IntN(len(numbers))]}
	case 2:
		return &Value{Kind: String, Text: words[r.IntN(len(words))]}
	case 3:
		return &Value{}
	case 4:
		v := &Value{Kind: Array}
		for range r.IntN(4) {
			v.Elems = append(v.Elems, randomDocument(r, depth-1))
		}
		return v
	}
	v := &Value{Kind: Object}
	r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	for _, name := range words[:r.IntN(6)] {
		v.Members = append(v.Members, Member{Name: name, Value: randomDocument(r, depth-1)})
	}
	return v
}
