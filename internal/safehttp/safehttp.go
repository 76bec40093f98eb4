// Package safehttp is an HTTP client for hostile servers: public addresses only,
// bounded bytes and time, says who we are.
//
// # Addresses
//
// A connection is made only to a public unicast address, on any port. The check
// stands in [net.Dialer.Control], so it sees the address that is dialled, after
// the name was resolved; a name that resolves to another address the second time
// (DNS rebinding) gains nothing. What is denied is the IANA special-purpose
// registries for IPv4 and IPv6, all of IPv6 outside 2000::/3, and every form that
// carries an IPv4 address inside an IPv6 one. There is no proxy, because behind
// one the check would see only the proxy's address. Config.AllowPrivate turns the
// check off, for tests and the demo.
//
// # Redirects
//
// 307 and 308 are followed with method, body and headers as they were, at most
// MaxRedirects times, on the same host and port (a default port may be spelt
// out) or from http to https of the same host name; each hop is dialled under
// the same guard. A GET follows 301 and 302 as well. Every other answer from 300
// to 399 is an *[Error] of kind [Redirect] with the status. Since the host stays
// the same, headers such as Mcp-Session-Id stay too. No Referer is sent and no
// cookie kept.
//
// # Bytes
//
// Headers are bounded by MaxHeader. Accept-Encoding is always gzip; bodies are
// decoded, and the decoded bytes are bounded by MaxBody. What a body's encoding
// or length has wrong appears when it is read, never before, so that the status
// of an answer is known whatever its body is like.
//
// # Time
//
// Everything about one request, look-up, dial, handshake, headers, redirects and
// body, shares the deadline of the context passed to [Client.Do]. Reading a body
// after it gives an *[Error] of kind [Timeout], also when bytes are waiting.
//
// # Retries
//
// There are none but this: net/http sends a request again, at once and at most
// once, of which the server provably processed nothing: an idle connection was
// closed before a byte was written, HTTP/2 REFUSED_STREAM, or beyond the last
// stream of a GOAWAY (RFC 9113, section 8.7). A request without a body, such as a
// GET, it also sends again when an idle connection broke under it.
//
// # Stale connections
//
// A server may close a connection after its answer without having said so. Whether
// the next request still finds that connection in the pool is a matter of
// microseconds, and net/http does not send a POST again that was written to it. So
// when a connection that has carried a request before breaks without one byte of
// an answer, the request is sent once more, exactly once for each hop, on a
// connection newly dialled for it. To the caller that is one request: to have kept
// a connection that was over is our side's matter and says nothing of the server,
// while a new connection that breaks is the server's, and final.
package safehttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// Defaults of [Config].
const (
	DefaultMaxBody      = 8 << 20  // decoded bytes (DESIGN.md 12); the largest list seen had about 1 MiB
	DefaultMaxHeader    = 64 << 10 // bytes; four times what common servers send at most
	DefaultMaxRedirects = 3        // DESIGN.md 4
	DefaultUserAgent    = "mcpstrata"
)

const (
	// dialTimeout bounds a dial that outlives its request: net/http detaches
	// dials from the deadline of the request. It also divides the time among
	// the addresses of a name, so that one dead address leaves time for others.
	dialTimeout = 20 * time.Second
	// idleTimeout is shorter than the keep-alive of any common server, so that
	// a request seldom meets a connection that is just being closed.
	idleTimeout = time.Second
	// maxIdle and maxIdlePerHost bound the connections kept between requests;
	// one request is in flight per host (DESIGN.md 12).
	maxIdle        = 128
	maxIdlePerHost = 2
	// redirectGrace is how long the body of a redirect may take to end, so that
	// its connection can be used again.
	redirectGrace = 20 * time.Millisecond
	// maxRest is how many bytes Response.Finish reads at most.
	maxRest = 4 << 10
	// wireSlack is what a gzip stream may hold beyond MaxBody.
	wireSlack = 64 << 10
)

// A Config says how a [Client] behaves. The zero Config is for production.
type Config struct {
	AllowPrivate bool           // dial any address; only for tests and the demo
	UserAgent    string         // sent with every request; "" is DefaultUserAgent
	MaxBody      int64          // decoded bytes of one body; 0 is DefaultMaxBody
	MaxHeader    int64          // bytes of all response headers; 0 is DefaultMaxHeader
	MaxRedirects int            // redirects followed for one request; 0 is DefaultMaxRedirects, -1 none
	RootCAs      *x509.CertPool // certificate authorities; nil is the system's
}

