package site_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"golang.org/x/net/html"
)

// readCase reads a case drawn from a public bug report.
func readCase(t *testing.T, id string, input, expected any) {
	t.Helper()
	b, err := os.ReadFile("testdata/cases/" + id + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ Input, Expected json.RawMessage }
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(c.Input, input); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(c.Expected, expected); err != nil {
		t.Fatal(err)
	}
}

// dates returns the days that a page names below an element, in order.
func dates(n *html.Node) (days []string) {
	for c := range n.Descendants() {
		if d, ok := attr(c, "datetime"); ok && c.Data == "time" {
			days = append(days, d)
		}
	}
	return days
}

// byID returns the element with an id.
func byID(t *testing.T, root *html.Node, id string) *html.Node {
	t.Helper()
	for n := range root.Descendants() {
		if got, ok := attr(n, "id"); ok && got == id {
			return n
		}
	}
	t.Fatalf("no element has the id %q", id)
	return nil
}

// figureText returns the text of a figure on a page, and "" where it is not.
func figureText(root *html.Node, pointer string) string {
	for n := range root.Descendants() {
		if p, ok := attr(n, "data-figure"); ok && p == pointer {
			return textOf(n)
		}
	}
	return ""
}

// A change that was seen after a gap and an outage lies somewhere in between, and
// the days between are no data.
func TestCaseE001(t *testing.T) {
	var input struct{ Runs []record.Day }
	var expected struct {
		Shows     string `json:"page_shows"`
		Dated     string `json:"changes_dated"`
		Staleness string
	}
	readCase(t, "e-001", &input, &expected)
	w := newWorld(t, "x/a", "x/b", "x/c")
	for _, d := range input.Runs {
		w.run(d, nil)
	}
	w.fail(true)
	w.run("2026-06-25", nil)
	w.fail(false)
	w.set("x/a", `[{"name":"one","description":"Does another thing."}]`)
	w.run("2026-06-26", nil)
	h := w.history().alone()
	s := readSite(t, h.build(t, nil), h.report)
	checkFewFigures(t, s)
	page := s.pages["s/x/a/index.html"]
	days := dates(byID(t, page, "v2"))
	if !slices.Contains(days, "2026-06-02") || !slices.Contains(days, "2026-06-26") {
		t.Errorf("the page dates the change to %v, want both ends of the interval: %s", days, expected.Dated)
	}
	if got := figureText(page, "/servers/x~1a/no_data"); !strings.Contains(expected.Shows, got) || !strings.HasPrefix(got, "23") {
		t.Errorf("the page says that of %q days nothing is known, want %s", got, expected.Shows)
	}
	gaps := 0
	for n := range s.pages["changes/index.html"].Descendants() {
		if class, _ := attr(n, "class"); n.Data == "tr" && strings.Contains(class, "gap") {
			gaps++
		}
	}
	if gaps != 22 {
		t.Errorf("the list of days has %d gaps, want 22", gaps)
	}
	if text := textOf(s.pages["changes/2026-06-25/index.html"]); !strings.Contains(strings.ToLower(text), "degraded") {
		t.Error("the page of the day of the outage does not say that the run was degraded")
	}
	for _, name := range []string{"index.html", "changes/index.html", "s/x/a/index.html"} {
		if got := asOf(s.pages[name]); got != "2026-06-26" {
			t.Errorf("%s is as of %q, want the day of the newest run: %s", name, got, expected.Staleness)
		}
	}
	// On the 25th nobody has changed: the figures of the day are degraded, and no head moved.
	if v := h.report.Servers["x/b"].Versions; len(v) != 1 || h.report.Servers["x/a"].Versions[1].First != "2026-06-26" {
		t.Errorf("x/b has %d versions, want 1, and x/a none from the outage", len(v))
	}
}

// asOf returns as of which day a page says that it is, where a script can say how
// long ago that was.
func asOf(root *html.Node) string {
	day, ago := "", false
	for n := range root.Descendants() {
		if _, ok := attr(n, "data-asof"); ok {
			for _, d := range dates(n) {
				day = d
			}
		}
		if s, _ := attr(n, "data-script"); s == "ago" {
			ago = true
		}
	}
	if !ago {
		return ""
	}
	return day
}

