package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/launch"
	"github.com/mcpstrata/mcpstrata/internal/mcp"
	"github.com/mcpstrata/mcpstrata/internal/probe"
	"github.com/mcpstrata/mcpstrata/internal/progress"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/safehttp"
)

func probeVerb(ctx context.Context, c *call) error {
	if len(c.args) == 1 && c.args[0] == insideWord {
		os.Exit(launch.Inside())
	}
	var f jobFlags
	f.probeFlags(c)
	f.budgetFlag(c)
	c.flags.StringVar(&f.methodology, "methodology", record.V2.Version, "`version` to read one server with")
	l := launchFlags(c)
	protocol := c.flags.String("protocol", "", "protocol `version` to ask one server for, instead of the one that v2 asks for")
	plan := c.flags.String("plan", "", "`file` of the plan to execute")
	shard := c.flags.String("shard", "1/1", "which `part` of the plan, i/n, by hash of the host")
	out := c.flags.String("out", "", "`file` for the results of a plan")
	words, err := c.parse(0, -1)
	if err != nil {
		return err
	}
	cfg, err := f.config(c)
	if err != nil {
		return err
	}
	set := map[string]bool{}
	c.flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch one, err := probeOne(set, words); {
	case err != nil:
		return err
	case one && l.source != "":
		return probeLaunch(ctx, c, cfg, l, words, *protocol)
	case one:
		return probeURL(ctx, c, cfg, words[0], *protocol)
	}
	if !set["timeout"] {
		cfg.Timeout = 0 // the plan's
	}
	part, of, err := parseShard(*shard)
	switch {
	case err != nil:
		return err
	case set["methodology"]:
		return usageError{"-methodology is the plan's: give it to `mcpstrata roster`"}
	case *out == "":
		return usageError{"-out is missing"}
	case filepath.Clean(*out) == filepath.Clean(*plan), filepath.Clean(*out) == filepath.Clean(daily.ListingPath(*plan)):
		return usageError{"-out is the plan, or its listing"}
	}
	meter := progress.New(c.stderr, "mcpstrata: probe: probed", time.Now)
	cfg.Progress = meter.Set
	stats, err := daily.Probe(ctx, cfg, *plan, part, of, *out)
	meter.Done()
	if err != nil {
		return explain(err)
	}
	_, err = fmt.Fprintf(c.stdout, "shard %d/%d: %d results, %d requests to %d hosts\n", part, of, stats.Results, stats.Requests, stats.Hosts)
	return err
}

// probeOne checks which of the flags that are set go together, and with words. It
// reports whether one server is to be read rather than a plan.
func probeOne(set map[string]bool, words []string) (bool, error) {
	plan, started := set["plan"], set["launch"]
	others := func(names ...string) bool { return slices.ContainsFunc(names, func(n string) bool { return set[n] }) }
	switch {
	case plan && started, !started && plan == (len(words) > 0):
		return false, usageError{"give either -plan or a URL, or -launch"}
	case !started && len(words) > 1:
		return false, usageError{fmt.Sprintf("unexpected argument %q", words[1])}
	case !plan && others("shard", "out", "budget"):
		return false, usageError{"-shard, -out and -budget go with -plan"}
	case plan && set["protocol"]:
		return false, usageError{"-protocol does not go with -plan: what a run asks for is its methodology's"}
	case !started && others("network", "env", "name", "data"):
		return false, usageError{"-network, -env, -name and -data go with -launch"}
	}
	return !plan, nil
}

// maxShards bounds the parts of a plan: a matrix of machines is far smaller.
const maxShards = 4096

// parseShard reads i/n.
func parseShard(s string) (part, of int, err error) {
	i, n, ok := strings.Cut(s, "/")
	part, err1 := strconv.Atoi(i)
	of, err2 := strconv.Atoi(n)
	if !ok || err1 != nil || err2 != nil || part < 1 || of < part || of > maxShards {
		return 0, 0, usageError{fmt.Sprintf("-shard %q: it is i/n, such as 1/8", s)}
	}
	return part, of, nil
}

// reader returns the one methodology that a server is to be read with. A protocol
// version that is given is asked for instead of its own, which makes it another
// methodology than the one of that name: such a reading is shown and never
// recorded. From 2026-07-28 on it begins without a handshake.
func reader(cfg daily.Config, protocol string) (record.Methodology, error) {
	if len(cfg.Methodologies) != 1 {
		return record.Methodology{}, usageError{"-methodology names one version here"}
	}
	m, _ := record.MethodologyByVersion(cfg.Methodologies[0])
	if cfg.Timeout > 0 {
		m.RequestTimeout = cfg.Timeout
	}
	if protocol == "" {
		return m, nil
	}
	if _, err := record.ParseDay(protocol); err != nil {
		return m, usageError{fmt.Sprintf("-protocol %q: it is a version such as 2025-11-25", protocol)}
	}
	if m.Version == record.V1.Version {
		return m, usageError{"-protocol does not go with v1, which asks for " + record.V1.ProtocolVersion + " and nothing else"}
	}
	m.ProtocolVersion = protocol
	return m, nil
}

// probeURL reads one server once and prints its row, with the digests beside it.
func probeURL(ctx context.Context, c *call, cfg daily.Config, url, protocol string) error {
	m, err := reader(cfg, protocol)
	if err != nil {
		return err
	}
	client := safehttp.New(safehttp.Config{AllowPrivate: cfg.AllowPrivate, UserAgent: userAgent})
	defer client.CloseIdleConnections()
	p := &probe.Prober{MCP: &mcp.Client{HTTP: client}}
	r, err := p.Probe(ctx, url, url, m)
	if err != nil {
		return explain(err)
	}
	return c.printResult(r, url)
}

// printResult prints the row of one server that was read at endpoint, with the
// digests of its tools beside it.
func (c *call) printResult(r record.Result, endpoint string) error {
	o := record.Observation{
		Endpoint: endpoint, ErrorClass: r.Class, ErrorDetail: r.Detail, Flags: r.Flags, HTTPStatus: r.HTTPStatus, Name: r.Name,
		Server: r.Server, Since: record.DayOf(r.Observed.Time), Step: r.Step,
	}
	var digests json.RawMessage
	if r.Outcome().OK() {
		h := &record.Head{Capture: *r.Capture, Confirmed: true, FirstObserved: o.Since, Identity: r.Identity, Ordered: r.Ordered, Tools: r.Tools}
		for _, b := range r.Pages {
			h.Artifacts = append(h.Artifacts, canon.Sum(b))
			h.Bytes += int64(len(b))
		}
		o.Head = h
		var err error
		if digests, err = digestsOf(r.Pages); err != nil {
			return err
		}
	}
	return c.json(record.File(struct {
		Digests json.RawMessage `json:"digests,omitempty"`
		record.Observation
	}{digests, o}))
}
