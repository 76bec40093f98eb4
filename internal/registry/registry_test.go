package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/safehttp"
)

// A clock stands still but when somebody sleeps.
type clock struct {
	t     time.Time
	slept []time.Duration
}

func (c *clock) now() time.Time { return c.t }

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.slept = append(c.slept, d)
	c.t = c.t.Add(d)
	return ctx.Err()
}

// start serves handler and returns a client of it, whose list is at /v0.1/servers.
func start(t *testing.T, handler http.HandlerFunc) (*Client, *clock) {
	t.Helper()
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	c := &clock{t: time.Date(2026, 11, 30, 3, 15, 0, 0, time.UTC)}
	return &Client{
		HTTP:   safehttp.New(safehttp.Config{AllowPrivate: true, MaxBody: MaxPage + 1}),
		Source: srv.URL + "/v0.1/servers",
		Now:    c.now,
		Sleep:  c.sleep,
		Jitter: func() float64 { return 0 },
	}, c
}

// row is a registry row.
func row(name string) string { return versionRow(name, "1.0.0", "active") }

func versionRow(name, version, status string) string {
	return fmt.Sprintf(`{"server":{"name":%q,"version":%q},"_meta":{"io.modelcontextprotocol.registry/official":{"status":%q,"isLatest":true}}}`, name, version, status)
}

// body is a page of rows.
func body(cursor string, rows ...string) string {
	next := ""
	if cursor != "" {
		next = fmt.Sprintf(`"nextCursor":%q,`, cursor)
	}
	return fmt.Sprintf(`{"servers":[%s],"metadata":{%s"count":%d}}`, strings.Join(rows, ","), next, len(rows))
}

// An answer is one answer of a scripted registry.
type answer struct {
	status int // 0 is 200
	body   string
	header http.Header
}

// script serves the answers of each request URI in turn, the last one for ever,
// and notes the requests.
func script(requests *[]string, answers map[string][]answer) http.HandlerFunc {
	served := map[string]int{}
	return func(w http.ResponseWriter, r *http.Request) {
		uri := strings.TrimPrefix(r.RequestURI, "/v0.1/servers")
		*requests = append(*requests, uri)
		list := answers[uri]
		if len(list) == 0 {
			http.Error(w, `{"status":404}`, http.StatusNotFound)
			return
		}
		a := list[min(served[uri], len(list)-1)]
		served[uri]++
		for k, v := range a.header {
			w.Header()[k] = v
		}
		if a.status != 0 {
			w.WriteHeader(a.status)
		}
		fmt.Fprint(w, a.body)
	}
}

const (
	first = "?limit=100&version=latest"
	// second is the URI of the page after a row whose version has a build.
	second = first + "&cursor=a%2Fb%3A1.0.0%2Bx"
	cursor = "a/b:1.0.0+x"
)

func names(l *Listing) (names []string) {
	for _, r := range l.Rows {
		names = append(names, r.Name)
	}
	return names
}

// rebuilds fails the test unless every page of l can be rebuilt from its rows.
func rebuilds(t *testing.T, l *Listing) {
	t.Helper()
	rows := l.Rows
	for i, p := range l.Pages {
		var on []string
		for _, r := range rows[:p.Rows] {
			on = append(on, r.Bytes)
		}
		rows = rows[p.Rows:]
		if _, err := Rebuild(p, on); err != nil {
			t.Errorf("Rebuild(page %d) = %v", i, err)
		}
	}
}

