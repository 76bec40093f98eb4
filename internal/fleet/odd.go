package fleet

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// oddBehaviours returns servers that answer, each in its own way. An odd answer
// is given to initialize and to tools/list alike.
func oddBehaviours() []Behaviour {
	var out []Behaviour
	for _, o := range oddities {
		answers := map[string]answer{methodInitialize: o.answer, methodList: o.answer}
		out = append(out, Behaviour{
			Name: "good/" + o.name, Flags: o.flags, Tools: 2, Negotiated: "2024-11-05",
			open: opener(serve(answers)),
		})
	}
	for _, n := range notified {
		out = append(out, Behaviour{
			Name: "good/notification-" + n.name, Tools: 2, Negotiated: "2024-11-05", Slow: n.slow,
			open: opener(serve(map[string]answer{methodInitialized: n.answer})),
		})
	}
	for _, b := range []struct {
		name string
		h    http.Handler
	}{
		{"strict", strict(serve(nil))},
		{"redirect-slash", slash(http.StatusTemporaryRedirect)},
		{"redirect-permanent", slash(http.StatusPermanentRedirect)},
		{"redirect-three", hops(3)},
	} {
		out = append(out, Behaviour{Name: "good/" + b.name, Tools: 2, Negotiated: "2024-11-05", open: opener(b.h)})
	}
	return append(out,
		Behaviour{Name: "good/negotiates-newer", Tools: 2, Negotiated: "2025-11-25", open: opener(serve(map[string]answer{
			methodInitialize: func(w http.ResponseWriter, _ *http.Request, c call) {
				send(w, http.StatusOK, jsonType, response(c, strings.Replace(goodInit, "2024-11-05", "2025-11-25", 1)))
			},
		}))},
		Behaviour{Name: "initialize/parse/redirect-four", Want: outcome(record.StepInitialize, record.Parse, record.DetailRedirect, 0), open: opener(hops(4))},
	)
}

// An oddity is an answer that a tolerant reader reads.
type oddity struct {
	name   string
	flags  []record.Flag
	answer answer
}

// flags makes a list of flags.
func flags(f ...record.Flag) []record.Flag { return slices.Sorted(slices.Values(f)) }

