package chart

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/golang/freetype/truetype"
	gochart "github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/drawing"
	"golang.org/x/image/math/fixed"
)

// A sheet is go-chart's renderer for SVG. It writes classes and no colours; what
// has no class is not drawn. Coordinates are rounded to a tenth of a pixel.
type sheet struct {
	w, h   int
	form   Form
	narrow bool
	plan   plan
	font   *truetype.Font

	body  bytes.Buffer
	path  []byte
	x, y  float64 // where the path is
	class string
	size  float64 // of text, in pixels
	dpi   float64
}

// Classes that the renderer itself understands.
const (
	classTick   = "ax"   // x axis: its lines are drawn, its texts are ticks
	classTickY  = "ay"   // y axis: its texts are ticks; its lines are left out
	classMiddle = "m"    // text around its place
	classEnd    = "e"    // text that ends at its place
	classNone   = "none" // not drawn
)

func hasClass(classes, name string) bool {
	for c := range strings.FieldsSeq(classes) {
		if c == name {
			return true
		}
	}
	return false
}

func (s *sheet) ResetStyle() { s.class, s.size = "", 0 }

func (s *sheet) GetDPI() float64                    { return s.dpi }
func (s *sheet) SetDPI(d float64)                   { s.dpi = d }
func (s *sheet) SetClassName(c string)              { s.class = c }
func (s *sheet) SetStrokeColor(drawing.Color)       {}
func (s *sheet) SetFillColor(drawing.Color)         {}
func (s *sheet) SetStrokeWidth(float64)             {}
func (s *sheet) SetStrokeDashArray([]float64)       {}
func (s *sheet) SetFont(*truetype.Font)             {}
func (s *sheet) SetFontColor(drawing.Color)         {}
func (s *sheet) SetFontSize(v float64)              { s.size = v }
func (s *sheet) SetTextRotation(float64)            {}
func (s *sheet) ClearTextRotation()                 {}
func (s *sheet) MoveTo(x, y int)                    { s.move(float64(x), float64(y)) }
func (s *sheet) LineTo(x, y int)                    { s.line(float64(x), float64(y)) }
func (s *sheet) Close()                             { s.path = append(s.path, 'Z') }
func (s *sheet) Stroke()                            { s.emit() }
func (s *sheet) Fill()                              { s.emit() }
func (s *sheet) FillStroke()                        { s.emit() }
func (s *sheet) QuadCurveTo(cx, cy, x, y int)       { s.line(float64(x), float64(y)) }
func (s *sheet) ArcTo(x, y int, _, _, _, _ float64) { s.line(float64(x), float64(y)) }

// tenth rounds a coordinate. What is no number becomes 0, which go-chart's and
// our guards make unreachable.
func tenth(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	if v = math.Round(v*10) / 10; v == 0 {
		return 0 // never -0
	}
	return v
}

func (s *sheet) num(v float64) { s.path = strconv.AppendFloat(s.path, v, 'f', -1, 64) }

func (s *sheet) move(x, y float64) {
	s.x, s.y = tenth(x), tenth(y)
	s.path = append(s.path, 'M')
	s.num(s.x)
	s.path = append(s.path, ' ')
	s.num(s.y)
}

// line draws to x, y by the shortest command; nothing where it already is.
func (s *sheet) line(x, y float64) {
	x, y = tenth(x), tenth(y)
	switch {
	case x == s.x && y == s.y:
	case y == s.y:
		s.path = append(s.path, 'H')
		s.num(x)
	case x == s.x:
		s.path = append(s.path, 'V')
		s.num(y)
	default:
		s.path = append(s.path, 'L')
		s.num(x)
		s.path = append(s.path, ' ')
		s.num(y)
	}
	s.x, s.y = x, y
}

// hidden reports whether what has the present class is left out.
func (s *sheet) hidden() bool {
	return s.class == "" || s.class == classNone || hasClass(s.class, classTickY)
}

func (s *sheet) emit() {
	if len(s.path) > 0 && !s.hidden() {
		fmt.Fprintf(&s.body, "<path class=\"%s\" d=\"%s\"/>\n", escape(s.class), s.path)
	}
	s.path = s.path[:0]
}

// Circle draws a circle, as go-chart names it.
func (s *sheet) Circle(r float64, x, y int) { s.circle(r, float64(x), float64(y)) }

func (s *sheet) circle(r, x, y float64) {
	if !s.hidden() {
		fmt.Fprintf(&s.body, "<circle class=\"%s\" cx=\"%g\" cy=\"%g\" r=\"%g\"/>\n", escape(s.class), tenth(x), tenth(y), tenth(r))
	}
}

// MeasureText returns the width of a text, and for its height that of its
// capital letters, by which axes centre their ticks.
func (s *sheet) MeasureText(body string) gochart.Box {
	return gochart.Box{Right: int(math.Ceil(textWidth(s.font, body, s.size))), Bottom: int(math.Round(0.72 * s.size))}
}

// textWidth is the width of a text in pixels in the font that go-chart brings.
// A page sets it in a font of the reader's, which may be a little wider.
func textWidth(f *truetype.Font, body string, size float64) float64 {
	units := f.FUnitsPerEm()
	var sum int
	for _, r := range body {
		sum += int(f.HMetric(fixed.Int26_6(units), f.Index(r)).AdvanceWidth)
	}
	return float64(sum) * size / float64(units)
}

