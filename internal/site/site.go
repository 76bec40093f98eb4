// Package site renders a report as pages and machine endpoints.
//
// # Figures
//
// A page shows a number only through the template function figure, which names
// its place in report.json by a JSON Pointer and takes its text from the report
// ([report.Report.Lookup], [report.Text]). Templates compute nothing. Beside the
// figures a page has recorded texts (data-recorded), days and times (time),
// digests, paths and commands (code) and the axes of charts (data-axis); a test
// walks all pages for any other digit. The hand-written pages are free.
//
// # Two lines of observation
//
// A page shows one methodology and says which: the home page, the half-life and
// the classes the series of record; days, changes, feeds, lists and servers the
// newest methodology that is recorded. Where a page has both, each piece is
// rendered with the templates of its own line, so that a figure can't come from
// the other. A server that only the older one ever read keeps its page of that.
//
// # Paths
//
// Every name that was ever in the roster has a page for ever, at a path that is
// a function of the name alone ([ServerPath]). Names are hostile: a path needs no
// encoding, is local, and two names never share one, also where a file system
// folds case ([Segment]). Links are relative and name index.html, so that the
// site works below any path and from a file system; canonical URLs, sitemap and
// feeds name the folder. Only 404.html, which a host serves at any depth, links
// from the path of [Config.Base].
//
// # Hostile text
//
// All recorded text is escaped by html/template or by html.go, the one file that
// converts to its unescaped types; hidden characters show as chips. Links to
// addresses that a registry row names are https only, with rel=nofollow; nothing
// is ever embedded from elsewhere, and every page says so in its
// Content-Security-Policy. JSON has the texts as they were recorded.
//
// # Bounds
//
// A page shows the newest twenty versions with their texts, texts up to 4,000
// characters, and lists up to a bound; it says in words what it leaves out, and
// index.json beside it has far more. What a page costs is bounded too, whatever
// a server said. A site over 900 MB is an error.
//
// # Digests
//
// The digests that others publish (package fingerprint) stand at each tool of the
// contract in force: in index.json for all, and on the page for those that it
// shows, or for the first twenty where all servers have so many tools that the
// site would not fit.
// /lookup/ finds the servers that had one, and when, in files of lines sorted by
// digest, one for each two first hex digits; it has the identities and bodies of
// all versions, and the tools and lists of those that a page shows with their
// texts. A tool costs some 480 bytes in index.json, 580 on the page, and 200 in the
// files of the look-up.
//
// # The output folder
//
// It is empty before the first build, or holds the marker of one before
// ([MarkerName]). Nothing in it changes until all pages are rendered, so a build
// that fails leaves the site of before; then files are moved into place, those
// alone whose bytes differ, and of what is there only files that a build wrote are
// removed. Two builds of one tree give the same bytes, with any number of workers.
package site

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"path"
	"runtime"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/body"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"golang.org/x/sync/errgroup"
)

// Base is the URL under which the project publishes its site.
const Base = "https://mcpstrata.github.io/mcpstrata/"

// ParseBase reads the absolute URL of a site's root: http or https, and a path in
// its shortest form that ends in a slash.
func ParseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		u.Path != "/" && path.Clean(u.Path)+"/" != u.Path || u.RawPath != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(base, "#") {
		return nil, fmt.Errorf("%q is not an absolute http or https URL with a plain path that ends in a slash", base)
	}
	return u, nil
}

// Config says what a build reads and where it writes.
type Config struct {
	Tree    *archive.Tree
	Bodies  *body.Store // of the tree; its index loaded, or each body is looked for in all runs
	Report  *report.Published
	Out     string       // folder; see [MarkerName]
	Only    string       // the name of one server: only its page is written
	Base    string       // absolute URL of the site's root, for feeds, canonical links and the sitemap; "": [Base]
	Workers int          // pages rendered at a time; 0: as many as there are processors
	Log     func(string) // gets notes in words; may be nil
}

// Stats says what a build did.
type Stats struct {
	AsOf    record.Day // of the report
	Files   int        // of the site, all of them
	Bytes   int64      // of these files
	Written int        // files whose bytes were new or different
	Removed int        // stale files
}

// An UnknownServerError says that no server of a name was ever in the roster.
type UnknownServerError struct{ Name string }

func (e *UnknownServerError) Error() string {
	return fmt.Sprintf("%q was never in the roster", e.Name)
}

