package probe

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/fleet"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A counter stands between a reader and a server, passes every byte on as it is,
// and reads the requests along the way.
type counter struct {
	listener net.Listener
	to       string
	wg       sync.WaitGroup
	mu       sync.Mutex
	requests []counted // guarded by mu
}

// A counted is a request as it went over the wire.
type counted struct {
	Method, Path, Message string
	Header                http.Header
}

func count(t *testing.T, to string) *counter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{listener: l, to: to}
	c.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.pass(conn) })
		}
	})
	return c
}

// pass joins one connection to the server.
func (c *counter) pass(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer far.Close()
	r, w := io.Pipe()
	read := make(chan struct{})
	go func() { defer close(read); c.read(r) }()
	back := make(chan struct{})
	go func() {
		defer close(back)
		io.Copy(near, far)
		near.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(io.MultiWriter(far, w), near)
	w.Close()
	far.(*net.TCPConn).CloseWrite()
	<-read
	near.Close()
	far.Close()
	<-back
}

// read notes the requests that a connection carried.
func (c *counter) read(r io.Reader) {
	defer io.Copy(io.Discard, r)
	b := bufio.NewReader(r)
	for {
		q, err := http.ReadRequest(b)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(q.Body)
		message := ""
		for _, m := range []string{"initialize", "notifications/initialized", "server/discover", "tools/list"} {
			if bytes.Contains(body, []byte(`"method":"`+m+`"`)) {
				message = m
			}
		}
		c.mu.Lock()
		c.requests = append(c.requests, counted{q.Method, q.URL.Path, message, q.Header})
		c.mu.Unlock()
	}
}

// stop ends the counting and returns what there was.
func (c *counter) stop() []counted {
	c.listener.Close()
	c.wg.Wait()
	return c.requests
}

// What a reading costs a server, by what goes over the wire: v1 three POSTs at
// most, without a version header and whatever the server says, and nothing else;
// v2 at most four requests and one for each further page and for the end of the
// session, three for a lost session (issue 4, acceptance 7). What a connection
// that was closed under a request costs, or a redirect, comes on top.
func TestCost(t *testing.T) {
	for _, b := range fleet.Behaviours() {
		if b.Row != "" || b.Guarded {
			continue
		}
		for _, m := range record.Methodologies {
			t.Run(b.Name+"/"+m.Version, func(t *testing.T) {
				t.Parallel()
				at, stop, err := b.Start(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
				u, err := url.Parse(at)
				if err != nil || u.Scheme != "http" || u.Port() == "" {
					t.Skipf("%s is not passed on", at)
				}
				if b.Slow {
					m.RequestTimeout = 300 * time.Millisecond
				}
				c := count(t, u.Host)
				u.Host = c.listener.Addr().String()
				p := newProber(true)
				r, err := p.Probe(t.Context(), "n", u.String(), m)
				if err != nil {
					t.Fatal(err)
				}
				p.MCP.HTTP.CloseIdleConnections()
				checkCost(t, m, r, c.stop())
			})
		}
	}
}

// checkCost checks the requests of one reading. In which order they went over
// several connections can't be told here; tests of package mcp have it.
func checkCost(t *testing.T, m record.Methodology, r record.Result, requests []counted) {
	t.Helper()
	if r.Requests < len(requests) {
		t.Errorf("Requests = %d, the server saw %d", r.Requests, len(requests))
	}
	n := map[string]int{}
	for _, q := range requests {
		if q.Path != requests[0].Path {
			continue // a redirect
		}
		n[q.Method+" "+q.Message]++
		if q.Header.Get("Origin") != "" || q.Header.Get("Authorization") != "" {
			t.Errorf("a %s with %v", q.Method, q.Header)
		}
		if m.Version == "v1" && (q.Header.Get("Mcp-Protocol-Version") != "" || q.Header.Get("Mcp-Method") != "") {
			t.Errorf("v1 sent %v", q.Header)
		}
	}
	if r.Detail == record.DetailRedirect {
		for kind := range n {
			n[kind] -= min(n[kind]-1, 3) // of a loop, to where it came from
		}
	}
	begun, discovered, lists, ends := n["POST initialize"], n["POST server/discover"], n["POST tools/list"], min(1, n["DELETE "])
	told := min(begun, n["POST notifications/initialized"]) // this, and a DELETE, is sent again if it breaks a connection that had been used
	if len(n) > 0 && begun == 0 || n["POST "] > 0 || len(n) > 5 {
		t.Errorf("the server saw %v", n)
	}
	if m.Version == "v1" {
		if begun > 1 || lists > 1 && r.Requests == 3 || discovered > 0 || ends > 0 || lists > 0 && told == 0 || lists > 2 {
			t.Errorf("v1 sent %v, want three POSTs at most", n)
		}
		return
	}
	// A page that would exceed a bound is asked for and left out; a page of a
	// session that was lost does not count among those read.
	renewed := max(0, begun-1)
	further := max(0, lists-1-renewed)
	if r.Outcome().OK() && renewed == 0 && !slices.Contains(r.Flags, record.FlagListCapped) {
		further = r.Capture.Pages.Read - 1
	}
	if renewed > 1 || n["DELETE "] > 2 {
		t.Errorf("v2 sent %v, want one new session and one end at most", n)
	}
	if all, most := begun+told+discovered+lists+ends, 4+further+3*renewed+ends; all > most {
		t.Errorf("v2 sent %v, want %d requests at most", n, most)
	}
}
