package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A Run is what the dated files say of one run under one methodology.
type Run struct {
	Record record.Run
	Roster *record.Roster            // nil where the run kept the roster of the day's first one
	Header *record.ObservationHeader // nil where the run did not read under the methodology
	Rows   []record.Observation
	Events []record.Event // of all methodologies
}

// A Builder joins runs, one after the other, into a [History]. It keeps the
// newest row of each target, its lives and its spans: memory grows with what
// happened, not with the days. It keeps what it is given; nobody may change it
// afterwards.
type Builder struct {
	methodology string
	rules       record.Methodology // zero for a version that is not known
	newest      string             // run added last
	byName      map[string]*Target
	targets     []*Target // in the order in which they were first listed
	days        []Day
	open        bool       // the last of days may get another run
	complete    record.Day // of the newest complete roster
	waiting     []waiting
}

// A waiting transition was recorded by a run that did not read under the
// methodology, on a day that the calendar does not have yet.
type waiting struct {
	day record.Day
	Transition
}

// NewBuilder returns a Builder of the line of observation of a methodology.
func NewBuilder(methodology string) *Builder {
	rules, _ := record.MethodologyByVersion(methodology)
	return &Builder{methodology: methodology, rules: rules, byName: map[string]*Target{}}
}

// MaxDays bounds a history: a day further from the first one is a mistake, and
// every day between would be a row of every table.
const MaxDays = 36_525

// Add enters a run. It fails unless the run comes after the ones added before, and
// not more than [MaxDays] after the first.
func (b *Builder) Add(r Run) error {
	id := r.Record.Run
	day, _, err := record.ParseRunID(id)
	if err != nil {
		return fmt.Errorf("joining runs: %w", err)
	}
	if b.newest != "" && record.CompareRuns(id, b.newest) <= 0 {
		return fmt.Errorf("joining runs: %s does not come after %s", id, b.newest)
	}
	if len(b.days) > 0 && Between(b.days[0].Day, day) > MaxDays {
		return fmt.Errorf("joining runs: %s lies more than a century after the first run, of %s", id, b.days[0].Day)
	}
	b.newest = id
	if n := len(b.days); b.open && b.days[n-1].Day != day {
		b.close()
	}
	if r.Roster != nil {
		b.follow(day, r.Roster)
	}
	if r.Header == nil {
		b.wait(day, r.Events)
		return nil
	}
	b.openDay(day)
	d := &b.days[len(b.days)-1]
	d.Runs = append(d.Runs, RunTime{Run: id, Planned: r.Record.Planned, Finished: r.Record.Finished})
	d.Coverage, d.Degraded, d.Partial = r.Record.Methodologies[b.methodology], r.Record.Degraded, r.Record.Partial
	b.enterEvents(d, r.Events)
	b.enterRows(day, r.Rows, changesOf(r.Events, b.methodology))
	b.confirm(r.Events)
	b.read(day, r.Header.Missed)
	return nil
}

// Targets returns everybody who ever was in the roster, in the order of their
// first listing, as they stand after the run added last.
func (b *Builder) Targets() []*Target { return b.targets }

