// Package mcp speaks just enough MCP to have a server list its tools, and returns
// the bytes with the conditions.
//
// It speaks the era of the handshake, as methodology v1 asks. It never calls a tool,
// never fetches what an answer names, sends no credentials, no Origin and no
// declared header.
//
// # The exchange
//
// Three POSTs (seeds: mcp-schema-methodology-v1, "Probe"): initialize with id 1
// and no capabilities; notifications/initialized, best effort; tools/list with
// id 2 and empty params, with the session id that the answer to initialize gave.
// The first mandatory step that fails ends the reading. Each request has the
// methodology's RequestTimeout for everything including its body; the
// notification has a quarter of it, only its headers are waited for, and nothing
// about it matters. Nothing is retried. The requests are the same bytes every
// day, so that a server which says the same sends the same bytes.
//
// A session id is sent back only if it is 1 to 1,024 bytes of visible ASCII (MCP
// 2025-03-26, "Session Management"); another one is ignored, as if the server
// had given none.
//
// # How it ended
//
// What is seen first decides: transport, then HTTP status, then body.
//
//   - Transport: see [github.com/mcpstrata/mcpstrata/internal/safehttp.Kind];
//     too_large, content_encoding and redirect are parse, bad_url is
//     no_endpoint, all others timeout or tls.
//   - Status 400 and up decides alone; the body, of which 64 KiB are read,
//     refines it. A 404 to a request with a session id is session, whatever the
//     body says. 401 has no detail.
//   - Status 200 to 299 is decided by the body. A 202, 204 or 205 that holds no
//     response is empty, because it promised none.
//   - A status below 200 or from 600 is not_jsonrpc. From 300 to 399 it is
//     redirect.
//   - An error object in a 2xx is parse/rpc:<code>, whatever it means.
//   - The result has to be an object, else not_jsonrpc. What the object of
//     tools/list holds is for package contract to judge.
//
// # What is kept
//
// The decoded bytes of a body, verbatim; of an event stream up to the end of the
// event that answers, where reading stops. A reading is complete unless the
// result has a nextCursor that is a string, the empty one included (MCP
// 2026-07-28, "Pagination").
//
// # Memory
//
// A tree is many times the size of its body, so those of large bodies are not
// all built at once ([Client.Admit]). A body that waits for its turn has been
// read: the wait is no part of its latency, nor of the request's timeout. Only a
// stream that sends a message of more than 64 KiB which is not the answer can
// lose time by it.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/safehttp"
)

// An Info is the clientInfo of initialize. The zero Info stands for mcpstrata,
// version 1: not the version of the program, because a release must not change
// what servers that echo it answer.
type Info struct{ Name, Version string }

// bytes returns i as a JSON object.
func (i Info) bytes() []byte {
	i = cmp.Or(i, Info{"mcpstrata", "1"})
	return fmt.Appendf(nil, `{"name":%s,"version":%s}`, quote(i.Name), quote(i.Version))
}

// A Client reads the tool lists of servers. It is safe for concurrent use if Now
// is. It must not be copied after its first use.
type Client struct {
	HTTP *safehttp.Client // bounds bodies to its MaxBody
	Info Info             // keep it constant
	Now  func() time.Time // nil is time.Now

	once  sync.Once           // makes alive
	alive *semaphore.Weighted // values of the trees at work, by [Client.Admit]
}

// A Reading is what one attempt at one server got.
type Reading struct {
	Outcome  record.Outcome
	Observed time.Time      // when the reading began
	Init     []byte         // body that answered initialize; nil if that step failed
	Pages    [][]byte       // bodies that answered tools/list, in page order; nil unless the reading succeeded
	Capture  record.Capture // the conditions, as far as the reading came
	Server   *record.Server // nil if initialize failed
	Flags    []record.Flag  // of both answers, sorted, each once; nil unless the reading succeeded

	InitLatency time.Duration // of initialize, from sending to the end of the answer or failure; -1 if it was not sent
	ListLatency time.Duration // of tools/list; -1 if it was not sent

	Requests   int           // HTTP requests made, redirects that were followed and the notification included
	RetryAfter time.Duration // how long the failing answer asked to wait, from 0 to 24 hours; 0 if it did not
}

