// Package mcp speaks just enough MCP to have a server list its tools, and returns
// the bytes with the conditions.
//
// It never calls a tool, never fetches what an answer names, sends no credentials,
// no Origin and no declared header. What it sends beyond that is decided by the
// members of the [record.Methodology], in one sequence for every methodology and
// transport.
//
// # The exchange
//
// Methodology v1 is three POSTs (seeds: mcp-schema-methodology-v1, "Probe"):
// initialize with id 1 and no capabilities; notifications/initialized, best
// effort; tools/list with id 2 and empty params, with the session id that the
// answer to initialize gave. The first mandatory step that fails ends the
// reading. Nothing is retried, no session is ended. Each request has the
// methodology's RequestTimeout for everything including its body; the
// notification has a quarter of it, only its headers are waited for, and nothing
// about it matters. The requests are the same bytes every day, so that a server
// which says the same sends the same bytes.
//
// A session id is sent back only if it is 1 to 1,024 bytes of visible ASCII (MCP
// 2025-03-26, "Session Management"); another one is ignored, as if the server
// had given none.
//
// Methodology v2 differs in this (DESIGN.md 4, protocol.md 1.7):
//
//   - VersionHeader: what follows the handshake carries MCP-Protocol-Version with
//     the negotiated version, if that is a date from 2025-06-18 on.
//   - FollowPages: see "Pages".
//   - ModernEra: see "The era without a handshake".
//   - Reinitialize: a 404 to a request that carried a session id is a lost
//     session. It is begun anew once, without an id, and the list is read from
//     its first page; what came of the lost session is dropped. The reading has
//     the flag session_renewed. A second loss is http_4xx/session.
//   - CloseSession: a session that is not lost is ended by DELETE with its id and
//     the version, also when the list failed. That is as little waited for as the
//     notification, and nothing about it matters.
//
// # The era without a handshake
//
// A server speaks 2026-07-28 and nothing else if its answer to initialize, under
// any status, is a JSON-RPC error -32020, -32021 or -32022, or, under 400 or 404
// (or where there is no status), a JSON-RPC error whose message or a text in
// whose data names _meta. Of a body beside a status from 400 on, 64 KiB are read.
// Then server/discover takes the place of the handshake, with id 1: its answer is
// the reading's Init, its capabilities and instructions are the server's, and the
// server's name is in the _meta of its result, else in serverInfo. It is
// mandatory: every server of that era has it. Every request has the _meta of
// protocol.md 1.5 and, over HTTP, the headers MCP-Protocol-Version and Mcp-Method.
//
// The first request of that era that is refused by -32022 is sent once more if
// the data of the error list a version that is spoken here, in supported or
// supportedVersions. That can only be 2026-07-28, the version that was refused:
// servers that come up behave so, and the conformance suite.
//
// A handshake that agrees on 2026-07-28, which no version of the protocol
// provides for, is followed by requests of that version's form. A methodology
// whose ProtocolVersion is 2026-07-28 begins with server/discover.
//
// # Pages
//
// A cursor is a string; anything else, null for one, ends the list, and so does
// its absence. The empty string is a cursor and is sent (MCP 2026-07-28,
// "Pagination"). Page n has the id n+1, in every session and on every day.
//
// A list is left before its end, as a success that is not complete, at a cursor
// that was sent before (cursor_repeated; the page that repeats it is kept), and
// with list_capped: at 200 pages, at 10,000 elements, at 32 MiB of bodies, at
// [canon.MaxValues] times two JSON values, or at a cursor of more than 16 KiB. A
// further page that would exceed one of the sums is not kept and not counted. A
// further page that fails fails the reading, at step tools/list#n.
//
// All requests of a reading that have to be answered may take six times the
// RequestTimeout together, by the client's clock and without waits for a turn:
// enough for every sequence of steps, with a quarter left for further pages. None
// counts with more than it was given, so a clock that jumps costs the others nothing.
// With the notifications and the end of the session no server holds a reading for
// longer than 6.75 times that, 135 seconds. What is out of time is timeout.
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
// event that answers, where reading stops. Under v1, which reads one page, a
// reading is complete unless that page has a cursor. An announced change of the
// list is a flag and no reason to read again.
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
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

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
	Init     []byte         // body that answered initialize, or server/discover in its place; nil if that step failed
	Pages    [][]byte       // bodies that answered tools/list, in page order; nil unless the reading succeeded
	Capture  record.Capture // the conditions, as far as the reading came
	Server   *record.Server // nil if Init is
	Flags    []record.Flag  // of the answers and of the exchange, sorted, each once; nil unless the reading succeeded

	InitLatency time.Duration // of the request that Init answers or that failed for it, from sending to the end of the answer or failure; -1 if it was not sent
	ListLatency time.Duration // of tools/list, all pages together; -1 if it was not sent

	Requests   int           // HTTP requests made, redirects that were followed, the notification and the end of the session included
	RetryAfter time.Duration // how long the failing answer asked to wait, from 0 to 24 hours; 0 if it did not
}

// Read reads the tool list of the server at endpoint under m. How the server
// behaved is the reading's Outcome. It returns an error only when there is no
// telling: ctx was cancelled or its own deadline passed, or this machine had no
// means left to make the request.
func (c *Client) Read(ctx context.Context, endpoint string, m record.Methodology) (Reading, error) {
	reading, err := c.read(ctx, &httpLink{client: c, endpoint: endpoint}, m)
	if err != nil {
		return Reading{}, fmt.Errorf("reading the tools of %s: %w", endpoint, err)
	}
	return reading, nil
}

func (c *Client) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}
