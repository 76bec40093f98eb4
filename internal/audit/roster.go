package audit

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/registry"
)

// A rosterState is the population as the dated rosters tell it, one after the
// other.
type rosterState struct {
	live, gone map[string]canon.Digest // digest of the rows, by name
	known      bool                    // every roster so far could be followed
	newest     *record.Roster
	newestPath string
	byRun      map[string]*record.Roster
}

// checkRoster follows the dated rosters and holds the rows, the order and the
// pages to them.
func (a *auditor) checkRoster(ctx context.Context) error {
	s := &rosterState{live: map[string]canon.Digest{}, gone: map[string]canon.Digest{}, known: true, byRun: map[string]*record.Roster{}}
	a.roster = s
	for _, r := range a.runs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !r.first() {
			continue
		}
		name := archive.RosterPath(r.id)
		b, err := a.read(name)
		if err != nil {
			return err
		}
		var ro record.Roster
		if b == nil || a.faulty(name) || !decodeFile(a, name, b, &ro) {
			s.known, s.newest = false, nil
			continue
		}
		s.byRun[r.id], s.newest, s.newestPath = &ro, &ro, name
		a.checkOneRoster(name, r, &ro)
		if !s.known {
			continue
		}
		if why := s.follow(&ro); why != "" {
			a.fault(name, "roster", "%s", why)
			s.known = false
		}
	}
	return a.checkRosterFiles()
}

// checkOneRoster checks a roster by itself and against its run record.
func (a *auditor) checkOneRoster(name string, r *run, ro *record.Roster) {
	bad := func(format string, args ...any) { a.fault(name, "roster", format, args...) }
	listed := 0
	for _, p := range ro.Pages {
		listed += p.Rows
	}
	byName := func(x, y record.RosterRow) int { return strings.Compare(x.Name, y.Name) }
	asked := map[string]bool{}
	for _, k := range ro.Asked {
		asked[k.Name] = !k.Live
	}
	unasked := slices.IndexFunc(ro.Removed, func(n string) bool { return !asked[n] })
	switch {
	case ro.Run != r.id || ro.Day != r.day:
		bad("it is the roster of run %q of day %q", ro.Run, ro.Day)
	case listed != ro.Counts.Listed:
		bad("it counts %d listed rows, and its pages have %d", ro.Counts.Listed, listed)
	case sortedBy(ro.Added, byName) > 0 || sortedBy(ro.Changed, byName) > 0 || sortedBy(ro.Removed, strings.Compare) > 0:
		bad("the names added, changed or removed are not sorted, each once")
	case len(ro.Removed) > 0 && !ro.Complete:
		bad("it is not complete, and removes names")
	case unasked >= 0:
		bad("it removes %q, which was not asked for, or is live", ro.Removed[unasked])
	case ro.Complete != (ro.Reason == ""):
		bad("complete is %v, and the reason why not is %q", ro.Complete, ro.Reason)
	case r.trusted && record.RosterDigest(ro.Pages) != r.rec.Roster:
		bad("its pages are %s, and the run record states %s", record.RosterDigest(ro.Pages), r.rec.Roster)
	case r.trusted && ro.Complete != r.rec.RosterComplete:
		bad("complete is %v, and the run record states %v", ro.Complete, r.rec.RosterComplete)
	}
}

// follow applies a roster and says why it does not follow from the one before.
func (s *rosterState) follow(ro *record.Roster) string {
	for _, row := range ro.Added {
		old, was := s.gone[row.Name]
		if _, is := s.live[row.Name]; is {
			return "it adds " + row.Name + ", which was in the roster"
		}
		if was && row.Old != old || !was && row.Old != "" {
			return "it states other old rows of " + row.Name + " than the roster before"
		}
		delete(s.gone, row.Name)
		s.live[row.Name] = row.Row
	}
	for _, row := range ro.Changed {
		old, is := s.live[row.Name]
		if !is || row.Old != old || row.Row == old {
			return "it changes " + row.Name + " from other rows than the roster before had"
		}
		s.live[row.Name] = row.Row
	}
	for _, n := range ro.Removed {
		old, is := s.live[n]
		if !is {
			return "it removes " + n + ", which was not in the roster"
		}
		delete(s.live, n)
		s.gone[n] = old
	}
	if ro.Counts.Names != len(s.live) || ro.Counts.Retired != len(s.gone) {
		return "it miscounts names or retired names"
	}
	return ""
}

// checkRosterFiles checks the registry rows, the order and the pages.
func (a *auditor) checkRosterFiles() error {
	for _, x := range archive.Shards {
		a.expected[archive.RowsPath(x)] = false
	}
	if len(a.runs) == 0 {
		return nil
	}
	a.expected[archive.OrderPath] = true
	for names := range a.roster.all() {
		a.expected[archive.RowsPath(archive.Shard(names))] = true
	}
	rows, whole, err := a.readRows()
	if err != nil {
		return err
	}
	b, err := a.read(archive.OrderPath)
	if err != nil || b == nil || !whole {
		return err
	}
	if len(b) > 0 && b[len(b)-1] != '\n' || strings.ContainsRune(string(b), '\r') {
		a.fault(archive.OrderPath, "roster-order", "its lines do not end in LF")
		return nil
	}
	order := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if a.roster.known {
		a.checkOrder(order, rows)
	}
	if !a.faulty(archive.OrderPath) {
		a.checkPages(order, rows)
	}
	return nil
}

