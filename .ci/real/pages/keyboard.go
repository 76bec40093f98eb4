package pages

import (
	"encoding/json"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
	"github.com/mcpstrata/mcpstrata/ci/real/chrome"
)

// A stop is the element that has the focus.
type stop struct {
	None   bool // nothing has it
	Name   string
	Order  int  // in the document
	Skip   bool // it links into <main>
	Search bool
	Main   bool // it is in <main>
	Ring   bool // it looks otherwise than without focus
	Shown  bool // it is in the window
}

// focused returns what has the focus.
func focused(t *chrome.Tab) (stop, error) { return chrome.Probe[stop](t, call("focus", false)) }

// tab presses Tab and returns what has the focus then.
func tab(t *chrome.Tab) (stop, error) {
	if err := t.Press(kb.Tab); err != nil {
		return stop{}, err
	}
	return focused(t)
}

// maxStops bounds how many stops of a page are looked at.
const maxStops = 40

// Keyboard walks through the page by Tab from its top: the skip link comes
// first and leads into <main>, each stop is another one, in the window and
// visibly focused.
func Keyboard(t *chrome.Tab) check.List {
	var bad check.List
	if _, err := chrome.Probe[any](t, call("focus", true)); err != nil {
		return failed(err)
	}
	var last stop
	for n := range maxStops {
		s, err := tab(t)
		if err != nil {
			return failed(err)
		}
		if s.None {
			if n < 3 {
				bad.Add("only %d stops", n)
			}
			break // through the whole page
		}
		if n == 0 && !s.Skip {
			bad.Add("the first stop is %s, not a link into <main>", s.Name)
		}
		if n > 0 && s.Order == last.Order {
			bad.Add("Tab does not leave %s", s.Name)
			break
		}
		if !s.Ring {
			bad.Add("no visible focus on %s", s.Name)
		}
		if !s.Shown {
			bad.Add("focused but out of sight: %s", s.Name)
		}
		last = s
	}
	return bad
}

// SkipLink uses the skip link of a page that was just opened: the next stop is
// in <main>.
func SkipLink(t *chrome.Tab) check.List {
	var bad check.List
	first, err := tab(t)
	if err != nil {
		return failed(err)
	}
	if !first.Skip {
		bad.Add("the first stop is %s, not a link into <main>", first.Name)
		return bad
	}
	if err := t.Press(kb.Enter); err != nil {
		return failed(err)
	}
	next, err := tab(t)
	if err != nil {
		return failed(err)
	}
	if !next.Main {
		bad.Add("after the skip link, Tab leads to %s, outside <main>", next.Name)
	}
	return bad
}

// patience is how long a page may take to answer a key.
const patience = 5 * time.Second

// until asks often until the answer is yes.
func until(t *chrome.Tab, js string) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok, err := chrome.Eval[bool](t, js); err == nil && ok {
			return true
		}
	}
	return false
}

// stopsToSearch is how often the Tab key is pressed at most to reach the search:
// it stands in the head of a page, after the links to its parts.
const stopsToSearch = 20

// Search goes to the search by the Tab key, on a page that was just opened, and
// types a server's name and Enter: the search is focused, offers the name, its arrow keys work, and it leads to
// the address want.
func Search(t *chrome.Tab, name, want string) check.List {
	var bad check.List
	if _, err := chrome.Probe[any](t, call("focus", true)); err != nil {
		return failed(err)
	}
	var s stop
	for i := 0; i < stopsToSearch && !s.Search; i++ {
		var err error
		if s, err = tab(t); err != nil {
			return failed(err)
		}
	}
	if !s.Search || !s.Ring || !s.Shown {
		bad.Add("the Tab key leads to %s (search %t, visibly %t, in the window %t)", s.Name, s.Search, s.Ring, s.Shown)
		return bad
	}
	if err := t.Press(name); err != nil {
		return failed(err)
	}
	if value, _ := chrome.Eval[string](t, "document.activeElement.value"); value != name {
		bad.Add("typed %q, the search holds %q", name, value)
	}
	if !until(t, `[...document.querySelectorAll('[role=option]')].some((e) => e.checkVisibility())`) {
		bad.Add("nothing is offered for %s", name)
		return bad
	}
	if err := t.Press(kb.ArrowDown); err != nil {
		return failed(err)
	}
	if !until(t, `(() => { const e = document.getElementById(document.activeElement.getAttribute('aria-activedescendant')); return !!e && e.getAttribute('aria-selected') === 'true'; })()`) {
		bad.Add("the arrow key chooses nothing that a screen reader is told of")
	}
	if err := t.Press(kb.Enter); err != nil {
		return failed(err)
	}
	until(t, "location.href !== "+quoted(want)+" ? false : document.readyState === 'complete'")
	if got, err := t.URL(); err != nil || got != want {
		bad.Add("%s and Enter lead to %s, want %s", name, got, want)
	}
	return append(bad, Quiet(t.Seen(), "")...)
}

// quoted returns s as a JavaScript text.
func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always encodes
	return string(b)
}
