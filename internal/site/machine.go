package site

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/feed"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
)

// Paths of the feeds of all changes.
const (
	feedAtom = "changes/feed.atom"
	feedJSON = "changes/feed.json"
)

// jsonSchema is the version of the form of the index.json files.
const jsonSchema = 1

// A head begins every index.json: what it is about and as of when. Nothing in
// it depends on when the site was built.
type head struct {
	AsOf        report.Date `json:"as_of"`
	Methodology string      `json:"methodology"`
	Page        string      `json:"page"`   // absolute URL of the page that it stands beside
	Schema      int         `json:"schema"` // version of this form
	Series      string      `json:"series"`
	Simulated   bool        `json:"simulated"`
	Title       string      `json:"title"`
}

func (b *builder) head(p Page) head {
	r := p.Report
	return head{r.AsOf, r.Methodology, b.url(p.Path), jsonSchema, r.Series, r.Simulated, p.Title}
}

type homeJSON struct {
	Classes    []report.Class             `json:"classes"`
	Full       report.Date                `json:"full,omitempty"`
	HalfLife   map[string]json.RawMessage `json:"half_life"`
	Head       head                       `json:"head"`
	Newest     report.Newest              `json:"newest"`
	Population report.Population          `json:"population"`
}

// figuresOf returns the figures of a half-life without the table.
func figuresOf(h report.HalfLife) map[string]json.RawMessage {
	h.Estimate = nil
	m := members(h)
	delete(m, "estimate")
	return m
}

// members returns the members of the JSON object that v is written as.
func members(v any) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	if err := json.Unmarshal(record.Line(v), &m); err != nil {
		return map[string]json.RawMessage{} // v is null
	}
	return m
}

// halfLifeJSON returns the estimate as `mcpstrata halflife -json` prints it, and
// with it the head and the report's figures.
func halfLifeJSON(h head, hl report.HalfLife) (map[string]json.RawMessage, error) {
	out := members(hl.Estimate)
	for name, v := range map[string]any{"head": h, "report": figuresOf(hl)} {
		if _, ok := out[name]; ok {
			return nil, fmt.Errorf("the estimate has a member %s", name)
		}
		out[name] = record.Line(v)
	}
	return out, nil
}

// A dayRow is a day as the list of days has it: without what happened to whom.
type dayRow struct {
	report.Day
	Changes []report.Group      `json:"changes,omitempty"`
	Events  []report.Transition `json:"events,omitempty"`
	URL     string              `json:"url,omitempty"` // absent for a day without a run
}

// dayRows returns days as the list has them, newest first.
func (b *builder) dayRows(days []report.Day) []dayRow {
	rows := []dayRow{}
	for _, d := range slices.Backward(days) {
		row := dayRow{Day: d}
		if d.Runs > 0 {
			row.URL = b.url(DayPath(d.Day))
		}
		rows = append(rows, row)
	}
	return rows
}

type changesJSON struct {
	Days    []dayRow `json:"days"`              // newest first
	Earlier []dayRow `json:"earlier,omitempty"` // days before the methodology began, under the series of record, newest first
	Head    head     `json:"head"`
}

type dayJSON struct {
	Day      report.Day   `json:"day"`
	Head     head         `json:"head"`
	Versions []changeJSON `json:"versions"` // what changed, in the order of the day's groups
}

type changeJSON struct {
	Name     string         `json:"name"`
	Operator string         `json:"operator"`
	URL      string         `json:"url"`
	Version  report.Version `json:"version"`
}

type listJSON struct {
	Head      head             `json:"head"`
	Namespace *string          `json:"namespace,omitempty"`
	Pages     []string         `json:"pages,omitempty"` // URLs of all pages of the list
	Servers   []serverListJSON `json:"servers"`
}

type serverListJSON struct {
	Changes  report.Count  `json:"changes"`
	Identity canon.Digest  `json:"identity,omitempty"` // of the newest contract
	Name     string        `json:"name"`
	Since    report.Date   `json:"since"`
	State    string        `json:"state"`
	Tools    *report.Count `json:"tools"`
	URL      string        `json:"url"`
}

type documentJSON struct {
	Headings []headingJSON `json:"headings"`
	Head     head          `json:"head"`
}

type headingJSON struct {
	ID    string `json:"id"`
	Level int    `json:"level"`
	Text  string `json:"text"`
}

// A serverJSON is the whole of what is published of one server. Texts are as
// recorded.
type serverJSON struct {
	Contract *contractJSON       `json:"contract"` // in force, or last read; null without one
	Head     head                `json:"head"`
	Name     string              `json:"name"`
	Registry registryJSON        `json:"registry"`
	Report   *report.Server      `json:"report"`
	Row      *record.Observation `json:"row"` // newest; null before the first run that read under the methodology
	Versions []versionJSON       `json:"versions"`
}

// maxServer is how long the index.json of one server gets at most, in bytes. A
// body of some hundred kB can come to a hundred MB when it is indented, so it is
// not.
const maxServer = 8 << 20

// line returns what is published of a server on one line. Of one that is too long
// in spite of all budgets only what the report has is left.
func (s *serverJSON) line() []byte {
	b := record.Line(s)
	if len(b) > maxServer {
		b = record.Line(serverJSON{Head: s.Head, Name: s.Name, Registry: registryJSON{Cut: true, Links: []string{}, Rows: []string{}}, Report: s.Report, Versions: []versionJSON{}})
	}
	return b
}

