// Package wire reads what MCP servers sent, independently of the program under
// test: which bytes answered a request, and how two tool lists differ.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// A Message is a JSON-RPC message, as far as this package needs it.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// Answer finds the response to the request with the given id in a body, JSON or
// an event stream. end is how many bytes of the body it takes: up to the blank
// line that ends the answering event, or all of a JSON body.
func Answer(body []byte, stream bool, id json.RawMessage) (m Message, end int, err error) {
	if !stream {
		if err := json.Unmarshal(body, &m); err != nil {
			return m, 0, fmt.Errorf("reading a JSON answer: %w", err)
		}
		return m, len(body), nil
	}
	var data []byte
	for end < len(body) {
		line := body[end:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		end += len(line)
		line = bytes.TrimRight(line, "\r\n")
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(rest, []byte(" "))...), '\n')
		}
		if len(line) > 0 {
			continue
		}
		m = Message{}
		if json.Unmarshal(data, &m) == nil && m.Method == "" && bytes.Equal(m.ID, id) {
			return m, end, nil
		}
		data = nil
	}
	return Message{}, 0, fmt.Errorf("reading an event stream of %d bytes: no answer to request %s", len(body), id)
}

// A List is a tools/list result.
type List struct {
	Tools []map[string]any
	More  bool // it has a further page
}

// Tools reads the result of tools/list. Numbers keep their text.
func Tools(result json.RawMessage) (List, error) {
	var r struct {
		Tools      []map[string]any `json:"tools"`
		NextCursor *string          `json:"nextCursor"`
	}
	d := json.NewDecoder(bytes.NewReader(result))
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		return List{}, fmt.Errorf("reading a tools/list result: %w", err)
	}
	return List{Tools: r.Tools, More: r.NextCursor != nil}, nil
}

// A Change is what happened to one tool.
type Change struct {
	Kind    string   `json:"kind"` // added, removed, changed
	Members []string `json:"members,omitempty"`
	Name    string   `json:"name"`
}

// Compare returns the changes between two lists whose tools have different
// names, sorted by name. Members of a changed tool are sorted.
func Compare(old, new List) []Change {
	before, after := byName(old), byName(new)
	var all []Change
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			all = append(all, Change{Kind: "removed", Name: name})
		} else if m := differing(before[name], after[name]); len(m) > 0 {
			all = append(all, Change{Kind: "changed", Name: name, Members: m})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[name]; !ok {
			all = append(all, Change{Kind: "added", Name: name})
		}
	}
	slices.SortStableFunc(all, func(a, b Change) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return all
}

func byName(l List) map[string]map[string]any {
	m := map[string]map[string]any{}
	for _, t := range l.Tools {
		name, _ := t["name"].(string)
		m[name] = t
	}
	return m
}

// differing returns the members whose values differ, sorted.
func differing(old, new map[string]any) []string {
	var names []string
	all := maps.Clone(old)
	maps.Copy(all, new)
	for name := range all {
		a, inOld := old[name]
		b, inNew := new[name]
		if inOld != inNew || !reflect.DeepEqual(a, b) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
