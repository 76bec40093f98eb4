package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/target"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// Times are those at which an estimate is stated, in days, each in
// [0, survival.MaxTime].
type Times struct {
	RMST []float64 // up to which the restricted mean is computed
	At   []float64 // at which S is
}

// Build reads the dated files of a data folder and computes the figures of one
// methodology. It fails where nothing is recorded under it.
func Build(tree *archive.Tree, methodology string) (*Report, error) {
	return BuildAt(tree, methodology, Times{RMST: horizons, At: horizons})
}

// BuildAt is Build with other times in HalfLife.Estimate. All other figures, S30
// and its like among them, are those of Build.
func BuildAt(tree *archive.Tree, methodology string, times Times) (*Report, error) {
	c := newCollector(methodology, times)
	for run, err := range runs(tree, methodology) {
		if err == nil {
			err = c.add(run)
		}
		if err != nil {
			return nil, fmt.Errorf("building the report: %w", err)
		}
	}
	if c.newest == "" {
		return nil, fmt.Errorf("building the report: nothing is recorded under methodology %q", methodology)
	}
	return c.finish()
}

// newCollector returns the state in which nothing was read yet.
func newCollector(methodology string, times Times) *collector {
	rules, _ := record.MethodologyByVersion(methodology)
	return &collector{
		builder: timeline.NewBuilder(methodology), operators: map[string]string{}, rules: rules, times: times,
		r: &Report{Methodology: methodology, Schema: Schema, Series: record.Series, Servers: map[string]*Server{}},
	}
}

// Schema is the version of the form of a report.
const Schema = 1

// Missed returns the targets that no run of the day of a run attempted although
// they may declare an endpoint, sorted by name; some of them may have no row yet.
func Missed(tree *archive.Tree, methodology, run string) ([]string, error) {
	b := timeline.NewBuilder(methodology)
	for r, err := range runs(tree, methodology) {
		if err == nil && record.CompareRuns(r.Record.Run, run) > 0 {
			break
		}
		if err == nil {
			err = b.Add(r)
		}
		if err != nil {
			return nil, fmt.Errorf("finding who was missed by %s: %w", run, err)
		}
		if r.Record.Run == run { // nothing later is read
			break
		}
	}
	return b.Missed(), nil
}

// runs yields what the dated files say of each run, oldest first, and ends with
// an error.
func runs(tree *archive.Tree, methodology string) iter.Seq2[timeline.Run, error] {
	return func(yield func(timeline.Run, error) bool) {
		ids, err := tree.Runs()
		if err != nil {
			yield(timeline.Run{}, err)
			return
		}
		for _, id := range ids {
			run, err := read(tree, id, methodology)
			if !yield(run, err) || err != nil {
				return
			}
		}
	}
}

// read returns what the dated files say of a run under a methodology.
func read(tree *archive.Tree, id, methodology string) (timeline.Run, error) {
	run, err := readShared(tree, id)
	if err == nil {
		err = readRows(tree, id, methodology, &run)
	}
	return run, err
}

// readShared returns what the dated files say of a run whatever the methodology.
func readShared(tree *archive.Tree, id string) (timeline.Run, error) {
	var run timeline.Run
	rec, _, err := tree.Run(id)
	if err != nil {
		return run, err
	}
	run.Record = rec
	roster, ok, err := tree.Roster(id)
	if err != nil {
		return run, err
	}
	if ok {
		run.Roster = &roster
	}
	if run.Events, err = tree.Events(id); err != nil {
		return run, err
	}
	return run, sound(id, run)
}

// readRows enters what a run read under a methodology, if it did. What can't be,
// whatever was recorded, is an error: such a file is damaged.
func readRows(tree *archive.Tree, id, methodology string, run *timeline.Run) error {
	header, rows, ok, err := tree.Observations(id, methodology)
	if err != nil || !ok {
		return err
	}
	run.Header, run.Rows = &header, rows
	if header.Day != run.Record.Day {
		return fmt.Errorf("reading %s: it says that it is of another day", archive.ObservationsPath(id, methodology))
	}
	for _, o := range rows {
		if fault := o.Fault(); fault != "" {
			return fmt.Errorf("reading %s: the row of %.100q: %s", archive.ObservationsPath(id, methodology), o.Name, fault)
		}
	}
	return nil
}

// sound fails on what can't be in the files that all methodologies share.
func sound(id string, run timeline.Run) error {
	day, _, err := record.ParseRunID(id)
	if err != nil {
		return err
	}
	if run.Record.Run != id || run.Record.Day != day {
		return fmt.Errorf("reading %s: it says that it is of another run", archive.RunPath(id))
	}
	for _, e := range run.Events {
		for _, d := range []record.Day{e.Confirms, e.Day, e.FirstDifferent, e.LastSame, e.OldFirst, e.ReturnOf} {
			if _, err := record.ParseDay(string(d)); d != "" && err != nil {
				return fmt.Errorf("reading %s: an event of %.100q: %w", archive.EventsPath(id), e.Name, err)
			}
		}
		if e.Name == "" {
			return fmt.Errorf("reading %s: an event of nobody", archive.EventsPath(id))
		}
	}
	if run.Roster != nil {
		for _, r := range slices.Concat(run.Roster.Added, run.Roster.Changed) {
			if r.Name == "" {
				return fmt.Errorf("reading %s: a row without a name", archive.RosterPath(id))
			}
		}
	}
	return nil
}

