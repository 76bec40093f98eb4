// Package peers starts MCP servers that none of us wrote, each on a loopback
// port of its own, and says what methodology v1 must find there.
//
// # Sources
//
// npm packages at the versions in npm/package.json, and two Go libraries at the
// versions in go.mod. The only code of ours is what a library needs to be a
// server: a few tools in gopeers.go and npm/modern.mjs.
//
// # Kinds
//
// Between them the servers answer as JSON and as event streams, with and
// without a session, in one page and in several, ask for a login, and refuse
// every protocol version but the newest.
package peers

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpstrata/mcpstrata/ci/real/child"
)

// Namespace is what comes before the slash of the servers' registry names.
const Namespace = "org.example.real/"

// An Outcome is what the row of a server must say. The zero Outcome is success.
type Outcome struct {
	Class  string // error_class
	Detail string
	Status int
	Step   string
}

// A Release is one version of a server.
type Release struct {
	Version string                        // as its registry row says
	Script  string                        // below node_modules, or a file of npm/; "" for a Go server
	Args    func(port string) []string    // of the script
	Env     func(port string) []string    // may be nil
	Handler func() (http.Handler, func()) // of a Go server, and what ends it
}

// A Peer is a server to read.
type Peer struct {
	Name    string
	Title   string // what it is, for people
	First   Release
	Upgrade *Release // what it becomes on a later day; nil: it stays
	Want    Outcome
	Modern  bool // it speaks only 2026-07-28: Want is what v1 gets, and v2 gets the list
}

// All returns the servers, in the order of their registry rows.
func All() []Peer {
	return []Peer{
		{
			Name: "everything", Title: "@modelcontextprotocol/server-everything, event streams, sessions",
			First: everything("2025.11.25", "everything-old"), Upgrade: ptr(everything("2026.8.31", "everything-new")),
		},
		{
			Name: "context7", Title: "@upstash/context7-mcp, both protocol eras",
			First: Release{Version: "4.1.1", Script: "@upstash/context7-mcp/dist/index.js", Args: args("--transport", "http", "--port")},
		},
		{
			Name: "playwright", Title: "@playwright/mcp, event streams, sessions",
			First: playwright("0.0.78", "playwright-old"), Upgrade: ptr(playwright("0.0.83", "playwright-new")),
		},
		{
			Name: "chart", Title: "@antv/mcp-server-chart, JSON, no session",
			First: Release{Version: "0.9.10", Script: "@antv/mcp-server-chart/build/index.js", Args: args("-t", "streamable", "-p")},
		},
		{
			Name: "notion", Title: "@notionhq/notion-mcp-server, asks for a login",
			First: Release{Version: "2.5.2", Script: "@notionhq/notion-mcp-server/bin/cli.mjs", Args: args("--transport", "http", "--port")},
			Want:  Outcome{Class: "auth", Status: 401, Step: "initialize"},
		},
		{
			Name: "modern-only", Title: "@modelcontextprotocol/server 2.4.0, speaks only 2026-07-28",
			First: Release{Version: "1.0.0", Script: "modern.mjs", Args: args()},
			Want:  Outcome{Class: "http_4xx", Detail: "rpc:-32022", Status: 400, Step: "initialize"}, Modern: true,
		},
		{Name: "go-sdk-json", Title: "go-sdk 1.8.0, JSON, no session", First: Release{Version: "1.0.0", Handler: goSDKJSON}},
		{Name: "go-sdk-paged", Title: "go-sdk 1.8.0, event streams, sessions, three pages", First: Release{Version: "1.0.0", Handler: goSDKPaged}},
		{Name: "mcp-go", Title: "mcp-go 1.2.1, JSON, sessions", First: Release{Version: "1.0.0", Handler: mcpGo}},
	}
}

func everything(version, folder string) Release {
	return Release{
		Version: version, Script: folder + "/dist/index.js",
		Args: func(string) []string { return []string{"streamableHttp"} },
		Env:  func(port string) []string { return []string{"PORT=" + port} },
	}
}

func playwright(version, folder string) Release {
	return Release{Version: version, Script: folder + "/cli.js", Args: args("--host", "127.0.0.1", "--allowed-hosts", "*", "--port")}
}

// args returns arguments that end with the port.
func args(before ...string) func(string) []string {
	return func(port string) []string { return append(append([]string(nil), before...), port) }
}

func ptr[T any](v T) *T { return &v }

// A Host runs servers.
type Host struct {
	Group *child.Group
	Node  string // the folder of Install; "" when no server needs it
	Temp  string // where servers may leave files
}

// A Running server listens at Addr.
type Running struct {
	Addr string // host:port
	Stop func()
}

// startTimeout is how long a server may take until it listens, where two cores
// start all of them at once.
const startTimeout = 90 * time.Second

// Start starts one release of a server and waits until it listens.
func (h *Host) Start(ctx context.Context, name string, r Release) (*Running, error) {
	if r.Handler != nil {
		return serve(name, r)
	}
	port, err := child.FreePort()
	if err != nil {
		return nil, err
	}
	p := strconv.Itoa(port)
	script := "node_modules/" + r.Script
	if r.Script == "modern.mjs" {
		script = r.Script
	}
	env := []string{
		"NODE_OPTIONS=--require=" + h.Node + "/loopback.cjs",
		"NODE_ENV=production", "NO_COLOR=1", "OTEL_SDK_DISABLED=true", "TMPDIR=" + h.Temp,
	}
	if r.Env != nil {
		env = append(env, r.Env(p)...)
	}
	process, err := h.Group.Start(child.Spec{
		Name: name + "-" + r.Version,
		Args: append([]string{"node", script}, r.Args(p)...),
		Dir:  h.Node,
		Env:  env,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	addr := net.JoinHostPort("127.0.0.1", p)
	if err := process.WaitPort(ctx, addr); err != nil {
		return nil, err
	}
	return &Running{Addr: addr, Stop: process.Stop}, nil
}

// serve runs a Go server in this process.
func serve(name string, r Release) (*Running, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	handler, end := r.Handler()
	s := &http.Server{Handler: handler}
	go s.Serve(l) // returns when closed
	return &Running{Addr: l.Addr().String(), Stop: func() { end(); _ = s.Close() }}, nil
}
