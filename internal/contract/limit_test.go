package contract

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/jsonrpc"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A document of too many values is too large, whatever it is wrapped in.
func TestTooManyValues(t *testing.T) {
	result := `{"tools":[{"name":"a","inputSchema":{"enum":[` + strings.Repeat("1,", canon.MaxValues) + `1]}}]}`
	var fault *jsonrpc.Fault
	if _, err := ReadDocument([]byte(result)); !errors.As(err, &fault) || fault.Detail != record.DetailTooLarge {
		t.Errorf("ReadDocument = %.80v, want a fault %s", err, record.DetailTooLarge)
	}
	wantFault(t, string(page(0, result)), record.DetailTooLarge)
}

// A file that would be too large has one tool a line, and is the same contract.
func TestLargeFile(t *testing.T) {
	deep := strings.Repeat("[", 40) + strings.Repeat("[1],", 200_000) + `{"z":1.0,"a":[{"k":2},{"k":1}]}` + strings.Repeat("]", 40)
	c := mustRead(t, `[{"x":`+deep+`,"name":"b"},{"name":"a","n":1.0}]`)
	file := c.File()
	if len(file) > MaxPretty {
		t.Errorf("File has %d bytes, want at most %d", len(file), MaxPretty)
	}
	lines := bytes.Split(file, []byte("\n"))
	if len(lines) != 5 || string(lines[1]) != `{"n":1.0,"name":"a"},` || !bytes.HasPrefix(lines[2], []byte(`{"name":"b","x":[[`)) {
		t.Fatalf("File has %d lines from %.200q, want a tool on each, in order of name", len(lines), file)
	}
	again := mustRead(t, string(file))
	for _, form := range []string{"v1", "v2"} {
		if got, want := mustIdentity(t, again, form), mustIdentity(t, c, form); got != want {
			t.Errorf("Identity(%s) of the file = %s, want %s", form, got, want)
		}
	}
	if !bytes.Equal(again.File(), file) {
		t.Error("File of the file is another one")
	}
}
