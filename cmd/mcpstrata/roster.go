package main

import (
	"context"
	"fmt"
)

func roster(ctx context.Context, c *call) error {
	var f jobFlags
	f.dataFlag(c)
	f.planFlags(c)
	f.probeFlags(c)
	out := c.flags.String("out", "", "`file` for the plan; the listing goes beside it")
	if _, err := c.parse(0, 0); err != nil {
		return err
	}
	if *out == "" {
		return usageError{"-out is missing"}
	}
	job, err := f.open(ctx, c)
	if err != nil {
		return err
	}
	defer job.Close()
	p, err := job.Roster(ctx, *out)
	if err != nil || p == nil {
		return err
	}
	endpoints := 0
	for _, t := range p.Targets {
		if t.Endpoint != "" {
			endpoints++
		}
	}
	_, err = fmt.Fprintf(c.stdout, "%s: %d targets, %d with an endpoint\n", p.Header.Run, len(p.Targets), endpoints)
	return err
}
