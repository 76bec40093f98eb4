package canon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how many arrays and objects may be nested in one another. Real
// tool schemas stay below 30; a limit keeps every walk over a document's tree
// from exhausting the stack.
const MaxDepth = 512

// MaxValues is how many values, those inside arrays and objects included, one
// document may have: a hundred for each tool of a list of 10,000. 8 MiB of JSON
// can hold four million, and each costs a tree some hundred bytes.
const MaxValues = 1 << 20

// ErrTooMany is what a *[SyntaxError] wraps that refuses a document for having
// more than [MaxValues] values. That document may be JSON.
var ErrTooMany = fmt.Errorf("more than %d values", MaxValues)

// A Kind says which of the six kinds of JSON value a [Value] is.
type Kind byte

// The kinds. The zero Kind is Null.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String returns the name of k as JSON Schema spells it, such as "boolean".
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return fmt.Sprintf("kind(%d)", byte(k))
}

// A Value is one JSON value, strictly read. Values that [Parse] returned are
// shared freely: nobody changes them. The zero Value is null.
type Value struct {
	Kind    Kind
	Text    string   // String: the decoded text; Number: the literal as sent; Bool: true or false
	Elems   []*Value // Array: the elements, in order
	Members []Member // Object: the members, in document order, names unique
}

// A Member is one member of an object.
type Member struct {
	Name  string // decoded
	Value *Value
}

// Get returns the member of v with that name, or nil if v is nil, is not an
// object, or has no such member. A member that is null gives a Value of kind
// [Null].
func (v *Value) Get(name string) *Value {
	if v == nil {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Name == name {
			return v.Members[i].Value
		}
	}
	return nil
}

// A SyntaxError reports why a text was refused.
type SyntaxError struct {
	Pointer string // JSON Pointer (RFC 6901) to the value or to what holds it; empty at the top
	Offset  int64  // bytes; the fault lies at or after it
	Reason  string // such as `duplicate object member name`
	Err     error  // [ErrTooMany], or nil
}

// Unwrap returns e.Err.
func (e *SyntaxError) Unwrap() error { return e.Err }

func (e *SyntaxError) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason)
	}
	return fmt.Sprintf("invalid JSON at byte %d, in %.100q: %s", e.Offset, e.Pointer, e.Reason)
}

// Parse reads one JSON document. It fails with *[SyntaxError] on everything that
// the package comment lists under "What is refused". It keeps no reference to
// src.
func Parse(src []byte) (*Value, error) {
	p := parser{reader: newReader(src), text: string(src)}
	return p.parse()
}

// parse reads the whole document.
func (p *parser) parse() (*Value, error) {
	v, err := p.value(0)
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return nil, p.fault(err)
	}
	return v, nil
}

// A reader reads the tokens of one document and says what is wrong with it.
type reader struct {
	dec    *jsontext.Decoder
	values int // begun
}

func newReader(src []byte) reader {
	// Given a bytes.Buffer, the decoder reads in place. It does not write to it.
	return reader{dec: jsontext.NewDecoder(bytes.NewBuffer(src))}
}

var errDepth = fmt.Errorf("nesting deeper than %d", MaxDepth)

// count counts the value that is next.
func (r *reader) count() error {
	if r.values == MaxValues {
		return ErrTooMany
	}
	r.values++
	return nil
}

// open reads the start of an array or object that lies in depth others.
func (r *reader) open(depth int) error {
	if depth == MaxDepth {
		return errDepth
	}
	_, err := r.dec.ReadToken()
	return err
}

// end checks that there is nothing after the value read.
func (r *reader) end() error {
	end := r.dec.InputOffset()
	switch _, err := r.dec.ReadToken(); err {
	case io.EOF:
		return nil
	case nil:
		return &SyntaxError{Offset: end, Reason: "more than one value"}
	default:
		return err
	}
}

