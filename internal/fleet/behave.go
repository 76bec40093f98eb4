package fleet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A Behaviour is one way in which a server behaves, and how methodologies v1 and
// v2 record it (DESIGN.md section 4; protocol.md section 2). Members without a
// version are of v1.
type Behaviour struct {
	Name string // such as initialize/timeout/no-headers; what stands before the last slash is the group

	// Want is the outcome. HTTPStatus is set only where an HTTP answer decides:
	// it is 0 for what the connection, a redirect, an encoding or a size decides.
	Want record.Outcome

	Flags      []record.Flag // of a success: remarks on the answers, sorted
	Findings   []record.Flag // of a success: remarks on what the list holds, sorted
	Tools      int           // of a success: elements of the list, whatever they are
	Negotiated string        // of a success: protocol version that the server answered
	Incomplete bool          // of a success: a further page was left unread
	V2         Reading       // what methodology v2 records
	Guarded    bool          // to be read by a client that dials public addresses only
	Slow       bool          // holds a request until the reader leaves: read it with a short deadline
	Row        string        // a registry row, where the row alone decides; there is nothing to start
	OptOut     string        // line of an opt-out file that goes with Row

	open func(ctx context.Context) (url string, stop func(), err error)
}

// A Reading is what one methodology records of a server.
type Reading struct {
	Want          record.Outcome // as in Behaviour
	Flags         []record.Flag  // of a success: remarks on the answers, sorted
	Findings      []record.Flag  // of a success: remarks on what the list holds, sorted
	Tools         int            // of a success: elements of the list, over all pages
	Pages         int            // of a success: pages read, from 1
	Negotiated    string         // of a success: protocol version spoken
	Incomplete    bool           // of a success: the list was not read to its end
	VersionHeader bool           // of a success: every request after the handshake carried the version
}

// Under returns what the methodology of that version records of b: V2 for v2,
// else what v1 does.
func (b Behaviour) Under(version string) Reading {
	if version == record.V2.Version {
		return b.V2
	}
	r := Reading{Want: b.Want, Flags: b.Flags, Findings: b.Findings, Tools: b.Tools, Negotiated: b.Negotiated, Incomplete: b.Incomplete}
	if b.Want.OK() {
		r.Pages = 1
	}
	return r
}

// Start serves the behaviour on loopback until stop is called, which waits for
// its requests to end. The requests also end with ctx. For a behaviour with a
// Row the url is empty.
func (b Behaviour) Start(ctx context.Context) (url string, stop func(), err error) {
	if b.open == nil {
		return "", func() {}, nil
	}
	url, stop, err = b.open(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("starting behaviour %s: %w", b.Name, err)
	}
	return url, stop, nil
}

// Behaviours returns every behaviour that the package knows: each class and
// detail of [record.Classes], at each step at which it can occur, and servers
// that are odd but answer. Names are unique; the order is fixed.
func Behaviours() []Behaviour {
	old := slices.Concat(faultBehaviours(), connectionBehaviours(), sessionBehaviours(), oddBehaviours(), listBehaviours(), rowBehaviours())
	for i, b := range old {
		old[i].V2 = v2Of(b)
	}
	return slices.Concat(old, modernBehaviours(), pageBehaviours(), renewalBehaviours(), versionBehaviours())
}

// v2Of returns what methodology v2 records of a server that is made for v1: the
// same, but where a rule of v2 reads on (DESIGN.md section 4).
func v2Of(b Behaviour) Reading {
	r := b.Under(record.V1.Version)
	r.VersionHeader = r.Negotiated >= headerSince
	switch b.Name {
	case "initialize/http_4xx/rpc-32022":
		// The modern era is tried, and the server has no server/discover.
		r.Want = outcome(record.StepDiscover, record.Parse, record.RPCDetail(-32601), http.StatusOK)
	case "list/next-page", "list/next-page-empty":
		// The next page is the first one again, with the same cursor.
		r.Tools, r.Pages, r.Incomplete = 2, 2, true
		r.Flags, r.Findings = flags(record.FlagCursorRepeated), flags(record.FlagDuplicateName)
	case "list/big-numbers":
		// Canonical form v2 has no number outside float64 (DESIGN.md section 6).
		r = Reading{Want: outcome(record.StepToolsList, record.Parse, record.DetailInvalidJSON, http.StatusOK)}
	}
	return r
}

// An answer is how a server answers one request.
type answer func(w http.ResponseWriter, r *http.Request, c call)

// What a well-behaved server says.
const (
	goodInit = `{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":false}},"serverInfo":{"name":"behaviour","version":"1.0.0"}}`
	toolA    = `{"name":"echo","description":"Returns the text that it was given.","inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"Text to return"}},"required":["text"]}}`
	toolB    = `{"name":"now","description":"Tells the time in UTC.","inputSchema":{"type":"object","properties":{}}}`
	goodList = `{"tools":[` + toolA + `,` + toolB + `]}`
)

