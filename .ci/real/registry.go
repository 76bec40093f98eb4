package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpstrata/mcpstrata/ci/real/official"
	"github.com/mcpstrata/mcpstrata/ci/real/tape"
)

// registry checks roster against the official registry's own server.
func registry(ctx context.Context, j *job) error {
	began := time.Now()
	program, err := official.Build(ctx, j.kids, j.dir)
	if err != nil {
		return err
	}
	j.Note("official registry built in %s", time.Since(began).Round(time.Second))
	database, err := official.StartPostgres(ctx, j.kids, j.dir)
	if err != nil {
		return err
	}
	versions, want := official.Rows()
	addr, err := official.Start(ctx, j.kids, program, database, j.dir, versions)
	if !j.OK(err == nil, "start the official registry with %d versions of %d names", len(versions), len(want)) {
		return err
	}
	proxy, err := tape.Start(addr)
	if err != nil {
		return err
	}
	defer proxy.Close()
	for _, listing := range []string{"latest", "all"} {
		r := &roster{job: j, listing: listing, proxy: proxy, direct: addr, want: want}
		if err := r.check(ctx); err != nil {
			return fmt.Errorf("-listing %s: %w", listing, err)
		}
	}
	return nil
}
