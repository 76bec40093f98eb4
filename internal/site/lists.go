package site

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"github.com/mcpstrata/mcpstrata/internal/chart"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
)

// Bounds of lists on pages.
const (
	namesPerPage = 400
	homeGroups   = 8   // operators among today's changes
	homeRows     = 5   // changes of one of them
	dayRows      = 100 // changes of one operator on the page of a day
	rowTools     = 4   // tools that a row of a change names
	recentDays   = 14
)

func (b *builder) home() error {
	r := b.Report
	p := b.page("", "", "A daily archive of what MCP servers declare, and how long it lasts.", "")
	p.Feed = feedAtom
	m := Home{Page: p, Today: newestRun(r.Calendar)}
	first := max(0, len(r.Calendar)-recentDays)
	for i := len(r.Calendar) - 1; i >= first; i-- {
		m.Recent = append(m.Recent, i)
	}
	if m.Today >= 0 {
		m.Groups, m.MoreGroups = b.groups(m.Today, homeGroups, homeRows)
	}
	for _, c := range []struct {
		at   *template.HTML
		id   string
		draw drawer
	}{{&m.HalfLife, "half-life", chart.HalfLife}, {&m.Classes, "classes", chart.Classes}, {&m.Changes, "changes", chart.Changes}} {
		var err error
		if *c.at, err = b.inline(c.id, c.draw); err != nil {
			return err
		}
	}
	return b.render("home.html", p, m, record.File(homeJSON{
		Classes: r.Classes, Full: r.Full, HalfLife: figuresOf(r.HalfLife), Head: b.head(p),
		Newest: r.Newest, Population: r.Population,
	}))
}

// newestRun returns the index of the newest day with a run, and -1 without any.
func newestRun(days []report.Day) int {
	for i, d := range slices.Backward(days) {
		if d.Runs > 0 {
			return i
		}
	}
	return -1
}

// groups returns what changed on a day by operator, each list cut.
func (b *builder) groups(day, maxGroups, maxRows int) (groups []Group, more bool) {
	for i, g := range b.Report.Calendar[day].Changes {
		if i == maxGroups {
			return groups, true
		}
		out := Group{Day: day, Index: i, Operator: g.Operator, More: len(g.Changed) > maxRows}
		for _, c := range g.Changed[:min(len(g.Changed), maxRows)] {
			out.Rows = append(out.Rows, b.changeRow(c))
		}
		groups = append(groups, out)
	}
	return groups, false
}

func (b *builder) changeRow(c report.Changed) ChangeRow {
	v := b.Report.Servers[c.Name].Versions[c.Index]
	return ChangeRow{
		Name: c.Name, Index: c.Index, Version: v,
		Tools: v.Changes[:min(len(v.Changes), rowTools)], More: len(v.Changes) > rowTools,
	}
}

// A drawer draws one chart of a report.
type drawer func(*report.Report, chart.Form) ([]byte, error)

// inline returns a chart that stands in a page.
func (b *builder) inline(id string, draw drawer) (template.HTML, error) {
	svg, err := draw(b.Report, chart.Form{ID: id})
	return drawing(svg), err
}

// standalone writes a chart that stands beside a page as a file of its own.
func (b *builder) standalone(name string, draw drawer) error {
	svg, err := draw(b.Report, chart.Form{ID: "chart", Standalone: true})
	if err != nil {
		return err
	}
	return b.out.write(name, svg)
}

func (b *builder) halfLife() error {
	p := b.page("half-life/", "Half-life of contracts", "How long the contracts of MCP servers last: survival curve, half-life, and the table behind them.", "half-life")
	p.Feed = feedAtom
	drawn, err := b.inline("half-life", chart.HalfLife)
	if err != nil {
		return err
	}
	m := HalfLifePage{Page: p, Chart: drawn, Rows: tableRows(b.Report.HalfLife)}
	machine, err := halfLifeJSON(b.head(p), b.Report.HalfLife)
	if err != nil {
		return err
	}
	if err := b.render("halflife.html", p, m, record.File(machine)); err != nil {
		return err
	}
	if err := b.out.write("half-life/half-life.csv", tableCSV(b.Report.HalfLife)); err != nil {
		return err
	}
	if err := b.standalone("half-life/half-life.svg", chart.HalfLife); err != nil {
		return err
	}
	png, err := chart.HalfLifePNG(b.Report)
	if err != nil {
		return err
	}
	return b.out.write("half-life/half-life.png", png)
}

