package report

import (
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/archive"
)

// What can't be, in a dated file, is an error that names the file, never a figure
// and never a panic.
func TestDamagedFiles(t *testing.T) {
	observations, events := archive.ObservationsPath("2026-11-02", "v1"), archive.EventsPath("2026-11-02")
	tests := []struct{ name, file, old, new, want string }{
		{"a day that is none", observations, `"first_observed":"2026-11-02"`, `"first_observed":"x"`, observations + `: the row of "a/a": first_observed "x" is not a day`},
		{"a row of nobody", observations, `"name":"a/a"`, `"name":""`, observations + `: the row of "": it has no name`},
		{"another day's rows", observations, `"day":"2026-11-02"`, `"day":"2026-11-03"`, observations + ": it says that it is of another day"},
		{"an event on no day", events, `"last_same":"2026-11-01"`, `"last_same":"yesterday"`, events + `: an event of "a/a": `},
		{"an event of nobody", events, `"name":"a/a"`, `"name":""`, events + ": an event of nobody"},
		{"another run's record", archive.RunPath("2026-11-02"), `"run": "2026-11-02"`, `"run": "2026-11-03"`, archive.RunPath("2026-11-02") + ": it says that it is of another run"},
		{"a roster row of nobody", archive.RosterPath("2026-11-01"), `"name": "a/a"`, `"name": ""`, archive.RosterPath("2026-11-01") + ": a row without a name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newTown(t, "a/a", "b/b")
			w.run("2026-11-01", readings{"a/a": "one", "b/b": "one"})
			w.run("2026-11-02", readings{"a/a": "two", "b/b": "one"})
			was := string(w.fs[tt.file].Data)
			if !strings.Contains(was, tt.old) {
				t.Fatalf("%s has no %s:\n%s", tt.file, tt.old, was)
			}
			w.fs[tt.file].Data = []byte(strings.Replace(was, tt.old, tt.new, 1))
			if _, err := Build(w.tree(), "v1"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Build = %v, want an error that holds %q", err, tt.want)
			}
		})
	}
}

// A run that lies centuries off is a mistake; nobody makes a row of each day
// between.
func TestFarAwayDay(t *testing.T) {
	w := newTown(t, "a/a")
	w.run("2026-11-01", readings{"a/a": "one"})
	w.run("9999-12-31", readings{"a/a": "one"})
	if _, err := Build(w.tree(), "v1"); err == nil || !strings.Contains(err.Error(), "9999-12-31 lies more than a century after") {
		t.Errorf("Build = %v, want an error that names the run", err)
	}
}
