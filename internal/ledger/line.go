package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/drift"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// A line is one methodology's line of observation. Lines are never mixed.
type line struct {
	b           *book
	methodology record.Methodology
	baseline    bool                       // no run of an earlier day read under this methodology
	headers     []record.ObservationHeader // of earlier runs, newest first, back to one that missed nothing
	before, now map[string]record.Observation
	targets     map[string]record.PlanTarget
	done        map[string]bool     // attempted on this day, by this run or by one before
	probed      int                 // attempted by this run
	active      map[string]bool     // reached on one of the 7 days before
	morning     map[string]standing // before this day, by the rows; nil unless the run completes it
	degraded    bool                // the newest run of this day before this one was
}

func (b *book) openLine(version string) (*line, error) {
	m, ok := record.MethodologyByVersion(version)
	if !ok {
		return nil, fmt.Errorf("the plan names methodology %q, which this version does not know", version)
	}
	l := &line{b: b, methodology: m, before: map[string]record.Observation{}, now: map[string]record.Observation{},
		targets: map[string]record.PlanTarget{}, done: map[string]bool{}}
	rows, err := b.in.Tree.Current(version)
	if err != nil {
		return nil, err
	}
	for _, o := range rows {
		l.before[o.Name] = o
		l.now[o.Name] = o
	}
	for _, t := range b.in.Targets {
		l.targets[t.Name] = t
	}
	b.timing[version] = map[string]record.Result{}
	return l, l.readEarlier()
}

// activeWindow is the number of recorded days before this one on which an active
// target was reached at least once (DESIGN.md 5.3). A degraded day is none of
// them: it says nothing about who is active, and a long outage would else end
// with nobody left to miss.
const activeWindow = 7

// A standing is what a target's row said after a run, as far as reaching it goes.
type standing struct {
	class   record.ErrorClass
	retired bool
	since   record.Day
}

// readEarlier learns from the dated files which targets the day's earlier runs
// attempted, and which are active: it goes back run by run, undoing what each
// run's events say it changed.
func (l *line) readEarlier() error {
	l.baseline, l.active = true, map[string]bool{}
	stood := make(map[string]standing, len(l.before))
	for name, o := range l.before {
		stood[name] = standingOf(o)
	}
	today := map[string]bool{} // targets with a row of an earlier run of this day
	window := 0
	for _, run := range slices.Backward(l.b.runs) {
		head, rows, ok, err := l.b.in.Tree.Observations(run, l.methodology.Version)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		switch last := len(l.headers) == 0 || l.headers[len(l.headers)-1].Day != head.Day; {
		case head.Day == l.b.in.Plan.Day:
			l.readThisDay(head)
			for _, o := range rows {
				today[o.Name] = true
			}
		default:
			l.baseline = false
			if last && !head.Degraded && window < activeWindow {
				window++
				l.readReached(head, stood)
			}
		}
		l.headers = append(l.headers, head)
		if window == activeWindow && head.Missed == nil {
			break // lastRead needs no older header
		}
		if window < activeWindow {
			if err := l.undo(run, stood); err != nil {
				return err
			}
		}
	}
	if len(l.headers) > 0 && l.headers[0].Day == l.b.in.Plan.Day {
		return l.readMorning(today)
	}
	return nil
}

// readMorning learns how each target stood before this day. Those with a row of
// this day stood as their last row before it; a class event alone does not tell,
// for a target that came back may have been missed.
func (l *line) readMorning(today map[string]bool) error {
	l.morning = map[string]standing{}
	for name, o := range l.before {
		if !today[name] {
			l.morning[name] = standingOf(o)
		}
	}
	for r, err := range l.b.in.Tree.History(l.methodology.Version, slices.Collect(maps.Keys(today))...) {
		if err != nil {
			return err
		}
		if day, _, err := record.ParseRunID(r.Run); err == nil && day < l.b.in.Plan.Day {
			l.morning[r.Name] = standingOf(r.Observation)
		}
	}
	return nil
}

func standingOf(o record.Observation) standing {
	return standing{o.ErrorClass, o.Retired != "", o.Since}
}