type registryJSON struct {
	Cut         bool     `json:"cut,omitempty"` // something here is longer than is shown; roster/rows/ has the whole
	Description string   `json:"description,omitempty"`
	Links       []string `json:"links"`
	Rows        []string `json:"rows"` // of the registry, verbatim, as text: they need not be JSON
	Title       string   `json:"title,omitempty"`
	Version     string   `json:"version,omitempty"`
}

type contractJSON struct {
	Digests *digestsJSON      `json:"digests,omitempty"` // as others publish them; absent where Tools is cut
	Path    string            `json:"path"`              // of the contract file in the repository
	Tools   []json.RawMessage `json:"tools"`             // every element of the list, as declared
	Unshown string            `json:"unshown,omitempty"` // why Tools is empty although there is a contract
}

// A versionJSON is what changed to the version of that number, of those in Report.
type versionJSON struct {
	Diff    json.RawMessage `json:"diff"` // from the version before; null for the first, and where Unshown says why
	N       report.Count    `json:"n"`    // from 1
	Unshown string          `json:"unshown,omitempty"`
}

// reportFile writes the report: the file that the pages' figures point into.
func (b *builder) reportFile() error {
	return b.out.write("report.json", record.File(b.Report))
}

// feeds writes the feeds of all changes.
func (b *builder) feeds() error {
	atom, err := feed.Atom(b.newest.report, b.Base, feedAtom, feed.Selection{Page: ServerPath})
	if err != nil {
		return fmt.Errorf("writing %s: %w", feedAtom, err)
	}
	if err := b.out.write(feedAtom, atom); err != nil {
		return err
	}
	list, err := feed.JSON(b.newest.report, b.Base, feedJSON, feed.Selection{Page: ServerPath})
	if err != nil {
		return fmt.Errorf("writing %s: %w", feedJSON, err)
	}
	return b.out.write(feedJSON, list)
}

// serverFeed writes the feed of one server.
func (b *builder) serverFeed(l *line, name, path string) error {
	atom, err := feed.Atom(l.report, b.Base, path, feed.Selection{Server: name, Page: ServerPath})
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return b.out.write(path, atom)
}

// sitemap writes sitemap.xml, or where there are more than 50,000 pages an index
// of several (sitemaps.org protocol 0.9). The date of a page is that of its last
// change, never that of the build. Servers that never answered are not in it.
func (b *builder) sitemap() error {
	type entry struct{ path, day string }
	asOf := string(b.newest.report.AsOf)
	list := []entry{{"", asOf}, {"changes/", asOf}, {"half-life/", asOf}, {"servers/", asOf}, {capturePath, asOf}, {lookupPath, asOf}}
	docs, err := documentPaths()
	if err != nil {
		return err
	}
	for _, d := range docs {
		list = append(list, entry{d, ""})
	}
	for _, d := range b.calendar {
		list = append(list, entry{DayPath(d.day), string(d.day)})
	}
	for _, n := range b.names {
		if s := b.lineOf(n).report.Servers[n]; len(s.Versions) > 0 {
			list = append(list, entry{ServerPath(n), lastChange(s)})
		}
	}
	const perFile = 50_000
	if len(list) <= perFile {
		return b.out.write("sitemap.xml", urlset(b, "urlset", "url", len(list), func(i int) (string, string) { return list[i].path, list[i].day }))
	}
	var files []string
	for from := 0; from < len(list); from += perFile {
		part := list[from:min(from+perFile, len(list))]
		name := fmt.Sprintf("sitemap-%d.xml", len(files)+1)
		files = append(files, name)
		if err := b.out.write(name, urlset(b, "urlset", "url", len(part), func(i int) (string, string) { return part[i].path, part[i].day })); err != nil {
			return err
		}
	}
	return b.out.write("sitemap.xml", urlset(b, "sitemapindex", "sitemap", len(files), func(i int) (string, string) { return files[i], asOf }))
}

// lastChange returns the day on which a server's contract or state last changed.
func lastChange(s *report.Server) string {
	day := s.Since
	if n := len(s.Versions); n > 0 {
		day = max(day, s.Versions[n-1].First)
	}
	return string(max(day, s.Retired))
}

// urlset writes one file of a sitemap.
func urlset(b *builder, root, element string, n int, at func(i int) (path, day string)) []byte {
	var s strings.Builder
	s.WriteString(xml.Header + "<" + root + ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for i := range n {
		path, day := at(i)
		s.WriteString("<" + element + "><loc>")
		xml.EscapeText(&s, []byte(b.url(path))) // to a Builder: no error
		s.WriteString("</loc>")
		if day != "" {
			s.WriteString("<lastmod>" + day + "</lastmod>")
		}
		s.WriteString("</" + element + ">\n")
	}
	s.WriteString("</" + root + ">\n")
	return []byte(s.String())
}

// robots writes robots.txt: everything may be read.
func (b *builder) robots() error {
	return b.out.write("robots.txt", []byte("User-agent: *\nAllow: /\n\nSitemap: "+b.url("sitemap.xml")+"\n"))
}
