package audit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// changeFault says why a row does not follow from the row before, which is nil
// for a target's first one.
func (a *auditor) changeFault(r *run, e *entry, o record.Observation) string {
	var old *record.Observation
	if e != nil {
		old = &e.row
	}
	if o.Retired == r.day && (old == nil || old.Retired == "") {
		if ro := a.roster.byRun[r.id]; ro != nil && !contains(ro.Removed, o.Name) {
			return "it is retired, and the roster does not remove it"
		}
	}
	switch {
	case old == nil && o.Since != r.day:
		return fmt.Sprintf("it is the first row, and since is %s", o.Since)
	case old == nil && o.Head != nil && o.Head.FirstObserved != r.day:
		return fmt.Sprintf("it is the first row, and first_observed is %s", o.Head.FirstObserved)
	case old == nil:
		return ""
	case o.Retired != "" && o.Retired != old.Retired && o.Retired != r.day:
		return fmt.Sprintf("it is retired by %s, a day of another run", o.Retired)
	case o.Retired == r.day:
		return retireFault(*old, o)
	}
	moved := old.ErrorClass != o.ErrorClass || old.Retired != ""
	back := e.asInTheMorning(o.ErrorClass) && o.Since == e.morning.Since // what an earlier run of the day had interrupted
	switch {
	case moved && o.Since != r.day && !back:
		return fmt.Sprintf("its class is another one, and since is %s", o.Since)
	case moved && o.Since == r.day && e.asInTheMorning(o.ErrorClass):
		return fmt.Sprintf("its class is that before this day, and since was %s", e.morning.Since)
	case !moved && o.Since != old.Since:
		return fmt.Sprintf("its class is the same, and since was %s", old.Since)
	case o.ErrorClass != record.Success && !bytes.Equal(record.Value(o.Server), record.Value(old.Server)):
		return "it failed, and the server changed"
	case o.ErrorClass != record.Success && !sameHead(old.Head, o.Head):
		return "it failed, and the head changed"
	case old.Head != nil && o.Head == nil:
		return "the head is gone"
	case o.Head != nil && (old.Head == nil || old.Head.Identity != o.Head.Identity) && o.Head.FirstObserved != r.day:
		return fmt.Sprintf("its identity is a new one, and first_observed is %s", o.Head.FirstObserved)
	case o.Head != nil && old.Head != nil && old.Head.Identity == o.Head.Identity && o.Head.FirstObserved != old.Head.FirstObserved:
		return fmt.Sprintf("its identity is the same, and first_observed was %s", old.Head.FirstObserved)
	}
	return ""
}

// retireFault says why a row is not the one before, retired.
func retireFault(old, o record.Observation) string {
	head := sameHead(old.Head, o.Head)
	old.Head, o.Head, o.Retired = nil, nil, ""
	if !head || !bytes.Equal(record.Line(old), record.Line(o)) {
		return "it is retired, and more than that changed"
	}
	return ""
}

// sameHead compares two heads but for the day on which they were last read.
func sameHead(x, y *record.Head) bool {
	if x == nil || y == nil {
		return x == y
	}
	a, b := *x, *y
	a.LastObserved, b.LastObserved = "", ""
	return bytes.Equal(record.Line(a), record.Line(b))
}

// An eventBook collects the events that the rows of a run show, and compares
// them with those that it wrote.
type eventBook struct {
	a        *auditor
	o        *observation
	r        *run
	baseline bool
	want     []record.Event
}

func (a *auditor) newEventBook(o *observation, r *run, baseline bool) *eventBook {
	return &eventBook{a: a, o: o, r: r, baseline: baseline}
}

func (b *eventBook) add(name string, kind record.Kind, fill func(*record.Event)) {
	e := record.Event{Day: b.r.day, Kind: kind, Methodology: b.o.version, Name: name}
	if fill != nil {
		fill(&e)
	}
	b.want = append(b.want, e)
}

// roster reports whether the events of the roster are checked against the rows
// of this methodology: those of the series of record.
func (b *eventBook) roster() bool { return b.o.version == slices.Min(b.r.methods) }

// take adds the events of one row.
func (b *eventBook) take(old *record.Observation, e *entry, o record.Observation) {
	if old != nil && old.Endpoint != o.Endpoint && b.roster() {
		b.moved(old.Endpoint, o)
	}
	if b.baseline || o.Retired == b.r.day {
		return
	}
	if old != nil && old.ErrorClass != o.ErrorClass {
		b.add(o.Name, record.ClassChanged, func(ev *record.Event) {
			ev.From, ev.To = record.Value(old.ErrorClass), record.Value(o.ErrorClass)
			ev.Degraded = b.o.interrupted && e.asInTheMorning(o.ErrorClass)
		})
	}
	if o.Head == nil {
		return
	}
	if old == nil || old.Head == nil {
		b.add(o.Name, record.FirstAnswer, func(e *record.Event) { e.New, e.NewArtifacts = o.Head.Identity, o.Head.Artifacts })
		return
	}
	b.server(*old, o)
	was, is := old.Head, o.Head
	if was.Identity != is.Identity {
		b.drift(e, o.Name, was, is)
		return
	}
	if was.Ordered != is.Ordered {
		b.add(o.Name, record.Reordered, func(e *record.Event) { e.OldArtifacts, e.NewArtifacts = was.Artifacts, is.Artifacts })
	}
	if !was.Confirmed && is.Confirmed {
		b.add(o.Name, record.Confirmed, func(e *record.Event) { e.Confirms, e.New = is.FirstObserved, is.Identity })
	}
}

