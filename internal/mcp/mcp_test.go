package mcp

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/jsonrpc"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/safehttp"
)

// The answers of a server that behaves well.
const (
	goodInit = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"good","version":"1.2.3"}}}`
	goodList = `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}`
)

// A handler answers one step.
type handler = func(w http.ResponseWriter, r *http.Request)

// body answers with status, media type and text.
func body(status int, contentType, text string) handler {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil // none of net/http's own
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
}

func jsonBody(text string) handler { return body(200, "application/json", text) }
func stream(text string) handler   { return body(200, "text/event-stream", text) }

// with sets a header before h answers.
func with(name, value string, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(name, value)
		h(w, r)
	}
}

// left runs h and keeps the answer open until the peer goes.
func left(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) {
		h(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// abort breaks the connection after h.
func abort(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) {
		h(w, r)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func redirect(status int, to string) handler {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(status)
	}
}

func zipped(text string) handler {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, text)
		z.Close()
	}
}

// bodyHeader is where a fake hands the body of a request to its handlers.
const bodyHeader = "Test-Body"

// A seen is a request as a fake server saw it.
type seen struct {
	Method, Path, Step string
	Header             http.Header
	Body               string
}

// A fake is an MCP server whose answer to each step is a handler; the default is
// to behave.
type fake struct {
	*httptest.Server
	mu   sync.Mutex
	seen []seen // guarded by mu
}

const (
	stepInit   = "initialize"
	stepNotify = "notifications/initialized"
	stepList   = "tools/list"
)

func newFake(t *testing.T, steps map[string]handler) *fake {
	t.Helper()
	f := newUnstarted(steps)
	f.Start()
	t.Cleanup(f.Close)
	return f
}

func newUnstarted(steps map[string]handler) *fake {
	good := map[string]handler{
		stepInit:   with("Mcp-Session-Id", "session-1", jsonBody(goodInit)),
		stepNotify: body(202, "", ""),
		stepList:   jsonBody(goodList),
	}
	f := &fake{}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var message struct{ Method string }
		json.Unmarshal(b, &message)
		f.mu.Lock()
		f.seen = append(f.seen, seen{r.Method, r.URL.Path, message.Method, r.Header, string(b)})
		f.mu.Unlock()
		r.Header = r.Header.Clone()
		r.Header.Set(bodyHeader, string(b))
		if h := steps[message.Method]; h != nil {
			h(w, r)
		} else if h := good[message.Method]; h != nil {
			h(w, r)
		} else {
			http.Error(w, "no such method", 500)
		}
	}))
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	return f
}

func (f *fake) requests() []seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// maxBody keeps the cases of bodies that are too long quick.
const maxBody = 1 << 20

func client() *Client {
	return &Client{HTTP: safehttp.New(safehttp.Config{AllowPrivate: true, MaxBody: maxBody})}
}

// quick is v1 with a short deadline, for the cases that wait for it.
func quick() record.Methodology {
	m := record.V1
	m.RequestTimeout = time.Second
	return m
}

func read(t *testing.T, c *Client, endpoint string, m record.Methodology) Reading {
	t.Helper()
	r, err := c.Read(t.Context(), endpoint, m)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return r
}

// A reading that works, in all its parts.
func TestRead(t *testing.T) {
	const tick = 10 * time.Millisecond
	f := newFake(t, nil)
	c := client()
	start := time.Date(2026, 11, 30, 3, 15, 0, 5e8, time.UTC)
	now := start
	c.Now = func() time.Time { t := now; now = now.Add(tick); return t }
	got := read(t, c, f.URL+"/mcp", record.V1)
	want := Reading{
		Observed: start,
		Init:     []byte(goodInit),
		Pages:    [][]byte{[]byte(goodList)},
		Capture: record.Capture{
			ClientCapabilities: []string{},
			ObservedAt:         record.At(start),
			Pages:              record.Pages{Complete: true, Read: 1},
			Protocol:           record.Protocol{Negotiated: "2024-11-05", Requested: "2024-11-05"},
			Transport:          "streamable-http",
		},
		Server:      &record.Server{Capabilities: []string{"tools", "tools.listChanged"}, Name: "good", Version: "1.2.3"},
		InitLatency: tick, // two looks at the clock
		ListLatency: tick,
		Requests:    3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Read mismatch (-want +got):\n%s", diff)
	}
}

// Methodology v1, "Probe": three POSTs, the same bytes each time, and nothing
// else: no GET, no DELETE, no retry, no version header.
func TestRequests(t *testing.T) {
	f := newFake(t, map[string]handler{
		stepInit: with("MCP-Session-Id", "s-1", jsonBody(strings.Replace(goodInit, "2024-11-05", "2025-11-25", 1))),
	})
	for range 2 {
		if r := read(t, client(), f.URL+"/mcp", record.V1); !r.Outcome.OK() {
			t.Fatalf("Read = %v, want success", r.Outcome)
		}
	}
	want := []struct{ body, session string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"mcpstrata","version":"1"}}}`, ""},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "s-1"},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`, "s-1"},
	}
	requests := f.requests()
	if len(requests) != 2*len(want) {
		t.Fatalf("%d requests, want %d", len(requests), 2*len(want))
	}
	for i, r := range requests {
		w := want[i%len(want)]
		if r.Method != "POST" || r.Path != "/mcp" || r.Body != w.body {
			t.Errorf("request %d = %s %s %s, want POST /mcp %s", i, r.Method, r.Path, r.Body, w.body)
		}
		header := http.Header{
			"Accept":          {"application/json, text/event-stream"},
			"Accept-Encoding": {"gzip"},
			"Content-Length":  {fmt.Sprint(len(w.body))},
			"Content-Type":    {"application/json"},
			"User-Agent":      {safehttp.DefaultUserAgent},
		}
		if w.session != "" {
			header.Set("Mcp-Session-Id", w.session)
		}
		if diff := cmp.Diff(header, r.Header); diff != "" {
			t.Errorf("header of request %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestInitializeBody(t *testing.T) {
	got := string(initializeBody(`v"1`, Info{"näme", "<2>"}))
	var m struct {
		Params struct {
			ProtocolVersion string
			ClientInfo      Info
		}
	}
	if err := json.Unmarshal([]byte(got), &m); err != nil || m.Params.ProtocolVersion != `v"1` || m.Params.ClientInfo != (Info{"näme", "<2>"}) {
		t.Errorf("initializeBody = %s, %v, want JSON with the strings as given", got, err)
	}
}

