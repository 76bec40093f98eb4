package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/fleet"
	"github.com/mcpstrata/mcpstrata/internal/jsonrpc"
	"github.com/mcpstrata/mcpstrata/internal/mcp"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/safehttp"
)

var observed = time.Date(2026, 11, 30, 3, 20, 1, 999, time.UTC)

// newProber returns a prober whose clock stands at observed.
func newProber(allowPrivate bool) *Prober {
	return &Prober{MCP: &mcp.Client{
		HTTP: safehttp.New(safehttp.Config{AllowPrivate: allowPrivate}),
		Now:  func() time.Time { return observed },
	}}
}

// Every way in which a server is known to behave is recorded as written, under
// every methodology.
func TestBehaviours(t *testing.T) {
	ran := 0
	for _, b := range fleet.Behaviours() {
		if b.Row != "" {
			continue // decided by the registry entry alone; nothing is probed
		}
		ran++
		for _, m := range record.Methodologies {
			t.Run(b.Name+"/"+m.Version, func(t *testing.T) {
				t.Parallel()
				url, stop, err := b.Start(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
				if b.Slow {
					m.RequestTimeout = 300 * time.Millisecond
				}
				r, err := newProber(!b.Guarded).Probe(t.Context(), "com.example/a", url, m)
				if err != nil {
					t.Fatalf("Probe = %v, want a result", err)
				}
				checkBehaviour(t, b.Under(m.Version), m, r)
			})
		}
	}
	if ran < 50 {
		t.Errorf("%d behaviours were tried, want the many that fleet has", ran)
	}
}

func checkBehaviour(t *testing.T, b fleet.Reading, m record.Methodology, r record.Result) {
	t.Helper()
	got := r.Outcome()
	if b.Want.HTTPStatus == 0 {
		got.HTTPStatus = 0 // there may be one, but it did not decide
	}
	if diff := cmp.Diff(b.Want, got); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if r.Name != "com.example/a" || r.Method != m.Version || r.Observed != record.At(observed) {
		t.Errorf("result of %s under %s at %s, want what was asked for", r.Name, r.Method, r.Observed)
	}
	if b.Want.OK() {
		checkSuccess(t, b, m, r)
	} else {
		checkFailure(t, r)
	}
}

func checkSuccess(t *testing.T, b fleet.Reading, m record.Methodology, r record.Result) {
	t.Helper()
	if r.Capture == nil || r.Server == nil || len(r.Init) == 0 || len(r.Pages) != b.Pages {
		t.Fatalf("capture %v, server %v, %d bytes of init, %d pages, want all that a success has", r.Capture, r.Server, len(r.Init), len(r.Pages))
	}
	want := record.Capture{
		ClientCapabilities: []string{}, ObservedAt: record.At(observed), Pages: record.Pages{Complete: !b.Incomplete, Read: b.Pages},
		Protocol: record.Protocol{Negotiated: b.Negotiated, Requested: m.ProtocolVersion, VersionHeader: m.VersionHeader && b.VersionHeader}, Transport: "streamable-http",
	}
	if diff := cmp.Diff(&want, r.Capture); diff != "" {
		t.Errorf("capture (-want +got):\n%s", diff)
	}
	flags := slices.Concat(b.Flags, b.Findings)
	slices.Sort(flags)
	if !slices.Equal(flags, r.Flags) {
		t.Errorf("flags = %q, want %q", r.Flags, flags)
	}
	c, err := contract.Read(r.Pages)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Elems) != b.Tools || r.Tools != len(c.Tools) {
		t.Errorf("%d elements and %d tools, want %d and %d", len(c.Elems), r.Tools, b.Tools, len(c.Tools))
	}
	identity, err := c.Identity(m.CanonicalForm)
	if err != nil || r.Identity != identity {
		t.Errorf("identity = %s, want %s (%v)", r.Identity, identity, err)
	}
	var ordered canon.Digest
	if m.CanonicalForm == "v1" {
		ordered, _ = c.Identity("v2")
	}
	if r.Ordered != ordered {
		t.Errorf("ordered = %q, want %q", r.Ordered, ordered)
	}
	if r.InitMS != 0 || r.ListMS != 0 || r.Requests < 3 {
		t.Errorf("latencies %d, %d ms and %d requests, want none by a clock that stands, and 3 or more", r.InitMS, r.ListMS, r.Requests)
	}
}

