package chart

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"image"
	"image/png"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/survival"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

var update = flag.Bool("update", false, "write testdata/golden anew")

// each calls do with every drawing of every hand-made report.
func each(t *testing.T, do func(t *testing.T, r *report.Report, draw func(Form) ([]byte, error))) {
	t.Helper()
	all := reports()
	for _, name := range names(all) {
		ways := drawings(all[name])
		for _, way := range names(ways) {
			t.Run(name+"-"+way, func(t *testing.T) { do(t, all[name], ways[way]) })
		}
	}
}

func drawn(t *testing.T, draw func(Form) ([]byte, error), f Form) []byte {
	t.Helper()
	svg, err := draw(f)
	if err != nil {
		t.Fatal(err)
	}
	return svg
}

func TestGolden(t *testing.T) {
	each(t, func(t *testing.T, _ *report.Report, draw func(Form) ([]byte, error)) {
		got := drawn(t, draw, Form{ID: "c"})
		file := filepath.Join("testdata", "golden", strings.TrimPrefix(t.Name(), "TestGolden/")+".svg")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("drawing differs from %s; -update writes it anew (-want +got):\n%s", file, diff)
		}
	})
}

// A node is an element of a drawing with the text in it that is its own.
type node struct {
	name    string
	attrs   map[string]string
	text    string
	parents []*node
}

// has reports whether n, or an element around it, has the attribute.
func (n *node) has(attr string) bool {
	for _, m := range append(slices.Clip(n.parents), n) {
		if _, ok := m.attrs[attr]; ok {
			return true
		}
	}
	return false
}

// parse returns the elements of drawings, and fails on what is no XML.
func parse(t *testing.T, svg []byte) []*node {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader("<page>" + string(svg) + "</page>"))
	var all, open []*node
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			n := &node{name: token.Name.Local, attrs: map[string]string{}, parents: slices.Clone(open)}
			for _, a := range token.Attr {
				if _, twice := n.attrs[a.Name.Local]; twice {
					t.Errorf("<%s> has the attribute %s twice", n.name, a.Name.Local)
				}
				n.attrs[a.Name.Local] = a.Value
			}
			all, open = append(all, n), append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			open[len(open)-1].text += string(token)
		case xml.Comment, xml.Directive, xml.ProcInst:
			t.Errorf("drawing has %T %q, want elements only", token, token)
		}
	}
}

// What drawings are made of. Anything else is an injection, or a rule that a
// strict content security policy would not let through.
var vocabulary = map[string][]string{
	"page":   {},
	"svg":    {"class", "viewBox", "width", "height", "role", "aria-labelledby", "aria-describedby", "xmlns"},
	"title":  {"id", "data-recorded"},
	"desc":   {"id"},
	"style":  {},
	"path":   {"class", "d"},
	"circle": {"class", "cx", "cy", "r"},
	"text":   {"class", "x", "y", "data-axis", "data-figure"},
	"tspan":  {"data-figure"},
}

var fine = regexp.MustCompile(`^-?[0-9]+(\.[0-9])?$`)

func TestVocabulary(t *testing.T) {
	pathData := regexp.MustCompile(`^(M-?[0-9.]+ -?[0-9.]+|[HV]-?[0-9.]+|L-?[0-9.]+ -?[0-9.]+|Z)+$`)
	number := regexp.MustCompile(`-?[0-9.]+`)
	each(t, func(t *testing.T, _ *report.Report, draw func(Form) ([]byte, error)) {
		for _, f := range []Form{{ID: "a"}, {ID: hostile, Standalone: true}} {
			for _, n := range parse(t, drawn(t, draw, f)) {
				may, ok := vocabulary[n.name]
				if !ok {
					t.Errorf("drawing has <%s>", n.name)
				}
				if n.name == "style" && !f.Standalone {
					t.Error("a drawing for pages has a style sheet")
				}
				for _, a := range names(n.attrs) {
					if !slices.Contains(may, a) {
						t.Errorf("<%s> has the attribute %s", n.name, a)
					}
				}
				if d, ok := n.attrs["d"]; ok && !pathData.MatchString(d) {
					t.Errorf("path data = %q, want M, H, V, L, Z with numbers", d)
				}
				for _, v := range append(number.FindAllString(n.attrs["d"], -1), n.attrs["x"], n.attrs["y"], n.attrs["cx"]) {
					if v != "" && !fine.MatchString(v) {
						t.Errorf("coordinate = %s, want at most one digit after the point", v)
					}
				}
			}
		}
	})
}

