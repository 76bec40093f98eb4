package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// captures holds what real servers answered, byte for byte. It is no part of the
// repository.
const captures = "../../../shared/captures"

// A take is one recorded answer.
type take struct {
	head *http.Response
	body []byte
}

func readTake(t *testing.T, stem string) take {
	t.Helper()
	head, err := os.ReadFile(stem + ".head")
	if err != nil {
		t.Fatal(err)
	}
	head = append(bytes.TrimRight(head, "\r\n"), "\r\n\r\n"...)
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(stem + ".body")
	if err != nil {
		t.Fatal(err)
	}
	return take{resp, body}
}

// replay serves the takes, by method.
func replay(takes map[string]take) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var message struct{ Method string }
		json.Unmarshal(b, &message)
		take := takes[message.Method]
		w.Header()["Content-Type"] = nil
		for _, name := range []string{"Content-Type", "Mcp-Session-Id", "Cache-Control"} {
			if v := take.head.Header.Values(name); v != nil {
				w.Header()[name] = v
			}
		}
		w.WriteHeader(take.head.StatusCode)
		w.Write(take.body)
	})
}

// Real servers, asked 2024-11-05, give what protocol.md 1.6 says of them.
func TestReplay(t *testing.T) {
	if _, err := os.Stat(captures); err != nil {
		t.Skip("no captures here")
	}
	failed := func(class record.ErrorClass, detail record.Detail, status int) record.Outcome {
		return record.Outcome{Class: class, Detail: detail, Step: record.StepInitialize, HTTPStatus: status}
	}
	tests := []struct {
		server   string
		outcome  record.Outcome
		tools    int
		complete bool
		session  bool
	}{
		{"antv-chart", record.Outcome{}, 27, true, false},
		{"context7", record.Outcome{}, 2, true, false},
		{"go-sdk-1.8.0-paginated", record.Outcome{}, 2, false, true},
		{"go-sdk-1.8.0-stateless-json", record.Outcome{}, 2, false, false},
		{"notion-auth401", failed(record.Auth, "", 401), 0, false, false},
		{"playwright", record.Outcome{}, 25, true, true},
		{"playwright-hostcheck-403", failed(record.Auth, record.DetailHostCheck, 403), 0, false, false},
		{"sdkv2-modern-only", failed(record.HTTP4xx, record.RPCDetail(-32022), 400), 0, false, false},
		{"server-everything", record.Outcome{}, 13, true, true},
		{"supergateway-stateless", record.Outcome{}, 9, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.server, func(t *testing.T) {
			stem := func(s string) string { return filepath.Join(captures, tt.server, s) }
			initialize := readTake(t, stem("01-a-2024-11-05-initialize"))
			list := readTake(t, stem("03-a-2024-11-05-tools-list"))
			server := httptest.NewServer(replay(map[string]take{
				stepInit: initialize, stepNotify: readTake(t, stem("02-a-2024-11-05-initialized")), stepList: list,
			}))
			defer server.Close()
			got := read(t, client(), server.URL+"/mcp", record.V1)
			if got.Outcome != tt.outcome {
				t.Fatalf("Read = %+v, want %+v", got.Outcome, tt.outcome)
			}
			if !got.Outcome.OK() {
				return
			}
			checkKept(t, "init", got.Init, initialize.body)
			checkKept(t, "list", got.Pages[0], list.body)
			if len(got.Flags) != 0 {
				t.Errorf("flags %v, want none", got.Flags)
			}
			want := record.Protocol{Negotiated: "2024-11-05", Requested: "2024-11-05"}
			if got.Capture.Protocol != want || got.Capture.Pages.Complete != tt.complete {
				t.Errorf("capture %+v, want %+v, complete %t", got.Capture, want, tt.complete)
			}
			if s := got.Server; s == nil || s.Name == "" || s.Version == "" || len(s.Capabilities) == 0 || s.Capabilities[0] == "" {
				t.Errorf("server %+v, want its name, version and capabilities", got.Server)
			}
			if (sessionID(initialize.head.Header) != "") != tt.session {
				t.Errorf("session id %q, want one: %t", sessionID(initialize.head.Header), tt.session)
			}
			if n := len(tools(t, got)); n != tt.tools {
				t.Errorf("%d tools, want %d", n, tt.tools)
			}
		})
	}
}

func checkKept(t *testing.T, what string, got, recorded []byte) {
	t.Helper()
	if diff := cmp.Diff(string(recorded), string(got)); diff != "" {
		t.Errorf("%s: bytes kept differ from those recorded (-want +got):\n%s", what, diff)
	}
}
