// Package ledger turns yesterday's tree, the plan and one run's results into
// rows, events and the run record.
//
// # Rows
//
// Every target has its row after every run. A row is dated only when it differs
// from the target's last dated row; the header of a dated file counts the
// others. The head advances only on success (methodology v1); a failure keeps it
// and adds the day it was last read.
//
// # Drift
//
// Under v1 every change of identity since the last successful reading is a drift
// event; where the captures are not comparable it says so and names the members
// (DESIGN.md section 7). A drift starts unconfirmed, and the next successful
// reading of the same contract confirms it.
//
// # Second readings
//
// Under v2 a reading that differs from the head was made twice in the run
// (DESIGN.md section 4). Where both say the same, it becomes the head, confirmed.
// Where the second is the head, or neither, the head stays, the day is unstable
// and confirms nothing; the bodies of what did not become the head are kept as
// +other, and those of a third contract as +other-b, until the next such day. On a
// day on which neither was the head, the row says when the head was last read.
// Where the second failed, or was not made, the first becomes the head,
// unconfirmed. A head that was read under other conditions than the one before, or
// of which either list was not read to its end, came by a capture difference,
// which is never drift and leaves nothing to confirm. The class of a row is that
// of the first reading; flags and server are those of the reading that is the
// head, and on a day without one the flags of the first and the server of before.
//
// # Bodies of a head
//
// They are those of the reading in which its contract was first seen in this
// order, and on this number of pages: the capture of a head counts its bodies. A
// reading whose bytes differ in anything else leaves them.
//
// # Coverage
//
// An active target declares an endpoint and was reached on one of the last 7
// days recorded before, degraded ones not counted. Coverage is the share of the
// active targets attempted that reached their server this day; below 90 % the
// day is degraded (DESIGN.md 5.3). A partial day states no coverage in its
// commit: it is a share of what it happened to attempt.
//
// # Baseline
//
// The first run of a methodology writes a row for every target and no probe
// events; the first roster writes no roster events. A methodology may join an
// archive later: its first run there is its baseline, and the others go on.
package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// Input is all that a run's records are made of.
type Input struct {
	Tree    *archive.Tree                               // the newest commit, never the work tree
	Plan    record.PlanHeader                           // of the run
	Targets []record.PlanTarget                         // of the plan, in roster order
	Listing record.ListingHeader                        // of the listing that travels with the plan
	Rows    []record.ListingRow                         // of the listing
	Results func(yield func(record.Result) error) error // of all shards, in any order
	Missing []int                                       // numbers of the shards that are missing or were cut
	Shards  int                                         // number of shards
	BlobID  func([]byte) string                         // git's object id of bytes
	Put     func(path string, b []byte) error           // takes each new file once
	Remove  func(path string) error
	Log     func(line string) // for people
}

// ErrNothingAttempted reports a run in which not one target was probed.
var ErrNothingAttempted = errors.New("not one target was probed")

// A Summary says what a run recorded.
type Summary struct {
	Run     record.Run
	Drifted map[string]int // targets with a drift event, by methodology
	Events  int
	Bodies  int
	Message string // of the commit
}

// book is the state of one call of Record.
type book struct {
	in       *Input
	pop      *Population
	runs     []string // before this one, oldest first
	files    map[string]canon.Digest
	events   []record.Event
	bodies   []record.Body
	timing   map[string]map[string]record.Result // methodology, name: times only
	finished time.Time                           // end of the last answer, at least the time of the plan
}