// An outcomeCase is one way in which a server fails a step.
type outcomeCase struct {
	name   string
	answer handler // to the step
	class  record.ErrorClass
	detail record.Detail
	status int
	only   record.Step // the case concerns this step; "" is both
	slow   bool        // it waits for the deadline
}

const (
	html    = "<!DOCTYPE html><html><title>Just a moment...</title></html>"
	modern  = `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"]}}}`
	errJSON = `{"jsonrpc":"2.0","id":%d,"error":{"code":%d,"message":"no"}}`
)

func outcomeCases(id int) []outcomeCase {
	rpc := func(code int) string { return fmt.Sprintf(errJSON, id, code) }
	result := func(v string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, v) }
	huge := result(`{"tools":["` + strings.Repeat("x", maxBody) + `"]}`)
	const js = "application/json"
	return []outcomeCase{
		{"no answer", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, record.Timeout, "", 0, "", true},
		{"no body", left(jsonBody("")), record.Timeout, "", 200, "", true},
		{"body never ends", left(jsonBody(`{"jsonrpc":`)), record.Timeout, "", 200, "", true},
		{"stream without an answer", left(stream(": ping\n\n")), record.Timeout, "", 200, "", true},
		{"comments do not extend the deadline", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				io.WriteString(w, ": ping\n\n")
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, record.Timeout, "", 200, "", true},
		{"connection breaks at once", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, record.TLS, record.DetailReset, 0, "", false},
		{"connection breaks in the body", abort(jsonBody(`{"jsonrpc":`)), record.TLS, record.DetailReset, 200, "", false},
		{"connection breaks in the stream", abort(stream("data: {\n")), record.TLS, record.DetailReset, 200, "", false},

		{"400", body(400, "text/plain", "Bad Request"), record.HTTP4xx, "", 400, "", false},
		{"400 with a JSON-RPC error", body(400, js, rpc(-32000)), record.HTTP4xx, record.RPCDetail(-32000), 400, "", false},
		{"400 of a modern-only server", body(400, js, modern), record.HTTP4xx, record.RPCDetail(-32022), 400, "", false},
		{"400 with another error object", body(400, js, `{"error":"no"}`), record.HTTP4xx, "", 400, "", false},
		{"400 with a result", body(400, js, result(`{"tools":[]}`)), record.HTTP4xx, "", 400, "", false},
		{"400 with a huge body", body(400, js, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"`+strings.Repeat("x", maxStatusBody)+`"}}`), record.HTTP4xx, "", 400, "", false},
		{"400 whose body breaks", abort(body(400, js, `{"jsonrpc"`)), record.HTTP4xx, "", 400, "", false},
		{"400 whose body never ends", left(body(400, js, `{"jsonrpc"`)), record.HTTP4xx, "", 400, "", true},
		{"402", body(402, js, rpc(-32000)), record.HTTP4xx, record.DetailPaymentRequired, 402, "", false},
		{"404", body(404, "text/html", html), record.HTTP4xx, "", 404, record.StepInitialize, false},
		{"404 with a JSON-RPC error", body(404, js, rpc(-32601)), record.HTTP4xx, record.RPCDetail(-32601), 404, record.StepInitialize, false},
		{"404 to a session", body(404, js, rpc(-32001)), record.HTTP4xx, record.DetailSession, 404, record.StepToolsList, false},
		{"405", body(405, "text/html", html), record.HTTP4xx, "", 405, "", false},
		{"421", body(421, "text/plain", "Invalid Host header"), record.HTTP4xx, "", 421, "", false},
		{"499", body(499, "", ""), record.HTTP4xx, "", 499, "", false},

		{"500", body(500, js, rpc(-32603)), record.HTTP5xx, "", 500, "", false},
		{"503 in brotli", with("Content-Encoding", "br", body(503, js, "x")), record.HTTP5xx, "", 503, "", false},
		{"599", body(599, "", ""), record.HTTP5xx, "", 599, "", false},

		{"401", body(401, js, rpc(-32001)), record.Auth, "", 401, "", false},
		{"401 with a page", body(401, "text/html", html), record.Auth, "", 401, "", false},
		{"403", body(403, js, `{"error":"forbidden"}`), record.Auth, "", 403, "", false},
		{"403 without a body", body(403, "", ""), record.Auth, "", 403, "", false},
		{"403 with a page", body(403, "text/html; charset=UTF-8", "\n"+html), record.Auth, record.DetailWAF, 403, "", false},
		{"403 with a page in brotli", with("Content-Encoding", "br", body(403, "text/html", "x")), record.Auth, record.DetailWAF, 403, "", false},
		{"403 with cf-mitigated", with("Cf-Mitigated", "challenge", body(403, "text/plain", "no")), record.Auth, record.DetailWAF, 403, "", false},
		{"403 for the host", body(403, "", "Access is only allowed at localhost:3103"), record.Auth, record.DetailHostCheck, 403, "", false},
		{"403 for the host, sent as a page", body(403, "text/html", "Invalid Host: example.com"), record.Auth, record.DetailHostCheck, 403, "", false},
		{"403 for the origin", body(403, js, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Invalid Origin header: null"}}`), record.Auth, record.DetailHostCheck, 403, "", false},

		{"429", with("Retry-After", "7", body(429, "text/html", html)), record.RateLimited, "", 429, "", false},

		{"page", body(200, "text/html", html), record.Parse, record.DetailHTML, 200, "", false},
		{"page said to be JSON", body(200, js, html), record.Parse, record.DetailHTML, 200, "", false},
		{"empty", jsonBody(""), record.Parse, record.DetailEmpty, 200, "", false},
		{"white space", jsonBody(" \n"), record.Parse, record.DetailEmpty, 200, "", false},
		{"empty stream", stream(""), record.Parse, record.DetailEmpty, 200, "", false},
		{"stream ends after priming", stream("id: 1\ndata: \n\nretry: 3000\n\n"), record.Parse, record.DetailEmpty, 200, "", false},
		{"202", body(202, "", ""), record.Parse, record.DetailEmpty, 202, "", false},
		{"202 with text", body(202, "text/plain", "Accepted"), record.Parse, record.DetailEmpty, 202, "", false},
		{"204", body(204, "", ""), record.Parse, record.DetailEmpty, 204, "", false},
		{"cut off", jsonBody(goodInit[:40]), record.Parse, record.DetailInvalidJSON, 200, "", false},
		{"text", body(200, "text/plain", "this is not json"), record.Parse, record.DetailInvalidJSON, 200, "", false},
		{"trailing data", jsonBody(result("{}") + "}"), record.Parse, record.DetailInvalidJSON, 200, "", false},
		{"NaN", jsonBody(result(`{"tools":[{"name":"a","x":NaN}]}`)), record.Parse, record.DetailInvalidJSON, 200, "", false},
		{"duplicate member", jsonBody(result(`{"tools":[],"tools":[]}`)), record.Parse, record.DetailInvalidJSON, 200, "", false},
		{"lone surrogate", jsonBody(result(`{"tools":[{"name":"\ud800"}]}`)), record.Parse, record.DetailInvalidJSON, 200, "", false},
		{"invalid UTF-8", jsonBody(result("{\"tools\":[{\"name\":\"\xff\"}]}")), record.Parse, record.DetailInvalidJSON, 200, "", false},
		{"too deep", jsonBody(result(strings.Repeat("[", 600) + strings.Repeat("]", 600))), record.Parse, record.DetailInvalidJSON, 200, "", false},
		{"other JSON", jsonBody(`{"status":"ok"}`), record.Parse, record.DetailNotJSONRPC, 200, "", false},
		{"our request echoed", jsonBody(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, id)), record.Parse, record.DetailNotJSONRPC, 200, "", false},
		{"result is a string", jsonBody(result(`"ok"`)), record.Parse, record.DetailNotJSONRPC, 200, "", false},
		{"result is null", jsonBody(result(`null`)), record.Parse, record.DetailNotJSONRPC, 200, "", false},
		{"stream of notifications", stream("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n"), record.Parse, record.DetailNotJSONRPC, 200, "", false},
		{"status 600", body(600, js, goodInit), record.Parse, record.DetailNotJSONRPC, 600, "", false},
		{"too long", jsonBody(huge), record.Parse, record.DetailTooLarge, 200, "", false},
		{"too long when decoded", zipped(huge), record.Parse, record.DetailTooLarge, 200, "", false},
		{"301", redirect(301, "/mcp/"), record.Parse, record.DetailRedirect, 301, "", false},
		{"302 to a login", redirect(302, "https://login.example.com/"), record.Parse, record.DetailRedirect, 302, "", false},
		{"303", redirect(303, "/"), record.Parse, record.DetailRedirect, 303, "", false},
		{"304", body(304, "", ""), record.Parse, record.DetailRedirect, 304, "", false},
		{"307 to another host", redirect(307, "http://other.example.com/mcp"), record.Parse, record.DetailRedirect, 307, "", false},
		{"307 without end", redirect(307, "/mcp"), record.Parse, record.DetailRedirect, 307, "", false},
		{"brotli", with("Content-Encoding", "br", jsonBody("x")), record.Parse, record.DetailContentEncoding, 200, "", false},
		{"broken gzip", with("Content-Encoding", "gzip", jsonBody(goodList)), record.Parse, record.DetailContentEncoding, 200, "", false},
		{"older transport", left(stream("event: endpoint\ndata: /messages?id=1\n\n")), record.Parse, record.DetailOldSSE, 200, "", false},
		{"error object", jsonBody(rpc(-32602)), record.Parse, record.RPCDetail(-32602), 200, "", false},
		{"error object, code 0", jsonBody(rpc(0)), record.Parse, record.RPCDetail(0), 200, "", false},
		{"error object in a stream left open", left(stream("data: " + rpc(-32001) + "\n\n")), record.Parse, record.RPCDetail(-32001), 200, "", false},
	}
}