func TestList(t *testing.T) {
	fail := func(status int) answer { return answer{status: status, body: "no"} }
	full := func(from int) []string {
		rows := make([]string, PageSize)
		for i := range rows {
			rows[i] = row(fmt.Sprintf("n/%03d", from+i))
		}
		return rows
	}
	page1 := []answer{{body: body(cursor, row("a/a"), row("a/b"))}}
	after := func(pages ...answer) map[string][]answer { return map[string][]answer{first: page1, second: pages} }
	tests := []struct {
		name     string
		answers  map[string][]answer
		rows     int
		requests int
		reason   string // empty: complete
	}{
		{"one page", map[string][]answer{first: {{body: body("", row("a/a"))}}}, 1, 1, ""},
		{"no rows at all", map[string][]answer{first: {{body: body("")}}}, 0, 1, ""},
		{"plus in the cursor", after(answer{body: body("", row("a/c"))}), 3, 2, ""},
		{"null cursor", after(answer{body: `{"servers":[` + row("a/c") + `],"metadata":{"nextCursor":null}}`}), 3, 2, ""},
		{"empty cursor", after(answer{body: `{"servers":[` + row("a/c") + `],"metadata":{"nextCursor":""}}`}), 3, 2, ""},
		{"no metadata", after(answer{body: `{"servers":[` + row("a/c") + `]}`}), 3, 2, ""},
		{"last page full, then an empty one", map[string][]answer{first: {{body: body(cursor, full(0)...)}}, second: {{body: body("")}}}, 100, 2, ""},
		{"row on two pages", after(answer{body: body("", row("a/b"), row("a/c"))}), 4, 2, ""},
		{"429, then well", after(fail(429), answer{body: body("", row("a/c"))}), 3, 3, ""},
		{"502 twice, then well", after(fail(502), fail(502), answer{body: body("", row("a/c"))}), 3, 4, ""},
		{"body broken off, then well", after(answer{body: "{", header: http.Header{"Content-Length": {"999"}}}, answer{body: body("", row("a/c"))}), 3, 3, ""},
		{"HTML, then well", after(answer{body: "<html>busy</html>"}, answer{body: body("", row("a/c"))}), 3, 3, ""},

		{"502", after(fail(502)), 2, 1 + tries, "page 2: 502 after 4 tries"},
		{"429 for ever", after(fail(429)), 2, 1 + tries, "page 2: 429 after 4 tries"},
		{"400 is final", after(fail(400)), 2, 2, "page 2: 400"},
		{"204 is final", after(answer{status: 204}), 2, 2, "page 2: 204"},
		{"redirect is final", after(answer{status: 303}), 2, 2, "page 2: redirect"},
		{"HTML", after(answer{body: "<html>"}), 2, 1 + tries, "page 2: not a listing page: invalid JSON after 4 tries"},
		{"cut", after(answer{body: body("", row("a/c"))[:40]}), 2, 1 + tries, "page 2: not a listing page: invalid JSON after 4 tries"},
		{"array", after(answer{body: "[" + row("a/c") + "]"}), 2, 1 + tries, "page 2: not a listing page: no JSON object after 4 tries"},
		{"error object", after(answer{body: `{"title":"oops"}`}), 2, 1 + tries, "page 2: not a listing page: no servers array after 4 tries"},
		{"servers null", after(answer{body: `{"servers":null}`}), 2, 1 + tries, "page 2: not a listing page: no servers array after 4 tries"},
		{"servers twice", after(answer{body: `{"servers":[],"servers":[]}`}), 2, 1 + tries, `page 2: not a listing page: member "servers" stands twice after 4 tries`},
		{"gzip that is none", after(answer{body: "x", header: http.Header{"Content-Encoding": {"br"}}}), 2, 2, "page 2: content_encoding"},
		{"cursor repeated", after(answer{body: body(cursor, row("a/c"))}), 3, 2, "cursor repeated"},
		{"cursor ignored", map[string][]answer{first: page1, second: page1}, 4, 2, "cursor repeated"},
		{"same rows, other cursor", after(answer{body: body("x", row("a/a"), row("a/b"))}), 4, 2, "page 2: every row was listed before"},
		{"no rows, but a cursor", after(answer{body: body("x")}), 2, 2, "page 2: no rows, but a further cursor"},
		{"cursor is a number", after(answer{body: `{"servers":[` + row("a/c") + `],"metadata":{"nextCursor":7}}`}), 3, 2, "page 2: nextCursor is not a string"},
		{"cursor by its old name", after(answer{body: `{"servers":[` + row("a/c") + `],"metadata":{"next_cursor":"x"}}`}), 3, 2, "page 2: a cursor that is not metadata.nextCursor"},
		{"cursor beside metadata", after(answer{body: `{"servers":[` + row("a/c") + `],"metadata":{},"nextCursor":"x"}`}), 3, 2, "page 2: a cursor that is not metadata.nextCursor"},
		{"metadata is a list", after(answer{body: `{"servers":[` + row("a/c") + `],"metadata":[]}`}), 3, 2, "page 2: metadata is not an object with members of different names"},
		{"full page without metadata", after(answer{body: `{"servers":[` + strings.Join(full(0), ",") + `]}`}), 102, 2, "page 2: a full page without metadata"},
		{"entries of another shape", after(answer{body: body("x", `{"name":"a/c"}`, `{"name":"a/d"}`)}), 4, 2, "page 2: no entry has a readable name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var requests []string
			c, _ := start(t, script(&requests, tt.answers))
			l, err := c.List(t.Context())
			if err != nil {
				t.Fatalf("List() = %v", err)
			}
			if l.Reason != tt.reason || l.Complete != (tt.reason == "") {
				t.Errorf("List() complete = %v, %q; want reason %q", l.Complete, l.Reason, tt.reason)
			}
			if len(l.Rows) != tt.rows || len(requests) != tt.requests {
				t.Errorf("List() = %d rows by %q, want %d by %d requests", len(l.Rows), requests, tt.rows, tt.requests)
			}
			if len(requests) > 1 && requests[1] != second {
				t.Errorf("second request = %s, want %s", requests[1], second)
			}
			rebuilds(t, l)
			roundTrip(t, l)
		})
	}
}

