package safehttp

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

// A server that closes after each answer, without having said so, is read like
// any other, whenever the close is noticed here.
func TestServerClosesAfterEachAnswer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		close func(*net.TCPConn)
	}{
		{"at once", func(*net.TCPConn) {}},
		{"by a reset", func(c *net.TCPConn) { time.Sleep(time.Millisecond); c.SetLinger(0) }}, // after the answer was read
		{"when it has read another request", func(c *net.TCPConn) { http.ReadRequest(bufio.NewReader(c)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var answered atomic.Int32
			url := "http://" + raw(t, false, func(conn net.Conn) {
				conn.SetDeadline(time.Now().Add(time.Second)) // no request comes after the last
				req, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				io.Copy(io.Discard, req.Body)
				answered.Add(1)
				if req.URL.Path == "/202" {
					io.WriteString(conn, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
				} else {
					io.WriteString(conn, okAnswer)
				}
				tt.close(conn.(*net.TCPConn))
			})
			c := New(Config{AllowPrivate: true})
			const readings = 100
			for i := range readings {
				for _, path := range []string{"/200", "/202", "/200"} {
					resp, err := c.Do(t.Context(), Request{Method: "POST", URL: url + path, Body: []byte("{}")})
					if err != nil {
						t.Fatalf("reading %d: Do(%s) = %v, want an answer", i, path, err)
					}
					if _, err := io.ReadAll(resp.Body); err != nil {
						t.Fatalf("reading %d: reading the body of %s: %v", i, path, err)
					}
					resp.Body.Close()
				}
			}
			if n := answered.Load(); n != 3*readings {
				t.Errorf("the server answered %d requests, want %d", n, 3*readings)
			}
		})
	}
}

// The second attempt is made on a new connection also when the pool holds another
// one that is stale, and there is no third.
func TestStaleConnections(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fresh string // what the server answers on connections beyond the two stale ones
		kind  Kind
	}{
		{"then well", okAnswer, ""},
		{"then broken", "", Reset},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var conns, requests atomic.Int32
			var both sync.WaitGroup // holds the first two answers until both connections are in use
			both.Add(2)
			url := "http://" + raw(t, false, func(conn net.Conn) {
				first := conns.Add(1) <= 2
				r := bufio.NewReader(conn)
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				io.Copy(io.Discard, req.Body)
				requests.Add(1)
				if !first {
					io.WriteString(conn, tt.fresh)
					return
				}
				both.Done()
				both.Wait()
				io.WriteString(conn, okAnswer)
				if _, err := http.ReadRequest(r); err == nil {
					requests.Add(1) // and the connection breaks
				}
			})
			c := New(Config{AllowPrivate: true})
			post := func() error {
				resp, err := c.Do(t.Context(), Request{Method: "POST", URL: url, Body: []byte("{}")})
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "{}" {
					return fmt.Errorf("body %q: %w", b, err)
				}
				return nil
			}
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					if err := post(); err != nil {
						t.Errorf("Do on a new connection: %v", err)
					}
				})
			}
			wg.Wait()
			err := post()
			if tt.kind != "" {
				wantKind(t, "Do", err, tt.kind)
			} else if err != nil {
				t.Errorf("Do = %v, want an answer", err)
			}
			if c, r := conns.Load(), requests.Load(); c != 3 || r != 4 {
				t.Errorf("%d connections and %d requests, want 3 and 4: one stale attempt, one fresh", c, r)
			}
		})
	}
}

// A new connection that breaks is the server's word: it is not tried again.
func TestFreshConnectionBreaks(t *testing.T) {
	var conns atomic.Int32
	url := "http://" + raw(t, true, func(net.Conn) { conns.Add(1) })
	c := New(Config{AllowPrivate: true})
	_, err := c.Do(t.Context(), Request{Method: "POST", URL: url, Body: []byte("{}")})
	wantKind(t, "Do", err, Reset)
	if n := conns.Load(); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}
