package timeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

func read(identity canon.Digest, first record.Day, confirmed bool) record.Observation {
	return record.Observation{Head: &record.Head{Identity: identity, FirstObserved: first, Confirmed: confirmed, Tools: 1}}
}

func failing(o record.Observation, last record.Day) record.Observation {
	h := *o.Head
	h.LastObserved = last
	return record.Observation{ErrorClass: record.TLS, Head: &h}
}

// Of many changes those that fit are kept, whole, and all are counted.
func TestChangesAreBounded(t *testing.T) {
	of := func(kind string, n, size int) (out []record.ToolChange) {
		for i := range n {
			out = append(out, record.ToolChange{Kind: kind, Name: fmt.Sprintf("%0*d", size, i)})
		}
		return out
	}
	for _, tt := range []struct {
		name    string
		changes []record.ToolChange
		kept    int
		cut     bool
		want    [3]int // added, removed, changed
	}{
		{"none", nil, 0, false, [3]int{}},
		{"as many as fit", slices.Concat(of("added", 20, 3), of("removed", 20, 3), of("changed", 5, 3), of("renamed", 5, 3)), 50, false, [3]int{20, 20, 10}},
		{"one more", of("changed", 51, 3), 50, true, [3]int{0, 0, 51}},
		{"a server that renames all it has", slices.Concat(of("removed", 9900, 60), of("added", 9900, 60)), 50, true, [3]int{9900, 9900, 0}},
		{"long names", of("added", 9, 1000), 7, true, [3]int{9, 0, 0}},
		{"a name longer than all that fits", slices.Concat(of("added", 1, MaxChangeBytes), of("removed", 1, 3)), 1, true, [3]int{1, 1, 0}},
		{"control characters count as they are written", []record.ToolChange{{Kind: "added", Name: strings.Repeat("\x01", MaxChangeBytes/4)}}, 0, true, [3]int{1, 0, 0}},
		{"members count", []record.ToolChange{{Kind: "changed", Name: "t", Members: []string{strings.Repeat("m", MaxChangeBytes)}}}, 0, true, [3]int{0, 0, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l Life
			l.keep(tt.changes)
			if got := [3]int{l.Added, l.Removed, l.Changed}; got != tt.want || len(l.Changes) != tt.kept || l.ChangesCut != tt.cut {
				t.Errorf("keep counts %v, keeps %d, cut %v; want %v, %d, %v", got, len(l.Changes), l.ChangesCut, tt.want, tt.kept, tt.cut)
			}
			if n := len(record.Value(l.Changes)); n > MaxChangeBytes+2*MaxChanges {
				t.Errorf("what is kept takes %d bytes", n)
			}
		})
	}
}

func TestEarlierLife(t *testing.T) {
	lives := []Life{{Identity: "A", First: "2026-11-01"}, {Identity: "B", First: "2026-11-02"}, {Identity: "A", First: "2026-11-03"}}
	for identity, want := range map[canon.Digest]record.Day{"A": "2026-11-03", "B": "2026-11-02", "C": ""} {
		if got := EarlierLife(lives, identity); got != want {
			t.Errorf("EarlierLife(%s) = %q, want %q", identity, got, want)
		}
	}
}

func TestLives(t *testing.T) {
	a := read("A", "2026-11-01", true)
	tests := []struct {
		name string
		rows []record.Observation
		want []Life
	}{
		{name: "never answered", rows: []record.Observation{{ErrorClass: record.Auth}}},
		{
			name: "an outage ends no life (f-002)",
			rows: []record.Observation{a, failing(a, "2026-11-01"), a},
			want: []Life{{Identity: "A", Tools: 1, First: "2026-11-01", Confirmed: true}},
		},
		{
			name: "a contract that comes back begins a new life (f-003)",
			rows: []record.Observation{a, read("B", "2026-11-03", false), read("A", "2026-11-05", false), read("A", "2026-11-05", true)},
			want: []Life{
				{Identity: "A", Tools: 1, First: "2026-11-01", Ended: "2026-11-03", Confirmed: true},
				{Identity: "B", Tools: 1, First: "2026-11-03", Ended: "2026-11-05"},
				{Identity: "A", Tools: 1, First: "2026-11-05", Confirmed: true, ReturnOf: 1},
			},
		},
		{
			name: "in force when last read",
			rows: []record.Observation{a, failing(a, "2026-11-09")},
			want: []Life{{Identity: "A", Tools: 1, First: "2026-11-01", Last: "2026-11-09", Confirmed: true}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Lives(tt.rows)); diff != "" {
				t.Errorf("Lives mismatch (-want +got):\n%s", diff)
			}
		})
	}
}
