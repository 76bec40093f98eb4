package main

import (
	"context"
	"fmt"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// version is the version of the prober that stands in every record. It is
// changed by a release and by nothing else.
const version = "0.1.0"

// home is where who is read can learn who reads.
const home = "https://github.com/mcpstrata/mcpstrata"

// userAgent says who we are, to every server (DESIGN.md section 12).
const userAgent = "mcpstrata/" + version + " (+" + home + ")"

func versionVerb(_ context.Context, c *call) error {
	asJSON := c.flags.Bool("json", false, "print one JSON object")
	if _, err := c.parse(0, 0); err != nil {
		return err
	}
	if *asJSON {
		_, err := c.stdout.Write(record.Line(struct {
			Methodologies []string `json:"methodologies"`
			ProberVersion string   `json:"prober_version"`
		}{methodologyVersions(), version}))
		return err
	}
	_, err := fmt.Fprintf(c.stdout, "mcpstrata %s\n", version)
	return err
}

func methodologyVersions() []string {
	var vs []string
	for _, m := range record.Methodologies {
		vs = append(vs, m.Version)
	}
	return vs
}