func (b *builder) changes() error {
	p := b.page("changes/", "Changes", "What changed, day by day; days without data stand as gaps.", "changes")
	p.Feed = feedAtom
	drawn, err := b.inline("changes", chart.Changes)
	if err != nil {
		return err
	}
	m := ChangesPage{Page: p, Chart: drawn}
	machine := changesJSON{Days: []dayRow{}, Head: b.head(p)}
	for i, d := range slices.Backward(b.Report.Calendar) {
		t := d.Day.Time()
		if id := t.Format("2006-01"); len(m.Months) == 0 || m.Months[len(m.Months)-1].ID != id {
			m.Months = append(m.Months, Month{ID: id, Name: t.Format(monthName)})
		}
		last := &m.Months[len(m.Months)-1]
		last.Days = append(last.Days, i)
		machine.Days = append(machine.Days, b.dayRow(d))
	}
	if err := b.render("changes.html", p, m, record.File(machine)); err != nil {
		return err
	}
	if err := b.standalone("changes/changes.svg", chart.Changes); err != nil {
		return err
	}
	return b.standalone("changes/classes.svg", chart.Classes)
}

func (b *builder) day(i int) error {
	d := b.Report.Calendar[i]
	p := b.page(DayPath(d.Day), "Changes of a day", "What changed on one day, by operator, and how the run went.", "changes")
	p.Feed = feedAtom
	m := DayPage{Page: p, Index: i, Day: d, Prev: b.nextRun(i, -1), Next: b.nextRun(i, 1)}
	m.Groups, _ = b.groups(i, len(d.Changes), dayRows)
	machine := dayJSON{Day: d, Head: b.head(p), Versions: []changeJSON{}}
	for _, g := range d.Changes {
		for _, c := range g.Changed {
			machine.Versions = append(machine.Versions, changeJSON{
				Name: c.Name, Operator: g.Operator, URL: b.url(ServerPath(c.Name)),
				Version: b.Report.Servers[c.Name].Versions[c.Index],
			})
		}
	}
	return b.render("day.html", p, m, record.File(machine))
}

// nextRun returns the next day with a run after the one with index i, in steps
// of 1, or before it, in steps of -1; "" where there is none.
func (b *builder) nextRun(i, step int) report.Date {
	days := b.Report.Calendar
	for i += step; i >= 0 && i < len(days); i += step {
		if days[i].Runs > 0 {
			return days[i].Day
		}
	}
	return ""
}

// serverLists returns the jobs for the pages of all servers and those of each
// namespace.
func (b *builder) serverLists() []func() error {
	var jobs []func() error
	pages := slices.Collect(slices.Chunk(b.names, namesPerPage))
	if len(pages) == 0 {
		pages = [][]string{nil}
	}
	for i := range pages {
		jobs = append(jobs, func() error { return b.serversPage(pages, i) })
	}
	byNamespace := b.namespaces()
	for _, namespace := range sortedNames(byNamespace) {
		jobs = append(jobs, func() error { return b.namespacePage(namespace, byNamespace[namespace]) })
	}
	return jobs
}

// serversPath returns the folder of page i of the list of servers, from 0.
func serversPath(i int) string {
	if i == 0 {
		return "servers/"
	}
	return fmt.Sprintf("servers/%d/", i+1)
}

func (b *builder) serversPage(pages [][]string, at int) error {
	p := b.page(serversPath(at), "Servers", "All servers that were ever in the registry, by name.", "servers")
	m := ServersPage{Page: p}
	machine := listJSON{Head: b.head(p), Pages: []string{}}
	for i, names := range pages {
		if len(names) > 0 {
			m.Pages = append(m.Pages, PageLink{Path: serversPath(i), First: names[0], Current: i == at})
		}
		machine.Pages = append(machine.Pages, b.url(serversPath(i)))
	}
	m.Rows, machine.Servers = b.serverRows(pages[at])
	return b.render("servers.html", p, m, record.File(machine))
}

func (b *builder) namespacePage(namespace string, names []string) error {
	p := b.page(NamespacePath(namespace), cmp.Or(namespace, "Servers without a namespace"), "The servers of one namespace of the registry.", "servers")
	p.Recorded = namespace != ""
	m := NamespacePage{Page: p, Namespace: namespace}
	machine := listJSON{Head: b.head(p), Namespace: &namespace}
	m.Rows, machine.Servers = b.serverRows(names)
	return b.render("namespace.html", p, m, record.File(machine))
}

func (b *builder) serverRows(names []string) ([]ServerRow, []serverListJSON) {
	rows, list := []ServerRow{}, []serverListJSON{}
	for _, n := range names {
		row := b.serverRow(n)
		rows = append(rows, row)
		s := serverListJSON{Changes: row.Server.Changes, Name: n, Since: row.Server.Since, State: row.Server.State, Tools: row.Server.Tools, URL: b.url(ServerPath(n))}
		if v := row.Server.Versions; len(v) > 0 {
			s.Identity = v[len(v)-1].Identity
		}
		list = append(list, s)
	}
	return rows, list
}

// nameList writes names.txt, by which the search script finds servers: name,
// path of the page below the root, and state, between tabs, sorted by name.
// Names hold no control characters ([record.RowName]).
func (b *builder) nameList() error {
	var buf bytes.Buffer
	for _, n := range b.names {
		fmt.Fprintf(&buf, "%s\t%s\t%s\n", n, ServerPath(n), b.Report.Servers[n].State)
	}
	return b.out.write("names.txt", buf.Bytes())
}
