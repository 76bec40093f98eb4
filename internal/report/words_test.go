package report

import (
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

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
