package canon

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// A copier writes the canonical form of a document while it reads it: each array
// or object in the document's order first, put right when it ends. [AppendV1] and
// [AppendV2] are the same rules for a tree; fuzzing holds the two together.
type copier struct {
	reader
	writer
	v2 bool
}

// value copies the next value, which lies in depth open arrays and objects.
func (c *copier) value(depth int) error {
	if err := c.count(); err != nil {
		return err
	}
	kind := c.dec.PeekKind()
	switch kind {
	case '{', '[':
		if err := c.open(depth); err != nil {
			return err
		}
		if kind == '[' {
			return c.array(depth + 1)
		}
		return c.object(depth + 1)
	}
	raw, err := c.dec.ReadValue()
	switch {
	case err != nil:
		return err
	case kind == '"':
		return c.str(raw)
	case kind == '0' && c.v2:
		var ok bool
		if c.dst, ok = appendNumber(c.dst, string(raw)); !ok {
			return &RangeError{Pointer: string(c.dec.StackPointer()), Number: string(raw)}
		}
	default:
		c.dst = append(c.dst, raw...)
	}
	return nil
}

// str copies a string. Without escapes it is canonical as it is.
func (c *copier) str(raw []byte) error {
	if bytes.IndexByte(raw, '\\') < 0 {
		c.dst = append(c.dst, raw...)
		return nil
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	c.dst = appendString(c.dst, string(text))
	return err
}

func (c *copier) array(depth int) error {
	base, objects := len(c.spans), true
	c.dst = append(c.dst, '[')
	for {
		kind := c.dec.PeekKind()
		if kind == ']' {
			break
		}
		if len(c.spans) > base {
			c.dst = append(c.dst, ',')
		}
		objects = objects && kind == '{'
		from := len(c.dst)
		if err := c.value(depth); err != nil {
			return err
		}
		c.spans = append(c.spans, span{from: from, to: len(c.dst)})
	}
	if objects && !c.v2 {
		c.reorder(c.spans[base:], c.byText)
	}
	c.spans = c.spans[:base]
	c.dst = append(c.dst, ']')
	_, err := c.dec.ReadToken()
	return err
}

func (c *copier) object(depth int) error {
	base := len(c.spans)
	c.dst = append(c.dst, '{')
	for c.dec.PeekKind() != '}' {
		if len(c.spans) > base {
			c.dst = append(c.dst, ',')
		}
		from := len(c.dst)
		name, err := c.dec.ReadValue()
		if err != nil {
			return err
		}
		if err := c.str(name); err != nil {
			return err
		}
		colon := len(c.dst)
		c.dst = append(c.dst, ':')
		if err := c.value(depth); err != nil {
			return err
		}
		c.spans = append(c.spans, span{from: from, to: len(c.dst), colon: colon})
	}
	c.reorder(c.spans[base:], c.byName)
	c.spans = c.spans[:base]
	c.dst = append(c.dst, '}')
	_, err := c.dec.ReadToken()
	return err
}

// byName compares the names of two members.
func (c *copier) byName(a, b span) int {
	x, y := c.name(a), c.name(b)
	if c.v2 {
		return compareUTF16(x, y)
	}
	return bytes.Compare(x, y)
}

// name returns the name of the member at s, decoded: an escape sorts as what it
// stands for.
func (c *copier) name(s span) []byte {
	raw := c.dst[s.from:s.colon]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // str wrote it, so it is valid
	return text
}
