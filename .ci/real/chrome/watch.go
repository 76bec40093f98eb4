package chrome

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// Seen is what a page did.
type Seen struct {
	Console    []Message
	Exceptions []string // that nothing caught
	Dialogs    []string
	Requests   []Request // in the order of their beginning
}

// A Message is a line of the console, or of the browser about the page.
type Message struct {
	Level  string // error, warning, info …
	Source string // console-api, security, network …
	Text   string
	URL    string // of what it is about; "" where it says none
}

// A Request is one that the page made, and how it ended.
type Request struct {
	URL    string
	Status int64  // 0 where there was no answer
	Error  string // "" if it did not fail
	Page   bool   // for the document itself
}

// A watch gathers what a page does.
type watch struct {
	answer func() // closes a dialog

	mu      sync.Mutex // guards what follows
	seen    Seen
	index   map[network.RequestID]int // in seen.Requests
	pending map[network.RequestID]bool
	changed time.Time // of the last event
}

// reset forgets what was seen.
func (w *watch) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = Seen{}
	w.index, w.pending = nil, nil
	w.changed = time.Now()
}

// copy returns what was seen so far.
func (w *watch) copy() Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Seen{
		Console: append([]Message(nil), w.seen.Console...), Exceptions: append([]string(nil), w.seen.Exceptions...),
		Dialogs: append([]string(nil), w.seen.Dialogs...), Requests: append([]Request(nil), w.seen.Requests...),
	}
}

// stillness is how long nothing may happen until a page counts as quiet.
const stillness = 40 * time.Millisecond

// quiet waits until no request is open and nothing happened for a while.
func (w *watch) quiet(ctx context.Context) error {
	for {
		w.mu.Lock()
		still := len(w.pending) == 0 && time.Since(w.changed) >= stillness
		w.mu.Unlock()
		if still {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until the page is quiet: %w; open requests: %s", ctx.Err(), w.open())
		case <-time.After(stillness / 4):
		}
	}
}

// open names the requests without an end.
func (w *watch) open() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var urls []string
	for id := range w.pending {
		urls = append(urls, w.seen.Requests[w.index[id]].URL)
	}
	return strings.Join(urls, " ")
}

// event notes one event of the browser.
func (w *watch) event(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		w.seen.Console = append(w.seen.Console, Message{Level: string(e.Type), Source: "console-api", Text: arguments(e.Args)})
	case *runtime.EventExceptionThrown:
		w.seen.Exceptions = append(w.seen.Exceptions, said(e.ExceptionDetails))
	case *log.EventEntryAdded:
		w.seen.Console = append(w.seen.Console, Message{Level: string(e.Entry.Level), Source: string(e.Entry.Source), Text: e.Entry.Text, URL: e.Entry.URL})
	case *page.EventJavascriptDialogOpening:
		w.seen.Dialogs = append(w.seen.Dialogs, fmt.Sprintf("%s: %q", e.Type, e.Message))
		if w.answer != nil {
			w.answer()
		}
	case *network.EventRequestWillBeSent:
		w.begin(e)
	case *network.EventResponseReceived:
		if i, ok := w.index[e.RequestID]; ok {
			w.seen.Requests[i].Status = e.Response.Status
		}
	case *network.EventLoadingFinished:
		delete(w.pending, e.RequestID)
	case *network.EventLoadingFailed:
		delete(w.pending, e.RequestID)
		if i, ok := w.index[e.RequestID]; ok {
			w.seen.Requests[i].Error = strings.TrimSpace(e.ErrorText + " " + string(e.BlockedReason))
		}
	default:
		return
	}
	w.changed = time.Now()
}

// begin notes a request. A redirect begins another one under the same id.
func (w *watch) begin(e *network.EventRequestWillBeSent) {
	if w.index == nil {
		w.index, w.pending = map[network.RequestID]int{}, map[network.RequestID]bool{}
	}
	if i, ok := w.index[e.RequestID]; ok && e.RedirectResponse != nil {
		w.seen.Requests[i].Status = e.RedirectResponse.Status
	}
	w.index[e.RequestID] = len(w.seen.Requests)
	w.pending[e.RequestID] = true
	w.seen.Requests = append(w.seen.Requests, Request{URL: e.Request.URL + e.Request.URLFragment, Page: e.Type == network.ResourceTypeDocument})
}

// arguments returns what was given to the console as text.
func arguments(args []*runtime.RemoteObject) string {
	var parts []string
	for _, a := range args {
		var text string
		switch {
		case json.Unmarshal(a.Value, &text) == nil:
			parts = append(parts, text)
		case len(a.Value) > 0:
			parts = append(parts, string(a.Value))
		default:
			parts = append(parts, a.Description)
		}
	}
	return strings.Join(parts, " ")
}

// said returns what an exception says.
func said(d *runtime.ExceptionDetails) string {
	text := d.Text
	if d.Exception != nil && d.Exception.Description != "" {
		text += ": " + d.Exception.Description
	}
	return strings.TrimSpace(text)
}
