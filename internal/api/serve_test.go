package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// start serves until the test ends it, and returns the URL and what ends it.
func start(t *testing.T, addr string, h http.Handler, note func(string)) (url string, end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	l, err := Listen(ctx, addr)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx, h, note) }()
	return l.URL(), func() error { cancel(); return <-ended }
}

func TestServe(t *testing.T) {
	url, end := start(t, "127.0.0.1:0", Site(rendered()), func(line string) { t.Errorf("note %q", line) })
	if !strings.HasPrefix(url, "http://127.0.0.1:") || strings.HasSuffix(url, ":0/") {
		t.Errorf("the URL is %s", url)
	}
	resp, err := http.Get(url + "half-life") // with the redirect
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "half-life" || resp.Request.URL.Path != "/half-life/" {
		t.Errorf("GET half-life = %q from %s, %v", b, resp.Request.URL, err)
	}
	if err := end(); err != nil {
		t.Errorf("Serve = %v, want nil when it is asked to end", err)
	}
	if resp, err := http.Get(url); err == nil {
		resp.Body.Close()
		t.Error("it still answers")
	}
}

// What is under way when the end is asked for comes to its end.
func TestServeEndsGracefully(t *testing.T) {
	arrived, release := make(chan bool), make(chan bool)
	url, end := start(t, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- true
		<-release
		io.WriteString(w, "whole")
	}), func(string) {})
	got := make(chan string, 1)
	go func() {
		resp, err := http.Get(url)
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		got <- string(b)
	}()
	<-arrived
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	release <- true
	if s := <-got; s != "whole" {
		t.Errorf("the request that was under way got %q", s)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve = %v, want nil", err)
	}
}

func TestServeTakenAddress(t *testing.T) {
	url, end := start(t, "127.0.0.1:0", Site(rendered()), func(string) {})
	addr := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	_, err := Listen(t.Context(), addr)
	var taken *ListenError
	if !errors.As(err, &taken) || taken.Addr != addr {
		t.Errorf("Listen at a taken address = %v, want a ListenError of %s", err, addr)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// A handler that panics is told of on one line, and the others go on.
func TestServeNotesPanics(t *testing.T) {
	notes := make(chan string, 1)
	url, end := start(t, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("seen")
		}
	}), func(line string) { notes <- line })
	if resp, err := http.Get(url + "panic"); err == nil {
		resp.Body.Close()
		t.Errorf("GET panic = %d, want a broken connection", resp.StatusCode)
	}
	if line := <-notes; !strings.Contains(line, "seen") {
		t.Errorf("note = %q", line)
	}
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestRootURL(t *testing.T) {
	tests := []struct {
		name string
		addr net.TCPAddr
		want string
	}{
		{"loopback", net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, "http://127.0.0.1:8080/"},
		{"IPv6", net.TCPAddr{IP: net.IPv6loopback, Port: 8080}, "http://[::1]:8080/"},
		{"all, IPv4", net.TCPAddr{IP: net.IPv4zero, Port: 80}, "http://localhost:80/"},
		{"all", net.TCPAddr{IP: net.IPv6unspecified, Port: 80}, "http://localhost:80/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := rootURL(&tt.addr); got != tt.want {
				t.Errorf("rootURL(%v) = %s, want %s", &tt.addr, got, tt.want)
			}
		})
	}
}
