package safehttp

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// The addresses that protocol.md, section 4, lists, each at both ends of its range.
var denied = []string{
	"127.0.0.1", "127.255.255.254", // loopback
	"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255", // RFC 1918
	"169.254.0.1", "169.254.169.254", // link local, metadata services
	"100.64.0.0", "100.127.255.255", // carrier-grade NAT
	"0.0.0.0", "0.255.255.255", // this network
	"192.0.0.1", "192.0.0.255", // protocol assignments
	"192.0.2.1", "198.51.100.1", "203.0.113.255", // documentation
	"198.18.0.0", "198.19.255.255", // benchmarking
	"224.0.0.1", "239.255.255.255", // multicast
	"240.0.0.0", "254.1.2.3", "255.255.255.255", // reserved, broadcast
	"::1", "::", // loopback, unspecified
	"fc00::1", "fdff::1", // unique local
	"fe80::1", "febf::1", "fec0::1", "feff::1", // link and site local
	"ff00::1", "ff02::1", // multicast
	"2001:db8::1", "2001:db8:ffff::1", "3fff::1", // documentation
	"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", // v4-mapped
	"::127.0.0.1",                         // v4-compatible
	"64:ff9b::7f00:1", "64:ff9b::808:808", // NAT64
	"64:ff9b:1::1", "64:ff9b:1:ffff::808:808", // local NAT64
	"2002:7f00:1::1", "2002:ffff::1", // 6to4
	"2001::1", "2001:0:ffff:ffff:ffff:ffff:ff:ff", // Teredo
	"100::1", "5f00::1", "4000::1", // discard, SRv6, not assigned
}

func TestGuardDenies(t *testing.T) {
	guard := New(Config{}).guard
	for _, a := range denied {
		addr := netip.MustParseAddr(a)
		network := "tcp6"
		if addr.Is4() {
			network = "tcp4"
		}
		for _, port := range []uint16{80, 443, 22, 65535} {
			err := guard(network, netip.AddrPortFrom(addr, port).String(), nil)
			if got := classify(t.Context(), &net.OpError{Op: "dial", Err: cmpErr(err)}).Kind; got != BlockedAddress {
				t.Errorf("guard(%s port %d) = %v, kind %s, want %s", a, port, err, got, BlockedAddress)
			}
		}
	}
	for _, bad := range []struct{ network, address string }{{"unix", "/run/x"}, {"udp4", "8.8.8.8:53"}, {"tcp4", "no address"}} {
		if guard(bad.network, bad.address, nil) == nil {
			t.Errorf("guard(%s, %s) = nil, want an error", bad.network, bad.address)
		}
	}
}

// cmpErr makes a nil error visible to classify, which takes none.
func cmpErr(err error) error {
	if err == nil {
		return errors.New("allowed")
	}
	return err
}

func TestGuardAllows(t *testing.T) {
	guard := New(Config{}).guard
	for _, a := range []string{
		"1.1.1.1:443", "8.8.8.8:8080", "9.255.255.255:1", "11.0.0.0:80", "100.63.255.255:80", "100.128.0.0:80", "172.15.0.1:80",
		"172.32.0.1:80", "198.17.255.255:80", "198.20.0.0:80", "223.255.255.255:80", "[2606:4700::1111]:443", "[2a00:1450::1]:65535", "[2003::1]:80",
	} {
		network := "tcp4"
		if a[0] == '[' {
			network = "tcp6"
		}
		if err := guard(network, a, nil); err != nil {
			t.Errorf("guard(%s) = %v, want nil", a, err)
		}
	}
	if New(Config{AllowPrivate: true}).guard != nil {
		t.Error("New(AllowPrivate).guard is set, want none")
	}
}

