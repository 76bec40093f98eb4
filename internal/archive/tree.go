package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A Tree reads a data folder, from a work tree or from a commit. The zero Tree
// reads as one in which nothing was recorded.
type Tree struct {
	fsys fs.FS
}

// Open returns the tree whose data folder is fsys.
func Open(fsys fs.FS) *Tree { return &Tree{fsys} }

// ReadFile returns a file, and nil without an error where it does not exist.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	if t.fsys == nil {
		return nil, nil
	}
	// What is no file, such as a pipe, may never end.
	i, err := fs.Stat(t.fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !i.Mode().IsRegular():
		return nil, fmt.Errorf("reading %s: it is not a regular file", name)
	}
	return fs.ReadFile(t.fsys, name)
}

// Has reports whether there is a file of that name.
func (t *Tree) Has(name string) (bool, error) {
	if t.fsys == nil {
		return false, nil
	}
	_, err := fs.Stat(t.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// readDir lists a folder, sorted; one that does not exist is empty.
func (t *Tree) readDir(name string) ([]fs.DirEntry, error) {
	if t.fsys == nil {
		return nil, nil
	}
	entries, err := fs.ReadDir(t.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// Runs returns the ids of all runs, oldest first.
func (t *Tree) Runs() ([]string, error) {
	years, err := t.readDir(path.Join(Dir, "runs"))
	if err != nil {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	var runs []string
	for _, y := range years {
		files, err := t.readDir(path.Join(Dir, "runs", y.Name()))
		if err != nil {
			return nil, fmt.Errorf("listing runs: %w", err)
		}
		for _, f := range files {
			run, ok := strings.CutSuffix(f.Name(), ".json")
			if _, _, err := record.ParseRunID(run); !ok || err != nil || RunPath(run) != path.Join(Dir, "runs", y.Name(), f.Name()) {
				continue // the checker reports it
			}
			runs = append(runs, run)
		}
	}
	slices.SortFunc(runs, record.CompareRuns)
	return runs, nil
}

// Run returns the record of a run and the bytes that it was read from.
func (t *Tree) Run(run string) (record.Run, []byte, error) {
	var r record.Run
	b, err := t.readRecord(RunPath(run), &r)
	return r, b, err
}

// Roster returns the dated roster of a run. It returns false for a run that
// kept the roster of the day's first one.
func (t *Tree) Roster(run string) (record.Roster, bool, error) {
	var r record.Roster
	b, err := t.readRecord(RosterPath(run), &r)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	return r, b != nil, err
}

// readRecord reads a file that holds one record.
func (t *Tree) readRecord(name string, v any) ([]byte, error) {
	b, err := t.ReadFile(name)
	if err == nil && b == nil {
		err = fs.ErrNotExist
	}
	if err == nil {
		err = record.Decode(b, v)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return b, nil
}

// lines decodes each line of b as a T. The error names the file and the line.
func lines[T any](name string, b []byte) ([]T, error) {
	var out []T
	n := 0
	for line := range bytes.Lines(b) {
		n++
		var v T
		if err := record.Decode(line, &v); err != nil {
			return nil, fmt.Errorf("reading %s: line %d: %w", name, n, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// Current returns the newest row of every target under a methodology, sorted by
// name.
func (t *Tree) Current(methodology string) ([]record.Observation, error) {
	var rows []record.Observation
	for _, x := range Shards {
		name := CurrentPath(methodology, x)
		b, err := t.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		part, err := lines[record.Observation](name, b)
		if err != nil {
			return nil, err
		}
		rows = append(rows, part...)
	}
	slices.SortFunc(rows, byName)
	return rows, nil
}

func byName(a, b record.Observation) int { return strings.Compare(a.Name, b.Name) }

// EncodeShards returns the 16 files of current/ for rows sorted by name.
func EncodeShards(rows []record.Observation) (shards [16][]byte) {
	for _, o := range rows {
		i := strings.IndexByte("0123456789abcdef", Shard(o.Name)[0])
		shards[i] = append(shards[i], record.Line(o)...)
	}
	return shards
}

// Folded returns the digest that a dated header states: of the shards,
// concatenated.
func Folded(shards [16][]byte) canon.Digest { return canon.Sum(bytes.Join(shards[:], nil)) }

// Observations returns the dated observations of a run. It returns false where
// the run did not read under that methodology.
func (t *Tree) Observations(run, methodology string) (record.ObservationHeader, []record.Observation, bool, error) {
	var head record.ObservationHeader
	name := ObservationsPath(run, methodology)
	b, err := t.ReadFile(name)
	if err != nil || b == nil {
		return head, nil, false, err
	}
	head, rest, err := splitHeader(name, b)
	if err != nil {
		return head, nil, false, err
	}
	rows, err := lines[record.Observation](name, rest)
	return head, rows, err == nil, err
}

func splitHeader(name string, b []byte) (head record.ObservationHeader, rest []byte, err error) {
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	if err := record.Decode(first, &head); err != nil {
		return head, nil, fmt.Errorf("reading %s: line 1: %w", name, err)
	}
	return head, rest, nil
}

// Fold returns the row of every target as it stood after the run until, sorted
// by name, and the header of the newest dated file that the fold used. It reads
// the dated files only.
func (t *Tree) Fold(methodology, until string) ([]record.Observation, record.ObservationHeader, error) {
	var last record.ObservationHeader
	runs, err := t.Runs()
	if err != nil {
		return nil, last, err
	}
	state := map[string]record.Observation{}
	for _, run := range runs {
		if record.CompareRuns(run, until) > 0 {
			break
		}
		head, rows, ok, err := t.Observations(run, methodology)
		if err != nil {
			return nil, last, err
		}
		if !ok {
			continue
		}
		last = head
		for _, o := range rows {
			state[o.Name] = o
		}
	}
	out := make([]record.Observation, 0, len(state))
	for _, o := range state {
		out = append(out, o)
	}
	slices.SortFunc(out, byName)
	return out, last, nil
}

// A DatedRow is one row of a dated observation file.
type DatedRow struct {
	Run string
	record.Observation
}

// History yields the dated rows of the targets named names under a methodology,
// oldest first; a run without a row for a target repeats its last one. The
// lines of other targets are not decoded.
func (t *Tree) History(methodology string, names ...string) iter.Seq2[DatedRow, error] {
	return func(yield func(DatedRow, error) bool) {
		runs, err := t.Runs()
		if err != nil {
			yield(DatedRow{}, err)
			return
		}
		want := map[string]bool{}
		for _, n := range names {
			want[n] = true
		}
		for _, run := range runs {
			if !t.historyOf(run, methodology, want, yield) {
				return
			}
		}
	}
}

// nameKey begins the member that a row is found by without decoding it.
var nameKey = []byte(`"name":`)

func (t *Tree) historyOf(run, methodology string, want map[string]bool, yield func(DatedRow, error) bool) bool {
	name := ObservationsPath(run, methodology)
	b, err := t.ReadFile(name)
	if err != nil {
		return yield(DatedRow{}, err)
	}
	_, rest, _ := bytes.Cut(b, []byte("\n"))
	for line := range bytes.Lines(rest) {
		if !mayName(line, want) {
			continue
		}
		var o record.Observation
		if err := record.Decode(line, &o); err != nil {
			return yield(DatedRow{}, fmt.Errorf("reading %s: %w", name, err))
		}
		if want[o.Name] && !yield(DatedRow{run, o}, nil) {
			return false
		}
	}
	return true
}

// mayName reports whether a line could be the row of a wanted target. It may
// say so of others, never the reverse: JSON writes a name in more than one way
// only where it holds a character that the writer escapes.
func mayName(line []byte, want map[string]bool) bool {
	for i := 0; ; {
		j := bytes.Index(line[i:], nameKey)
		if j < 0 {
			return false
		}
		i += j + len(nameKey)
		s, ok := bytes.CutPrefix(line[i:], []byte(`"`))
		if !ok {
			continue
		}
		end := bytes.IndexByte(s, '"')
		if end < 0 || bytes.IndexByte(s[:end], '\\') >= 0 || want[string(s[:end])] {
			return true
		}
	}
}

// Events returns the events of a run, and none for one that has no events file.
func (t *Tree) Events(run string) ([]record.Event, error) {
	name := EventsPath(run)
	b, err := t.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return lines[record.Event](name, b)
}

// EventsOf yields the events of one target, oldest first. The lines of others
// are not decoded.
func (t *Tree) EventsOf(name string) iter.Seq2[record.Event, error] {
	return func(yield func(record.Event, error) bool) {
		runs, err := t.Runs()
		if err != nil {
			yield(record.Event{}, err)
			return
		}
		want := map[string]bool{name: true}
		for _, run := range runs {
			b, err := t.ReadFile(EventsPath(run))
			if err != nil {
				yield(record.Event{}, err)
				return
			}
			for line := range bytes.Lines(b) {
				if !mayName(line, want) {
					continue
				}
				var e record.Event
				if err := record.Decode(line, &e); err != nil {
					yield(e, fmt.Errorf("reading %s: %w", EventsPath(run), err))
					return
				}
				if e.Name == name && !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Index returns the bodies that a run wrote.
func (t *Tree) Index(run string) ([]record.Body, error) {
	name := IndexPath(run)
	b, err := t.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return lines[record.Body](name, b)
}

// FindBody returns the newest index entry of a digest, and false where no run
// wrote such a body.
func (t *Tree) FindBody(d canon.Digest) (record.Body, bool, error) {
	runs, err := t.Runs()
	if err != nil {
		return record.Body{}, false, err
	}
	for _, run := range slices.Backward(runs) {
		name := IndexPath(run)
		b, err := t.ReadFile(name)
		if err != nil {
			return record.Body{}, false, fmt.Errorf("reading %s: %w", name, err)
		}
		if !bytes.Contains(b, []byte(d)) {
			continue
		}
		bodies, err := lines[record.Body](name, b)
		if err != nil {
			return record.Body{}, false, err
		}
		if i := slices.IndexFunc(bodies, func(e record.Body) bool { return e.SHA256 == d }); i >= 0 {
			return bodies[i], true, nil
		}
	}
	return record.Body{}, false, nil
}

// HeadBodies returns the bodies of the head of a row, in page order, checked
// against the digests that the row states.
func (t *Tree) HeadBodies(methodology string, o record.Observation) ([][]byte, error) {
	var pages [][]byte
	for i, want := range o.Head.Artifacts {
		name := BodyPath(methodology, o.Name, PagePart(i+1))
		b, err := t.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		if b == nil {
			return nil, fmt.Errorf("reading %s: the body %s of %s is missing", name, want, o.Name)
		}
		if got := canon.Sum(b); got != want {
			return nil, fmt.Errorf("reading %s: it is %s, not the %s that the row of %s states", name, got, want, o.Name)
		}
		pages = append(pages, b)
	}
	return pages, nil
}

// RegistryRows are the rows kept of the registry, by name; the rows of one name
// stand in listing order. Rows without a readable name stand under "".
type RegistryRows map[string][]string

// Rows returns the registry rows, those of retired targets included.
func (t *Tree) Rows() (RegistryRows, error) {
	rows := RegistryRows{}
	for _, x := range Shards {
		name := RowsPath(x)
		b, err := t.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		for line := range bytes.Lines(b) {
			row := bytes.TrimSuffix(line, []byte("\n"))
			target, _ := record.RowName(row) // "" for a row that has none
			rows[target] = append(rows[target], string(row))
		}
	}
	return rows, nil
}

// EncodeRows returns the 16 files of roster/rows/.
func EncodeRows(rows RegistryRows) (shards [16][]byte) {
	names := make([]string, 0, len(rows))
	for n := range rows {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		i := strings.IndexByte("0123456789abcdef", Shard(n)[0])
		for _, row := range rows[n] {
			shards[i] = append(append(shards[i], row...), '\n')
		}
	}
	return shards
}

// Order returns the names in listing order, a name once per listed row, and
// after them the names that are kept without having been listed.
func (t *Tree) Order() ([]string, error) {
	b, err := t.ReadFile(OrderPath)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", OrderPath, err)
	}
	var names []string
	for line := range strings.Lines(string(b)) {
		names = append(names, strings.TrimSuffix(line, "\n"))
	}
	return names, nil
}
