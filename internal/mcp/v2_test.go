package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/jsonrpc"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/safehttp"
)

const (
	stepDiscover = "server/discover"
	stepEnd      = "" // a DELETE has no message

	meta         = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"mcpstrata","version":"1"}}`
	goodDiscover = `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"Do.","resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"modern","version":"2.0"}}}}`
)

// negotiates answers initialize with a version, and a session id if there is one.
func negotiates(version, session string) handler {
	h := jsonBody(strings.Replace(goodInit, "2024-11-05", version, 1))
	if session != "" {
		h = with("Mcp-Session-Id", session, h)
	}
	return h
}

// inTurn answers with the first handler, then with the second, and so on; the last
// one stays.
func inTurn(hs ...handler) handler {
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		h := hs[min(n, len(hs)-1)]
		n++
		h(w, r)
	}
}

// A sent is a request as far as methodologies differ in it.
type sent struct{ Method, Step, Session, Version, Named, Body string }

// sents returns what f saw, with bodies if they are wanted.
func sents(f *fake, bodies bool) []sent {
	var all []sent
	for _, r := range f.requests() {
		s := sent{r.Method, r.Step, r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version"), r.Header.Get("Mcp-Method"), ""}
		if bodies {
			s.Body = r.Body
		}
		all = append(all, s)
	}
	return all
}

func wantSent(t *testing.T, f *fake, r Reading, want []sent, bodies bool) {
	t.Helper()
	got := sents(f, bodies)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if r.Requests != len(got) {
		t.Errorf("Requests = %d, the server saw %d", r.Requests, len(got))
	}
}

// threePages are the pages of a list, by cursor.
var threePages = paged{
	"null":                       `{"tools":[{"name":"a"}],"nextCursor":"x"}`,
	`"x"`:                        `{"tools":[{"name":"b"}],"nextCursor":"y\u0000\n\"<é"}`,
	string(quote("y\x00\n\"<é")): `{"tools":[{"name":"c"}]}`,
}

// A reading under v2 of a server of the older era, byte for byte.
func TestRequestsV2(t *testing.T) {
	f := newFake(t, map[string]handler{stepInit: negotiates("2025-11-25", "s-1"), stepList: threePages.serve, stepEnd: body(200, "", "")})
	r := read(t, client(), f.URL+"/mcp", record.V2)
	wantTools(t, r, []string{"a", "b", "c"})
	const v = "2025-11-25"
	wantSent(t, f, r, []sent{
		{"POST", stepInit, "", "", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcpstrata","version":"1"}}}`},
		{"POST", stepNotify, "s-1", v, "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`},
		{"POST", stepList, "s-1", v, "", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`},
		{"POST", stepList, "s-1", v, "", `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"x"}}`},
		{"POST", stepList, "s-1", v, "", `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"y\u0000\n\"\u003cé"}}`},
		{"DELETE", stepEnd, "s-1", v, "", ""},
	}, true)
	if want := (record.Protocol{Requested: v, Negotiated: v, VersionHeader: true}); r.Capture.Protocol != want {
		t.Errorf("Read: protocol %+v, want %+v", r.Capture.Protocol, want)
	}
	if want := (record.Pages{Read: 3, Complete: true}); r.Capture.Pages != want || len(r.Pages) != 3 {
		t.Errorf("Read: pages %+v, %d bodies, want %+v", r.Capture.Pages, len(r.Pages), want)
	}
	for _, q := range f.requests() {
		if q.Header.Get("Origin") != "" || q.Header.Get("Authorization") != "" || q.Path != "/mcp" {
			t.Errorf("%s %s with %v", q.Method, q.Path, q.Header)
		}
	}
}

// The version is named in a header from 2025-06-18 on, and not what is no version.
func TestVersionHeader(t *testing.T) {
	for version, want := range map[string]string{
		"2024-11-05": "", "2025-03-26": "", "2025-06-17": "", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2099-01-01": "2099-01-01", "zzz": "", "2025-06-18x": "", "2026-99-99": "", "DRAFT-2026-v1": "",
	} {
		f := newFake(t, map[string]handler{stepInit: negotiates(version, "")})
		r := read(t, client(), f.URL, record.V2)
		wantSent(t, f, r, []sent{{"POST", stepInit, "", "", "", ""}, {"POST", stepNotify, "", want, "", ""}, {"POST", stepList, "", want, "", ""}}, false)
		if p := (record.Protocol{Requested: "2025-11-25", Negotiated: version, VersionHeader: want != ""}); r.Capture.Protocol != p {
			t.Errorf("Read: protocol %+v, want %+v", r.Capture.Protocol, p)
		}
	}
}

// Which answers to initialize show the era without a handshake.
func TestModernEra(t *testing.T) {
	rpc := func(code int, message, data string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":%q,"data":%s}}`, code, message, data)
	}
	const js, ok = "application/json", `{"supported":["2026-07-28"]}`
	tests := []struct {
		name   string
		answer handler
		modern bool
	}{
		{"-32022 in a 400", body(400, js, rpc(-32022, "no", ok)), true},
		{"-32022 without an id", body(400, js, modern), true},
		{"-32022 in a 200", jsonBody(rpc(-32022, "no", ok)), true},
		{"-32022 in a 401", body(401, js, rpc(-32022, "no", ok)), true},
		{"-32022 in a 403", body(403, js, rpc(-32022, "no", ok)), true},
		{"-32022 in a 402", body(402, js, rpc(-32022, "no", ok)), true},
		{"-32022 in a 429", body(429, js, rpc(-32022, "no", ok)), true},
		{"-32022 in a 500", body(500, js, rpc(-32022, "no", ok)), true},
		{"-32022 in a stream", stream("data: " + rpc(-32022, "no", ok) + "\n\n"), true},
		{"-32022 that lists others", body(400, js, rpc(-32022, "no", `{"supported":["2025-06-18"]}`)), true},
		{"-32022 with odd data", body(400, js, rpc(-32022, "no", `[[{"supported":7}]]`)), true},
		{"-32021", body(400, js, rpc(-32021, "no", `{"requiredCapabilities":[]}`)), true},
		{"-32020", body(400, js, rpc(-32020, "no", `null`)), true},
		{"_meta in the message of a 400", body(400, js, rpc(-32602, "Invalid params: missing _meta keys", `null`)), true},
		{"_meta in the data of a 404", body(404, js, rpc(-32601, "no", `{"a":[{"b":"params._meta is required"}]}`)), true},
		{"_meta in a 200", jsonBody(rpc(-32602, "missing _meta", `null`)), false},
		{"_meta in a 500", body(500, js, rpc(-32602, "missing _meta", `null`)), false},
		{"_meta in a text", body(400, "text/plain", "missing _meta"), false},
		{"a member _meta", body(400, js, rpc(-32602, "no", `{"_meta":{"x":1}}`)), false},
		{"-32601", body(404, js, rpc(-32601, "no", `null`)), false},
		{"-32000", body(400, js, rpc(-32000, "Unsupported protocol version", ok)), false},
		{"-32022 beyond what is read", body(400, js, rpc(-32022, strings.Repeat("x", maxStatusBody), ok)), false},
		{"500", body(500, "text/html", html), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, map[string]handler{stepInit: with("Retry-After", "7", tt.answer), stepDiscover: jsonBody(goodDiscover)})
			got := read(t, client(), f.URL, record.V2)
			if got.Outcome.OK() != tt.modern || (got.RetryAfter != 0) == tt.modern {
				t.Errorf("Read = %+v, retry after %v, want success: %t", got.Outcome, got.RetryAfter, tt.modern)
			}
			one := read(t, client(), f.URL, record.V1)
			if one.Outcome.OK() || one.Requests != 1 || !tt.modern && one.Outcome != got.Outcome {
				t.Errorf("Read under v1 = %+v after %d requests, under v2 %+v", one.Outcome, one.Requests, got.Outcome)
			}
		})
	}
}