func TestListFails(t *testing.T) {
	tests := []struct {
		name, says string
		answers    []answer
	}{
		{"502", "502 after 4 tries", []answer{{status: 502}}},
		{"404", "404", nil},
		{"HTML", "invalid JSON", []answer{{body: "<html>"}}},
		{"another API", "no servers array", []answer{{body: `{"items":[]}`}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var requests []string
			c, _ := start(t, script(&requests, map[string][]answer{first: tt.answers}))
			l, err := c.List(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), c.Source) {
				t.Errorf("List() = %v, %v; want an error that names the source and says %q", l, err, tt.says)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		c, _ := start(t, nil)
		c.Source = "http://127.0.0.1:1/v0.1/servers"
		if _, err := c.List(t.Context()); err == nil || !strings.Contains(err.Error(), "refused after 4 tries") {
			t.Errorf("List() = %v, want refused after 4 tries", err)
		}
	})
	t.Run("private address", func(t *testing.T) {
		c, clock := start(t, nil)
		c.HTTP = nil
		if _, err := c.List(t.Context()); err == nil || !strings.Contains(err.Error(), "blocked_address") || len(clock.slept) != 0 {
			t.Errorf("List() = %v after waiting %v, want blocked_address at once", err, clock.slept)
		}
	})
	for _, c := range []*Client{
		{Source: "registry.example/v0.1/servers"}, {Source: "https://r.example/v0.1/servers?x=y"}, {Source: "ftp://r.example/"},
		{Source: record.Source, Listing: "newest"},
	} {
		if _, err := c.List(t.Context()); err == nil {
			t.Errorf("List() of %q, %q succeeds", c.Source, c.Listing)
		}
	}
}

// A run that is called off in the middle has no listing.
func TestListCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var requests []string
	c, _ := start(t, script(&requests, map[string][]answer{first: {{body: body(cursor, row("a/a"))}}, second: {{body: body("")}}}))
	stop := errors.New("stopped by a signal")
	c.Progress = func(pages, rows int) { cancel(stop) }
	l, err := c.List(ctx)
	if !errors.Is(err, stop) || l != nil || len(requests) != 1 {
		t.Errorf("List(canceled) = %v, %v after %d requests; want the cause after 1", l, err, len(requests))
	}
}

// Waiting in real time ends with the context.
func TestSleepEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped by a signal")
	time.AfterFunc(time.Millisecond, func() { cancel(stop) })
	if err := (&Client{}).sleep(ctx, time.Hour); !errors.Is(err, stop) {
		t.Errorf("sleep(an hour, canceled) = %v, want the cause", err)
	}
	if err := (&Client{}).sleep(t.Context(), time.Nanosecond); err != nil {
		t.Errorf("sleep(1ns) = %v", err)
	}
}

func TestListAll(t *testing.T) {
	var requests []string
	c, _ := start(t, script(&requests, map[string][]answer{"?limit=100": {{body: body("", row("a/a"))}}}))
	c.Listing = All
	l, err := c.List(t.Context())
	if err != nil || !l.Complete || l.Query != "limit=100" || !slices.Equal(requests, []string{"?limit=100"}) {
		t.Errorf("List() = %+v, %v by %q", l, err, requests)
	}
}