// all yields the names that have registry rows, those of retired targets
// included.
func (s *rosterState) all() map[string]bool {
	names := map[string]bool{}
	if !s.known {
		return names
	}
	for n := range s.live {
		names[n] = true
	}
	for n := range s.gone {
		names[n] = true
	}
	return names
}

// readRows reads the registry rows and holds each shard to the digests of the
// rosters. It returns false if a shard is known to be wrong.
func (a *auditor) readRows() (rows archive.RegistryRows, whole bool, err error) {
	rows, whole = archive.RegistryRows{}, true
	for _, x := range archive.Shards {
		name := archive.RowsPath(x)
		b, err := a.read(name)
		if err != nil {
			return nil, false, err
		}
		mine := archive.RegistryRows{}
		last, n := "", 0
		for line := range strings.Lines(string(b)) {
			n++
			row, ended := strings.CutSuffix(line, "\n")
			target, _ := record.RowName([]byte(row))
			switch {
			case !ended || strings.HasSuffix(row, "\r"):
				a.fault(name, "roster-rows", "line %d does not end in LF", n)
			case archive.Shard(target) != x:
				a.fault(name, "roster-rows", "line %d is of %q, which has its line in %s.jsonl", n, target, archive.Shard(target))
			case target < last:
				a.fault(name, "roster-rows", "line %d is of %q, after %q", n, target, last)
			}
			last = target
			mine[target] = append(mine[target], row)
			rows[target] = append(rows[target], row)
		}
		if a.roster.known && !a.faulty(name) {
			a.compareRows(name, x, mine)
		}
		whole = whole && !a.faulty(name) && (a.regular(name) || !a.expected[name])
	}
	return rows, whole, nil
}

// compareRows holds the rows of one shard to the digests of the rosters.
func (a *auditor) compareRows(name, shard string, mine archive.RegistryRows) {
	if !a.regular(name) {
		return
	}
	all := a.roster.all()
	for _, n := range slices.Sorted(maps.Keys(mine)) {
		if n == "" {
			continue // rows without a readable name are in the pages only
		}
		want, ok := a.roster.live[n]
		if !ok {
			want, ok = a.roster.gone[n]
		}
		if !ok {
			a.fault(a.blame(name, a.roster.newestPath), "roster-rows", "it has rows of %q, which no roster names", n)
		} else if got := canon.Sum([]byte(strings.Join(mine[n], "\n"))); got != want {
			a.fault(a.blame(name, a.roster.newestPath), "roster-rows", "the rows of %q are %s, and the rosters state %s", n, got, want)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(all)) {
		if _, ok := mine[n]; !ok && archive.Shard(n) == shard {
			a.fault(a.blame(name, a.roster.newestPath), "roster-rows", "the rows of %q are not there", n)
		}
	}
}

// checkOrder holds the order to the names of the rosters: each live name once
// per row, no retired one.
func (a *auditor) checkOrder(order []string, rows archive.RegistryRows) {
	times := map[string]int{}
	for _, n := range order {
		times[n]++
	}
	for _, n := range slices.Sorted(maps.Keys(a.roster.live)) {
		// A name that was kept without being listed stands once, whatever rows it
		// has.
		if k := times[n]; k == 0 || k > len(rows[n]) {
			a.fault(archive.OrderPath, "roster-order", "it names %q %d times, and there are %d rows of it", n, k, len(rows[n]))
		}
	}
	for _, n := range slices.Sorted(maps.Keys(times)) {
		if _, ok := a.roster.live[n]; !ok && n != "" {
			a.fault(archive.OrderPath, "roster-order", "it names %q, which is not in the roster", n)
		}
	}
}

// checkPages rebuilds the pages of the newest roster: its rows are the first
// lines of the order, and the k-th line of a name is the k-th row of that name.
func (a *auditor) checkPages(order []string, rows archive.RegistryRows) {
	ro := a.roster.newest
	if ro == nil || !a.runs[len(a.runs)-1].newestRoster(a) {
		return
	}
	next := map[string]int{}
	at := 0
	for i, p := range ro.Pages {
		var page []string
		for range p.Rows {
			if at >= len(order) {
				a.fault(archive.OrderPath, "page", "it ends before the rows of page %d of %s", i, a.roster.newestPath)
				return
			}
			n := order[at]
			at++
			k := next[n]
			next[n]++
			if k >= len(rows[n]) {
				a.fault(a.blame(archive.OrderPath, archive.RowsPath(archive.Shard(n))), "page", "page %d has %q %d times, and there are %d rows of it", i, n, k+1, len(rows[n]))
				return
			}
			page = append(page, rows[n][k])
		}
		a.checked["pages"]++
		if _, err := registry.Rebuild(p, page); err != nil {
			a.fault(a.blame(archive.OrderPath, a.roster.newestPath), "page", "page %d of %s can't be rebuilt: %v", i, a.roster.newestPath, err)
			return
		}
	}
}

// newestRoster reports whether the roster of the run's day was read, so that the
// rows and the order are of that roster.
func (r *run) newestRoster(a *auditor) bool { return a.roster.byRun[string(r.day)] == a.roster.newest }