// Two runs on one day and none on the day before: each stands with the times at
// which it was planned and ended, and the day without one is a gap.
func TestCaseE003(t *testing.T) {
	var input struct{}
	var expected struct {
		Table map[report.Date]int `json:"day_table"`
		Never []string            `json:"must_not"`
	}
	readCase(t, "e-003", &input, &expected)
	w := newWorld(t, "x/a", "x/b", "x/c")
	at := func(clock string, limit int) func(*daily.Config) {
		start, err := time.Parse(time.RFC3339, clock)
		if err != nil {
			t.Fatal(err)
		}
		return func(c *daily.Config) { c.Clock, c.Limit = daily.FastClockAt(start), limit }
	}
	w.run("2026-11-01", at("2026-11-01T03:20:00Z", 0))
	w.run("2026-11-03", at("2026-11-03T00:10:00Z", 1)) // planned for the 2nd, delayed over midnight
	w.run("2026-11-03", at("2026-11-03T03:40:00Z", 0))
	h := w.history().alone()
	s := readSite(t, h.build(t, nil), h.report)
	checkFewFigures(t, s)
	for day, runs := range expected.Table {
		page := s.pages["changes/"+string(day)+"/index.html"]
		if runs == 0 {
			if page != nil {
				t.Errorf("the day %s without a run has a page", day)
			}
			continue
		}
		section := byID(t, page, "runs").Parent
		n := 0
		for c := range section.Descendants() {
			if c.Data == "tr" {
				n++
			}
		}
		if n-1 != runs {
			t.Errorf("the page of %s names %d runs, want %d", day, n-1, runs)
		}
		for _, d := range dates(section) {
			if !strings.HasPrefix(d, string(day)+"T") {
				t.Errorf("a run of %s is dated %s: %v", day, d, expected.Never)
			}
		}
	}
	times := dates(byID(t, s.pages["changes/2026-11-03/index.html"], "runs").Parent)
	if len(times) != 4 || !strings.HasPrefix(times[0], "2026-11-03T00:1") || !strings.HasPrefix(times[2], "2026-11-03T03:4") {
		t.Errorf("the runs of 2026-11-03 are dated %v", times)
	}
}

// The first contract of a server counts from its first reading, and the page says
// of how many nobody saw the beginning.
func TestCaseF010(t *testing.T) {
	var input struct{}
	var expected struct {
		Used string `json:"duration_used"`
		New  string `json:"new_server_on_d5"`
	}
	readCase(t, "f-010", &input, &expected)
	w := newWorld(t, "x/a")
	for i, day := range []record.Day{"2026-06-01", "2026-06-02", "2026-06-03", "2026-06-04", "2026-06-05", "2026-06-06", "2026-06-07"} {
		if i == 3 {
			w.set("x/a", `[]`)
		}
		if i == 5 {
			w.add("x/new", `[{"name":"one"}]`, "")
		}
		w.run(day, nil)
	}
	h := w.history().alone()
	s := readSite(t, h.build(t, nil), h.report)
	checkFewFigures(t, s)
	if got := figureText(s.pages["s/x/a/index.html"], "/servers/x~1a/versions/0/lived"); got != "3 days" {
		t.Errorf("the first contract lasted %q, want 3 days: %s", got, expected.Used)
	}
	half := s.pages["half-life/index.html"]
	if n, of := figureText(half, "/half_life/start_unknown/n"), figureText(half, "/half_life/start_unknown/of"); n != "1" || of != "3" {
		t.Errorf("of %q of %q lifetimes the page says that their beginning was not observed, want 1 of 3", n, of)
	}
	if days := dates(byID(t, s.pages["s/x/new/index.html"], "v1")); len(days) == 0 || days[0] != "2026-06-06" {
		t.Errorf("the first contract of the new server is dated %v: %s", days, expected.New)
	}
}

// Days are UTC calendar days, each once, also where a zone has one of 25 hours.
func TestCaseF013(t *testing.T) {
	var input struct {
		Zone string `json:"viewer_tz"`
	}
	var expected struct {
		Shown []string `json:"buckets_shown"`
		Once  bool     `json:"each_once"`
	}
	readCase(t, "f-013", &input, &expected)
	w := newWorld(t, "x/a")
	w.run("2026-10-24", nil)
	w.run("2026-10-27", nil)
	h := w.history().alone()
	s := readSite(t, h.build(t, nil), h.report)
	checkFewFigures(t, s)
	var shown []string
	for n := range s.pages["changes/index.html"].Descendants() {
		if scope, _ := attr(n, "scope"); n.Data == "th" && scope == "row" {
			shown = append(shown, dates(n)...)
		}
	}
	slices.Reverse(shown)
	if !slices.Equal(shown, expected.Shown) || !expected.Once {
		t.Errorf("the list of days has %v, want %v", shown, expected.Shown)
	}
}

