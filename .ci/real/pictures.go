package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpstrata/mcpstrata/ci/real/chrome"
	"github.com/mcpstrata/mcpstrata/ci/real/picture"
)

// A shot is a picture for README.md, as wide as its view.
type shot struct {
	file  string
	path  string // of the page, below the root
	view  chrome.View
	from  string // CSS selector of the element with which it begins; "": the page's top
	until string // CSS selector of the element with which it ends
}

// shownServer is the server of the demo whose page is pictured: its texts change
// in words, in schemas and in characters that do not show.
const shownServer = "com.example/translator"

// maxPicture is the size of a picture above which a README loads slowly.
const maxPicture = 150_000 // bytes

// shots are the pictures, from the demo's site.
func shots(t *tree) []shot {
	light, dark := chrome.View{Width: 1100, Scale: 2}, chrome.View{Width: 1100, Scale: 2, Dark: true}
	phone := chrome.View{Width: chrome.Phone, Phone: true, Scale: 2}
	server := t.paths[shownServer]
	return []shot{
		{file: "home.png", view: light, until: "main figure"},
		{file: "server.png", path: server, view: light, until: "#v3"},
		{file: "server-dark.png", path: server, view: dark, until: "#v3"},
		{file: "phone.png", path: server, view: phone, from: "#history", until: "#v3"},
	}
}

// pictures writes the pictures of README.md. A file whose picture did not change
// is left as it is.
func pictures(ctx context.Context, j *job) error {
	l := &look{job: j}
	served, err := l.serve(ctx)
	if err != nil {
		return err
	}
	defer served.Interrupt()
	if l.tree, err = readTree(l.site); err != nil {
		return err
	}
	if l.tree.paths[shownServer] == "" {
		return fmt.Errorf("the site has no page of %s", shownServer)
	}
	if l.browser, err = chrome.Start(ctx, l.dir); err != nil {
		return err
	}
	defer l.browser.Close()
	t, err := l.browser.NewTab()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(j.out, 0o755); err != nil {
		return err
	}
	for _, s := range shots(l.tree) {
		b, err := l.take(t, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.file, err)
		}
		path := filepath.Join(j.out, s.file)
		old, err := os.ReadFile(path)
		fresh := "as before"
		if err != nil || !bytes.Equal(old, b) {
			fresh = "written"
			if err := os.WriteFile(path, b, 0o644); err != nil {
				return err
			}
		}
		l.OK(len(b) <= maxPicture, "%s: %d bytes, of at most %d, %s", s.file, len(b), maxPicture, fresh)
	}
	return nil
}

// margin is what a picture shows around its first and last element, CSS pixels.
const margin = 20

// take takes one picture.
func (l *look) take(t *chrome.Tab, s shot) ([]byte, error) {
	if err := t.Open(l.home+s.path, s.view); err != nil {
		return nil, err
	}
	top := 0.0
	if s.from != "" {
		box, err := boxOf(t, s.from)
		if err != nil {
			return nil, err
		}
		top = max(0, box.Top-margin)
	}
	end, err := boxOf(t, s.until)
	if err != nil {
		return nil, err
	}
	b, err := t.Picture(0, top, float64(s.view.Width), end.Bottom+margin-top)
	if err != nil {
		return nil, err
	}
	return picture.Small(b)
}

// A box is where an element stands, CSS pixels from the document's top.
type box struct{ Top, Bottom float64 }

func boxOf(t *chrome.Tab, selector string) (box, error) {
	b, err := chrome.Probe[*box](t, fmt.Sprintf(
		`((e) => { const r = e?.getBoundingClientRect(); return r ? { top: Math.round(r.top + scrollY), bottom: Math.round(r.bottom + scrollY) } : null; })(document.querySelector(%q))`, selector))
	if err == nil && b == nil {
		err = fmt.Errorf("looking for %s: the page has none", selector)
	}
	if err != nil {
		return box{}, err
	}
	return *b, nil
}