func TestOutcomes(t *testing.T) {
	for id, step := range map[int]record.Step{1: record.StepInitialize, 2: record.StepToolsList} {
		for _, tt := range outcomeCases(id) {
			if tt.only != "" && tt.only != step {
				continue
			}
			t.Run(string(step)+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				m := record.V1
				if tt.slow {
					m = quick()
				}
				f := newFake(t, map[string]handler{string(step): tt.answer})
				got := read(t, client(), f.URL+"/mcp", m)
				want := record.Outcome{Class: tt.class, Detail: tt.detail, Step: step, HTTPStatus: tt.status}
				if got.Outcome != want {
					t.Errorf("Read = %v %+v, want %+v", got.Outcome, got.Outcome, want)
				}
				checkFailure(t, f, got, step)
			})
		}
	}
}

// checkFailure checks what holds for every reading that failed at step.
func checkFailure(t *testing.T, f *fake, r Reading, step record.Step) {
	t.Helper()
	if r.Pages != nil || r.Flags != nil || r.Capture.Pages != (record.Pages{}) {
		t.Errorf("pages %d, flags %v, capture %+v of a failure, want none", len(r.Pages), r.Flags, r.Capture.Pages)
	}
	if (r.Init != nil) != (step != record.StepInitialize) || (r.Server != nil) != (r.Init != nil) {
		t.Errorf("init %q, server %v after a failure at %s", r.Init, r.Server, step)
	}
	if (r.ListLatency >= 0) != (step == record.StepToolsList) || r.InitLatency < 0 {
		t.Errorf("latencies %v, %v after a failure at %s", r.InitLatency, r.ListLatency, step)
	}
	requests := f.requests()
	if r.Requests != len(requests) {
		t.Errorf("Requests = %d, the server saw %d", r.Requests, len(requests))
	}
	if last := requests[len(requests)-1]; last.Step != string(step) {
		t.Errorf("the last request was %s, want %s", last.Step, step)
	}
	for _, q := range requests {
		if q.Method != "POST" {
			t.Errorf("the server saw a %s", q.Method)
		}
	}
}