func checkFailure(t *testing.T, r record.Result) {
	t.Helper()
	bare := r
	bare.Class, bare.Detail, bare.Step, bare.HTTPStatus = "", "", "", 0
	bare.InitMS, bare.ListMS, bare.Requests = 0, 0, 0
	if diff := cmp.Diff(record.Result{Name: r.Name, Method: r.Method, Observed: r.Observed}, bare); diff != "" {
		t.Errorf("a failure holds what only a success has (-want +got):\n%s", diff)
	}
	if atInit := r.Step == record.StepInitialize || r.Step == record.StepDiscover; atInit != (r.ListMS == -1) {
		t.Errorf("failed at %q with list_ms %d, want -1 if and only if the list was not asked for", r.Step, r.ListMS)
	}
}

// goodReading is a reading that succeeded, of this list of tools.
func goodReading(tools string) mcp.Reading {
	return mcp.Reading{
		Observed: observed, Init: []byte("init"), Capture: record.Capture{Transport: "streamable-http"},
		Pages:       [][]byte{[]byte(`{"jsonrpc":"2.0","id":2,"result":{"tools":` + tools + `}}`)},
		Server:      &record.Server{Name: "s"},
		Flags:       []record.Flag{record.FlagNoName, record.FlagContentType},
		InitLatency: 1499 * time.Microsecond, ListLatency: 1500 * time.Microsecond, Requests: 3,
	}
}

func TestResult(t *testing.T) {
	tools := `[{"name":"a","inputSchema":{"type":"object"}},{"inputSchema":null}]`
	id := func(form string) canon.Digest {
		t.Helper()
		c, err := contract.ReadDocument([]byte(tools))
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Identity(form)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	want := record.Result{
		Capture: &record.Capture{Transport: "streamable-http", ObservedAt: record.At(observed)},
		Flags:   []record.Flag{record.FlagContentType, record.FlagInputSchema, record.FlagNoName}, // no_name by both, once
		Init:    []byte("init"), InitMS: 1, ListMS: 2, Method: "v1", Observed: record.At(observed),
		Identity: id("v1"), Ordered: id("v2"), Pages: goodReading(tools).Pages, Requests: 3,
		Server: &record.Server{Name: "s"}, Tools: 2,
	}
	if diff := cmp.Diff(want, result(goodReading(tools), record.V1)); diff != "" {
		t.Errorf("result under v1 (-want +got):\n%s", diff)
	}

	// A methodology whose canonical form keeps order needs no second identity.
	ordered := record.V1
	ordered.Version, ordered.CanonicalForm = "v9", "v2"
	want.Method, want.Identity, want.Ordered = "v9", id("v2"), ""
	if diff := cmp.Diff(want, result(goodReading(tools), ordered)); diff != "" {
		t.Errorf("result under a methodology of form v2 (-want +got):\n%s", diff)
	}
}

// v1 keeps the literal text of a number that no float64 holds; v2 refuses it.
func TestNumbersOutsideFloat64(t *testing.T) {
	tools := `[{"name":"a","inputSchema":{"type":"object","maximum":1e400}}]`
	r := result(goodReading(tools), record.V1)
	if !r.Outcome().OK() || r.Identity == "" || r.Ordered != "" {
		t.Errorf("under v1: %v, identity %q, ordered %q, want a success with an identity and no ordered", r.Outcome(), r.Identity, r.Ordered)
	}
	m := record.V1
	m.CanonicalForm = "v2"
	r = result(goodReading(tools), m)
	want := record.Outcome{Class: record.Parse, Detail: record.DetailInvalidJSON, Step: record.StepToolsList, HTTPStatus: 200}
	if r.Outcome() != want {
		t.Errorf("under form v2: %+v, want %+v", r.Outcome(), want)
	}
	checkFailure(t, r)
}

// What mcp lets through and contract does not is parse, and its bodies go.
func TestUnreadableContract(t *testing.T) {
	tests := []struct {
		name  string
		pages [][]byte
		want  record.Detail
	}{
		{"no list", [][]byte{[]byte(`{"jsonrpc":"2.0","id":2,"result":{}}`)}, record.DetailNotJSONRPC},
		{"an error", [][]byte{[]byte(`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}`)}, record.RPCDetail(-32601)},
		{"a page of HTML", [][]byte{[]byte("<!doctype html><title>Welcome</title>")}, record.DetailHTML},
		{"no body", nil, record.DetailEmpty},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reading := goodReading(`[]`)
			reading.Pages = tt.pages
			r := result(reading, record.V1)
			want := record.Outcome{Class: record.Parse, Detail: tt.want, Step: record.StepToolsList, HTTPStatus: 200}
			if r.Outcome() != want {
				t.Errorf("outcome = %+v, want %+v", r.Outcome(), want)
			}
			checkFailure(t, r)
			if r.InitMS != 1 || r.ListMS != 2 || r.Requests != 3 {
				t.Errorf("latencies %d, %d and %d requests, want those of the reading", r.InitMS, r.ListMS, r.Requests)
			}
		})
	}
	if o := unreadable(fmt.Errorf("reading: %w", &jsonrpc.Fault{Detail: record.DetailTooLarge}), 1); o.Detail != record.DetailTooLarge {
		t.Errorf("unreadable of a wrapped fault = %v, want its detail", o)
	}
	if o := unreadable(errors.New("no form"), 1); o.Detail != record.DetailInvalidJSON {
		t.Errorf("unreadable of another error = %v, want invalid_json", o)
	}
}

