// Package feed writes Atom and JSON feeds of confirmed changes.
//
// # What is an entry
//
// A confirmed change: a version of a server's contract after its first that was
// read a second time. One that has not been read again is none yet, and one that
// never was stays none. Nor is what the methodology takes for a capture difference:
// it is no change, nor two changes that cancel out (methodology v2). The feed of all servers has those of class substantive;
// a server's own feed has all of its changes. A feed is a pure function of the
// report: those confirmed last first, then by name, at most [MaxEntries].
//
// # Identifiers and times
//
// The id of an entry is a tag URI (RFC 4151) of the authority [Authority]: of the
// series, methodology, server, day of the first reading and identity,
// percent-encoded, so ASCII. It depends neither on the address of the site nor on
// the place of the entry, and never changes; feeds of simulated days have ids of
// their own. An entry is dated to the midnight, in UTC, at which the day of its
// confirmation begins: the day on which it comes into the feed, so that readers
// who sort by date see it as new; when the change was first seen its summary
// says. A record states days, and an entry claims no more. A feed is as new as the
// newest run.
//
// # Hostile text
//
// Names of servers, tools and members are what others wrote. Hidden characters
// stand as chips (package visible), so nothing is left that XML forbids;
// names are cut, set in quotation marks unless they are plain, and never markup:
// texts are of type text (RFC 4287 3.1.1) or content_text.
package feed

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/drift"
	"github.com/mcpstrata/mcpstrata/internal/report"
)

// MaxEntries is how many entries a feed has at most; older ones leave it.
const MaxEntries = 100

// Authority names who mints the ids (RFC 4151 2.1): a domain and a year in which
// it was ours. It never changes, also when the site moves.
const Authority = "mcpstrata.github.io,2026"

// Who writes the feeds. The site of an author is where the project lives.
const (
	authorName = "mcpstrata"
	authorURI  = "https://github.com/mcpstrata/mcpstrata"
)

// A Selection says which changes a feed has, and where their pages are.
type Selection struct {
	Server string // of this server only; "": of all
	// Page returns the path of a server's page below the root, percent-encoded,
	// with its final slash. It is never nil.
	Page func(name string) string
}

// Atom returns an Atom feed (RFC 4287) of the newest confirmed changes. The base
// is the absolute URL of the site's root, with its final slash; self is the path
// of the feed below it, percent-encoded. It fails on another base, and for a
// server that is not in the report.
func Atom(r *report.Report, base, self string, s Selection) ([]byte, error) {
	d, err := collect(r, base, self, s)
	if err != nil {
		return nil, err
	}
	f := atomFeed{
		ID: d.id, Title: d.title, Subtitle: d.subtitle, Updated: rfc3339(d.updated),
		Author: atomAuthor{authorName, authorURI},
		Links:  []atomLink{{"self", "application/atom+xml", d.self}, {"alternate", "text/html", d.home}},
	}
	for _, e := range d.entries {
		a := atomEntry{ID: e.id, Title: e.title, Updated: rfc3339(e.day), Summary: e.summary, Link: atomLink{"alternate", "text/html", e.url}}
		for _, c := range e.classes {
			a.Categories = append(a.Categories, atomCategory{c})
		}
		f.Entries = append(f.Entries, a)
	}
	b, err := xml.MarshalIndent(f, "", " ")
	if err != nil {
		return nil, fmt.Errorf("writing the feed %s: %w", self, err)
	}
	return slices.Concat([]byte(xml.Header), b, []byte("\n")), nil
}

// JSON returns the same as a JSON Feed 1.1, under the same conditions.
func JSON(r *report.Report, base, self string, s Selection) ([]byte, error) {
	d, err := collect(r, base, self, s)
	if err != nil {
		return nil, err
	}
	f := jsonFeed{
		Version: "https://jsonfeed.org/version/1.1", Title: d.title, Description: d.subtitle,
		Home: d.home, Self: d.self, Authors: []jsonAuthor{{authorName, authorURI}}, Items: []jsonItem{},
	}
	for _, e := range d.entries {
		f.Items = append(f.Items, jsonItem{
			ID: e.id, URL: e.url, Title: e.title, Text: e.summary, Published: rfc3339(e.day), Tags: e.classes,
		})
	}
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return nil, fmt.Errorf("writing the feed %s: %w", self, err)
	}
	return append(b, '\n'), nil
}

// A document is what both forms say.
type document struct {
	id, title, subtitle string
	self, home          string // absolute URLs of the feed and of the page that it is of
	updated             time.Time
	entries             []entry
}

type entry struct {
	id, title, summary, url string
	day                     time.Time
	classes                 []string
}

// A change is a version of a server's contract.
type change struct {
	name    string
	version *report.Version
}

