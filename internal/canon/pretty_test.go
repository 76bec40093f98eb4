package canon

import (
	"strings"
	"testing"
)

// What is nested without end does not grow without end.
func TestPrettyBoundsItsIndent(t *testing.T) {
	const depth = 500
	src := strings.Repeat(`[1,`, depth) + "2" + strings.Repeat("]", depth)
	v, err := Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	got := AppendPretty(nil, v)
	if most := len(src) * (maxIndent + 2); len(got) > most {
		t.Errorf("AppendPretty of %d bytes nested %d deep = %d bytes, want at most %d", len(src), depth, len(got), most)
	}
	if back, err := Parse(got); err != nil || string(AppendCompact(nil, back)) != src {
		t.Errorf("what AppendPretty wrote reads back as something else, %v", err)
	}
}
