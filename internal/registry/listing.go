package registry

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// maxLine bounds a line of a listing file, its LF included: a header with MaxRaw
// bytes of raw pages in base64, and as much again for the rest.
const maxLine = 4 * MaxRaw

// WriteTo writes the listing as JSON lines: the header, then the rows (DESIGN.md
// section 9, <plan>.listing.jsonl).
func (l *Listing) WriteTo(w io.Writer) (int64, error) {
	bw := bufio.NewWriter(w)
	h := l.ListingHeader
	h.Rows = len(l.Rows)
	var n int64
	put := func(v record.ListingLine) error {
		line := record.Line(v)
		if len(line) > maxLine {
			return fmt.Errorf("writing listing: a line of %d bytes, more than can be read again", len(line))
		}
		k, err := bw.Write(line)
		n += int64(k)
		return err
	}
	if err := put(record.ListingLine{Listing: &h}); err != nil {
		return n, err
	}
	for i := range l.Rows {
		if err := put(record.ListingLine{Row: &l.Rows[i]}); err != nil {
			return n, err
		}
	}
	return n, bw.Flush()
}

// ReadListing reads what WriteTo writes, and nothing else: it fails on a line of
// another form, on counts that don't match, and on a file that was cut. That the
// pages can be rebuilt is not checked here.
func ReadListing(r io.Reader) (*Listing, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	first, err := readLine(br, maxLine)
	if err != nil {
		return nil, fmt.Errorf("reading listing header: %w", err)
	}
	if first.Listing == nil {
		return nil, errors.New("reading listing header: the first line is a row")
	}
	l := &Listing{ListingHeader: *first.Listing}
	onPages := 0
	for _, p := range l.Pages {
		onPages += p.Rows
	}
	for {
		line, err := readLine(br, maxLine)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading listing row %d: %w", len(l.Rows)+1, err)
		}
		if line.Row == nil {
			return nil, fmt.Errorf("reading listing row %d: a second header", len(l.Rows)+1)
		}
		if line.Row.Asked != (len(l.Rows) >= onPages) {
			return nil, fmt.Errorf("reading listing row %d: the pages have %d rows, and asked ones follow them", len(l.Rows)+1, onPages)
		}
		l.Rows = append(l.Rows, *line.Row)
	}
	if len(l.Rows) != l.ListingHeader.Rows || len(l.Rows) < onPages {
		return nil, fmt.Errorf("reading listing: %d rows, want %d, of which %d on pages", len(l.Rows), l.ListingHeader.Rows, onPages)
	}
	return l, nil
}

// readLine reads one line of at most limit bytes, in exactly the form in which it
// is written. It returns io.EOF if there is none.
func readLine(br *bufio.Reader, limit int) (record.ListingLine, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return record.ListingLine{}, fmt.Errorf("longer than %d bytes", limit)
		}
		line = append(line, part...)
		if err == nil {
			break
		}
		if err == io.EOF && len(line) > 0 {
			return record.ListingLine{}, io.ErrUnexpectedEOF
		}
		if err != bufio.ErrBufferFull {
			return record.ListingLine{}, err
		}
	}
	var v record.ListingLine
	if err := record.Decode(line, &v); err != nil {
		return record.ListingLine{}, err
	}
	if (v.Listing == nil) == (v.Row == nil) {
		return record.ListingLine{}, errors.New("not exactly one of listing and row")
	}
	if !bytes.Equal(record.Line(v), line) {
		return record.ListingLine{}, errors.New("not in the form in which listings are written")
	}
	return v, nil
}
