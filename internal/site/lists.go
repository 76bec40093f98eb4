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
	dayGroups    = 200 // operators on the page of a day
	dayRows      = 100 // changes of one operator there
	dayEvents    = 300 // other events of one kind there
	rowTools     = 4   // tools that a row of a change names
	recentDays   = 14
)

func (b *builder) home() error {
	r := b.record.report
	p := b.page(b.record, "", "", "A daily archive of what MCP servers declare, and how long it lasts.", "")
	p.Feed = feedAtom
	p.Mixed = b.record != b.newest
	m := Home{Page: p}
	days := HomeDays{Page: b.page(b.newest, "", "", "", ""), Today: newestRun(b.newest.report.Calendar)}
	n := len(b.newest.report.Calendar)
	for i := n - 1; i >= max(0, n-recentDays); i-- {
		days.Recent = append(days.Recent, i)
	}
	if days.Today >= 0 {
		days.Groups, days.MoreGroups = b.newest.groups(days.Today, homeGroups, homeRows)
	}
	for _, c := range []struct {
		at   *template.HTML
		line *line
		id   string
		draw drawer
	}{{&m.HalfLife, b.record, "half-life", chart.HalfLife}, {&m.Classes, b.record, "classes", chart.Classes}, {&days.Changes, b.newest, "changes", chart.Changes}} {
		var err error
		if *c.at, err = c.line.inline(c.id, c.draw); err != nil {
			return err
		}
	}
	var err error
	if m.Today, err = b.newest.piece("home.html", "today", days); err != nil {
		return err
	}
	if m.PerDay, err = b.newest.piece("home.html", "per-day", days); err != nil {
		return err
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
func (l *line) groups(day, maxGroups, maxRows int) (groups []Group, more bool) {
	for i, g := range l.report.Calendar[day].Changes {
		if i == maxGroups {
			return groups, true
		}
		out := Group{Day: day, Index: i, Operator: g.Operator, More: len(g.Changed) > maxRows}
		for _, c := range g.Changed[:min(len(g.Changed), maxRows)] {
			out.Rows = append(out.Rows, l.changeRow(c))
		}
		groups = append(groups, out)
	}
	return groups, false
}

func (l *line) changeRow(c report.Changed) ChangeRow {
	v := l.report.Servers[c.Name].Versions[c.Index]
	return ChangeRow{
		Name: c.Name, Index: c.Index, Version: v,
		Tools: v.Changes[:min(len(v.Changes), rowTools)], More: len(v.Changes) > rowTools,
	}
}

// A drawer draws one chart of a report.
type drawer func(*report.Report, chart.Form) ([]byte, error)

// inline returns a chart that stands in a page.
func (l *line) inline(id string, draw drawer) (template.HTML, error) {
	svg, err := draw(l.report, chart.Form{ID: id, At: l.prefix})
	return drawing(svg), err
}

// standalone writes a chart that stands beside a page as a file of its own.
func (b *builder) standalone(l *line, name string, draw drawer) error {
	svg, err := draw(l.report, chart.Form{ID: "chart", Standalone: true, At: l.prefix})
	if err != nil {
		return err
	}
	return b.out.write(name, svg)
}

func (b *builder) halfLife() error {
	r := b.record.report
	p := b.page(b.record, "half-life/", "Half-life of contracts", "How long the contracts of MCP servers last: survival curve, half-life, and the table behind them.", "half-life")
	p.Feed = feedAtom
	drawn, err := b.record.inline("half-life", chart.HalfLife)
	if err != nil {
		return err
	}
	m := HalfLifePage{Page: p, Chart: drawn}
	m.Rows, m.RowsCut = tableRows(r.HalfLife)
	if b.other(b.record) != nil {
		if m.Beside, err = b.newest.piece("halflife.html", "beside", b.page(b.newest, "half-life/", "", "", "")); err != nil {
			return err
		}
	}
	machine, err := halfLifeJSON(b.head(p), r.HalfLife)
	if err != nil {
		return err
	}
	if err := b.render("halflife.html", p, m, record.File(machine)); err != nil {
		return err
	}
	if err := b.out.write("half-life/half-life.csv", tableCSV(r.HalfLife)); err != nil {
		return err
	}
	if err := b.standalone(b.record, "half-life/half-life.svg", chart.HalfLife); err != nil {
		return err
	}
	png, err := chart.HalfLifePNG(r)
	if err != nil {
		return err
	}
	return b.out.write("half-life/half-life.png", png)
}

func (b *builder) changes() error {
	l := b.newest
	p := b.page(l, "changes/", "Changes", "What changed, day by day; days without data stand as gaps.", "changes")
	p.Feed = feedAtom
	drawn, err := l.inline("changes", chart.Changes)
	if err != nil {
		return err
	}
	m := ChangesPage{Page: p, Chart: drawn, Months: months(l.report.Calendar, "m")}
	machine := changesJSON{Days: b.dayRows(l.report.Calendar), Head: b.head(p)}
	if n := before(b.record.report.Calendar, l.report.First); l != b.record && n > 0 {
		older := b.record.report.Calendar[:n]
		view := MonthsView{Page: b.page(b.record, "changes/", "", "", ""), Months: months(older, "e")}
		if m.Earlier, err = b.record.piece("changes.html", "months", view); err != nil {
			return err
		}
		machine.Earlier = b.dayRows(older)
	}
	if err := b.render("changes.html", p, m, record.File(machine)); err != nil {
		return err
	}
	if err := b.standalone(l, "changes/changes.svg", chart.Changes); err != nil {
		return err
	}
	return b.standalone(b.record, "changes/classes.svg", chart.Classes)
}

// before returns how many days of a calendar are older than a day.
func before(days []report.Day, day report.Date) int {
	n := slices.IndexFunc(days, func(d report.Day) bool { return d.Day >= day })
	if n < 0 {
		return len(days)
	}
	return n
}

// months sorts days into calendar months, newest first. The id of each begins with
// a prefix.
func months(days []report.Day, prefix string) (list []Month) {
	for i, d := range slices.Backward(days) {
		t := d.Day.Time()
		if id := prefix + t.Format("2006-01"); len(list) == 0 || list[len(list)-1].ID != id {
			list = append(list, Month{ID: id, Name: t.Format(monthName)})
		}
		last := &list[len(list)-1]
		last.Days = append(last.Days, i)
	}
	return list
}

func (b *builder) day(l *line, i int) error {
	d := l.report.Calendar[i]
	p := b.page(l, DayPath(d.Day), "Changes of a day", "What changed on one day, by operator, and how the run went.", "changes")
	p.Feed = feedAtom
	m := DayPage{Page: p, Index: i, Day: d, WholeDay: true, Events: eventsOfDay(d.Events)}
	m.Prev, m.Next = b.around(d.Day)
	m.Groups, m.MoreGroups = l.groups(i, dayGroups, dayRows)
	machine := dayJSON{Day: d, Head: b.head(p), Versions: []changeJSON{}}
	for _, g := range d.Changes {
		for _, c := range g.Changed {
			machine.Versions = append(machine.Versions, changeJSON{
				Name: c.Name, Operator: g.Operator, URL: b.url(ServerPath(c.Name)),
				Version: l.report.Servers[c.Name].Versions[c.Index],
			})
		}
	}
	return b.render("day.html", p, m, record.File(machine))
}

// eventsOfDay sorts the other events of a day by kind, each list cut. They come
// sorted.
func eventsOfDay(all []report.Transition) (list []EventsOfDay) {
	for _, e := range all {
		if n := len(list); n == 0 || list[n-1].Kind != e.Kind {
			list = append(list, EventsOfDay{Kind: e.Kind})
		}
		last := &list[len(list)-1]
		if last.More = len(last.Events) == dayEvents; !last.More {
			last.Events = append(last.Events, e)
		}
	}
	return list
}

// around returns the days with a page before and after one; "" where there is
// none.
func (b *builder) around(day report.Date) (prev, next report.Date) {
	for _, d := range b.calendar {
		switch {
		case d.day < day:
			prev = d.day
		case d.day > day:
			return prev, d.day
		}
	}
	return prev, ""
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
		pages := slices.Collect(slices.Chunk(byNamespace[namespace], namesPerPage))
		for i := range pages {
			jobs = append(jobs, func() error { return b.namespacePage(namespace, pages, i) })
		}
	}
	return jobs
}

// pageOf returns the folder of page i of a list, from 0, whose first page is at a
// path.
func pageOf(first string, i int) string {
	if i == 0 {
		return first
	}
	return fmt.Sprintf("%s%d/", first, i+1)
}

// pageLinks names the pages of a list whose first page is at a path, and their
// URLs.
func (b *builder) pageLinks(first string, pages [][]string, at int) (links []PageLink, urls []string) {
	urls = []string{}
	for i, names := range pages {
		if len(names) > 0 {
			links = append(links, PageLink{Path: pageOf(first, i), First: names[0], Current: i == at})
		}
		urls = append(urls, b.url(pageOf(first, i)))
	}
	return links, urls
}

func (b *builder) serversPage(pages [][]string, at int) error {
	const first = "servers/"
	p := b.page(b.newest, pageOf(first, at), "Servers", "All servers that were ever in the registry, by name.", "servers")
	m := ServersPage{Page: p}
	machine := listJSON{Head: b.head(p)}
	m.Pages, machine.Pages = b.pageLinks(first, pages, at)
	m.Rows, machine.Servers = b.serverRows(pages[at])
	return b.render("servers.html", p, m, record.File(machine))
}

func (b *builder) namespacePage(namespace string, pages [][]string, at int) error {
	first := NamespacePath(namespace)
	p := b.page(b.newest, pageOf(first, at), cmp.Or(namespace, "Servers without a namespace"), "The servers of one namespace of the registry.", "servers")
	p.Recorded = namespace != ""
	m := NamespacePage{Page: p, Namespace: namespace}
	machine := listJSON{Head: b.head(p), Namespace: &namespace}
	m.Pages, machine.Pages = b.pageLinks(first, pages, at)
	m.Rows, machine.Servers = b.serverRows(pages[at])
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
		fmt.Fprintf(&buf, "%s\t%s\t%s\n", n, ServerPath(n), b.lineOf(n).report.Servers[n].State)
	}
	return b.out.write("names.txt", buf.Bytes())
}
