// Package tape is a reverse proxy that changes nothing and records every
// exchange: the bytes of each body as an HTTP client sees them, transfer coding
// removed, content coding kept.
package tape

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
)

// An Exchange is one request and its answer.
type Exchange struct {
	Method  string
	URI     string // path and query as sent
	Sent    http.Header
	Request []byte
	Status  int // 0 until the answer's head arrived
	Header  http.Header
	Body    []byte // so far
	Done    bool   // the server ended the body
}

// Decoded returns the body without its content coding.
func (e Exchange) Decoded() ([]byte, error) {
	switch coding := strings.ToLower(e.Header.Get("Content-Encoding")); coding {
	case "", "identity":
		return e.Body, nil
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(e.Body))
		if err != nil {
			return nil, fmt.Errorf("reading the gzip body of %s: %w", e.URI, err)
		}
		body, err := io.ReadAll(z)
		if errors.Is(err, io.ErrUnexpectedEOF) && !e.Done {
			err = nil // the client left the stream: all that came until then
		}
		return body, err
	default:
		return nil, fmt.Errorf("reading the body of %s: content coding %q", e.URI, coding)
	}
}

// A Proxy records what passes between its clients and one server. Host and all
// other end-to-end headers pass unchanged in both directions, none is added.
type Proxy struct {
	server *http.Server
	addr   string
	next   *http.Transport

	mu     sync.Mutex // guards what follows and the exchanges
	target string
	log    []*Exchange
}

// Start starts a proxy on a free port of 127.0.0.1, before the server at
// target, host:port.
func Start(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a recording proxy: %w", err)
	}
	p := &Proxy{
		addr:   l.Addr().String(),
		target: target,
		next:   &http.Transport{DisableCompression: true, DisableKeepAlives: true}, // a connection each: none that the server just closed
	}
	p.server = &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0)}
	go p.server.Serve(l) // returns when closed
	return p, nil
}

// Addr returns the proxy's own host:port.
func (p *Proxy) Addr() string { return p.addr }

// Retarget puts the proxy before another server.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	_ = p.server.Close() // its listener is not needed any more
	p.next.CloseIdleConnections()
}

// Len returns how many requests came so far.
func (p *Proxy) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.log)
}

// Since returns copies of the exchanges from number n on, in order of arrival.
func (p *Proxy) Since(n int) []Exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Exchange
	for _, e := range p.log[n:] {
		c := *e
		c.Body = bytes.Clone(e.Body)
		all = append(all, c)
	}
	return all
}

// hopByHop are the headers that belong to one connection (RFC 9110, 7.6.1).
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// ServeHTTP passes one request on and its answer back.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	e := &Exchange{Method: r.Method, URI: r.URL.RequestURI(), Sent: r.Header.Clone(), Request: body}
	p.mu.Lock()
	p.log = append(p.log, e)
	target := p.target
	p.mu.Unlock()

	answer, err := p.next.RoundTrip(outgoing(r, target, body))
	if err != nil {
		panic(http.ErrAbortHandler) // the documented way to break the connection, as the server did
	}
	defer answer.Body.Close()
	p.mu.Lock()
	e.Status, e.Header = answer.StatusCode, answer.Header.Clone()
	p.mu.Unlock()
	for _, h := range hopByHop {
		answer.Header.Del(h)
	}
	h := w.Header()
	h["Date"], h["Content-Type"] = nil, nil // not added when the server sent none
	for name, values := range answer.Header {
		h[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	p.pass(e, w, answer.Body)
}

// outgoing returns the request to send on.
func outgoing(r *http.Request, target string, body []byte) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = "http", target
	out.RequestURI = ""
	out.Body, out.ContentLength, out.TransferEncoding = http.NoBody, int64(len(body)), nil
	if len(body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(body))
	}
	for _, h := range hopByHop {
		out.Header.Del(h)
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header.Set("User-Agent", "") // keeps net/http from adding its own
	}
	return out
}

// pass copies a body as it arrives, recording it. A body that breaks off
// breaks off for the client too.
func (p *Proxy) pass(e *Exchange, w http.ResponseWriter, body io.Reader) {
	flush := http.NewResponseController(w)
	_ = flush.Flush() // the head, for a stream that says nothing yet
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		p.mu.Lock()
		e.Body = append(e.Body, buf[:n]...)
		e.Done = err == io.EOF
		p.mu.Unlock()
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return // the client had enough
			}
			_ = flush.Flush()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}