// The guard stands where connections are made, for names and for every way to
// write an address.
func TestGuardAtDial(t *testing.T) {
	var accepted atomic.Int32
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(net.Conn, http.ConnState) { accepted.Add(1) }
	server.Start()
	defer server.Close()
	port := server.Listener.Addr().(*net.TCPAddr).Port
	c := New(Config{})
	for _, host := range []string{"127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "127.1.2.3", "localhost"} {
		for _, scheme := range []string{"http", "https"} {
			_, err := c.Do(t.Context(), Request{Method: "POST", URL: fmt.Sprintf("%s://%s:%d/", scheme, host, port)})
			wantKind(t, fmt.Sprintf("Do(%s://%s)", scheme, host), err, BlockedAddress)
		}
	}
	if n := accepted.Load(); n != 0 {
		t.Errorf("%d connections were made, want none", n)
	}
}

// Each hop of a redirect passes the guard again.
func TestGuardAtRedirect(t *testing.T) {
	second := tlsServer(t, http.NotFoundHandler(), nil)
	first := httptest.NewServer(http.RedirectHandler(second.URL+"/inside", http.StatusTemporaryRedirect))
	defer first.Close()
	var asked []string
	c := build(Config{RootCAs: pool(second)}, func(network, address string, _ syscall.RawConn) error {
		asked = append(asked, address)
		if len(asked) > 1 {
			return New(Config{}).guard(network, address, nil)
		}
		return nil
	})
	_, err := c.Do(t.Context(), Request{Method: "POST", URL: first.URL})
	wantKind(t, "Do", err, BlockedAddress)
	if len(asked) != 2 || !strings.HasSuffix(second.URL, asked[1]) {
		t.Errorf("addresses checked = %v, want those of both servers", asked)
	}
}

func wantKind(t *testing.T, what string, err error, want Kind) *Error {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Errorf("%s: error %v (%T), want *Error of kind %s", what, err, err, want)
		return &Error{}
	}
	if e.Kind != want {
		t.Errorf("%s: error %v, want kind %s", what, err, want)
	}
	return e
}

func tlsServer(t *testing.T, h http.Handler, change func(*httptest.Server)) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if change != nil {
		change(s)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func pool(s *httptest.Server) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(s.Certificate())
	return p
}

// raw starts a TCP server that runs f on each connection, after reading the
// request's head when it speaks plain HTTP.
func raw(t *testing.T, readHead bool, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if readHead {
					http.ReadRequest(bufio.NewReader(conn))
				}
				f(conn)
			}()
		}
	}()
	return l.Addr().String()
}

func say(s string) func(net.Conn) { return func(c net.Conn) { io.WriteString(c, s) } }

// stall keeps a connection open until the peer closes it.
func stall(c net.Conn) { io.Copy(io.Discard, c) }

