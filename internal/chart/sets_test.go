package chart

import (
	"maps"
	"slices"

	"github.com/mcpstrata/mcpstrata/internal/report"
)

// foul is a name that is markup and holds hidden characters; hostile has those
// too that no document can hold.
const foul = "evil.example/</text><script>alert(1)</script>\"'&\u202e\U000E0041"

const hostile = "evil.example/</text><script>alert(1)</script>\"'&\u202e\x1b\x00\xff\U000E0041\uFFFE"

// reports are the hand-made reports that tests draw, by name.
func reports() map[string]*report.Report {
	with := func(r *report.Report, lives []lifetime, ticks ...int) *report.Report {
		r.HalfLife = halfLifeOf(lives, ticks)
		return r
	}
	months := calendarReport("2026-10-02", 60, 1200, true)
	months.Servers = map[string]*report.Server{
		"com.example/usual":  server("2026-10-02", 0, []int{0, 14, 15, 41}, "answered", 11, "no_data", 2, "answered", 20, "auth", 4, "answered", 3, "no_data", 1, "answered", 12, "tls", 2, "answered", 5),
		"com.example/late":   server("2026-10-02", 37, []int{41}, "timeout", 4, "answered", 19),
		"com.example/gone":   server("2026-10-02", 0, []int{0, 9, 10, 11, 12, 13}, "answered", 30, "http_5xx", 6, "retired", 24),
		"com.example/remote": server("2026-10-02", 0, nil, "no_endpoint", 60),
		foul:                 server("2026-10-02", 3, []int{3, 20, 40}, "answered", 57),
		hostile:              server("2026-10-02", 3, []int{3, 20}, "answered", 20, `"><script>`, 10, "answered", 27),
	}
	with(months, exponential(3000, 70, 60, 42), 0, 10, 20, 30, 40, 50, 60)
	reached := with(calendarReport("2026-01-15", 320, 9000, false), exponential(4000, 110, 300, 9), 0, 30, 60, 90, 120, 150, 180, 210, 240, 270, 300)
	reached.HalfLife.Estimate.WangChang = weightedOf(exponential(900, 240, 300, 4))
	reached.Servers = map[string]*report.Server{"a/b": server("2026-01-15", 0, []int{0, 30, 61, 92, 93, 94, 150, 200, 250, 310}, "answered", 100, "auth", 20, "answered", 200)}
	few := with(calendarReport("2026-11-20", 4, 900, false), exponential(60, 20, 60, 11), 0, 15, 30, 45, 60)
	zero := with(&report.Report{First: "2026-11-27", AsOf: "2026-11-27", Calendar: []report.Day{{Day: "2026-11-27"}}},
		[]lifetime{{1, true}, {2, true}, {3, true}, {3, false}, {5, true}, {8, true}}, 0, 2, 4, 6, 8)
	one := with(calendarReport("2026-11-27", 1, 500, false), append(censored(400, 12), lifetime{5, true}), 0, 7, 14)
	one.Servers = map[string]*report.Server{"a/b": server("2026-11-27", 0, []int{0}, "answered", 1)}
	least := report.Days(7)
	one.HalfLife.AtLeast = &least
	none := with(calendarReport("2026-11-20", 10, 500, false), censored(200, 9), 0, 7)
	for _, r := range []*report.Report{months, reached, few, zero, one, none} {
		listCaptures(r)
	}
	return map[string]*report.Report{
		"months": months, "reached": reached, "few": few, "zero": zero, "one": one, "none": none,
		"empty": {Servers: map[string]*report.Server{"a/b": {}}},
	}
}

// captured is the server of which hand-made reports list the differences that the
// conditions of reading may explain.
const captured = "com.example/captured"

// listCaptures lists the captures of each day as changes, as a methodology does
// that counts them.
func listCaptures(r *report.Report) {
	if r.Servers == nil {
		r.Servers = map[string]*report.Server{}
	}
	r.Servers[captured] = &report.Server{Versions: []report.Version{{N: 1, Comparable: true}, {N: 2}}}
	for i := range r.Calendar {
		d := &r.Calendar[i]
		for range d.Captures {
			d.Changes = append(d.Changes, report.Group{Servers: 1, Changed: []report.Changed{{Index: 1, Name: captured}}})
		}
	}
}

func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// drawings are all drawings of a report, by name.
func drawings(r *report.Report) map[string]func(Form) ([]byte, error) {
	out := map[string]func(Form) ([]byte, error){
		"half-life": func(f Form) ([]byte, error) { return HalfLife(r, f) },
		"classes":   func(f Form) ([]byte, error) { return Classes(r, f) },
		"changes":   func(f Form) ([]byte, error) { return Changes(r, f) },
	}
	all := slices.DeleteFunc(names(r.Servers), func(name string) bool { return name == captured })
	for i, name := range all {
		out["strip-"+string(rune('a'+i))] = func(f Form) ([]byte, error) { return Strip(r, name, f) }
	}
	return out
}
