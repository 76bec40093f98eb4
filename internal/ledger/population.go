package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A Population is the roster of a run: yesterday's tree and today's listing,
// joined. Names retired by it are not in Order, but their rows stay.
type Population struct {
	Order    []string             // names in listing order, then those kept without being listed; "" for an unreadable row
	Rows     archive.RegistryRows // every row kept, those of retired names included
	Added    []record.RosterRow   // names that are new or back
	Changed  []record.RosterRow   // names whose rows differ
	Removed  []string             // names retired now
	Returned []string             // names of Added that had been retired
	Retired  int                  // names retired in all
	First    bool                 // there was no roster before
	before   archive.RegistryRows // of the tree
}

// Names returns each readable name once, in order.
func (p *Population) Names() []string {
	seen := map[string]bool{"": true}
	var names []string
	for _, n := range p.Order {
		if !seen[n] {
			seen[n] = true
			names = append(names, n)
		}
	}
	return names
}

// ListingRows returns the rows of the population in order, as a listing would
// give them.
func (p *Population) ListingRows() []record.ListingRow {
	next := map[string]int{}
	var rows []record.ListingRow
	for _, n := range p.Order {
		i := next[n]
		next[n] = i + 1
		if n != "" && i < len(p.Rows[n]) {
			rows = append(rows, record.ListingRow{Name: n, Bytes: p.Rows[n][i]})
		}
	}
	return rows
}

// Missing returns the known names that a listing lacks, sorted: those to be
// asked for one by one.
func Missing(tree *archive.Tree, rows []record.ListingRow) ([]string, error) {
	order, err := tree.Order()
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{"": true}
	for _, r := range rows {
		listed[r.Name] = true
	}
	var missing []string
	for _, n := range order {
		if !listed[n] {
			listed[n] = true
			missing = append(missing, n)
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// Populate joins the roster of the tree with a listing. A listing that is kept
// changes nothing. A name is retired only if the listing is complete, lacks it,
// and a look-up found no live version; an incomplete listing adds and updates,
// never removes (DESIGN.md section 5; cases d-001, d-005, d-006).
func Populate(tree *archive.Tree, head record.ListingHeader, listed []record.ListingRow) (*Population, error) {
	order, err := tree.Order()
	if err != nil {
		return nil, err
	}
	before, err := tree.Rows()
	if err != nil {
		return nil, err
	}
	p := &Population{Order: order, Rows: before, First: order == nil, before: before}
	if !head.Kept {
		p.join(order, before, head, listed)
	}
	names := map[string]bool{}
	for _, n := range p.Order {
		names[n] = true
	}
	for n := range p.Rows {
		if n != "" && !names[n] {
			p.Retired++
		}
	}
	return p, nil
}

func (p *Population) join(order []string, before archive.RegistryRows, head record.ListingHeader, listed []record.ListingRow) {
	p.Order = nil
	p.Rows = archive.RegistryRows{}
	for _, r := range listed {
		p.Order = append(p.Order, r.Name)
		p.Rows[r.Name] = append(p.Rows[r.Name], r.Bytes)
	}
	gone := map[string]bool{}
	if head.Complete {
		for _, a := range head.Asked {
			gone[a.Name] = !a.Live
		}
	}
	known, now := map[string]bool{"": true}, map[string]bool{}
	for _, n := range p.Order {
		now[n] = true
	}
	for _, n := range order {
		switch {
		case n == "" || now[n]:
		case gone[n]:
			if !known[n] {
				p.Removed = append(p.Removed, n)
			}
		default:
			p.Order = append(p.Order, n)
		}
		known[n] = true
	}
	for n, rows := range before {
		if n != "" && !now[n] {
			p.Rows[n] = rows
		}
	}
	p.compare(before, known)
	slices.Sort(p.Removed)
}

// compare fills what differs between the rows before and now. The names in known
// were in the roster before.
func (p *Population) compare(before archive.RegistryRows, known map[string]bool) {
	for _, n := range p.Names() {
		row := record.RosterRow{Name: n, Row: rowsDigest(p.Rows[n])}
		if old, ok := before[n]; ok {
			row.Old = rowsDigest(old)
		}
		switch {
		case !known[n]:
			p.Added = append(p.Added, row)
			if row.Old != "" {
				p.Returned = append(p.Returned, n)
			}
		case row.Old != row.Row:
			p.Changed = append(p.Changed, row)
		}
	}
	byName := func(a, b record.RosterRow) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(p.Added, byName)
	slices.SortFunc(p.Changed, byName)
	slices.Sort(p.Returned)
}

func rowsDigest(rows []string) canon.Digest { return canon.Sum([]byte(strings.Join(rows, "\n"))) }

// roster returns the dated roster of the run.
func (p *Population) roster(in *Input, endpoints int) record.Roster {
	l := in.Listing
	names := len(p.Names())
	listed := 0
	for _, page := range l.Pages {
		listed += page.Rows
	}
	r := record.Roster{
		Added: p.Added, Asked: l.Asked, Changed: p.Changed, Complete: l.Complete,
		Counts: record.RosterCounts{Endpoints: endpoints, Listed: listed, Names: names, Retired: p.Retired},
		Day:    in.Plan.Day, Finished: l.Finished, Malformed: l.Malformed, Pages: l.Pages, Query: l.Query,
		Reason: l.Reason, Removed: p.Removed, Run: in.Plan.Run, Source: l.Source, Started: l.Started,
	}
	// An empty list says that there was none; null would say that it is unknown.
	if r.Added == nil {
		r.Added = []record.RosterRow{}
	}
	if r.Asked == nil {
		r.Asked = []record.Asked{}
	}
	if r.Changed == nil {
		r.Changed = []record.RosterRow{}
	}
	if r.Malformed == nil {
		r.Malformed = []record.Malformed{}
	}
	if r.Pages == nil {
		r.Pages = []record.Page{}
	}
	if r.Removed == nil {
		r.Removed = []string{}
	}
	return r
}

// putRoster writes the roster files of the run that differ from the tree's.
func (b *book) putRoster(endpoints int) error {
	if b.in.Listing.Kept {
		return nil
	}
	was, is := archive.EncodeRows(b.pop.before), archive.EncodeRows(b.pop.Rows)
	for i, x := range archive.Shards {
		if string(was[i]) != string(is[i]) {
			if err := b.in.Put(archive.RowsPath(x), is[i]); err != nil {
				return err
			}
		}
	}
	var order []byte
	for _, n := range b.pop.Order {
		order = append(append(order, n...), '\n')
	}
	was0, err := b.in.Tree.ReadFile(archive.OrderPath)
	if err != nil {
		return fmt.Errorf("reading %s: %w", archive.OrderPath, err)
	}
	if string(was0) != string(order) {
		if err := b.in.Put(archive.OrderPath, order); err != nil {
			return err
		}
	}
	return b.putDated(archive.RosterPath(b.in.Plan.Run), record.File(b.pop.roster(b.in, endpoints)))
}
