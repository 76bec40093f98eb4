package sweep

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// maxPlanLine bounds a line of a plan, in bytes: a name, a URL and two digests.
const maxPlanLine = 1 << 20

// maxMS bounds a pace and a timeout, in milliseconds: a day, which is a run.
const maxMS = 24 * 60 * 60 * 1000

// maxSeed bounds a seed: a JSON number that every reader reads exactly.
const maxSeed = 1 << 53

// A Plan is what one run is to do: a header and the targets in roster order.
type Plan struct {
	Header  record.PlanHeader // Targets is set by [Plan.Write]
	Targets []record.PlanTarget
}

// Write writes p as a plan file and returns the digest of its bytes, which the
// headers of the shard files name.
func (p *Plan) Write(w io.Writer) (canon.Digest, error) {
	h := sha256.New()
	both := io.MultiWriter(w, h)
	header := p.Header
	header.Targets = len(p.Targets)
	if _, err := both.Write(record.Line(header)); err != nil {
		return "", fmt.Errorf("writing plan: %w", err)
	}
	for _, t := range p.Targets {
		if _, err := both.Write(record.Line(t)); err != nil {
			return "", fmt.Errorf("writing plan: %w", err)
		}
	}
	return digest(h), nil
}

// ReadPlan reads a plan file and returns it with the digest of its bytes. It is
// strict: a header, as many targets as it says, nothing else, each line in the
// very form that [Plan.Write] gives it. Its errors name the line.
func ReadPlan(r io.Reader) (*Plan, canon.Digest, error) {
	h := sha256.New()
	l := newLines(io.TeeReader(r, h), maxPlanLine)
	p := &Plan{}
	if err := p.readHeader(l); err != nil {
		return nil, "", fmt.Errorf("reading plan: %w", err)
	}
	names := make(map[string]bool)
	for {
		line, err := l.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, "", fmt.Errorf("reading plan: %w", err)
		}
		var t record.PlanTarget
		err = decodeExact(line, &t)
		switch {
		case err != nil:
		case len(p.Targets) == p.Header.Targets:
			err = fmt.Errorf("more than the %d targets that the header counts", p.Header.Targets)
		case t.Name == "":
			err = errors.New("a target without a name")
		case names[t.Name]:
			err = fmt.Errorf("%s occurs twice", t.Name)
		case t.Endpoint == "" && t.Reason == "":
			err = fmt.Errorf("%s has neither an endpoint nor a reason", t.Name)
		}
		if err != nil {
			return nil, "", fmt.Errorf("reading plan: %w", l.error(err))
		}
		names[t.Name] = true
		p.Targets = append(p.Targets, t)
	}
	if len(p.Targets) != p.Header.Targets {
		return nil, "", fmt.Errorf("reading plan: it has %d targets, and its header counts %d", len(p.Targets), p.Header.Targets)
	}
	return p, digest(h), nil
}

func (p *Plan) readHeader(l *lines) error {
	line, err := l.next()
	if err == io.EOF {
		return errors.New("it is empty")
	}
	if err != nil {
		return err
	}
	if err = decodeExact(line, &p.Header); err == nil {
		err = checkHeader(p.Header)
	}
	if err != nil {
		return l.error(err)
	}
	return nil
}

func checkHeader(h record.PlanHeader) error {
	seen := map[string]bool{}
	for _, v := range h.Methodologies {
		if _, ok := record.MethodologyByVersion(v); !ok {
			return fmt.Errorf("methodology %q is not one that this version reads with", v)
		}
		if seen[v] {
			return fmt.Errorf("methodology %s occurs twice", v)
		}
		seen[v] = true
	}
	if len(seen) == 0 {
		return errors.New("no methodology")
	}
	if _, err := record.ParseDay(string(h.Day)); err != nil {
		return err
	}
	switch {
	case h.Run == "":
		return errors.New("no run id")
	case h.PaceMS < 0 || h.PaceMS > maxMS:
		return fmt.Errorf("a pace of %d ms", h.PaceMS)
	case h.TimeoutMS < 0 || h.TimeoutMS > maxMS:
		return fmt.Errorf("a timeout of %d ms", h.TimeoutMS)
	case h.Seed < 0 || h.Seed >= maxSeed:
		return fmt.Errorf("the seed %d is not in [0, 2^53)", h.Seed)
	}
	return nil
}

// ShardHeader returns the header of the shard file that holds the results of
// one shard of p, whose file has the digest d.
func (p *Plan) ShardHeader(d canon.Digest, shard, of int) record.ShardHeader {
	return record.ShardHeader{Plan: d, Run: p.Header.Run, Shard: shard, Of: of, Vantage: p.Header.Vantage}
}

// decodeExact reads line into v and refuses any form of it but the one that
// [record.Line] writes: encoding/json alone would take members in any case,
// twice, and in any order.
func decodeExact(line []byte, v any) error {
	if err := record.Decode(line, v); err != nil {
		return err
	}
	if !bytes.Equal(line, record.Line(v)) {
		return errors.New("not in the form that is written: members sorted, each once, no white space")
	}
	return nil
}