// Servers that are not reached, or whose TLS is at fault.
func TestUnreachable(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	badTLS := newUnstarted(nil)
	badTLS.StartTLS()
	defer badTLS.Close()
	plain := newFake(t, nil)
	public := &Client{HTTP: safehttp.New(safehttp.Config{})}
	tests := []struct {
		name, endpoint string
		client         *Client
		want           record.Outcome
	}{
		{"refused", "http://" + closed.Addr().String(), client(), record.Outcome{Class: record.TLS, Detail: record.DetailRefused, Step: record.StepInitialize}},
		{"no such name", "http://a..b/mcp", client(), record.Outcome{Class: record.TLS, Detail: record.DetailDNS, Step: record.StepInitialize}},
		{"bad certificate", badTLS.URL, client(), record.Outcome{Class: record.TLS, Detail: record.DetailCertificate, Step: record.StepInitialize}},
		{"no TLS", strings.Replace(plain.URL, "http", "https", 1), client(), record.Outcome{Class: record.TLS, Step: record.StepInitialize}},
		{"private address", plain.URL, public, record.Outcome{Class: record.TLS, Detail: record.DetailBlockedAddress, Step: record.StepInitialize}},
		{"private name", "http://localhost:1/", public, record.Outcome{Class: record.TLS, Detail: record.DetailBlockedAddress, Step: record.StepInitialize}},
		{"bad URL", "https://me:secret@example.com/", client(), record.Outcome{Class: record.NoEndpoint, Detail: record.DetailBadURL}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := read(t, tt.client, tt.endpoint, record.V1)
			if got.Outcome != tt.want {
				t.Errorf("Read = %+v, want %+v", got.Outcome, tt.want)
			}
			sent := tt.want.Class != record.NoEndpoint
			if (got.InitLatency >= 0) != sent || got.ListLatency != -1 || (got.Requests == 1) != sent || got.Init != nil {
				t.Errorf("Read = %+v, want one request sent: %t", got, sent)
			}
		})
	}
	if n := len(plain.requests()); n != 0 {
		t.Errorf("the private server saw %d requests, want none", n)
	}
}

