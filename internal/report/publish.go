package report

import (
	"fmt"
	"reflect"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// Publish reads the dated files of a data folder once, oldest first, and computes
// the figures of every methodology of record.Methodologies that they hold: that of
// the series of record on top, the others in Lines, and what the first and the
// newest of them read differently in Readings. It fails where nothing is recorded
// under any.
func Publish(tree *archive.Tree) (*Published, error) {
	var all []*collector
	for _, m := range record.Methodologies {
		all = append(all, newCollector(m.Version, Times{RMST: horizons, At: horizons}))
	}
	b := &publisher{lines: all}
	ids, err := tree.Runs()
	for i := 0; i < len(ids) && err == nil; i++ {
		err = b.add(tree, ids[i])
	}
	if err != nil {
		return nil, fmt.Errorf("building the report: %w", err)
	}
	return b.finish()
}

// A publisher is the state of one call of Publish.
type publisher struct {
	lines    []*collector // oldest methodology first; some may never read
	both     [2]*collector
	day      Date // newest on which a run read under both
	open     bool // the lines stand as that day left them
	readings *Readings
}

// add enters a run into every line.
func (b *publisher) add(tree *archive.Tree, id string) error {
	run, err := readShared(tree, id)
	if err != nil {
		return err
	}
	own := make([]timeline.Run, len(b.lines))
	var reading []*collector
	for i, c := range b.lines {
		own[i] = run
		if err := readRows(tree, id, c.r.Methodology, &own[i]); err != nil {
			return err
		}
		if own[i].Header != nil {
			reading = append(reading, c)
		}
	}
	day := run.Record.Day
	if b.open && day != b.day && len(reading) < 2 {
		b.compare() // else this run's comparison takes the place of it
	}
	for i, c := range b.lines {
		if err := c.add(own[i]); err != nil {
			return err
		}
	}
	if len(reading) > 1 {
		b.both, b.day, b.open = [2]*collector{reading[0], reading[len(reading)-1]}, day, true
	}
	return nil
}

// compare takes the comparison of the newest day under both.
func (b *publisher) compare() {
	b.readings, b.open = compareReadings(b.day, b.both[0], b.both[1]), false
}

// finish computes the reports of the lines that read.
func (b *publisher) finish() (*Published, error) {
	if b.open {
		b.compare()
	}
	var p *Published
	for _, c := range b.lines {
		if c.newest == "" {
			continue
		}
		r, err := c.finish()
		switch {
		case err != nil:
			return nil, fmt.Errorf("building the report of methodology %s: %w", c.r.Methodology, err)
		case p == nil:
			p = &Published{Report: *r, Readings: b.readings}
		case p.Lines == nil:
			p.Lines = map[string]*Report{}
			fallthrough
		default:
			p.Lines[r.Methodology] = r
		}
	}
	if p == nil {
		return nil, fmt.Errorf("building the report: nothing is recorded under any methodology")
	}
	return p, nil
}

// Line returns the report of a methodology and the JSON Pointer of its place, such
// as /lines/v2 and, of that on top, the empty one; nil where the archive has none.
func (p *Published) Line(version string) (*Report, string) {
	if version == p.Methodology {
		return &p.Report, ""
	}
	if r, ok := p.Lines[version]; ok && r != nil {
		return r, Pointer("lines", version)
	}
	return nil, ""
}

// Lookup returns the value at a JSON Pointer into the whole, as [Report.Lookup]
// does into one report. Figures of the series of record stand on top.
func (p *Published) Lookup(pointer string) (any, error) {
	return lookup(reflect.ValueOf(p), pointer)
}
