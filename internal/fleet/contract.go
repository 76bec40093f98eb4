package fleet

import (
	"slices"
	"strconv"
	"strings"
)

// A contract is what a server lists. It is never changed once it stands in a
// state; edits work on a clone.
type contract struct {
	tools  []tool
	layout style
	mirror bool // tools from last to first
}

// A tool is one tool in a form that edits can work on.
type tool struct {
	name, title, desc string
	params            []param
	closed            bool // additionalProperties is false
	output            []param
	hints             []hint
	pair              []string // if not empty, a parameter "pair" whose prefixItems are these types
}

// A param is one property of a schema.
type param struct {
	name, typ, desc string
	required        bool
	enum            []string
	min, max        string // number texts; empty if unbounded
	union           string // a second type; empty for one type only
}

// A hint is one member of a tool's annotations.
type hint struct {
	key   string
	value any // bool or string
}

func (c *contract) clone() *contract {
	d := *c
	d.tools = slices.Clone(c.tools)
	for i := range d.tools {
		t := &d.tools[i]
		t.params, t.output = cloneParams(t.params), cloneParams(t.output)
		t.hints, t.pair = slices.Clone(t.hints), slices.Clone(t.pair)
	}
	return &d
}

func cloneParams(p []param) []param {
	p = slices.Clone(p)
	for i := range p {
		p[i].enum = slices.Clone(p[i].enum)
	}
	return p
}

// list returns the result of tools/list.
func (c *contract) list() string { return c.pages(len(c.tools))[0] }

// pages returns the results of tools/list with at most size tools a page. The
// cursor of page i, counted from 0, is page-i.
func (c *contract) pages(size int) []string {
	l := make(list, 0, len(c.tools))
	for _, t := range c.tools {
		l = append(l, t.object())
	}
	if c.mirror {
		slices.Reverse(l)
	}
	size = max(1, size)
	var out []string
	for i := 0; i == 0 || i < len(l); i += size {
		end := min(i+size, len(l))
		page := object{{"tools", l[i:end]}}
		if end < len(l) {
			page = append(page, member{"nextCursor", cursorOf(len(out) + 1)})
		}
		out = append(out, c.layout.text(page))
	}
	return out
}

// cursorOf returns the cursor of page i.
func cursorOf(i int) string { return "page-" + strconv.Itoa(i) }

// plain returns the contract as versions of the protocol before 2025-06-18 have
// it: without titles and output schemas.
func (c *contract) plain() *contract {
	d := c.clone()
	for i := range d.tools {
		d.tools[i].title, d.tools[i].output = "", nil
	}
	return d
}

func (t tool) object() object {
	o := object{{"name", t.name}}
	if t.title != "" {
		o = append(o, member{"title", t.title})
	}
	if t.desc != "" {
		o = append(o, member{"description", t.desc})
	}
	o = append(o, member{"inputSchema", t.input()})
	if len(t.output) > 0 {
		o = append(o, member{"outputSchema", schemaOf(t.output)})
	}
	if len(t.hints) > 0 {
		o = append(o, member{"annotations", t.annotations()})
	}
	return o
}

func (t tool) annotations() object {
	var a object
	for _, h := range t.hints {
		a = append(a, member(h))
	}
	return a
}

func (t tool) input() object {
	o := schemaOf(t.params)
	if len(t.pair) > 0 {
		var items list
		for _, typ := range t.pair {
			items = append(items, object{{"type", typ}})
		}
		pair := object{{"type", "array"}, {"description", "A pair, in this order"}, {"prefixItems", items}}
		props, _ := o[1].value.(object)
		o[1].value = append(props, member{"pair", pair})
	}
	if t.closed {
		o = append(o, member{"additionalProperties", false})
	}
	return o
}

// schemaOf returns the schema of an object with these properties.
func schemaOf(params []param) object {
	props := object{}
	var required []string
	for _, p := range params {
		props = append(props, member{p.name, p.schema()})
		if p.required {
			required = append(required, p.name)
		}
	}
	o := object{{"type", "object"}, {"properties", props}}
	if len(required) > 0 {
		o = append(o, member{"required", listOf(required)})
	}
	return o
}

func (p param) schema() object {
	var o object
	switch elem, isArray := strings.CutSuffix(p.typ, "[]"); {
	case isArray:
		o = object{{"type", "array"}, {"items", object{{"type", elem}}}}
	case p.union != "":
		o = object{{"type", list{p.typ, p.union}}}
	default:
		o = object{{"type", p.typ}}
	}
	if p.desc != "" {
		o = append(o, member{"description", p.desc})
	}
	if len(p.enum) > 0 {
		o = append(o, member{"enum", listOf(p.enum)})
	}
	if p.min != "" {
		o = append(o, member{"minimum", rawJSON(p.min)})
	}
	if p.max != "" {
		o = append(o, member{"maximum", rawJSON(p.max)})
	}
	return o
}
