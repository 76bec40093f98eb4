package mcp

import (
	"context"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// Bounds of one list. A list that reaches one with a page to come is left there;
// a further page that would exceed one is not kept.
const (
	maxPages  = 200
	maxTools  = 10_000   // elements of all pages together, as package contract takes
	maxBodies = 32 << 20 // bytes of all pages together
	maxValues = maxAlive // values of all pages together, whose trees are at work at once
	maxCursor = 16 << 10 // bytes of one cursor
)

// A page is what is needed of one page of a list but its bytes.
type page struct {
	tools  int    // elements of the list
	values int    // of the result, those inside arrays and objects included
	more   bool   // there is a cursor
	cursor string // empty if it is too long
	long   bool   // the cursor is too long to be sent
}

// readPage reads the result of tools/list. A cursor that is not a string, null
// for one, is none; an empty string is one (MCP 2026-07-28, "Pagination").
func readPage(result *canon.Value) page {
	p := page{values: count(result)}
	if v := result.Get("tools"); v != nil && v.Kind == canon.Array {
		p.tools = len(v.Elems)
	}
	v := result.Get("nextCursor")
	if v == nil || v.Kind != canon.String {
		return p
	}
	p.more = true
	if p.long = len(v.Text) > maxCursor; !p.long {
		p.cursor = strings.Clone(v.Text) // a text is cut from the whole document
	}
	return p
}

// count returns how many values v is, with those inside it.
func count(v *canon.Value) int {
	n := 1
	for _, e := range v.Elems {
		n += count(e)
	}
	for _, m := range v.Members {
		n += count(m.Value)
	}
	return n
}

// A pile is the pages of a list as far as it was read.
type pile struct {
	bodies              [][]byte
	size, tools, values int
	seen                map[string]bool // cursors
}

// fits reports whether a page may be added. The first one always may.
func (l *pile) fits(body []byte, p page) bool {
	return len(l.bodies) == 0 ||
		l.size+len(body) <= maxBodies && l.tools+p.tools <= maxTools && l.values+p.values <= maxValues
}

// add adds a page.
func (l *pile) add(body []byte, p page) {
	l.bodies = append(l.bodies, body)
	l.size += len(body)
	l.tools += p.tools
	l.values += p.values
}

// leave returns why the list is left after the page p was added, whose cursor is
// still to be followed; empty if it is not.
func (l *pile) leave(p page) record.Flag {
	switch {
	case p.long, len(l.bodies) >= maxPages, l.size >= maxBodies, l.tools >= maxTools, l.values >= maxValues:
		return record.FlagListCapped
	case l.seen[p.cursor]:
		return record.FlagCursorRepeated
	}
	l.seen[p.cursor] = true
	return ""
}

// list reads the list, as many pages of it as the methodology asks for. It
// reports whether it succeeded.
func (e *exchange) list(ctx context.Context) (bool, error) {
	var (
		got  = pile{seen: map[string]bool{}}
		last page
		left record.Flag // why the list was left; empty if it was not
	)
	for left == "" {
		body, p, err := e.page(ctx, len(got.bodies)+1, last.cursor)
		if err != nil || body == nil {
			return false, err
		}
		if !got.fits(body, p) {
			left = record.FlagListCapped // without this page
			break
		}
		got.add(body, p)
		if last = p; !p.more || !e.m.FollowPages {
			break
		}
		left = got.leave(p)
	}
	if left != "" {
		e.flags = append(e.flags, left)
	}
	e.reading.Pages = got.bodies
	e.reading.Capture.Pages = record.Pages{Complete: !last.more, Read: len(got.bodies)}
	return true, nil
}

// page reads page n of the list. The body is nil if that failed.
func (e *exchange) page(ctx context.Context, n int, cursor string) ([]byte, page, error) {
	var meta []byte
	if e.modern {
		meta = modernMeta(e.client.Info)
	}
	var p page
	m := e.message(methodList, int64(listID+n-1), listBody(n, cursor, meta))
	a, err := e.ask(ctx, record.ListStep(n), m, func(result *canon.Value) { p = readPage(result) })
	if err != nil {
		return nil, page{}, err
	}
	e.reading.ListLatency = max(0, e.reading.ListLatency) + a.latency
	return a.body, p, nil
}