func TestFailures(t *testing.T) {
	plain := func(t *testing.T, f func(net.Conn)) string { return "http://" + raw(t, true, f) }
	secure := func(t *testing.T, f func(net.Conn)) string { return "https://" + raw(t, false, f) }
	tests := []struct {
		name  string
		url   func(t *testing.T) string
		want  Kind
		inErr error // errors.Is, where a type is promised
	}{
		{"refused", func(t *testing.T) string { return "http://" + closedPort(t) }, Refused, syscall.ECONNREFUSED},
		{"no such name", func(t *testing.T) string { return "http://a..b/" }, DNS, nil},
		{"closed before an answer", func(t *testing.T) string { return plain(t, func(net.Conn) {}) }, Reset, io.EOF},
		{"reset", func(t *testing.T) string {
			return plain(t, func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) })
		}, Reset, syscall.ECONNRESET},
		{"not HTTP", func(t *testing.T) string { return plain(t, say("SSH-2.0-OpenSSH_9.9\r\n")) }, Reset, nil},
		{"malformed header", func(t *testing.T) string { return plain(t, say("HTTP/1.1 200 OK\r\nno colon\r\n\r\n")) }, Reset, nil},
		{"head cut off", func(t *testing.T) string { return plain(t, say("HTTP/1.1 200 OK\r\nA: b\r\n")) }, Reset, nil},
		{"too many headers", func(t *testing.T) string {
			return plain(t, func(c net.Conn) {
				io.WriteString(c, "HTTP/1.1 200 OK\r\n")
				for range 4000 {
					if _, err := io.WriteString(c, "X-Filler: 0123456789\r\n"); err != nil {
						return
					}
				}
				io.WriteString(c, "Content-Length: 0\r\n\r\n")
				stall(c)
			})
		}, Reset, nil},
		{"endless interim answers", func(t *testing.T) string {
			return plain(t, func(c net.Conn) {
				for {
					if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"); err != nil {
						return
					}
				}
			})
		}, Reset, nil},
		{"unknown authority", func(t *testing.T) string { return tlsServer(t, http.NotFoundHandler(), nil).URL }, Certificate, nil},
		{"TLS spoken to a plain server", func(t *testing.T) string {
			s := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(s.Close)
			return strings.Replace(s.URL, "http:", "https:", 1)
		}, TLS, nil},
		{"TLS 1.0 only", func(t *testing.T) string {
			return tlsServer(t, http.NotFoundHandler(), func(s *httptest.Server) {
				s.TLS = &tls.Config{MaxVersion: tls.VersionTLS10}
			}).URL
		}, TLS, nil},
		{"closed in the handshake", func(t *testing.T) string { return secure(t, func(net.Conn) {}) }, Reset, nil},
		{"header never comes", func(t *testing.T) string { return plain(t, stall) }, Timeout, nil},
		{"handshake never ends", func(t *testing.T) string { return secure(t, stall) }, Timeout, nil},
		{"FTP", func(t *testing.T) string { return "ftp://example.com/" }, BadURL, nil},
		{"no scheme", func(t *testing.T) string { return "example.com/mcp" }, BadURL, nil},
		{"no host", func(t *testing.T) string { return "https:///mcp" }, BadURL, nil},
		{"port without a host", func(t *testing.T) string { return "https://:443/mcp" }, BadURL, nil},
		{"opaque", func(t *testing.T) string { return "http:example.com" }, BadURL, nil},
		{"credentials", func(t *testing.T) string { return "https://me:secret@example.com/" }, BadURL, nil},
		{"port too large", func(t *testing.T) string { return "https://example.com:65536/" }, BadURL, nil},
		{"not a URL", func(t *testing.T) string { return "https://exa mple/\x7f" }, BadURL, nil},
		{"not a host name", func(t *testing.T) string { return "https://\u00ad\u2488/" }, DNS, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Config{AllowPrivate: true})
			ctx := t.Context()
			if tt.want == Timeout {
				short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
				defer cancel()
				ctx = short
			}
			resp, err := c.Do(ctx, Request{Method: "POST", URL: tt.url(t), Body: []byte("{}")})
			if err == nil {
				t.Fatalf("Do = status %d, want an error of kind %s", resp.Status, tt.want)
			}
			wantKind(t, "Do", err, tt.want)
			if tt.inErr != nil && !errors.Is(err, tt.inErr) {
				t.Errorf("Do: error %v, want one that is %v", err, tt.inErr)
			}
			if err.Error() == "" || strings.Contains(err.Error(), "secret") {
				t.Errorf("Do: error text %q", err)
			}
		})
	}
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// What is certain of a server comes before the clock; what is not, after it.
func TestKind(t *testing.T) {
	alive := t.Context()
	late, cancel := context.WithDeadlineCause(alive, time.Unix(0, 0), errors.New("a cause of its own"))
	defer cancel()
	gone, cancelGone := context.WithCancel(alive)
	cancelGone()
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		want Kind
	}{
		{"resolver gave up", alive, dial(&net.DNSError{Err: "i/o timeout", IsTimeout: true}), DNS},
		{"resolver unreachable", alive, dial(&net.DNSError{Err: "server misbehaving", IsTemporary: true}), DNS},
		{"no such host", alive, dial(&net.DNSError{Err: "no such host", IsNotFound: true}), DNS},
		{"no such host, late", late, dial(&net.DNSError{Err: "no such host", IsNotFound: true}), DNS},
		{"look-up cut off", late, dial(&net.DNSError{Err: "operation was canceled", IsTimeout: true}), Timeout},
		{"refused, late", late, dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), Refused},
		{"host unreachable", alive, dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), Refused},
		{"network unreachable", alive, dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), Refused},
		{"no IPv6 here", alive, dial(os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)), Refused},
		{"connect timed out", alive, dial(os.NewSyscallError("connect", syscall.ETIMEDOUT)), Timeout},
		{"socket deadline", alive, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, Timeout},
		{"deadline", late, context.DeadlineExceeded, Timeout},
		{"deadline with a cause", late, errors.New("a cause of its own"), Timeout},
		{"cancelled", gone, context.Canceled, Canceled},
		{"broken pipe", alive, &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, Reset},
		{"certificate, late", late, &handshakeError{&tls.CertificateVerificationError{Err: x509.HostnameError{}}}, Certificate},
		{"alert", alive, &handshakeError{&net.OpError{Op: "remote error", Err: tls.AlertError(40)}}, TLS},
		{"no descriptors", alive, dial(os.NewSyscallError("socket", syscall.EMFILE)), Local},
		{"no descriptors, late", late, dial(os.NewSyscallError("socket", syscall.EMFILE)), Local},
		{"anything else", alive, errors.New("net/http: server response headers exceeded"), Reset},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := kind(tt.ctx, tt.err); got != tt.want {
				t.Errorf("kind(%v) = %s, want %s", tt.err, got, tt.want)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	addr := raw(t, true, func(c net.Conn) { cancel(); stall(c) })
	_, err := New(Config{AllowPrivate: true}).Do(ctx, Request{Method: "POST", URL: "http://" + addr, Body: []byte("{}")})
	wantKind(t, "Do", err, Canceled)
}