// Every class and detail that a server can cause is caused above.
func TestOutcomesAreComplete(t *testing.T) {
	caused := map[string]bool{
		"tls": true, "tls/refused": true, "tls/dns": true, "tls/certificate": true, "tls/blocked_address": true, // TestUnreachable
	}
	for _, tt := range outcomeCases(1) {
		o := record.Outcome{Class: tt.class, Detail: tt.detail}
		if tt.detail.IsRPC() {
			o.Detail = "rpc:<code>"
		}
		caused[o.String()] = true
	}
	for _, c := range record.Classes {
		if c.Class == record.NoEndpoint {
			continue // decided by target
		}
		if c.Class != record.Parse && !caused[string(c.Class)] {
			t.Errorf("no case causes %s", c.Class)
		}
		for _, d := range c.Details {
			if o := (record.Outcome{Class: c.Class, Detail: d.Detail}).String(); !caused[o] {
				t.Errorf("no case causes %s", o)
			}
		}
	}
}

// What is tolerated, and which bytes are kept.
func TestSuccess(t *testing.T) {
	crlf := "event: message\r\ndata: " + goodList + "\r\n\r\n"
	lf := "data: " + goodList + "\n\n"
	page := func(more string) string { return strings.Replace(goodList, `"tools"`, more+`"tools"`, 1) }
	tests := []struct {
		name     string
		list     handler
		kept     string
		flags    []record.Flag
		complete bool
	}{
		{"media type with parameters", body(200, "Application/JSON; charset=utf-8", goodList), goodList, nil, true},
		{"malformed parameters", body(200, "application/json; charset", goodList), goodList, nil, true},
		{"other JSON media type", body(200, "application/problem+json", goodList), goodList, []record.Flag{record.FlagContentType}, true},
		{"no media type", body(200, "", goodList), goodList, []record.Flag{record.FlagContentType}, true},
		{"JSON said to be a stream", stream(goodList), goodList, []record.Flag{record.FlagContentType}, true},
		{"stream said to be JSON", jsonBody(lf), lf, []record.Flag{record.FlagContentType}, true},
		{"stream with a charset", body(200, "text/event-stream;charset=UTF-8", lf), lf, nil, true},
		{"stream in CRLF", stream(crlf), crlf, nil, true},
		{"stream left open", left(stream(lf)), lf, nil, true},
		{"stream goes on", stream(": hello\n\nid: 7\ndata:\n\n" + lf + ": bye\n\ndata: more\n\n"), ": hello\n\nid: 7\ndata:\n\n" + lf, nil, true},
		{"stream breaks after the answer", abort(stream(lf)), lf, nil, true},
		{"stream not terminated", stream("data: " + goodList), "data: " + goodList, []record.Flag{record.FlagSSEUnterminated}, true},
		{"byte order mark", jsonBody("\ufeff" + goodList), "\ufeff" + goodList, []record.Flag{record.FlagBOM}, true},
		{"white space kept", jsonBody("\n " + goodList + "\n"), "\n " + goodList + "\n", nil, true},
		{"white space, then a stream", stream("\n\n" + lf), "\n\n" + lf, nil, true},
		{"gzip", zipped(goodList), goodList, nil, true},
		{"two flags", body(200, "text/plain", strings.Replace(goodList, "2,", `"2",`, 1)), strings.Replace(goodList, "2,", `"2",`, 1), []record.Flag{record.FlagContentType, record.FlagIDType}, true},
		{"batch", jsonBody("[" + goodList + "]"), "[" + goodList + "]", []record.Flag{record.FlagBatch}, true},
		{"202 that answers after all", body(202, "application/json", goodList), goodList, nil, true},
		{"no tools", jsonBody(`{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`), `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`, nil, true},
		{"next page", jsonBody(page(`"nextCursor":"x",`)), page(`"nextCursor":"x",`), nil, false},
		{"next page with an empty cursor", jsonBody(page(`"nextCursor":"",`)), page(`"nextCursor":"",`), nil, false},
		{"null cursor", jsonBody(page(`"nextCursor":null,`)), page(`"nextCursor":null,`), nil, true},
		{"cursor is a number", jsonBody(page(`"nextCursor":3,`)), page(`"nextCursor":3,`), nil, true},
		{"307", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/mcp" {
				redirect(307, "/mcp/")(w, r)
			} else {
				jsonBody(goodList)(w, r)
			}
		}, goodList, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, map[string]handler{stepList: tt.list})
			got := read(t, client(), f.URL+"/mcp", record.V1)
			if !got.Outcome.OK() {
				t.Fatalf("Read = %v, want success", got.Outcome)
			}
			if len(got.Pages) != 1 || string(got.Pages[0]) != tt.kept {
				t.Errorf("Read: kept %q, want %q", got.Pages, tt.kept)
			}
			if diff := cmp.Diff(tt.flags, got.Flags); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
			if want := (record.Pages{Complete: tt.complete, Read: 1}); got.Capture.Pages != want {
				t.Errorf("Read: pages %+v, want %+v", got.Capture.Pages, want)
			}
			if got.Requests != len(f.requests()) {
				t.Errorf("Requests = %d, the server saw %d", got.Requests, len(f.requests()))
			}
			if _, err := jsonrpc.Read(got.Pages[0], listID); err != nil {
				t.Errorf("the bytes kept hold no answer: %v", err)
			}
		})
	}
}