// readThisDay learns from an earlier run of this day what it attempted.
func (l *line) readThisDay(head record.ObservationHeader) {
	l.degraded = l.degraded || len(l.headers) == 0 && head.Degraded
	for name, t := range l.targets {
		if t.Endpoint != "" && !timeline.Missed(head.Missed, name) {
			l.done[name] = true
		}
	}
}

// readReached marks as active what a day, by its last run, reached.
func (l *line) readReached(head record.ObservationHeader, stood map[string]standing) {
	for name, s := range stood {
		if s.class.Reached() && !s.retired && !timeline.Missed(head.Missed, name) {
			l.active[name] = true
		}
	}
}

// undo turns what stood after a run into what stood before it.
func (l *line) undo(run string, stood map[string]standing) error {
	events, err := l.b.in.Tree.Events(run)
	if err != nil {
		return err
	}
	for _, e := range events {
		s := stood[e.Name]
		switch {
		case e.Kind == record.Appeared:
			delete(stood, e.Name)
			continue
		case e.Kind == record.Returned:
			s.retired = true
		case e.Kind == record.Retired:
			s.retired = false
		case e.Kind == record.ClassChanged && e.Methodology == l.methodology.Version:
			if err := s.class.UnmarshalJSON(e.From); err != nil {
				return fmt.Errorf("reading the events of %s: %s: %w", run, e.Name, err)
			}
		default:
			continue
		}
		stood[e.Name] = s
	}
	return nil
}

// take enters the result of one probe.
func (l *line) take(r record.Result) error {
	t, ok := l.targets[r.Name]
	if !ok || t.Endpoint == "" {
		return fmt.Errorf("there is a result of %s, which the plan does not probe", r.Name)
	}
	times := l.b.timing[r.Method]
	if _, twice := times[r.Name]; twice {
		return fmt.Errorf("there are two results of %s", r.Name)
	}
	rd := reading{Result: r}
	if why := l.misfit(&rd); why != "" {
		l.b.in.Log(fmt.Sprintf("%s: its result is not believed and counts as missed: %s", r.Name, why))
		return nil
	}
	times[r.Name] = record.Result{Observed: r.Observed, InitMS: r.InitMS, ListMS: r.ListMS}
	l.finish(r)
	l.probed++
	l.done[r.Name] = true
	o := l.carry(t)
	l.setClass(&o, r.Outcome())
	o.Flags = t.Flags
	if !r.Outcome().OK() {
		l.fail(&o)
		l.now[o.Name] = o
		return nil
	}
	if err := l.succeed(&o, t, rd); err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	l.now[o.Name] = o
	return nil
}

// finish dates the end of the last answer.
func (l *line) finish(r record.Result) {
	if end := r.Observed.Add(time.Duration(max(r.InitMS, 0)+max(r.ListMS, 0)) * time.Millisecond); end.After(l.b.finished) {
		l.b.finished = end
	}
}

// carry begins today's row of a target with what stays of the one before.
func (l *line) carry(t record.PlanTarget) record.Observation {
	o := l.before[t.Name]
	o.Name, o.Endpoint, o.Flags = t.Name, t.Endpoint, nil
	if o.Head != nil {
		h := *o.Head
		o.Head = &h
	}
	return o
}

// setClass enters an outcome, and the transition if the class is another one.
func (l *line) setClass(o *record.Observation, out record.Outcome) {
	old, had := l.before[o.Name]
	if had && old.ErrorClass != out.Class {
		l.emit(o.Name, record.ClassChanged, func(e *record.Event) {
			e.From, e.To = record.Value(old.ErrorClass), record.Value(out.Class)
			// Back to the class of the morning: the other half of a transition
			// that a degraded run saw.
			e.Degraded = l.degraded && l.asInTheMorning(o.Name, out.Class)
		})
	}
	if !had || old.ErrorClass != out.Class || old.Retired != "" {
		o.Since = l.b.in.Plan.Day
	}
	o.ErrorClass, o.ErrorDetail, o.Step, o.HTTPStatus = out.Class, out.Detail, out.Step, out.HTTPStatus
	o.Retired = ""
}