// moved adds the event of an endpoint that moved, except to the first run.
func (b *eventBook) moved(from string, o record.Observation) {
	if b.r != b.a.runs[0] {
		b.want = append(b.want, record.Event{
			Day: b.r.day, Kind: record.EndpointMoved, Name: o.Name, From: endpointValue(from), To: endpointValue(o.Endpoint),
		})
	}
}

func endpointValue(url string) []byte {
	if url == "" {
		return []byte("null")
	}
	return record.Value(url)
}

// A serverState is what an event of the server states of it, before and after.
type serverState struct {
	Capabilities []string     `json:"capabilities"`
	Instructions canon.Digest `json:"instructions,omitempty"`
	Name         string       `json:"name,omitempty"`
	Negotiated   string       `json:"negotiated,omitempty"`
	Version      string       `json:"version,omitempty"`
}

func serverOf(o record.Observation) []byte {
	s := o.Server
	return record.Value(serverState{s.Capabilities, s.Instructions, s.Name, o.Head.Capture.Protocol.Negotiated, s.Version})
}

// server adds the event of a handshake that said something else than the one
// before. Both rows have a head; only a success is a reading of the server.
func (b *eventBook) server(old, o record.Observation) {
	if o.ErrorClass != record.Success || old.Server == nil || o.Server == nil {
		return
	}
	if was, is := serverOf(old), serverOf(o); !bytes.Equal(was, is) {
		b.add(o.Name, record.ServerChanged, func(e *record.Event) { e.From, e.To = was, is })
	}
}

func (b *eventBook) drift(life *entry, name string, was, is *record.Head) {
	last := was.LastObserved
	if last == "" {
		last = life.read
	}
	differs := was.Capture.Differs(is.Capture)
	comparable := len(differs) == 0
	b.add(name, record.Drift, func(e *record.Event) {
		e.Old, e.New, e.OldArtifacts, e.NewArtifacts = was.Identity, is.Identity, was.Artifacts, is.Artifacts
		e.OldFirst, e.LastSame, e.FirstDifferent = was.FirstObserved, last, b.r.day
		e.Comparable, e.Differs, e.ReturnOf = &comparable, differs, life.lives[is.Identity]
	})
}

// compare holds the events that were written to those that the rows show. What
// only the bodies show is taken as written: the classes, changes and reread of a
// drift.
func (b *eventBook) compare() {
	name := archive.EventsPath(b.r.id)
	if !b.r.eventsOK {
		return
	}
	if b.roster() && !b.rosterEvents() {
		return
	}
	sure := b.r.trusted && !b.a.faulty(b.r.path) // that the day is degraded, or not
	for i := range b.want {
		b.want[i].Degraded = sure && (b.want[i].Degraded || b.r.rec.Degraded && b.want[i].Methodology != "")
	}
	slices.SortFunc(b.want, compareEvents)
	written := slices.DeleteFunc(slices.Clone(b.r.events), func(e record.Event) bool {
		return e.Methodology != b.o.version && !(e.Methodology == "" && b.roster())
	})
	i, j := 0, 0
	for i < len(b.want) || j < len(written) {
		c := 0
		switch {
		case i == len(b.want):
			c = 1
		case j == len(written):
			c = -1
		default:
			c = compareEvents(b.want[i], written[j])
		}
		switch {
		case c < 0:
			b.a.fault(name, "event", "the rows show an event %s of %q, and there is none", b.want[i].Kind, b.want[i].Name)
			i++
		case c > 0:
			b.a.fault(name, "event", "there is an event %s of %q, and the rows do not show it", written[j].Kind, written[j].Name)
			j++
		default:
			got := written[j]
			if got.Kind == record.Drift {
				got.Changes, got.Classes, got.Reread = nil, nil, ""
			}
			got.Degraded = sure && got.Degraded
			if !bytes.Equal(record.Line(b.want[i]), record.Line(got)) {
				b.a.fault(name, "event", "the event %s of %q is not what the rows show: %s", b.want[i].Kind, b.want[i].Name, strings.TrimSpace(string(record.Line(b.want[i]))))
			}
			i, j = i+1, j+1
		}
	}
}

// rosterEvents adds the events of the roster. It returns false if the roster of
// the run is not known.
func (b *eventBook) rosterEvents() bool {
	if !b.r.first() {
		return true
	}
	ro := b.a.roster.byRun[b.r.id]
	if ro == nil {
		return false
	}
	if b.r == b.a.runs[0] {
		return true
	}
	for _, row := range ro.Added {
		kind := record.Appeared
		if row.Old != "" {
			kind = record.Returned
		}
		b.want = append(b.want, record.Event{Day: b.r.day, Kind: kind, Name: row.Name})
	}
	for _, n := range ro.Removed {
		b.want = append(b.want, record.Event{Day: b.r.day, Kind: record.Retired, Name: n})
	}
	return true
}

// contains reports whether a sorted list holds a name.
func contains(sorted []string, name string) bool {
	_, ok := slices.BinarySearch(sorted, name)
	return ok
}

// bodiesOf returns the paths of the bodies of a head, in page order.
func bodiesOf(version, name string, artifacts []canon.Digest) []string {
	var paths []string
	for i := range artifacts {
		paths = append(paths, archive.BodyPath(version, name, archive.PagePart(i+1)))
	}
	return paths
}
