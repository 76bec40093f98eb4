package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// An observation is one methodology's line of observation, as it is re-derived
// from the dated files run by run.
type observation struct {
	version     string
	rows        map[string]*entry
	shards      [16][]*entry // sorted by name
	known       bool         // every dated file so far could be followed
	runs        []string     // days of the runs so far
	days        int          // days before this one that were not degraded at their end
	degraded    bool         // the newest run was degraded
	interrupted bool         // so was the run of this day before this one
	adopted     int          // shards of current/ that stand in for a fold that is not known
	newest      string       // path of the newest dated file
	missed      func(record.Observation) bool
}

// An entry is what is known of one target.
type entry struct {
	row     record.Observation
	line    []byte
	reached bool                // by the newest run that attempted it, which was the newest of all
	before  int                 // the newest day, of those counted, that reached it; from 1
	morning *record.Observation // its row before this day
	read    record.Day
	lives   map[canon.Digest]record.Day // first day of the newest life of each contract
}

// checkLines follows the dated observations and events of each methodology, and
// compares what they fold to with current/.
func (a *auditor) checkLines(ctx context.Context) error {
	a.lines = map[string]*observation{}
	for _, r := range a.runs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.readEvents(r); err != nil {
			return err
		}
		for _, m := range r.methods {
			o := a.lines[m]
			if o == nil {
				o = &observation{version: m, rows: map[string]*entry{}, known: len(a.runs) > 0}
				a.lines[m] = o
			}
			if err := a.replay(o, r); err != nil {
				return err
			}
		}
		a.compareWhole(r)
		for _, b := range r.books {
			b.compare()
		}
		r.books = nil
	}
	counts := map[string]int{}
	for _, m := range slices.Sorted(maps.Keys(a.lines)) {
		o := a.lines[m]
		if err := a.checkCurrent(o); err != nil {
			return err
		}
		if o.known {
			counts[m] = len(o.rows)
		}
	}
	if len(a.runs) > 0 {
		a.expected[archive.TimingPath] = true
	}
	return a.checkTiming(counts)
}

// readEvents reads the events of a run and checks them by themselves.
func (a *auditor) readEvents(r *run) error {
	name := archive.EventsPath(r.id)
	b, err := a.read(name)
	if err != nil || b == nil || a.faulty(name) {
		return err
	}
	events, ok := decodeLines[record.Event](a, name, b)
	if n := sortedBy(events, compareEvents); n > 0 {
		a.fault(name, "event-order", "line %d is not after the one before it, by name, kind and methodology", n)
	}
	for i, e := range events {
		if e.Day != r.day {
			a.fault(name, "event", "line %d is of the day %q", i+1, e.Day)
		}
		for _, d := range slices.Concat(e.OldArtifacts, e.NewArtifacts, e.OtherArtifacts) {
			a.checkIndexed(name, i+1, d)
		}
	}
	r.events, r.eventsOK = events, ok && !a.faulty(name)
	a.noteRejected(r)
	a.checked["events"] += len(events)
	return nil
}

// checkIndexed checks that a body is in an index.
func (a *auditor) checkIndexed(name string, line int, d canon.Digest) {
	if !a.indexed[d] && !a.holes {
		a.fault(name, "dangling-digest", "line %d speaks of the body %s, and no index has it", line, d)
	}
}

// replay follows one dated file.
func (a *auditor) replay(o *observation, r *run) error {
	name := archive.ObservationsPath(r.id, o.version)
	b, err := a.read(name)
	if err != nil {
		return err
	}
	if b == nil || a.faulty(name) {
		o.known = false // what follows from it can't be checked
		return nil
	}
	first, rest, _ := strings.Cut(string(b), "\n")
	var head record.ObservationHeader
	if !decodeLine(a, name, 1, first+"\n", &head) {
		o.known = false
		return nil
	}
	dated, ok := decodeRows(a, name, rest)
	a.checked["rows"] += len(dated)
	if o.known = o.known && ok; !ok {
		return nil
	}
	if n := sortedBy(dated, func(x, y datedRow) int { return strings.Compare(x.row.Name, y.row.Name) }); n > 0 {
		a.fault(name, "row-order", "line %d is not after the one before it, by name", n+1)
	}
	for i, d := range dated {
		if why := rowFault(d.row, r.day); why != "" {
			a.fault(name, "row", "line %d: %s", i+2, why)
		}
		if d.row.Head != nil {
			for _, body := range d.row.Head.Artifacts {
				a.checkIndexed(name, i+2, body)
			}
		}
	}
	if !o.known || a.faulty(name) {
		o.known = false
		return nil
	}
	a.follow(o, r, name, head, dated)
	return nil
}