var oddities = []oddity{
	{"json", nil, plainJSON},
	{"json-charset", nil, result("application/json; charset=utf-8", same)},
	{"json-upper-case", nil, result("Application/JSON;charset=UTF-8", same)},
	{"json-white-space", nil, result(jsonType, func(_ call, good string) string { return "\r\n  \t" + good + "\n\n" })},
	{"json-text-plain", flags(record.FlagContentType), result(textType, same)},
	{"json-no-type", flags(record.FlagContentType), result("", same)},
	{"json-as-stream", flags(record.FlagContentType), result(streamType, same)},
	{"json-bom", flags(record.FlagBOM), result(jsonType, func(_ call, good string) string { return "\ufeff" + good })},
	{"json-close-delimited", nil, func(w http.ResponseWriter, _ *http.Request, c call) {
		raw("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"+response(c, resultOf(c)))(w, nil, c)
	}},
	{"json-early-hints", nil, func(w http.ResponseWriter, r *http.Request, c call) {
		w.Header().Set("Link", "</style.css>; rel=preload; as=style")
		w.WriteHeader(http.StatusEarlyHints)
		plainJSON(w, r, c)
	}},
	{"json-gzip", nil, zipped(jsonType, same)},
	{"json-identity", nil, answer(plainJSON).with("Content-Encoding", "identity")},
	{"json-batch", flags(record.FlagBatch), result(jsonType, func(_ call, good string) string { return "[" + good + "]" })},
	{"json-batch-others", flags(record.FlagBatch), result(jsonType, func(_ call, good string) string {
		return `[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}},{"jsonrpc":"2.0","id":701,"result":{}},` + good + "]"
	})},
	{"id-string", flags(record.FlagIDType), result(jsonType, withID(func(id string) string { return `"` + id + `"` }))},
	{"id-null", flags(record.FlagIDMismatch), result(jsonType, withID(func(string) string { return "null" }))},
	{"id-zero", flags(record.FlagIDMismatch), result(jsonType, withID(func(string) string { return "0" }))},
	{"id-other", flags(record.FlagIDMismatch), result(jsonType, withID(func(string) string { return `"f3b2"` }))},
	{"no-jsonrpc", flags(record.FlagNoJSONRPC), result(jsonType, func(_ call, good string) string { return strings.Replace(good, `"jsonrpc":"2.0",`, "", 1) })},
	{"error-null", flags(record.FlagNullError), result(jsonType, func(_ call, good string) string { return good[:len(good)-1] + `,"error":null}` })},
	{"extra-members", nil, result(jsonType, func(_ call, good string) string { return good[:len(good)-1] + `,"took_ms":12,"_meta":{}}` })},

	{"stream", nil, result(streamType, stream(""))},
	{"stream-charset", nil, result("text/event-stream;charset=UTF-8", stream(""))},
	{"stream-as-json", flags(record.FlagContentType), result(jsonType, stream(""))},
	{"stream-no-type", flags(record.FlagContentType), result("", stream(""))},
	{"stream-gzip", nil, zipped(streamType, stream(""))},
	{"stream-bom", flags(record.FlagBOM), result(streamType, stream("\ufeff"))},
	{"stream-priming", nil, result(streamType, stream("id: 7b1e_0\nretry: 1000\ndata: \n\n"))},
	{"stream-ping", nil, result(streamType, stream(": ping\n\nevent: ping\ndata: {}\n\ndata\n\nunknown: field\n\n"))},
	{"stream-notification", nil, result(streamType, stream(event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"starting"}}`)))},
	{"stream-list-changed", flags(record.FlagListChanged), result(streamType, stream(event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)))},
	{"stream-request", nil, result(streamType, func(c call, good string) string {
		return event(`{"jsonrpc":"2.0","id":`+string(c.ID)+`,"method":"roots/list"}`) + event(good)
	})},
	{"stream-batch", flags(record.FlagBatch), result(streamType, func(_ call, good string) string { return event("[" + good + "]") })},
	{"stream-split", nil, result(streamType, func(_ call, good string) string {
		return "data: " + strings.ReplaceAll(good, `,"`, ",\ndata:  \"") + "\n\n"
	})},
	{"stream-crlf", nil, result(streamType, func(_ call, good string) string { return strings.ReplaceAll(": hi\n\n"+event(good), "\n", "\r\n") })},
	{"stream-cr", nil, result(streamType, func(_ call, good string) string { return strings.ReplaceAll(": hi\n\n"+event(good), "\n", "\r") })},
	{"stream-no-space", nil, result(streamType, func(_ call, good string) string { return "event:message\ndata:" + good + "\n\n" })},
	{"stream-pending", flags(record.FlagSSEUnterminated), result(streamType, func(_ call, good string) string { return strings.TrimSuffix(event(good), "\n") })},
	{"stream-pending-line", flags(record.FlagSSEUnterminated), result(streamType, func(_ call, good string) string { return strings.TrimRight(event(good), "\n") })},
	{"stream-then-junk", nil, result(streamType, func(_ call, good string) string { return event(good) + "data: not json\n\n" })},
	{"stream-open", nil, func(w http.ResponseWriter, r *http.Request, c call) {
		send(w, http.StatusOK, streamType, event(response(c, resultOf(c))))
		flush(w)
		stay(r.Context(), forever)
	}},
	{"stream-chatty", nil, func(w http.ResponseWriter, r *http.Request, c call) {
		send(w, http.StatusOK, streamType, event(response(c, resultOf(c))))
		repeat(r.Context(), w, ": ping\n\n", 5*time.Millisecond, forever)
	}},
	{"stream-drip", nil, func(w http.ResponseWriter, r *http.Request, c call) {
		send(w, http.StatusOK, streamType, "")
		for _, part := range slices.Collect(slices.Chunk([]byte(event(response(c, resultOf(c)))), 7)) {
			w.Write(part)
			flush(w)
		}
	}},
}

// same returns the good response as it is.
func same(_ call, good string) string { return good }