// Record writes the records of one run through in.Put and in.Remove. Nothing is
// to be kept of what it wrote if it returns an error; it returns
// [ErrNothingAttempted] for a run that probed nothing.
func Record(in Input) (*Summary, error) {
	b := &book{in: &in, files: map[string]canon.Digest{}, timing: map[string]map[string]record.Result{}, finished: in.Plan.Planned.Time}
	var err error
	if b.runs, err = in.Tree.Runs(); err != nil {
		return nil, err
	}
	if b.pop, err = Populate(in.Tree, in.Listing, in.Rows); err != nil {
		return nil, err
	}
	var lines []*line
	for _, m := range in.Plan.Methodologies {
		l, err := b.openLine(m)
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	if err := in.Results(func(r record.Result) error { return b.take(lines, r) }); err != nil {
		return nil, fmt.Errorf("recording %s: %w", in.Plan.Run, err)
	}
	return b.close(lines)
}

// line returns the line of observation that a result belongs to, and lets it
// take the result.
func (b *book) take(lines []*line, r record.Result) error {
	i := slices.IndexFunc(lines, func(l *line) bool { return l.methodology.Version == r.Method })
	if i < 0 {
		return fmt.Errorf("a result of %s is under methodology %q, which the plan does not name", r.Name, r.Method)
	}
	return lines[i].take(r)
}

// close settles the targets without a result and writes everything.
func (b *book) close(lines []*line) (*Summary, error) {
	in := b.in
	endpoints := 0
	for _, t := range in.Targets {
		if t.Endpoint != "" {
			endpoints++
		}
	}
	run := record.Run{
		Clock: in.Plan.Clock, Day: in.Plan.Day, Files: b.files, Finished: record.At(b.finished), Limit: in.Plan.Limit,
		Methodologies: map[string]record.Coverage{}, PaceMS: in.Plan.PaceMS, Planned: in.Plan.Planned,
		ProberVersion: in.Plan.ProberVersion, Roster: in.Plan.Roster, RosterComplete: in.Listing.Complete,
		Run: in.Plan.Run, Seed: in.Plan.Seed, TimeoutMS: in.Plan.TimeoutMS, Vantage: in.Plan.Vantage,
	}
	attempted := 0
	for _, l := range lines {
		if err := l.settle(); err != nil {
			return nil, err
		}
		attempted += l.probed
	}
	if attempted == 0 {
		return nil, ErrNothingAttempted
	}
	if err := b.putRoster(endpoints); err != nil {
		return nil, err
	}
	for _, l := range lines {
		c, partial := l.coverage()
		run.Methodologies[l.methodology.Version] = c
		run.Partial = run.Partial || partial
		run.Degraded = run.Degraded || c.Degraded()
	}
	for _, l := range lines {
		if err := l.put(run.Degraded); err != nil {
			return nil, err
		}
	}
	if err := b.putEvents(lines); err != nil {
		return nil, err
	}
	return b.putRun(run, lines)
}

// putEvents adds what only the whole run knows, sorts, and writes the events and
// the index of bodies.
func (b *book) putEvents(lines []*line) error {
	if !b.pop.First {
		b.rosterEvents(lines[0])
	}
	for _, l := range lines {
		if err := b.markReturns(l); err != nil {
			return err
		}
	}
	slices.SortFunc(b.events, func(x, y record.Event) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(string(x.Kind), string(y.Kind)), strings.Compare(x.Methodology, y.Methodology))
	})
	var events, index []byte
	for _, e := range b.events {
		events = append(events, record.Line(e)...)
	}
	slices.SortFunc(b.bodies, func(x, y record.Body) int { return strings.Compare(x.Path, y.Path) })
	for _, e := range b.bodies {
		index = append(index, record.Line(e)...)
	}
	if err := b.putDated(archive.EventsPath(b.in.Plan.Run), events); err != nil {
		return err
	}
	return b.putDated(archive.IndexPath(b.in.Plan.Run), index)
}

// rosterEvents adds what the roster changed. Endpoints move under the rows of
// the first methodology.
func (b *book) rosterEvents(l *line) {
	day := b.in.Plan.Day
	returned := map[string]bool{}
	for _, n := range b.pop.Returned {
		returned[n] = true
		b.events = append(b.events, record.Event{Day: day, Kind: record.Returned, Name: n})
	}
	for _, r := range b.pop.Added {
		if !returned[r.Name] {
			b.events = append(b.events, record.Event{Day: day, Kind: record.Appeared, Name: r.Name})
		}
	}
	for _, n := range b.pop.Removed {
		b.events = append(b.events, record.Event{Day: day, Kind: record.Retired, Name: n})
	}
	for _, t := range b.in.Targets {
		old, ok := l.before[t.Name]
		if !ok || old.Endpoint == t.Endpoint {
			continue
		}
		if now, ok := l.now[t.Name]; ok && now.Endpoint == old.Endpoint {
			continue // not attempted: the row still speaks of the old one
		}
		b.events = append(b.events, record.Event{
			Day: day, Kind: record.EndpointMoved, Name: t.Name, From: endpointValue(old.Endpoint), To: endpointValue(t.Endpoint),
		})
	}
}

func endpointValue(url string) []byte {
	if url == "" {
		return []byte("null")
	}
	return record.Value(url)
}

// markReturns finds the earlier life of each contract that came back.
func (b *book) markReturns(l *line) error {
	at := map[string]int{}
	for i, e := range b.events {
		if e.Methodology == l.methodology.Version && (e.Kind == record.Drift || e.Kind == record.CaptureDifference) {
			at[e.Name] = i
		}
	}
	if len(at) == 0 {
		return nil
	}
	names := make([]string, 0, len(at))
	for n := range at {
		names = append(names, n)
	}
	rows := map[string][]record.Observation{}
	for r, err := range b.in.Tree.History(l.methodology.Version, names...) {
		if err != nil {
			return err
		}
		rows[r.Name] = append(rows[r.Name], r.Observation)
	}
	for n, i := range at {
		b.events[i].ReturnOf = timeline.EarlierLife(timeline.Lives(rows[n]), b.events[i].New)
	}
	return nil
}

// putDated writes a dated file and remembers its digest for the run record.
func (b *book) putDated(name string, content []byte) error {
	b.files[strings.TrimPrefix(name, archive.Dir+"/")] = canon.Sum(content)
	return b.in.Put(name, content)
}

// putRun writes the run record, the last file of a run, and the latencies.
func (b *book) putRun(run record.Run, lines []*line) (*Summary, error) {
	if n := len(b.runs); n > 0 {
		_, raw, err := b.in.Tree.Run(b.runs[n-1])
		if err != nil {
			return nil, err
		}
		run.Previous = canon.Sum(raw)
	}
	if err := b.in.Put(archive.TimingPath, b.timingFile(lines)); err != nil {
		return nil, err
	}
	if err := b.in.Put(archive.RunPath(run.Run), record.File(run)); err != nil {
		return nil, err
	}
	s := &Summary{Run: run, Drifted: map[string]int{}, Events: len(b.events), Bodies: len(b.bodies)}
	for _, e := range b.events {
		if e.Kind == record.Drift {
			s.Drifted[e.Methodology]++ // at most one event of a target
		}
	}
	s.Message = message(s)
	return s, nil
}