// A reading of a server of the era without a handshake, byte for byte.
func TestModernRequests(t *testing.T) {
	f := newFake(t, map[string]handler{stepInit: body(400, "application/json", modern), stepDiscover: with("Mcp-Session-Id", "s", jsonBody(goodDiscover)), stepList: threePages.serve})
	r := read(t, client(), f.URL, record.V2)
	wantTools(t, r, []string{"a", "b", "c"})
	const v = "2026-07-28"
	want := []sent{
		{"POST", stepInit, "", "", "", string(initializeBody("2025-11-25", Info{}))},
		{"POST", stepDiscover, "", v, stepDiscover, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`},
		{"POST", stepList, "", v, stepList, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + meta + `}}`},
		{"POST", stepList, "", v, stepList, `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{` + meta + `,"cursor":"x"}}`},
		{"POST", stepList, "", v, stepList, `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{` + meta + `,"cursor":"y\u0000\n\"\u003cé"}}`},
	}
	wantSent(t, f, r, want, true)
	if p := (record.Protocol{Requested: "2025-11-25", Negotiated: v, VersionHeader: true}); r.Capture.Protocol != p {
		t.Errorf("Read: protocol %+v, want %+v", r.Capture.Protocol, p)
	}
	if s := r.Server; s == nil || s.Name != "modern" || s.Version != "2.0" || s.Instructions == "" || !slices.Equal(s.Capabilities, []string{"tools"}) {
		t.Errorf("Read: server %+v, want what discover says", s)
	}
	if string(r.Init) != goodDiscover {
		t.Errorf("Read: init %s, want the answer to discover", r.Init)
	}
	if r.InitLatency < 0 || r.ListLatency < 0 {
		t.Errorf("Read: latencies %v, %v", r.InitLatency, r.ListLatency)
	}

	// Who knows the era beforehand begins there, as the conformance suite has it.
	m := record.V2
	m.ProtocolVersion = v
	f = newFake(t, map[string]handler{stepDiscover: jsonBody(strings.Replace(goodDiscover, `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"modern","version":"2.0"}}`, `"serverInfo":{"name":"draft"}`, 1)), stepList: threePages.serve})
	r = read(t, client(), f.URL, m)
	wantSent(t, f, r, want[1:], true)
	if r.Server == nil || r.Server.Name != "draft" {
		t.Errorf("Read: server %+v, want the one at the top of the result", r.Server)
	}
}

// A handshake that agrees on the era without one is followed by requests of that
// era's form.
func TestModernByHandshake(t *testing.T) {
	f := newFake(t, map[string]handler{stepInit: negotiates("2026-07-28", "s-1"), stepEnd: body(405, "", "")})
	r := read(t, client(), f.URL, record.V2)
	wantTools(t, r, []string{"a"})
	const v = "2026-07-28"
	wantSent(t, f, r, []sent{
		{"POST", stepInit, "", "", "", string(initializeBody("2025-11-25", Info{}))},
		{"POST", stepNotify, "s-1", v, stepNotify, initializedBody},
		{"POST", stepList, "s-1", v, stepList, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + meta + `}}`},
		{"DELETE", stepEnd, "s-1", v, "", ""},
	}, true)
	if named, ok := f.requests()[3].Header["Mcp-Method"]; ok {
		t.Errorf("the end of the session names the method %q, want none", named)
	}
	t.Run("and anew in another version", func(t *testing.T) {
		f := newFake(t, map[string]handler{
			stepInit: inTurn(negotiates(v, "s-1"), negotiates("2025-11-25", "")),
			stepList: inTurn(body(404, "", ""), jsonBody(goodList)),
		})
		r := read(t, client(), f.URL, record.V2)
		wantSent(t, f, r, []sent{
			{"POST", stepInit, "", "", "", ""}, {"POST", stepNotify, "s-1", v, stepNotify, ""}, {"POST", stepList, "s-1", v, stepList, ""},
			{"POST", stepInit, "", "", "", ""}, {"POST", stepNotify, "", "2025-11-25", "", ""}, {"POST", stepList, "", "2025-11-25", "", ""},
		}, false)
	})
	one := read(t, client(), f.URL, record.V1)
	if got := sents(f, false)[4:]; !one.Outcome.OK() || len(got) != 3 || got[2] != (sent{"POST", stepList, "s-1", "", "", ""}) {
		t.Errorf("v1 sent %+v, want three POSTs as ever", got)
	}
}

// A version that is refused is asked for once more if the server says it has it,
// at whichever step, once in a reading.
func TestRetry(t *testing.T) {
	refuse := func(id int, data string) handler {
		return body(400, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32022,"message":"no","data":%s}}`, id, data))
	}
	yes := `{"supported":["2025-11-25",7,null,"2026-07-28"]}`
	failed := func(step record.Step) record.Outcome {
		return record.Outcome{Class: record.HTTP4xx, Detail: record.RPCDetail(-32022), Step: step, HTTPStatus: 400}
	}
	tests := []struct {
		name           string
		discover, list handler
		want           record.Outcome
		requests       int
	}{
		{"at discover", inTurn(refuse(1, yes), jsonBody(goodDiscover)), jsonBody(goodList), record.Outcome{}, 4},
		{"supportedVersions", inTurn(refuse(1, `{"supportedVersions":["2026-07-28"]}`), jsonBody(goodDiscover)), jsonBody(goodList), record.Outcome{}, 4},
		{"at the list", jsonBody(goodDiscover), inTurn(refuse(2, yes), jsonBody(goodList)), record.Outcome{}, 4},
		{"at both", inTurn(refuse(1, yes), jsonBody(goodDiscover)), refuse(2, yes), failed(record.StepToolsList), 4},
		{"for ever", refuse(1, yes), jsonBody(goodList), failed(record.StepDiscover), 3},
		{"only others", refuse(1, `{"supported":["2025-11-25","2099-01-01"]}`), jsonBody(goodList), failed(record.StepDiscover), 2},
		{"no list", refuse(1, `{"supported":"2026-07-28"}`), jsonBody(goodList), failed(record.StepDiscover), 2},
		{"hostile", refuse(1, `{"supported":[`+strings.Repeat(`["2026-07-28"],`, 1000)+`{}]}`), jsonBody(goodList), failed(record.StepDiscover), 2},
		{"no data", refuse(1, `null`), jsonBody(goodList), failed(record.StepDiscover), 2},
		{"no discover", body(404, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`), jsonBody(goodList),
			record.Outcome{Class: record.HTTP4xx, Detail: record.RPCDetail(-32601), Step: record.StepDiscover, HTTPStatus: 404}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, map[string]handler{stepInit: body(400, "application/json", modern), stepDiscover: tt.discover, stepList: tt.list})
			got := read(t, client(), f.URL, record.V2)
			if got.Outcome != tt.want || got.Requests != tt.requests || len(f.requests()) != tt.requests {
				t.Errorf("Read = %+v after %d requests (%d seen), want %+v after %d", got.Outcome, got.Requests, len(f.requests()), tt.want, tt.requests)
			}
		})
	}
}

// Where a list ends, and why.
func TestPages(t *testing.T) {
	page := func(n int, cursor string) string {
		return fmt.Sprintf(`{"tools":[{"name":"t%d"}],"nextCursor":%s}`, n, cursor)
	}
	long := strings.Repeat("c", maxCursor)
	capped, repeated := []record.Flag{record.FlagListCapped}, []record.Flag{record.FlagCursorRepeated}
	tests := []struct {
		name  string
		pages paged
		read  int
		whole bool
		flags []record.Flag
	}{
		{"one page", paged{"null": `{"tools":[]}`}, 1, true, nil},
		{"null", paged{"null": page(1, "null")}, 1, true, nil},
		{"number", paged{"null": page(1, "7")}, 1, true, nil},
		{"object", paged{"null": page(1, `{"a":"b"}`)}, 1, true, nil},
		{"false", paged{"null": page(1, "false")}, 1, true, nil},
		{"empty string", paged{"null": page(1, `""`), `""`: page(2, "null")}, 2, true, nil},
		{"empty string again", paged{"null": page(1, `""`), `""`: page(2, `""`)}, 2, false, repeated},
		{"the same cursor", paged{"null": page(1, `"x"`), `"x"`: page(2, `"x"`)}, 2, false, repeated},
		{"a circle", paged{"null": page(1, `"x"`), `"x"`: page(2, `"y"`), `"y"`: page(3, `"x"`)}, 3, false, repeated},
		{"the same cursor in other escapes", paged{"null": page(1, `"x"`), `"x"`: page(2, `"\u0078"`)}, 2, false, repeated},
		{"an empty page goes on", paged{"null": `{"tools":[],"nextCursor":"x"}`, `"x"`: page(2, "null")}, 2, true, nil},
		{"the longest cursor", paged{"null": page(1, `"`+long+`"`), `"` + long + `"`: page(2, "null")}, 2, true, nil},
		{"a longer cursor", paged{"null": page(1, `"`+long+`c"`)}, 1, false, capped},
		{"a longer cursor after an empty one", paged{"null": page(1, `""`), `""`: page(2, `"`+long+`c"`)}, 2, false, capped},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, map[string]handler{stepList: tt.pages.serve, stepEnd: body(200, "", "")})
			got := read(t, client(), f.URL, record.V2)
			if want := (record.Pages{Read: tt.read, Complete: tt.whole}); !got.Outcome.OK() || got.Capture.Pages != want || len(got.Pages) != tt.read || !slices.Equal(got.Flags, tt.flags) {
				t.Errorf("Read = %+v, pages %+v, %d bodies, flags %v, want %+v, %v", got.Outcome, got.Capture.Pages, len(got.Pages), got.Flags, want, tt.flags)
			}
			if want := 3 + tt.read; got.Requests != want || len(f.requests()) != want {
				t.Errorf("%d requests (%d seen), want %d", got.Requests, len(f.requests()), want)
			}
		})
	}
}

// A list has bounds; a page that goes beyond one is not kept.
func TestListIsCapped(t *testing.T) {
	tests := []struct {
		name   string
		tools  string // of every page
		read   int
		asked  int
		repeat int
	}{
		{"pages", `{}`, maxPages, maxPages, 1},
		{"tools, to the number", `{},`, 4, 4, maxTools / 4},
		{"tools, beyond it", `{},`, 3, 4, maxTools/4 + 1},
		{"bytes, beyond them", `"` + strings.Repeat("x", 1<<19) + `",`, 31, 32, 2},
		{"values, beyond them", `[` + strings.Repeat("0,", maxValues/8) + `0],`, 3, 4, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			f := newFake(t, map[string]handler{stepList: func(w http.ResponseWriter, r *http.Request) {
				n++
				list := strings.TrimSuffix(strings.Repeat(tt.tools, tt.repeat), ",")
				jsonBody(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"tools":[%s],"nextCursor":"%d"}}`, listID+n-1, list, n))(w, r)
			}})
			c := client()
			c.HTTP = safehttp.New(safehttp.Config{AllowPrivate: true, MaxBody: 8 << 20})
			got := read(t, c, f.URL, record.V2)
			if want := (record.Pages{Read: tt.read}); !got.Outcome.OK() || got.Capture.Pages != want || len(got.Pages) != tt.read || !slices.Equal(got.Flags, []record.Flag{record.FlagListCapped}) {
				t.Errorf("Read = %+v, pages %+v, flags %v, want %d pages, capped", got.Outcome, got.Capture.Pages, got.Flags, tt.read)
			}
			if n != tt.asked {
				t.Errorf("%d pages asked for, want %d", n, tt.asked)
			}
		})
	}
}

