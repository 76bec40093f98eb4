package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkHandler serves a state with the official Go SDK, which lists tools in name
// order. hangUp ends the sessions that readers left open.
func sdkHandler(f flavour, s *state) (h http.Handler, hangUp func(), err error) {
	server := mcp.NewServer(
		&mcp.Implementation{Name: s.about.name, Title: s.about.title, Version: s.about.version},
		&mcp.ServerOptions{
			Instructions: s.about.instructions,
			PageSize:     1000,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		})
	for _, t := range s.list.tools {
		var tool mcp.Tool
		if err := json.Unmarshal([]byte(style{}.text(t.object())), &tool); err != nil {
			return nil, nil, fmt.Errorf("making tool %q: %w", t.name, err)
		}
		tool.InputSchema = json.RawMessage(style{}.text(t.input()))
		if len(t.output) > 0 {
			tool.OutputSchema = json.RawMessage(style{}.text(schemaOf(t.output)))
		}
		server.AddTool(&tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("tools of a simulated server can't be called")
		})
	}
	h = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: f != sdkState, JSONResponse: f == sdkJSON})
	hangUp = func() {
		for session := range server.Sessions() {
			session.Close() // fails only when the reader has left
		}
	}
	return h, hangUp, nil
}