// forever is as long as a slow server holds a request at most: far beyond any
// deadline of a reader, but not for ever, should a test forget to stop it.
const forever = 2 * time.Minute

// resultOf returns what a well-behaved server says to c.
func resultOf(c call) string {
	if c.Method == methodList {
		return goodList
	}
	return goodInit
}

// plainJSON answers c well, as JSON.
func plainJSON(w http.ResponseWriter, _ *http.Request, c call) {
	send(w, http.StatusOK, "application/json", response(c, resultOf(c)))
}

// accepted answers a notification as the specification wants it.
func accepted(w http.ResponseWriter, _ *http.Request, _ call) {
	w.WriteHeader(http.StatusAccepted)
}

// serve answers POST requests to /mcp by method, other methods well.
func serve(answers map[string]answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a := answers[r.Method]; a != nil && r.Method == http.MethodDelete {
			a(w, r, call{session: r.Header.Get("Mcp-Session-Id")})
			return
		}
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", "POST")
			http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
			return
		}
		c, err := readCall(w, r)
		if err != nil {
			http.Error(w, "Bad Request", http.StatusBadRequest)
			return
		}
		a := answers[c.Method]
		switch {
		case a != nil:
			a(w, r, c)
		case c.Method == methodInitialize || c.Method == methodList:
			plainJSON(w, r, c)
		case len(c.ID) == 0:
			accepted(w, r, c)
		default:
			send(w, http.StatusOK, "application/json", rpcError(c, -32601, "Method not found", ""))
		}
	})
}

// opener returns an open function that serves h at /mcp.
func opener(h http.Handler) func(context.Context) (string, func(), error) {
	return func(ctx context.Context) (string, func(), error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", nil, err
		}
		s := listen(ctx, l, h)
		return "http://" + l.Addr().String() + "/mcp", s.stop, nil
	}
}

// outcome makes the outcome of a step.
func outcome(step record.Step, class record.ErrorClass, detail record.Detail, status int) record.Outcome {
	return record.Outcome{Class: class, Detail: detail, Step: step, HTTPStatus: status}
}

// faultBehaviours returns each fault of the table, once at initialize and once
// at tools/list.
func faultBehaviours() []Behaviour {
	var out []Behaviour
	for _, step := range []record.Step{record.StepInitialize, record.StepToolsList} {
		for _, f := range faults {
			out = append(out, Behaviour{
				Name: string(step) + "/" + f.name,
				Want: outcome(step, f.class, f.detail, f.status),
				Slow: f.slow,
				open: opener(serve(map[string]answer{string(step): f.answer})),
			})
		}
	}
	return out
}

// connectionBehaviours returns the faults that lie before any HTTP.
func connectionBehaviours() []Behaviour {
	at := func(d record.Detail) record.Outcome { return outcome(record.StepInitialize, record.TLS, d, 0) }
	good := serve(nil)
	fixed := func(url string) func(context.Context) (string, func(), error) {
		return func(context.Context) (string, func(), error) { return url, func() {}, nil }
	}
	return []Behaviour{
		// A label of 64 letters is no domain name, so that no resolver is asked and
		// the test stays offline.
		{Name: "initialize/tls/dns", Want: at(record.DetailDNS), open: fixed("http://" + strings.Repeat("x", 64) + ".invalid/mcp")},
		{Name: "initialize/tls/refused", Want: at(record.DetailRefused), open: openClosed},
		{Name: "initialize/tls/certificate", Want: at(record.DetailCertificate), open: openTLS(good)},
		{Name: "initialize/tls/plain-http", Want: at(""), open: func(ctx context.Context) (string, func(), error) {
			url, stop, err := opener(good)(ctx)
			return "https" + strings.TrimPrefix(url, "http"), stop, err
		}},
		{Name: "initialize/tls/blocked-loopback", Want: at(record.DetailBlockedAddress), Guarded: true, open: opener(good)},
		{Name: "initialize/tls/blocked-private", Want: at(record.DetailBlockedAddress), Guarded: true, open: fixed("http://10.0.0.1/mcp")},
		{Name: "initialize/tls/blocked-metadata", Want: at(record.DetailBlockedAddress), Guarded: true, open: fixed("http://169.254.169.254/mcp")},
		{Name: "initialize/tls/blocked-mapped", Want: at(record.DetailBlockedAddress), Guarded: true, open: fixed("http://[::ffff:127.0.0.1]/mcp")},
	}
}

// openClosed returns a URL at which nothing listens. Its port is the near end of
// a connection that is kept open, so that nobody else can come to listen there.
func openClosed(ctx context.Context) (string, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		l.Close()
		return "", nil, err
	}
	stop := func() {
		conn.Close()
		l.Close()
	}
	return "http://" + conn.LocalAddr().String() + "/mcp", stop, nil
}

