package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
	"github.com/mcpstrata/mcpstrata/ci/real/child"
	"github.com/mcpstrata/mcpstrata/ci/real/chrome"
	"github.com/mcpstrata/mcpstrata/ci/real/pages"
)

// demoTimeout is how long the demo may take until it serves its site.
const demoTimeout = 4 * time.Minute

// views are how every chosen page is looked at, in both themes and both widths.
var views = []chrome.View{
	{},
	{Dark: true},
	{Width: chrome.Phone, Phone: true},
	{Width: chrome.Phone, Phone: true, Dark: true},
}

// A look is the state of the browser check.
type look struct {
	*job
	tree    *tree  // of the site
	home    string // URL of the served site, with a slash at its end
	axe     *pages.Axe
	browser *chrome.Browser
}

// A step looks at one thing in a tab and returns what each of its checks found.
type step func(*look, *chrome.Tab) (*findings, error)

// browser checks the pages of the demo's site in a real browser.
func browser(ctx context.Context, j *job) error {
	l := &look{job: j}
	served, err := l.serve(ctx)
	if err != nil {
		return err
	}
	if l.tree, err = readTree(l.site); err != nil {
		return err
	}
	if l.axe, err = pages.LoadAxe(ctx, l.dir); err != nil {
		return err
	}
	began := time.Now()
	if l.browser, err = chrome.Start(ctx, l.dir); err != nil {
		return err
	}
	defer l.browser.Close()
	if err := l.all(l.steps()); err != nil {
		return err
	}
	l.Note("looked at in %s", time.Since(began).Round(time.Second))
	served.Interrupt()
	code, err := served.Wait(ctx)
	l.OK(err == nil && code == 0, "%s exits 0 when it is interrupted, got %d", served.Spec.Name, code)
	return nil
}

// steps are what there is to look at.
func (l *look) steps() []step {
	var all []step
	hostile := l.tree.hostile()
	for _, p := range l.tree.chosen() {
		all = append(all, func(l *look, t *chrome.Tab) (*findings, error) { return l.page(t, p) })
	}
	for _, path := range []string{"none", "no/such/page/"} {
		all = append(all, func(l *look, t *chrome.Tab) (*findings, error) { return l.missing(t, path) })
	}
	for _, name := range hostile {
		all = append(all, func(l *look, t *chrome.Tab) (*findings, error) { return l.hostile(t, name) })
	}
	all = append(all, (*look).skipLink)
	for _, name := range []string{l.tree.busy, hostile[0]} {
		all = append(all, func(l *look, t *chrome.Tab) (*findings, error) { return l.search(t, name) })
	}
	return append(all, (*look).file, (*look).subPath)
}

// all takes the steps in two tabs and reports what they found, in order.
func (l *look) all(steps []step) error {
	found := make([]*findings, len(steps))
	errs := make([]error, len(steps))
	queue := make(chan int)
	var wg sync.WaitGroup
	for range 2 {
		t, err := l.browser.NewTab()
		if err != nil {
			return err
		}
		defer t.Close()
		wg.Go(func() {
			for i := range queue {
				found[i], errs[i] = steps[i](l, t)
			}
		})
	}
	for i := range steps {
		queue <- i
	}
	close(queue)
	wg.Wait()
	for i := range steps {
		if errs[i] != nil {
			return errs[i]
		}
		for _, name := range found[i].names {
			l.None(found[i].bad[name], "%s", name)
		}
	}
	return nil
}

// address is how the program says where it serves.
var address = regexp.MustCompile(`http://127\.0\.0\.1:[1-9]\d*/\S*`)