// The bounds are those that the packages which read a list have.
func TestBoundsOfAList(t *testing.T) {
	if maxTools != 10_000 || maxPages != 200 || maxBodies != 32<<20 {
		t.Errorf("bounds %d tools, %d pages, %d bytes, want those of methodology v2", maxTools, maxPages, maxBodies)
	}
}

// A further page that fails fails the reading, at its own step, and leaves nothing.
func TestFurtherPageFails(t *testing.T) {
	for _, tt := range []struct {
		name string
		page handler
		want record.Outcome
	}{
		{"500", body(500, "", ""), record.Outcome{Class: record.HTTP5xx, HTTPStatus: 500}},
		{"429", body(429, "", ""), record.Outcome{Class: record.RateLimited, HTTPStatus: 429}},
		{"html", body(200, "text/html", html), record.Outcome{Class: record.Parse, Detail: record.DetailHTML, HTTPStatus: 200}},
		{"400", body(400, "", ""), record.Outcome{Class: record.HTTP4xx, HTTPStatus: 400}},
		{"404 without a session", body(404, "", ""), record.Outcome{Class: record.HTTP4xx, HTTPStatus: 404}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first := strings.Replace(goodList, `"tools"`, `"nextCursor":"x","tools"`, 1)
			f := newFake(t, map[string]handler{stepInit: negotiates("2025-11-25", ""), stepList: inTurn(jsonBody(first), tt.page)})
			got := read(t, client(), f.URL, record.V2)
			tt.want.Step = record.ListStep(2)
			if got.Outcome != tt.want || got.Pages != nil || got.Flags != nil || got.Capture.Pages != (record.Pages{}) {
				t.Errorf("Read = %+v, %d pages, flags %v, want %+v and none", got.Outcome, len(got.Pages), got.Flags, tt.want)
			}
			if got.Requests != 4 || got.ListLatency < 0 {
				t.Errorf("%d requests, list latency %v, want 4 and that of both pages", got.Requests, got.ListLatency)
			}
		})
	}
}

