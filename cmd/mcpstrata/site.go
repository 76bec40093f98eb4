package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/mcpstrata/mcpstrata/internal/body"
	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/progress"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/site"
)

// siteDir is where the site is built unless another folder is named.
const siteDir = "site"

// siteVerb builds the site from a data folder.
func siteVerb(ctx context.Context, c *call) error {
	open := dataFlags(c)
	out := c.flags.String("out", siteDir, "the `folder` to write to")
	base := baseFlag(c)
	only := c.flags.String("only", "", "render the page of the server `NAME` alone")
	if _, err := c.parse(0, 0); err != nil {
		return err
	}
	if _, err := site.ParseBase(*base); err != nil {
		return usageError{"-base: " + err.Error()}
	}
	v, err := open()
	if err != nil {
		return err
	}
	stats, err := buildSite(ctx, c, v, site.Config{Out: *out, Only: *only, Base: *base})
	if err != nil {
		return explain(err)
	}
	w := &lines{w: c.stdout}
	w.printf("%s: %s files, %s MB, as of %s\n", *out, progress.Count(stats.Files), progress.Count(int((stats.Bytes+999_999)/1_000_000)), stats.AsOf)
	return w.err
}

// baseFlag adds the flag that says where the site will stand.
func baseFlag(c *call) *string {
	return c.flags.String("base", site.Base, "absolute `URL` at which the site will stand, for feeds and the site map")
}

// buildSite renders what a view shows.
func buildSite(ctx context.Context, c *call, v *view, cfg site.Config) (site.Stats, error) {
	if inside(v.data, cfg.Out) {
		return site.Stats{}, &daily.HintError{Err: fmt.Errorf("%s lies in the data folder", cfg.Out), Next: "name a folder beside it: data/ holds the record and nothing else"}
	}
	r, err := report.Publish(v.tree)
	if err != nil {
		return site.Stats{}, fmt.Errorf("computing the figures: %w", err)
	}
	if err := v.bodies.Load(); err != nil {
		return site.Stats{}, fmt.Errorf("reading the index of bodies: %w", err)
	}
	cfg.Tree, cfg.Bodies, cfg.Report, cfg.Log = v.tree, v.bodies, r, c.note
	return site.Build(ctx, cfg)
}

// inside reports whether a folder is another one or lies in it.
func inside(outer, inner string) bool {
	a, errA := filepath.Abs(outer)
	b, errB := filepath.Abs(inner)
	rel, err := filepath.Rel(a, b)
	return errA == nil && errB == nil && err == nil && filepath.IsLocal(rel)
}

// siteBuilder returns what builds the site of a data folder after a run. Where
// the history is too short to tell what changed it says so, and the run is no
// less done.
func (c *call) siteBuilder(data string, cfg site.Config) func(context.Context) error {
	return func(ctx context.Context) error {
		v, err := openView(data, defaultMethodology)
		if err != nil {
			return err
		}
		_, err = buildSite(ctx, c, v, cfg)
		var missing *body.MissingError
		if errors.As(err, &missing) && missing.Next == gitrepo.ShallowHint {
			c.note(fmt.Sprintf("the site was not built: %v; %s", err, missing.Hint()))
			return nil
		}
		return err
	}
}