// openTLS serves h under a certificate that nobody trusts.
func openTLS(h http.Handler) func(context.Context) (string, func(), error) {
	return func(ctx context.Context) (string, func(), error) {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = discard
		s.Config.BaseContext = func(net.Listener) context.Context { return ctx }
		s.StartTLS()
		return s.URL + "/mcp", func() { s.CloseClientConnections(); s.Close() }, nil
	}
}

// sessionBehaviours returns servers that give out a session id.
func sessionBehaviours() []Behaviour {
	const id = "0f4b6c1e-mcp"
	start := func(w http.ResponseWriter, r *http.Request, c call) {
		w.Header().Set("Mcp-Session-Id", id)
		plainJSON(w, r, c)
	}
	lost := func(mediaType, body string) answer {
		return func(w http.ResponseWriter, r *http.Request, c call) {
			if c.session != id {
				send(w, http.StatusBadRequest, "application/json", rpcError(c, -32000, "Bad Request: no valid session id", ""))
				return
			}
			send(w, http.StatusNotFound, mediaType, body)
		}
	}
	want := outcome(record.StepToolsList, record.HTTP4xx, record.DetailSession, http.StatusNotFound)
	notified := func(w http.ResponseWriter, r *http.Request, c call) {
		status := http.StatusAccepted
		if c.session != id {
			status = http.StatusBadRequest
		}
		w.WriteHeader(status)
	}
	list := func(w http.ResponseWriter, r *http.Request, c call) {
		if c.session != id {
			send(w, http.StatusBadRequest, "application/json", rpcError(c, -32000, "Bad Request: no valid session id", ""))
			return
		}
		plainJSON(w, r, c)
	}
	return []Behaviour{
		{Name: "tools/list/http_4xx/session-text", Want: want, open: opener(serve(map[string]answer{methodInitialize: start, methodList: lost("text/plain; charset=utf-8", "session not found\n")}))},
		{Name: "tools/list/http_4xx/session-rpc", Want: want, open: opener(serve(map[string]answer{methodInitialize: start, methodList: lost("application/json", `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`)}))},
		{Name: "good/session-required", Tools: 2, Negotiated: "2024-11-05", open: opener(serve(map[string]answer{methodInitialize: start, methodInitialized: notified, methodList: list}))},
	}
}

// rowBehaviours returns what a registry row alone decides.
func rowBehaviours() []Behaviour {
	row := func(name, member string) string {
		return `{"server":{"name":"com.example.behaviour/` + name + `","description":"A row to be judged","version":"1.0.0"` + member +
			`},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","publishedAt":"2025-11-03T09:12:44.120113Z","updatedAt":"2025-11-03T09:12:44.120113Z","isLatest":true}}}`
	}
	remotes := func(list string) string { return `,"remotes":[` + list + `]` }
	var out []Behaviour
	for _, r := range []struct {
		name   string
		detail record.Detail
		member string
	}{
		{"no-remotes", record.DetailNoRemote, ``},
		{"empty-remotes", record.DetailNoRemote, remotes(``)},
		{"null-remotes", record.DetailNoRemote, `,"remotes":null`},
		{"packages-only", record.DetailNoRemote, `,"packages":[{"registryType":"npm","identifier":"@example/x","version":"1.0.0","transport":{"type":"streamable-http","url":"http://localhost:3000/mcp"}}]`},
		{"unknown-type", record.DetailNoRemote, remotes(`{"type":"http","url":"https://mcp.example.com/mcp"}`)},
		{"sse-only", record.DetailSSEOnly, remotes(`{"type":"sse","url":"https://mcp.example.com/sse"}`)},
		{"url-template", record.DetailURLTemplate, remotes(`{"type":"streamable-http","url":"https://{tenant}.example.com/mcp","variables":{"tenant":{"description":"your tenant","isRequired":true}}}`)},
		{"url-template-default", record.DetailURLTemplate, remotes(`{"type":"streamable-http","url":"https://mcp.example.com/{region}/mcp","variables":{"region":{"default":"eu"}}}`)},
		{"bad-url-scheme", record.DetailBadURL, remotes(`{"type":"streamable-http","url":"ftp://mcp.example.com/mcp"}`)},
		{"bad-url-userinfo", record.DetailBadURL, remotes(`{"type":"streamable-http","url":"https://user:pass@mcp.example.com/mcp"}`)},
		{"bad-url-no-host", record.DetailBadURL, remotes(`{"type":"streamable-http","url":"https:///mcp"}`)},
		{"malformed", record.DetailMalformed, `,"remotes":"none"`},
		{"opt-out", record.DetailOptOut, remotes(`{"type":"streamable-http","url":"https://mcp.example.com/mcp"}`)},
	} {
		b := Behaviour{
			Name: "no_endpoint/" + r.name,
			Want: record.Outcome{Class: record.NoEndpoint, Detail: r.detail},
			Row:  row(r.name, r.member),
		}
		if r.detail == record.DetailOptOut {
			b.OptOut = "com.example.behaviour/opt-out"
		}
		out = append(out, b)
	}
	return out
}
