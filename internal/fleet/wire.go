package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Methods of the requests that a reader sends.
const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodList        = "tools/list"
	methodDiscover    = "server/discover"
)

// maxRequest bounds the body of a request in bytes; a reader sends a few hundred.
const maxRequest = 1 << 20

// A call is one JSON-RPC message that a reader sent.
type call struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Cursor *string `json:"cursor"`
		Asked  string  `json:"protocolVersion"` // of initialize
		Meta   struct {
			Version      string          `json:"io.modelcontextprotocol/protocolVersion"`
			Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	} `json:"params"`
	session string // its Mcp-Session-Id
	version string // its MCP-Protocol-Version
	named   string // its Mcp-Method
}

// readCall reads the message of r to its end, which also lets the server notice
// that the reader has gone.
func readCall(w http.ResponseWriter, r *http.Request) (call, error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return call{}, fmt.Errorf("reading a request: %w", err)
	}
	c := call{session: r.Header.Get("Mcp-Session-Id"), version: r.Header.Get("Mcp-Protocol-Version"), named: r.Header.Get("Mcp-Method")}
	if err := json.Unmarshal(b, &c); err != nil {
		return call{}, fmt.Errorf("reading a request: %w", err)
	}
	return c, nil
}

// response returns the JSON-RPC response to c with that result, a JSON text.
func response(c call, result string) string {
	return `{"jsonrpc":"2.0","id":` + string(c.ID) + `,"result":` + result + `}`
}

// rpcError returns the JSON-RPC error response to c; data is a JSON text or empty.
func rpcError(c call, code int, message, data string) string {
	id := string(c.ID)
	if id == "" {
		id = "null"
	}
	if data != "" {
		data = `,"data":` + data
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":%d,"message":%s%s},"id":%s}`, code, quote(message), data, id)
}

// event returns text as one event of a stream.
func event(text string) string {
	return "event: message\ndata: " + strings.ReplaceAll(text, "\n", "\ndata: ") + "\n\n"
}

// send answers with a status, a media type (none if empty) and a body.
func send(w http.ResponseWriter, status int, mediaType, body string) {
	if mediaType == "" {
		w.Header()["Content-Type"] = nil // else net/http guesses one
	} else {
		w.Header().Set("Content-Type", mediaType)
	}
	w.WriteHeader(status)
	io.WriteString(w, body) // a reader that left is no fault of ours
}

// flush sends what was written so far.
func flush(w http.ResponseWriter) {
	http.NewResponseController(w).Flush() // fails only when the reader has left
}

// stay blocks until ctx ends or limit has passed.
func stay(ctx context.Context, limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// hold keeps a request without an answer until its context ends or limit has
// passed, and then drops the connection.
func hold(w http.ResponseWriter, r *http.Request, limit time.Duration) {
	stay(r.Context(), limit)
	if conn := hijack(w); conn != nil {
		conn.Close()
	}
}

// repeat writes text over and over, every pause, until ctx ends, the reader
// leaves, or limit has passed.
func repeat(ctx context.Context, w http.ResponseWriter, text string, pause, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for ctx.Err() == nil {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
		flush(w)
		stay(ctx, pause)
	}
}

// hijack takes the connection behind w, for answers that are not HTTP; nil if it
// is gone.
func hijack(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	return conn
}

// A listening is an HTTP server on one address whose stop leaves nothing behind.
type listening struct {
	srv   *http.Server
	ended chan struct{}  // closed when no more connections are accepted
	conns sync.WaitGroup // connections, with the request that each is serving
}

// listen serves h on l. Requests see ctx's end through their own context.
func listen(ctx context.Context, l net.Listener, h http.Handler) *listening {
	s := &listening{ended: make(chan struct{})}
	s.srv = &http.Server{
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState:         s.count,
		ErrorLog:          discard,
		Handler:           h,
		ReadHeaderTimeout: time.Minute,
	}
	go func() {
		defer close(s.ended)
		s.srv.Serve(l) // always fails in the end, and then accepts nothing more
	}()
	return s
}

// count is called as a connection is accepted, and after its last request ended.
func (s *listening) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.conns.Done()
	}
}

// stop closes the listener and all connections and waits for the requests in
// flight, whose contexts it ends.
func (s *listening) stop() {
	s.srv.Close()
	<-s.ended
	s.srv.Close() // a connection may have been accepted meanwhile
	s.conns.Wait()
}

// discard is the error log of servers that are meant to see broken connections.
var discard = log.New(io.Discard, "", 0)