// Figures are marked, resolve, and say what the report says; no other digit is
// seen or heard.
func TestFigures(t *testing.T) {
	figures := 0
	each(t, func(t *testing.T, r *report.Report, draw func(Form) ([]byte, error)) {
		for _, f := range []Form{{ID: "a"}, {ID: "b", Standalone: true}} {
			for _, n := range parse(t, drawn(t, draw, f)) {
				pointer, ok := n.attrs["data-figure"]
				if ok {
					figures++
					v, err := r.Lookup(pointer)
					if err != nil {
						t.Errorf("figure %q: %v", pointer, err)
						continue
					}
					want, err := report.Text(v)
					if err != nil || n.text != want {
						t.Errorf("figure %s = %q, want %q, %v", pointer, n.text, want, err)
					}
				}
				if n.name != "style" && strings.ContainsFunc(n.text, unicode.IsDigit) && !ok && !n.has("data-axis") && !n.has("data-recorded") {
					t.Errorf("<%s> has the unmarked digit of %q", n.name, n.text)
				}
			}
		}
	})
	if figures < 100 {
		t.Errorf("found %d figures, want hundreds: the test looks at nothing", figures)
	}
}

// Each drawing says what it is to who doesn't see it, and can be asked for twice
// on one page.
func TestNamed(t *testing.T) {
	each(t, func(t *testing.T, _ *report.Report, draw func(Form) ([]byte, error)) {
		ids := map[string]bool{}
		count := map[string]int{}
		for _, n := range parse(t, drawn(t, draw, Form{ID: "here"})) {
			count[n.name]++
			if id, ok := n.attrs["id"]; ok {
				if ids[id] || !strings.HasPrefix(id, "here-") {
					t.Errorf("id = %q, want one with the form's prefix, once", id)
				}
				ids[id] = true
			}
			if n.name == "svg" && (n.attrs["role"] != "img" || n.attrs["viewBox"] != "0 0 "+n.attrs["width"]+" "+n.attrs["height"]) {
				t.Errorf("svg has the attributes %v", n.attrs)
			}
			if (n.name == "title" || n.name == "desc") && strings.TrimSpace(n.text) == "" {
				t.Errorf("<%s> is empty", n.name)
			}
		}
		if count["svg"] != 2 || count["title"] != 2 || count["desc"] != 2 {
			t.Errorf("elements = %v, want two drawings with title and description", count)
		}
	})
}

// Names are markup and hidden characters: none acts, the title shows the name,
// and figures are still found (TestFigures), but for a name that no document can
// hold.
func TestHostileNames(t *testing.T) {
	r := reports()["months"]
	tests := []struct {
		name, server, title string
		figures             int
	}{
		{"markup and hidden characters", foul, `evil.example/</text><script>alert(1)</script>"'&` + "\uFFFD\uFFFD", 2},
		{"what XML forbids", hostile, `evil.example/</text><script>alert(1)</script>"'&` + strings.Repeat("\uFFFD", 6), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			svg := drawn(t, func(f Form) ([]byte, error) { return Strip(r, tt.server, f) }, Form{Standalone: true})
			for _, bad := range []string{"<script", "\u202e", "\x1b", "\x00", "\xff", "\U000E0041", "\uFFFE", "</text><s"} {
				if bytes.Contains(svg, []byte(bad)) {
					t.Errorf("drawing holds %q", bad)
				}
			}
			figures := 0
			for _, n := range parse(t, svg) {
				if n.name == "title" && n.text != tt.title {
					t.Errorf("title = %q, want %q", n.text, tt.title)
				}
				if _, ok := n.attrs["data-figure"]; ok {
					figures++
				}
			}
			if figures != tt.figures {
				t.Errorf("%d figures, want %d", figures, tt.figures)
			}
		})
	}
}

