package site

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/templates"
)

// The kinds of pages: each is a file of templates/site that defines "main".
var pageFiles = []string{
	"home.html", "server.html", "halflife.html", "day.html", "changes.html",
	"servers.html", "namespace.html", "doc.html", "notfound.html", "capture.html", "lookup.html",
}

// A pageSet holds a template per kind of page. It is safe for concurrent use.
type pageSet struct{ byFile map[string]*template.Template }

// parsePages reads the templates. A page is the template "layout" of layout.html,
// which calls the "main" of the page's own file; all other files are shared.
func parsePages(p *report.Published, l *line) (*pageSet, error) {
	fsys := templates.Site()
	files, err := fs.Glob(fsys, "*.html")
	if err != nil {
		return nil, err
	}
	shared := slices.DeleteFunc(files, func(f string) bool { return slices.Contains(pageFiles, f) })
	base, err := template.New("site").Funcs(functions(p, l)).Option("missingkey=error").ParseFS(fsys, shared...)
	if err != nil {
		return nil, fmt.Errorf("reading templates: %w", err)
	}
	set := &pageSet{map[string]*template.Template{}}
	for _, f := range pageFiles {
		t, err := base.Clone()
		if err == nil {
			t, err = t.ParseFS(fsys, f)
		}
		if err != nil {
			return nil, fmt.Errorf("reading templates: %w", err)
		}
		set.byFile[f] = t
	}
	return set, nil
}

// page returns the head of a page of a line.
func (b *builder) page(l *line, folder, title, description, section string) Page {
	p := Page{
		Path: folder, Root: rootOf(folder), Title: title, Description: description, Section: section,
		Report: l.report, Canonical: b.url(folder), Repo: Repository, line: l, Method: b.methodPath(l),
		Methods: len(b.methods) > 1, Both: b.Report.Readings != nil,
	}
	if o := b.other(l); o != nil {
		p.Other, p.OtherMethod, p.OlderLine = o.report, b.methodPath(o), l == b.record
	}
	return p
}

// methodPath returns the folder of the page of a line's methodology.
func (b *builder) methodPath(l *line) string {
	if v := l.report.Methodology; b.methods[v] {
		return "methodology/" + v + "/"
	}
	return "methodology/" + record.V1.Version + "/"
}

// render writes a page, and its index.json unless machine is nil.
func (b *builder) render(file string, p Page, model any, machine []byte) error {
	if err := b.execute(p.line, file, p.Path+"index.html", model); err != nil || machine == nil {
		return err
	}
	return b.out.write(p.Path+"index.json", machine)
}

// execute writes what the templates of a kind of page make of a model.
func (b *builder) execute(l *line, file, name string, model any) error {
	var buf bytes.Buffer
	if err := l.pages.byFile[file].ExecuteTemplate(&buf, "layout", model); err != nil {
		return fmt.Errorf("rendering %s: %w", name, err)
	}
	return b.out.write(name, buf.Bytes())
}

// assets writes the files that all pages use.
func (b *builder) assets() error {
	fsys := templates.Site()
	return fs.WalkDir(fsys, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		return b.out.write(path.Clean(name), data)
	})
}

// notFound writes 404.html. A host serves it in place of any path, so it links
// from the root of the host.
func (b *builder) notFound() error {
	p := b.page(b.record, "", "Page not found", "There is no page at this address.", "")
	p.Root, p.NoIndex, p.NoJSON, p.Canonical = b.basePath, true, true, ""
	return b.execute(p.line, "notfound.html", "404.html", NotFound{p})
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// namespaces returns the servers of each namespace, sorted.
func (b *builder) namespaces() map[string][]string {
	m := map[string][]string{}
	for _, n := range b.names {
		namespace, _ := splitName(n)
		m[namespace] = append(m[namespace], n)
	}
	return m
}

// serverRow returns a server as lists show it.
func (b *builder) serverRow(name string) ServerRow {
	namespace, short := splitName(name)
	return ServerRow{Name: name, Namespace: namespace, Short: short, Server: b.newest.report.Servers[name]}
}

// url returns the absolute URL of a path below the root.
func (b *builder) url(p string) string { return b.Base + p }