func TestDeadlineCoversTheBody(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"some\":"
	t.Run("stalled", func(t *testing.T) {
		addr := raw(t, true, func(c net.Conn) { io.WriteString(c, head); stall(c) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		resp, err := New(Config{AllowPrivate: true}).Do(ctx, Request{Method: "POST", URL: "http://" + addr})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if e := wantKind(t, "Read", err, Timeout); e.Status != 200 {
			t.Errorf("Read: error status %d, want 200", e.Status)
		}
		if string(b) != `{"some":` {
			t.Errorf("Read = %q before the error, want what had come", b)
		}
		_, again := resp.Body.Read(make([]byte, 1))
		if again != err {
			t.Errorf("Read again = %v, want the same error %v", again, err)
		}
	})
	t.Run("bytes waiting", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") }))
		defer server.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		resp, err := New(Config{AllowPrivate: true}).Do(ctx, Request{Method: "POST", URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		<-ctx.Done()
		n, err := resp.Body.Read(make([]byte, 10))
		if wantKind(t, "Read", err, Timeout); n != 0 {
			t.Errorf("Read = %d bytes after the deadline, want 0", n)
		}
	})
}

func TestBodyBreaks(t *testing.T) {
	for name, answer := range map[string]string{
		"length not reached": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
		"chunk cut off":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n{}",
		"malformed chunk":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
		"gzip cut off":       "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 100\r\n\r\n" + string(zip("some text that is longer")[:15]),
	} {
		t.Run(name, func(t *testing.T) {
			addr := raw(t, true, say(answer))
			resp, err := New(Config{AllowPrivate: true}).Do(t.Context(), Request{Method: "POST", URL: "http://" + addr})
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			_, err = io.ReadAll(resp.Body)
			wantKind(t, "Read", err, Reset)
		})
	}
}

func zip(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.Bytes()
}

func TestContentEncoding(t *testing.T) {
	text := strings.Repeat("a tool ", 100)
	zipped := zip(text)
	spoilt := bytes.Clone(zipped)
	spoilt[len(spoilt)-6] ^= 1 // the checksum
	tests := []struct {
		name     string
		encoding []string
		body     []byte
		want     string
		kind     Kind
	}{
		{"none", nil, []byte(text), text, ""},
		{"identity", []string{"identity"}, []byte(text), text, ""},
		{"gzip", []string{"gzip"}, zipped, text, ""},
		{"upper case", []string{"GZip"}, zipped, text, ""},
		{"x-gzip", []string{"x-gzip"}, zipped, text, ""},
		{"gzip and identity", []string{"identity, gzip"}, zipped, text, ""},
		{"two members", []string{"gzip"}, append(bytes.Clone(zipped), zipped...), text + text, ""},
		{"nothing, said to be gzip", []string{"gzip"}, nil, "", ""},
		{"not said to be gzip", nil, zipped, string(zipped), ""},
		{"br", []string{"br"}, []byte("\x0b\x02\x80{}\x03"), "", ContentEncoding},
		{"zstd", []string{"zstd"}, []byte("x"), "", ContentEncoding},
		{"deflate", []string{"deflate"}, []byte("x"), "", ContentEncoding},
		{"twice", []string{"gzip, gzip"}, zip(string(zipped)), "", ContentEncoding},
		{"twice, in two headers", []string{"gzip", "gzip"}, zip(string(zipped)), "", ContentEncoding},
		{"not gzip", []string{"gzip"}, []byte(`{"jsonrpc":"2.0"}`), "", ContentEncoding},
		{"cut off cleanly", []string{"gzip"}, zipped[:len(zipped)-10], text, ContentEncoding},
		{"cut off in the header", []string{"gzip"}, zipped[:5], "", ContentEncoding},
		{"wrong checksum", []string{"gzip"}, spoilt, text, ContentEncoding},
		{"garbage behind", []string{"gzip"}, append(bytes.Clone(zipped), "garbage"...), text, ContentEncoding},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Encoding"] = tt.encoding
				w.Header().Set("Content-Type", "application/json")
				w.Write(tt.body)
			}))
			defer server.Close()
			resp, err := New(Config{AllowPrivate: true}).Do(t.Context(), Request{Method: "POST", URL: server.URL})
			if err != nil || resp.Status != 200 {
				t.Fatalf("Do = %v, %v, want status 200 whatever the body", resp, err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if tt.kind == "" {
				if err != nil || string(b) != tt.want {
					t.Errorf("body = %.40q, %v, want %.40q", b, err, tt.want)
				}
				return
			}
			wantKind(t, "Read", err, tt.kind)
			if !strings.HasPrefix(tt.want, string(b)) {
				t.Errorf("body = %.40q before the error, want a prefix of %.40q", b, tt.want)
			}
		})
	}
}

