package site

import "strings"

// where says in words to what place of a tool a JSON Pointer leads: "description",
// "parameter query: description". Names in it are recorded text. A place that has
// no such words is told by the pointer.
func where(pointer string) string {
	if pointer == "" {
		return "the whole entry"
	}
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	switch head := parts[0]; {
	case len(parts) == 1 && head == "inputSchema":
		return "input schema"
	case len(parts) == 1 && head == "outputSchema":
		return "output schema"
	case len(parts) == 1:
		return head
	case head == "annotations" && len(parts) == 2:
		return "annotation " + parts[1]
	case head == "inputSchema":
		if s, ok := inSchema("input schema", "parameter", parts[1:]); ok {
			return s
		}
	case head == "outputSchema":
		if s, ok := inSchema("output schema", "result", parts[1:]); ok {
			return s
		}
	}
	return pointer
}

// inSchema words a place inside a schema. It knows the way through properties,
// items and definitions; the second result is false off that way.
func inSchema(whole, property string, parts []string) (string, bool) {
	var path strings.Builder
	first := property
	i := 0
walk:
	for i < len(parts) {
		next := i + 1
		switch {
		case parts[i] == "items":
			path.WriteString("[]")
		case parts[i] == "additionalProperties" && next < len(parts):
			path.WriteString("[any name]")
		case next < len(parts) && parts[i] == "properties":
			if path.Len() > 0 {
				path.WriteString(" › ")
			}
			path.WriteString(parts[next])
			i++
		case next < len(parts) && i == 0 && (parts[i] == "$defs" || parts[i] == "definitions"):
			first = "definition"
			path.WriteString(parts[next])
			i++
		default:
			break walk
		}
		i++
	}
	rest := strings.Join(parts[i:], "/")
	if len(parts)-i > 1 || i < len(parts) && rest == "properties" && path.Len() > 0 {
		return "", false
	}
	switch {
	case path.Len() == 0:
		return whole + ": " + rest, true
	case rest == "":
		return first + " " + path.String(), true
	}
	return first + " " + path.String() + ": " + rest, true
}
