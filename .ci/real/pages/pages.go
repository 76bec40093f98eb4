// Package pages checks rendered pages in a real browser, one function a check.
// Each returns what is wrong, in words; nothing when the check holds.
//
// # What a site must do for them
//
// The first Tab stop is a skip link into <main>. The search is the page's
// input[type=search]. What a script adds to <main> stands in elements with the
// attribute data-script. Recorded text stands in elements with the attribute
// data-recorded.
package pages

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
	"github.com/mcpstrata/mcpstrata/ci/real/chrome"
)

//go:embed js/*.js
var scripts embed.FS

// call returns the expression that calls one of our functions.
func call(name string, args ...any) string {
	b, err := scripts.ReadFile("js/" + name + ".js")
	if err != nil {
		panic(err) // embedded above
	}
	var list []string
	for _, a := range args {
		j, err := json.Marshal(a)
		if err != nil {
			panic(err) // booleans and texts
		}
		list = append(list, string(j))
	}
	return strings.TrimSpace(string(b)) + "(" + strings.Join(list, ", ") + ")"
}

// problems evaluates one of our functions that returns a list of texts.
func problems(t *chrome.Tab, name string, args ...any) check.List {
	var bad check.List
	found, err := chrome.Probe[[]string](t, call(name, args...))
	if err != nil {
		bad.Add("%v", err)
	}
	return append(bad, found...)
}

// Quiet returns what the console said at level warning or error, and what was
// thrown and not caught. A page that answered 404 by intention, missing, may
// say so once.
func Quiet(seen chrome.Seen, missing string) check.List {
	var bad check.List
	for _, m := range seen.Console {
		own := missing != "" && m.Source == "network" && m.URL == missing
		if !own && slices.Contains([]string{"warning", "error", "assert"}, m.Level) {
			bad.Add("console, %s, %s: %s", m.Level, m.Source, m.Text)
		}
	}
	for _, x := range seen.Exceptions {
		bad.Add("not caught: %s", x)
	}
	return bad
}

// Local returns the requests that went elsewhere than to addresses that begin
// with home, and those that failed. A page that is missing by intention may
// answer 404.
func Local(seen chrome.Seen, home, missing string) check.List {
	var bad check.List
	if len(seen.Requests) == 0 {
		bad.Add("no request was seen at all")
	}
	for _, r := range seen.Requests {
		switch own := missing != "" && r.URL == missing; {
		case strings.HasPrefix(r.URL, "data:"):
			bad.Add("a request of %.60s", r.URL)
		case !strings.HasPrefix(r.URL, home):
			bad.Add("a request of %s, outside %s", r.URL, home)
		case r.Error != "" && r.Error != "net::ERR_ABORTED":
			bad.Add("%s failed: %s", r.URL, r.Error)
		case own && r.Status != 404:
			bad.Add("%s answered %d, want 404", r.URL, r.Status)
		case !own && r.Status >= 400, r.Status == 0 && strings.HasPrefix(home, "http") && r.Error == "":
			bad.Add("%s answered %d", r.URL, r.Status)
		}
	}
	return bad
}

// Inert returns the traces of recorded text that did something, or became
// something else than text.
func Inert(t *chrome.Tab) check.List {
	bad := problems(t, "inert")
	marks, err := chrome.Eval[[]string](t, call("marks"))
	if err != nil {
		bad.Add("%v", err)
	}
	bad = append(bad, marks...)
	for _, d := range t.Seen().Dialogs {
		bad.Add("a dialog opened: %s", d)
	}
	return bad
}

// Fits returns what is wider than the window.
func Fits(t *chrome.Tab) check.List { return problems(t, "overflow", false) }

// Printed returns what a printed page lacks: closed details, boxes that are cut
// off. The tab shows the page as printed.
func Printed(t *chrome.Tab) check.List {
	return append(problems(t, "details"), problems(t, "overflow", true)...)
}

// Themed returns what is wrong with the page's ground: light and dark pages
// differ, and text stands out from either.
func Themed(t *chrome.Tab, dark bool) check.List {
	var bad check.List
	c, err := chrome.Probe[struct{ Ground, Text float64 }](t, call("ground"))
	if err != nil {
		bad.Add("%v", err)
	}
	if dark && (c.Ground > 80 || c.Text < 160) || !dark && (c.Ground < 200 || c.Text > 100) {
		bad.Add("the ground is %.0f light, the text %.0f, of 255", c.Ground, c.Text)
	}
	return bad
}

// Drawn returns the texts in drawings that stand out too little.
func Drawn(t *chrome.Tab) check.List { return problems(t, "contrast") }

// Text returns the words of <main>. It opens all details. It works without
// JavaScript in the page.
func Text(t *chrome.Tab) (string, error) { return chrome.Eval[string](t, call("text")) }

// SameText compares the words of <main> with and without JavaScript.
func SameText(with, without string) check.List {
	var bad check.List
	if len(strings.Fields(without)) < 5 {
		bad.Add("without JavaScript <main> says only %q", without)
	}
	if with != without {
		a, b := strings.Fields(with), strings.Fields(without)
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		bad.Add("with JavaScript %d words, without %d; the first difference: %q, %q", len(a), len(b), some(a, n), some(b, n))
	}
	return bad
}

// some returns a few words from the given one on.
func some(words []string, from int) string {
	return strings.Join(words[min(from, len(words)):min(from+8, len(words))], " ")
}

// Look returns a few computed styles of the page.
func Look(t *chrome.Tab) (map[string]string, error) {
	return chrome.Probe[map[string]string](t, call("look"))
}

// SameLook compares the computed styles of two pages.
func SameLook(got, want map[string]string) check.List {
	var bad check.List
	for name, w := range want {
		bad.Same(name, got[name], w)
	}
	slices.Sort(bad)
	return bad
}

// failed makes a list of one problem.
func failed(err error) check.List { return check.List{fmt.Sprint(err)} }
