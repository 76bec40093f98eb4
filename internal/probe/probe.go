// Package probe makes one attempt at one endpoint under one methodology and says
// how it ended. It is where the bytes that [mcp] brought and the contract that
// [contract] reads in them become one record.
//
// # Outcome
//
// How the server behaved is the outcome in the [record.Result], never an error.
// The exchange itself decides it first (transport, then status, then body). If
// the exchange succeeded but its bodies hold no contract, or one that the
// methodology's canonical form refuses, the outcome is parse with the status of
// the answer, at the step that read the first page which is to blame: tools/list,
// tools/list#2 … (DESIGN.md 6). A number outside float64 is one that v2 refuses.
//
// # What a result holds
//
// Bodies, capture, server, flags, identity and tool count stand only in the
// result of a success: the row of a failing target keeps those of its last one.
// Latencies are in whole milliseconds, rounded; -1 says that the request was not
// sent. Under v1 the v2 identity of the same bodies stands beside the identity,
// as ordered; it is empty where v2 refuses what v1 takes, such as numbers
// outside float64.
package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/jsonrpc"
	"github.com/mcpstrata/mcpstrata/internal/mcp"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// orderedForm is the canonical form whose identity tells orders apart that v1
// sorts away (DESIGN.md 6).
const orderedForm = "v2"

// A Prober probes endpoints. It is safe for concurrent use if its client is.
type Prober struct {
	MCP *mcp.Client
}

// An Attempt is what one probe got.
type Attempt struct {
	Result     record.Result // Name is empty: an endpoint may be declared by many
	RetryAfter time.Duration // how long the server asked to be left alone; 0 if it did not
}

// Probe makes one attempt at endpoint and returns it as the result of the target
// name. It returns an error only when ctx was cancelled: the result would be a
// lie.
func (p *Prober) Probe(ctx context.Context, name, endpoint string, m record.Methodology) (record.Result, error) {
	a, err := p.Attempt(ctx, endpoint, m)
	if err != nil {
		return record.Result{}, err
	}
	a.Result.Name = name
	return a.Result, nil
}

// Attempt makes one attempt at endpoint. It returns an error only when ctx was
// cancelled: the result would be a lie.
func (p *Prober) Attempt(ctx context.Context, endpoint string, m record.Methodology) (Attempt, error) {
	reading, err := p.MCP.Read(ctx, endpoint, m)
	if err != nil {
		return Attempt{}, fmt.Errorf("probing %s: %w", endpoint, err)
	}
	r, err := p.Result(ctx, "", reading, m)
	if err != nil {
		return Attempt{}, fmt.Errorf("probing %s: %w", endpoint, err)
	}
	return Attempt{Result: r, RetryAfter: reading.RetryAfter}, nil
}

// Result returns the reading of a server, however it was reached, as the result
// of the target name. It fails only when ctx is done before the reading's bodies
// may be read as a contract, with ctx's error.
func (p *Prober) Result(ctx context.Context, name string, reading mcp.Reading, m record.Methodology) (record.Result, error) {
	var sizes []int
	for _, page := range reading.Pages {
		sizes = append(sizes, len(page))
	}
	leave, err := p.MCP.Admit(ctx, sizes...)
	if err != nil {
		return record.Result{}, err
	}
	defer leave()
	r := result(reading, m)
	r.Name = name
	return r, nil
}

// result makes a record of a reading.
func result(reading mcp.Reading, m record.Methodology) record.Result {
	r := record.Result{
		InitMS:   milliseconds(reading.InitLatency),
		ListMS:   milliseconds(reading.ListLatency),
		Method:   m.Version,
		Observed: record.At(reading.Observed),
		Requests: reading.Requests,
	}
	outcome := reading.Outcome
	if outcome.OK() {
		outcome = addContract(&r, reading, m)
	}
	r.Class, r.Detail, r.Step, r.HTTPStatus = outcome.Class, outcome.Detail, outcome.Step, outcome.HTTPStatus
	return r
}

// addContract reads the bodies of a successful reading and adds to r what only a
// success has. If they hold no contract it adds nothing and returns the outcome
// that says so.
func addContract(r *record.Result, reading mcp.Reading, m record.Methodology) record.Outcome {
	c, err := contract.Read(reading.Pages)
	if err != nil {
		return unreadable(err, pageOf(reading.Pages, m.CanonicalForm))
	}
	identity, err := c.Identity(m.CanonicalForm)
	if err != nil {
		return unreadable(err, pageOf(reading.Pages, m.CanonicalForm))
	}
	if m.CanonicalForm != orderedForm {
		if ordered, err := c.Identity(orderedForm); err == nil {
			r.Ordered = ordered
		}
	}
	capture := reading.Capture
	capture.ObservedAt = r.Observed
	r.Capture = &capture
	r.Flags = union(reading.Flags, c.Flags)
	r.Identity = identity
	r.Init = reading.Init
	r.Pages = reading.Pages
	r.Server = reading.Server
	r.Tools = len(c.Tools)
	return record.Outcome{}
}

// pageOf returns the number, from 1, of the page that keeps pages from being a
// contract: the last of the fewest pages that are none.
func pageOf(pages [][]byte, form string) int {
	return 1 + sort.Search(max(0, len(pages)-1), func(i int) bool {
		c, err := contract.Read(pages[:i+1])
		if err == nil {
			_, err = c.Identity(form)
		}
		return err != nil
	})
}

// unreadable returns the outcome for bodies that err kept from being a contract
// at page n. They came with a 200: mcp lets nothing else through.
func unreadable(err error, n int) record.Outcome {
	o := record.Outcome{Class: record.Parse, Detail: record.DetailInvalidJSON, Step: record.ListStep(n), HTTPStatus: 200}
	if fault, ok := errors.AsType[*jsonrpc.Fault](err); ok {
		o.Detail = fault.Detail
	}
	return o
}

// union returns the flags of both, sorted, each once; nil if there are none.
func union(a, b []record.Flag) []record.Flag {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// milliseconds rounds a latency, and keeps the -1 of one that there is not.
func milliseconds(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Round(time.Millisecond).Milliseconds()
}