// Missed returns the targets of the roster whom no run of the newest day
// attempted although they may declare an endpoint, sorted by name. Some of them
// may have no row yet.
func (b *Builder) Missed() []string {
	var names []string
	for _, t := range b.targets {
		if b.open && t.Retired == "" && !t.tried {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names
}

// History returns what the runs added so far tell. The Builder must not be used
// afterwards.
func (b *Builder) History() *History {
	if b.open {
		b.close()
	}
	slices.SortFunc(b.targets, func(x, y *Target) int { return strings.Compare(x.Name, y.Name) })
	return &History{Days: b.days, Targets: b.targets}
}

// follow enters who came into the roster and who left it.
func (b *Builder) follow(day record.Day, roster *record.Roster) {
	for _, r := range roster.Added {
		if t := b.target(r.Name, day); t.Retired != "" {
			t.Retired, t.back = "", day
		}
	}
	for _, name := range roster.Removed {
		b.target(name, day).Retired = day
	}
	if roster.Complete {
		b.complete = day
	}
}

// target returns the target of that name. One that was not there is listed from
// that day on.
func (b *Builder) target(name string, day record.Day) *Target {
	t, ok := b.byName[name]
	if !ok {
		t = &Target{Name: name, Listed: day, Lacked: b.complete}
		b.byName[name] = t
		b.targets = append(b.targets, t)
	}
	return t
}

// openDay makes day the last of days. Of the days since the last one there is no
// data.
func (b *Builder) openDay(day record.Day) {
	n := len(b.days)
	if b.open {
		return
	}
	b.open = true
	if n > 0 {
		gap := 0
		first := next(b.days[n-1].Day)
		for d := first; d < day; d = next(d) {
			b.days = append(b.days, Day{Day: d})
			gap++
		}
		for _, t := range b.targets {
			if gap > 0 && len(t.Spans) > 0 {
				t.push(first, NoData, gap)
			} else if from := max(t.Listed, first); len(t.Spans) == 0 && from < day {
				t.push(from, NoData, Between(from, day)) // listed by a run under another methodology
			}
		}
	}
	b.days = append(b.days, Day{Day: day})
	b.enterWaiting()
}

// wait keeps the transitions of a run that did not read under the methodology for
// their day.
func (b *Builder) wait(day record.Day, events []record.Event) {
	var d Day
	b.enterEvents(&d, events)
	if b.open { // on day
		last := &b.days[len(b.days)-1]
		last.Transitions = append(last.Transitions, d.Transitions...)
		return
	}
	for _, t := range d.Transitions {
		b.waiting = append(b.waiting, waiting{day, t})
	}
}

// enterWaiting enters the transitions that waited for their day. Those from before
// the first day have none.
func (b *Builder) enterWaiting() {
	for _, w := range b.waiting {
		if i := Between(b.days[0].Day, w.day); i >= 0 {
			b.days[i].Transitions = append(b.days[i].Transitions, w.Transition)
			if i < len(b.days)-1 { // nothing will settle it
				b.days[i].sort()
			}
		}
	}
	b.waiting = nil
}

// enterRows joins the rows of a run to the lives.
func (b *Builder) enterRows(day record.Day, rows []record.Observation, changes map[string]*record.Event) {
	for i := range rows {
		o := &rows[i]
		t := b.target(o.Name, day)
		before := t.Row.Head
		began := t.advance(o)
		t.Row = *o
		t.Endpoint = cmp.Or(o.Endpoint, t.Endpoint)
		if began {
			t.begin(before, changes[o.Name], b.rules)
		}
	}
}

// begin fills what the last life of a target has to know of how it began: from
// its event, or from the heads where there is none, because both readings were
// made on the day of the baseline.
func (t *Target) begin(before *record.Head, e *record.Event, rules record.Methodology) {
	n := len(t.Lives)
	l := &t.Lives[n-1]
	l.Endpoint, l.Read, l.Comparable = t.Endpoint, l.First, true
	if n == 1 {
		return
	}
	l.LastSame = max(t.Lives[n-2].Read, t.Lives[n-2].First)
	if rules.SecondReading {
		t.join()
	}
	if e == nil {
		l.Began = record.Drift
		if before != nil {
			l.Differs = before.Capture.Differs(t.Row.Head.Capture)
		}
		l.Comparable = len(l.Differs) == 0
		if rules.CaptureRestricts && !l.Comparable {
			l.Began = record.CaptureDifference
		}
		return
	}
	l.Began, l.Classes, l.Differs, l.Reread = e.Kind, e.Classes, e.Differs, e.Reread
	l.keep(e.Changes)
	l.Comparable = e.Kind == record.Drift && (e.Comparable == nil || *e.Comparable)
}

// join marks the last two lives when the first of them was never confirmed and
// the second is the contract from before it. One that such a pair already gave
// back goes on as the life before it did: it needs no confirmation of its own.
func (t *Target) join() {
	n := len(t.Lives)
	if n < 3 {
		return
	}
	last, mid, next := &t.Lives[n-3], &t.Lives[n-2], &t.Lives[n-1]
	if last.Identity == next.Identity && !mid.Confirmed && !mid.Joined {
		mid.Joined, next.Joined = true, true
	}
}

// read dates the readings of a run that found all as before, and the others.
// Who was attempted is told for the whole day.
func (b *Builder) read(day record.Day, m *record.Missed) {
	for _, t := range b.targets {
		if t.Retired != "" || Missed(m, t.Name) && !(m.Only != nil && t.settledRow()) {
			continue
		}
		t.tried = true
		if n := len(t.Lives); n > 0 && t.Row.ErrorClass == record.Success && t.Row.Retired == "" {
			t.Read = day
			if t.Row.Head.LastObserved == "" { // else it said two other things
				t.Lives[n-1].Read = day
			}
		}
	}
}

// Missed reports whether the header of a dated file says that no run of the day
// attempted the target of that name, which declares an endpoint. A header that
// names those attempted says nothing of targets without an endpoint.
func Missed(m *record.Missed, name string) bool {
	if m == nil {
		return false
	}
	if m.Only != nil {
		_, attempted := slices.BinarySearch(m.Only, name)
		return !attempted
	}
	_, missed := slices.BinarySearch(m.Names, name)
	return missed
}

// changesOf returns the changes of contract of a run, by name.
func changesOf(events []record.Event, methodology string) map[string]*record.Event {
	m := map[string]*record.Event{}
	for i, e := range events {
		if e.Methodology == methodology && (e.Kind == record.Drift || e.Kind == record.CaptureDifference) {
			m[e.Name] = &events[i]
		}
	}
	return m
}

// confirm dates the confirmations of a run.
func (b *Builder) confirm(events []record.Event) {
	for _, e := range events {
		if e.Kind != record.Confirmed || e.Methodology != b.methodology {
			continue
		}
		if t, ok := b.byName[e.Name]; ok {
			if n := len(t.Lives); n > 0 {
				t.Lives[n-1].ConfirmedOn = e.Day
			}
		}
	}
}

// enterEvents keeps the recorded transitions of a run.
func (b *Builder) enterEvents(d *Day, events []record.Event) {
	for _, e := range events {
		switch e.Kind {
		case record.Drift, record.CaptureDifference, record.Confirmed, record.ClassChanged:
			continue
		}
		if e.Methodology == "" || e.Methodology == b.methodology {
			d.Transitions = append(d.Transitions, Transition{Kind: e.Kind, Name: e.Name, From: e.From, To: e.To})
		}
	}
}

// close settles the last day.
func (b *Builder) close() {
	d := &b.days[len(b.days)-1]
	for _, t := range b.targets {
		state := t.state(d.Degraded)
		t.push(d.Day, state, 1)
		t.tried = false
		if d.Degraded || state == NoData || state == Retired {
			continue
		}
		class := t.Row.ErrorClass
		if t.known && t.settled != class {
			d.Transitions = append(d.Transitions, t.changeClass(class))
		}
		t.known, t.settled = true, class
	}
	d.sort()
	b.open = false
}

// changeClass returns the transition to a class. A target that declares no
// endpoint any more was not lost: nobody asks it.
func (t *Target) changeClass(to record.ErrorClass) Transition {
	tr := Transition{Kind: record.ClassChanged, Name: t.Name, From: record.Value(t.settled.Label()), To: record.Value(to.Label())}
	switch {
	case to == record.Success:
		tr.Regained, t.lost = t.lost, false
	case t.settled == record.Success && to != record.NoEndpoint:
		tr.Lost, t.lost = true, true
	}
	return tr
}

// sort puts the transitions of a day in order.
func (d *Day) sort() {
	slices.SortStableFunc(d.Transitions, func(x, y Transition) int {
		return cmp.Or(strings.Compare(string(x.Kind), string(y.Kind)), strings.Compare(x.Name, y.Name))
	})
}

// next returns the day after d.
func next(d record.Day) record.Day { return record.DayOf(d.Time().AddDate(0, 0, 1)) }

// Between returns the number of days from one day to another; negative where to
// is the earlier one.
func Between(from, to record.Day) int {
	return int(to.Time().Sub(from.Time()) / (24 * time.Hour))
}
