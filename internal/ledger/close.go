package ledger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// settle gives a row to the targets that have no endpoint and to those that were
// retired.
func (l *line) settle() error {
	for _, t := range l.b.in.Targets {
		if t.Endpoint != "" {
			continue
		}
		o := l.carry(t)
		l.setClass(&o, record.Outcome{Class: record.NoEndpoint, Detail: t.Reason})
		o.Flags = mergeFlags(t.Flags, nil)
		l.fail(&o)
		l.now[t.Name] = o
	}
	for name, old := range l.before {
		if _, listed := l.targets[name]; listed || old.Retired != "" {
			continue
		}
		if old.Head != nil {
			h := *old.Head
			h.LastObserved = l.lastRead(name)
			old.Head = &h
		}
		old.Retired = l.b.in.Plan.Day
		l.now[name] = old
	}
	return nil
}

// missing returns the targets with an endpoint that no run of this day
// attempted, sorted.
func (l *line) missing() []string {
	var names []string
	for name, t := range l.targets {
		if t.Endpoint != "" && !l.done[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// coverage counts the day, and reports whether it is partial.
func (l *line) coverage() (c record.Coverage, partial bool) {
	c = record.Coverage{Classes: map[string]int{}, Details: map[string]int{}, Targets: len(l.targets)}
	for name, t := range l.targets {
		o := l.now[name]
		if t.Endpoint != "" {
			c.Eligible++
			if !l.done[name] {
				partial = true
				continue
			}
			c.Attempted++
			if l.baseline || l.active[name] {
				c.Active++
				if o.ErrorClass.Reached() {
					c.Reached++
				}
			}
		}
		c.Classes[o.ErrorClass.Label()]++
		if o.ErrorDetail != "" {
			c.Details[o.Outcome().String()]++
		}
		if o.ErrorClass == record.Success {
			c.Answered++
		}
	}
	c.Coverage = record.BasisPoints(c.Reached, c.Active)
	return c, partial
}

// put writes the rows that differ from the tree's, the dated file, and marks the
// events of a degraded day.
func (l *line) put(degraded bool) error {
	if degraded {
		for i := range l.b.events {
			if l.b.events[i].Methodology == l.methodology.Version {
				l.b.events[i].Degraded = true
			}
		}
	}
	rows := make([]record.Observation, 0, len(l.now))
	for _, o := range l.now {
		rows = append(rows, o)
	}
	slices.SortFunc(rows, func(a, b record.Observation) int { return strings.Compare(a.Name, b.Name) })
	head := record.ObservationHeader{
		Attempted: l.probed, Baseline: l.baseline, Day: l.b.in.Plan.Day, Methodology: l.methodology.Version,
		Missed: l.missedRecord(), ProberVersion: l.b.in.Plan.ProberVersion, Run: l.b.in.Plan.Run,
		Targets: len(l.targets), Unchanged: map[string]int{},
	}
	var dated []byte
	for _, o := range rows {
		line := record.Line(o)
		old, had := l.before[o.Name]
		if had && string(record.Line(old)) == string(line) {
			if o.Retired == "" {
				head.Unchanged[o.ErrorClass.Label()]++
			}
			continue
		}
		head.Rows++
		dated = append(dated, line...)
	}
	shards := archive.EncodeShards(rows)
	head.Folded = archive.Folded(shards)
	for i, x := range archive.Shards {
		name := archive.CurrentPath(l.methodology.Version, x)
		was, err := l.b.in.Tree.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		if was == nil || string(was) != string(shards[i]) {
			if err := l.b.in.Put(name, shards[i]); err != nil {
				return err
			}
		}
	}
	return l.b.putDated(archive.ObservationsPath(head.Run, head.Methodology), append(record.Line(head), dated...))
}

// missedRecord says which targets the day still lacks.
func (l *line) missedRecord() *record.Missed {
	names := l.missing()
	if len(names) == 0 {
		return nil
	}
	m := &record.Missed{After: l.b.in.Plan.Limit, Names: names}
	if len(l.b.in.Missing) > 0 {
		m.Shards, m.Of = l.b.in.Missing, l.b.in.Shards
	}
	var only []string
	for name, t := range l.targets {
		if t.Endpoint != "" && l.done[name] {
			only = append(only, name)
		}
	}
	if len(only) > 0 && len(only) < len(names) {
		slices.Sort(only)
		m.Names, m.Only = nil, only
	}
	return m
}

// timingFile returns the latencies of the run: a header, then one line for each
// row of current/ of the first methodology, in the order of its shards. A field
// is empty where the run did not probe.
func (b *book) timingFile(lines []*line) []byte {
	var out []byte
	for i, l := range lines {
		if i > 0 {
			out = append(out, ',')
		}
		v := l.methodology.Version
		out = fmt.Appendf(out, "%s_observed_at,%s_init_ms,%s_list_ms", v, v, v)
	}
	out = append(out, '\n')
	names := make([]string, 0, len(lines[0].now))
	for n := range lines[0].now {
		names = append(names, n)
	}
	slices.SortFunc(names, func(x, y string) int {
		return errorsFirst(strings.Compare(archive.Shard(x), archive.Shard(y)), strings.Compare(x, y))
	})
	for _, n := range names {
		for i, l := range lines {
			if i > 0 {
				out = append(out, ',')
			}
			r, ok := b.timing[l.methodology.Version][n]
			if !ok {
				out = append(out, ",,"...)
				continue
			}
			at, _ := r.Observed.MarshalJSON()
			out = append(out, strings.Trim(string(at), `"`)...)
			out = append(append(out, ','), millis(r.InitMS)...)
			out = append(append(out, ','), millis(r.ListMS)...)
		}
		out = append(out, '\n')
	}
	return out
}

func millis(ms int64) string {
	if ms < 0 {
		return ""
	}
	return strconv.FormatInt(ms, 10)
}

// message returns the commit message of a run (DESIGN.md section 5, "Git"). The
// figures are those of the newest methodology that read.
func message(s *Summary) string {
	versions := make([]string, 0, len(s.Run.Methodologies))
	for v := range s.Run.Methodologies {
		versions = append(versions, v)
	}
	slices.Sort(versions)
	c := s.Run.Methodologies[versions[len(versions)-1]]
	var b strings.Builder
	fmt.Fprintf(&b, "observe %s: %s answered, %s changed, coverage %s\n\n", s.Run.Run, thousands(c.Answered), thousands(s.Drifted), percent(c.Coverage))
	trailer := func(key, value string) { fmt.Fprintf(&b, "%s: %s\n", key, value) }
	trailer("Run", s.Run.Run)
	trailer("Prober-Version", s.Run.ProberVersion)
	trailer("Methodology", strings.Join(versions, ", "))
	trailer("Roster-Digest", string(s.Run.Roster))
	trailer("Coverage", percent(c.Coverage))
	trailer("Degraded", strconv.FormatBool(s.Run.Degraded))
	trailer("Partial", strconv.FormatBool(s.Run.Partial))
	return b.String()
}

// percent writes basis points with one decimal, rounded down, so that 100 % is
// said only of all (case f-015).
func percent(bp int) string { return fmt.Sprintf("%d.%d %%", bp/100, bp/10%10) }

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
