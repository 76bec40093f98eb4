package sweep

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A host that asks for rest with every answer is given it for ten minutes in
// all; then it is read at the plan's pace.
func TestRestIsCappedInAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProber(t)
		p.retryAfter = func(string) time.Duration { return time.Hour }
		run(t, p, newPlan(time.Second, urlsAt("https://busy.example", 14)...), Config{})
		want := []float64{0, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 601, 602, 603}
		if got := p.at("busy.example:443"); !slices.Equal(got, want) {
			t.Errorf("starts = %v, want %v", got, want)
		}
	})
}

// When the budget is spent nothing more is started, what is in flight ends, and
// hosts at rest are not waited for.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProber(t)
		p.took = func(string) time.Duration { return 4 * time.Second }
		p.retryAfter = func(e string) time.Duration {
			if strings.Contains(e, "busy") {
				return time.Minute
			}
			return 0
		}
		plan := newPlan(time.Second, append(urlsAt("https://busy.example", 5), urlsAt("https://idle.example", 5)...)...)
		var names []string
		stats, err := Run(t.Context(), plan, Config{Prober: p, Budget: 10 * time.Second}, func(r record.Result) error {
			names = append(names, r.Name)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// busy: at 0; idle: at 0, 4 and 8, the last of which ends at 12.
		if stats.Probes != 4 || stats.Missed != 6 || len(names) != 4 {
			t.Errorf("stats = %+v with %d results, want 4 probes, 6 missed", stats, len(names))
		}
		if took := time.Since(p.born); took != 12*time.Second {
			t.Errorf("the sweep took %v, want 12s", took)
		}
	})
}