func TestManners(t *testing.T) {
	retry := func(status int, after string) answer {
		return answer{status: status, header: http.Header{"Retry-After": {after}}}
	}
	ok := answer{body: body("", row("a/c"))}
	tests := []struct {
		name    string
		answers []answer
		slept   []time.Duration // before each request that follows
	}{
		{"pace", []answer{ok}, []time.Duration{listPace}},
		{"backing off", []answer{{status: 500}, {status: 503}, {status: 502}, ok}, []time.Duration{listPace, 1 * time.Second, 3 * time.Second, 9 * time.Second}},
		{"seconds", []answer{retry(429, "7"), ok}, []time.Duration{listPace, 7 * time.Second}},
		{"seconds of a 503", []answer{retry(503, "30"), ok}, []time.Duration{listPace, 30 * time.Second}},
		{"less than our own", []answer{retry(429, "0"), ok}, []time.Duration{listPace, 1 * time.Second}},
		{"date", []answer{retry(429, "Mon, 30 Nov 2026 03:15:20 GMT"), ok}, []time.Duration{listPace, 20*time.Second - listPace}},
		{"date gone by", []answer{retry(429, "Mon, 30 Nov 2020 03:15:20 GMT"), ok}, []time.Duration{listPace, 1 * time.Second}},
		{"too long", []answer{retry(429, "86400"), ok}, []time.Duration{listPace, MaxRetryAfter}},
		{"garbage", []answer{retry(429, "-5"), retry(429, "soon"), ok}, []time.Duration{listPace, 1 * time.Second, 3 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var requests []string
			c, clock := start(t, script(&requests, map[string][]answer{first: {{body: body(cursor, row("a/a"))}}, second: tt.answers}))
			l, err := c.List(t.Context())
			if err != nil || !l.Complete {
				t.Fatalf("List() = %+v, %v", l, err)
			}
			if d := cmp.Diff(tt.slept, clock.slept); d != "" {
				t.Errorf("waits (-want +got):\n%s", d)
			}
		})
	}
	if got := (&Client{}).jitter(); got < 0 || got >= 1 {
		t.Errorf("jitter() = %v, want [0, 1)", got)
	}
}

// Jitter spreads a wait over its upper half, and no further.
func TestJitter(t *testing.T) {
	var requests []string
	c, clock := start(t, script(&requests, map[string][]answer{first: {{status: 500}, {body: body("")}}}))
	c.Jitter = func() float64 { return 0.5 }
	if _, err := c.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{1500 * time.Millisecond}; !slices.Equal(clock.slept, want) {
		t.Errorf("waits = %v, want %v", clock.slept, want)
	}
}

// A registry that sends a page larger than MaxPage is not read to its end.
func TestPageTooLarge(t *testing.T) {
	for _, limit := range []int64{1 << 20, MaxPage * 2} { // of the HTTP client, and our own
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			c, _ := start(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("cursor") == "" {
					fmt.Fprint(w, body("x", row("a/a")))
					return
				}
				fmt.Fprint(w, `{"servers":[],"x":"`)
				chunk := strings.Repeat("x", 1<<20)
				for range MaxPage>>20 + 1 {
					fmt.Fprint(w, chunk)
				}
				fmt.Fprint(w, `"}`)
			})
			c.HTTP = safehttp.New(safehttp.Config{AllowPrivate: true, MaxBody: limit})
			l, err := c.List(t.Context())
			if err != nil || l.Complete || l.Reason != "page 2: too_large" {
				t.Errorf("List() = %+v, %v; want reason page 2: too_large", l, err)
			}
		})
	}
}

// A walk is cut where it meets a limit, and what was read stays.
func TestWalkLimits(t *testing.T) {
	p, err := readPage([]byte(body("next", row("a/a"))))
	if err != nil {
		t.Fatal(err)
	}
	walkOf := func() *walk {
		return &walk{l: &Listing{}, cursors: map[string]bool{}, rows: map[[32]byte]bool{}}
	}
	w := walkOf()
	w.l.Pages = make([]record.Page, MaxPages-1)
	if _, reason := w.add(p); reason != "more than 5000 pages" || len(w.l.Pages) != MaxPages {
		t.Errorf("page %d: reason = %q with %d pages", MaxPages, reason, len(w.l.Pages))
	}
	last := p
	last.cursor = ""
	w = walkOf()
	w.l.Pages = make([]record.Page, MaxPages-1)
	if _, reason := w.add(last); reason != "" {
		t.Errorf("page %d without a cursor: reason = %q, want none", MaxPages, reason)
	}
	w = walkOf()
	w.l.Rows = make([]record.ListingRow, MaxRows)
	if _, reason := w.add(p); reason != "more than 500000 rows" || len(w.l.Pages) != 0 {
		t.Errorf("row %d: reason = %q with %d pages", MaxRows+1, reason, len(w.l.Pages))
	}
	w = walkOf()
	w.bytes = MaxBytes
	if _, reason := w.add(p); !strings.HasPrefix(reason, "more than 1073741824 bytes") {
		t.Errorf("byte %d: reason = %q", MaxBytes+1, reason)
	}
	w = walkOf()
	w.raw = MaxRaw
	raw, err := readPage([]byte(body("next", `{"server":{"name":"a/a"},`+"\n"+`"_meta":{}}`)))
	if err != nil {
		t.Fatal(err)
	}
	if _, reason := w.add(raw); !strings.Contains(reason, "can't be rebuilt") {
		t.Errorf("raw byte %d: reason = %q", MaxRaw+1, reason)
	}
}