func TestMilliseconds(t *testing.T) {
	tests := map[time.Duration]int64{
		-1: -1, -time.Second: -1, 0: 0, 499 * time.Microsecond: 0, 500 * time.Microsecond: 1,
		1499 * time.Microsecond: 1, 20 * time.Second: 20000,
	}
	for d, want := range tests {
		if got := milliseconds(d); got != want {
			t.Errorf("milliseconds(%v) = %d, want %d", d, got, want)
		}
	}
}

// The artifact is the body, byte for byte, of the list as of the handshake.
func TestBodiesAreVerbatim(t *testing.T) {
	const (
		initBody = "{\"jsonrpc\":\"2.0\",\n \"id\":1, \"result\":{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"\\u00fc\",\"version\":\"1\"}}}\n"
		listBody = "\t{\"id\":2,\"result\":{\"tools\":[ {\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"n\":1.0}} ]},\"jsonrpc\":\"2.0\"}  "
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case bytes.Contains(b, []byte(`"initialize"`)):
			io.WriteString(w, initBody)
		case bytes.Contains(b, []byte(`"tools/list"`)):
			io.WriteString(w, listBody)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer server.Close()
	r, err := newProber(true).Probe(t.Context(), "n", server.URL, record.V1)
	if err != nil || !r.Outcome().OK() {
		t.Fatalf("Probe = %v, %v, want a success", r.Outcome(), err)
	}
	if string(r.Init) != initBody || string(r.Pages[0]) != listBody {
		t.Errorf("bodies = %q and %q, want %q and %q", r.Init, r.Pages[0], initBody, listBody)
	}
	if r.Requests != 3 {
		t.Errorf("%d requests, want 3", r.Requests)
	}
}

func TestRetryAfterIsPassedOn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	a, err := newProber(true).Attempt(t.Context(), server.URL, record.V1)
	if err != nil {
		t.Fatal(err)
	}
	if want := (record.Outcome{Class: record.RateLimited, Step: record.StepInitialize, HTTPStatus: 429}); a.Result.Outcome() != want {
		t.Errorf("outcome = %+v, want %+v", a.Result.Outcome(), want)
	}
	if a.RetryAfter != 7*time.Second || a.Result.Name != "" {
		t.Errorf("Attempt = %+v, want RetryAfter of 7 s and no name", a)
	}
}

// A cancelled probe has no result: a class would be a lie.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // else the server does not see the client leave
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	r, err := newProber(true).Probe(ctx, "n", server.URL, record.V1)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Probe = %v, want context canceled", err)
	}
	if diff := cmp.Diff(record.Result{}, r); diff != "" {
		t.Errorf("a cancelled probe has a result (-want +got):\n%s", diff)
	}
	if err != nil && !strings.Contains(err.Error(), server.URL) {
		t.Errorf("Probe = %v, want the endpoint named", err)
	}
}