// A Client sends requests. It is safe for concurrent use.
type Client struct {
	config    Config
	guard     control // nil: every address is allowed
	transport *http.Transport
}

// New returns a client that behaves as c says.
func New(c Config) *Client {
	if c.AllowPrivate {
		return build(c, nil)
	}
	return build(c, ssrf.New(ssrf.WithAnyPort()).Safe)
}

// A control decides on each address that is about to be dialled, as in
// [net.Dialer].
type control func(network, address string, _ syscall.RawConn) error

func build(c Config, guard control) *Client {
	if c.UserAgent == "" {
		c.UserAgent = DefaultUserAgent
	}
	if c.MaxBody == 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.MaxHeader == 0 {
		c.MaxHeader = DefaultMaxHeader
	}
	if c.MaxRedirects == 0 {
		c.MaxRedirects = DefaultMaxRedirects
	}
	client := &Client{config: c, guard: guard}
	client.transport = client.pool(maxIdlePerHost)
	return client
}

// pool returns a transport without connections that keeps idlePerHost for later
// requests, none if that is negative.
func (c *Client) pool(idlePerHost int) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: -1, Control: c.guard}
	tlsConfig := &tls.Config{RootCAs: c.config.RootCAs, NextProtos: []string{"h2", "http/1.1"}}
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		DialTLSContext:         tlsDialer{dialer, tlsConfig}.dial,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // encoding is asked for and decoded here
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: c.config.MaxHeader,
	}
}

// A tlsDialer dials and shakes hands itself, in place of net/http, so that a
// failed handshake has a type of its own.
type tlsDialer struct {
	dialer *net.Dialer
	config *tls.Config
}

func (d tlsDialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := d.dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	config := d.config.Clone()
	if config.ServerName, _, err = net.SplitHostPort(addr); err != nil {
		raw.Close()
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, &handshakeError{err}
	}
	return conn, nil
}

// CloseIdleConnections closes the connections that no request is using.
func (c *Client) CloseIdleConnections() { c.transport.CloseIdleConnections() }

// A Request is one request. The body is sent again by a redirect.
type Request struct {
	Method string
	URL    string      // http or https, with a host, without credentials
	Header http.Header // sent as it is, but for Accept-Encoding and User-Agent, which are the client's; not changed
	Body   []byte
}

// A Response is an answer whose status is not from 300 to 399.
type Response struct {
	Status    int
	Header    http.Header
	Body      io.ReadCloser // decoded and bounded; Read fails with an *Error; close it, or call Finish
	URL       string        // that answered, after redirects
	Redirects int           // followed
	Resent    int           // requests sent a second time, see "Stale connections"
}

// Finish closes the body like Close. Before, it reads what is left of it, at most
// 4 KiB and no longer than grace, because only a connection whose answer was
// read to its end can carry another request.
func (r *Response) Finish(grace time.Duration) {
	defer r.Body.Close()
	if b, ok := r.Body.(*body); ok {
		b.drain(grace)
	}
}

// Do sends r and returns the answer once its headers are there. ctx bounds the
// whole exchange, reading the body included. The error is always an *[Error].
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	u, err := parse(r.URL)
	if err != nil {
		return nil, &Error{Kind: BadURL, Err: err}
	}
	resent := 0
	for hops := 0; ; hops++ {
		resp, again, err := c.send(ctx, r, u)
		if again {
			resent++
		}
		if err != nil {
			err.Redirects, err.Resent = hops, resent
			return nil, err
		}
		if resp.Status < 300 || resp.Status > 399 {
			resp.Redirects, resp.Resent = hops, resent
			return resp, nil
		}
		resp.Finish(redirectGrace)
		next, why := c.next(r.Method, u, resp, hops)
		if why != nil {
			return nil, &Error{Kind: Redirect, Status: resp.Status, Redirects: hops, Resent: resent, Err: why}
		}
		u = next
	}
}

