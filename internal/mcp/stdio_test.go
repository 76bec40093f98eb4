package mcp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

const (
	pipeInit = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"2"}}}`
	pipeList = `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}`
)

// A pipeServer answers each message with the texts that answers holds for its
// method, in order; a nil text ends its output.
func pipeServer(in io.Reader, out io.WriteCloser, answers map[string][]string, asked *[]string) {
	defer out.Close()
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 1<<20)
	count := map[string]int{}
	for scanner.Scan() {
		var m struct{ Method string }
		json.Unmarshal(scanner.Bytes(), &m)
		*asked = append(*asked, scanner.Text())
		all := answers[m.Method]
		n := count[m.Method]
		count[m.Method]++
		if n >= len(all) {
			continue
		}
		text, last := strings.CutSuffix(all[n], "EOF")
		if _, err := io.WriteString(out, text); err != nil || last {
			return
		}
	}
}

// readPipe reads a server that answers so.
func readPipe(t *testing.T, answers map[string][]string, m record.Methodology) (r Reading, asked []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		done := make(chan struct{})
		go func() {
			pipeServer(inR, outW, answers, &asked)
			io.Copy(io.Discard, inR)
			close(done)
		}()
		var err error
		r, err = new(Client).ReadPipe(t.Context(), outR, inW, m)
		inW.Close()
		outR.Close()
		<-done
		if err != nil {
			t.Fatalf("ReadPipe = %v, want no error", err)
		}
	})
	return r, asked
}

func TestReadPipe(t *testing.T) {
	fail := func(class record.ErrorClass, detail record.Detail, step record.Step) record.Outcome {
		return record.Outcome{Class: class, Detail: detail, Step: step}
	}
	for _, tt := range []struct {
		name        string
		init, list  string
		want        record.Outcome
		flags       []record.Flag
		keptInstead string // of pipeList
	}{
		{name: "plain", init: pipeInit + "\n", list: pipeList + "\n"},
		{name: "log lines", init: "starting\n\n[INFO] up {\n{oops}\n" + pipeInit + "\n", list: "listing…\r\n" + pipeList + "\n"},
		{name: "requests and notifications", init: `{"jsonrpc":"2.0","method":"notifications/message","params":{}}` + "\n" + pipeInit + "\n",
			list: `{"jsonrpc":"2.0","id":2,"method":"roots/list"}` + "\n" + pipeList + "\n"},
		{name: "list changed", init: pipeInit + "\n", list: `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n" + pipeList + "\n", flags: []record.Flag{record.FlagListChanged}},
		{name: "an answer to nothing first", init: pipeInit + "\n", list: `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"what?"}}` + "\n" + pipeList + "\n"},
		{name: "id as a string", init: pipeInit + "\n", list: strings.Replace(pipeList, `"id":2`, `"id":"2"`, 1) + "\n",
			flags: []record.Flag{record.FlagIDType}, keptInstead: strings.Replace(pipeList, `"id":2`, `"id":"2"`, 1)},
		{name: "only another id, at the end", init: pipeInit + "\n", list: strings.Replace(pipeList, `"id":2`, `"id":9`, 1) + "\nEOF",
			flags: []record.Flag{record.FlagIDMismatch}, keptInstead: strings.Replace(pipeList, `"id":2`, `"id":9`, 1)},
		{name: "no line feed at the end", init: pipeInit + "\n", list: pipeList + "EOF"},
		{name: "batch", init: pipeInit + "\n", list: "[" + pipeList + "]\n", flags: []record.Flag{record.FlagBatch}, keptInstead: "[" + pipeList + "]"},
		{name: "silence", want: fail(record.Timeout, "", record.StepInitialize)},
		{name: "silence after the handshake", init: pipeInit + "\n", list: "soon\n", want: fail(record.Timeout, "", record.StepToolsList)},
		{name: "end", init: "EOF", want: fail(record.TLS, record.DetailReset, record.StepInitialize)},
		{name: "end after the handshake", init: pipeInit + "\nEOF", want: fail(record.TLS, record.DetailReset, record.StepToolsList)},
		{name: "error", init: pipeInit + "\n", list: `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no"}}` + "\n", want: fail(record.Parse, "rpc:-32603", record.StepToolsList)},
		{name: "duplicate members", init: pipeInit + "\n", list: `{"jsonrpc":"2.0","id":2,"result":{"tools":[],"tools":[]}}` + "\n", want: fail(record.Parse, record.DetailInvalidJSON, record.StepToolsList)},
		{name: "NaN", init: pipeInit + "\n", list: `{"jsonrpc":"2.0","id":2,"result":{"tools":[NaN]}}` + "\n", want: fail(record.Parse, record.DetailInvalidJSON, record.StepToolsList)},
		{name: "neither result nor error", init: pipeInit + "\n", list: `{"jsonrpc":"2.0","id":2}` + "\n", want: fail(record.Parse, record.DetailNotJSONRPC, record.StepToolsList)},
		{name: "result that is no object", init: pipeInit + "\n", list: `{"jsonrpc":"2.0","id":2,"result":[]}` + "\n", want: fail(record.Parse, record.DetailNotJSONRPC, record.StepToolsList)},
		{name: "long line", init: strings.Repeat("x", maxLine+128<<10), want: fail(record.Parse, record.DetailTooLarge, record.StepInitialize)},
		{name: "many lines", init: strings.Repeat(strings.Repeat("x", 1<<20)+"\n", 33), want: fail(record.Parse, record.DetailTooLarge, record.StepInitialize)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, _ := readPipe(t, map[string][]string{methodInitialize: {tt.init}, methodList: {tt.list}}, record.V1)
			if r.Outcome != tt.want {
				t.Fatalf("ReadPipe = %v at %q, want %v at %q", r.Outcome, r.Outcome.Step, tt.want, tt.want.Step)
			}
			if !tt.want.OK() {
				return
			}
			kept := tt.keptInstead
			if kept == "" {
				kept = pipeList
			}
			if len(r.Pages) != 1 || string(r.Pages[0]) != kept || string(r.Init) != pipeInit {
				t.Errorf("ReadPipe kept %q and %q, want %q and %q", r.Init, r.Pages, pipeInit, kept)
			}
			if !slices.Equal(r.Flags, tt.flags) {
				t.Errorf("ReadPipe has flags %v, want %v", r.Flags, tt.flags)
			}
			if c := r.Capture; c.Transport != "stdio" || c.Protocol.VersionHeader || c.Protocol.Negotiated != "2025-11-25" {
				t.Errorf("ReadPipe has capture %+v, want stdio, no header", c)
			}
		})
	}
}

