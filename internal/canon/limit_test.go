package canon

import (
	"errors"
	"strings"
	"testing"
)

// A document may have MaxValues values, and none more, wherever they stand.
func TestMaxValues(t *testing.T) {
	const pairs = MaxValues/2 - 1 // each element of the second kind is two values
	tests := []struct {
		name  string
		src   string
		found bool // too many
	}{
		{"array", "[" + strings.Repeat("1,", MaxValues-2) + "1]", false},
		{"array and one", "[" + strings.Repeat("1,", MaxValues-1) + "1]", true},
		{"nested and one", "[" + strings.Repeat(`{"a":null},`, pairs) + "{},[]]", true},
		{"not JSON further on", "[" + strings.Repeat("1,", MaxValues), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := []byte(tt.src)
			_, err := Parse(src)
			errs := map[string]error{"Parse": err}
			_, errs["Canonical"] = Canonical(FormV1, src)
			for what, err := range errs {
				if got := errors.Is(err, ErrTooMany); got != tt.found {
					t.Errorf("%s: %v, want ErrTooMany to be %v", what, err, tt.found)
				}
				if !tt.found {
					continue
				}
				if se, ok := errors.AsType[*SyntaxError](err); !ok || !strings.Contains(se.Reason, "more than 1048576 values") {
					t.Errorf("%s: %v, want a *SyntaxError that says so", what, err)
				}
			}
		})
	}
}

func TestAppendSorted(t *testing.T) {
	v, err := Parse([]byte(` {"b": [ {"k":2}, {"k":1.0} ], "a": {}, "é\u0001": [], "": "x y"} `))
	if err != nil {
		t.Fatal(err)
	}
	const want = `>{"":"x y","a":{},"b":[{"k":2},{"k":1.0}],"é\u0001":[]}`
	if got := string(AppendSorted([]byte(">"), v)); got != want {
		t.Errorf("AppendSorted = %s, want %s", got, want)
	}
}
