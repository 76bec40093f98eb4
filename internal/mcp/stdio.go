package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/jsonrpc"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// Bounds of what a server may write to its standard output.
const (
	maxLine   = 8 << 20  // bytes of one line, as of one body over HTTP
	maxStdout = 32 << 20 // bytes in all
)

// ReadPipe reads the tool list of a server that was started, over its standard
// input and output, under m: the requests of [Client.Read] without headers, one
// message a line (MCP, "stdio"). What it keeps are the lines that answered,
// without the line feed.
//
// Lines that are not messages are passed over, as clients do: many servers log
// to standard output. So are requests and notifications of the server. A
// response with another id counts only if it is the only one when the output
// ends. Output that ends is tls/reset, a line of more than 8 MiB or more than 32
// MiB in all is parse/too_large.
//
// It returns while a read of r, or a write to w, may still wait: the caller then
// closes both. Errors are those of [Client.Read].
func (c *Client) ReadPipe(ctx context.Context, r io.Reader, w io.Writer, m record.Methodology) (Reading, error) {
	l := &pipeLink{client: c, w: w, lines: make(chan line), done: make(chan struct{})}
	defer close(l.done)
	go l.pump(r)
	reading, err := c.read(ctx, l, m)
	if err != nil {
		return Reading{}, fmt.Errorf("reading the tools of a started server: %w", err)
	}
	return reading, nil
}

// A pipeLink reaches a server over a pair of pipes. One goroutine at a time
// writes, one reads.
type pipeLink struct {
	client *Client
	w      io.Writer
	lines  chan line
	done   chan struct{} // closed when the reading is over
	ended  error         // why no further line comes
}

// A line is one line of a server's output, or the reason why there is none.
type line struct {
	text []byte // without the line feed
	err  error  // io.EOF, errTooLong, or one of reading
}

var errTooLong = errors.New("too much output")

func (l *pipeLink) transport() string { return "stdio" }
func (l *pipeLink) headers() bool     { return false }

// pump passes lines on until there are no more, or nobody wants them.
func (l *pipeLink) pump(r io.Reader) {
	b := bufio.NewReaderSize(r, 64<<10)
	for left := maxStdout; ; {
		text, err := readLine(b, min(left, maxLine))
		left -= len(text) + 1
		if len(text) > 0 && err != errTooLong && !l.pass(line{text: text}) {
			return
		}
		if err != nil {
			l.pass(line{err: err})
			return
		}
	}
}

// pass hands on one line. It reports false if nobody wants it.
func (l *pipeLink) pass(x line) bool {
	select {
	case l.lines <- x:
		return true
	case <-l.done:
		return false
	}
}

// readLine reads a line of at most limit bytes, without its line feed.
func readLine(b *bufio.Reader, limit int) ([]byte, error) {
	var text []byte
	for {
		part, err := b.ReadSlice('\n')
		if len(text)+len(part) > limit {
			return nil, errTooLong
		}
		text = append(text, part...)
		if err != bufio.ErrBufferFull {
			return bytes.TrimSuffix(text, []byte("\n")), err
		}
	}
}

