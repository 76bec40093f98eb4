package templates_test

import (
	"fmt"
	"html/template"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
)

// says executes one shared piece of the pages and returns what it says. A figure
// stands as its path in brackets, a day as it is.
func says(t *testing.T, name string, data any) string {
	t.Helper()
	set := template.New("").Funcs(template.FuncMap{
		"figure": func(path ...any) string {
			parts := make([]string, len(path))
			for i, p := range path {
				parts[i] = fmt.Sprint(p)
			}
			return "[" + strings.Join(parts, "/") + "]"
		},
		"plural": func(_, many string, _ ...any) string { return many },
		"day":    func(d report.Date) string { return string(d) },
		"state":  report.StateWords,
		"add":    func(a, b int) int { return a + b },
		"dict": func(pairs ...any) map[string]any {
			m := map[string]any{}
			for i := 0; i < len(pairs); i += 2 {
				m[pairs[i].(string)] = pairs[i+1]
			}
			return m
		},
	})
	for _, other := range []string{"known", "overall", "fewest", "handshakes", "stamp", "month", "recorded", "text", "code", "rcode", "codetext", "words", "plain", "shell", "external"} {
		set.Funcs(template.FuncMap{other: func(v ...any) string { return fmt.Sprint(v...) }})
	}
	// Each page defines "main"; only the shared pieces are executed here.
	set, err := set.ParseFiles("site/parts.html", "site/halflife.html", "site/day.html", "site/server.html")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := set.ExecuteTemplate(&b, name, data); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func days(n float64) *report.Days { d := report.Days(n); return &d }

func share(p float64) *report.Probability { v := report.Probability(p); return &v }

// The headline says what an estimate is, and not that so many contracts changed.
func TestResultWords(t *testing.T) {
	tests := []struct {
		name string
		half report.HalfLife
		want string
	}{
		{"reached", report.HalfLife{Status: "reached", Events: 9}, "By the estimate, half of all contracts change within [half_life/half_life/value] of their first reading."},
		{"reached by few", report.HalfLife{Status: "reached", Events: 9, Thin: true}, "By the estimate, half of all contracts change within [half_life/half_life/value] of their first reading; few were observed so long."},
		{"just one half", report.HalfLife{Status: "touches_only", Events: 9}, "At the end of what was observed the estimate has fallen to just one half, and not below: there is no half-life to state yet."},
		{"not reached", report.HalfLife{Status: "not_reached", Events: 9, Intervals: 20}, "The estimate has not fallen to one half in the time observed: [half_life/events] changes in [half_life/intervals] observed lifetimes."},
		{"no change", report.HalfLife{Status: "not_reached", Intervals: 20}, "No change yet in [half_life/intervals] observed lifetimes."},
		{"nothing", report.HalfLife{Status: "not_reached"}, "No contract is recorded yet."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := says(t, "result", &report.Report{HalfLife: tt.half}); got != tt.want {
				t.Errorf("result = %q, want %q", got, tt.want)
			}
		})
	}
}

// Where the half-life is not reached, what is stated is a lower limit, or in words
// why there is none.
func TestBoundWords(t *testing.T) {
	tests := []struct {
		name string
		half report.HalfLife
		want string
	}{
		{"at least", report.HalfLife{Intervals: 20, Events: 9, AtLeast: days(3)}, "; lower limit, at the ninety-five per cent level: [half_life/at_least]"},
		{"more than", report.HalfLife{Intervals: 20, Events: 9, MoreThan: days(3)}, "; lower limit, at the ninety-five per cent level: more than [half_life/more_than]"},
		{"few operators", report.HalfLife{Intervals: 20, Events: 9, FewOperators: true}, "; too few operators for limits"},
		{"no change", report.HalfLife{Intervals: 20, FewOperators: true}, "; no change seen yet, so no limits"},
		{"not known", report.HalfLife{Intervals: 20, Events: 9}, "; limits not known"},
		{"nothing", report.HalfLife{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := says(t, "bound", tt.half); got != tt.want {
				t.Errorf("bound = %q, want %q", got, tt.want)
			}
		})
	}
}

// Whether too few were observed so long is told by the share, not by its limits.
func TestChanceWords(t *testing.T) {
	tests := []struct {
		name   string
		chance report.Chance
		want   string
	}{
		{"too few", report.Chance{}, "too few were observed so long"},
		{"limits", report.Chance{Value: share(0.8), Lower: share(0.7), Upper: share(0.9)}, "[half_life/s_30/lower] to [half_life/s_30/upper]"},
		{"none ended", report.Chance{Value: share(1)}, "no change seen within that time, so no limits"},
		{"all ended", report.Chance{Value: share(0)}, "all changed within that time, so no limits"},
		{"not known", report.Chance{Value: share(0.8)}, "limits not known"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := says(t, "chance-limits", map[string]any{"A": "s_30", "C": tt.chance}); got != tt.want {
				t.Errorf("chance-limits = %q, want %q", got, tt.want)
			}
		})
	}
}

