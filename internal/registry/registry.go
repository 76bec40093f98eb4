// Package registry reads the official registry whole and keeps what it said.
//
// # Whole, or marked not
//
// [Client.List] walks GET /v0.1/servers from page to page until a page states no
// further cursor or has no rows. A listing that ended in any other way has
// Complete false and a Reason: nothing may be called retired because of it. The
// order of rows is the registry's own, a database collation, and proves nothing;
// neighbouring pages may be of different moments, so a name can be listed twice
// or, rarely, be missed. Therefore a known name that a complete listing lacks is
// asked for by itself, with [Client.Ask], and only a plain answer takes it off
// the roster (registry OpenAPI of 2025-12-01; DESIGN.md section 5).
//
// # Verbatim
//
// A row is kept as the bytes that stood on the page, and each page as what
// stands around its rows, so that [Rebuild] gives back the page byte for byte. A
// page that can't be kept so is kept raw: one whose rows hold line breaks or are
// set apart in different ways, or that is not valid UTF-8. The rows of a raw page
// are stored compacted to one line, each invalid byte sequence in them replaced
// by U+FFFD; the verbatim ones are in the raw page.
//
// # Manners
//
// One request at a time, at most two pages or three look-ups a second, at most
// four tries for each, a Retry-After obeyed up to [MaxRetryAfter]. A status of
// 429 or 5xx, a broken connection and a body that is no page are tried again;
// other refusals are taken at their word. A listing takes at most [MaxListing] and
// the look-ups together [MaxAsking], whatever the registry makes the reader wait.
package registry

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/safehttp"
)

// Which versions a listing holds.
const (
	Latest = "latest" // of each name the version that is marked as the latest
	All    = "all"    // every version that is not deleted
)

// Limits of one listing. A listing that meets one is cut there and not complete.
const (
	// PageSize is the number of rows asked for, the most that the registry gives.
	PageSize = 100
	// MaxPage bounds a page, in decoded bytes; an official one has about 60 KB.
	MaxPage = 16 << 20
	// MaxPages is six times the full listing of August 2026.
	MaxPages = 5000
	// MaxRows is what MaxPages pages of PageSize rows hold.
	MaxRows = MaxPages * PageSize
	// MaxBytes bounds all pages together: they are held in memory.
	MaxBytes = 1 << 30
	// MaxRaw bounds the pages that are kept raw, which weigh most in the record.
	MaxRaw = 128 << 20
	// MaxAsked bounds the names asked for one by one in one run.
	MaxAsked = 500
	// MaxRetryAfter bounds how long the registry can make the reader wait.
	MaxRetryAfter = 5 * time.Minute
	// MaxListing bounds the time of one listing; the 800 pages of an official
	// one take 7 minutes at the pace kept here.
	MaxListing = 60 * time.Minute
	// MaxAsking bounds the time of all look-ups of one run together.
	MaxAsking = 20 * time.Minute
)

// A Client reads one registry. It makes one request at a time and is not for
// use by several goroutines at once.
type Client struct {
	HTTP    *safehttp.Client // nil: one of its own, for public addresses
	Source  string           // URL of the list, without query, such as record.Source
	Listing string           // Latest or All; empty is Latest

	Now      func() time.Time                           // nil: time.Now
	Sleep    func(context.Context, time.Duration) error // nil: real time; fails when the context ends
	Jitter   func() float64                             // in [0, 1), spreads retries; nil: random
	Progress func(pages, rows int)                      // called after each page; may be nil

	last  time.Time // when the last request was begun
	until time.Time // when the listing, or the asking, has to be over
}

// A Listing is what the registry said, in its order: the rows of the pages, then
// those of names asked for one by one. Its Rows hide the count of the header,
// which [Listing.WriteTo] sets.
type Listing struct {
	record.ListingHeader
	Rows []record.ListingRow
}

