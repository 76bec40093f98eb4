package audit

import (
	"bytes"
	"cmp"
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

// lastReadFault says why the day on which the head of a row was last read does not
// follow from the row before: it stays while the target is not read, and is the day
// of its newest reading when that ends.
func lastReadFault(e *entry, o record.Observation) string {
	if e == nil || e.row.Head == nil || o.Head == nil || o.Head.LastObserved == "" {
		return ""
	}
	want := cmp.Or(e.row.Head.LastObserved, e.read, e.row.Head.FirstObserved)
	if o.Head.LastObserved == want {
		return ""
	}
	return fmt.Sprintf("last_observed is %s, and its head was last read on %s", o.Head.LastObserved, want)
}

// headFault says why the head of a success does not follow from the one before,
// as far as confirmation and the second reading go (DESIGN.md section 4). On the
// day of the baseline there are no events that could tell how often it was read.
func headFault(r *run, version string, baseline bool, old *record.Observation, o record.Observation) string {
	m, ok := record.MethodologyByVersion(version)
	if !ok || o.ErrorClass != record.Success || o.Head == nil || o.Retired != "" {
		return ""
	}
	is := o.Head
	var was *record.Head
	if old != nil {
		was = old.Head
	}
	today := is.Unstable == r.day
	switch {
	case is.Unstable != "" && !m.SecondReading:
		return "it is unstable, and its methodology reads once"
	case is.LastObserved != "" && !today:
		return "it answered, its head was last read before, and it is not unstable on this day"
	case was == nil && !is.Confirmed:
		return "its head is the first one, and is not confirmed"
	case was == nil && is.Unstable != "":
		return "its head is the first one, and is unstable"
	case was == nil || baseline:
		return ""
	case was.Identity != is.Identity:
		return newHeadFault(m, was, is)
	case was.Confirmed && !is.Confirmed:
		return "its head was confirmed, and no longer is"
	case is.Unstable != was.Unstable && !today:
		return fmt.Sprintf("its head is the same, and was unstable on %q", was.Unstable)
	case today && is.Confirmed != was.Confirmed:
		return "an unstable day confirmed its head"
	case !today && !is.Confirmed:
		return "its head was read again, and is not confirmed"
	case today && is.LastObserved != "" && !sameUnread(*old, o):
		return "neither reading was its head, and more than unstable and last_observed changed"
	}
	return ""
}

// newHeadFault says why a head that is another than the one before can't be.
func newHeadFault(m record.Methodology, was, is *record.Head) string {
	comparable := len(was.Capture.Differs(is.Capture)) == 0
	switch {
	case is.Unstable != "":
		return "its identity is a new one, and is unstable"
	case !m.SecondReading && is.Confirmed:
		return "its identity is a new one, and is confirmed"
	case m.CaptureRestricts && !comparable && !is.Confirmed:
		return "its identity was read under other conditions, and is not confirmed"
	}
	return ""
}

// sameUnread compares two rows of a success of which the newer did not find its
// head: server and head stay, but for what says so.
func sameUnread(old, o record.Observation) bool {
	x, y := *old.Head, *o.Head
	x.Unstable, y.Unstable = "", ""
	return sameHead(&x, &y) && bytes.Equal(record.Value(old.Server), record.Value(o.Server))
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
	rereads  map[string][]record.Reread // by name: what the second reading can have said, by the rows
	unread   map[string]bool            // by name: unstable, and neither reading was the head
}

func (a *auditor) newEventBook(o *observation, r *run, baseline bool) *eventBook {
	return &eventBook{a: a, o: o, r: r, baseline: baseline, rereads: map[string][]record.Reread{}, unread: map[string]bool{}}
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
		b.change(e, o.Name, was, is)
		return
	}
	if is.Unstable == b.r.day && was.Unstable != is.Unstable {
		b.unread[o.Name] = is.LastObserved != ""
		b.add(o.Name, record.Unstable, func(e *record.Event) {
			e.Old, e.OldArtifacts, e.Reread = was.Identity, was.Artifacts, record.RereadDifferent
		})
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

// change adds the event of a contract that is not the head's: drift, or under a
// methodology that lets captures restrict it a capture difference. A row shows of
// the second reading whether it confirmed a drift.
func (b *eventBook) change(life *entry, name string, was, is *record.Head) {
	m, _ := record.MethodologyByVersion(b.o.version)
	last := was.LastObserved
	if last == "" {
		last = life.read
	}
	differs := was.Capture.Differs(is.Capture)
	comparable := len(differs) == 0
	kind := record.Drift
	switch {
	case !m.SecondReading:
		b.rereads[name] = []record.Reread{record.RereadNone}
	case m.CaptureRestricts && !comparable:
		kind = record.CaptureDifference
		b.rereads[name] = []record.Reread{record.RereadSame, record.RereadFailed, record.RereadNone}
	case is.Confirmed:
		b.rereads[name] = []record.Reread{record.RereadSame}
	default:
		b.rereads[name] = []record.Reread{record.RereadFailed, record.RereadNone}
	}
	b.add(name, kind, func(e *record.Event) {
		e.Old, e.New, e.OldArtifacts, e.NewArtifacts = was.Identity, is.Identity, was.Artifacts, is.Artifacts
		e.OldFirst, e.LastSame, e.FirstDifferent = was.FirstObserved, last, b.r.day
		e.Comparable, e.Differs, e.ReturnOf = &comparable, differs, life.lives[is.Identity]
	})
}

// unshown removes from an event what only bodies or readings that were not kept
// show, and says what of it can't be.
func (b *eventBook) unshown(e *record.Event) string {
	switch e.Kind {
	case record.Drift, record.CaptureDifference:
		if !slices.Contains(b.rereads[e.Name], e.Reread) {
			return fmt.Sprintf("the second reading was %q, and the rows show one of %q", e.Reread, b.rereads[e.Name])
		}
		e.Changes, e.Classes, e.Reread = nil, nil, ""
	case record.Unstable:
		first, third := len(e.NewArtifacts) > 0 && e.New != "" && e.New != e.Old, len(e.OtherArtifacts) > 0 && e.Other != ""
		switch {
		case !first:
			return "it does not say which contract the first reading was"
		case third != b.unread[e.Name] || third != (e.Other != "" || len(e.OtherArtifacts) > 0):
			return "what it says of the second reading is not what the rows show"
		case third && (e.Other == e.Old || e.Other == e.New):
			return "its second reading is one of the two others"
		}
		e.New, e.NewArtifacts, e.Other, e.OtherArtifacts = "", nil, "", nil
	}
	return ""
}

// compare holds the events that were written to those that the rows show. What
// only the bodies show is taken as written: the classes and changes of a drift,
// and the readings that an unstable server's head is not.
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
			if why := b.unshown(&got); why != "" {
				b.a.fault(name, "event", "the event %s of %q: %s", got.Kind, got.Name, why)
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
