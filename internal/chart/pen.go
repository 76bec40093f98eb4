package chart

import (
	"math"
	"strings"

	"github.com/golang/freetype/truetype"
	gochart "github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/drawing"

	"github.com/mcpstrata/mcpstrata/internal/report"
)

// textSize is the size of all text, in pixels, as in style.css.
const textSize = 13

// A part is a piece of a line of text: plain words, a figure, or a tick.
type part struct {
	text    string
	pointer string // JSON Pointer of a figure; "": none
	axis    bool   // a number on an axis
}

// words is a part without a number.
func words(s string) part { return part{text: s} }

// figure is the part for a figure of the report, whose place is path.
func figure(v report.Figure, path ...any) part {
	return part{text: v.Text(), pointer: report.Pointer(path...)}
}

// A pen draws with fractions of a pixel on SVG and whole pixels on a raster. Each
// stroke, area or text names its classes; a raster, which has none, takes what
// the style sheet means by them on a light ground.
type pen struct {
	r    gochart.Renderer
	svg  *sheet // nil on a raster
	font *truetype.Font
	look look
	x, y float64
	// scale makes text greater than textSize, on a raster; 0 is 1.
	scale float64
}

func newPen(r gochart.Renderer, font *truetype.Font, l look) *pen {
	s, _ := r.(*sheet)
	return &pen{r: r, svg: s, font: font, look: l}
}

func whole(v float64) int { return int(math.Round(v)) }

func (p *pen) move(x, y float64) {
	p.x, p.y = x, y
	if p.svg != nil {
		p.svg.move(x, y)
		return
	}
	p.r.MoveTo(whole(x), whole(y))
}

func (p *pen) line(x, y float64) {
	p.x, p.y = x, y
	if p.svg != nil {
		p.svg.line(x, y)
		return
	}
	p.r.LineTo(whole(x), whole(y))
}

func (p *pen) h(x float64) { p.line(x, p.y) }
func (p *pen) v(y float64) { p.line(p.x, y) }
func (p *pen) close()      { p.r.Close() }

// box adds a rectangle to the path.
func (p *pen) box(x0, y0, x1, y1 float64) {
	p.move(x0, y0)
	p.h(x1)
	p.v(y1)
	p.h(x0)
	p.close()
}

func (p *pen) stroke(classes string) {
	p.dip(classes)
	p.r.Stroke()
}

func (p *pen) fill(classes string) {
	if p.dip(classes).width > 0 {
		p.r.FillStroke()
		return
	}
	p.r.Fill()
}

func (p *pen) dot(classes string, radius, x, y float64) {
	p.dip(classes)
	if p.svg != nil {
		p.svg.circle(radius, x, y)
		return
	}
	p.r.Circle(radius, whole(x), whole(y))
	p.r.FillStroke()
}

// dip sets the classes, and on a raster what they stand for.
func (p *pen) dip(classes string) ink {
	p.r.SetClassName(classes)
	if p.svg != nil {
		return ink{}
	}
	i := inkOf(classes)
	p.r.SetFillColor(i.fill)
	p.r.SetStrokeColor(i.stroke)
	p.r.SetStrokeWidth(i.width * p.look.k)
	var dash []float64
	for _, d := range i.dash {
		dash = append(dash, d*p.look.k)
	}
	p.r.SetStrokeDashArray(dash)
	return i
}

// width is how wide parts are set, with room for a wider font than go-chart's.
func (p *pen) width(parts ...part) float64 {
	return 1.14 * textWidth(p.font, join(parts), textSize*p.look.k)
}

func join(parts []part) string {
	var b strings.Builder
	for _, q := range parts {
		b.WriteString(q.text)
	}
	return b.String()
}

// label sets a line of text with its base line at y. The class m centres it at
// x, e ends it there; without either it begins there.
func (p *pen) label(classes string, x, y float64, parts ...part) {
	if p.svg != nil {
		p.svg.text(classes, x, y, parts...)
		return
	}
	p.r.ResetStyle()
	p.r.SetFont(p.font)
	p.r.SetFontSize(textSize * p.look.k * max(p.scale, 1))
	p.r.SetFontColor(inkOf(classes).text)
	body := join(parts)
	w := float64(p.r.MeasureText(body).Width())
	switch {
	case hasClass(classes, classMiddle):
		x -= w / 2
	case hasClass(classes, classEnd):
		x -= w
	}
	p.r.Text(body, whole(x), whole(y))
}

// An ink is what the classes of style.css mean on a light ground, for rasters.
type ink struct {
	fill, stroke, text drawing.Color
	width              float64
	dash               []float64
}

// Colours of the light ground: the variables of style.css that a raster needs.
// A test holds them against the style sheet.
var light = map[string]string{
	"--fg": "1f2328", "--mut": "59636e", "--grid": "d1d9e0", "--bg": "ffffff", "--c0": "0550ae", "--c1": "9a3b00",
}

func colour(variable string) drawing.Color { return drawing.ColorFromHex(light[variable]) }

// clear is transparent, and not the zero colour, which go-chart takes for unset.
func clear() drawing.Color { return drawing.Color{R: 255, G: 255, B: 255} }

func inkOf(classes string) ink {
	i := ink{fill: clear(), stroke: clear(), text: colour("--mut")}
	for c := range strings.FieldsSeq(classes) {
		switch c {
		case "f", "b":
			i.text = colour("--fg")
		case "t0":
			i.text = colour("--c0")
		case "t1":
			i.text = colour("--c1")
		case "ax":
			i.stroke, i.width = colour("--mut"), 1
		case "gr":
			i.stroke, i.width = colour("--grid"), 1
		case "half":
			i.stroke, i.width, i.dash = colour("--fg"), 1, []float64{2, 3}
		case "k0":
			i.stroke, i.width = colour("--c0"), 2.25
		case "k1":
			i.stroke, i.width = colour("--c1"), 1.5
		case "few":
			i.stroke, i.width = colour("--mut"), 1.5
		case "tail":
			i.dash = []float64{6, 4}
		case "band":
			i.fill = colour("--c0").WithAlpha(41)
		case "dot":
			i.fill, i.stroke, i.width = colour("--c0"), colour("--bg"), 2
		}
	}
	return i
}
