package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A page is one answer of the list, read.
type page struct {
	record.Page
	rows      []record.ListingRow
	malformed []record.Malformed // Page not set
	cursor    string             // empty on the last page
	odd       string             // why the page can't be trusted to say where the listing goes on
}

// named reports whether any row has a name, or is one of a deleted version.
func (p page) named() bool {
	for _, r := range p.rows {
		if _, err := record.RowName([]byte(r.Bytes)); err == nil || errors.Is(err, record.ErrDeleted) {
			return true
		}
	}
	return false
}

// readPage reads the bytes of one page. It fails on what has not the shape of a
// page: a JSON object with an array of servers.
func readPage(b []byte) (page, error) {
	spans, rest, err := split(b)
	if err != nil {
		return page{}, err
	}
	p := page{Page: record.Page{Bytes: int64(len(b)), Rows: len(spans), SHA256: canon.Sum(b)}}
	if !frame(b, spans, &p.Page) {
		p.Raw = bytes.Clone(b)
	}
	for i, s := range spans {
		row, m := readRow(b[s.start:s.end])
		if m.Reason != "" {
			m.Index = i
			p.malformed = append(p.malformed, m)
		}
		p.rows = append(p.rows, row)
	}
	p.cursor, p.odd = next(rest, len(spans))
	return p, nil
}

// A span is where a row stands on its page.
type span struct{ start, end int }

// split finds the rows of a page, and returns its other members.
func split(b []byte) (spans []span, rest map[string]json.RawMessage, err error) {
	if !json.Valid(b) {
		return nil, nil, errors.New("not a listing page: invalid JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, nil, errors.New("not a listing page: no JSON object")
	}
	rest = make(map[string]json.RawMessage)
	found := false
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		name, _ := tok.(string)
		if name != "servers" {
			var v json.RawMessage
			if err := dec.Decode(&v); err != nil {
				return nil, nil, err
			}
			if _, ok := rest[name]; ok {
				return nil, nil, fmt.Errorf("not a listing page: member %.100q stands twice", name)
			}
			rest[name] = v
			continue
		}
		if found {
			return nil, nil, errors.New("not a listing page: member \"servers\" stands twice")
		}
		found = true
		if spans, err = elements(dec, b); err != nil {
			return nil, nil, err
		}
	}
	if !found {
		return nil, nil, errors.New("not a listing page: no servers array")
	}
	return spans, rest, nil
}

// elements reads an array and returns where each of its elements stands in b,
// which dec reads.
func elements(dec *json.Decoder, b []byte) ([]span, error) {
	if tok, err := dec.Token(); err != nil || tok != json.Delim('[') {
		return nil, errors.New("not a listing page: no servers array")
	}
	var spans []span
	for dec.More() {
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		end := int(dec.InputOffset())
		start := end - len(v)
		if start < 0 || !bytes.Equal(b[start:end], v) {
			return nil, fmt.Errorf("reading listing page: element before byte %d not found again", end)
		}
		spans = append(spans, span{start, end})
	}
	_, err := dec.Token()
	return spans, err
}

// frame sets what stands around the rows of a page, and reports whether the page
// can be rebuilt from that and its rows, each stored on one line.
func frame(b []byte, spans []span, p *record.Page) bool {
	if !utf8.Valid(b) {
		return false
	}
	if len(spans) == 0 {
		p.Prefix = string(b)
		return true
	}
	for i, s := range spans {
		if bytes.ContainsAny(b[s.start:s.end], "\n\r") {
			return false
		}
		if i > 1 && !bytes.Equal(b[spans[i-1].end:s.start], b[spans[0].end:spans[1].start]) {
			return false
		}
	}
	p.Prefix = string(b[:spans[0].start])
	if len(spans) > 1 {
		p.Separator = string(b[spans[0].end:spans[1].start])
	}
	p.Suffix = string(b[spans[len(spans)-1].end:])
	return true
}

// Rebuild returns the bytes of a page from its rows, in listing order, as they
// are stored. It fails if they are not those that p names. A raw page is its own
// proof; its rows are not looked at.
func Rebuild(p record.Page, rows []string) ([]byte, error) {
	b := p.Raw
	if b == nil {
		if len(rows) != p.Rows {
			return nil, fmt.Errorf("rebuilding listing page %s: %d rows, want %d", p.SHA256.Short(), len(rows), p.Rows)
		}
		b = []byte(p.Prefix + strings.Join(rows, p.Separator) + p.Suffix)
	}
	if got := canon.Sum(b); got != p.SHA256 || int64(len(b)) != p.Bytes {
		return nil, fmt.Errorf("rebuilding listing page: got %d bytes with digest %s, want %d with %s", len(b), got, p.Bytes, p.SHA256)
	}
	return b, nil
}

// next returns the cursor of the page that follows, empty if none does, from the
// members beside its rows; or what is odd about them. A shape that merely looks
// like an end is odd: taken at its word, it would cut the population short
// without a sound.
func next(rest map[string]json.RawMessage, rows int) (cursor, odd string) {
	if hasOtherCursor(rest) {
		return "", "a cursor that is not metadata.nextCursor"
	}
	raw, ok := rest["metadata"]
	if !ok || string(raw) == "null" {
		if rows >= PageSize {
			return "", "a full page without metadata"
		}
		return "", ""
	}
	meta, err := record.Members(raw)
	if err != nil {
		return "", "metadata is not an object with members of different names"
	}
	if v, ok := meta["nextCursor"]; ok {
		delete(meta, "nextCursor")
		if err := json.Unmarshal(v, &cursor); err != nil { // null leaves it empty
			return "", "nextCursor is not a string"
		}
	}
	if cursor == "" && hasOtherCursor(meta) {
		return "", "a cursor that is not metadata.nextCursor"
	}
	return cursor, ""
}

// hasOtherCursor reports whether a member is named like a cursor and holds one.
func hasOtherCursor(m map[string]json.RawMessage) bool {
	for name, v := range m {
		switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) {
		case "nextcursor", "cursor", "next":
			if s := string(v); s != "null" && s != `""` {
				return true
			}
		}
	}
	return false
}

// readRow reads one element of servers. The row is what is stored of it; the
// reason is empty if nothing is wrong with it.
func readRow(b []byte) (record.ListingRow, record.Malformed) {
	stored, reason := string(b), ""
	if !utf8.ValidString(stored) {
		stored, reason = strings.ToValidUTF8(stored, "\uFFFD"), "invalid UTF-8"
	}
	if strings.ContainsAny(stored, "\n\r") || reason != "" {
		var line bytes.Buffer
		if json.Compact(&line, []byte(stored)) == nil {
			stored = line.String()
		}
	}
	name, says := readName([]byte(stored))
	if reason == "" {
		reason = says
	}
	return record.ListingRow{Bytes: stored, Name: name}, record.Malformed{Name: name, Reason: reason}
}

// readName returns the server name of a row, empty if it can't be read, and what
// is wrong with the row.
func readName(b []byte) (name, reason string) {
	name, err := record.RowName(b)
	if err != nil {
		return "", err.Error()
	}
	row, err := record.Members(b)
	if err != nil {
		return name, err.Error()
	}
	server, err := record.Members(row["server"])
	if err != nil {
		return name, err.Error()
	}
	if v := server["remotes"]; v != nil && v[0] != '[' && string(v) != "null" {
		return name, "remotes: not an array"
	}
	return name, ""
}