// Read reads the tool list of the server at endpoint under m. How the server
// behaved is the reading's Outcome. It returns an error only when there is no
// telling: ctx was cancelled or its own deadline passed, or this machine had no
// means left to make the request.
func (c *Client) Read(ctx context.Context, endpoint string, m record.Methodology) (Reading, error) {
	e := c.begin(endpoint, m)
	if err := e.read(ctx); err != nil {
		return Reading{}, fmt.Errorf("reading the tools of %s: %w", endpoint, err)
	}
	return e.reading, nil
}

// An exchange is one reading in the making.
type exchange struct {
	client   *Client
	endpoint string
	m        record.Methodology
	session  string // id that the server gave; "" if none
	flags    []record.Flag
	reading  Reading
}

func (c *Client) begin(endpoint string, m record.Methodology) *exchange {
	observed := c.now()
	return &exchange{client: c, endpoint: endpoint, m: m, reading: Reading{
		Observed: observed,
		Capture: record.Capture{
			ClientCapabilities: []string{},
			ObservedAt:         record.At(observed),
			Protocol:           record.Protocol{Requested: m.ProtocolVersion},
			Transport:          "streamable-http",
		},
		InitLatency: -1,
		ListLatency: -1,
	}}
}

func (c *Client) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// read makes the steps, up to the first mandatory one that fails.
func (e *exchange) read(ctx context.Context) error {
	if ok, err := e.initialize(ctx); err != nil || !ok {
		return err
	}
	if err := e.notify(ctx); err != nil {
		return err
	}
	ok, err := e.list(ctx)
	if err != nil || !ok {
		return err
	}
	slices.Sort(e.flags)
	e.reading.Flags = slices.Compact(e.flags)
	return nil
}

// The ids and bodies of the requests. They never change.
const (
	initializeID = 1
	listID       = 2

	initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listBody        = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
)