// send sends r to u and follows nothing.
func (c *Client) send(ctx context.Context, r Request, u *url.URL) (_ *Response, again bool, _ *Error) {
	giveUp, cancel := context.WithCancel(ctx)
	var on carrier
	req, err := c.request(httptrace.WithClientTrace(giveUp, on.trace()), r, u)
	if err != nil {
		cancel()
		return nil, false, &Error{Kind: BadURL, Err: err}
	}
	resp, err := c.transport.RoundTrip(req)
	if again = err != nil && on.stale(err) && ctx.Err() == nil; again {
		// A pool of its own, since the client's may hold another stale connection.
		if req, err = c.request(giveUp, r, u); err == nil {
			resp, err = c.pool(-1).RoundTrip(req)
		}
	}
	if err != nil {
		defer cancel()
		return nil, again, classify(ctx, err)
	}
	return &Response{
		Status: resp.StatusCode,
		Header: resp.Header,
		URL:    u.String(),
		Body:   newBody(ctx, cancel, resp, c.config.MaxBody),
	}, again, nil
}

// request returns r to u as net/http has it.
func (c *Client) request(ctx context.Context, r Request, u *url.URL) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	if len(r.Body) > 0 {
		req.GetBody = once(r.Body)
	}
	for name, values := range r.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("Accept-Encoding", "gzip")
	req.Header.Set("User-Agent", c.config.UserAgent)
	return req, nil
}

// A carrier is the connection that a request went over last.
type carrier struct {
	reused   atomic.Bool  // it carried a request before
	answered atomic.Bool  // a byte of an answer came
	wrote    atomic.Int64 // when the request had been written, in Unix nanoseconds; 0: it was not
}

// staleWithin is how soon after a request a connection breaks that had been
// closed before: one round trip, generously.
const staleWithin = time.Second

func (c *carrier) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { c.reused.Store(info.Reused) },
		GotFirstResponseByte: func() { c.answered.Store(true) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { c.wrote.Store(time.Now().UnixNano()) },
	}
}

// stale reports whether a request that failed with err met a connection that the
// server had closed after an earlier answer.
func (c *carrier) stale(err error) bool {
	if w := c.wrote.Load(); w != 0 && time.Since(time.Unix(0, w)) > staleWithin {
		return false // it was open when the request came: its server had the request
	}
	return c.reused.Load() && !c.answered.Load() &&
		(isBreak(err) || strings.Contains(err.Error(), "server closed idle connection")) // net/http gives that no type
}

// once returns a GetBody that gives body one time. Without it HTTP/2 would send a
// request up to seven times, waiting ever longer in between.
func once(body []byte) func() (io.ReadCloser, error) {
	given := false
	return func() (io.ReadCloser, error) {
		if given {
			return nil, errors.New("the server refused the request twice")
		}
		given = true
		return io.NopCloser(bytes.NewReader(body)), nil
	}
}

// next returns where the redirect resp of a request to u leads, or why it is not
// followed.
func (c *Client) next(method string, u *url.URL, resp *Response, hops int) (*url.URL, error) {
	if !follows(method, resp.Status) {
		return nil, fmt.Errorf("status %d is not followed", resp.Status)
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, fmt.Errorf("status %d without a location", resp.Status)
	}
	ref, err := u.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("reading the location: %w", err)
	}
	to, err := parse(ref.String())
	if err != nil {
		return nil, fmt.Errorf("reading the location: %w", err)
	}
	sameName := strings.EqualFold(to.Hostname(), u.Hostname())
	sameHost := sameName && to.Scheme == u.Scheme && port(to) == port(u)
	upgrade := sameName && u.Scheme == "http" && to.Scheme == "https"
	if !sameHost && !upgrade {
		return nil, fmt.Errorf("the location %s is on another host", to)
	}
	if hops >= c.config.MaxRedirects {
		return nil, fmt.Errorf("more than %d redirects", max(0, c.config.MaxRedirects))
	}
	return to, nil
}

// follows reports whether a redirect with this status is followed.
func follows(method string, status int) bool {
	switch status {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	case http.StatusMovedPermanently, http.StatusFound:
		return method == http.MethodGet
	}
	return false
}

// parse reads a URL that a request can go to.
func parse(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, err
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("scheme %q is not http or https", u.Scheme)
	case u.Opaque != "" || u.Hostname() == "":
		return nil, fmt.Errorf("%q has no host", s)
	case u.User != nil:
		return nil, fmt.Errorf("the URL carries credentials")
	}
	if p := u.Port(); p != "" {
		if _, err := strconv.ParseUint(p, 10, 16); err != nil {
			return nil, fmt.Errorf("%q is not a port", p)
		}
	}
	return u, nil
}

// port returns the port of u, the scheme's own when none is spelt out.
func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