// stream returns a function that sends the good response as an event, after
// other text.
func stream(before string) func(call, string) string {
	return func(_ call, good string) string { return before + event(good) }
}

// withID returns a function that answers under another id.
func withID(other func(id string) string) func(call, string) string {
	return func(c call, _ string) string {
		c.ID = json.RawMessage(other(string(c.ID)))
		return response(c, resultOf(c))
	}
}

// zipped answers as result does, compressed.
func zipped(mediaType string, body func(call, string) string) answer {
	return func(w http.ResponseWriter, _ *http.Request, c call) {
		var buf bytes.Buffer
		z := gzip.NewWriter(&buf)
		z.Write([]byte(body(c, response(c, resultOf(c)))))
		z.Close()
		w.Header().Set("Content-Encoding", "gzip")
		send(w, http.StatusOK, mediaType, buf.String())
	}
}

// notified lists answers to notifications/initialized, none of which may fail a
// probe: the notification is best effort.
var notified = []struct {
	name   string
	slow   bool
	answer answer
}{
	{"200-empty", false, reply(200, "", "")},
	{"204", false, reply(204, "", "")},
	{"text", false, reply(200, textType, "OK")},
	{"null", false, reply(202, jsonType, "null")},
	{"response", false, reply(200, jsonType, `{"jsonrpc":"2.0","id":null}`)},
	{"html", false, reply(200, htmlType, landingPage)},
	{"400", false, rpc(400, -32600, "Invalid Request", "")},
	{"401", false, status(401)},
	{"404", false, status(404)},
	{"429", false, status(429, "Retry-After", "60")},
	{"500", false, status(500)},
	{"redirect", false, status(302, "Location", "http://127.0.0.2:9/")},
	{"reset", false, raw("")},
	{"not-http", false, raw("bye\r\n")},
	{"large", false, large(textType, "", "x")},
	{"open-stream", true, func(w http.ResponseWriter, r *http.Request, _ call) {
		send(w, http.StatusOK, streamType, ": open\n\n")
		flush(w)
		stay(r.Context(), forever)
	}},
	{"hang", true, func(w http.ResponseWriter, r *http.Request, _ call) { hold(w, r, forever) }},
}

// strict refuses requests that do not keep to the letter of the transport, as
// some servers do.
func strict(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accept := strings.Join(r.Header.Values("Accept"), ",")
		contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		switch {
		case r.URL.Path != "/mcp":
			http.NotFound(w, r)
		case !strings.Contains(accept, jsonType) || !strings.Contains(accept, streamType):
			http.Error(w, "Not Acceptable: Client must accept both application/json and text/event-stream", http.StatusNotAcceptable)
		case contentType != jsonType:
			http.Error(w, "Unsupported Media Type", http.StatusUnsupportedMediaType)
		case r.Header.Get("Origin") != "":
			http.Error(w, "Forbidden: Origin not allowed", http.StatusForbidden)
		case r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "":
			http.Error(w, "credentials were not asked for", http.StatusBadRequest)
		case r.Header.Get("Mcp-Protocol-Version") != "":
			http.Error(w, "Bad Request: Unsupported protocol version", http.StatusBadRequest)
		case r.ContentLength <= 0:
			http.Error(w, "Length Required", http.StatusLengthRequired)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// slash redirects /mcp to /mcp/, where it answers well.
func slash(status int) http.Handler {
	good := serve(nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp/" {
			w.Header().Set("Location", "/mcp/")
			w.WriteHeader(status)
			return
		}
		good.ServeHTTP(w, r)
	})
}

// hops redirects n times before it answers well: /mcp, /mcpx, /mcpxx …
func hops(n int) http.Handler {
	good := serve(nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.Path) < len("/mcp")+n {
			w.Header().Set("Location", r.URL.Path+"x")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		good.ServeHTTP(w, r)
	})
}

