package launch

import (
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

func TestQuotesReader(t *testing.T) {
	launch := &record.Launch{Home: "/home/reader", EnvNames: []string{"API_KEY"}}
	for _, tt := range []struct {
		name, tool string
		want       bool
	}{
		{"nothing", `{"name":"a","description":"reads /home"}`, false},
		{"home", `{"name":"a","description":"reads /home/reader/x"}`, true},
		{"home with escapes", `{"name":"a","description":"reads \/home\/\u0072eader"}`, true},
		{"deep", `{"name":"a","inputSchema":{"type":"object","properties":{"p":{"enum":[1,{"default":["/home/reader"]}]}}}}`, true},
		{"name of a member", `{"name":"a","inputSchema":{"properties":{"/home/reader":{}}}}`, true},
		{"placeholder", `{"name":"a","title":"key placeholder-API_KEY"}`, true},
		{"placeholder of another", `{"name":"a","title":"key placeholder-KEY"}`, false},
		{"name of a variable", `{"name":"a","title":"needs API_KEY"}`, false},
		{"not a tool", `"/home/reader"`, true},
	} {
		page := []byte(`{"jsonrpc":"2.0","id":2,"result":{"_meta":{"at":"/home/reader"},"tools":[` + tt.tool + `]}}`)
		if got := quotesReader([][]byte{page}, launch); got != tt.want {
			t.Errorf("quotesReader(%s) = %v, want %v", tt.tool, got, tt.want)
		}
	}
	if quotesReader([][]byte{[]byte("/home/reader")}, launch) {
		t.Error("quotesReader(no contract) = true, want false")
	}
}
