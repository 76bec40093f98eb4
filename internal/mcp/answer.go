package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/jsonrpc"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/safehttp"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	maxSession    = 1 << 10 // bytes; real ones have 26 to 40
	// grace is how long an answer that is known may take to end, so that its
	// connection can carry the next request. A stream that stays open costs it.
	grace = 20 * time.Millisecond
	// maxStatusBody is how much of the body of a status from 400 on is read.
	maxStatusBody = 64 << 10
	// chunk is the room that there is at least for the next read of a body. Most
	// handshakes fit in it.
	chunk = 2 << 10
	// maxRetryAfter bounds what a server can ask for.
	maxRetryAfter = 24 * time.Hour
)

// sessionID returns the session id in h, or "" if there is none that may be sent
// back.
func sessionID(h http.Header) string {
	id := h.Get(sessionHeader)
	if len(id) > maxSession || strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return ""
	}
	return id
}

// retryAfter returns how long an answer asks to wait, from 0 to maxRetryAfter
// (RFC 9110, section 10.2.3).
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if strings.Trim(v, "0123456789") == "" {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil {
			return maxRetryAfter // a number beyond all measure
		}
		return min(time.Duration(n)*time.Second, maxRetryAfter)
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	return min(max(0, t.Sub(now)), maxRetryAfter)
}

// readAnswer reads a body until it has answered the request id, and returns the
// part of it that is kept. What it parses it parses in the turn t, which the
// caller has to end once the response is dropped; no read happens in it. It fails
// with *jsonrpc.Fault, also if ctx is done, or *safehttp.Error.
func readAnswer(ctx context.Context, r io.Reader, id int64, t *turn) ([]byte, jsonrpc.Response, error) {
	var kept []byte
	scanner := jsonrpc.NewScanner(id)
	scanner.Admit(func(size int) bool { return t.begin(ctx, size) })
	for done := false; !done; {
		t.end() // what was parsed so far was not the answer
		kept = grow(kept)
		n, err := r.Read(kept[len(kept):cap(kept)])
		fresh := kept[len(kept) : len(kept)+n]
		kept = kept[:len(kept)+n]
		_, done = scanner.Write(fresh)
		if err == io.EOF {
			break
		}
		if err != nil && !done {
			return nil, jsonrpc.Response{}, err
		}
	}
	response, err := scanner.Finish()
	if err != nil {
		return nil, jsonrpc.Response{}, err
	}
	kept = kept[:scanner.End()]
	if cap(kept)-len(kept) > len(kept)/4 {
		kept = bytes.Clone(kept)
	}
	return kept, response, nil
}

// grow returns b with room for another chunk.
func grow(b []byte) []byte {
	if cap(b)-len(b) >= chunk {
		return b
	}
	return append(make([]byte, 0, 2*(cap(b)+chunk)), b...)
}

// unread returns the outcome of an answer with status 200 to 299 whose body
// could not be read, or holds no response.
func unread(status int, err error) record.Outcome {
	if fault, ok := errors.AsType[*jsonrpc.Fault](err); ok {
		detail := fault.Detail
		switch status {
		case http.StatusAccepted, http.StatusNoContent, http.StatusResetContent:
			detail = record.DetailEmpty
		}
		return record.Outcome{Class: record.Parse, Detail: detail, HTTPStatus: status}
	}
	o := transport(failure(err))
	o.HTTPStatus = status
	return o
}

// failure returns the *safehttp.Error that err is. That is all safehttp returns.
func failure(err error) *safehttp.Error {
	if f, ok := errors.AsType[*safehttp.Error](err); ok {
		return f
	}
	return &safehttp.Error{Kind: safehttp.Reset, Err: err}
}