// A large list waits until it may be read as a contract, and no longer than the
// context.
func TestCancelledWhileWaiting(t *testing.T) {
	const list = `{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"}],"x":"%s"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch b, _ := io.ReadAll(r.Body); {
		case bytes.Contains(b, []byte(`"tools/list"`)):
			fmt.Fprintf(w, list, strings.Repeat("x", 1<<20))
		default:
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		}
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := newProber(true)
	calls, leave := 0, func() {}
	p.MCP.Now = func() time.Time {
		if calls++; calls == 5 { // the beginning, two of initialize, two of tools/list
			leave, _ = p.MCP.Admit(ctx, 1<<30, 1<<30)
			cancel()
		}
		return observed
	}
	if r, err := p.Probe(ctx, "n", server.URL, record.V1); !errors.Is(err, context.Canceled) {
		t.Errorf("Probe = %v, %v, want context canceled", r.Outcome(), err)
	}
	leave()
	for range 3 { // no turn was lost
		if r, err := p.Probe(t.Context(), "n", server.URL, record.V1); err != nil || !r.Outcome().OK() {
			t.Fatalf("Probe = %v, %v, want success", r.Outcome(), err)
		}
	}
}

// The step names the page that is to blame.
func TestUnreadablePage(t *testing.T) {
	page := func(n int, tools string) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"tools":%s}}`, 1+n, tools)
	}
	good := func(n int) []byte { return page(n, fmt.Sprintf(`[{"name":"t%d","inputSchema":{"type":"object"}}]`, n)) }
	big := `[{"name":"a","inputSchema":{"type":"object","maximum":1e400}}]`
	tests := []struct {
		name   string
		pages  [][]byte
		v1, v2 record.Outcome
	}{
		{"none", [][]byte{good(1), good(2), good(3)}, record.Outcome{}, record.Outcome{}},
		{"a page without a list", [][]byte{good(1), []byte(`{"jsonrpc":"2.0","id":3,"result":{}}`), good(3), page(4, `7`)},
			record.Outcome{Class: record.Parse, Detail: record.DetailNotJSONRPC, Step: record.ListStep(2), HTTPStatus: 200},
			record.Outcome{Class: record.Parse, Detail: record.DetailNotJSONRPC, Step: record.ListStep(2), HTTPStatus: 200}},
		{"a number outside float64", [][]byte{good(1), good(2), page(3, big), good(4), page(5, big)},
			record.Outcome{}, record.Outcome{Class: record.Parse, Detail: record.DetailInvalidJSON, Step: record.ListStep(3), HTTPStatus: 200}},
		{"a list as an object", [][]byte{good(1), good(2), page(3, `{}`)},
			record.Outcome{Class: record.Parse, Detail: record.DetailNotJSONRPC, Step: record.ListStep(3), HTTPStatus: 200},
			record.Outcome{Class: record.Parse, Detail: record.DetailNotJSONRPC, Step: record.ListStep(3), HTTPStatus: 200}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, m := range record.Methodologies {
				reading := goodReading(`[]`)
				reading.Pages = tt.pages
				r, want := result(reading, m), tt.v1
				if m.Version == "v2" {
					want = tt.v2
				}
				if r.Outcome() != want {
					t.Errorf("result under %s = %+v, want %+v", m.Version, r.Outcome(), want)
				}
				if want.OK() && (r.Tools != len(tt.pages) && tt.name == "none" || r.Identity == "" || len(r.Pages) != len(tt.pages)) {
					t.Errorf("result under %s: %d tools, identity %q, %d pages", m.Version, r.Tools, r.Identity, len(r.Pages))
				}
			}
		})
	}
}

// The pages of a list are one contract, wherever they are cut; the flags of the
// exchange and of the list stand together.
func TestPagesAreOneContract(t *testing.T) {
	var identities []canon.Digest
	for _, pages := range [][][]byte{
		{[]byte(`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a"},{"name":"b"}],"nextCursor":null}}`)},
		{[]byte(`{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"b"}],"nextCursor":"x"}}`), []byte(`{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"a"}]}}`)},
	} {
		reading := goodReading(`[]`)
		reading.Pages, reading.Flags = pages, []record.Flag{record.FlagCursorRepeated, record.FlagSessionRenewed}
		p := newProber(true)
		r, err := p.Result(t.Context(), "com.example/a", reading, record.V2)
		if err != nil || r.Name != "com.example/a" || r.Method != "v2" || r.Ordered != "" || r.Tools != 2 || r.Second != nil {
			t.Fatalf("Result = %+v, %v, want a success of two tools under v2", r, err)
		}
		if want := []record.Flag{record.FlagCursorRepeated, record.FlagInputSchema, record.FlagSessionRenewed}; !slices.Equal(r.Flags, want) {
			t.Errorf("flags = %q, want %q", r.Flags, want)
		}
		identities = append(identities, r.Identity)
	}
	if identities[0] != identities[1] {
		t.Errorf("identities %v, want the same", identities)
	}
}