// The flags of both answers are kept, and the handshake is cut by the same rule.
func TestInitializeAsStream(t *testing.T) {
	event := "id: 1\ndata: " + strings.Replace(goodInit, `"id":1`, `"id":"1"`, 1) + "\n\n"
	f := newFake(t, map[string]handler{
		stepInit: left(stream(event + ": more\n\n")),
		stepList: body(200, "text/plain", goodList),
	})
	got := read(t, client(), f.URL, record.V1)
	if string(got.Init) != event {
		t.Errorf("Read: init %q, want %q", got.Init, event)
	}
	if want := []record.Flag{record.FlagContentType, record.FlagIDType}; !slices.Equal(got.Flags, want) {
		t.Errorf("Read: flags %v, want %v", got.Flags, want)
	}
	for _, r := range f.requests() {
		if s := r.Header.Get("Mcp-Session-Id"); s != "" {
			t.Errorf("%s carried session %q, the server gave none", r.Step, s)
		}
	}
}

// The notification is best effort: whatever comes of it, the list is read.
func TestNotification(t *testing.T) {
	for name, h := range map[string]handler{
		"200 empty":         jsonBody(""),
		"200 null":          jsonBody("null"),
		"200 null id":       jsonBody(`{"jsonrpc":"2.0","id":null}`),
		"204":               body(204, "", ""),
		"202 null":          body(202, "application/json", "null"),
		"400":               body(400, "application/json", fmt.Sprintf(errJSON, 1, -32600)),
		"404":               body(404, "", ""),
		"500":               body(500, "text/html", html),
		"302":               redirect(302, "https://login.example.com"),
		"brotli":            with("Content-Encoding", "br", body(200, "", "x")),
		"endless stream":    left(stream(": open\n\n")),
		"huge":              jsonBody(strings.Repeat("x", 1<<20)),
		"connection breaks": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"no answer":         func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := record.V1
			if name == "no answer" {
				m.RequestTimeout = 2 * time.Second // a quarter of it is waited for
			}
			want := 3
			if name == "connection breaks" {
				want = 4 // it was in the pool: sent once more, see safehttp
			}
			f := newFake(t, map[string]handler{stepNotify: h})
			got := read(t, client(), f.URL, m)
			if !got.Outcome.OK() || len(got.Pages) != 1 || got.Requests != want || len(f.requests()) != want {
				t.Errorf("Read = %v with %d requests, the server saw %d, want success with %d", got.Outcome, got.Requests, len(f.requests()), want)
			}
		})
	}
}