// fault returns err, which came of reading, as the caller is to see it.
func (r *reader) fault(err error) error {
	switch e := err.(type) {
	case *SyntaxError, *RangeError:
		return err
	case *jsontext.SyntacticError:
		return &SyntaxError{Pointer: string(e.JSONPointer), Offset: e.ByteOffset, Reason: e.Err.Error()}
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	fault := &SyntaxError{Pointer: string(r.dec.StackPointer()), Offset: r.dec.InputOffset(), Reason: err.Error()}
	if errors.Is(err, ErrTooMany) {
		fault.Err = ErrTooMany
	}
	return fault
}

// A parser builds the tree of one document. A document has thousands of small
// values, so they are cut from slabs, and their texts from one copy of the whole.
type parser struct {
	reader
	text    string // the document
	nodes   slab[Value]
	members slab[Member]
	elems   slab[*Value]

	loose       bool     // keeps what ParseLoose keeps
	openMembers []Member // of the objects being read, innermost last
	openElems   []*Value // of the arrays being read, innermost last
}

// value reads the next value, which lies in depth open arrays and objects.
func (p *parser) value(depth int) (*Value, error) {
	if err := p.count(); err != nil {
		return nil, err
	}
	v := &p.nodes.take(1)[0]
	switch kind := p.dec.PeekKind(); kind {
	case '{', '[':
		if err := p.open(depth); err != nil {
			return nil, err
		}
		if kind == '[' {
			return v, p.array(v, depth+1)
		}
		return v, p.object(v, depth+1)
	case '"':
		s, err := p.str()
		v.Kind, v.Text = String, s
		return v, err
	default:
		raw, err := p.scalar()
		if err != nil {
			return nil, err
		}
		switch kind {
		case 'n':
		case 't', 'f':
			v.Kind, v.Text = Bool, raw
		case '0':
			v.Kind, v.Text = Number, raw
		}
		return v, nil
	}
}

// scalar reads the next value, which is not an array or object, and returns its
// text.
func (p *parser) scalar() (string, error) {
	raw, err := p.dec.ReadValue()
	if err != nil {
		return "", err
	}
	end := int(p.dec.InputOffset())
	return p.text[end-len(raw) : end], nil
}

// str reads the next value, which is a string, and decodes it.
func (p *parser) str() (string, error) {
	raw, err := p.scalar()
	if err != nil {
		return "", err
	}
	if p.loose && !utf8.ValidString(raw) {
		return "", errUTF8
	}
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	if p.loose {
		return unquoteLoose(raw), nil
	}
	s, err := jsontext.AppendUnquote(make([]byte, 0, len(raw)), raw)
	return string(s), err
}

func (p *parser) array(v *Value, depth int) error {
	base := len(p.openElems)
	for p.dec.PeekKind() != ']' {
		e, err := p.value(depth)
		if err != nil {
			return err
		}
		p.openElems = append(p.openElems, e)
	}
	v.Kind, v.Elems = Array, p.elems.take(len(p.openElems)-base)
	copy(v.Elems, p.openElems[base:])
	p.openElems = p.openElems[:base]
	_, err := p.dec.ReadToken()
	return err
}

func (p *parser) object(v *Value, depth int) error {
	base := len(p.openMembers)
	for p.dec.PeekKind() != '}' {
		name, err := p.str()
		if err != nil {
			return err
		}
		m, err := p.value(depth)
		if err != nil {
			return err
		}
		p.openMembers = append(p.openMembers, Member{name, m})
	}
	v.Kind, v.Members = Object, p.members.take(len(p.openMembers)-base)
	copy(v.Members, p.openMembers[base:])
	p.openMembers = p.openMembers[:base]
	_, err := p.dec.ReadToken()
	return err
}

// A slab hands out pieces of larger allocations.
type slab[T any] struct {
	free []T
	size int // of the newest allocation
}

// take returns a slice of n zero values that nobody else holds, nil if n is 0.
func (s *slab[T]) take(n int) []T {
	if n == 0 {
		return nil
	}
	if n > len(s.free) {
		s.size = min(max(8, 2*s.size), 1024)
		s.free = make([]T, max(s.size, n))
	}
	piece := s.free[:n:n]
	s.free = s.free[n:]
	return piece
}