// A collector is the state of one call of Build.
type collector struct {
	builder   *timeline.Builder
	operators map[string]string // registrable domain of each endpoint met
	r         *Report
	rules     record.Methodology // zero for a version that is not known
	newest    string             // run added last that read under the methodology
	full      bool               // it was not partial
	counted   record.Coverage
	days      map[Date]int // index in the calendar
	times     Times        // of the estimate
}

// add enters a run.
func (c *collector) add(run timeline.Run) error {
	if run.Roster != nil {
		c.r.Source = run.Roster.Source
	}
	reads := run.Header != nil
	if reads && run.Record.Partial && c.full {
		c.count() // the figures of the newest full run stay (case e-015)
	}
	if err := c.builder.Add(run); err != nil {
		return err
	}
	if !reads {
		return nil
	}
	rec := run.Record
	coverage := rec.Methodologies[c.r.Methodology]
	c.newest, c.full = rec.Run, !rec.Partial
	if c.full {
		c.counted, c.r.Full, c.r.FullDegraded = coverage, run.Header.Day, rec.Degraded
	}
	c.r.AsOf, c.r.AsOfTime = run.Header.Day, rec.Finished
	c.r.ProberVersion = rec.ProberVersion
	c.r.Simulated = rec.Clock != ""
	c.r.Newest = Newest{
		Degraded: rec.Degraded, Partial: rec.Partial, RosterComplete: rec.RosterComplete, Run: rec.Run,
	}
	if !rec.Partial {
		c.r.Newest.Coverage = &Share{Count(coverage.Reached), Count(coverage.Active)}
	}
	return nil
}

// operator returns the registrable domain of an endpoint.
func (c *collector) operator(endpoint string) string {
	if endpoint == "" {
		return ""
	}
	name, ok := c.operators[endpoint]
	if !ok {
		name = target.Platform(endpoint)
		c.operators[endpoint] = name
	}
	return name
}

// count takes the figures of the population from the state after a full run.
func (c *collector) count() {
	p := &c.r.Population
	p.Answering, p.Endpoints, p.Listed = Count(c.counted.Answered), Count(c.counted.Eligible), Count(c.counted.Targets)
	p.Operators, p.Retired, p.Tools = 0, 0, 0
	operators := map[string]bool{}
	for _, t := range c.builder.Targets() {
		if t.Retired != "" {
			p.Retired++
			continue
		}
		if o := c.operator(t.Row.Endpoint); o != "" {
			operators[o] = true
		}
		if t.Row.Head != nil && t.Row.ErrorClass == record.Success {
			p.Tools += Count(t.Row.Head.Tools)
		}
	}
	p.Operators = Count(len(operators))
	c.r.Classes = classes(c.counted)
}

// classes returns how the targets of a run ended: success, also if there was
// none, then the classes in the order of the methodology, those with a target.
func classes(coverage record.Coverage) []Class {
	all := Count(0)
	for _, n := range coverage.Classes {
		all += Count(n)
	}
	labels := []string{record.Success.Label()}
	for _, d := range record.Classes {
		labels = append(labels, d.Class.Label())
	}
	out := []Class{}
	for i, label := range labels {
		n := coverage.Classes[label]
		if n == 0 && i > 0 {
			continue
		}
		class := Class{Class: label, Share: Share{Count(n), all}}
		for key, n := range coverage.Details {
			if detail, ok := strings.CutPrefix(key, label+"/"); ok {
				class.Details = append(class.Details, Detail{Detail: detail, Forced: i > 0 && forced(record.Classes[i-1], detail), Share: Share{Count(n), all}})
			}
		}
		slices.SortFunc(class.Details, func(x, y Detail) int {
			return cmp.Or(cmp.Compare(y.Share.N, x.Share.N), strings.Compare(x.Detail, y.Detail))
		})
		out = append(out, class)
	}
	return out
}

// forced reports whether a detail stands under its class only because the closed
// set has none for it.
func forced(class record.ClassDef, detail string) bool {
	for _, d := range class.Details {
		if string(d.Detail) == detail || d.Detail == "rpc:<code>" && record.Detail(detail).IsRPC() {
			return d.Forced
		}
	}
	return false
}

// finish computes what takes the whole history.
func (c *collector) finish() (*Report, error) {
	if c.full {
		c.count()
	}
	if c.r.Classes == nil {
		c.r.Classes = []Class{}
	}
	h := c.builder.History()
	c.calendar(h)
	for _, t := range h.Targets {
		c.r.Servers[t.Name] = c.server(t)
	}
	c.changes(h)
	c.transitions(h)
	c.population(h)
	var err error
	c.r.HalfLife, err = c.halfLife(h)
	return c.r, err
}

// population counts the record.
func (c *collector) population(h *timeline.History) {
	p := &c.r.Population
	p.Names = Count(len(h.Targets))
	for _, t := range h.Targets {
		p.Contracts += Count(len(t.Lives))
		p.Changes += c.r.Servers[t.Name].Changes
		if len(t.Lives) > 0 {
			p.EverAnswer++
		}
	}
	for _, d := range h.Days {
		if len(d.Runs) > 0 {
			p.RunDays++
		} else {
			p.GapDays++
		}
	}
}