// A version is in force only where it was read on the newest day; of one whose
// end nobody saw, the page says at least, and of one that ended in a gap, when.
func TestLastedWords(t *testing.T) {
	versions := func(v report.Version, next ...report.Version) any {
		all := append([]report.Version{v}, next...)
		page := map[string]any{"Server": &report.Server{Versions: all}}
		return map[string]any{"Page": page, "Name": "x/y", "I": 0, "V": v}
	}
	first := report.Version{First: "2026-01-01", Read: "2026-01-04", Lived: 3}
	with := func(change func(*report.Version)) report.Version { v := first; change(&v); return v }
	tests := []struct {
		name string
		data any
		want string
	}{
		{"in force", versions(with(func(v *report.Version) { v.InForce = true })), "in force for [servers/x/y/versions/0/lived]"},
		{"in force since the newest day", versions(with(func(v *report.Version) { v.InForce, v.Lived = true, 0 })), "first read on the newest day"},
		{"last known", versions(first), "last read on 2026-01-04; lasted at least [servers/x/y/versions/0/lived]"},
		{"read once", versions(with(func(v *report.Version) { v.Read, v.Lived = "2026-01-01", 0 })), "last read on 2026-01-01"},
		{"ended", versions(with(func(v *report.Version) { v.Ended = "2026-01-05" }), report.Version{First: "2026-01-05", LastSame: "2026-01-04", Gap: 1, Drift: true, Comparable: true}), "lasted [servers/x/y/versions/0/lived]"},
		{"ended in a gap", versions(with(func(v *report.Version) { v.Ended = "2026-01-09" }), report.Version{First: "2026-01-09", LastSame: "2026-01-04", Gap: 5, Drift: true}), "ended between 2026-01-04 and 2026-01-09"},
		{"ended on the same day", versions(with(func(v *report.Version) { v.Ended, v.Lived = "2026-01-01", 0 }), report.Version{First: "2026-01-01", LastSame: "2026-01-01", Drift: true, Comparable: true}), "read on one day"},
		{"never confirmed and taken back", versions(with(func(v *report.Version) { v.Ended = "2026-01-05" }), report.Version{First: "2026-01-05", LastSame: "2026-01-04", Gap: 1, Comparable: true, Joined: true}), "lasted [servers/x/y/versions/0/lived]"},
		{"read otherwise since", versions(with(func(v *report.Version) { v.Ended = "2026-01-05" }), report.Version{First: "2026-01-05", LastSame: "2026-01-04", Gap: 1}), "last read on 2026-01-04"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := says(t, "lasted", tt.data); got != tt.want {
				t.Errorf("lasted = %q, want %q", got, tt.want)
			}
		})
	}
}

// A day on which no change was seen says no more than that.
func TestNoChangeWords(t *testing.T) {
	r := &report.Report{First: "2026-01-01"}
	tests := []struct {
		name string
		day  report.Day
		want string
	}{
		{"first", report.Day{Day: "2026-01-01", Partial: true}, "The first readings: what later ones are compared with."},
		{"full", report.Day{Day: "2026-01-02"}, "No change was seen in what was read on this day."},
		{"partial", report.Day{Day: "2026-01-02", Partial: true}, "No change was seen in what was read on this day; not everybody was read."},
		{"degraded", report.Day{Day: "2026-01-02", Degraded: true}, "No change was seen in what was read on this day; not everybody was read."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := says(t, "no-change", map[string]any{"Day": tt.day, "Report": r}); got != tt.want {
				t.Errorf("no-change = %q, want %q", got, tt.want)
			}
		})
	}
}

// Each class has its meaning, and each reason not to probe a sentence of its own;
// one that asked not to be read is not told that it is asked again.
func TestReasonWords(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range record.Classes {
		means := says(t, "means", c.Class.Label())
		if means == "" || seen[means] {
			t.Errorf("means %s = %q, want a sentence of its own", c.Class, means)
		}
		seen[means] = true
		if c.Class != record.NoEndpoint {
			continue
		}
		for _, d := range append(c.Details, record.DetailDef{Detail: "another"}) {
			why := says(t, "unprobed", string(d.Detail))
			if why == "" || seen[why] {
				t.Errorf("unprobed %s = %q, want a sentence of its own", d.Detail, why)
			}
			seen[why] = true
			if asked := strings.Contains(why, "it is asked"); asked == (d.Detail == record.DetailOptOut) {
				t.Errorf("unprobed %s = %q", d.Detail, why)
			}
		}
	}
}

// Each reason of a censoring that the report gives has words.
func TestCensoringWords(t *testing.T) {
	for _, reason := range []string{"window", "retired", "unreachable", "auth", "no_endpoint", "capture"} {
		if got := says(t, "censoring", reason); got == "" || strings.Contains(got, "_") || got == reason {
			t.Errorf("censoring %s = %q, want words", reason, got)
		}
	}
}

// The half-life page writes the least number of operators as a word, since it is
// a rule and no figure.
func TestOperatorsWord(t *testing.T) {
	if page := fileText(t, "site/halflife.html"); !strings.Contains(page, "from {{fewest}} operators on") {
		t.Errorf("MinOperators = %d, and the page does not say so", report.MinOperators)
	}
}
