package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// captures holds what real servers answered, byte for byte. It is no part of the
// repository. What is in testdata/replay was written by hand after them.
const captures = "../../../shared/captures"

// An asked is a request as far as an answer depends on it.
type asked struct {
	HTTP         string `json:"http"`
	Method       string `json:"method,omitempty"`
	Asks         string `json:"asks,omitempty"`   // protocolVersion of initialize
	Cursor       string `json:"cursor,omitempty"` // as JSON text
	Capabilities string `json:"capabilities,omitempty"`
	Session      string `json:"session,omitempty"`
	Version      string `json:"version,omitempty"` // header
	Named        string `json:"named,omitempty"`   // header Mcp-Method
}

// A take is one recorded answer.
type take struct {
	Asked  asked             `json:"asked"`
	ID     int               `json:"id,omitempty"` // of the recorded request
	Status int               `json:"status"`
	Header map[string]string `json:"header,omitempty"`
	Body   string            `json:"body,omitempty"`
}

// askedBy returns what a request with this method, header and body asks, and its
// id.
func askedBy(method string, h http.Header, body []byte) (asked, int) {
	var message struct {
		ID     int
		Method string
		Params struct {
			ProtocolVersion string
			Cursor          json.RawMessage
			Capabilities    map[string]json.RawMessage
		}
	}
	json.Unmarshal(body, &message)
	a := asked{method, message.Method, message.Params.ProtocolVersion, string(message.Params.Cursor), "", h.Get("Mcp-Session-Id"), h.Get("Mcp-Protocol-Version"), h.Get("Mcp-Method")}
	if len(message.Params.Capabilities) > 0 {
		a.Capabilities = "some"
	}
	return a, message.ID
}

// readCapture returns the takes in a folder of captures, in order.
func readCapture(t *testing.T, folder string) []take {
	t.Helper()
	heads, err := filepath.Glob(filepath.Join(folder, "*.head"))
	if err != nil || len(heads) == 0 {
		t.Fatalf("%s: no captures: %v", folder, err)
	}
	slices.Sort(heads)
	var takes []take
	for _, name := range heads {
		stem := strings.TrimSuffix(name, ".head")
		read := func(ext string) []byte {
			b, err := os.ReadFile(stem + ext)
			if err != nil && ext != ".req.json" {
				t.Fatal(err)
			}
			return b
		}
		ended := func(b []byte) *bufio.Reader {
			return bufio.NewReader(bytes.NewReader(append(bytes.TrimRight(b, "\r\n"), "\r\n\r\n"...)))
		}
		line, rest, _ := bytes.Cut(read(".req.txt"), []byte("\n"))
		request, err := http.ReadRequest(ended(fmt.Appendf(nil, "%s HTTP/1.1\nHost: x\n%s", bytes.TrimSpace(line), rest)))
		if err != nil {
			t.Fatalf("%s: %v", stem, err)
		}
		response, err := http.ReadResponse(ended(read(".head")), nil)
		if err != nil {
			t.Fatalf("%s: %v", stem, err)
		}
		tk := take{Status: response.StatusCode, Header: map[string]string{}, Body: string(read(".body"))}
		tk.Asked, tk.ID = askedBy(request.Method, request.Header, read(".req.json"))
		for _, h := range []string{"Content-Type", "Mcp-Session-Id", "Cache-Control"} {
			if v := response.Header.Get(h); v != "" {
				tk.Header[h] = v
			}
		}
		takes = append(takes, tk)
	}
	return takes
}

// A replayer serves takes: the first whose request was the same.
type replayer struct {
	takes []take
	mu    sync.Mutex
	sent  [][]byte // bodies of the answers to initialize, discover and tools/list; guarded by mu
	lost  []asked  // requests that no take answers; guarded by mu
	all   []asked  // guarded by mu
}

func (p *replayer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	a, id := askedBy(r.Method, r.Header, b)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, a)
	i := slices.IndexFunc(p.takes, func(t take) bool { return t.Asked == a })
	if i < 0 { // of some servers only the refusal of an old handshake was recorded
		i = slices.IndexFunc(p.takes, func(t take) bool { return a.Method == stepInit && t.Asked.Method == a.Method && t.Status == 403 })
	}
	if i < 0 {
		p.lost = append(p.lost, a)
		w.WriteHeader(500)
		return
	}
	t := p.takes[i]
	text := t.Body
	if t.ID != id { // the recording reader used other ids
		text = strings.Replace(text, fmt.Sprintf(`"id":%d`, t.ID), fmt.Sprintf(`"id":%d`, id), 1)
	}
	if a.Method != stepNotify && a.HTTP == "POST" {
		p.sent = append(p.sent, []byte(text))
	}
	w.Header()["Content-Type"] = nil
	for name, v := range t.Header {
		w.Header().Set(name, v)
	}
	w.WriteHeader(t.Status)
	io.WriteString(w, text)
}