// A session that is lost is begun anew once, and its list read from page one.
func TestRenewal(t *testing.T) {
	const v = "2025-11-25"
	gone := body(404, "text/plain", "session not found")
	more := jsonBody(strings.Replace(goodList, `"tools"`, `"nextCursor":"x","tools"`, 1))
	last := jsonBody(strings.Replace(goodList, `"id":2`, `"id":3`, 1))
	sessions := func() handler { return inTurn(negotiates(v, "s-1"), negotiates(v, "s-2"), negotiates(v, "s-3")) }
	begin := func(s string) []sent {
		return []sent{{"POST", stepInit, "", "", "", ""}, {"POST", stepNotify, s, v, "", ""}, {"POST", stepList, s, v, "", ""}}
	}
	page := func(s string) []sent { return []sent{{"POST", stepList, s, v, "", ""}} }
	end := func(s string) []sent { return []sent{{"DELETE", stepEnd, s, v, "", ""}} }
	lost := func(n int) record.Outcome {
		return record.Outcome{Class: record.HTTP4xx, Detail: record.DetailSession, Step: record.ListStep(n), HTTPStatus: 404}
	}
	tests := []struct {
		name       string
		init, list handler
		want       record.Outcome
		read       int
		sent       []sent
	}{
		{"at page one", sessions(), inTurn(gone, more, last), record.Outcome{}, 2, slices.Concat(begin("s-1"), begin("s-2"), page("s-2"), end("s-2"))},
		{"at page two", sessions(), inTurn(more, gone, more, last), record.Outcome{}, 2, slices.Concat(begin("s-1"), page("s-1"), begin("s-2"), page("s-2"), end("s-2"))},
		{"twice", sessions(), gone, lost(1), 0, slices.Concat(begin("s-1"), begin("s-2"))},
		{"twice, later", sessions(), inTurn(more, gone), lost(1), 0, slices.Concat(begin("s-1"), page("s-1"), begin("s-2"))},
		{"and no session after it", inTurn(negotiates(v, "s-1"), negotiates(v, "")), inTurn(gone, jsonBody(goodList)), record.Outcome{}, 1, slices.Concat(begin("s-1"), begin(""))},
		{"and refused", inTurn(negotiates(v, "s-1"), body(503, "", "")), gone, record.Outcome{Class: record.HTTP5xx, Step: record.StepInitialize, HTTPStatus: 503}, 0, slices.Concat(begin("s-1"), begin("")[:1])},
		{"and modern", inTurn(negotiates(v, "s-1"), body(400, "application/json", modern)), gone, record.Outcome{Class: record.HTTP4xx, Detail: record.RPCDetail(-32022), Step: record.StepInitialize, HTTPStatus: 400}, 0, slices.Concat(begin("s-1"), begin("")[:1])},
		{"never had", negotiates(v, ""), gone, record.Outcome{Class: record.HTTP4xx, Step: record.StepToolsList, HTTPStatus: 404}, 0, begin("")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, map[string]handler{stepInit: tt.init, stepList: tt.list, stepEnd: body(200, "", "")})
			got := read(t, client(), f.URL, record.V2)
			if got.Outcome != tt.want || len(got.Pages) != tt.read {
				t.Errorf("Read = %+v, %d pages, want %+v, %d", got.Outcome, len(got.Pages), tt.want, tt.read)
			}
			if got.Outcome.OK() && !slices.Equal(got.Flags, []record.Flag{record.FlagSessionRenewed}) {
				t.Errorf("flags %v, want session_renewed", got.Flags)
			}
			if failed := tt.want.Step == record.StepInitialize; failed != (got.Init == nil) || failed != (got.Server == nil) {
				t.Errorf("init %q, server %v after %v", got.Init, got.Server, got.Outcome)
			}
			wantSent(t, f, got, tt.sent, false)
			if further := len(tt.sent) - 4 - 3; further > 3 {
				t.Errorf("%d requests, want 4, three for the session, and its pages and end", len(tt.sent))
			}
		})
	}
	t.Run("v1 does not", func(t *testing.T) {
		f := newFake(t, map[string]handler{stepInit: sessions(), stepList: gone})
		if got := read(t, client(), f.URL, record.V1); got.Outcome != lost(1) || len(f.requests()) != 3 {
			t.Errorf("Read = %+v after %d requests, want %+v after 3", got.Outcome, len(f.requests()), lost(1))
		}
	})
}

