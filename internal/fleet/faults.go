package fleet

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// beyondLimit is a little more than the 8 MiB that a reader keeps of one body
// (DESIGN.md section 12), in bytes.
const beyondLimit = 9 << 20

// A fault is an answer that fails the step that gets it.
type fault struct {
	name   string
	class  record.ErrorClass
	detail record.Detail
	status int
	slow   bool
	answer answer
}

// reply answers with these.
func reply(status int, mediaType, body string, header ...string) answer {
	return func(w http.ResponseWriter, _ *http.Request, _ call) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		send(w, status, mediaType, body)
	}
}

// status answers with a status and its text.
func status(code int, header ...string) answer {
	return reply(code, "text/plain; charset=utf-8", http.StatusText(code)+"\n", header...)
}

// rpc answers with a JSON-RPC error.
func rpc(httpStatus, code int, message, data string) answer {
	return func(w http.ResponseWriter, _ *http.Request, c call) {
		send(w, httpStatus, "application/json", rpcError(c, code, message, data))
	}
}

// result answers 200 with what body makes of a good response.
func result(mediaType string, body func(c call, good string) string) answer {
	return func(w http.ResponseWriter, _ *http.Request, c call) {
		send(w, http.StatusOK, mediaType, body(c, response(c, resultOf(c))))
	}
}

const (
	jsonType   = "application/json"
	streamType = "text/event-stream"
	htmlType   = "text/html; charset=utf-8"
	textType   = "text/plain; charset=utf-8"
)

const (
	landingPage = "<!DOCTYPE html>\n<html lang=\"en\"><head><title>Acme MCP</title></head><body><h1>Acme MCP</h1><p>Connect your client to this address.</p></body></html>\n"
	challenge   = "<!DOCTYPE html><html lang=\"en-US\"><head><title>Just a moment...</title><meta http-equiv=\"refresh\" content=\"390\"></head><body><noscript>Enable JavaScript and cookies to continue</noscript></body></html>"
	badGateway  = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)