// serve starts the program under test, which makes the demo first unless a site
// is given, and waits until it names its address.
func (l *look) serve(ctx context.Context) (*child.Process, error) {
	spec := child.Spec{Name: "serve", Args: []string{l.bin, "serve", "-site", l.site, "-http", "127.0.0.1:0"}, Interrupt: true}
	if l.site == "" {
		demo := filepath.Join(l.dir, "demo")
		l.site = filepath.Join(demo, "site")
		spec.Name, spec.Args = "demo", []string{l.bin, "demo", "-dir", demo, "-http", "127.0.0.1:0"}
	}
	began := time.Now()
	process, err := l.kids.Start(spec)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	for {
		if l.home = address.FindString(process.Tail(1000)); l.home != "" {
			l.OK(strings.HasSuffix(l.home, "/"), "%s serves at %s after %s", spec.Name, l.home, time.Since(began).Round(time.Second))
			return process, nil
		}
		if process.Ended() || ctx.Err() != nil {
			return nil, fmt.Errorf("waiting until %s serves: it names no address; its last lines:\n%s", spec.Name, process.Tail(15))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// findings are what checks found, over all views.
type findings struct {
	names []string // of the checks, in order
	bad   map[string]check.List
}

// add notes what a check found in one view.
func (f *findings) add(v chrome.View, bad check.List, format string, args ...any) {
	name := fmt.Sprintf(format, args...)
	if f.bad == nil {
		f.bad = map[string]check.List{}
	}
	if _, ok := f.bad[name]; !ok {
		f.names = append(f.names, name)
		f.bad[name] = nil
	}
	for _, what := range bad {
		f.bad[name] = append(f.bad[name], fmt.Sprintf("%s: %s", v, what))
	}
}

// inView makes the checks that hold in every view. The page is missing by
// intention when url is missing too.
func (l *look) inView(f *findings, t *chrome.Tab, what, url, missing string, v chrome.View) error {
	if err := t.Open(url, v); err != nil {
		return err
	}
	f.add(v, pages.Quiet(t.Seen(), missing), "%s: the console has no warning, error or violated policy", what)
	f.add(v, pages.Local(t.Seen(), l.home, missing), "%s: no request leaves the site, none fails", what)
	f.add(v, pages.Inert(t), "%s: recorded text is only text", what)
	f.add(v, pages.Fits(t), "%s: nothing is wider than the window", what)
	f.add(v, pages.Themed(t, v.Dark), "%s: light is light, dark is dark", what)
	f.add(v, pages.Drawn(t), "%s: text in drawings stands out", what)
	f.add(v, l.axe.Accessible(t), "%s: axe-core finds nothing", what)
	return nil
}

// page checks one page in all views, without JavaScript, printed and by
// keyboard.
func (l *look) page(t *chrome.Tab, p chosenPage) (*findings, error) {
	f := new(findings)
	url := l.home + p.path
	for _, v := range views {
		if err := l.inView(f, t, p.what, url, "", v); err != nil {
			return nil, err
		}
	}
	with, err := pages.Text(t)
	if err != nil {
		return nil, err
	}
	bare := views[len(views)-1]
	bare.NoScript = true
	if err := t.Open(url, bare); err != nil {
		return nil, err
	}
	without, err := pages.Text(t)
	if err != nil {
		return nil, err
	}
	f.add(bare, append(pages.SameText(with, without), pages.Quiet(t.Seen(), "")...), "%s: says the same without JavaScript", p.what)
	paper := chrome.View{Width: chrome.Paper, Print: true}
	if err := t.Open(url, paper); err != nil {
		return nil, err
	}
	f.add(paper, pages.Printed(t), "%s: on paper all details show and nothing is cut off", p.what)
	if !p.walked {
		return f, nil
	}
	for _, v := range []chrome.View{views[0], views[3]} {
		if err := t.Open(url, v); err != nil {
			return nil, err
		}
		f.add(v, pages.Keyboard(t), "%s: Tab goes to the skip link, then visibly from one thing to the next", p.what)
	}
	return f, nil
}

// missing checks what stands in place of a page that is not there.
func (l *look) missing(t *chrome.Tab, path string) (*findings, error) {
	f := new(findings)
	for _, v := range views {
		if err := l.inView(f, t, "404 at /"+path, l.home+path, l.home+path, v); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// hostile looks at the page of a server whose texts attack.
func (l *look) hostile(t *chrome.Tab, name string) (*findings, error) {
	f := new(findings)
	for _, v := range []chrome.View{views[0], views[3]} {
		if err := t.Open(l.home+l.tree.paths[name], v); err != nil {
			return nil, err
		}
		bad := append(pages.Inert(t), pages.Fits(t)...)
		bad = append(bad, pages.Quiet(t.Seen(), "")...)
		f.add(v, append(bad, pages.Local(t.Seen(), l.home, "")...), "%s: its texts do nothing, ask for nothing and fit", name)
	}
	return f, nil
}

// skipLink uses the skip link of the home page.
func (l *look) skipLink(t *chrome.Tab) (*findings, error) {
	f := new(findings)
	if err := t.Open(l.home, views[0]); err != nil {
		return nil, err
	}
	f.add(views[0], pages.SkipLink(t), "home: the skip link leads into the content")
	return f, nil
}

// search looks for a server from the page of another one.
func (l *look) search(t *chrome.Tab, name string) (*findings, error) {
	f := new(findings)
	if err := t.Open(l.home+l.tree.paths[l.tree.silent], views[0]); err != nil {
		return nil, err
	}
	f.add(views[0], pages.Search(t, name, l.home+l.tree.paths[name]), "by keyboard, the search leads to %s", name)
	return f, nil
}

// file opens the home page from the disk, without a server.
func (l *look) file(t *chrome.Tab) (*findings, error) {
	f := new(findings)
	var looks [2]map[string]string
	for i, url := range []string{l.home, chrome.FileURL(filepath.Join(l.site, "index.html"))} {
		if err := t.Open(url, views[0]); err != nil {
			return nil, err
		}
		var err error
		if looks[i], err = pages.Look(t); err != nil {
			return nil, err
		}
	}
	bad := append(pages.SameLook(looks[1], looks[0]), pages.Quiet(t.Seen(), "")...)
	f.add(views[0], append(bad, pages.Local(t.Seen(), chrome.FileURL(l.site)+"/", "")...), "home from file:// looks as served, and the console is quiet")
	return f, nil
}

// subPath serves the site below a folder, as the pages of a project are.
func (l *look) subPath(t *chrome.Tab) (*findings, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serving the site below a folder: %w", err)
	}
	server := &http.Server{Handler: http.StripPrefix("/some/folder", http.FileServerFS(os.DirFS(l.site)))}
	go server.Serve(listener) // returns when closed
	defer server.Close()
	f := new(findings)
	root := "http://" + listener.Addr().String() + "/some/folder/"
	for _, path := range []string{"", l.tree.paths[l.tree.busy]} {
		if err := t.Open(root+path, views[0]); err != nil {
			return nil, err
		}
		f.add(views[0], append(pages.Quiet(t.Seen(), ""), pages.Local(t.Seen(), root, "")...), "below a folder, no page asks for anything outside it")
	}
	f.add(views[0], pages.Search(t, l.tree.busy, root+l.tree.paths[l.tree.busy]), "below a folder, the search leads to a server")
	return f, nil
}