// A session is ended whatever came of the list, and nothing comes of the end.
func TestEndOfSession(t *testing.T) {
	for name, h := range map[string]handler{
		"200": body(200, "", ""), "204": body(204, "", ""), "405": body(405, "text/html", html), "404": body(404, "", ""), "500": body(500, "", ""),
		"302": redirect(302, "https://login.example.com"), "stream": left(stream(": open\n\n")),
		"no answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		for which, list := range map[string]handler{"list": jsonBody(goodList), "no list": body(400, "", ""), "no JSON": jsonBody("x")} {
			t.Run(name+"/"+which, func(t *testing.T) {
				t.Parallel()
				m := record.V2
				if name == "no answer" {
					m.RequestTimeout = 2 * time.Second // a quarter of it is waited for
				}
				f := newFake(t, map[string]handler{stepEnd: h, stepList: list})
				got := read(t, client(), f.URL, m)
				requests := f.requests()
				if got.Outcome.OK() != (which == "list") || len(requests) != 4 || got.Requests != 4 {
					t.Fatalf("Read = %v after %d requests (%d seen), want 4", got.Outcome, got.Requests, len(requests))
				}
				if last := requests[3]; last.Method != "DELETE" || last.Header.Get("Mcp-Session-Id") != "session-1" || last.Body != "" || last.Header.Get("Content-Type") != "" {
					t.Errorf("the last request was %+v, want a bare DELETE", last)
				}
			})
		}
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := newFake(t, map[string]handler{stepEnd: func(w http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		}})
		if _, err := client().Read(ctx, f.URL, record.V2); !errors.Is(err, context.Canceled) {
			t.Errorf("Read = %v, want context.Canceled", err)
		}
	})
}

