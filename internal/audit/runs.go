package audit

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/target"
)

// Files of the data folder beside the series.
const (
	optOutPath = "opt-out.txt"
	tombsPath  = "tombstones.jsonl"
)

var besides = []string{"README.md", ".gitattributes", "go.mod", optOutPath, tombsPath, "datapackage.json"}

// checkRoot checks the files beside the series.
func (a *auditor) checkRoot(context.Context) error {
	for _, name := range besides {
		a.expected[name] = false
	}
	for name := range a.files {
		if path.Dir(name) == "schema" && strings.HasSuffix(name, ".schema.json") {
			a.expected[name] = false
		}
	}
	b, err := a.read(optOutPath)
	if err != nil {
		return err
	}
	if _, err := target.ParseOptOut(bytes.NewReader(b)); err != nil {
		a.fault(optOutPath, "opt-out", "%v", err)
	}
	if b, err = a.read(tombsPath); err != nil {
		return err
	}
	tombs, _ := decodeLines[record.Tombstone](a, tombsPath, b)
	for i, t := range tombs {
		_, dayErr := record.ParseDay(string(t.Day))
		if _, err := canon.ParseDigest(string(t.SHA256)); err != nil || dayErr != nil || t.Reason == "" {
			a.fault(tombsPath, "tombstone", "line %d is not a day, a reason and a digest", i+1)
			continue
		}
		a.tombs[t.SHA256] = true
	}
	return nil
}

// A run is one run as far as its record can be trusted.
type run struct {
	id       string
	path     string
	day      record.Day
	rec      *record.Run // nil if it can't be read
	trusted  bool        // the record is sound as far as it can be seen by itself and by the next one
	methods  []string
	events   []record.Event
	eventsOK bool

	counted          int  // methodologies whose rows were counted
	degraded, missed bool // by the rows of one of them
	headers          []statedHeader
	books            []*eventBook
}

// A statedHeader is what the header of a dated file says of the run.
type statedHeader struct {
	path     string
	degraded bool
}

// first reports whether the run is the first of its day, which reads the roster.
func (r *run) first() bool { return r.id == string(r.day) }

// checkRuns reads the run records, their chain, and the digests of the dated
// files.
func (a *auditor) checkRuns(context.Context) error {
	if err := a.listRuns(); err != nil {
		return err
	}
	for i, r := range a.runs {
		b, err := a.read(r.path)
		if err != nil {
			return err
		}
		var rec record.Run
		if b != nil && decodeFile(a, r.path, b, &rec) {
			r.rec = &rec
			a.checkRunRecord(r)
		}
		if i == 0 && r.rec != nil && rec.Previous != "" && !a.dirty(r.path) {
			a.fault(r.path, "run-chain", "it names a run record before it, and there is none")
		}
	}
	a.checkChain()
	for _, r := range a.runs {
		r.trusted = r.rec != nil && !a.suspect(r.path)
		a.expectDated(r)
	}
	return nil
}

// listRuns finds the runs: those of the newest commit where it is known, else
// those that have a record, or dated files that must have lost theirs.
func (a *auditor) listRuns() error {
	ids := map[string]bool{}
	if a.Committed != nil {
		for name := range a.Committed {
			if id, kind := datedRun(name); kind == "runs" {
				ids[id] = true
			}
		}
	} else {
		a.findRuns(ids)
	}
	for id := range ids {
		day, _, err := record.ParseRunID(id)
		if err != nil {
			return fmt.Errorf("reading the run id %s: %w", id, err)
		}
		a.runs = append(a.runs, &run{id: id, path: archive.RunPath(id), day: day})
		a.expected[archive.RunPath(id)] = true
	}
	slices.SortFunc(a.runs, func(x, y *run) int { return record.CompareRuns(x.id, y.id) })
	return nil
}

// findRuns finds the runs by their files. Files of a run without a record are
// strays only if they are one file and newer than every record.
func (a *auditor) findRuns(ids map[string]bool) {
	newest := ""
	dated := map[string]int{}
	for name := range a.files {
		id, kind := datedRun(name)
		switch {
		case id == "":
		case kind != "runs":
			dated[id]++
		default:
			ids[id] = true
			if newest == "" || record.CompareRuns(id, newest) > 0 {
				newest = id
			}
		}
	}
	for id, n := range dated {
		if n > 1 || newest != "" && record.CompareRuns(id, newest) < 0 {
			ids[id] = true
		}
	}
}

