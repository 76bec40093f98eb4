package fleet

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A rawJSON is JSON text that stands as it is.
type rawJSON string

// An object is a JSON object with its members in order.
type object []member

type member struct {
	key   string
	value any // object, list, string, bool or rawJSON
}

// A list is a JSON array.
type list []any

// A style says how one document is laid out. The zero style is compact, with
// members and tools in the order of the document.
type style struct {
	reversed bool // members of every object from last to first
	spaced   bool // white space between tokens
}

// text returns the JSON text of v.
func (s style) text(v any) string {
	var b strings.Builder
	s.write(&b, v)
	return b.String()
}

func (s style) write(b *strings.Builder, v any) {
	space := ""
	if s.spaced {
		space = " "
	}
	switch v := v.(type) {
	case object:
		b.WriteByte('{')
		for i := range v {
			m := v[i]
			if s.reversed {
				m = v[len(v)-1-i]
			}
			if i > 0 {
				b.WriteString("," + space)
			}
			b.WriteString(quote(m.key) + ":" + space)
			s.write(b, m.value)
		}
		b.WriteByte('}')
	case list:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteString("," + space)
			}
			s.write(b, e)
		}
		b.WriteByte(']')
	case string:
		b.WriteString(quote(v))
	case bool:
		if v {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	case rawJSON:
		b.WriteString(string(v))
	}
}

// quote returns s as a JSON string; <, > and & stand as they are.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // a string always has a form
	return strings.TrimSuffix(b.String(), "\n")
}

// listOf returns s as a list.
func listOf(s []string) list {
	l := make(list, len(s))
	for i, v := range s {
		l[i] = v
	}
	return l
}