// A replayed is what a reading of a recorded server gives.
type replayed struct {
	outcome    record.Outcome
	tools      int
	pages      record.Pages
	negotiated string
	header     bool
	requests   []string
}

// The requests of a reading, in short.
var (
	plain  = []string{"initialize", "notifications/initialized", "tools/list"}
	closed = append(slices.Clone(plain), "DELETE")
	whole  = record.Pages{Read: 1, Complete: true}
)

// replayedV1 is a success under v1 of one page.
func replayedV1(tools int) replayed {
	return replayed{tools: tools, pages: whole, negotiated: "2024-11-05", requests: plain}
}

// replayedV2 is one under v2 of one page.
func replayedV2(tools int, requests []string) replayed {
	return replayed{tools: tools, pages: whole, negotiated: "2025-11-25", header: true, requests: requests}
}

func refusedAs(class record.ErrorClass, detail record.Detail, status int) replayed {
	return replayed{outcome: record.Outcome{Class: class, Detail: detail, Step: record.StepInitialize, HTTPStatus: status}, requests: plain[:1]}
}

// more returns r with a list of pages, of which these were read.
func (r replayed) more(pages record.Pages, requests ...string) replayed {
	r.pages, r.requests = pages, requests
	return r
}

// checkReplay reads the server that takes are of under m.
func checkReplay(t *testing.T, takes []take, m record.Methodology, want replayed) {
	t.Helper()
	p := &replayer{takes: takes}
	server := httptest.NewServer(p)
	defer server.Close()
	got := read(t, client(), server.URL+"/mcp", m)
	if len(p.lost) > 0 {
		t.Errorf("requests without a take: %+v", p.lost)
	}
	var requests []string
	for _, a := range p.all {
		if requests = append(requests, a.Method); a.Method == "" {
			requests[len(requests)-1] = a.HTTP
		}
	}
	if !slices.Equal(requests, want.requests) || got.Requests != len(requests) {
		t.Errorf("requests %q (%d counted), want %q", requests, got.Requests, want.requests)
	}
	if got.Outcome != want.outcome {
		t.Fatalf("Read = %+v, want %+v", got.Outcome, want.outcome)
	}
	if !got.Outcome.OK() {
		return
	}
	kept := append([][]byte{got.Init}, got.Pages...)
	if diff := cmp.Diff(p.sent[len(p.sent)-len(kept):], kept); diff != "" {
		t.Errorf("bytes kept differ from those recorded (-want +got):\n%s", diff)
	}
	if len(got.Flags) != 0 {
		t.Errorf("flags %v, want none", got.Flags)
	}
	protocol := record.Protocol{Negotiated: want.negotiated, Requested: m.ProtocolVersion, VersionHeader: want.header}
	if got.Capture.Protocol != protocol || got.Capture.Pages != want.pages {
		t.Errorf("capture %+v, want %+v, %+v", got.Capture, protocol, want.pages)
	}
	if s := got.Server; s == nil || s.Name == "" || s.Version == "" || len(s.Capabilities) == 0 || s.Capabilities[0] == "" {
		t.Errorf("server %+v, want its name, version and capabilities", got.Server)
	}
	if n := len(tools(t, got)); n != want.tools {
		t.Errorf("%d tools, want %d", n, want.tools)
	}
}

// Real servers give what protocol.md 1.6 says of them, under both methodologies.
func TestReplay(t *testing.T) {
	if _, err := os.Stat(captures); err != nil {
		t.Skip("no captures here")
	}
	paged := func(tools, read int, requests ...string) replayed {
		r := replayedV2(tools, nil)
		r.pages, r.requests = record.Pages{Read: read, Complete: true}, requests
		return r
	}
	modern := replayed{tools: 1, pages: whole, negotiated: "2026-07-28", header: true, requests: []string{"initialize", "server/discover", "tools/list"}}
	auth, host := refusedAs(record.Auth, "", 401), refusedAs(record.Auth, record.DetailHostCheck, 403)
	tests := []struct {
		server string
		v1, v2 replayed
	}{
		{"antv-chart", replayedV1(27), replayedV2(27, plain)},
		{"context7", replayedV1(2), replayedV2(2, plain)},
		{"go-sdk-1.8.0-paginated", replayedV1(2).more(record.Pages{Read: 1}, plain...), paged(5, 3, "initialize", "notifications/initialized", "tools/list", "tools/list", "tools/list", "DELETE")},
		{"go-sdk-1.8.0-stateless-json", replayedV1(2).more(record.Pages{Read: 1}, plain...), paged(5, 3, "initialize", "notifications/initialized", "tools/list", "tools/list", "tools/list")},
		{"notion-auth401", auth, auth},
		{"playwright", replayedV1(25), replayedV2(25, closed)},
		{"playwright-hostcheck-403", host, host},
		{"sdkv2-modern-only", refusedAs(record.HTTP4xx, record.RPCDetail(-32022), 400), modern},
		{"server-everything", replayedV1(13), replayedV2(13, closed)},
		{"supergateway-stateless", replayedV1(9), replayedV2(9, plain)},
	}
	for _, tt := range tests {
		takes := readCapture(t, filepath.Join(captures, tt.server))
		t.Run(tt.server+"/v1", func(t *testing.T) { checkReplay(t, takes, record.V1, tt.v1) })
		t.Run(tt.server+"/v2", func(t *testing.T) { checkReplay(t, takes, record.V2, tt.v2) })
	}
	folders, err := os.ReadDir(captures)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if !slices.ContainsFunc(tests, func(tt struct {
			server string
			v1, v2 replayed
		}) bool {
			return tt.server == f.Name()
		}) {
			t.Errorf("%s is replayed by no test", f.Name())
		}
	}
}

