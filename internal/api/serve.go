package api

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"
)

// How long a client may take. Pages are small and readers are near or behind a
// proxy; a client that is slower than this holds a connection for nothing.
const (
	headerTimeout = 10 * time.Second // to send a request's header
	writeTimeout  = 2 * time.Minute  // to take an answer: report.json has megabytes
	idleTimeout   = time.Minute      // between two requests
	endTimeout    = 5 * time.Second  // for what is under way when the end is asked for
	maxHeader     = 64 << 10         // bytes of a request's header
)

// A ListenError says that an address can't be served at, such as one that another
// program has.
type ListenError struct {
	Addr string
	Err  error // of package net; it names the address too
}

func (e *ListenError) Error() string { return fmt.Sprintf("serving at %s: %v", e.Addr, e.Err) }

// Unwrap returns what the system says.
func (e *ListenError) Unwrap() error { return e.Err }

// A Listener holds an address until it is served at, or closed.
type Listener struct{ ln net.Listener }

// Listen takes a TCP address, such as 127.0.0.1:8080, or 127.0.0.1:0 for any free
// port. Who connects from now on waits until [Listener.Serve]. An address that
// can't be had is a [*ListenError].
func Listen(ctx context.Context, addr string) (*Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, &ListenError{addr, err}
	}
	return &Listener{ln}, nil
}

// URL returns the URL of the root, in which an address that stands for all is
// localhost.
func (l *Listener) URL() string { return rootURL(l.ln.Addr()) }

// Close gives the address up.
func (l *Listener) Close() error { return l.ln.Close() }

// Serve serves HTTP until ctx is done. It then lets requests that are under way
// end, for at most five seconds, gives the address up, and returns nil. What goes
// wrong with a client is a line for note.
func (l *Listener) Serve(ctx context.Context, h http.Handler, note func(string)) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(lineWriter(note), "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l.ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		srv.Close() // whoever is still there has had the time
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// rootURL returns the URL at which a person reaches what listens at a.
func rootURL(a net.Addr) string {
	host := a.String()
	if t, ok := a.(*net.TCPAddr); ok && t.IP.IsUnspecified() {
		host = fmt.Sprintf("localhost:%d", t.Port)
	}
	return "http://" + host + "/"
}

// A lineWriter is a function that takes lines.
type lineWriter func(string)

func (f lineWriter) Write(b []byte) (int, error) {
	f(strings.TrimSuffix(string(b), "\n"))
	return len(b), nil
}