// All requests of a reading that have to be answered share six times the timeout
// of one: pages that come late do not hold a run.
func TestTimeOfAReading(t *testing.T) {
	m := record.V2
	c := client()
	now := time.Date(2026, 11, 30, 3, 15, 0, 0, time.UTC)
	c.Now = func() time.Time { return now }
	n := 0
	f := newFake(t, map[string]handler{stepInit: negotiates("2025-11-25", ""), stepList: func(w http.ResponseWriter, r *http.Request) {
		n++
		now = now.Add(m.RequestTimeout - time.Second)
		jsonBody(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"tools":[],"nextCursor":"%d"}}`, listID+n-1, n))(w, r)
	}})
	got := read(t, c, f.URL, m)
	if want := (record.Outcome{Class: record.Timeout, Step: record.ListStep(8)}); got.Outcome != want || n != 7 {
		t.Errorf("Read = %+v after %d pages, want %+v after 7", got.Outcome, n, want)
	}
	if got.Requests != len(f.requests()) {
		t.Errorf("Requests = %d, the server saw %d", got.Requests, len(f.requests()))
	}
}

// A clock that is set, or jumps over the rest of another host, costs no request
// its time.
func TestClockThatJumps(t *testing.T) {
	for _, m := range record.Methodologies {
		c := client()
		now := time.Date(2026, 11, 30, 3, 15, 0, 0, time.UTC)
		c.Now = func() time.Time { return now }
		f := newFake(t, map[string]handler{stepInit: func(w http.ResponseWriter, r *http.Request) {
			now = now.Add(time.Hour)
			jsonBody(goodInit)(w, r)
		}})
		if got := read(t, c, f.URL, m); !got.Outcome.OK() {
			t.Errorf("%s: Read = %+v after the clock jumped, want a success", m.Version, got.Outcome)
		}
	}
}

// Every way of failing the first steps costs v1 three POSTs at most, and v2 four
// requests and the end of the session.
func TestCostOfFailures(t *testing.T) {
	for _, step := range []record.Step{record.StepInitialize, record.StepToolsList} {
		id := map[record.Step]int{record.StepInitialize: initializeID, record.StepToolsList: listID}[step]
		for _, tt := range outcomeCases(id) {
			if tt.slow || tt.only != "" && tt.only != step {
				continue
			}
			t.Run(string(step)+"/"+tt.name, func(t *testing.T) {
				f := newFake(t, map[string]handler{string(step): tt.answer, stepEnd: body(200, "", "")})
				var outcomes []record.Outcome
				for _, m := range record.Methodologies {
					before := len(f.requests())
					got := read(t, client(), f.URL+"/mcp", m)
					outcomes = append(outcomes, got.Outcome)
					requests := f.requests()[before:]
					checkCost(t, m, got, requests)
				}
				modern := outcomes[1].Step == record.StepDiscover // the fake has none
				lost := outcomes[0].Detail == record.DetailSession
				if !modern && !lost && outcomes[0] != outcomes[1] {
					t.Errorf("v1 %+v, v2 %+v, want the same", outcomes[0], outcomes[1])
				}
			})
		}
	}
}

// checkCost checks what a reading of one page at most may have cost a server.
func checkCost(t *testing.T, m record.Methodology, r Reading, requests []seen) {
	t.Helper()
	if r.Requests != len(requests) {
		t.Errorf("%s: Requests = %d, the server saw %d", m.Version, r.Requests, len(requests))
	}
	resent := 0 // over another connection, or to another place
	steps := map[string]int{}
	for _, q := range requests {
		if steps[q.Step]++; steps[q.Step] > 1 {
			resent++
		}
		if m.Version == "v1" && (q.Method != "POST" || q.Header.Get("Mcp-Protocol-Version") != "" || q.Header.Get("Mcp-Method") != "") {
			t.Errorf("v1 sent a %s with %v", q.Method, q.Header)
		}
	}
	if m.Version == "v1" && len(requests)-resent > 3 {
		t.Errorf("v1 sent %d requests, want 3 at most", len(requests)-resent)
	}
	if m.Version == "v2" && len(requests)-resent > 5 {
		t.Errorf("v2 sent %d requests, want 4 and a DELETE at most", len(requests)-resent)
	}
}

// Whatever an error object holds, reading it says yes or no.
func FuzzRefusal(f *testing.F) {
	f.Add(`{"code":-32022,"message":"","data":{"supported":["2026-07-28"]}}`, 400)
	f.Add(`{"code":1,"message":"_meta","data":[[[]]]}`, 0)
	f.Add(`{"code":1,"data":{"supported":{"supported":[]}}}`, 404)
	f.Fuzz(func(t *testing.T, object string, status int) {
		var compacted json.RawMessage
		if json.Unmarshal([]byte(object), &compacted) != nil {
			t.Skip()
		}
		response, err := jsonrpc.Read([]byte(`{"jsonrpc":"2.0","id":1,"error":`+object+`}`), initializeID)
		if err != nil || response.Error == nil {
			t.Skip()
		}
		r := readRefusal(response.Error, status)
		if r.offers() && (r.code != -32022 || !strings.Contains(object, "2026")) {
			t.Errorf("%s offers a version", object)
		}
		if r.modern() && r.code > -32020 && !strings.Contains(object, "meta") && !strings.Contains(object, `\u`) {
			t.Errorf("%s is modern", object)
		}
	})
}
