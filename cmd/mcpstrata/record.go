package main

import (
	"context"
	"fmt"
)

func recordVerb(ctx context.Context, c *call) error {
	var f jobFlags
	f.dataFlag(c)
	plan := c.flags.String("plan", "", "`file` of the plan")
	shards, err := c.parse(1, -1)
	if err != nil {
		return err
	}
	if *plan == "" {
		return usageError{"-plan is missing"}
	}
	job, err := f.open(ctx, c)
	if err != nil {
		return err
	}
	defer job.Close()
	s, err := job.Record(*plan, shards)
	if err != nil {
		return explain(err)
	}
	c.warn(s.Run)
	_, err = fmt.Fprintf(c.stdout, "%s: staged, %d events, %d new bodies; `mcpstrata commit` commits it\n", s.Run.Run, s.Events, s.Bodies)
	return err
}