// newDay closes the day before. One that was degraded at its end says nothing of
// who is active.
func (o *observation) newDay() {
	if len(o.runs) > 0 && !o.degraded {
		o.days++
	}
	for _, e := range o.rows {
		if e.reached && !o.degraded {
			e.before = o.days
		}
		row := e.row
		e.morning = &row
	}
}

// asInTheMorning reports whether the target had that class before this day.
func (e *entry) asInTheMorning(class record.ErrorClass) bool {
	return e != nil && e.morning != nil && e.morning.Retired == "" && e.morning.ErrorClass == class
}

// A datedRow is a row and the line that it was read from.
type datedRow struct {
	row  record.Observation
	line []byte
}

func decodeRows(a *auditor, name, text string) ([]datedRow, bool) {
	var rows []datedRow
	n := 1
	for line := range strings.Lines(text) {
		n++
		var d datedRow
		if !decodeLine(a, name, n, line, &d.row) {
			return rows, false
		}
		d.line = []byte(line)
		rows = append(rows, d)
	}
	return rows, true
}

// follow applies the rows of a dated file and checks everything that follows
// from them and from the rows before.
func (a *auditor) follow(o *observation, r *run, name string, head record.ObservationHeader, dated []datedRow) {
	bad := func(format string, args ...any) { a.fault(name, "dated-header", format, args...) }
	sameDay := len(o.runs) > 0 && o.runs[len(o.runs)-1] == string(r.day)
	baseline := len(o.runs) == 0 || o.runs[0] == string(r.day)
	if !sameDay {
		o.newDay()
	}
	o.interrupted = sameDay && o.degraded
	o.runs = append(o.runs, string(r.day))
	shown := a.newEventBook(o, r, baseline)
	for i, d := range dated {
		e := o.rows[d.row.Name]
		var old *record.Observation
		if e != nil {
			if string(e.line) == string(d.line) {
				a.fault(name, "row-change", "line %d repeats the row before it; only changed rows are dated", i+2)
			}
			old = &e.row
		}
		if why := cmp.Or(a.changeFault(r, e, d.row), lastReadFault(e, d.row), headFault(r, o.version, baseline, old, d.row)); why != "" {
			a.fault(name, "row-change", "line %d, %q: %s", i+2, d.row.Name, why)
		}
		shown.take(old, e, d.row)
		o.set(e, d)
	}
	missed, misfit := missedSet(head.Missed)
	o.newest, o.missed = name, missed
	if misfit != "" {
		bad("%s", misfit)
	}
	unchanged := o.unchanged(dated)
	switch {
	case head.Run != r.id || head.Day != r.day || head.Methodology != o.version:
		bad("it is of run %q of day %q under %q", head.Run, head.Day, head.Methodology)
	case head.Rows != len(dated):
		bad("it counts %d rows, and there are %d", head.Rows, len(dated))
	case head.Baseline != baseline:
		bad("baseline is %v", head.Baseline)
	case !equalCounts(head.Unchanged, unchanged):
		bad("it counts %v unchanged targets, and there are %v", head.Unchanged, unchanged)
	case r.trusted && head.ProberVersion != r.rec.ProberVersion:
		bad("the prober is %q, and the run record states %q", head.ProberVersion, r.rec.ProberVersion)
	case head.Folded != o.folded():
		bad("it states %s for the fold, and that is %s", head.Folded, o.folded())
	}
	o.degraded = head.Degraded
	for _, e := range o.rows {
		e.reached = e.row.ErrorClass.Reached() && e.row.Retired == "" && !missed(e.row)
		if !missed(e.row) {
			e.read = r.day
		}
	}
	if !a.faulty(name) {
		a.checkCounts(o, r, head, missed, baseline, name)
		r.books = append(r.books, shown)
	}
	if a.faulty(name) {
		o.known = false
	}
}

// set enters a dated row.
func (o *observation) set(e *entry, d datedRow) {
	if e == nil {
		e = &entry{lives: map[canon.Digest]record.Day{}}
		o.rows[d.row.Name] = e
		i := shardNumber(d.row.Name)
		at, _ := slices.BinarySearchFunc(o.shards[i], d.row.Name, func(e *entry, n string) int { return strings.Compare(e.row.Name, n) })
		e.row.Name = d.row.Name
		o.shards[i] = slices.Insert(o.shards[i], at, e)
	}
	e.row, e.line = d.row, d.line
	if h := d.row.Head; h != nil {
		e.lives[h.Identity] = h.FirstObserved
	}
}

func shardNumber(name string) int {
	return strings.IndexByte("0123456789abcdef", archive.Shard(name)[0])
}

// folded returns the digest of the shards of current/, concatenated.
func (o *observation) folded() canon.Digest {
	h := sha256.New()
	for _, shard := range o.shards {
		for _, e := range shard {
			h.Write(e.line)
		}
	}
	return canon.Digest("sha256:" + hex.EncodeToString(h.Sum(nil)))
}
