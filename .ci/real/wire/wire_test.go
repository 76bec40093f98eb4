package wire

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestAnswer(t *testing.T) {
	const answer = `data: {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}` + "\n\n"
	tests := []struct {
		name   string
		body   string
		stream bool
		end    int // -1: no answer
	}{
		{"json", `{"id":2,"result":{}}`, false, 20},
		{"not json", `<html>`, false, -1},
		{"one event", "event: message\n" + answer, true, 15 + len(answer)},
		{"CRLF", "id: 1\r\ndata: {\"id\":2,\"result\":{}}\r\n\r\n", true, 37},
		{"priming event first", "id: 7\ndata:\n\n" + answer, true, 13 + len(answer)},
		{"notification first", "data: {\"method\":\"x\"}\n\n" + answer, true, 22 + len(answer)},
		{"request with our id first", "data: {\"id\":2,\"method\":\"x\"}\n\n" + answer, true, 29 + len(answer)},
		{"the stream goes on", answer + ": ping\n\ndata: {\"method\":\"x\"}\n\n", true, len(answer)},
		{"two data lines", "data: {\"id\":2,\ndata: \"result\":{}}\n\n", true, 35},
		{"another id", "data: {\"id\":3,\"result\":{}}\n\n", true, -1},
		{"no blank line", `data: {"id":2,"result":{}}` + "\n", true, -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, end, err := Answer([]byte(test.body), test.stream, json.RawMessage("2"))
			if err != nil {
				end = -1
			}
			if end != test.end {
				t.Errorf("Answer(%q) ends at %d (%v), want %d", test.body, end, err, test.end)
			}
		})
	}
}

// list reads a result for a test.
func list(t *testing.T, result string) List {
	t.Helper()
	l, err := Tools(json.RawMessage(result))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestCompare(t *testing.T) {
	old := list(t, `{"tools":[{"name":"a"},{"name":"b","description":"x","inputSchema":{"type":"object","maximum":1}},{"name":"c","title":"t"}]}`)
	new := list(t, `{"tools":[{"title":"t","name":"c"},{"name":"d"},{"name":"b","description":"x","inputSchema":{"maximum":1.0,"type":"object"},"annotations":{}}]}`)
	want := []Change{
		{Kind: "removed", Name: "a"},
		{Kind: "changed", Name: "b", Members: []string{"annotations", "inputSchema"}},
		{Kind: "added", Name: "d"},
	}
	if got := Compare(old, new); !reflect.DeepEqual(got, want) {
		t.Errorf("Compare = %v, want %v", got, want)
	}
}

func TestIdentity(t *testing.T) {
	base := `{"tools":[{"name":"b","e":[{"y":1,"x":2},{"a":1}],"s":["q","p"]},{"name":"a","n":1.0}]}`
	tests := []struct {
		name, result string
		same         bool
	}{
		{"itself", base, true},
		{"keys, tools and objects in another order", `{"tools":[{"n":1.0,"name":"a"},{"s":["q","p"],"name":"b","e":[{"a":1},{"x":2,"y":1}]}],"_meta":{}}`, true},
		{"strings in another order", `{"tools":[{"name":"b","e":[{"y":1,"x":2},{"a":1}],"s":["p","q"]},{"name":"a","n":1.0}]}`, false},
		{"a number spelt otherwise", `{"tools":[{"name":"b","e":[{"y":1,"x":2},{"a":1}],"s":["q","p"]},{"name":"a","n":1}]}`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := list(t, test.result).Identity() == list(t, base).Identity(); got != test.same {
				t.Errorf("same identity = %t, want %t", got, test.same)
			}
		})
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"a<b>&\u2028":   "\"a<b>&\u2028\"",
		`\u2028`:        `"\\u2028"`,
		"\\\u2028\x01":  `"\\` + "\u2028" + `\u0001"`,
		"\b\f\n\r\t\"é": `"\b\f\n\r\t\"é"`,
	} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}
