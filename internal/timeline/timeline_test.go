package timeline

import (
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
				{Identity: "A", Tools: 1, First: "2026-11-05", Confirmed: true, ReturnOf: "2026-11-01"},
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
