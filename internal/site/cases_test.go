package site_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

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
		Shows string `json:"page_shows"`
		Dated string `json:"changes_dated"`
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
	h := w.history()
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
	if len(dates(byID(t, s.pages["index.html"], "content"))) == 0 {
		t.Error("the home page does not say as of when it is")
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
	h := w.history()
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
	h := w.history()
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
	h := w.history()
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
	if !expected.Beside {
		t.Error("the case does not ask for counts")
	}
}