// Servers that know the era without a handshake, or not, when it is asked for
// first.
func TestReplayModern(t *testing.T) {
	if _, err := os.Stat(captures); err != nil {
		t.Skip("no captures here")
	}
	m := record.V2
	m.ProtocolVersion = modernVersion
	both := []string{"server/discover", "tools/list"}
	refused := func(code int64, status int, step record.Step, requests []string) replayed {
		return replayed{outcome: record.Outcome{Class: record.HTTP4xx, Detail: record.RPCDetail(code), Step: step, HTTPStatus: status}, requests: requests}
	}
	answered := func(tools int) replayed {
		return replayed{tools: tools, pages: whole, negotiated: modernVersion, header: true, requests: both}
	}
	for server, want := range map[string]replayed{
		"antv-chart":             refused(-32000, 400, record.StepDiscover, both[:1]),
		"context7":               answered(2),
		"go-sdk-1.8.0-paginated": refused(-32022, 400, record.StepToolsList, both),
		"sdkv2-modern-only":      answered(1),
		"server-everything":      refused(-32000, 400, record.StepDiscover, both[:1]),
		"supergateway-stateless": refused(-32601, 404, record.StepDiscover, both[:1]),
	} {
		t.Run(server, func(t *testing.T) { checkReplay(t, readCapture(t, filepath.Join(captures, server)), m, want) })
	}
}

// The same kinds of servers, in answers written by hand.
func TestReplayOwn(t *testing.T) {
	modern := func(tools int, more ...string) replayed {
		return replayed{tools: tools, pages: record.Pages{Read: 1 + len(more), Complete: true}, negotiated: modernVersion, header: true,
			requests: append([]string{"initialize", "server/discover", "tools/list"}, more...)}
	}
	refused := refusedAs(record.HTTP4xx, record.RPCDetail(-32022), 400)
	auth, host := refusedAs(record.Auth, "", 401), refusedAs(record.Auth, record.DetailHostCheck, 403)
	atList := func(class record.ErrorClass, detail record.Detail, status int, requests ...string) replayed {
		return replayed{outcome: record.Outcome{Class: class, Detail: detail, Step: record.StepToolsList, HTTPStatus: status}, requests: requests}
	}
	capped := replayedV2(1, plain)
	capped.negotiated = "2025-06-18"
	tests := map[string]struct{ v1, v2 replayed }{
		"stateful":          {replayedV1(2), replayedV2(2, closed)},
		"stateless":         {replayedV1(3), replayedV2(3, plain)},
		"dual-era":          {replayedV1(3), replayedV2(3, plain)},
		"bridge":            {replayedV1(3), replayedV2(3, plain)},
		"caps-version":      {replayedV1(1), capped},
		"modern-only":       {refused, modern(3)},
		"modern-paged":      {refused, modern(4, "tools/list", "tools/list")},
		"modern-names-meta": {refusedAs(record.HTTP4xx, record.RPCDetail(-32602), 400), modern(3)},
		"paged": {replayedV1(2).more(record.Pages{Read: 1}, plain...),
			replayedV2(5, nil).more(record.Pages{Read: 3, Complete: true}, append(slices.Clone(plain), "tools/list", "tools/list", "DELETE")...)},
		"auth":           {auth, auth},
		"host-check":     {host, host},
		"no-handshake":   {atList(record.Parse, record.RPCDetail(0), 200, plain...), atList(record.Parse, record.RPCDetail(0), 200, plain...)},
		"loses-sessions": {atList(record.HTTP4xx, record.DetailSession, 404, plain...), atList(record.HTTP4xx, record.DetailSession, 404, slices.Concat(plain, plain)...)},
	}
	files, err := filepath.Glob("testdata/replay/*.json")
	if err != nil || len(files) != len(tests) {
		t.Fatalf("%d recordings, want %d: %v", len(files), len(tests), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var takes []take
		if err := json.Unmarshal(b, &takes); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		t.Run(name+"/v1", func(t *testing.T) { checkReplay(t, takes, record.V1, tests[name].v1) })
		t.Run(name+"/v2", func(t *testing.T) { checkReplay(t, takes, record.V2, tests[name].v2) })
	}
}
