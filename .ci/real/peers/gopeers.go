package peers

import (
	"context"
	"net/http"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// query is what the Go servers' tools take.
type query struct {
	Text  string `json:"text" jsonschema:"what to look for"`
	Limit int    `json:"limit,omitempty" jsonschema:"at most this many answers"`
}

// found is what they would return; nobody calls them.
type found struct {
	Lines []string `json:"lines"`
}

// goSDK returns a go-sdk server with five tools.
func goSDK(pageSize int) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk-peer", Version: "1.0.0"}, &mcp.ServerOptions{PageSize: pageSize})
	for _, name := range []string{"find_books", "find_films", "find_maps", "find_songs", "find_words"} {
		tool := &mcp.Tool{Name: name, Description: "Looks in the catalogue: " + name + " <b>&</b> ünïcode.",
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
		mcp.AddTool(s, tool, func(context.Context, *mcp.CallToolRequest, query) (*mcp.CallToolResult, found, error) {
			return nil, found{}, nil
		})
	}
	return s
}

// goSDKJSON answers in JSON, without a session.
func goSDKJSON() (http.Handler, func()) {
	s := goSDK(0)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}), func() {}
}

// goSDKPaged answers in event streams, with a session, two tools a page.
func goSDKPaged() (http.Handler, func()) {
	s := goSDK(2)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil), func() {}
}

// mcpGo is a server of the other widespread Go library.
func mcpGo() (http.Handler, func()) {
	s := mcpgoserver.NewMCPServer("mcp-go-peer", "1.0.0", mcpgoserver.WithToolCapabilities(true))
	tool := mcpgo.NewTool("reverse", mcpgo.WithDescription("Reverses a text."),
		mcpgo.WithString("text", mcpgo.Required(), mcpgo.Description("the text to reverse")))
	s.AddTool(tool, func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return mcpgo.NewToolResultText(""), nil
	})
	h := mcpgoserver.NewStreamableHTTPServer(s)
	return h, func() { _ = h.Shutdown(context.Background()) }
}