func TestReadPipeRequests(t *testing.T) {
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"mcpstrata","version":"1"}}}`
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"mcpstrata","version":"1"}}`
	paged := strings.Replace(pipeList, `"tools":`, `"nextCursor":"n","tools":`, 1)
	refused := `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}`
	discovered := `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}}`
	for _, tt := range []struct {
		name       string
		m          record.Methodology
		answers    map[string][]string
		asked      []string
		outcome    record.Outcome
		complete   bool
		negotiated string
	}{
		{"v1 reads one page", record.V1, map[string][]string{methodInitialize: {pipeInit + "\n"}, methodList: {paged + "\n"}},
			[]string{fmt.Sprintf(initialize, "2024-11-05"), initializedBody, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`},
			record.Outcome{}, false, "2025-11-25"},
		{"v2 reads all", record.V2, map[string][]string{methodInitialize: {pipeInit + "\n"}, methodList: {paged + "\n", strings.Replace(pipeList, `"id":2`, `"id":3`, 1) + "\n"}},
			[]string{fmt.Sprintf(initialize, "2025-11-25"), initializedBody, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`, `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"n"}}`},
			record.Outcome{}, true, "2025-11-25"},
		{"v2 speaks the newer era", record.V2, map[string][]string{methodInitialize: {refused + "\n"}, methodDiscover: {discovered + "\n"}, methodList: {pipeList + "\n"}},
			[]string{fmt.Sprintf(initialize, "2025-11-25"), `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + meta + `}}`},
			record.Outcome{}, true, "2026-07-28"},
		{"v1 does not", record.V1, map[string][]string{methodInitialize: {refused + "\n"}},
			[]string{fmt.Sprintf(initialize, "2024-11-05")}, record.Outcome{Class: record.Parse, Detail: "rpc:-32022", Step: record.StepInitialize}, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, asked := readPipe(t, tt.answers, tt.m)
			if !slices.Equal(asked, tt.asked) {
				t.Errorf("ReadPipe sent\n%s\nwant\n%s", strings.Join(asked, "\n"), strings.Join(tt.asked, "\n"))
			}
			p := r.Capture.Protocol
			if r.Outcome != tt.outcome || r.Capture.Pages.Complete != tt.complete || p.Negotiated != tt.negotiated || p.VersionHeader {
				t.Errorf("ReadPipe = %v at %q, capture %+v, want %v, complete %v, negotiated %q, no header", r.Outcome, r.Outcome.Step, r.Capture, tt.outcome, tt.complete, tt.negotiated)
			}
			if r.Requests != len(tt.asked) {
				t.Errorf("ReadPipe made %d requests, want %d", r.Requests, len(tt.asked))
			}
		})
	}
}

// A broken writer is a server that closed its input.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestReadPipeClosedInput(t *testing.T) {
	r, err := new(Client).ReadPipe(t.Context(), strings.NewReader("bye\n"), brokenWriter{}, record.V1)
	if want := (record.Outcome{Class: record.TLS, Detail: record.DetailReset, Step: record.StepInitialize}); err != nil || r.Outcome != want {
		t.Errorf("ReadPipe(server without input) = %v, %v, want %v", r.Outcome, err, want)
	}
}