// write writes the line of a message. It fails with the error of ctx when that is
// done first.
func (l *pipeLink) write(ctx context.Context, m message) error {
	failed := make(chan error, 1)
	go func() {
		_, err := l.w.Write(append(slices.Clone(m.body), '\n'))
		failed <- err
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask writes a request and reads lines up to the one that answers.
func (l *pipeLink) ask(ctx, wait context.Context, m message, use func(*canon.Value)) (answer, error) {
	if err := l.write(ctx, m); ctx.Err() != nil {
		return answer{outcome: record.Outcome{Class: record.Timeout}, requests: 1}, nil
	} else if err != nil && l.ended == nil {
		l.ended = err // what it wrote before it closed its input still counts
	}
	h := hearing{id: m.id}
	t := turn{client: l.client}
	defer t.end()
	for {
		text, err := l.next(ctx)
		if err != nil {
			a := h.end(err, use)
			a.waited, a.requests = t.waited, 1
			return a, nil
		}
		if !isMessage(text) {
			continue
		}
		if !t.begin(wait, len(text)) {
			return answer{outcome: record.Outcome{Class: record.Timeout}, waited: t.waited, requests: 1}, nil
		}
		if a, ok := h.hear(text, use); ok {
			a.waited, a.requests = t.waited, 1
			return a, nil
		}
		t.end()
	}
}

// next returns the next line, or the reason why there is none.
func (l *pipeLink) next(ctx context.Context) ([]byte, error) {
	if l.lines == nil {
		return nil, l.ended
	}
	select {
	case x := <-l.lines:
		if x.err != nil {
			l.lines, l.ended = nil, x.err
		}
		return x.text, x.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tell writes a notification.
func (l *pipeLink) tell(ctx context.Context, m message) int {
	l.write(ctx, m) // best effort; a broken pipe shows at the next request
	return 1
}

// end does nothing: over pipes there are no sessions.
func (l *pipeLink) end(context.Context, message) int { return 0 }

// isMessage reports whether a line may hold a message.
func isMessage(text []byte) bool {
	b := bytes.TrimLeft(bytes.TrimPrefix(text, []byte("\ufeff")), " \t\r")
	return len(b) > 0 && (b[0] == '{' || b[0] == '[')
}

// A hearing looks for the answer to one request among the lines of a server.
type hearing struct {
	id      int64
	flags   []record.Flag
	others  int    // responses with another id
	other   []byte // the first of them
	invalid bool   // a message was no strict JSON
}

// hear takes one line. It reports whether that answered.
func (h *hearing) hear(text []byte, use func(*canon.Value)) (answer, bool) {
	response, err := jsonrpc.Read(text, h.id)
	fault, _ := errors.AsType[*jsonrpc.Fault](err)
	switch {
	case err == nil && slices.Contains(response.Flags, record.FlagIDMismatch):
		h.others++
		if h.other == nil {
			h.other = text
		}
	case err == nil:
		return h.settle(response, text, use), true
	case fault != nil && fault.Detail == record.DetailTooLarge:
		return answer{outcome: record.Outcome{Class: record.Parse, Detail: fault.Detail}}, true
	case fault != nil && fault.Detail == record.DetailInvalidJSON:
		if answers(text, h.id) {
			return answer{outcome: record.Outcome{Class: record.Parse, Detail: fault.Detail}}, true
		}
		h.invalid = h.invalid || bytes.Contains(text, []byte(`"jsonrpc"`))
	case fault != nil && fault.Detail == record.DetailNotJSONRPC:
		if announcesChange(text) {
			h.flags = append(h.flags, record.FlagListChanged)
		} else if answers(text, h.id) {
			return answer{outcome: record.Outcome{Class: record.Parse, Detail: fault.Detail}}, true
		}
	}
	return answer{}, false
}

// settle returns the answer that a response is, with what was seen before it.
func (h *hearing) settle(response jsonrpc.Response, text []byte, use func(*canon.Value)) answer {
	a := settle(response, text, 0, use)
	if a.outcome.OK() {
		a.flags = append(a.flags, h.flags...)
	}
	return a
}

// end returns the answer where no line answered, and err says why none comes.
func (h *hearing) end(err error, use func(*canon.Value)) answer {
	timeout := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	o := record.Outcome{Class: record.TLS, Detail: record.DetailReset}
	switch {
	case errors.Is(err, errTooLong):
		o = record.Outcome{Class: record.Parse, Detail: record.DetailTooLarge}
	case !timeout && h.others == 1:
		if response, err := jsonrpc.Read(h.other, h.id); err == nil {
			return h.settle(response, h.other, use)
		}
	case h.invalid:
		o = record.Outcome{Class: record.Parse, Detail: record.DetailInvalidJSON}
	case timeout:
		o = record.Outcome{Class: record.Timeout}
	}
	return answer{outcome: o}
}

// answers reports whether text, read loosely, is a message with this id that asks
// for nothing: the answer, though not in form.
func answers(text []byte, id int64) bool {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	return json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &m) == nil &&
		m.Method == nil && string(m.ID) == fmt.Sprint(id)
}

// announcesChange reports whether text is the notification that the list of tools
// has changed.
func announcesChange(text []byte) bool {
	const method = "notifications/tools/list_changed"
	if !bytes.Contains(text, []byte("list_changed")) {
		return false
	}
	v, err := canon.Parse(text)
	if err != nil || v.Kind != canon.Object {
		return false
	}
	m := v.Get("method")
	return m != nil && m.Kind == canon.String && m.Text == method
}