// A session id is sent back only if it can be.
func TestSessionID(t *testing.T) {
	for _, tt := range []struct{ id, want string }{
		{"", ""}, {"abc", "abc"}, {"!~", "!~"}, {strings.Repeat("x", maxSession), strings.Repeat("x", maxSession)},
		{strings.Repeat("x", maxSession+1), ""}, {"a b", ""}, {"a\tb", ""}, {"é", ""}, {"\x7f", ""}, {"a\r\nX: y", ""}, {"\xff", ""},
	} {
		if got := sessionID(http.Header{"Mcp-Session-Id": {tt.id}}); got != tt.want {
			t.Errorf("sessionID(%.20q) = %.20q, want %.20q", tt.id, got, tt.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 3, 15, 0, 0, time.UTC)
	for _, tt := range []struct {
		header string
		want   time.Duration
	}{
		{"", 0}, {"7", 7 * time.Second}, {" 7 ", 7 * time.Second}, {"0", 0}, {"-1", 0}, {"1.5", 0}, {"soon", 0},
		{"86401", 24 * time.Hour}, {"99999999999999999999", 24 * time.Hour},
		{"Mon, 30 Nov 2026 03:16:00 GMT", time.Minute}, {"Mon, 30 Nov 2026 03:14:00 GMT", 0}, {"Fri, 31 Dec 9999 23:59:59 GMT", 24 * time.Hour},
	} {
		if got := retryAfter(http.Header{"Retry-After": {tt.header}}, now); got != tt.want {
			t.Errorf("retryAfter(%q) = %v, want %v", tt.header, got, tt.want)
		}
	}
	for name, status := range map[string]int{"429": 429, "503": 503} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, map[string]handler{stepList: with("Retry-After", "7", body(status, "", ""))})
			if got := read(t, client(), f.URL, record.V1).RetryAfter; got != 7*time.Second {
				t.Errorf("Read: RetryAfter %v, want 7s", got)
			}
		})
	}
}