// asInTheMorning reports whether a target had that class before this day.
func (l *line) asInTheMorning(name string, class record.ErrorClass) bool {
	s, ok := l.morning[name]
	return ok && !s.retired && s.class == class
}

// emit adds a probe event, except on the day that is the baseline.
func (l *line) emit(name string, kind record.Kind, fill func(*record.Event)) {
	if l.baseline {
		return
	}
	e := record.Event{Day: l.b.in.Plan.Day, Kind: kind, Methodology: l.methodology.Version, Name: name}
	fill(&e)
	l.b.events = append(l.b.events, e)
}

// fail keeps the head and dates the last reading of it.
func (l *line) fail(o *record.Observation) {
	if o.Head != nil && o.Head.LastObserved == "" {
		o.Head.LastObserved = l.lastRead(o.Name)
	}
}

// lastRead returns the day of the newest run that attempted a target, whose row
// says that it succeeded.
func (l *line) lastRead(name string) record.Day {
	if d := l.before[name].Head.LastObserved; d != "" {
		return d
	}
	for _, head := range l.headers {
		if !timeline.Missed(head.Missed, name) {
			return head.Day
		}
	}
	return l.before[name].Head.FirstObserved
}

// succeed enters a good reading, and the second one of the run where there is
// one: the server, the contract, and what they say against the head.
func (l *line) succeed(o *record.Observation, t record.PlanTarget, r reading) error {
	old := o.Head
	reread, second := l.again(&r)
	if reread == record.RereadDifferent {
		return l.unstable(o, t, r, *second)
	}
	o.Flags = mergeFlags(t.Flags, r.Flags)
	if err := l.setServer(o, r.Result); err != nil {
		return err
	}
	l.markClock(o, r)
	head := l.headOf(r)
	switch {
	case old == nil:
		l.emit(o.Name, record.FirstAnswer, func(e *record.Event) { e.New, e.NewArtifacts = head.Identity, head.Artifacts })
	case old.Identity == head.Identity:
		if old.Ordered != head.Ordered {
			l.emit(o.Name, record.Reordered, func(e *record.Event) {
				e.OldArtifacts, e.NewArtifacts = old.Artifacts, head.Artifacts
			})
		}
		o.Head = l.same(o, old, head)
		return l.adopt(o, old, r)
	default:
		l.change(o, old, head, r.contract, reread)
	}
	o.Head = head
	return l.putContract(o.Name, old, r)
}

// headOf returns the head that a reading would be.
func (l *line) headOf(r reading) *record.Head {
	head := &record.Head{
		Artifacts: r.artifacts, Capture: *r.Capture, Confirmed: true, FirstObserved: l.b.in.Plan.Day,
		Identity: r.Identity, Ordered: r.Ordered, Tools: r.Tools,
	}
	for _, p := range r.Pages {
		head.Bytes += int64(len(p))
	}
	return head
}

// markClock flags a reading that is dated before the one it follows.
func (l *line) markClock(o *record.Observation, r reading) {
	if o.Head != nil && r.Observed.Before(o.Head.Capture.ObservedAt.Time) {
		o.Flags = mergeFlags(o.Flags, []record.Flag{record.FlagClockBack})
	}
}

// unstable enters two readings of one run that differ, of which the first is not
// the head: the head stays, and nothing is confirmed. Where the second one is the
// head, it is the day's reading; where it is neither, the head was not read.
func (l *line) unstable(o *record.Observation, t record.PlanTarget, first, second reading) error {
	old := o.Head
	kept := *old
	kept.Unstable = l.b.in.Plan.Day
	neither := second.Identity != old.Identity
	l.emit(o.Name, record.Unstable, func(e *record.Event) {
		e.Old, e.OldArtifacts, e.New, e.NewArtifacts = old.Identity, old.Artifacts, first.Identity, first.artifacts
		e.Reread = record.RereadDifferent
		if neither {
			e.Other, e.OtherArtifacts = second.Identity, second.artifacts
		}
	})
	if neither {
		o.Flags = mergeFlags(t.Flags, first.Flags)
		l.markClock(o, first)
		kept.LastObserved = l.lastRead(o.Name)
	} else {
		o.Flags = mergeFlags(t.Flags, second.Flags)
		if err := l.setServer(o, second.Result); err != nil {
			return err
		}
		l.markClock(o, second)
		kept.LastObserved = ""
		if !kept.Capture.Same(*second.Capture) {
			kept.Capture = *second.Capture
		}
	}
	o.Head = &kept
	var others [][]byte
	if neither {
		others = second.Pages
	} else if err := l.adopt(o, old, second); err != nil {
		return err
	}
	if err := l.putRejected(o.Name, archive.Other, first.Pages); err != nil {
		return err
	}
	return l.putRejected(o.Name, archive.OtherB, others)
}