// initializeBody returns the request that begins the handshake.
func initializeBody(protocol string, info Info) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%s,"capabilities":{},"clientInfo":%s}}`,
		quote(protocol), info.bytes())
}

func quote(s string) []byte {
	b, _ := json.Marshal(s) // of a string, can't fail
	return b
}

// initialize makes the first step and takes from its answer what the later ones
// need. It reports whether it succeeded.
func (e *exchange) initialize(ctx context.Context) (bool, error) {
	body := initializeBody(e.m.ProtocolVersion, e.client.Info)
	a, err := e.ask(ctx, record.StepInitialize, body, initializeID, func(result *canon.Value) {
		e.reading.Server = readServer(result)
		e.reading.Capture.Protocol.Negotiated = text(result.Get("protocolVersion"), maxVersion)
	})
	e.reading.InitLatency = a.latency
	if err != nil || !a.outcome.OK() {
		return false, err
	}
	e.reading.Init = a.body
	e.session = sessionID(a.header)
	return true, nil
}

// notify sends notifications/initialized. Nothing about its answer matters
// (protocol.md 1.7); the only error is that ctx is done.
func (e *exchange) notify(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, e.m.RequestTimeout/notifyShare)
	defer cancel()
	resp, err := e.client.HTTP.Do(short, e.request([]byte(initializedBody)))
	if err == nil {
		e.reading.Requests += 1 + resp.Redirects + resp.Resent
		resp.Finish(grace)
	} else {
		f := failure(err)
		e.reading.Requests += 1 + f.Redirects + f.Resent
	}
	return ctx.Err()
}

// list reads the list. It reports whether it succeeded.
func (e *exchange) list(ctx context.Context) (bool, error) {
	step := record.ListStep(1)
	a, err := e.ask(ctx, step, []byte(listBody), listID, func(result *canon.Value) {
		cursor := result.Get("nextCursor")
		e.reading.Capture.Pages = record.Pages{Complete: cursor == nil || cursor.Kind != canon.String, Read: 1}
	})
	e.reading.ListLatency = a.latency
	if err != nil || !a.outcome.OK() {
		return false, err
	}
	e.reading.Pages = [][]byte{a.body}
	return true, nil
}

// An answer is what one mandatory request got.
type answer struct {
	outcome record.Outcome
	header  http.Header
	body    []byte // as kept
	flags   []record.Flag
	waited  time.Duration // for its turn to be parsed
	latency time.Duration // without that
}

// ask sends a mandatory request, reads its answer and, if that is a result which
// is an object, has use take from it what is needed; use keeps no part of it, and
// strings only if it cloned them. A failure of the server becomes the outcome of the reading; the error is ours, as of [Client.Read].
func (e *exchange) ask(parent context.Context, step record.Step, body []byte, id int64, use func(*canon.Value)) (answer, error) {
	ctx, cancel := context.WithTimeout(parent, e.m.RequestTimeout)
	defer cancel()
	start := e.client.now()
	resp, a, err := e.send(ctx, body)
	if resp != nil {
		a = e.receive(parent, resp, id, use)
	}
	a.latency = max(0, e.client.now().Sub(start)-a.waited)
	if resp != nil {
		resp.Finish(grace)
	}
	if err != nil {
		return answer{}, err
	}
	if err := parent.Err(); err != nil && !a.outcome.OK() {
		return answer{}, err
	}
	if a.outcome.OK() {
		e.flags = append(e.flags, a.flags...)
		return a, nil
	}
	if a.outcome.Class == record.NoEndpoint {
		a.latency = -1 // nothing was sent
	} else {
		a.outcome.Step = step
	}
	e.reading.Outcome = a.outcome
	e.reading.RetryAfter = retryAfter(a.header, e.client.now())
	return a, nil
}

// send makes one request. It returns its response, which the caller finishes, or
// the answer or error that stand for there being none.
func (e *exchange) send(ctx context.Context, body []byte) (*safehttp.Response, answer, error) {
	resp, err := e.client.HTTP.Do(ctx, e.request(body))
	if err != nil {
		f := failure(err)
		if f.Kind == safehttp.Local {
			return nil, answer{}, err
		}
		if f.Kind != safehttp.BadURL {
			e.reading.Requests += 1 + f.Redirects + f.Resent
		}
		return nil, answer{outcome: transport(f)}, nil
	}
	e.reading.Requests += 1 + resp.Redirects + resp.Resent
	return resp, answer{}, nil
}

// receive reads an answer as far as it matters. ctx bounds the wait for its turn
// to be parsed; the context of the request bounds reading it.
func (e *exchange) receive(ctx context.Context, resp *safehttp.Response, id int64, use func(*canon.Value)) (a answer) {
	a.header = resp.Header
	if resp.Status < 200 || resp.Status > 299 {
		a.outcome = e.refused(resp, id)
		return a
	}
	t := turn{client: e.client}
	defer t.end()
	kept, response, err := readAnswer(ctx, resp.Body, id, &t)
	a.waited = t.waited
	if err != nil {
		a.outcome = unread(resp.Status, err)
		return a
	}
	if response.Error != nil {
		a.outcome = record.Outcome{Class: record.Parse, Detail: record.RPCDetail(response.Error.Code), HTTPStatus: resp.Status}
		return a
	}
	if response.Result.Kind != canon.Object {
		a.outcome = record.Outcome{Class: record.Parse, Detail: record.DetailNotJSONRPC, HTTPStatus: resp.Status}
		return a
	}
	use(response.Result)
	a.body, a.flags = kept, slices.Clone(response.Flags)
	if !mediaTypeFits(resp.Header.Get("Content-Type"), kept) {
		a.flags = append(a.flags, record.FlagContentType)
	}
	return a
}

// request returns the POST that carries a message.
func (e *exchange) request(body []byte) safehttp.Request {
	h := http.Header{
		"Accept":       {"application/json, text/event-stream"},
		"Content-Type": {"application/json"},
	}
	if e.session != "" {
		h.Set(sessionHeader, e.session)
	}
	return safehttp.Request{Method: http.MethodPost, URL: e.endpoint, Header: h, Body: body}
}
