package jsonrpc

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A message of too many values is too large, however it is sent.
func TestTooManyValues(t *testing.T) {
	many := `{"jsonrpc":"2.0","id":2,"result":[` + strings.Repeat("1,", canon.MaxValues) + `1]}`
	for name, body := range map[string]string{
		"JSON":        many,
		"stream":      "data: " + many + "\n\n",
		"batch":       "[" + many + "]",
		"not our own": "data: " + strings.Replace(many, `"id":2`, `"id":3`, 1) + "\n\n",
	} {
		_, err := Read([]byte(body), 2)
		if fault, ok := errors.AsType[*Fault](err); !ok || fault.Detail != record.DetailTooLarge {
			t.Errorf("%s: Read = %v, want a fault %s", name, err, record.DetailTooLarge)
		}
	}
}

// The Scanner asks before it parses, and stops if it may not.
func TestAdmit(t *testing.T) {
	other := strings.Replace(ok, `"id":2`, `"id":9`, 1)
	tests := []struct {
		name, body string
		asked      int // how often
		sizes      []int
	}{
		{"JSON", ok, 1, []int{len(ok)}},
		{"stream", "data: " + ok + "\n\n", 1, []int{len(ok)}},
		{"another id, read again at the end", "data: " + other + "\n\n", 2, []int{len(other), len(other)}},
		{"page", "<p>", 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for stop := range tt.asked + 1 {
				s := NewScanner(2)
				var sizes []int
				s.Admit(func(size int) bool {
					sizes = append(sizes, size)
					return len(sizes) != stop+1
				})
				s.Write([]byte(tt.body))
				_, err := s.Finish()
				refused := stop < tt.asked
				if (err != nil) != (refused || tt.sizes == nil) {
					t.Errorf("Finish, refused at call %d of %d = %v", stop+1, tt.asked, err)
				}
				if want := tt.sizes[:min(stop+1, tt.asked)]; !slices.Equal(sizes, want) {
					t.Errorf("refused at call %d: asked for %v, want %v", stop+1, sizes, want)
				}
			}
		})
	}
}