// While a day is partial, the figures of the newest full run stay.
func TestCaseE015(t *testing.T) {
	var input struct{ Probed, Of int }
	var expected struct{ Published string }
	readCase(t, "e-015", &input, &expected)
	if input.Probed >= input.Of {
		t.Fatalf("the case probed %d of %d, want a part", input.Probed, input.Of)
	}
	w := newWorld(t, "x/a", "x/b", "x/c", "x/d", "x/e", "x/f")
	w.run("2026-06-01", nil)
	before := w.history().report
	w.run("2026-06-02", func(c *daily.Config) { c.Limit = 1 })
	h := w.history().alone()
	s := readSite(t, h.build(t, nil), h.report)
	checkFewFigures(t, s)
	home := s.pages["index.html"]
	if got, want := figureText(home, "/population/answering"), before.Population.Answering.Text(); got != want || want != "6" {
		t.Errorf("answering = %q, want %q as on the full day", got, want)
	}
	text := strings.ToLower(textOf(home))
	if !strings.Contains(text, "partial") {
		t.Error("the home page does not say that the newest run is partial")
	}
	if !slices.Contains(dates(home), "2026-06-01") {
		t.Error("the home page does not say as of which day its figures are")
	}
	if !strings.Contains(strings.ToLower(textOf(s.pages["changes/2026-06-02/index.html"])), "partial") {
		t.Error("the page of the day does not say that it is partial")
	}
}

// A curve that never reaches one half has no half-life.
func TestCaseF006(t *testing.T) {
	var input struct{ Event []int }
	var expected struct {
		HalfLife *float64 `json:"half_life"`
		Text     string
	}
	readCase(t, "f-006", &input, &expected)
	w := newWorld(t, "x/a", "x/b", "x/c", "x/d")
	w.run("2026-06-01", nil)
	w.set("x/a", `[]`)
	w.run("2026-06-11", nil)
	h := w.history().alone()
	if got := h.report.HalfLife.HalfLife.Value; got != nil || expected.HalfLife != nil {
		t.Fatalf("half-life %v, want none", got)
	}
	s := readSite(t, h.build(t, nil), h.report)
	checkFewFigures(t, s)
	for _, name := range []string{"index.html", "half-life/index.html"} {
		text := textOf(s.pages[name])
		if !strings.Contains(text, expected.Text) || !strings.Contains(text, report.Dash) {
			t.Errorf("%s does not say %q", name, expected.Text)
		}
		for _, never := range []string{"NaN", "Inf", "∞"} {
			if strings.Contains(text, never) {
				t.Errorf("%s says %q", name, never)
			}
		}
	}
}

// A share that is not whole is never rounded to the whole, and its counts stand
// beside it.
func TestCaseF015(t *testing.T) {
	var input struct{ OK, Of report.Count }
	var expected struct {
		Never  []string `json:"must_not"`
		Beside bool     `json:"counts_shown_beside_percent"`
	}
	readCase(t, "f-015", &input, &expected)
	w := newWorld(t, "x/a")
	w.run("2026-06-01", nil)
	h := w.history().alone()
	r := *h.report
	r.Classes = []report.Class{
		{Class: "answered", Share: report.Share{N: input.OK, Of: input.Of}},
		{Class: "timeout", Share: report.Share{N: input.Of - input.OK, Of: input.Of}},
		{Class: "tls", Share: report.Share{N: 1, Of: input.Of}},
	}
	h.report = &r
	s := readSite(t, h.build(t, nil), h.report)
	home := s.pages["index.html"]
	for pointer, want := range map[string]string{
		"/classes/0/share": ">99.9 %", "/classes/0/share/n": "22,310", "/classes/0/share/of": "22,320",
		"/classes/1/share": "<0.1 %", "/classes/1/share/n": "10", "/classes/2/share": "<0.1 %", "/classes/2/share/n": "1",
	} {
		if got := figureText(home, pointer); got != want {
			t.Errorf("figure %s = %q, want %q: %v", pointer, got, want, expected.Never)
		}
	}
	if !expected.Beside || len(expected.Never) != 2 {
		t.Errorf("the case forbids %q and asks for counts: %v", expected.Never, expected.Beside)
	}
	shares := 0
	for name, root := range s.pages {
		for n := range root.Descendants() {
			pointer, ok := attr(n, "data-figure")
			if !ok {
				continue
			}
			v, err := h.report.Lookup(pointer)
			if share, ok := v.(report.Share); err == nil && ok {
				shares++
				text := textOf(n)
				if whole := text == "100 %" || text == "100.0 %"; whole && share.N != share.Of {
					t.Errorf("%s: %s prints %q of %v: %v", name, pointer, text, share, expected.Never)
				}
				if none := text == "0 %" || text == "0.0 %"; none && share.N != 0 {
					t.Errorf("%s: %s prints %q of %v: %v", name, pointer, text, share, expected.Never)
				}
			}
		}
	}
	if shares < 3 {
		t.Errorf("%d shares on all pages, want more: is the walk blind?", shares)
	}
	for _, never := range []string{"100 %", "100%"} {
		if section := byID(t, home, "classes").Parent; strings.Contains(textOf(section), never) {
			t.Errorf("the table of classes says %q: %v", never, expected.Never)
		}
	}
}
