package registry

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// roundTrip writes l and reads it back, and returns what was written.
func roundTrip(t *testing.T, l *Listing) string {
	t.Helper()
	var b bytes.Buffer
	n, err := l.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("WriteTo = %d, %v; wrote %d bytes", n, err, b.Len())
	}
	written := b.String()
	got, err := ReadListing(&b)
	if err != nil {
		t.Fatalf("ReadListing(WriteTo(l)) = %v", err)
	}
	want := *l
	want.ListingHeader.Rows = len(l.Rows)
	if d := cmp.Diff(&want, got); d != "" {
		t.Errorf("ReadListing(WriteTo(l)) (-want +got):\n%s", d)
	}
	return written
}

// listing is a listing of every shape that there is.
func listing(t *testing.T) *Listing {
	t.Helper()
	at := record.At(time.Date(2026, 11, 30, 3, 15, 0, 0, time.UTC))
	l := &Listing{ListingHeader: record.ListingHeader{
		Asked:    []record.Asked{{Live: true, Name: "c/c", Status: 200}, {Live: true, Name: "d/d"}},
		Complete: true, Finished: at, Malformed: []record.Malformed{}, Query: "limit=100", Source: record.Source, Started: at,
	}}
	for _, b := range []string{
		body("x", row("a/a"), `{"server":{"name":"b/<b>","x":"\u2028`+"\u2028"+`"}}`),
		"{\"servers\":[{\n}]}",
	} {
		p, err := readPage([]byte(b))
		if err != nil {
			t.Fatal(err)
		}
		l.Pages = append(l.Pages, p.Page)
		l.Rows = append(l.Rows, p.rows...)
		l.Malformed = append(l.Malformed, p.malformed...)
	}
	l.Rows = append(l.Rows, record.ListingRow{Asked: true, Bytes: row("c/c"), Name: "c/c"})
	return l
}

func TestListingRoundTrip(t *testing.T) {
	l := listing(t)
	roundTrip(t, l)
	if l.ListingHeader.Rows != 0 {
		t.Errorf("WriteTo changed the listing: header has %d rows", l.ListingHeader.Rows)
	}
	rebuilds(t, l)
}

func TestReadListingRefuses(t *testing.T) {
	whole := roundTrip(t, listing(t))
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	join := func(l ...string) string { return strings.Join(l, "") }
	tests := []struct{ name, file string }{
		{"empty", ""},
		{"no header", join(lines[1:]...)},
		{"last row gone", join(lines[:len(lines)-1]...)},
		{"last line cut", whole[:len(whole)-5]},
		{"last line without LF", strings.TrimSuffix(whole, "\n")},
		{"a row more", whole + lines[len(lines)-1]},
		{"asked row among the listed", join(lines[0], lines[4], lines[1], lines[2], lines[3])},
		{"listed row among the asked", join(lines[0], lines[1], lines[2], lines[3], lines[1])},
		{"two headers", join(lines[0], whole)},
		{"empty line", join(lines[0], "\n", join(lines[1:]...))},
		{"another count", strings.Replace(whole, `"rows":4`, `"rows":5`, 1)},
		{"another form", strings.Replace(whole, `{"row":{`, `{"row": {`, 1)},
		{"another case", strings.Replace(whole, `{"row":{`, `{"Row":{`, 1)},
		{"unknown member", strings.Replace(whole, `"complete":true`, `"complete":true,"x":1`, 1)},
		{"a page's rows", strings.Replace(whole, `"rows":2`, `"rows":3`, 1)},
		{"neither", whole + "{}\n"},
		{"both", strings.Replace(whole, "}}\n", `},"row":{"bytes":"","name":""}}`+"\n", 1)},
		{"null", "null\n"},
		{"not JSON", "<html>\n"},
		{"two values on a line", strings.Replace(whole, "\n", " {}\n", 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.file == whole {
				t.Fatal("the test changes nothing")
			}
			if l, err := ReadListing(strings.NewReader(tt.file)); err == nil {
				t.Errorf("ReadListing(%s) = %d rows, want an error", tt.name, len(l.Rows))
			}
		})
	}
}

// zeros is an endless line.
type zeros struct{ n int64 }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.n += int64(len(p))
	return len(p), nil
}

func TestReadLineIsBounded(t *testing.T) {
	const limit = 100_000
	z := &zeros{}
	if _, err := readLine(bufio.NewReader(z), limit); err == nil || z.n > limit+1<<16 {
		t.Errorf("readLine(endless line) = %v after %d bytes, want an error soon after %d", err, z.n, limit)
	}
}
