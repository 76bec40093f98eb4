module github.com/mcpstrata/mcpstrata/.ci/real

go 1.26

require (
	github.com/mark3labs/mcp-go v1.2.1 // indirect
	github.com/modelcontextprotocol/go-sdk v1.8.0 // indirect
	github.com/modelcontextprotocol/registry v1.7.9 // indirect
)