// putRejected writes the bodies of a reading that did not become the head, and
// removes the pages that the one before had beyond.
func (l *line) putRejected(name, which string, pages [][]byte) error {
	part := func(n int) string {
		return archive.BodyPath(l.methodology.Version, name, archive.RejectedPart(which, n))
	}
	for i, p := range pages {
		if err := l.putBody(part(i+1), p); err != nil {
			return err
		}
	}
	for n := len(pages) + 1; ; n++ {
		switch there, err := l.b.in.Tree.Has(part(n)); {
		case err != nil:
			return err
		case !there:
			return nil
		}
		if err := l.b.in.Remove(part(n)); err != nil {
			return err
		}
	}
}

// same enters a reading that found the contract of the head: it confirms it, and
// replaces the capture whole when another member than the time changed.
func (l *line) same(o *record.Observation, old, head *record.Head) *record.Head {
	kept := *old
	kept.LastObserved = ""
	if !kept.Confirmed {
		kept.Confirmed = true
		l.emit(o.Name, record.Confirmed, func(e *record.Event) { e.Confirms, e.New = kept.FirstObserved, kept.Identity })
	}
	if !kept.Capture.Same(head.Capture) {
		kept.Capture = head.Capture
	}
	return &kept
}

// adopt gives the head, which a reading found again, the bodies of that reading
// where they say what those of before did not: another order of the same contract,
// or another number of pages, which the capture beside them counts.
func (l *line) adopt(o *record.Observation, old *record.Head, r reading) error {
	is := l.headOf(r)
	if old.Ordered == is.Ordered && len(old.Artifacts) == len(is.Artifacts) {
		return nil
	}
	o.Head.Artifacts, o.Head.Bytes, o.Head.Ordered = is.Artifacts, is.Bytes, is.Ordered
	return l.putContract(o.Name, old, r)
}

// change enters a contract that is not the head's, of which a second reading, if
// one was made, did not say otherwise. Under a methodology that lets captures
// restrict drift, one that was read under other conditions is a capture
// difference, which nothing is left to confirm of.
func (l *line) change(o *record.Observation, old, head *record.Head, is *contract.Contract, reread record.Reread) {
	d := l.compare(o.Name, is)
	if old.Tools > 0 && head.Tools == 0 {
		o.Flags = mergeFlags(o.Flags, []record.Flag{record.FlagAllToolsGone})
	}
	differs := old.Capture.Differs(head.Capture)
	comparable := len(differs) == 0
	kind := record.Drift
	if l.methodology.CaptureRestricts && !comparable {
		kind = record.CaptureDifference
	}
	head.Confirmed = kind == record.CaptureDifference || reread == record.RereadSame
	l.emit(o.Name, kind, func(e *record.Event) {
		e.Old, e.New, e.OldArtifacts, e.NewArtifacts = old.Identity, head.Identity, old.Artifacts, head.Artifacts
		e.OldFirst, e.LastSame, e.FirstDifferent = old.FirstObserved, l.lastRead(o.Name), l.b.in.Plan.Day
		e.Reread, e.Comparable, e.Differs, e.Classes = reread, &comparable, differs, d.Classes
		for _, c := range d.Tools {
			e.Changes = append(e.Changes, record.ToolChange{Kind: string(c.Kind), Members: c.Members, Name: c.Name})
		}
	})
}

