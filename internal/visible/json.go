package visible

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// JSON returns JSON text in which the characters that [Text] would show as chips
// are written as escapes, which mean the same to whoever reads it as JSON. Only
// within strings can there be any; white space between tokens stays.
func JSON(b []byte) []byte {
	if plain(string(b)) {
		return b
	}
	var out strings.Builder
	for p := range Pieces(string(b)) {
		if !p.Hidden {
			out.WriteString(p.Text)
			continue
		}
		for _, r := range p.Text {
			if r > 0xFFFF {
				hi, lo := utf16.EncodeRune(r)
				fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
			} else {
				fmt.Fprintf(&out, `\u%04x`, r)
			}
		}
	}
	return []byte(out.String())
}
