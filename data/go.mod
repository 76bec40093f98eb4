module github.com/mcpstrata/mcpstrata/data

go 1.26