// Text draws what go-chart places: ticks and names of axes. go-chart gives the
// left end of the text as it measured it; a reader's font has other widths, so
// the text is anchored where go-chart meant it.
func (s *sheet) Text(body string, x, y int) {
	if body == "" || s.class == "" {
		return
	}
	w := s.MeasureText(body).Width()
	switch {
	case hasClass(s.class, classMiddle):
		x += w >> 1
	case hasClass(s.class, classEnd):
		x += w
	}
	p := part{text: body, axis: hasClass(s.class, classTick) || hasClass(s.class, classTickY)}
	s.text(s.class, float64(x), float64(y), p)
}

// text writes one line of text, anchored as its classes say.
func (s *sheet) text(classes string, x, y float64, parts ...part) {
	var keep []string
	for c := range strings.FieldsSeq(classes) {
		if c != classTick && c != classTickY {
			keep = append(keep, c)
		}
	}
	s.body.WriteString("<text")
	if len(parts) == 1 {
		s.mark(parts[0])
	}
	if len(keep) > 0 {
		fmt.Fprintf(&s.body, " class=\"%s\"", escape(strings.Join(keep, " ")))
	}
	fmt.Fprintf(&s.body, " x=\"%g\" y=\"%g\">", tenth(x), tenth(y))
	for _, p := range parts {
		if len(parts) > 1 && p.pointer != "" {
			s.body.WriteString("<tspan")
			s.mark(p)
			s.body.WriteString(">" + escape(p.text) + "</tspan>")
			continue
		}
		s.body.WriteString(escape(p.text))
	}
	s.body.WriteString("</text>\n")
}

func (s *sheet) mark(p part) {
	switch {
	case p.axis:
		s.body.WriteString(` data-axis=""`)
	case p.pointer != "":
		s.body.WriteString(` data-figure="` + reference(s.form.At+p.pointer) + `"`)
	}
}

// Save writes the drawing.
func (s *sheet) Save(w io.Writer) error {
	var o bytes.Buffer
	class := "wide"
	if s.narrow {
		class = "narrow"
	}
	h := s.h
	if s.form.Standalone && s.plan.note != "" {
		h += 22
	}
	o.WriteString("<svg")
	if s.form.Standalone {
		o.WriteString(` xmlns="http://www.w3.org/2000/svg"`)
	}
	fmt.Fprintf(&o, " class=\"chart %s\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\"", class, s.w, h, s.w, h)
	title, desc := "", ""
	if !s.plan.small {
		// Browsers name a drawing by its title without being told; some readers
		// of screens want to be.
		id := escape(s.form.ID + "-" + class)
		fmt.Fprintf(&o, " aria-labelledby=\"%s-t\" aria-describedby=\"%s-d\"", id, id)
		title, desc = fmt.Sprintf(" id=\"%s-t\"", id), fmt.Sprintf(" id=\"%s-d\"", id)
	}
	if s.plan.recorded {
		title += ` data-recorded=""`
	}
	fmt.Fprintf(&o, ">\n<title%s>%s</title>\n<desc%s>%s</desc>\n", title, escape(s.plan.title), desc, escape(s.plan.desc))
	if s.form.Standalone {
		o.WriteString("<style>\n" + styleSheet + "</style>\n")
	}
	if s.form.Standalone {
		fmt.Fprintf(&o, "<path class=\"bg\" d=\"M0 0H%dV%dH0Z\"/>\n", s.w, h)
	}
	o.Write(s.body.Bytes())
	if h > s.h {
		fmt.Fprintf(&o, "<text class=\"e\" x=\"%d\" y=\"%d\">%s</text>\n", s.w-8, h-8, escape(s.plan.note))
	}
	o.WriteString("</svg>\n")
	_, err := w.Write(o.Bytes())
	return err
}

// escape returns text for XML, in an element or between double quotes. What XML
// forbids (XML 1.0, production Char) and what acts on a reader's eyes without
// being seen (controls, formats such as right-to-left override, private use)
// becomes U+FFFD.
func escape(text string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&#34;")
		case r == '\'':
			b.WriteString("&#39;")
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"), unseen(r):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// reference returns text for an attribute that programs read: what [escape] would
// replace is written as a character reference instead, so that nothing is lost
// of text that is [expressible].
func reference(text string) string {
	if plain(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unseen(r) && expressible(string(r)) {
			fmt.Fprintf(&b, "&#%d;", r)
			continue
		}
		b.WriteString(escape(string(r)))
	}
	return b.String()
}

// expressible reports whether text can stand in XML and in HTML without loss:
// it is UTF-8, and has no character that XML 1.0 forbids or that HTML reads as
// another when it is referred to, as it does with the controls.
func expressible(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.Is(unicode.Cc, r) || noncharacter(r)
	})
}

func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '&' || c == '<' || c == '>' || c == '"' || c == '\'' {
			return false
		}
	}
	return true
}

func unseen(r rune) bool {
	return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Variation_Selector) || noncharacter(r)
}

// noncharacter reports whether Unicode assigns r to nobody for ever (Unicode 23.7).
func noncharacter(r rune) bool { return r&0xFFFE == 0xFFFE || r >= 0xFDD0 && r <= 0xFDEF }
