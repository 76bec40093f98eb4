package audit

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
)

// checkCurrent compares current/ with the fold of the dated files.
func (a *auditor) checkCurrent(o *observation) error {
	for i, x := range archive.Shards {
		name := archive.CurrentPath(o.version, x)
		a.expected[name] = true
		b, err := a.read(name)
		if err != nil {
			return err
		}
		if b == nil {
			continue
		}
		rows, ok := decodeRows(a, name, string(b))
		if n := sortedBy(rows, func(x, y datedRow) int { return strings.Compare(x.row.Name, y.row.Name) }); n > 0 {
			a.fault(name, "row-order", "line %d is not after the one before it, by name", n)
		}
		for j, d := range rows {
			if archive.Shard(d.row.Name) != x {
				a.fault(name, "fold", "line %d is of %q, which has its line in %s.jsonl", j+1, d.row.Name, archive.Shard(d.row.Name))
			}
		}
		if o.known && ok {
			a.compareShard(name, o.shards[i], rows)
		}
		if !o.known {
			o.adopt(i, rows, ok && !a.suspect(name))
		}
	}
	if !o.known {
		a.openIfUnknown(o)
	} else if a.roster.known && a.runs[len(a.runs)-1].reads(o.version) {
		a.checkRetired(o)
	}
	return nil
}

// reads reports whether a run read under a methodology.
func (r *run) reads(version string) bool { return slices.Contains(r.methods, version) }

// checkRetired checks that the rows and the roster agree on who is retired. A
// target that came back and was missed has no row since.
func (a *auditor) checkRetired(o *observation) {
	for _, name := range slices.Sorted(maps.Keys(o.rows)) {
		e := o.rows[name]
		_, live := a.roster.live[name]
		switch {
		case e.row.Retired == "" && !live:
			a.fault(o.newest, "row-change", "%q is not retired, and the roster does not have it", name)
		case e.row.Retired != "" && live && !o.missed(e.row):
			a.fault(o.newest, "row-change", "%q is retired, and the roster has it", name)
		}
	}
}

// adopt takes the rows of current/ for the fold where the dated files could not
// be followed.
func (o *observation) adopt(shard int, rows []datedRow, sound bool) {
	for _, e := range o.shards[shard] {
		delete(o.rows, e.row.Name)
	}
	o.shards[shard] = nil
	if !sound {
		return
	}
	o.adopted++
	for _, d := range rows {
		e := &entry{row: d.row, line: d.line}
		o.shards[shard] = append(o.shards[shard], e)
		o.rows[d.row.Name] = e
	}
}

// openIfUnknown leaves open which contracts and bodies belong to the tree when
// neither the dated files nor current/ say it.
func (a *auditor) openIfUnknown(o *observation) {
	if o.adopted < len(archive.Shards) {
		a.open = append(a.open, archive.Dir+"/contracts/"+o.version+"/", archive.Dir+"/artifacts/"+o.version+"/")
	}
}

func (a *auditor) compareShard(name string, fold []*entry, rows []datedRow) {
	for i := range max(len(fold), len(rows)) {
		switch {
		case i >= len(rows):
			a.fault(name, "fold", "it ends before the row of %q", fold[i].row.Name)
		case i >= len(fold):
			a.fault(name, "fold", "line %d is of %q, of which no dated file has a row", i+1, rows[i].row.Name)
		case string(fold[i].line) != string(rows[i].line):
			a.fault(name, "fold", "line %d, of %q, is not the newest dated row, of %q", i+1, rows[i].row.Name, fold[i].row.Name)
		default:
			continue
		}
		return
	}
}