func TestMaxBody(t *testing.T) {
	const limit = 1000
	endless := func(w http.ResponseWriter, piece []byte) {
		for {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}
	zipped := func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "gzip") }
	tests := []struct {
		name    string
		handler func(http.ResponseWriter)
		n       int // bytes read
		kind    Kind
	}{
		{"at the limit", func(w http.ResponseWriter) { w.Write(make([]byte, limit)) }, limit, ""},
		{"one beyond", func(w http.ResponseWriter) { w.Write(make([]byte, limit+1)) }, limit, TooLarge},
		{"endless", func(w http.ResponseWriter) { endless(w, make([]byte, 100)) }, limit, TooLarge},
		{"gzip at the limit", func(w http.ResponseWriter) { zipped(w); w.Write(zip(strings.Repeat("x", limit))) }, limit, ""},
		{"gzip one beyond", func(w http.ResponseWriter) { zipped(w); w.Write(zip(strings.Repeat("x", limit+1))) }, limit, TooLarge},
		{"gzip bomb", func(w http.ResponseWriter) { zipped(w); w.Write(zip(strings.Repeat("\x00", 10<<20))) }, limit, TooLarge},
		{"endless empty gzip members", func(w http.ResponseWriter) { zipped(w); endless(w, zip("")) }, 0, TooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { tt.handler(w) }))
			defer server.Close()
			resp, err := New(Config{AllowPrivate: true, MaxBody: limit}).Do(t.Context(), Request{Method: "POST", URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if len(b) != tt.n {
				t.Errorf("read %d bytes, want %d", len(b), tt.n)
			}
			if tt.kind == "" {
				if err != nil {
					t.Errorf("Read: %v, want no error", err)
				}
				return
			}
			wantKind(t, "Read", err, tt.kind)
		})
	}
}