// List reads the whole listing. It fails only if not one page could be read, if
// Source or Listing is not valid, or if ctx ended; whatever happens later leaves
// a listing that is not complete. Pages count from 1 in its Reason and from 0 in
// its Malformed.
func (c *Client) List(ctx context.Context) (*Listing, error) {
	query, err := c.query()
	if err != nil {
		return nil, err
	}
	l := &Listing{ListingHeader: record.ListingHeader{
		Asked: []record.Asked{}, Malformed: []record.Malformed{}, Pages: []record.Page{},
		Query: query, Source: c.Source, Started: record.At(c.now()),
	}}
	c.until = c.now().Add(MaxListing)
	w := walk{l: l, cursors: map[string]bool{}, rows: map[[sha256.Size]byte]bool{}}
	for cursor := ""; ; {
		link := c.Source + "?" + query
		if cursor != "" {
			link += "&cursor=" + url.QueryEscape(cursor)
		}
		p, err := c.page(ctx, link)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, fmt.Errorf("reading listing of %s: %w", c.Source, context.Cause(ctx))
		case err != nil && len(l.Pages) == 0:
			return nil, fmt.Errorf("reading first page of %s: %w", c.Source, err)
		case errors.Is(err, errLate):
			l.Reason = fmt.Sprintf("page %d: not read within %.0f minutes", len(l.Pages)+1, MaxListing.Minutes())
		case err != nil:
			f, _ := errors.AsType[*failure](err)
			l.Reason = fmt.Sprintf("page %d: %s", len(l.Pages)+1, f.Brief())
		default:
			cursor, l.Reason = w.add(p)
		}
		if c.Progress != nil {
			c.Progress(len(l.Pages), len(l.Rows))
		}
		if l.Reason != "" || cursor == "" {
			break
		}
	}
	l.Complete = l.Reason == ""
	l.Finished = record.At(c.now())
	return l, nil
}

// query returns the query of the first page, after checking the fields that the
// caller sets.
func (c *Client) query() (string, error) {
	u, err := url.Parse(c.Source)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(c.Source, "?#") {
		return "", fmt.Errorf("reading listing: %q is not an http or https URL without query", c.Source)
	}
	switch c.Listing {
	case "", Latest:
		return fmt.Sprintf("limit=%d&version=latest", PageSize), nil
	case All:
		return fmt.Sprintf("limit=%d", PageSize), nil
	}
	return "", fmt.Errorf("reading listing: unknown listing %q, want %s or %s", c.Listing, Latest, All)
}

// page reads one page.
func (c *Client) page(ctx context.Context, link string) (page, error) {
	var p page
	err := c.get(ctx, link, listPace, func(body []byte) (err error) {
		p, err = readPage(body)
		return err
	})
	return p, err
}

// A walk gathers the pages of a listing and notices when it no longer leads on.
type walk struct {
	l       *Listing
	cursors map[string]bool            // asked for
	rows    map[[sha256.Size]byte]bool // listed
	bytes   int64
	raw     int
}

// add takes a page into the listing. It returns the cursor of the next page,
// empty at the end, or the reason why the walk must stop before the end.
func (w *walk) add(p page) (cursor, reason string) {
	n := len(w.l.Pages)
	w.bytes += p.Bytes
	w.raw += len(p.Raw)
	switch {
	case w.bytes > MaxBytes:
		return "", fmt.Sprintf("more than %d bytes", MaxBytes)
	case w.raw > MaxRaw:
		return "", fmt.Sprintf("more than %d bytes of pages that can't be rebuilt", MaxRaw)
	case len(w.l.Rows)+len(p.rows) > MaxRows:
		return "", fmt.Sprintf("more than %d rows", MaxRows)
	}
	w.l.Pages = append(w.l.Pages, p.Page)
	w.l.Rows = append(w.l.Rows, p.rows...)
	for _, m := range p.malformed {
		m.Page = n
		w.l.Malformed = append(w.l.Malformed, m)
	}
	fresh := w.fresh(p)
	at := fmt.Sprintf("page %d: ", n+1)
	switch {
	case len(p.rows) > 0 && !p.named():
		return "", at + "no entry has a readable name"
	case p.odd != "":
		return "", at + p.odd
	case p.cursor == "":
		return "", ""
	case len(p.rows) == 0:
		return "", at + "no rows, but a further cursor"
	case w.cursors[p.cursor]:
		return "", "cursor repeated"
	case !fresh:
		return "", at + "every row was listed before"
	case n+1 >= MaxPages:
		return "", fmt.Sprintf("more than %d pages", MaxPages)
	}
	w.cursors[p.cursor] = true
	return p.cursor, ""
}

// fresh reports whether the page has a row that was not listed before, and
// remembers its rows.
func (w *walk) fresh(p page) bool {
	fresh := false
	for _, r := range p.rows {
		h := sha256.Sum256([]byte(r.Bytes))
		fresh = fresh || !w.rows[h]
		w.rows[h] = true
	}
	return fresh
}

func (c *Client) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

func (c *Client) jitter() float64 {
	if c.Jitter != nil {
		return c.Jitter()
	}
	return rand.Float64()
}

// errLate says that there is no time left, or not enough for what has to be
// waited for.
var errLate = errors.New("the time allowed is over")

// wait is sleep for what has to end before c.until.
func (c *Client) wait(ctx context.Context, d time.Duration) error {
	if !c.now().Add(max(d, 0)).Before(c.until) {
		return errLate
	}
	return c.sleep(ctx, d)
}

// sleep waits for d, or until ctx ends.
func (c *Client) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	if c.Sleep != nil {
		return c.Sleep(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
