package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// maxFailed is the number of look-ups that may fail in a row before the rest is
// given up: the registry is down, and each costs several tries.
const maxFailed = 5

// Ask looks up the versions of names that a complete listing lacks, in the order
// given, and adds to l how each look-up ended and the rows of the versions that
// are not deleted. A name is live while such a version remains, and while the
// registry has not plainly said otherwise: a failed look-up, an answer that
// speaks of other names or can't be read, a 404 that is not the registry's own,
// and a name beyond MaxAsked or MaxAsking leave it live; its Status is 0 if it
// was not asked for. Of a listing that is not complete nothing is asked. Ask fails only if
// ctx ended.
func (c *Client) Ask(ctx context.Context, l *Listing, missing []string) error {
	if !l.Complete {
		return nil
	}
	known := make(map[string]bool)
	for _, r := range l.Rows {
		known[r.Name] = true
	}
	c.until = c.now().Add(MaxAsking)
	asked, failed := 0, 0
	for _, name := range missing {
		if known[name] || name == "" {
			continue
		}
		known[name] = true
		a := record.Asked{Live: true, Name: name}
		if asked < MaxAsked && failed < maxFailed {
			asked++
			rows, err := c.ask(ctx, l.Source, &a)
			if err != nil {
				return fmt.Errorf("asking the registry for %q: %w", name, err)
			}
			l.Rows = append(l.Rows, rows...)
			failed++
			if a.Status == http.StatusOK || !a.Live {
				failed = 0
			}
		}
		l.Asked = append(l.Asked, a)
	}
	if asked > 0 {
		l.Finished = record.At(c.now())
	}
	return nil
}

// ask looks up one name and returns the rows of its live versions. Its error is
// that of ctx.
func (c *Client) ask(ctx context.Context, source string, a *record.Asked) ([]record.ListingRow, error) {
	var p page
	link := source + "/" + escape(a.Name) + "/versions"
	err := c.get(ctx, link, askPace, func(body []byte) (err error) {
		p, err = readPage(body)
		return err
	})
	if f, ok := errors.AsType[*failure](err); ok {
		a.Status = f.status
		a.Live = !f.gone
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a.Status = http.StatusOK
	var rows []record.ListingRow
	unclear := p.cursor != "" || p.odd != ""
	for _, r := range p.rows {
		switch _, err := record.RowName([]byte(r.Bytes)); {
		case errors.Is(err, record.ErrDeleted):
			unclear = unclear || !isOf(r.Bytes, a.Name)
		case r.Name != a.Name:
			unclear = true
		default:
			r.Asked = true
			rows = append(rows, r)
		}
	}
	a.Live = len(rows) > 0 || unclear
	return rows, nil
}

// isOf reports whether a row, which may be of a deleted version, is of the server
// called name.
func isOf(row, name string) bool {
	outer, err := record.Members([]byte(row))
	if err != nil {
		return false
	}
	server, err := record.Members(outer["server"])
	if err != nil {
		return false
	}
	var got string
	return json.Unmarshal(server["name"], &got) == nil && got == name
}

// escape returns name as one segment of a path, with everything escaped that
// could be read as something else there.
func escape(name string) string {
	return strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}