// What a server sees of a request, directly and after a redirect.
func TestRequest(t *testing.T) {
	var seen []*http.Request
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen, bodies = append(seen, r), append(bodies, string(b))
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		if r.URL.Path == "/mcp" {
			w.Header().Set("Location", "/mcp/?x=1#part")
			w.WriteHeader(http.StatusPermanentRedirect)
		}
	}))
	defer server.Close()
	header := http.Header{"mcp-session-id": {"s1"}, "Accept-Encoding": {"br"}, "User-Agent": {"another"}}
	resp, err := New(Config{AllowPrivate: true, UserAgent: "mcpstrata/1 (+https://example.com)"}).Do(t.Context(),
		Request{Method: "POST", URL: server.URL + "/mcp", Header: header, Body: []byte(`{"id":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	resp.Finish(time.Second)
	if resp.Redirects != 1 || resp.URL != server.URL+"/mcp/?x=1#part" {
		t.Errorf("Do: %d redirects to %s, want 1 to /mcp/?x=1", resp.Redirects, resp.URL)
	}
	if len(seen) != 2 {
		t.Fatalf("%d requests, want 2", len(seen))
	}
	for i, r := range seen {
		if r.Method != "POST" || bodies[i] != `{"id":1}` || r.ContentLength != 8 {
			t.Errorf("request %d: %s with body %q, want the POST with its body", i, r.Method, bodies[i])
		}
		want := map[string]string{
			"User-Agent": "mcpstrata/1 (+https://example.com)", "Accept-Encoding": "gzip", "Mcp-Session-Id": "s1",
			"Cookie": "", "Referer": "", "Origin": "",
		}
		for name, v := range want {
			if got := strings.Join(r.Header.Values(name), "|"); got != v {
				t.Errorf("request %d: %s = %q, want %q", i, name, got, v)
			}
		}
	}
	if header.Get("Accept-Encoding") != "br" {
		t.Errorf("Do changed the caller's header: %v", header)
	}
	if New(Config{}).config.UserAgent == "" {
		t.Error("New(Config{}) has no user agent")
	}
}

func TestRedirects(t *testing.T) {
	secure := tlsServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/down" {
			w.Header().Set("Location", strings.Replace("http://"+r.Host+"/end", "https", "http", 1))
			w.WriteHeader(307)
		}
	}), nil)
	secureURL, _ := url.Parse(secure.URL)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Errorf("another host got %s %s", r.Method, r.URL) }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if left := q.Get("left"); left != "" && left != "0" {
			n := int(left[0] - '0')
			w.Header().Set("Location", fmt.Sprintf("/?left=%d", n-1))
			w.WriteHeader(307)
			return
		}
		if s := q.Get("status"); s != "" {
			var status int
			fmt.Sscan(s, &status)
			if to := q.Get("to"); to != "" {
				w.Header().Set("Location", to)
			}
			w.WriteHeader(status)
			io.WriteString(w, "moved")
			return
		}
		io.WriteString(w, r.Method)
	}))
	defer server.Close()
	go307 := func(to string) string { return "?status=307&to=" + url.QueryEscape(to) }
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	tests := []struct {
		name   string
		method string
		path   string
		status int // of the answer; 0: a redirect error
		hops   int
	}{
		{"307 to a path", "POST", go307("/end"), 200, 1},
		{"308 to a path", "POST", "?status=308&to=/end", 200, 1},
		{"307 to a relative path", "POST", go307("end"), 200, 1},
		{"307 to the whole URL", "POST", go307(server.URL + "/end"), 200, 1},
		{"three", "POST", "?left=3", 200, 3},
		{"four", "POST", "?left=4", 0, 3},
		{"another port", "POST", go307(other.URL), 0, 0},
		{"another name of the same address", "POST", go307("http://localhost:" + port), 0, 0},
		{"another host", "POST", go307("http://example.com/"), 0, 0},
		{"scheme-relative", "POST", go307("//example.com/"), 0, 0},
		{"to https, same name", "POST", go307(secure.URL + "/end"), 200, 1},
		{"to https and back", "POST", go307(secure.URL + "/down"), 0, 1},
		{"to https, another name", "POST", go307("https://localhost:" + secureURL.Port()), 0, 0},
		{"to another scheme", "POST", go307("file:///etc/passwd"), 0, 0},
		{"with credentials", "POST", go307("http://me@" + strings.TrimPrefix(server.URL, "http://")), 0, 0},
		{"malformed", "POST", go307("http://[::1"), 0, 0},
		{"307 without a location", "POST", "?status=307", 0, 0},
		{"300", "POST", "?status=300&to=/end", 0, 0},
		{"301", "POST", "?status=301&to=/end", 0, 0},
		{"302", "POST", "?status=302&to=/end", 0, 0},
		{"303", "POST", "?status=303&to=/end", 0, 0},
		{"304", "POST", "?status=304", 0, 0},
		{"399", "POST", "?status=399&to=/end", 0, 0},
		{"301 of a GET", "GET", "?status=301&to=/end", 200, 1},
		{"302 of a GET", "GET", "?status=302&to=/end", 200, 1},
		{"303 of a GET", "GET", "?status=303&to=/end", 0, 0},
		{"302 of a GET to another host", "GET", "?status=302&to=" + url.QueryEscape(other.URL), 0, 0},
		{"307 of a GET", "GET", go307("/end"), 200, 1},
		{"into a 404", "POST", go307("/?status=404"), 404, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Config{AllowPrivate: true, RootCAs: pool(secure)})
			resp, err := c.Do(t.Context(), Request{Method: tt.method, URL: server.URL + "/" + tt.path})
			if tt.status == 0 {
				e := wantKind(t, "Do", err, Redirect)
				if e.Redirects != tt.hops || e.Status < 300 || e.Status > 399 {
					t.Errorf("Do: error with status %d after %d redirects, want 3xx after %d", e.Status, e.Redirects, tt.hops)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.Status != tt.status || resp.Redirects != tt.hops {
				t.Errorf("Do = status %d after %d redirects, want %d after %d", resp.Status, resp.Redirects, tt.status, tt.hops)
			}
			if b, _ := io.ReadAll(resp.Body); tt.status == 200 && !strings.Contains(tt.path, "https") && string(b) != tt.method {
				t.Errorf("the target saw %q, want %s", b, tt.method)
			}
		})
	}
}

// A default port may be spelt out on either side.
func TestSameHost(t *testing.T) {
	c := New(Config{})
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{"https://host.example/mcp", "https://host.example:443/x", true},
		{"https://host.example:443/mcp", "https://host.example/x", true},
		{"http://host.example:80/mcp", "http://HOST.example/x", true},
		{"http://host.example/mcp", "https://host.example/x", true},
		{"http://host.example:8080/mcp", "https://host.example/x", true},
		{"https://host.example/mcp", "http://host.example/x", false},
		{"https://host.example/mcp", "https://host.example:8443/x", false},
		{"https://host.example/mcp", "https://host.example.evil.example/x", false},
		{"https://[2001:db8::1]/mcp", "https://[2001:db8::1]:443/x", true},
	} {
		from, err := parse(tt.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := c.next("POST", from, &Response{Status: 308, Header: http.Header{"Location": {tt.to}}}, 0)
		if (err == nil) != tt.want {
			t.Errorf("next(%s, %s) = %v, %v, want followed %t", tt.from, tt.to, to, err, tt.want)
		}
	}
}

// Finish keeps a connection for the next request where its answer ends, and does
// not wait for one that never does.
func TestFinish(t *testing.T) {
	var conns atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		if r.URL.Path == "/open" {
			<-r.Context().Done()
			return
		}
		io.WriteString(w, ": the end\n\n")
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	c := New(Config{AllowPrivate: true})
	c.transport.IdleConnTimeout = 0 // however slow this machine is
	get := func(path string, grace time.Duration) {
		t.Helper()
		resp, err := c.Do(t.Context(), Request{Method: "POST", URL: server.URL + path, Body: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resp.Body.Read(make([]byte, 9)); err != nil {
			t.Fatal(err)
		}
		resp.Finish(grace)
		_, err = resp.Body.Read(make([]byte, 1))
		wantKind(t, "Read after Finish", err, Canceled)
	}
	get("/", time.Minute)
	get("/", time.Minute)
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for two requests that ended, want 1", n)
	}
	get("/open", time.Millisecond) // returns
	get("/", time.Minute)
	if n := conns.Load(); n != 2 {
		t.Errorf("%d connections after one that was given up, want 2", n)
	}
	c.CloseIdleConnections()
	get("/", time.Minute)
	if n := conns.Load(); n != 3 {
		t.Errorf("%d connections after CloseIdleConnections, want 3", n)
	}
}

func TestHTTP2(t *testing.T) {
	server := tlsServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/abort-body":
			io.WriteString(w, "{")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/headers":
			for i := range 2000 {
				w.Header().Set(fmt.Sprintf("X-Filler-%d", i), "0123456789012345678901234567890123456789")
			}
		}
		io.WriteString(w, r.Proto)
	}), func(s *httptest.Server) { s.EnableHTTP2 = true })
	c := New(Config{AllowPrivate: true, RootCAs: pool(server)})
	for _, tt := range []struct {
		path, want string
		kind       Kind
	}{
		{"/", "HTTP/2.0", ""}, {"/abort", "", Reset}, {"/abort-body", "{", Reset}, {"/headers", "", Reset}, {"/again", "HTTP/2.0", ""},
	} {
		t.Run(tt.path, func(t *testing.T) {
			resp, err := c.Do(t.Context(), Request{Method: "POST", URL: server.URL + tt.path, Body: []byte("{}")})
			var b []byte
			if err == nil {
				defer resp.Body.Close()
				b, err = io.ReadAll(resp.Body)
			}
			if string(b) != tt.want {
				t.Errorf("Do(%s) = %q, want %q", tt.path, b, tt.want)
			}
			if tt.kind != "" {
				wantKind(t, "Do", err, tt.kind)
			} else if err != nil {
				t.Errorf("Do(%s): %v", tt.path, err)
			}
		})
	}
}

// A server that sends every request away is tried twice, without waiting in
// between.
func TestGoAway(t *testing.T) {
	var conns atomic.Int32
	server := tlsServer(t, http.NotFoundHandler(), func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) {
			conns.Add(1)
			defer conn.Close()
			io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
			f := http2.NewFramer(conn, conn)
			f.WriteSettings()
			for {
				frame, err := f.ReadFrame()
				if err != nil {
					return
				}
				if frame.Header().Type == http2.FrameHeaders {
					f.WriteGoAway(0, http2.ErrCodeNo, nil)
				}
			}
		}}
	})
	c := New(Config{AllowPrivate: true, RootCAs: pool(server)})
	_, err := c.Do(t.Context(), Request{Method: "POST", URL: server.URL, Body: []byte("{}")})
	wantKind(t, "Do", err, Reset)
	if n := conns.Load(); n < 1 || n > 2 {
		t.Errorf("%d connections, want 1 or 2", n)
	}
}

// The environment's proxy is not asked.
func TestNoProxy(t *testing.T) {
	if New(Config{}).transport.Proxy != nil {
		t.Error("the client has a proxy function, want none")
	}
}