// Hint says what to do.
func (e *UnknownServerError) Hint() string {
	return "names are those of the registry, such as io.github.owner/server"
}

// Build writes the site of a report. Where there is no repository at all, so that
// the texts of earlier contracts can't be had, the pages say so in their place.
// Errors that carry a Hint: *FolderError, *SizeError, *UnknownServerError, and of a
// body that the repository should have and has not *body.MissingError.
func Build(ctx context.Context, cfg Config) (Stats, error) {
	b, err := newBuilder(cfg)
	if err != nil {
		return Stats{}, err
	}
	b.out, err = openFolder(cfg.Out, b.basePath)
	if err != nil {
		return Stats{}, fmt.Errorf("opening the output folder: %w", err)
	}
	err = b.run(ctx)
	removed := 0
	if err == nil {
		removed, err = b.out.finish(cfg.Only != "")
	}
	stats := Stats{AsOf: b.newest.report.AsOf, Files: len(b.out.files), Bytes: b.out.bytes, Written: len(b.out.staged), Removed: removed}
	if closeErr := b.out.close(); err == nil {
		err = closeErr
	}
	if err == nil && stats.Bytes > noteSite {
		b.log(fmt.Sprintf("the site has %d MB; %d can be published", stats.Bytes/1e6, int64(maxSite/1e6)))
	}
	return stats, err
}

// A builder holds what all pages of one build share. Nobody changes it while
// pages are rendered.
type builder struct {
	Config
	basePath string // of Base on its host
	record   *line  // the series of record
	newest   *line  // the newest methodology recorded; the same where there is one
	out      *folder
	names    []string  // of all servers, sorted
	calendar []lineDay // the days that have a page
	registry archive.RegistryRows
	methods  map[string]bool // versions of methodologies that have a page
	numbered []string        // names in the order of lookup/servers.txt
	numbers  map[string]int32
	index    digestIndex
}

func newBuilder(cfg Config) (*builder, error) {
	b := &builder{Config: cfg, methods: map[string]bool{}}
	b.Base = cmp.Or(b.Base, Base)
	u, err := ParseBase(b.Base)
	if err != nil {
		return nil, err
	}
	b.basePath = u.EscapedPath()
	if b.Workers <= 0 {
		b.Workers = runtime.GOMAXPROCS(0)
	}
	docs, err := documentPaths()
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		if version, ok := strings.CutPrefix(d, "methodology/"); ok {
			b.methods[strings.TrimSuffix(version, "/")] = true
		}
	}
	if err := b.openLines(); err != nil {
		return nil, err
	}
	names := maps.Clone(b.record.report.Servers)
	maps.Copy(names, b.newest.report.Servers)
	b.names = sortedNames(names)
	b.calendar = b.days()
	b.numbered, b.numbers = b.serverNumbers()
	if _, ok := names[cfg.Only]; !ok && cfg.Only != "" {
		return nil, &UnknownServerError{cfg.Only}
	}
	b.registry, err = cfg.Tree.Rows()
	return b, err
}

func (b *builder) log(line string) {
	if b.Log != nil {
		b.Log(line)
	}
}

// run renders all pages, or one, several at a time.
func (b *builder) run(ctx context.Context) error {
	jobs := b.jobs()
	if b.Only != "" {
		jobs = []func() error{b.assets, func() error { return b.server(b.Only) }}
	}
	g, working := errgroup.WithContext(ctx)
	g.SetLimit(b.Workers)
	for _, job := range jobs {
		g.Go(func() error {
			if working.Err() != nil {
				return context.Cause(working)
			}
			return job()
		})
	}
	if err := g.Wait(); err != nil || b.Only != "" {
		return err
	}
	return b.lookup()
}

// jobs returns what a whole site is made of, in the order in which it is begun.
func (b *builder) jobs() []func() error {
	jobs := []func() error{
		b.home, b.halfLife, b.changes, b.assets, b.documents, b.notFound, b.capture,
		b.reportFile, b.nameList, b.feeds, b.sitemap, b.robots,
	}
	for _, d := range b.calendar {
		jobs = append(jobs, func() error { return b.day(d.line, d.index) })
	}
	jobs = append(jobs, b.serverLists()...)
	for _, name := range b.names {
		jobs = append(jobs, func() error {
			if err := b.server(name); err != nil {
				return fmt.Errorf("rendering the page of %q: %w", name, err)
			}
			return nil
		})
	}
	return jobs
}
