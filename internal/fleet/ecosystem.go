package fleet

import (
	_ "embed" // for ecosystem.txt
	"fmt"
	"strings"
)

//go:embed ecosystem.txt
var ecosystemText string

// A domain is a subject that servers are about.
type domain struct {
	slug, title, about string
	tools              []tool
}

// ecosystem reads the domains, in the order of the file.
func ecosystem() ([]domain, error) {
	var out []domain
	for i, line := range strings.Split(ecosystemText, "\n") {
		if line == "" || line[0] == '#' || line[0] == ' ' && out == nil {
			continue
		}
		var err error
		if head, ok := strings.CutPrefix(line, "= "); ok {
			out = append(out, parseDomain(head))
		} else if len(out) == 0 {
			err = fmt.Errorf("no domain yet")
		} else {
			err = out[len(out)-1].parse(line)
		}
		if err != nil {
			return nil, fmt.Errorf("reading ecosystem.txt line %d: %w", i+1, err)
		}
	}
	return out, nil
}

func parseDomain(head string) domain {
	slug, rest, _ := strings.Cut(head, ": ")
	title, about, _ := strings.Cut(rest, " | ")
	return domain{slug: slug, title: title, about: about}
}

// parse reads a line of the domain: a tool, a parameter or a member of an answer.
func (d *domain) parse(line string) error {
	if head, ok := strings.CutPrefix(line, "- "); ok {
		sig, desc, ok := strings.Cut(head, ": ")
		name, effect, ok2 := strings.Cut(strings.TrimSuffix(sig, ")"), " (")
		if !ok || !ok2 {
			return fmt.Errorf("%q is no tool", line)
		}
		d.tools = append(d.tools, tool{name: name, title: titleOf(name), desc: desc, hints: hintsOf(effect)})
		return nil
	}
	if len(d.tools) == 0 {
		return fmt.Errorf("no tool yet")
	}
	t := &d.tools[len(d.tools)-1]
	p, err := parseParam(strings.TrimLeft(line, " >"))
	if strings.HasPrefix(line, "> ") {
		p.required = true
		t.output = append(t.output, p)
	} else {
		t.params = append(t.params, p)
	}
	return err
}

func parseParam(s string) (param, error) {
	name, rest, ok := strings.Cut(s, " ")
	typ, rest, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 {
		return param{}, fmt.Errorf("%q is no parameter", s)
	}
	p := param{name: strings.TrimSuffix(name, "!"), typ: typ, desc: rest, required: strings.HasSuffix(name, "!")}
	switch typ {
	case "enum":
		values, desc, _ := strings.Cut(rest, " ")
		p.typ, p.enum, p.desc = "string", strings.Split(values, ","), desc
	case "integer", "number":
		bounds, desc, _ := strings.Cut(rest, " ")
		if lo, hi, ok := strings.Cut(bounds, ".."); ok {
			p.min, p.max, p.desc = lo, hi, desc
		}
	case "string", "boolean", "string[]":
	default:
		return param{}, fmt.Errorf("%q is no type", typ)
	}
	return p, nil
}

// titleOf returns get_forecast as Get forecast.
func titleOf(name string) string {
	s := strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(s[:1]) + s[1:]
}

// hintsOf returns the annotations of a tool by its effect: ro, rw or del.
func hintsOf(effect string) []hint {
	switch effect {
	case "ro":
		return []hint{{"readOnlyHint", true}, {"openWorldHint", true}}
	case "del":
		return []hint{{"readOnlyHint", false}, {"destructiveHint", true}}
	default:
		return []hint{{"readOnlyHint", false}, {"destructiveHint", false}, {"idempotentHint", false}}
	}
}