// collect returns what the feed says.
func collect(r *report.Report, base, self string, s Selection) (document, error) {
	if err := checkBase(base); err != nil {
		return document{}, err
	}
	d := document{self: base + self, updated: r.AsOfTime.Time}
	changes, err := d.head(r, base, s)
	if err != nil {
		return document{}, err
	}
	slices.SortFunc(changes, func(a, b change) int {
		return cmp.Or(
			cmp.Compare(confirmed(b.version), confirmed(a.version)),
			cmp.Compare(a.name, b.name),
			cmp.Compare(b.version.N, a.version.N),
		)
	})
	for _, c := range changes[:min(len(changes), MaxEntries)] {
		v := c.version
		d.entries = append(d.entries, entry{
			id:      changeID(r, c),
			title:   title(c.name, v, r.First),
			summary: summary(v, r.First),
			url:     fmt.Sprintf("%s%s#v%d", base, s.Page(c.name), v.N),
			day:     confirmed(v).Time(),
			classes: v.Classes,
		})
	}
	return d, nil
}

// head says what the feed is of, and returns the changes that are for it.
func (d *document) head(r *report.Report, base string, s Selection) (changes []change, err error) {
	take := func(name string, server *report.Server, all bool) {
		for i := range server.Versions {
			v := &server.Versions[i]
			if v.N > 1 && v.Confirmed && (v.Drift || v.Comparable) && !v.Joined && (all || slices.Contains(v.Classes, drift.Substantive)) {
				changes = append(changes, change{name, v})
			}
		}
	}
	kind := ""
	if r.Simulated {
		kind = " (simulated)"
	}
	if s.Server == "" {
		d.id = tag(r, "changes")
		d.title = "mcpstrata: changed MCP servers" + kind
		d.subtitle = "Confirmed changes, of class substantive, of the tools that MCP servers list; observed once a day."
		d.home = base + "changes/"
		for name, server := range r.Servers {
			take(name, server, false)
		}
		return changes, nil
	}
	server := r.Servers[s.Server]
	if server == nil {
		return nil, fmt.Errorf("making a feed of %q: it is not in the report", s.Server)
	}
	d.id = tag(r, "s", s.Server)
	d.title = "mcpstrata: " + named(s.Server) + kind
	d.subtitle = "Confirmed changes of the tools that this MCP server lists; observed once a day."
	d.home = base + s.Page(s.Server)
	take(s.Server, server, true)
	return changes, nil
}

// confirmed returns the day on which a change was confirmed: its first where one
// run was enough.
func confirmed(v *report.Version) report.Date { return cmp.Or(v.ConfirmedOn, v.First) }

// checkBase reports whether base can be the root of a site.
func checkBase(base string) error {
	u, err := url.Parse(base)
	if err == nil && (u.Scheme == "" || u.Host == "" || !strings.HasSuffix(u.Path, "/") || u.RawQuery != "" || u.Fragment != "") {
		err = errors.New("it is not absolute, or does not end in a slash")
	}
	if err != nil {
		return fmt.Errorf("taking %q for the root of a site: %w", base, err)
	}
	return nil
}

// changeID returns the id of a change. On one day a server begins at most one
// life of one identity.
func changeID(r *report.Report, c change) string {
	hex := strings.TrimPrefix(string(c.version.Identity), "sha256:")
	return tag(r, "s", c.name, string(c.version.First), hex[:min(len(hex), 16)])
}

// tag returns the tag URI of segments, each percent-encoded but for what is
// unreserved (RFC 3986 2.3).
func tag(r *report.Report, segments ...string) string {
	head := []string{r.Series, r.Methodology}
	if r.Simulated {
		head = append([]string{"simulated"}, head...)
	}
	var b strings.Builder
	b.WriteString("tag:" + Authority + ":")
	for i, s := range append(head, segments...) {
		if i > 0 {
			b.WriteByte('/')
		}
		for j := range len(s) {
			if c := s[j]; strings.IndexByte(unreserved, c) >= 0 {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
	}
	return b.String()
}

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// The form of RFC 4287.
type (
	atomFeed struct {
		XMLName  xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
		ID       string      `xml:"id"`
		Title    string      `xml:"title"`
		Subtitle string      `xml:"subtitle"`
		Updated  string      `xml:"updated"`
		Author   atomAuthor  `xml:"author"`
		Links    []atomLink  `xml:"link"`
		Entries  []atomEntry `xml:"entry"`
	}
	atomEntry struct {
		ID         string         `xml:"id"`
		Title      string         `xml:"title"`
		Updated    string         `xml:"updated"`
		Link       atomLink       `xml:"link"`
		Categories []atomCategory `xml:"category"`
		Summary    string         `xml:"summary"`
	}
	atomAuthor struct {
		Name string `xml:"name"`
		URI  string `xml:"uri"`
	}
	atomLink struct {
		Rel  string `xml:"rel,attr"`
		Type string `xml:"type,attr"`
		Href string `xml:"href,attr"`
	}
	atomCategory struct {
		Term string `xml:"term,attr"`
	}
)

// The form of JSON Feed 1.1.
type (
	jsonFeed struct {
		Version     string       `json:"version"`
		Title       string       `json:"title"`
		Home        string       `json:"home_page_url"`
		Self        string       `json:"feed_url"`
		Description string       `json:"description"`
		Authors     []jsonAuthor `json:"authors"`
		Items       []jsonItem   `json:"items"`
	}
	jsonItem struct {
		ID        string   `json:"id"`
		URL       string   `json:"url"`
		Title     string   `json:"title"`
		Text      string   `json:"content_text"`
		Published string   `json:"date_published"`
		Tags      []string `json:"tags,omitempty"`
	}
	jsonAuthor struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}
)
