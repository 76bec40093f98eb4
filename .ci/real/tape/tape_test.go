package tape

import (
	"bufio"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// before returns a proxy in front of h.
func before(t *testing.T, h http.HandlerFunc) *Proxy {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	p, err := Start(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestHeadersPassUnchanged(t *testing.T) {
	var got *http.Request
	p := before(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
		w.Header().Set("Mcp-Session-Id", "s1")
		io.WriteString(w, "<html>")
	})
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "POST /mcp?a=%2F HTTP/1.1\r\nHost: name.example\r\nX-A: 1\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got.Host != "name.example" || got.RequestURI != "/mcp?a=%2F" || got.Header.Get("X-A") != "1" {
		t.Errorf("server got host %q, uri %q, X-A %q; want what was sent", got.Host, got.RequestURI, got.Header.Get("X-A"))
	}
	for _, name := range []string{"User-Agent", "Accept-Encoding", "X-Forwarded-For"} {
		if v, ok := got.Header[name]; ok {
			t.Errorf("server got %s %q, want none", name, v)
		}
	}
	for _, name := range []string{"Date", "Content-Type"} {
		if v, ok := answer.Header[name]; ok {
			t.Errorf("client got %s %q, want none", name, v)
		}
	}
	e := p.Since(0)[0]
	if string(body) != "<html>" || string(e.Body) != "<html>" || string(e.Request) != "{}" {
		t.Errorf("body %q, recorded %q, request %q; want <html>, <html>, {}", body, e.Body, e.Request)
	}
}

func TestContentCodingIsKept(t *testing.T) {
	p := before(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, strings.Repeat("tools ", 100))
		z.Close()
	})
	answer, err := http.Get("http://" + p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.ReadAll(answer.Body); err != nil {
		t.Fatal(err)
	}
	e := p.Since(0)[0]
	body, err := e.Decoded()
	if err != nil || len(body) != 600 || len(e.Body) >= 600 {
		t.Errorf("recorded %d bytes, decoded %d (%v); want fewer than 600, 600", len(e.Body), len(body), err)
	}
}

func TestOpenStreamIsRecordedAsItComes(t *testing.T) {
	done := make(chan struct{})
	p := before(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(done)
	})
	answer, err := http.Get("http://" + p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 9)
	if _, err := io.ReadFull(answer.Body, first); err != nil {
		t.Fatal(err)
	}
	if e := p.Since(0)[0]; string(e.Body) != "data: 1\n\n" || e.Done {
		t.Errorf("recorded %q, done %t; want the first event, false", e.Body, e.Done)
	}
	answer.Body.Close()
	<-done // the server learns that the client went away
}