// listBehaviours returns servers whose list holds something odd.
func listBehaviours() []Behaviour {
	tools := func(t ...string) string { return `{"tools":[` + strings.Join(t, ",") + `]}` }
	named := func(name, member string) string { return `{"name":"` + name + `"` + member + `}` }
	const schema = `,"inputSchema":{"type":"object"}`
	bad := outcome(record.StepToolsList, record.Parse, record.DetailNotJSONRPC, http.StatusOK)
	var out []Behaviour
	for _, l := range []struct {
		name       string
		list       string
		tools      int
		findings   []record.Flag
		incomplete bool
		want       record.Outcome
	}{
		{"list/empty", tools(), 0, nil, false, record.Outcome{}},
		{"list/next-page", `{"tools":[` + toolA + `],"nextCursor":"cGFnZTI="}`, 1, nil, true, record.Outcome{}},
		{"list/next-page-empty", `{"tools":[` + toolA + `],"nextCursor":""}`, 1, nil, true, record.Outcome{}},
		{"list/next-page-null", `{"tools":[` + toolA + `],"nextCursor":null}`, 1, nil, false, record.Outcome{}},
		{"list/null-element", tools(toolA, `null`, toolB), 3, flags(record.FlagNotATool), false, record.Outcome{}},
		{"list/duplicate", tools(toolA, toolB, toolA), 3, flags(record.FlagDuplicateName), false, record.Outcome{}},
		{"list/duplicate-differs", tools(toolA, named("echo", schema)), 2, flags(record.FlagDuplicateName), false, record.Outcome{}},
		{"list/case-twins", tools(named("get_user", schema), named("Get_User", schema), named("get-user", schema)), 3, nil, false, record.Outcome{}},
		{"list/no-name", tools(toolA, `{"description":"nameless"`+schema+`}`), 2, flags(record.FlagNoName), false, record.Outcome{}},
		{"list/schema-missing", tools(toolA, named("bare", "")), 2, flags(record.FlagInputSchema), false, record.Outcome{}},
		{"list/schema-null", tools(toolA, named("bare", `,"inputSchema":null`)), 2, flags(record.FlagInputSchema), false, record.Outcome{}},
		{"list/schema-no-type", tools(toolA, named("bare", `,"inputSchema":{"properties":null}`)), 2, flags(record.FlagInputSchema), false, record.Outcome{}},
		{"list/output-null", tools(toolA, named("bare", schema+`,"outputSchema":null`)), 2, flags(record.FlagOutputSchema), false, record.Outcome{}},
		{"list/result-complete", `{"resultType":"complete","ttlMs":60000,"cacheScope":"public","tools":[` + toolA + `]}`, 1, nil, false, record.Outcome{}},
		{"list/result-type", `{"resultType":"input_required","tools":[` + toolA + `]}`, 1, flags(record.FlagResultType), false, record.Outcome{}},
		{"list/long", tools(named("long", schema+`,"description":"`+strings.Repeat("All work and no play. ", 1<<17)+`"`)), 1, nil, false, record.Outcome{}},
		{"list/deep", tools(named("deep", `,"inputSchema":{"type":"object","x":`+strings.Repeat("[", 480)+strings.Repeat("]", 480)+`}`)), 1, nil, false, record.Outcome{}},
		{"list/big-numbers", tools(named("numbers", `,"inputSchema":{"type":"object","properties":{"n":{"type":"number","maximum":1e400,"minimum":-0.0,"default":9007199254740993}}}`)), 1, nil, false, record.Outcome{}},
		{"list/tools-missing", `{}`, 0, nil, false, bad},
		{"list/tools-null", `{"tools":null}`, 0, flags(record.FlagNotATool), false, record.Outcome{}},
		{"list/tools-object", `{"tools":{"echo":` + toolA + `}}`, 0, nil, false, bad},
		{"list/result-array", `[` + toolA + `]`, 0, nil, false, bad},
	} {
		list := func(w http.ResponseWriter, _ *http.Request, c call) {
			send(w, http.StatusOK, jsonType, response(c, l.list))
		}
		b := Behaviour{Name: l.name, Want: l.want, Findings: l.findings, Tools: l.tools, Incomplete: l.incomplete,
			open: opener(serve(map[string]answer{methodList: list}))}
		if l.want.OK() {
			b.Negotiated = "2024-11-05"
		}
		out = append(out, b)
	}
	return out
}