// transport returns the outcome of a request that failed before its body was
// read whole.
func transport(f *safehttp.Error) record.Outcome {
	o := record.Outcome{Class: record.TLS, HTTPStatus: f.Status}
	switch f.Kind {
	case safehttp.Timeout:
		o.Class = record.Timeout
	case safehttp.DNS:
		o.Detail = record.DetailDNS
	case safehttp.Refused:
		o.Detail = record.DetailRefused
	case safehttp.Reset:
		o.Detail = record.DetailReset
	case safehttp.Certificate:
		o.Detail = record.DetailCertificate
	case safehttp.BlockedAddress:
		o.Detail = record.DetailBlockedAddress
	case safehttp.Redirect:
		o.Class, o.Detail = record.Parse, record.DetailRedirect
	case safehttp.TooLarge:
		o.Class, o.Detail = record.Parse, record.DetailTooLarge
	case safehttp.ContentEncoding:
		o.Class, o.Detail = record.Parse, record.DetailContentEncoding
	case safehttp.BadURL:
		o.Class, o.Detail = record.NoEndpoint, record.DetailBadURL
	}
	return o
}

// refused returns the answer that has a status which is not 200 to 299.
func refused(resp *safehttp.Response, m message) answer {
	body := sync.OnceValue(func() []byte { return statusBody(resp) })
	rpcError := func() *jsonrpc.Error {
		r, _ := jsonrpc.Read(body(), m.id)
		return r.Error
	}
	o := record.Outcome{HTTPStatus: resp.Status}
	switch s := resp.Status; {
	case s == http.StatusUnauthorized:
		o.Class = record.Auth
	case s == http.StatusForbidden:
		o.Class, o.Detail = record.Auth, forbidden(resp.Header, body)
	case s == http.StatusTooManyRequests:
		o.Class = record.RateLimited
	case s == http.StatusPaymentRequired:
		o.Class, o.Detail = record.HTTP4xx, record.DetailPaymentRequired
	case s == http.StatusNotFound && m.session != "":
		o.Class, o.Detail = record.HTTP4xx, record.DetailSession
	case s >= 400 && s <= 499:
		o.Class = record.HTTP4xx
		if err := rpcError(); err != nil {
			o.Detail = record.RPCDetail(err.Code)
		}
	case s >= 500 && s <= 599:
		o.Class = record.HTTP5xx
	default:
		o.Class, o.Detail = record.Parse, record.DetailNotJSONRPC
	}
	a := answer{outcome: o}
	if m.look || m.modern {
		if err := rpcError(); err != nil {
			a.refusal = readRefusal(err, resp.Status)
		}
	}
	return a
}

// statusBody returns the first maxStatusBody bytes of a body, or as much as
// there is to be had. The status stands however the body ends.
func statusBody(resp *safehttp.Response) []byte {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatusBody))
	return b
}

// hostWords are what servers say that refuse a request for its Host or Origin
// header, in lower case.
var hostWords = []string{
	"access is only allowed at", // @playwright/mcp
	"host header", "invalid host", "host not allowed", "host is not allowed",
	"origin header", "invalid origin", "origin not allowed", "origin is not allowed",
}

// forbidden returns the detail of a 403 with this header and body.
func forbidden(h http.Header, read func() []byte) record.Detail {
	if h.Get("Cf-Mitigated") != "" {
		return record.DetailWAF
	}
	body := bytes.ToLower(bytes.TrimLeft(read(), "\ufeff \t\r\n"))
	page := bytes.HasPrefix(body, []byte("<"))
	if len(body) == 0 {
		page = mediaType(h.Get("Content-Type")) == "text/html"
	}
	if page {
		return record.DetailWAF
	}
	for _, w := range hostWords {
		if bytes.Contains(body, []byte(w)) {
			return record.DetailHostCheck
		}
	}
	return ""
}

// mediaTypeFits reports whether a body that answered came under the media type
// of what it is.
func mediaTypeFits(contentType string, body []byte) bool {
	want := "text/event-stream"
	body = bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\ufeff")), " \t\r\n")
	if len(body) > 0 && (body[0] == '{' || body[0] == '[') {
		want = "application/json"
	}
	return mediaType(contentType) == want
}

// mediaType returns the media type in a Content-Type, in lower case, without its
// parameters, however these are malformed.
func mediaType(contentType string) string {
	if t, _, err := mime.ParseMediaType(contentType); err == nil {
		return t
	}
	t, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(t))
}
