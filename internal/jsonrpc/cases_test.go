package jsonrpc

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// A hardCase is a file of testdata/cases. What its expectations leave open is
// pinned by caseTests.
type hardCase struct {
	Input struct {
		Raw       string
		RawBase64 string `json:"raw_base64"`
		Raws      []string
		Body      json.RawMessage
		Variants  []json.RawMessage
	}
}

// bodies returns the bodies of c, in order.
func (c hardCase) bodies(t *testing.T) []string {
	t.Helper()
	bodies := c.Input.Raws
	for _, v := range c.Input.Variants {
		bodies = append(bodies, string(v))
	}
	if c.Input.Raw != "" {
		bodies = append(bodies, c.Input.Raw)
	}
	if c.Input.Body != nil {
		bodies = append(bodies, string(c.Input.Body))
	}
	if c.Input.RawBase64 != "" {
		b, err := base64.StdEncoding.DecodeString(c.Input.RawBase64)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, string(b))
	}
	return bodies
}

func TestCases(t *testing.T) {
	const none = `{"tools":[]}`
	const toolA = `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`
	tests := []struct {
		id   string
		done bool      // known before the body ends
		want []reading // of each body; raw and end are not compared
	}{
		{"a-027", true, []reading{{result: none, stream: true}}},
		{"a-029", true, []reading{{result: toolA, stream: true}}},
		{"a-031", false, []reading{{result: toolA, stream: true, flags: "bom sse_unterminated"}}},
		{"a-033", true, []reading{{result: none, stream: true}}},
		{"a-045", false, []reading{{result: `{"tools":[{"name":"a","description":"a demo","inputSchema":{"type":"object","properties":{}}}]}`, flags: "id_type"}}},
		{"a-047", false, []reading{{result: none, flags: "null_error"}, {fault: "not_jsonrpc"}, {fault: "not_jsonrpc"}, {result: none, flags: "no_jsonrpc"}}},
		{"b-022", false, []reading{{result: none}, {fault: "invalid_json"}, {fault: "invalid_json"}, {fault: "invalid_json"}}},
	}
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) != len(tests) {
		t.Fatalf("%d case files, %v, but %d tests, want as many", len(files), err, len(tests))
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("testdata", "cases", tt.id+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var c hardCase
			if err := json.Unmarshal(b, &c); err != nil {
				t.Fatal(err)
			}
			bodies := c.bodies(t)
			if len(bodies) != len(tt.want) {
				t.Fatalf("case has %d bodies, want %d", len(bodies), len(tt.want))
			}
			for i, body := range bodies {
				got := whole(t, body)
				got.raw, got.end = "", 0
				if got != tt.want[i] {
					t.Errorf("Read(%q) = %+v, want %+v", body, got, tt.want[i])
				}
				if _, done := NewScanner(2).Write([]byte(body)); done != tt.done {
					t.Errorf("Write(%q) done = %v, want %v", body, done, tt.done)
				}
				sameInPieces(t, body)
			}
		})
	}
}