// The recorded answers of the official registry's own server give complete
// listings of which every page rebuilds byte for byte.
func TestOfficial(t *testing.T) {
	const dir = "testdata/official-1.7.9"
	var index []struct {
		File, Request string
		Status        int
		Bytes         int64
		ContentType   string `json:"content_type"`
		SHA256        string
	}
	b, err := os.ReadFile(filepath.Join(dir, "INDEX.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &index); err != nil {
		t.Fatal(err)
	}
	c, _ := start(t, func(w http.ResponseWriter, r *http.Request) {
		for _, e := range index {
			if e.Request == r.RequestURI {
				b, err := os.ReadFile(filepath.Join(dir, e.File))
				if err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", e.ContentType)
				w.WriteHeader(e.Status)
				w.Write(b)
				return
			}
		}
		t.Errorf("request %s was not recorded", r.RequestURI)
	})
	for _, tt := range []struct {
		listing     string
		pages, rows int
	}{{Latest, 3, 260}, {All, 5, 405}} {
		t.Run(tt.listing, func(t *testing.T) {
			c.Listing = tt.listing
			l, err := c.List(t.Context())
			if err != nil || !l.Complete || len(l.Pages) != tt.pages || len(l.Malformed) != 0 {
				t.Fatalf("List() = %v, complete %v %q, %d pages, malformed %v; want %d pages", err, l.Complete, l.Reason, len(l.Pages), l.Malformed, tt.pages)
			}
			if len(l.Rows) != tt.rows {
				t.Errorf("List() = %d rows, want %d", len(l.Rows), tt.rows)
			}
			rows := l.Rows
			for i, p := range l.Pages {
				var on []string
				for _, r := range rows[:p.Rows] {
					on = append(on, r.Bytes)
				}
				rows = rows[p.Rows:]
				want, err := os.ReadFile(fmt.Sprintf("%s/%s-%02d.body", dir, tt.listing, i))
				if err != nil {
					t.Fatal(err)
				}
				if got, err := Rebuild(p, on); err != nil || string(got) != string(want) || p.Raw != nil {
					t.Errorf("Rebuild(page %d) = %d bytes, %v, raw %v; want the %d bytes recorded", i, len(got), err, p.Raw != nil, len(want))
				}
			}
			roundTrip(t, l)
		})
	}
	t.Run("versions", func(t *testing.T) {
		c.Listing = Latest
		l := &Listing{ListingHeader: record.ListingHeader{Complete: true, Source: c.Source}}
		if err := c.Ask(t.Context(), l, []string{"com.example/audio-001", "com.example/none"}); err != nil {
			t.Fatal(err)
		}
		want := []record.Asked{{Name: "com.example/audio-001", Live: true, Status: 200}, {Name: "com.example/none", Status: 404}}
		if d := cmp.Diff(want, l.Asked); d != "" {
			t.Errorf("Asked (-want +got):\n%s", d)
		}
		if len(l.Rows) != 3 || !l.Rows[2].Asked || l.Rows[2].Name != "com.example/audio-001" {
			t.Errorf("Rows = %v, want the 3 versions of audio-001", names(l))
		}
	})
}

func TestAsk(t *testing.T) {
	listed := func() *Listing {
		return &Listing{
			ListingHeader: record.ListingHeader{Complete: true, Asked: []record.Asked{}, Malformed: []record.Malformed{}, Pages: []record.Page{{Rows: 1}}},
			Rows:          []record.ListingRow{{Name: "l/l", Bytes: row("l/l")}},
		}
	}
	deleted := versionRow("a/a", "1.0.0", "deleted")
	tests := []struct {
		name   string
		answer []answer
		live   bool
		status int
		rows   int
	}{
		{"live", []answer{{body: body("", row("a/a"))}}, true, 200, 1},
		{"deprecated", []answer{{body: body("", versionRow("a/a", "1", "deprecated"))}}, true, 200, 1},
		{"status unknown", []answer{{body: body("", `{"server":{"name":"a/a"}}`)}}, true, 200, 1},
		{"one of two deleted", []answer{{body: body("", deleted, versionRow("a/a", "0.9.0", "active"))}}, true, 200, 1},
		{"deleted", []answer{{body: body("", deleted)}}, false, 200, 0},
		{"no version", []answer{{body: body("")}}, false, 200, 0},
		{"not found", nil, false, 404, 0},
		{"not found, as a problem", []answer{{status: 404, body: `{"title":"Not Found","status":404}`, header: http.Header{"Content-Type": {"application/problem+json"}}}}, false, 404, 0},
		{"gone after a hiccup", []answer{{status: 502}, {status: 404, body: `{}`}}, false, 404, 0},
		{"404 of a proxy", []answer{{status: 404, body: "<html>no such route</html>", header: http.Header{"Content-Type": {"text/html"}}}}, true, 404, 0},
		{"404 without a body", []answer{{status: 404}}, true, 404, 0},
		{"404 of null", []answer{{status: 404, body: "null"}}, true, 404, 0},
		{"404 of text", []answer{{status: 404, body: `"no"`}}, true, 404, 0},
		{"404 cut", []answer{{status: 404, body: `{"status":4`}}, true, 404, 0},
		{"410", []answer{{status: 410}}, true, 410, 0},
		{"403", []answer{{status: 403}}, true, 403, 0},
		{"502", []answer{{status: 502}}, true, 502, 0},
		{"HTML", []answer{{body: "<html>"}}, true, 200, 0},
		{"of another name", []answer{{body: body("", versionRow("b/b", "1", "deleted"))}}, true, 200, 0},
		{"unreadable beside deleted", []answer{{body: body("", deleted, `{}`)}}, true, 200, 0},
		{"deleted, and a further page", []answer{{body: body("x", deleted)}}, true, 200, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var requests []string
			c, _ := start(t, script(&requests, map[string][]answer{"/a%2Fa/versions": tt.answer}))
			l := listed()
			l.Source = c.Source
			if err := c.Ask(t.Context(), l, []string{"a/a", "l/l", "a/a"}); err != nil {
				t.Fatal(err)
			}
			want := []record.Asked{{Live: tt.live, Name: "a/a", Status: tt.status}}
			if d := cmp.Diff(want, l.Asked); d != "" {
				t.Errorf("Asked (-want +got):\n%s", d)
			}
			if len(l.Rows) != 1+tt.rows {
				t.Errorf("Ask added %d rows, want %d", len(l.Rows)-1, tt.rows)
			}
			for _, r := range l.Rows[1:] {
				if !r.Asked || r.Name != "a/a" {
					t.Errorf("added row %+v, want an asked one of a/a", r)
				}
			}
			roundTrip(t, l)
		})
	}
}