// datedRun returns the run that a dated file belongs to, and the folder that it
// lies in; both are empty for other paths.
func datedRun(name string) (id, kind string) {
	rest, ok := strings.CutPrefix(name, archive.Dir+"/")
	if !ok {
		return "", ""
	}
	kind, base := path.Dir(path.Dir(rest)), path.Base(rest)
	stem := strings.TrimSuffix(strings.TrimSuffix(base, ".jsonl"), ".json")
	if kind == "observations" {
		i := strings.LastIndexByte(stem, '.')
		if i < 0 {
			return "", ""
		}
		id = stem[:i]
		if _, _, err := record.ParseRunID(id); err == nil && archive.ObservationsPath(id, stem[i+1:]) == name {
			return id, kind
		}
		return "", ""
	}
	if _, _, err := record.ParseRunID(stem); err != nil {
		return "", ""
	}
	for k, p := range map[string]string{
		"roster": archive.RosterPath(stem), "events": archive.EventsPath(stem), "runs": archive.RunPath(stem), "artifacts/index": archive.IndexPath(stem),
	} {
		if k == kind && p == name {
			return stem, kind
		}
	}
	return "", ""
}

// checkRunRecord checks a run record by itself.
func (a *auditor) checkRunRecord(r *run) {
	bad := func(format string, args ...any) { a.fault(r.path, "run-record", format, args...) }
	rec := r.rec
	want := []string{}
	if r.first() {
		want = append(want, archive.RosterPath(r.id))
	}
	for _, m := range slices.Sorted(maps.Keys(rec.Methodologies)) {
		if _, ok := record.MethodologyByVersion(m); !ok {
			bad("it names the methodology %q, which this version does not know", m)
			continue
		}
		r.methods = append(r.methods, m)
		want = append(want, archive.ObservationsPath(r.id, m))
	}
	want = append(want, archive.EventsPath(r.id), archive.IndexPath(r.id))
	for i := range want {
		want[i] = strings.TrimPrefix(want[i], archive.Dir+"/")
	}
	slices.Sort(want)
	switch {
	case rec.Run != r.id || rec.Day != r.day:
		bad("it is the record of run %q of day %q", rec.Run, rec.Day)
	case len(r.methods) == 0:
		bad("it names no methodology")
	case !slices.Equal(slices.Sorted(maps.Keys(rec.Files)), want):
		bad("its files are %s, and a run like this has %s", strings.Join(slices.Sorted(maps.Keys(rec.Files)), " "), strings.Join(want, " "))
	case rec.Finished.Before(rec.Planned.Time):
		bad("it finished before it was planned")
	case record.DayOf(rec.Planned.Time) != rec.Day:
		bad("it was planned on another day than %s", rec.Day)
	case rec.Seed < 0 || rec.Seed >= 1<<53 || rec.PaceMS < 0 || rec.TimeoutMS <= 0 || rec.Limit < 0:
		bad("its seed, pace, timeout or limit is impossible")
	}
	for _, name := range slices.Sorted(maps.Keys(rec.Files)) {
		if _, err := canon.ParseDigest(string(rec.Files[name])); err != nil {
			bad("the digest of %s: %v", name, err)
		}
	}
}

// checkChain checks that each record states the digest of the one before. Where
// two records contradict each other, one that differs from the newest commit is
// wrong; else the earlier one, whose digest is not the one that was sealed,
// unless the later one is not what its own successor states either.
func (a *auditor) checkChain() {
	linked := func(i int) bool {
		return a.runs[i].rec == nil || !a.regular(a.runs[i-1].path) || a.runs[i].rec.Previous == a.sums[a.runs[i-1].path].sha256
	}
	for i := 1; i < len(a.runs); i++ {
		if linked(i) {
			continue
		}
		prev, this := a.runs[i-1], a.runs[i]
		guilty := a.blame(prev.path, this.path)
		if !a.suspect(guilty) && i+1 < len(a.runs) && !linked(i+1) {
			guilty = this.path
		}
		if guilty == prev.path {
			a.fault(guilty, "run-chain", "its digest is %s, and the record of %s states %s for it", a.sums[prev.path].sha256, this.id, this.rec.Previous)
		} else {
			a.fault(guilty, "run-chain", "it states %s for the record before it, and that is %s", this.rec.Previous, a.sums[prev.path].sha256)
		}
	}
}

