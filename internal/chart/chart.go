// Package chart draws the series of a report as SVG and PNG.
//
// # What draws
//
// go-chart lays out the axes, ranges and ticks; the series, the grid and the
// labels are ours, and so is the SVG, because go-chart's own escapes no text,
// keeps no fractions of a pixel and builds a font face for every word. A drawing
// names its inks by classes and holds no colour: the page's style sheet has the
// variables, light and dark, and the [Form] for use elsewhere carries them.
//
// # Figures
//
// A number on a drawing is either a tick of an axis, in an element with the
// attribute data-axis, or a figure of the report, in an element whose data-figure
// is the JSON Pointer of its place there ([Form.At] before it) and whose text is what [report.Text]
// makes of it. Titles and descriptions are worded without digits.
//
// # What was not measured
//
// A day without a run is a gap. It is drawn as one, never as a zero and never by
// a line through it. On the drawing of how targets ended, so are partial and
// degraded days, which are no sample of the population (DESIGN.md 5.3). Days are
// UTC calendar days, each once (case f-013).
//
// # Size on a screen
//
// Text in a drawing shrinks with it. In the form for pages every function
// therefore returns two drawings of the same figures, of the classes wide and
// narrow, of which the page shows one; the stand-alone form is the wide one.
package chart

import (
	"bytes"
	_ "embed"
	"fmt"
	"sync"

	gochart "github.com/wcharczuk/go-chart/v2"
)

// A Form says where a drawing will stand.
type Form struct {
	ID         string // prefix of the ids inside; unique on its page
	At         string // JSON Pointer of the place at which the report stands in report.json; "": it is all of it
	Standalone bool   // carries its own style sheet, light and dark, for use outside the pages
}

// styleSheet holds every rule that a drawing needs, in variables for light and
// dark. Pages take the rules over into their own.
//
//go:embed style.css
var styleSheet string

// loadFont returns the font that go-chart measures and rasters with. go-chart
// sets it without a lock, so it is asked for once before it draws.
var loadFont = sync.OnceValues(gochart.GetDefaultFont)

// A plan is a drawing before it is laid out: what it says, and how it is made
// for a look.
type plan struct {
	title    string
	desc     string
	recorded bool   // the title holds recorded text
	note     string // of the data, written where the drawing stands alone; "": none
	small    bool   // one of very many: as few bytes as can be
	chart    func(look) gochart.Chart
	wide     look
	narrow   look
}

// A look is the size of a drawing. Lengths in the code are multiplied by k.
type look struct {
	w, h   int     // pixels
	k      float64 // 1 on SVG
	narrow bool
	card   bool // a picture that stands alone, with a heading
}

// px returns a length in whole pixels.
func (l look) px(v float64) int { return int(v*l.k + 0.5) }

// svg draws p in the form f: twice for a page, once to stand alone.
func (p plan) svg(f Form) ([]byte, error) {
	var out bytes.Buffer
	looks := []look{p.wide}
	if !f.Standalone {
		looks = append(looks, p.narrow)
	}
	for _, l := range looks {
		if err := p.draw(&out, l, f); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

func (p plan) draw(out *bytes.Buffer, l look, f Form) error {
	font, err := loadFont()
	if err != nil {
		return fmt.Errorf("loading the font: %w", err)
	}
	c := p.chart(l)
	c.Font = font
	err = c.Render(func(w, h int) (gochart.Renderer, error) {
		return &sheet{w: w, h: h, form: f, narrow: l.narrow, plan: p, font: font}, nil
	}, out)
	if err != nil {
		return fmt.Errorf("drawing %q: %w", p.title, err)
	}
	return nil
}

// png draws p as a picture, on a light ground.
func (p plan) png(l look) ([]byte, error) {
	font, err := loadFont()
	if err != nil {
		return nil, fmt.Errorf("loading the font: %w", err)
	}
	c := p.chart(l)
	c.Font = font
	var out bytes.Buffer
	if err := c.Render(gochart.PNG, &out); err != nil {
		return nil, fmt.Errorf("drawing %q: %w", p.title, err)
	}
	return out.Bytes(), nil
}
