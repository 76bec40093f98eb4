package peers

import (
	"context"
	"embed"
	"io/fs"

	"github.com/mcpstrata/mcpstrata/ci/real/npm"
)

//go:embed npm/package.json npm/package-lock.json npm/modern.mjs npm/loopback.cjs
var files embed.FS

// Install returns a folder with the npm servers in it.
func Install(ctx context.Context, temp string) (dir string, err error) {
	tree, err := fs.Sub(files, "npm")
	if err != nil {
		return "", err
	}
	return npm.Install(ctx, tree, temp)
}