// faults is the table: name, outcome, answer. Precedence is transport, then
// status, then body.
var faults = []fault{
	{"timeout/no-headers", record.Timeout, "", 0, true, func(w http.ResponseWriter, r *http.Request, _ call) { hold(w, r, forever) }},
	{"timeout/no-body", record.Timeout, "", 0, true, func(w http.ResponseWriter, r *http.Request, _ call) {
		send(w, http.StatusOK, jsonType, "")
		flush(w)
		stay(r.Context(), forever)
	}},
	{"timeout/slow-body", record.Timeout, "", 0, true, func(w http.ResponseWriter, r *http.Request, c call) {
		send(w, http.StatusOK, jsonType, `{"jsonrpc":"2.0","id":`+string(c.ID)+`,"result":{"text":"`)
		repeat(r.Context(), w, "a", 20*time.Millisecond, forever)
	}},
	{"timeout/comments", record.Timeout, "", 0, true, func(w http.ResponseWriter, r *http.Request, _ call) {
		send(w, http.StatusOK, streamType, "")
		repeat(r.Context(), w, ": ping\n\n", 20*time.Millisecond, forever)
	}},
	{"timeout/priming-only", record.Timeout, "", 0, true, func(w http.ResponseWriter, r *http.Request, _ call) {
		send(w, http.StatusOK, streamType, "id: 1\nretry: 1000\ndata: \n\n")
		flush(w)
		stay(r.Context(), forever)
	}},
	{"timeout/error-page", record.Timeout, "", 0, true, func(w http.ResponseWriter, r *http.Request, _ call) {
		send(w, http.StatusOK, htmlType, "<html>")
		repeat(r.Context(), w, "<br>", 20*time.Millisecond, forever)
	}},

	{"tls/reset-no-answer", record.TLS, record.DetailReset, 0, false, raw("")},
	{"tls/reset-mid-body", record.TLS, record.DetailReset, 0, false, raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"jsonrpc\":\"2.0\",")},
	{"tls/reset-mid-chunk", record.TLS, record.DetailReset, 0, false, raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n100\r\n{\"jsonrpc\":\"2.0\",")},
	{"tls/reset-mid-stream", record.TLS, record.DetailReset, 0, false, raw("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n: ping\n\n\r\n")},
	{"tls/reset-mid-header", record.TLS, record.DetailReset, 0, false, raw("HTTP/1.1 200 OK\r\nContent-Ty")},
	{"tls/reset-not-http", record.TLS, record.DetailReset, 0, false, raw("SSH-2.0-OpenSSH_9.6\r\n")},
	{"tls/reset-rst", record.TLS, record.DetailReset, 0, false, abort},

	{"http_4xx/400", record.HTTP4xx, "", 400, false, status(400)},
	{"http_4xx/404", record.HTTP4xx, "", 404, false, status(404)},
	{"http_4xx/404-html", record.HTTP4xx, "", 404, false, reply(404, htmlType, landingPage)},
	{"http_4xx/405", record.HTTP4xx, "", 405, false, status(405, "Allow", "GET, HEAD")},
	{"http_4xx/406", record.HTTP4xx, "", 406, false, status(406)},
	{"http_4xx/410", record.HTTP4xx, "", 410, false, status(410)},
	{"http_4xx/415", record.HTTP4xx, "", 415, false, status(415)},
	{"http_4xx/empty-body", record.HTTP4xx, "", 404, false, reply(404, "", "")},
	{"http_4xx/payment_required", record.HTTP4xx, record.DetailPaymentRequired, 402, false, reply(402, jsonType, `{"x402Version":1,"error":"X-PAYMENT header is required","accepts":[]}`)},
	{"http_4xx/rpc-32022", record.HTTP4xx, record.RPCDetail(-32022), 400, false, rpc(400, -32022, "Unsupported protocol version: 2024-11-05", `{"supported":["2026-07-28"],"requested":"2024-11-05"}`)},
	{"http_4xx/rpc-32000", record.HTTP4xx, record.RPCDetail(-32000), 400, false, rpc(400, -32000, "Bad Request: Server not initialized", "")},
	{"http_4xx/rpc-32601", record.HTTP4xx, record.RPCDetail(-32601), 404, false, rpc(404, -32601, "Method not found", "")},

	{"http_5xx/500", record.HTTP5xx, "", 500, false, status(500)},
	{"http_5xx/500-rpc", record.HTTP5xx, "", 500, false, rpc(500, -32603, "Internal error", "")},
	{"http_5xx/502-html", record.HTTP5xx, "", 502, false, reply(502, "text/html", badGateway)},
	{"http_5xx/503-retry-after", record.HTTP5xx, "", 503, false, status(503, "Retry-After", "120")},
	{"http_5xx/503-challenge", record.HTTP5xx, "", 503, false, reply(503, htmlType, challenge)},
	{"http_5xx/504", record.HTTP5xx, "", 504, false, status(504)},

	{"auth/401", record.Auth, "", 401, false, status(401)},
	{"auth/401-www-authenticate", record.Auth, "", 401, false, reply(401, jsonType, `{"error":"invalid_token"}`, "WWW-Authenticate", `Bearer resource_metadata="http://169.254.169.254/.well-known/oauth-protected-resource"`)},
	{"auth/401-rpc", record.Auth, "", 401, false, rpc(401, -32001, "Unauthorized: missing bearer token", "")},
	{"auth/403", record.Auth, "", 403, false, reply(403, jsonType, `{"error":"subscription required"}`)},
	{"auth/waf-mitigated", record.Auth, record.DetailWAF, 403, false, reply(403, htmlType, challenge, "Cf-Mitigated", "challenge", "Server", "cloudflare")},
	{"auth/waf-html", record.Auth, record.DetailWAF, 403, false, reply(403, htmlType, challenge)},
	{"auth/host_check-text", record.Auth, record.DetailHostCheck, 403, false, reply(403, "", "Access is only allowed at localhost:3103")},
	{"auth/host_check-header", record.Auth, record.DetailHostCheck, 403, false, reply(403, textType, "Forbidden: invalid Host header \"mcp.example.com\"\n")},
	{"auth/host_check-rpc", record.Auth, record.DetailHostCheck, 403, false, rpc(403, -32000, "Invalid Host: mcp.example.com", "")},

	{"rate_limited/429", record.RateLimited, "", 429, false, status(429)},
	{"rate_limited/429-retry-after", record.RateLimited, "", 429, false, status(429, "Retry-After", "30")},
	{"rate_limited/429-html", record.RateLimited, "", 429, false, reply(429, htmlType, challenge)},

	{"parse/html", record.Parse, record.DetailHTML, 200, false, reply(200, htmlType, landingPage)},
	{"parse/html-as-json", record.Parse, record.DetailHTML, 200, false, reply(200, jsonType, landingPage)},
	{"parse/empty-200", record.Parse, record.DetailEmpty, 200, false, reply(200, jsonType, "")},
	{"parse/empty-202", record.Parse, record.DetailEmpty, 202, false, reply(202, "", "")},
	{"parse/empty-204", record.Parse, record.DetailEmpty, 204, false, reply(204, "", "")},
	{"parse/empty-space", record.Parse, record.DetailEmpty, 200, false, reply(200, jsonType, " \r\n\t ")},
	{"parse/empty-stream", record.Parse, record.DetailEmpty, 200, false, reply(200, streamType, "")},
	{"parse/empty-comments", record.Parse, record.DetailEmpty, 200, false, reply(200, streamType, ": one\n\n: two\n\n")},
	{"parse/not_jsonrpc-notifications", record.Parse, record.DetailNotJSONRPC, 200, false, reply(200, streamType, event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"starting"}}`))},
	{"parse/invalid_json-nan", record.Parse, record.DetailInvalidJSON, 200, false, mangle(`{`, `{"score":NaN,`)},
	{"parse/invalid_json-duplicate", record.Parse, record.DetailInvalidJSON, 200, false, mangle(`{`, `{"x":1,"x":1,`)},
	{"parse/invalid_json-surrogate", record.Parse, record.DetailInvalidJSON, 200, false, mangle(`{`, `{"x":"\ud800",`)},
	{"parse/invalid_json-utf8", record.Parse, record.DetailInvalidJSON, 200, false, mangle(`{`, "{\"x\":\"\xff\",")},
	{"parse/invalid_json-depth", record.Parse, record.DetailInvalidJSON, 200, false, mangle(`{`, `{"x":`+strings.Repeat("[", 600)+strings.Repeat("]", 600)+`,`)},
	{"parse/invalid_json-trailing", record.Parse, record.DetailInvalidJSON, 200, false, result(jsonType, func(_ call, good string) string { return good + good })},
	{"parse/invalid_json-cut", record.Parse, record.DetailInvalidJSON, 200, false, result(jsonType, func(_ call, good string) string { return good[:len(good)-9] })},
	{"parse/invalid_json-stream", record.Parse, record.DetailInvalidJSON, 200, false, result(streamType, func(_ call, good string) string { return event(good[:len(good)-9]) })},
	{"parse/not_jsonrpc-object", record.Parse, record.DetailNotJSONRPC, 200, false, reply(200, jsonType, `{"status":"ok","version":"2.3.1"}`)},
	{"parse/not_jsonrpc-no-result", record.Parse, record.DetailNotJSONRPC, 200, false, result(jsonType, func(c call, _ string) string { return `{"jsonrpc":"2.0","id":` + string(c.ID) + `}` })},
	{"parse/not_jsonrpc-array", record.Parse, record.DetailNotJSONRPC, 200, false, reply(200, jsonType, `[]`)},
	{"parse/not_jsonrpc-others", record.Parse, record.DetailNotJSONRPC, 200, false, reply(200, jsonType, `[{"jsonrpc":"2.0","id":701,"result":{}},{"jsonrpc":"2.0","id":702,"result":{}}]`)},
	{"parse/too_large-plain", record.Parse, record.DetailTooLarge, 0, false, large(jsonType, `{"jsonrpc":"2.0","result":{"text":"`, "x")},
	{"parse/too_large-stream", record.Parse, record.DetailTooLarge, 0, false, large(streamType, "", ": keep-alive comment\n\n")},
	{"parse/too_large-gzip", record.Parse, record.DetailTooLarge, 0, false, bomb},
	{"parse/redirect-other-host", record.Parse, record.DetailRedirect, 0, false, status(307, "Location", "http://127.0.0.2:9/mcp")},
	{"parse/redirect-301", record.Parse, record.DetailRedirect, 0, false, status(301, "Location", "/mcp/")},
	{"parse/redirect-302", record.Parse, record.DetailRedirect, 0, false, status(302, "Location", "/login")},
	{"parse/redirect-303", record.Parse, record.DetailRedirect, 0, false, status(303, "Location", "/login")},
	{"parse/redirect-loop", record.Parse, record.DetailRedirect, 0, false, status(308, "Location", "/mcp")},
	{"parse/redirect-no-location", record.Parse, record.DetailRedirect, 0, false, status(307)},
	{"parse/redirect-scheme", record.Parse, record.DetailRedirect, 0, false, status(307, "Location", "file:///etc/passwd")},
	{"parse/content_encoding-br", record.Parse, record.DetailContentEncoding, 0, false, reply(200, jsonType, "\x0b\x02\x80{}\x03", "Content-Encoding", "br")},
	{"parse/content_encoding-zstd", record.Parse, record.DetailContentEncoding, 0, false, reply(200, jsonType, "\x28\xb5\x2f\xfd\x00\x00", "Content-Encoding", "zstd")},
	{"parse/content_encoding-not-gzip", record.Parse, record.DetailContentEncoding, 0, false, result(jsonType, func(_ call, good string) string { return good }).with("Content-Encoding", "gzip")},
	{"parse/old_sse-open", record.Parse, record.DetailOldSSE, 200, false, func(w http.ResponseWriter, r *http.Request, _ call) {
		send(w, http.StatusOK, streamType, "event: endpoint\ndata: /messages?session_id=4c0ffee\n\n")
		flush(w)
		repeat(r.Context(), w, ": ping\n\n", time.Second, forever)
	}},
	{"parse/old_sse-ended", record.Parse, record.DetailOldSSE, 200, false, reply(200, streamType, "event: endpoint\r\ndata: /messages?session_id=4c0ffee\r\n\r\n")},
	{"parse/rpc-32601", record.Parse, record.RPCDetail(-32601), 200, false, rpc(200, -32601, "Method not found", "")},
	{"parse/rpc-32001", record.Parse, record.RPCDetail(-32001), 200, false, rpc(200, -32001, "Unauthorized", "")},
	{"parse/rpc-32602", record.Parse, record.RPCDetail(-32602), 200, false, rpc(200, -32602, "Unsupported protocol version", `{"supported":["2025-06-18"]}`)},
	{"parse/rpc-zero", record.Parse, record.RPCDetail(0), 200, false, rpc(200, 0, `method "tools/list" is invalid during session initialization`, "")},
	{"parse/rpc-stream", record.Parse, record.RPCDetail(-32603), 200, false, func(w http.ResponseWriter, _ *http.Request, c call) {
		send(w, http.StatusOK, streamType, event(rpcError(c, -32603, "Internal error", "")))
	}},
}

// with sets a header before a answers.
func (a answer) with(key, value string) answer {
	return func(w http.ResponseWriter, r *http.Request, c call) {
		w.Header().Set(key, value)
		a(w, r, c)
	}
}

// mangle answers well, but for the first old in the result, which becomes new.
func mangle(old, new string) answer {
	return func(w http.ResponseWriter, _ *http.Request, c call) {
		send(w, http.StatusOK, jsonType, response(c, strings.Replace(resultOf(c), old, new, 1)))
	}
}

// raw writes text to the connection instead of an HTTP answer and closes it.
func raw(text string) answer {
	return func(w http.ResponseWriter, _ *http.Request, _ call) {
		if conn := hijack(w); conn != nil {
			io.WriteString(conn, text)
			conn.Close()
		}
	}
}

// abort closes the connection so that the reader's kernel sees a reset.
func abort(w http.ResponseWriter, _ *http.Request, _ call) {
	conn := hijack(w)
	if conn == nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// large sends head, then more than a reader keeps of unit.
func large(mediaType, head, unit string) answer {
	return func(w http.ResponseWriter, _ *http.Request, _ call) {
		send(w, http.StatusOK, mediaType, head)
		block := strings.Repeat(unit, 64<<10/len(unit))
		for n := 0; n < beyondLimit; n += len(block) {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	}
}

// bomb sends a few kilobytes that decode to more than a reader keeps.
func bomb(w http.ResponseWriter, _ *http.Request, c call) {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	fmt.Fprintf(z, `{"jsonrpc":"2.0","id":%s,"result":{"text":"%s"}}`, c.ID, strings.Repeat("x", beyondLimit))
	z.Close()
	w.Header().Set("Content-Encoding", "gzip")
	send(w, http.StatusOK, jsonType, buf.String())
}