func TestAskLimits(t *testing.T) {
	missing := make([]string, MaxAsked+7)
	for i := range missing {
		missing[i] = fmt.Sprintf("n/%03d", i)
	}
	t.Run("cap", func(t *testing.T) {
		var requests []string
		c, clock := start(t, script(&requests, nil))
		l := &Listing{ListingHeader: record.ListingHeader{Complete: true, Source: c.Source}}
		if err := c.Ask(t.Context(), l, missing); err != nil {
			t.Fatal(err)
		}
		if len(requests) != MaxAsked || len(l.Asked) != len(missing) {
			t.Errorf("Ask made %d requests for %d names, want %d", len(requests), len(l.Asked), MaxAsked)
		}
		for i, a := range l.Asked {
			if over := i >= MaxAsked; a.Live != over || (a.Status == 0) != over {
				t.Errorf("Asked[%d] = %+v", i, a)
			}
		}
		if least := slices.Min(clock.slept); least < time.Second/3 {
			t.Errorf("least wait = %v, want no more than three a second", least)
		}
	})
	t.Run("registry down", func(t *testing.T) {
		n := 0
		c, _ := start(t, func(w http.ResponseWriter, r *http.Request) { n++; w.WriteHeader(503) })
		l := &Listing{ListingHeader: record.ListingHeader{Complete: true, Source: c.Source}}
		if err := c.Ask(t.Context(), l, missing[:20]); err != nil {
			t.Fatal(err)
		}
		if n != maxFailed*tries {
			t.Errorf("Ask made %d requests, want %d", n, maxFailed*tries)
		}
		for i, a := range l.Asked {
			if !a.Live || (a.Status == 503) != (i < maxFailed) {
				t.Errorf("Asked[%d] = %+v, want live, asked only if below %d", i, a, maxFailed)
			}
		}
	})
	t.Run("incomplete listing", func(t *testing.T) {
		c, _ := start(t, func(w http.ResponseWriter, r *http.Request) { t.Error("asked") })
		l := &Listing{ListingHeader: record.ListingHeader{Source: c.Source}}
		if err := c.Ask(t.Context(), l, missing); err != nil || len(l.Asked) != 0 {
			t.Errorf("Ask(incomplete) = %v, asked %v; want nothing", err, l.Asked)
		}
	})
	t.Run("canceled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c, _ := start(t, func(w http.ResponseWriter, r *http.Request) {})
		l := &Listing{ListingHeader: record.ListingHeader{Complete: true, Source: c.Source}}
		if err := c.Ask(ctx, l, missing); !errors.Is(err, context.Canceled) {
			t.Errorf("Ask(canceled) = %v, want context.Canceled", err)
		}
	})
}

