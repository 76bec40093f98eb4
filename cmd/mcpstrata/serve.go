package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpstrata/mcpstrata/internal/api"
	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/site"
)

// serveAddr is where a site is served unless another address is named: to this
// machine only.
const serveAddr = "127.0.0.1:8080"

// serveVerb serves a rendered site until it is interrupted.
func serveVerb(ctx context.Context, c *call) error {
	dir := c.flags.String("site", siteDir, "`folder` that holds the site")
	addr := c.flags.String("http", serveAddr, "`address` to serve it at; port 0 is any free one")
	if _, err := c.parse(0, 0); err != nil {
		return err
	}
	if err := hasSite(*dir); err != nil {
		return err
	}
	l, err := listen(ctx, *addr)
	if err != nil {
		return err
	}
	return serveSite(ctx, c, *dir, l)
}

// listen takes an address to serve at.
func listen(ctx context.Context, addr string) (*api.Listener, error) {
	l, err := api.Listen(ctx, addr)
	if err != nil {
		return nil, &daily.HintError{Err: err, Next: "name another address; -http 127.0.0.1:0 takes any free port"}
	}
	return l, nil
}

// hasSite fails where a folder holds no site.
func hasSite(dir string) error {
	_, err := os.Stat(filepath.Join(dir, "index.html"))
	if errors.Is(err, fs.ErrNotExist) {
		return &daily.HintError{Err: fmt.Errorf("%s: there is no site in it", dir), Next: "`mcpstrata site` builds it"}
	}
	if err != nil {
		return fmt.Errorf("opening the site: %w", err)
	}
	return nil
}

// serveSite prints the URL of the site in dir and serves it until ctx is done.
// Links out of the folder are not followed.
func serveSite(ctx context.Context, c *call, dir string, l *api.Listener) error {
	defer l.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening the site: %w", err)
	}
	defer root.Close()
	if _, err := fmt.Fprintln(c.stdout, l.URL()); err != nil {
		return err
	}
	return l.Serve(ctx, api.Below(site.BasePath(root.FS()), api.Site(root.FS())), c.note)
}
