package main

import (
	"context"
	"fmt"

	"github.com/mcpstrata/mcpstrata/internal/daily"
)

// commitVerb commits what record staged.
func commitVerb(ctx context.Context, c *call) error {
	var f jobFlags
	f.dataFlag(c)
	push := c.flags.Bool("push", false, "push the commit to the remote "+daily.Remote)
	if _, err := c.parse(0, 0); err != nil {
		return err
	}
	cfg, err := f.config(c)
	if err != nil {
		return err
	}
	id, err := daily.CommitStaged(ctx, cfg)
	if err != nil {
		return err
	}
	if id == "" {
		c.note("nothing is staged")
	} else if _, err := fmt.Fprintln(c.stdout, id); err != nil {
		return err
	}
	if *push {
		return daily.Push(ctx, cfg)
	}
	return nil
}