// compare returns what differs between the head's contract and the new one. An
// old contract that can't be read, because a body was removed on request or for
// another reason, leaves that unknown: it must not stop the record.
func (l *line) compare(name string, is *contract.Contract) drift.Diff {
	var was *contract.Contract
	bodies, err := l.b.in.Tree.HeadBodies(l.methodology.Version, l.before[name])
	if err == nil {
		was, err = contract.Read(bodies)
	}
	if err != nil {
		l.b.in.Log(fmt.Sprintf("%s: what changed in it is unknown: %v", name, err))
		return drift.Diff{}
	}
	return drift.Compare(was, is)
}

// serverState is what a server event compares.
type serverState struct {
	Capabilities []string     `json:"capabilities"`
	Instructions canon.Digest `json:"instructions,omitempty"`
	Name         string       `json:"name,omitempty"`
	Negotiated   string       `json:"negotiated,omitempty"`
	Version      string       `json:"version,omitempty"`
}

func stateOf(s *record.Server, c record.Capture) serverState {
	return serverState{s.Capabilities, s.Instructions, s.Name, c.Protocol.Negotiated, s.Version}
}

// setServer enters what the handshake said. The body of the handshake is kept
// beside the artifact when it says something else than before.
func (l *line) setServer(o *record.Observation, r record.Result) error {
	now := record.Value(stateOf(r.Server, *r.Capture))
	old := o.Server
	if old != nil && o.Head != nil {
		was := record.Value(stateOf(old, o.Head.Capture))
		if string(was) == string(now) {
			return nil
		}
		l.emit(o.Name, record.ServerChanged, func(e *record.Event) { e.From, e.To = was, now })
	}
	o.Server = r.Server
	return l.putBody(archive.BodyPath(l.methodology.Version, o.Name, "init"), r.Init)
}

// putContract writes the contract and the bodies of a new head, and removes the
// pages that the old one had beyond.
func (l *line) putContract(name string, old *record.Head, r reading) error {
	v := l.methodology.Version
	if err := l.b.in.Put(archive.ContractPath(v, name), r.contract.File()); err != nil {
		return err
	}
	for i, p := range r.Pages {
		if err := l.putBody(archive.BodyPath(v, name, archive.PagePart(i+1)), p); err != nil {
			return err
		}
	}
	if old == nil {
		return nil
	}
	for i := len(r.Pages); i < len(old.Artifacts); i++ {
		if err := l.b.in.Remove(archive.BodyPath(v, name, archive.PagePart(i+1))); err != nil {
			return err
		}
	}
	return nil
}

func (l *line) putBody(name string, body []byte) error {
	l.b.bodies = append(l.b.bodies, record.Body{
		Blob: l.b.in.BlobID(body), Bytes: int64(len(body)), Path: strings.TrimPrefix(name, archive.Dir+"/"), SHA256: canon.Sum(body),
	})
	return l.b.in.Put(name, body)
}

func mergeFlags(a, b []record.Flag) []record.Flag {
	if len(a)+len(b) == 0 {
		return nil
	}
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// Skips returns the targets that a run which completes its day need not read
// again under a methodology: those that the day's earlier runs attempted, but,
// after a degraded one, for the active ones that ended in timeout or tls
// (DESIGN.md section 5, "Writing").
func Skips(tree *archive.Tree, plan record.PlanHeader, targets []record.PlanTarget, methodology string, degraded bool) (map[string]bool, error) {
	b := &book{in: &Input{Tree: tree, Plan: plan, Targets: targets}, timing: map[string]map[string]record.Result{}}
	var err error
	if b.runs, err = tree.Runs(); err != nil {
		return nil, err
	}
	l, err := b.openLine(methodology)
	if err != nil {
		return nil, err
	}
	skip := map[string]bool{}
	for name := range l.done {
		class := l.before[name].ErrorClass
		again := degraded && (l.baseline || l.active[name]) && (class == record.Timeout || class == record.TLS)
		if !again {
			skip[name] = true
		}
	}
	return skip, nil
}