// An error of ours is an error, never an outcome.
func TestCancel(t *testing.T) {
	for _, step := range []string{stepInit, stepNotify, stepList} {
		t.Run(step, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			f := newFake(t, map[string]handler{step: func(w http.ResponseWriter, r *http.Request) {
				cancel()
				<-r.Context().Done()
			}})
			got, err := client().Read(ctx, f.URL, record.V1)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Read = %v, %v, want context.Canceled", got.Outcome, err)
			}
			if diff := cmp.Diff(Reading{}, got); diff != "" {
				t.Errorf("Read gave a reading beside its error:\n%s", diff)
			}
		})
	}
	t.Run("deadline of the caller", func(t *testing.T) {
		f := newFake(t, map[string]handler{stepList: func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if got, err := client().Read(ctx, f.URL, record.V1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Read = %v, %v, want context.DeadlineExceeded", got.Outcome, err)
		}
	})
}

func TestReadServer(t *testing.T) {
	many := make([]string, 0, 300)
	for i := range 300 {
		many = append(many, fmt.Sprintf("%q:{}", fmt.Sprintf("c%03d", i)))
	}
	tests := []struct {
		name, result string
		want         record.Server
	}{
		{"nothing", `{}`, record.Server{}},
		{"strings only", `{"serverInfo":{"name":1,"version":null},"instructions":["x"],"capabilities":[]}`, record.Server{}},
		{"server info is no object", `{"serverInfo":"x","capabilities":"tools"}`, record.Server{}},
		{"all", `{"serverInfo":{"name":"n","version":"v","title":"t"},"instructions":"Do.","capabilities":{"tools":{}}}`,
			record.Server{Name: "n", Version: "v", Instructions: canon.Sum([]byte("Do.")), Capabilities: []string{"tools"}}},
		{"empty instructions are instructions", `{"instructions":""}`, record.Server{Instructions: canon.Sum(nil)}},
		{"too long", `{"serverInfo":{"name":"` + strings.Repeat("x", maxText+1) + `","version":"` + strings.Repeat("x", maxText) + `"}}`,
			record.Server{Version: strings.Repeat("x", maxText)}},
		{"presence, not support", `{"capabilities":{"tools":{"listChanged":false},"resources":{"subscribe":true,"listChanged":null},"logging":{},"x":7,"prompts":null}}`,
			record.Server{Capabilities: []string{"logging", "resources", "resources.subscribe", "tools", "tools.listChanged", "x"}}},
		{"deep", `{"capabilities":{"tasks":{"list":{},"requests":{"tools":{"call":{}}}}}}`,
			record.Server{Capabilities: []string{"tasks", "tasks.list", "tasks.requests", "tasks.requests.tools", "tasks.requests.tools.call"}}},
		{"ids stop the descent", `{"capabilities":{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["x"]}},"experimental":{"a.b":{"c":{}}}}}`,
			record.Server{Capabilities: []string{"experimental", "experimental.a.b", "extensions", "extensions.io.modelcontextprotocol/ui"}}},
		{"only at the top", `{"capabilities":{"tools":{"extensions":{"a":{"b":{}}}}}}`,
			record.Server{Capabilities: []string{"tools", "tools.extensions", "tools.extensions.a", "tools.extensions.a.b"}}},
		{"long and empty names", `{"capabilities":{"":{"a":{}},"` + strings.Repeat("x", maxCapability+1) + `":{},"` + strings.Repeat("y", maxCapability) + `":{"z":{}}}}`,
			record.Server{Capabilities: []string{strings.Repeat("y", maxCapability)}}},
		{"one name, two ways", `{"capabilities":{"a.b":{},"a":{"b":{}}}}`, record.Server{Capabilities: []string{"a", "a.b"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := canon.Parse([]byte(tt.result))
			if err != nil {
				t.Fatal(err)
			}
			got := readServer(v, v.Get("serverInfo"))
			if got.Capabilities == nil {
				t.Error("capabilities are nil, want an empty list")
			}
			if len(tt.want.Capabilities) == 0 {
				tt.want.Capabilities = []string{}
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("readServer (-want +got):\n%s", diff)
			}
		})
	}
	v, err := canon.Parse([]byte(`{` + strings.Join(many, ",") + `}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := capabilities(v); len(got) != maxCapabilities || got[0] != "c000" || got[maxCapabilities-1] != "c199" {
		t.Errorf("capabilities of 300 names = %d from %s, want the first %d", len(got), got[0], maxCapabilities)
	}
}

// v1 goes on with whatever version the server answers.
func TestNegotiated(t *testing.T) {
	for _, tt := range []struct{ version, want string }{
		{`"2025-11-25"`, "2025-11-25"}, {`"1.0"`, "1.0"}, {`7`, ""}, {`null`, ""}, {`"` + strings.Repeat("9", maxVersion+1) + `"`, ""},
	} {
		f := newFake(t, map[string]handler{stepInit: jsonBody(strings.Replace(goodInit, `"2024-11-05"`, tt.version, 1))})
		got := read(t, client(), f.URL, record.V1)
		if want := (record.Protocol{Negotiated: tt.want, Requested: "2024-11-05"}); !got.Outcome.OK() || got.Capture.Protocol != want {
			t.Errorf("Read with version %.20s = %v, %+v, want success, %+v", tt.version, got.Outcome, got.Capture.Protocol, want)
		}
	}
}

// One client serves many readings at once.
func TestConcurrentReadings(t *testing.T) {
	f := newFake(t, nil)
	c := client()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			r, err := c.Read(context.Background(), f.URL, record.V1)
			if err != nil || !r.Outcome.OK() {
				t.Errorf("Read = %v, %v, want success", r.Outcome, err)
			}
		})
	}
	wg.Wait()
}

// However the bytes are cut on their way, the same ones are kept.
func TestReadAnswerInPieces(t *testing.T) {
	before, after, _ := strings.Cut(goodList, `"result"`)
	text := ": hi\r\n\r\nevent: message\r\ndata: " + before + "\r\ndata: \"result\"" + after + "\r\n\r\ndata: later\r\n\r\n"
	whole, want, err := readAnswer(t.Context(), strings.NewReader(text), listID, &turn{client: client()})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text, string(whole)) || !strings.HasSuffix(string(whole), "\r\n\r\n") {
		t.Errorf("readAnswer kept %q", whole)
	}
	for cut := 1; cut < len(text); cut++ {
		r := io.MultiReader(strings.NewReader(text[:cut]), strings.NewReader(text[cut:]))
		got, response, err := readAnswer(t.Context(), r, listID, &turn{client: client()})
		if err != nil || string(got) != string(whole) || string(response.Raw) != string(want.Raw) {
			t.Fatalf("readAnswer cut at %d = %q, %v, want %q", cut, got, err, whole)
		}
	}
}