func TestReference(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"plain", "/a/b~1c", "/a/b~1c"},
		{"markup", `<"'&>`, "&lt;&#34;&#39;&amp;&gt;"},
		{"hidden", "a\u202eb\u2028", "a&#8238;b&#8232;"},
		{"lost", "\x1b\uFFFE", "\uFFFD\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := reference(tt.text); got != tt.want {
				t.Errorf("reference(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestEscape(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"plain", "a-b c_9", "a-b c_9"},
		{"markup", `<a b="c" d='e'>&`, "&lt;a b=&#34;c&#34; d=&#39;e&#39;&gt;&amp;"},
		{"letters", "é ß 中 —", "é ß 中 —"},
		{"controls", "a\x00b\x1bc\td\u0085", "a\uFFFDb\uFFFDc\uFFFDd\uFFFD"},
		{"what XML forbids", "\uFFFE\uFFFF", "\uFFFD\uFFFD"},
		{"no UTF-8", "a\xff\xc3(", "a\uFFFD\uFFFD("},
		{"a replacement stays", "\uFFFD", "\uFFFD"},
		{"right to left, joiner, tag", "\u202ea\u200db\U000E0041", "\uFFFDa\uFFFDb\uFFFD"},
		{"separators", "a\u2028b\u2029", "a\uFFFDb\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := escape(tt.text); got != tt.want {
				t.Errorf("escape(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

// The same bytes twice, and from many at once. Run with -race.
func TestSameBytes(t *testing.T) {
	all := reports()
	type job struct {
		name string
		draw func(Form) ([]byte, error)
	}
	var jobs []job
	for _, name := range names(all) {
		for _, way := range names(drawings(all[name])) {
			jobs = append(jobs, job{name + " " + way, drawings(all[name])[way]})
		}
		if name == "reached" || name == "few" { // pictures are slow
			jobs = append(jobs, job{name + " picture", func(Form) ([]byte, error) { return HalfLifePNG(all[name]) }})
		}
	}
	again := make([][]byte, len(jobs))
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() { again[i], _ = j.draw(Form{ID: "x"}) })
	}
	wg.Wait()
	for i, j := range jobs {
		if first := drawn(t, j.draw, Form{ID: "x"}); !bytes.Equal(first, again[i]) {
			t.Errorf("%s: %d bytes alone, %d in parallel, and not the same", j.name, len(first), len(again[i]))
		}
	}
}

func TestPicture(t *testing.T) {
	all := reports()
	for _, name := range names(all) {
		t.Run(name, func(t *testing.T) {
			b, err := HalfLifePNG(all[name])
			if err != nil {
				t.Fatal(err)
			}
			img, err := png.Decode(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if s := img.Bounds().Size(); s.X != cardWidth || s.Y != cardHeight {
				t.Errorf("picture is %v, want %d by %d", s, cardWidth, cardHeight)
			}
			var pix []byte
			switch img := img.(type) {
			case *image.RGBA:
				pix = img.Pix
			case *image.NRGBA:
				pix = img.Pix
			}
			seen := map[[3]byte]int{}
			for i := 0; i < len(pix); i += 4 * 2 { // every second one will do
				seen[[3]byte(pix[i:i+3])] += 2
			}
			if white := seen[[3]byte{255, 255, 255}]; white < cardWidth*cardHeight*2/3 {
				t.Errorf("%d pixels are white, want most", white)
			}
			if line := seen[[3]byte{0x05, 0x50, 0xae}]; (line > 100) != (name != "empty" && name != "zero") {
				t.Errorf("%d pixels have the colour of the curve", line)
			}
		})
	}
}

// A chart of four days shows each once, through the hour that clocks repeat.
func TestF013(t *testing.T) {
	var c struct {
		Input struct {
			Buckets string `json:"buckets"`
		} `json:"input"`
		Expected struct {
			Shown []record.Day `json:"buckets_shown"`
		} `json:"expected"`
	}
	b, err := os.ReadFile("testdata/cases/f-013.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, d := range c.Expected.Shown {
		want = append(want, d.Time().Format("2 Jan"))
	}
	first, last, _ := strings.Cut(c.Input.Buckets, "..")
	from, _ := daysOf(record.Day(first))
	to, _ := daysOf(record.Day(last))
	if n := to - from + 1; n != len(want) || n != 4 {
		t.Fatalf("%s has %d days, want the case's %d", c.Input.Buckets, n, len(want))
	}
	r := calendarReport(record.Day(first), to-from+1, 300, false)
	for _, draw := range []func(*report.Report, Form) ([]byte, error){Classes, Changes} {
		var got []string
		for _, n := range parse(t, drawn(t, func(f Form) ([]byte, error) { return draw(r, f) }, Form{Standalone: true})) {
			if n.has("data-axis") && strings.Contains(n.text, "Oct") {
				got = append(got, n.text)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("days on the axis = %q, want %q", got, want)
		}
	}
}

func TestDateTicks(t *testing.T) {
	tests := []struct {
		name        string
		first, last record.Day
		length      float64
		want        []string
	}{
		{"one day", "2026-03-01", "2026-03-01", 300, []string{"1 Mar"}},
		{"a leap day", "2028-02-28", "2028-03-01", 300, []string{"28 Feb", "29 Feb", "1 Mar"}},
		{"clocks go forward and back nowhere", "2026-03-28", "2026-03-31", 300, []string{"28 Mar", "29 Mar", "30 Mar", "31 Mar"}},
		{"every second day", "2026-11-20", "2026-11-29", 300, []string{"20 Nov", "22 Nov", "24 Nov", "26 Nov", "28 Nov"}},
		{"Mondays", "2026-11-01", "2026-11-30", 300, []string{"2 Nov", "9 Nov", "16 Nov", "23 Nov", "30 Nov"}},
		{"every second Monday", "2026-10-02", "2026-11-30", 280, []string{"5 Oct", "19 Oct", "2 Nov", "16 Nov", "30 Nov"}},
		{"months", "2026-01-15", "2026-11-30", 800, []string{"Feb 2026", "Mar 2026", "Apr 2026", "May 2026", "Jun 2026", "Jul 2026", "Aug 2026", "Sep 2026", "Oct 2026", "Nov 2026"}},
		{"quarters", "2026-01-15", "2026-11-30", 300, []string{"Apr 2026", "Jul 2026", "Oct 2026"}},
		{"years", "2026-01-15", "2031-11-30", 600, []string{"Jan 2027", "Jan 2028", "Jan 2029", "Jan 2030", "Jan 2031"}},
		{"a century", "2026-01-15", "2125-11-30", 300, []string{"Jan 2027", "Jan 2050", "Jan 2073", "Jan 2096", "Jan 2119"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			first, _ := daysOf(tt.first)
			last, _ := daysOf(tt.last)
			var got []string
			for _, tick := range dateTicks(first, last, tt.length, 1) {
				got = append(got, tick.Label)
				if d := civil(first + int(tick.Value)); tick.Value != math.Trunc(tick.Value)+0.5 || !strings.HasPrefix(d.Format("2 Jan 2006"), tick.Label) && !strings.HasSuffix(d.Format("2 Jan 2006"), tick.Label) {
					t.Errorf("tick %q stands at %v, in %s", tick.Label, tick.Value, d)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("dateTicks(%s, %s, %v) = %q, want %q", tt.first, tt.last, tt.length, got, tt.want)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	tests := []struct {
		most float64
		want []string
	}{
		{0, []string{"0", "1"}},
		{1, []string{"0", "1"}},
		{3, []string{"0", "1", "2", "3"}},
		{7, []string{"0", "2", "4", "6", "8"}},
		{188, []string{"0", "50", "100", "150", "200"}},
		{13170, []string{"0", "5,000", "10,000", "15,000"}},
	}
	for _, tt := range tests {
		ticks, end := counts(tt.most, 4)
		var got []string
		for _, tick := range ticks {
			got = append(got, tick.Label)
		}
		if !slices.Equal(got, tt.want) || end < tt.most || end != ticks[len(ticks)-1].Value {
			t.Errorf("counts(%v) = %q to %v, want %q", tt.most, got, end, tt.want)
		}
	}
}

// pathsOf returns the data of the paths whose class contains all of classes.
func pathsOf(nodes []*node, classes string) []string {
	var out []string
	for _, n := range nodes {
		all := n.name == "path"
		for c := range strings.FieldsSeq(classes) {
			all = all && hasClass(n.attrs["class"], c)
		}
		if all {
			out = append(out, n.attrs["d"])
		}
	}
	return out
}

func wide(t *testing.T, draw func(*report.Report, Form) ([]byte, error), r *report.Report) []*node {
	t.Helper()
	return parse(t, drawn(t, func(f Form) ([]byte, error) { return draw(r, f) }, Form{Standalone: true}))
}

// The forms of the curve: what is drawn of each.
func TestCurveForms(t *testing.T) {
	tests := []struct {
		name                       string
		solid, few, tail, band, dp int // paths; dp: drop line and dot
		says                       string
	}{
		{"months", 1, 0, 2, 1, 1, "half-life 45 days"},
		{"few", 1, 1, 1, 1, 1, "half-life 19 days"},
		{"zero", 0, 1, 0, 1, 1, "half-life 3 days"},
		{"one", 1, 0, 1, 1, 0, "half-life not reached"},
		{"none", 0, 0, 1, 0, 0, "half-life not reached"},
		{"empty", 0, 0, 0, 0, 0, "no contract has been followed yet"},
	}
	all := reports()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nodes := wide(t, HalfLife, all[tt.name])
			tail, few := pathsOf(nodes, "k0 tail"), pathsOf(nodes, "k0 few")
			both := len(pathsOf(nodes, "k0 few tail"))
			if got := len(pathsOf(nodes, "k0")) - len(tail) - len(few) + both; got != tt.solid {
				t.Errorf("%d solid pieces, want %d", got, tt.solid)
			}
			if got := len(few) - both; got != tt.few {
				t.Errorf("%d solid pieces with few at risk, want %d", got, tt.few)
			}
			if len(tail) != tt.tail {
				t.Errorf("%d dashed pieces, want %d", len(tail), tt.tail)
			}
			if got := len(pathsOf(nodes, "band")); got != tt.band {
				t.Errorf("%d bands, want %d", got, tt.band)
			}
			if got := len(pathsOf(nodes, "half")) - 1; got != tt.dp {
				t.Errorf("%d drop lines, want %d", got, tt.dp)
			}
			texts := ""
			for _, n := range nodes {
				if n.name == "text" || n.name == "tspan" {
					texts += n.text
				}
			}
			if !strings.Contains(texts, tt.says) {
				t.Errorf("texts = %q, want %q among them", texts, tt.says)
			}
			for _, d := range tail {
				if strings.Contains(d, "V") {
					t.Errorf("the tail %q falls", d)
				}
			}
		})
	}
}

// While the half-life is not reached, the only limit that is drawn is the one that
// the report states for it: Greenwood's is not.
func TestResult(t *testing.T) {
	days := func(n float64) *report.Days { d := report.Days(n); return &d }
	greenwood := report.Interval{Lower: days(40)}
	tests := []struct {
		name string
		half report.HalfLife
		want []string
	}{
		{"reached", report.HalfLife{Events: 9, HalfLife: report.Interval{Lower: days(30), Value: days(45), Upper: days(61)}}, []string{"half-life 45 days", "30 days to 61 days", "if all were independent"}},
		{"reached, no upper limit", report.HalfLife{Events: 9, HalfLife: report.Interval{Lower: days(30), Value: days(45)}}, []string{"half-life 45 days", "lower limit 30 days", "if all were independent"}},
		{"at least", report.HalfLife{Events: 9, HalfLife: greenwood, AtLeast: days(21)}, []string{"half-life not reached", "lower limit 21 days", "at the ninety-five per cent level"}},
		{"more than", report.HalfLife{Events: 9, HalfLife: greenwood, MoreThan: days(17)}, []string{"half-life not reached", "lower limit more than 17 days", "at the ninety-five per cent level"}},
		{"few operators", report.HalfLife{Events: 9, HalfLife: greenwood, FewOperators: true}, []string{"half-life not reached", "too few operators for limits"}},
		{"no change", report.HalfLife{FewOperators: true}, []string{"half-life not reached", "no change seen yet, so no limits"}},
		{"limits not known", report.HalfLife{Events: 9, HalfLife: greenwood}, []string{"half-life not reached"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, line := range (survivalChart{r: &report.Report{HalfLife: tt.half}}).result() {
				text := ""
				for _, p := range line {
					text += p.text
				}
				got = append(got, text)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("result (-want +got):\n%s", d)
			}
		})
	}
}

func TestCurve(t *testing.T) {
	e := &survival.Estimate{Table: table(slices.Concat([]lifetime{{5, true}, {5, true}, {9, true}, {20, false}}, censored(28, 12)))}
	c, ok := pooled(e)
	if !ok || len(c.steps) != 2 || c.end != 20 || c.last() != 9 || c.few != 9 {
		t.Fatalf("pooled = %+v, %v, want falls at 5 and 9, few at risk from 9 on, and the end at 20", c, ok)
	}
	for _, tt := range []struct{ t, want float64 }{{0, 1}, {4.9, 1}, {5, 30. / 32}, {8, 30. / 32}, {9, 29. / 32}, {20, 29. / 32}} {
		if got := c.at(tt.t); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("S(%v) = %v, want %v", tt.t, got, tt.want)
		}
	}
	if low, high, ok := c.between(4, 6, false); !ok || low != c.at(5) || high != 1 {
		t.Errorf("between 4 and 6 = %v, %v, %v, want %v and 1", low, high, ok, c.at(5))
	}
	if _, _, ok := c.between(21, 30, false); ok {
		t.Error("the curve goes on after its end")
	}
}

// What is no number, no day or no sense must not break a drawing.
func TestGuards(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	bad := survival.Table{Time: []float64{-1, 1, nan, 2, inf, 3}, Surv: []float64{0.9, nan, 0.8, inf, 0.7, 0.5}, NRisk: []int{3}}
	bad.CI.LogLog.Lower, bad.CI.LogLog.Upper = []*float64{&nan, &inf, nil, nil, nil, &nan}, []*float64{nil}
	tests := map[string]*report.Report{
		"table": {HalfLife: report.HalfLife{Estimate: &survival.Estimate{Table: bad}}},
		"days":  {First: "x", AsOf: "2026-02-30", Calendar: []report.Day{{Day: "yesterday"}, {Day: "2026-01-02", Runs: 1, Drift: -4, Numbers: 9, Classes: map[string]report.Count{"answered": -3, "no such": 5}}, {Day: "2026-01-02"}, {Day: "2026-01-01"}, {Day: "9999-12-31"}}},
		"server": {First: "2026-01-01", AsOf: "2026-01-09", Servers: map[string]*report.Server{"a/b": {
			Spans:    []timeline.Span{{Days: -4, First: "2026-01-01", State: "auth"}, {Days: math.MaxInt, First: "2025-12-01", State: "answered"}, {Days: 3, First: "2027-12-01", State: "tls"}, {Days: 1, First: "", State: "tls"}},
			Versions: []report.Version{{N: 1, First: "2026-01-01"}, {N: 2, First: "x"}, {N: 3, First: "2031-01-01"}, {N: 4, First: "2026-01-05"}, {N: 5, First: "2026-01-05"}},
		}}},
		"turned":  {First: "2026-03-01", AsOf: "2026-01-09", Servers: map[string]*report.Server{"a/b": {}}},
		"nothing": {},
	}
	for _, name := range names(tests) {
		ways := drawings(tests[name])
		for _, way := range names(ways) {
			t.Run(name+"-"+way, func(t *testing.T) {
				svg := drawn(t, ways[way], Form{ID: "x"})
				if parse(t, svg); bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
					t.Error("drawing has a coordinate that is no number")
				}
			})
		}
		if name != "table" {
			continue
		}
		if _, err := HalfLifePNG(tests[name]); err != nil {
			t.Errorf("HalfLifePNG of %s: %v", name, err)
		}
	}
	svg := string(drawn(t, func(f Form) ([]byte, error) { return Strip(tests["server"], "a/b", f) }, Form{Standalone: true}))
	if !strings.Contains(svg, `<path class="s-answered" d="M1 48H879V26H1Z"/>`) || strings.Count(svg, "<tspan") != 1 || !strings.Contains(svg, ">5</tspan>") {
		t.Errorf("strip = %s, want the calendar answered, and the newer of two versions of a day", svg)
	}
}

func TestStripOfNobody(t *testing.T) {
	if _, err := Strip(&report.Report{}, "a/b", Form{}); err == nil || !strings.Contains(err.Error(), `"a/b"`) {
		t.Errorf("Strip of an unknown name = %v, want an error that names it", err)
	}
}

// A gap is a gap: areas stand on neither side of it but in pieces.
func TestGapsOfClasses(t *testing.T) {
	nodes := wide(t, Classes, reports()["months"])
	areas := pathsOf(nodes, "sep")
	if len(areas) != 9 {
		t.Fatalf("%d areas, want one for each class", len(areas))
	}
	gaps := boxes(t, pathsOf(nodes, "gap")[0])
	if len(gaps) != 4 {
		t.Fatalf("%d gaps, want the two days together, the partial, the degraded and the single one", len(gaps))
	}
	for _, d := range areas {
		pieces := boxes(t, d)
		if len(pieces) != 5 {
			t.Errorf("area %.80s… has %d pieces, want 5", d, len(pieces))
		}
		for _, p := range pieces {
			for _, g := range gaps {
				if p[0] < g[1]-0.11 && g[0] < p[1]-0.11 {
					t.Errorf("a piece from %v to %v lies on the gap from %v to %v", p[0], p[1], g[0], g[1])
				}
			}
		}
	}
}

// boxes returns the first and last x of each piece of path data.
func boxes(t *testing.T, d string) [][2]float64 {
	t.Helper()
	var out [][2]float64
	for _, piece := range strings.Split(strings.TrimSuffix(d, "Z"), "Z") {
		low, high := math.Inf(1), math.Inf(-1)
		for _, m := range regexp.MustCompile(`[MH]([0-9.]+)`).FindAllStringSubmatch(piece, -1) {
			x, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			low, high = min(low, x), max(high, x)
		}
		out = append(out, [2]float64{low, high})
	}
	return out
}

// Bars are as high as the axis says.
func TestBars(t *testing.T) {
	r := &report.Report{Calendar: []report.Day{
		{Day: "2026-11-01", Runs: 1},
		{Day: "2026-11-02", Runs: 1, Drift: 20, Numbers: 5, Captures: 5},
		{Day: "2026-11-03"},
		{Day: "2026-11-04", Runs: 1, Drift: 5, Numbers: 5},
	}}
	listCaptures(r)
	nodes := wide(t, Changes, r)
	height := func(class string) []float64 {
		var out []float64
		for _, piece := range strings.Split(strings.TrimSuffix(pathsOf(nodes, class)[0], "Z"), "Z") {
			m := regexp.MustCompile(`^M[0-9.]+ ([0-9.]+)H[0-9.]+V([0-9.]+)H`).FindStringSubmatch(piece)
			from, _ := strconv.ParseFloat(m[1], 64)
			to, _ := strconv.ParseFloat(m[2], 64)
			out = append(out, from-to)
		}
		return out
	}
	bar, num, captures := height("bar"), height("num"), height("cap")
	if len(bar) != 1 || len(num) != 2 || len(captures) != 1 {
		t.Fatalf("%d substantive, %d hollow, %d captures; want 1, 2, 1", len(bar), len(num), len(captures))
	}
	// Hollow bars are an outline of one pixel, drawn half a pixel within.
	if unit := bar[0] / 10; math.Abs(num[0]+1-5*unit) > 0.3 || math.Abs(num[1]-num[0]) > 0.3 || math.Abs(captures[0]+5*unit) > 0.3 {
		t.Errorf("heights = %v, %v, %v, want 10, 5 and 5, and 5 below", bar, num, captures)
	}
	if gaps := boxes(t, pathsOf(nodes, "gap")[0]); len(gaps) != 1 {
		t.Errorf("%d gaps, want one", len(gaps))
	}
}

// Differences that the conditions of reading may explain are a part of a day's
// drift only where the methodology counts them.
func TestCounted(t *testing.T) {
	day := report.Day{Day: "2026-11-02", Runs: 1, Drift: 20, Numbers: 5, Captures: 5}
	within := &report.Report{Calendar: []report.Day{day}}
	listCaptures(within)
	for _, tt := range []struct {
		name                           string
		r                              *report.Report
		substantive, numbers, captures float64
	}{
		{"counted", within, 10, 5, 5},
		{"not counted", &report.Report{Calendar: []report.Day{day}}, 15, 5, 5},
		{"of a server that is not there", &report.Report{Calendar: within.Calendar}, 15, 5, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, n, q := changeChart{servers: tt.r.Servers}.bars(tt.r.Calendar[0])
			if s != tt.substantive || n != tt.numbers || q != tt.captures {
				t.Errorf("bars = %v, %v, %v, want %v, %v, %v", s, n, q, tt.substantive, tt.numbers, tt.captures)
			}
		})
	}
}

// The style sheet knows every class, and its colours can be told from the ground.
func TestStyle(t *testing.T) {
	have := map[string]bool{"wide": true, "narrow": true}
	for _, m := range regexp.MustCompile(`\.([a-z][a-z0-9_-]*)`).FindAllStringSubmatch(styleSheet, -1) {
		have[m[1]] = true
	}
	each(t, func(t *testing.T, _ *report.Report, draw func(Form) ([]byte, error)) {
		for _, n := range parse(t, drawn(t, draw, Form{ID: "a"})) {
			for c := range strings.FieldsSeq(n.attrs["class"]) {
				if !have[c] {
					t.Errorf("class %q of <%s> is not in style.css", c, n.name)
				}
			}
		}
	})
	grounds := regexp.MustCompile(`(?s)^\.chart\{(.*?)\}.*?prefers-color-scheme:dark\)\{\.chart\{(.*?)\}`).FindStringSubmatch(styleSheet)
	if grounds == nil {
		t.Fatal("style.css does not begin with the variables for light and dark")
	}
	for i, ground := range grounds[1:] {
		vars := map[string]string{}
		for _, m := range regexp.MustCompile(`(--[a-z0-9_-]+):#([0-9a-f]{6})`).FindAllStringSubmatch(ground, -1) {
			vars[m[1]] = m[2]
		}
		for name, hex := range light {
			if i == 0 && vars[name] != hex {
				t.Errorf("%s is %s on rasters, %s in style.css", name, hex, vars[name])
			}
		}
		for _, s := range states {
			if vars["--s-"+s.label] == "" {
				t.Errorf("state %s has no colour", s.label)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			want := 3.0
			switch name {
			case "--bg", "--grid":
				continue
			case "--fg", "--mut", "--c0", "--c1": // also of text
				want = 4.5
			}
			if got := contrast(t, vars[name], vars["--bg"]); got < want {
				t.Errorf("contrast of %s with the ground = %.2f, want %.1f", name, got, want)
			}
		}
	}
}

// contrast is that of WCAG 2.2 between two colours.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	luminance := func(hex string) float64 {
		v, err := strconv.ParseUint(hex, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			c := float64(v>>(16-8*i)&0xff) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestApart(t *testing.T) {
	tests := []struct {
		name     string
		at, want []float64
	}{
		{"far apart", []float64{90, 50, 10}, []float64{90, 50, 10}},
		{"too near", []float64{90, 85, 80}, []float64{90, 80, 70}},
		{"below the floor", []float64{130, 120}, []float64{100, 90}},
		{"above the ceiling", []float64{20, 12, 5}, []float64{20, 10, 0}},
		{"all on the ceiling", []float64{4, 3, 2}, []float64{20, 10, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := slices.Clone(tt.at)
			if apart(got, 10, 100, 0); !slices.Equal(got, tt.want) {
				t.Errorf("apart(%v) = %v, want %v", tt.at, got, tt.want)
			}
		})
	}
}

// There is one strip for every server on the site, so it is small.
func TestStripSize(t *testing.T) {
	if svg := drawn(t, drawings(reports()["months"])["strip-d"], Form{ID: "strip"}); len(svg) > 2000 {
		t.Errorf("the strip of a usual server has %d bytes, want at most 2,000", len(svg))
	}
}

func BenchmarkStrip(b *testing.B) {
	r := reports()["months"]
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := Strip(r, "com.example/usual", Form{ID: "strip"}); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkHalfLife(b *testing.B) {
	r := reports()["reached"]
	for b.Loop() {
		if _, err := HalfLife(r, Form{ID: "h"}); err != nil {
			b.Fatal(err)
		}
	}
}
