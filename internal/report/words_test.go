package report

import (
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// Who refuses the reader whoever logs in is not said to ask for a login.
func TestOutcomeWords(t *testing.T) {
	for _, tt := range []struct{ label, detail, want string }{
		{"auth", "", "asks for a login or refuses"},
		{"auth", "waf", "refuses the reader"},
		{"auth", "host_check", "refuses the reader"},
		{"auth", "something_new", "asks for a login or refuses"},
		{"parse", "waf", "no valid answer"},
		{"retired", "", "retired"},
	} {
		if got := OutcomeWords(tt.label, tt.detail); got != tt.want {
			t.Errorf("OutcomeWords(%q, %q) = %q, want %q", tt.label, tt.detail, got, tt.want)
		}
	}
}

// Each state has words of its own, without digits, since a legend stands beside
// figures.
func TestStateWords(t *testing.T) {
	labels := []string{record.Success.Label(), timeline.Retired, timeline.NoData}
	for _, c := range record.Classes {
		labels = append(labels, c.Class.Label())
	}
	seen := map[string]string{StateWords("no such class"): "what no table knows"}
	for _, l := range labels {
		got := StateWords(l)
		if got == "" || strings.ContainsAny(got, "0123456789") {
			t.Errorf("StateWords(%q) = %q, want words without digits", l, got)
		}
		if of, twice := seen[got]; twice {
			t.Errorf("StateWords(%q) = %q, as of %s", l, got, of)
		}
		seen[got] = l
	}
}