// However the registry spends the time, a listing is over after MaxListing, and is
// not complete.
func TestMaxListing(t *testing.T) {
	more := func(w http.ResponseWriter, n int) { fmt.Fprint(w, body(fmt.Sprint("c", n), row(fmt.Sprint("n/", n)))) }
	tests := []struct {
		name  string
		serve func(w http.ResponseWriter, n int, c *clock)
		pages int
	}{
		{"waits between tries", func(w http.ResponseWriter, n int, _ *clock) {
			if n%2 == 1 {
				w.Header().Set("Retry-After", "300")
				w.WriteHeader(429)
				return
			}
			more(w, n)
		}, 12},
		{"slow answers", func(w http.ResponseWriter, n int, c *clock) { c.t = c.t.Add(time.Minute); more(w, n) }, 60},
		{"an end in time", func(w http.ResponseWriter, n int, c *clock) {
			c.t = c.t.Add(59 * time.Minute)
			fmt.Fprint(w, body("", row("n/n")))
		}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var clock *clock
			n := -1
			c, clock := start(t, func(w http.ResponseWriter, r *http.Request) { n++; tt.serve(w, n, clock) })
			began := clock.t
			l, err := c.List(t.Context())
			if err != nil || len(l.Pages) != tt.pages {
				t.Fatalf("List() = %d pages, %v, want %d", len(l.Pages), err, tt.pages)
			}
			reason := fmt.Sprintf("page %d: not read within 60 minutes", tt.pages+1)
			if tt.pages == 1 {
				reason = ""
			}
			if l.Reason != reason || l.Complete != (reason == "") {
				t.Errorf("List() complete = %v, %q, want reason %q", l.Complete, l.Reason, reason)
			}
			if took := clock.t.Sub(began); took > MaxListing {
				t.Errorf("List() took %v, want at most %v", took, MaxListing)
			}
		})
	}
}

// Names for which no time is left are live and were not asked for.
func TestMaxAsking(t *testing.T) {
	missing := make([]string, 100)
	for i := range missing {
		missing[i] = fmt.Sprintf("n/%03d", i)
	}
	var clock *clock
	n := 0
	c, clock := start(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		clock.t = clock.t.Add(time.Minute)
		http.Error(w, `{"status":404}`, 404)
	})
	began := clock.t
	l := &Listing{ListingHeader: record.ListingHeader{Complete: true, Source: c.Source}}
	if err := c.Ask(t.Context(), l, missing); err != nil || len(l.Asked) != len(missing) {
		t.Fatalf("Ask = %v, %d names, want %d", err, len(l.Asked), len(missing))
	}
	if took := clock.t.Sub(began); n != 20 || took > MaxAsking {
		t.Errorf("Ask made %d requests in %v, want 20 in %v", n, took, MaxAsking)
	}
	for i, a := range l.Asked {
		if late := i >= 20; a.Live != late || (a.Status == 0) != late {
			t.Errorf("Asked[%d] = %+v, want live and without status from 20 on", i, a)
		}
	}
}

// Names stay one segment of the path, whatever they hold.
func TestAskEscapes(t *testing.T) {
	for name, want := range map[string]string{
		"io.github.Foo/x":  "/v0.1/servers/io.github.Foo%2Fx/versions",
		"a%2Fb/c":          "/v0.1/servers/a%252Fb%2Fc/versions",
		"x/..":             "/v0.1/servers/x%2F../versions",
		"a+b/c d?e#f;g:h@": "/v0.1/servers/a%2Bb%2Fc%20d%3Fe%23f%3Bg%3Ah%40/versions",
		"a/ü":              "/v0.1/servers/a%2F%C3%BC/versions",
	} {
		var got string
		c, _ := start(t, func(w http.ResponseWriter, r *http.Request) { got = r.RequestURI; w.WriteHeader(404) })
		l := &Listing{ListingHeader: record.ListingHeader{Complete: true, Source: c.Source}}
		if err := c.Ask(t.Context(), l, []string{name}); err != nil || got != want {
			t.Errorf("Ask(%q) requested %s, %v; want %s", name, got, err, want)
		}
	}
}

