package site

import (
	"bytes"
	"fmt"
	"html/template"
	"maps"
	"slices"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
)

// A line is one line of observation: the report of one methodology, and the
// templates that write figures of it and of no other.
type line struct {
	report *report.Report
	at     []any  // path of the report in report.json; empty: it stands on top
	prefix string // the same as a JSON Pointer
	pages  *pageSet
	rows   map[string]record.Observation // newest, by name
}

// openLines reads the line of the series of record and that of the newest
// methodology.
func (b *builder) openLines() (err error) {
	if b.record, err = b.openLine(&b.Report.Report); err != nil {
		return err
	}
	b.newest = b.record
	versions := slices.Collect(maps.Keys(b.Report.Lines))
	for _, m := range record.Methodologies { // oldest first
		if slices.Contains(versions, m.Version) && m.Version != b.Report.Methodology {
			if b.newest, err = b.openLine(b.Report.Lines[m.Version], "lines", m.Version); err != nil {
				return err
			}
		}
	}
	return nil
}

// openLine reads the newest rows of a methodology, and its templates.
func (b *builder) openLine(r *report.Report, at ...any) (*line, error) {
	l := &line{report: r, at: at, prefix: report.Pointer(at...), rows: map[string]record.Observation{}}
	rows, err := b.Tree.Current(r.Methodology)
	if err != nil {
		return nil, err
	}
	for _, o := range rows {
		if fault := o.Fault(); fault != "" {
			return nil, fmt.Errorf("reading %s: the row of %.100q: %s", archive.CurrentPath(r.Methodology, archive.Shard(o.Name)), o.Name, fault)
		}
		l.rows[o.Name] = o
	}
	l.pages, err = parsePages(b.Report, l)
	return l, err
}

// lineOf returns the line that the page of a server shows: the newest one, unless
// only the series of record has a contract of it, or knows it at all.
func (b *builder) lineOf(name string) *line {
	newest, ok := b.newest.report.Servers[name]
	older, was := b.record.report.Servers[name]
	if !ok || was && len(newest.Versions) == 0 && len(older.Versions) > 0 {
		return b.record
	}
	return b.newest
}

// other returns the other of two lines, and nil where there is but one.
func (b *builder) other(l *line) *line {
	switch {
	case b.record == b.newest:
		return nil
	case l == b.newest:
		return b.record
	}
	return b.newest
}

// A lineDay is a day of one line: the index in its calendar.
type lineDay struct {
	line  *line
	index int
	day   report.Date
}

// days returns every day that has a page, oldest first: that of the newest
// methodology where a run read under it, else that of the series of record.
func (b *builder) days() []lineDay {
	byDay := map[report.Date]lineDay{}
	for _, l := range []*line{b.record, b.newest} {
		for i, d := range l.report.Calendar {
			if d.Runs > 0 {
				byDay[d.Day] = lineDay{l, i, d.Day}
			}
		}
	}
	var list []lineDay
	for _, d := range slices.Sorted(maps.Keys(byDay)) {
		list = append(list, byDay[d])
	}
	return list
}

// ReadElsewhere reports whether a day that is a gap of this line was read under the
// other methodology.
func (p Page) ReadElsewhere(day report.Date) bool {
	if p.Other == nil {
		return false
	}
	i := before(p.Other.Calendar, day)
	return i < len(p.Other.Calendar) && p.Other.Calendar[i].Day == day && p.Other.Calendar[i].Runs > 0
}

// piece renders a part of a page with the templates of a line: the template of
// that name, of a kind of page.
func (l *line) piece(file, name string, model any) (template.HTML, error) {
	var buf bytes.Buffer
	if err := l.pages.byFile[file].ExecuteTemplate(&buf, name, model); err != nil {
		return "", fmt.Errorf("rendering %s: %w", name, err)
	}
	return rendered(buf.Bytes()), nil
}
