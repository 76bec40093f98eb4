package mcp

import (
	"encoding/json"
	"fmt"
)

// The ids and bodies of the requests. They never change, so that equal answers
// are equal bytes. Page n of the list has the id listID+n-1, in every session.
const (
	initializeID = 1
	discoverID   = 1
	listID       = 2

	initializedBody = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// The methods that are sent. There are no others.
const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodDiscover    = "server/discover"
	methodList        = "tools/list"
)

// modernVersion is the one protocol version without a handshake that is spoken.
const modernVersion = "2026-07-28"

// A message is one message to a server, with what stands beside its body.
type message struct {
	method  string // of JSON-RPC; empty in the end of a session
	id      int64  // 0 for a notification
	body    []byte // one line
	session string // id of the session that it belongs to; "" if none
	version string // protocol version to name beside the body; "" to name none
	modern  bool   // of the era without a handshake: the method is named beside the body
	look    bool   // what error an answer holds is wanted whatever its status
}

// initializeBody returns the request that begins the handshake.
func initializeBody(protocol string, info Info) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%s,"capabilities":{},"clientInfo":%s}}`,
		quote(protocol), info.bytes())
}

// modernMeta returns the _meta of every request of the era without a handshake,
// as the member of params that it is (protocol.md 1.5).
func modernMeta(info Info) []byte {
	return fmt.Appendf(nil, `"_meta":{"io.modelcontextprotocol/protocolVersion":%s,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":%s}`,
		quote(modernVersion), info.bytes())
}

// discoverBody returns the request for what the server is.
func discoverBody(info Info) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"server/discover","params":{%s}}`, discoverID, modernMeta(info))
}

// listBody returns the request for page n of the list, counted from 1. The first
// page has no cursor; meta is the member _meta of the params, or empty.
func listBody(n int, cursor string, meta []byte) []byte {
	params := string(meta)
	if n > 1 {
		if params != "" {
			params += ","
		}
		params += `"cursor":` + string(quote(cursor))
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{%s}}`, listID+n-1, params)
}

func quote(s string) []byte {
	b, _ := json.Marshal(s) // of a string, can't fail
	return b
}