// expectDated says which dated files a run has, and compares their digests with
// the run record.
func (a *auditor) expectDated(r *run) {
	if r.rec == nil || a.faulty(r.path) && len(r.methods) == 0 {
		// What the record would have said is known from the files themselves.
		for name := range a.files {
			if id, _ := datedRun(name); id == r.id {
				a.expected[name] = false
			}
		}
		for _, m := range record.Methodologies {
			if a.regular(archive.ObservationsPath(r.id, m.Version)) {
				r.methods = append(r.methods, m.Version)
			}
		}
		return
	}
	for below, d := range r.rec.Files {
		name := path.Join(archive.Dir, below)
		if id, _ := datedRun(name); id != r.id {
			continue
		}
		a.expected[name] = true
		if a.regular(name) && r.trusted && a.sums[name].sha256 != d {
			a.fault(name, "dated-digest", "its digest is %s, and the record of its run states %s", a.sums[name].sha256, d)
		}
	}
}

// An entryIn is a line of an index, and the file that it is in.
type entryIn struct {
	record.Body
	index string
}

// checkIndexes reads the indexes of bodies.
func (a *auditor) checkIndexes(ctx context.Context) error {
	for _, r := range a.runs {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := archive.IndexPath(r.id)
		b, err := a.read(name)
		if err != nil {
			return err
		}
		if b == nil || a.faulty(name) {
			a.holes = true
			continue
		}
		entries, ok := decodeLines[record.Body](a, name, b)
		if n := sortedBy(entries, compareBodies); n > 0 {
			a.fault(name, "index", "line %d is not after the one before it, by path", n)
		}
		for i, e := range entries {
			if why := entryFault(e); why != "" {
				a.fault(name, "index", "line %d: %s", i+1, why)
				ok = false
				continue
			}
			a.indexed[e.SHA256] = true
			a.newest[e.Path] = entryIn{e, name}
			if a.Has != nil && !a.tombs[e.SHA256] && !a.Has(e.Blob) {
				a.fault(name, "index-object", "line %d names the object %s, and git does not have it", i+1, e.Blob)
			}
		}
		a.holes = a.holes || !ok
	}
	return nil
}

// entryFault says what is wrong with an index line by itself.
func entryFault(e record.Body) string {
	_, err := canon.ParseDigest(string(e.SHA256))
	switch {
	case err != nil:
		return err.Error()
	case len(e.Blob) != 40 || strings.Trim(e.Blob, "0123456789abcdef") != "":
		return fmt.Sprintf("%q is not the name of a git object", e.Blob)
	case e.Bytes < 0:
		return "its length is negative"
	case !isBody(path.Join(archive.Dir, e.Path)) || !strings.HasPrefix(e.Path, "artifacts/") || path.Clean(e.Path) != e.Path:
		return fmt.Sprintf("no body lies at %q", e.Path)
	}
	return ""
}

// checkTiming checks the latencies of the newest run: positional, so a line too
// many or too few makes every figure wrong.
func (a *auditor) checkTiming(rows map[string]int) error {
	b, err := a.read(archive.TimingPath)
	if err != nil || b == nil {
		return err
	}
	bad := func(format string, args ...any) { a.fault(archive.TimingPath, "timing", format, args...) }
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Scan()
	header := strings.Split(s.Text(), ",")
	m, ok := strings.CutSuffix(header[0], "_observed_at")
	want, known := rows[m]
	if !ok || len(header)%3 != 0 {
		bad("line 1 is not the header of timing.csv")
		return nil
	}
	for i := 0; i < len(header); i += 3 {
		v := strings.TrimSuffix(header[i], "_observed_at")
		if header[i] != v+"_observed_at" || header[i+1] != v+"_init_ms" || header[i+2] != v+"_list_ms" {
			bad("line 1 is not the header of timing.csv")
			return nil
		}
	}
	n := 0
	for s.Scan() {
		n++
		fields := strings.Split(s.Text(), ",")
		if len(fields) != len(header) || slices.ContainsFunc(fields, strangeField) {
			bad("line %d does not hold times and milliseconds in %d fields", n+1, len(header))
			return nil
		}
	}
	if known && n != want {
		bad("it has %d lines for %d rows", n, want)
	}
	if len(b) > 0 && b[len(b)-1] != '\n' || bytes.IndexByte(b, '\r') >= 0 {
		bad("its lines do not end in LF")
	}
	return nil
}

// strangeField reports whether a field of timing.csv is neither empty nor a time
// nor a count of milliseconds.
func strangeField(f string) bool {
	if strings.Trim(f, "0123456789") == "" {
		return false
	}
	var t record.Time
	return t.UnmarshalJSON([]byte(`"`+f+`"`)) != nil
}
