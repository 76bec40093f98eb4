package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/api"
	"github.com/mcpstrata/mcpstrata/internal/daily"
)

// serveAddr is where the site is served unless another address is named: to this
// machine only.
const serveAddr = "127.0.0.1:8080"

// serveVerb serves a rendered site until it is interrupted.
func serveVerb(ctx context.Context, c *call) error {
	dir := c.flags.String("site", siteDir, "`folder` that holds the site")
	addr := c.flags.String("http", serveAddr, "`address` to serve it at; port 0 is any free one")
	if _, err := c.parse(0, 0); err != nil {
		return err
	}
	return serveSite(ctx, c, *dir, *addr)
}

// serveSite serves the site in dir until ctx is done, and prints its URL as soon
// as it can be opened. Links out of the folder are not followed.
func serveSite(ctx context.Context, c *call, dir, addr string) error {
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer root.Close()
		_, err = root.Stat("index.html")
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &daily.HintError{Err: fmt.Errorf("%s: there is no site in it", dir), Next: "`mcpstrata site` builds it"}
	case err != nil:
		return fmt.Errorf("opening the site: %w", err)
	}
	var printed error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := api.Below(basePath(root.FS()), api.Site(root.FS()))
	err = api.Serve(ctx, addr, h, func(url string) {
		if _, printed = fmt.Fprintln(c.stdout, url); printed != nil {
			cancel()
		}
	}, c.note)
	if _, ok := errors.AsType[*api.ListenError](err); ok {
		return &daily.HintError{Err: err, Next: "name another address; -http 127.0.0.1:0 takes any free port"}
	}
	return errors.Join(err, printed)
}

// basePath returns the path at which a site was rendered to stand, which its
// marker file names; / where it says nothing that can be one.
func basePath(site fs.FS) string {
	b, err := fs.ReadFile(site, ".mcpstrata-site")
	if err != nil {
		return "/"
	}
	for line := range strings.Lines(string(b)) {
		base, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "base ")
		if ok && strings.HasPrefix(base, "/") && strings.HasSuffix(base, "/") && path.Clean(base)+"/" == base {
			return base
		}
	}
	return "/"
}
