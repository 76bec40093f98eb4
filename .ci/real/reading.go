package main

import (
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
	"github.com/mcpstrata/mcpstrata/ci/real/tape"
	"github.com/mcpstrata/mcpstrata/ci/real/wire"
)

// A reading is what the proxy of one server saw of one reading.
type reading struct {
	asked  []string // methods of the JSON-RPC messages sent, or "METHOD uri" of another request
	talk   []tape.Exchange
	init   initResult
	status int       // of the last request's answer
	list   wire.List // of tools/list
	body   []byte    // the bytes of the list's first artifact; nil without a list
	bodies [][]byte  // of all pages
	sent   int       // length of all that the server sent of that body
	left   bool      // the reader left before the server ended the body
	stream bool
}

// An initResult is what the handshake answer says.
type initResult struct {
	ProtocolVersion string `json:"protocolVersion"`
	Instructions    string `json:"instructions"`
	ServerInfo      struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"serverInfo"`
}

// A call is a JSON-RPC request as the program under test sent it.
type call struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
		Cursor          json.RawMessage `json:"cursor"`
	} `json:"params"`
}

// readTape reads the exchanges of one reading of one server.
func readTape(talk []tape.Exchange) (*reading, error) {
	r := &reading{talk: talk}
	for _, e := range talk {
		var c call
		if e.Method != "POST" || json.Unmarshal(e.Request, &c) != nil {
			r.asked = append(r.asked, e.Method+" "+e.URI)
			continue
		}
		r.asked = append(r.asked, c.Method)
		r.status = e.Status
		if e.Status != 200 || c.ID == nil {
			continue
		}
		body, err := e.Decoded()
		if err != nil {
			return nil, err
		}
		media, _, _ := mime.ParseMediaType(e.Header.Get("Content-Type"))
		stream := media == "text/event-stream"
		answer, end, err := wire.Answer(body, stream, c.ID)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Method, err)
		}
		switch c.Method {
		case "initialize":
			err = json.Unmarshal(answer.Result, &r.init)
		case "tools/list":
			r.body, r.sent, r.left, r.stream = body[:end], len(body), !e.Done, stream
			r.bodies = append(r.bodies, r.body)
			r.body = r.bodies[0]
			var page wire.List
			page, err = wire.Tools(answer.Result)
			r.list.Tools, r.list.More = append(r.list.Tools, page.Tools...), page.More
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Method, err)
		}
	}
	return r, nil
}

// version is what methodology v1 asks for.
const version = "2024-11-05"

// conduct returns what the run did otherwise than methodology v1 says: the
// requests, their order, their headers.
func (r *reading) conduct(whole bool) []string {
	var bad check.List
	want := []string{"initialize"}
	if whole {
		want = []string{"initialize", "notifications/initialized", "tools/list"}
	}
	if !slices.Equal(r.asked, want) {
		bad.Add("asked %s, want %s", strings.Join(r.asked, ", "), strings.Join(want, ", "))
		return bad
	}
	session := r.talk[0].Header.Get("Mcp-Session-Id")
	for i, e := range r.talk {
		h := e.Sent
		bad.Same(want[i]+": Accept", h.Get("Accept"), "application/json, text/event-stream")
		bad.Same(want[i]+": Content-Type", h.Get("Content-Type"), "application/json")
		for _, name := range []string{"Origin", "Mcp-Protocol-Version", "Authorization", "Cookie"} {
			bad.Same(want[i]+": "+name, h.Get(name), "")
		}
		if !strings.HasPrefix(h.Get("User-Agent"), "mcpstrata/") {
			bad.Add("%s: User-Agent = %q, want mcpstrata/…", want[i], h.Get("User-Agent"))
		}
		if i > 0 {
			bad.Same(want[i]+": Mcp-Session-Id", h.Get("Mcp-Session-Id"), session)
		}
	}
	var first call
	if err := json.Unmarshal(r.talk[0].Request, &first); err != nil {
		bad.Add("initialize: %v", err)
	}
	bad.Same("initialize: protocolVersion", first.Params.ProtocolVersion, version)
	bad.Same("initialize: capabilities", string(first.Params.Capabilities), "{}")
	return bad
}