func TestCases(t *testing.T) {
	list := func(t *testing.T, pages map[string]string) *Listing {
		t.Helper()
		answers := map[string][]answer{}
		for cursor, b := range pages {
			uri := first
			if cursor != "" {
				uri += "&cursor=" + url.QueryEscape(cursor)
			}
			answers[uri] = []answer{{body: b}}
			if b == "502" {
				answers[uri] = []answer{{status: 502}}
			}
		}
		var requests []string
		c, _ := start(t, script(&requests, answers))
		l, err := c.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rebuilds(t, l)
		return l
	}
	tests := map[string]func(t *testing.T, input []byte){
		"d-001": func(t *testing.T, input []byte) {
			var in struct {
				Page json.RawMessage `json:"day2_page1"`
			}
			decode(t, input, &in)
			// The shape as it is now is read, over as many pages as there are.
			l := list(t, map[string]string{"": string(in.Page), "a.example/y:1.0.0": body("", row("a.example/z"))})
			if want := []string{"a.example/x", "a.example/y", "a.example/z"}; !l.Complete || !slices.Equal(names(l), want) {
				t.Errorf("List(wrapped) = %v, complete %v; want %v", names(l), l.Complete, want)
			}
			// The other way about, a change of shape leaves no listing that counts.
			l = list(t, map[string]string{"": body("c", `{"name":"a.example/x"}`, `{"name":"a.example/y"}`)})
			if l.Complete || len(l.Malformed) != 2 || l.Reason != "page 1: no entry has a readable name" {
				t.Errorf("List(unwrapped) = complete %v, %q, malformed %v", l.Complete, l.Reason, l.Malformed)
			}
		},
		"d-003": func(t *testing.T, input []byte) {
			var in struct{ Page1, Page2 json.RawMessage }
			decode(t, input, &in)
			l := list(t, map[string]string{"": string(in.Page1), "b/b:1": string(in.Page2)})
			if want := []string{"a/a", "b/b", "b/b", "c/c"}; l.Complete || l.Reason != "cursor repeated" || !slices.Equal(names(l), want) {
				t.Errorf("List() = %v, complete %v, %q; want %v, cursor repeated", names(l), l.Complete, l.Reason, want)
			}
		},
		"d-005": func(t *testing.T, _ []byte) {
			pages := map[string]string{}
			cursor := ""
			for i := 1; i <= 6; i++ {
				rows := []string{row(fmt.Sprintf("n/%d", i))}
				if i == 3 {
					rows = append(rows, `{"server":{"name":"m/m","remotes":{"type":"streamable-http"}}}`)
				}
				next := fmt.Sprint("c", i)
				pages[cursor] = body(next, rows...)
				cursor = next
			}
			pages[cursor] = "502"
			l := list(t, pages)
			if l.Complete || l.Reason != "page 7: 502 after 4 tries" || len(l.Rows) != 7 {
				t.Errorf("List() = %v, complete %v, %q; want 7 rows, page 7: 502 after 4 tries", names(l), l.Complete, l.Reason)
			}
			want := []record.Malformed{{Index: 1, Name: "m/m", Page: 2, Reason: "remotes: not an array"}}
			if d := cmp.Diff(want, l.Malformed); d != "" {
				t.Errorf("Malformed (-want +got):\n%s", d)
			}
		},
		"d-006": func(t *testing.T, input []byte) {
			var in struct{ Day1, Day2, Day30 []json.RawMessage }
			decode(t, input, &in)
			for _, day := range [][]json.RawMessage{in.Day1, in.Day30} {
				if l := list(t, map[string]string{"": body("", string(day[0]))}); !slices.Equal(names(l), []string{"cn.example/dumplings"}) {
					t.Errorf("List() = %v", names(l))
				}
			}
			if l := list(t, map[string]string{"": body("")}); !l.Complete || len(l.Rows) != len(in.Day2) {
				t.Errorf("List(day 2) = %v, complete %v; want nothing, complete", names(l), l.Complete)
			}
		},
	}
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) != len(tests) {
		t.Fatalf("%d case files, %v; want one for each of %d tests", len(files), err, len(tests))
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			ID    string
			Input json.RawMessage
		}
		decode(t, b, &c)
		t.Run(c.ID, func(t *testing.T) {
			test, ok := tests[c.ID]
			if !ok {
				t.Fatalf("case %s has no test", c.ID)
			}
			test(t, c.Input)
		})
	}
}

func decode(t *testing.T, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

// digest is the digest of s.
func digest(s string) canon.Digest { return canon.Sum([]byte(s)) }
