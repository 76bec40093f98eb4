package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the length in bytes beyond which a registry name is not taken for
// one; the registry's own bound is 200 characters.
const MaxName = 500

// ErrDeleted is what [RowName] says of a version that the registry marks as
// deleted: its row names nobody.
var ErrDeleted = errors.New("status: deleted")

// RowName returns the server name in a registry row: the identity of a target.
// The error says why a row has none that could be one, which must be a string,
// not empty, of at most [MaxName] bytes, without control or replacement
// characters; it is [ErrDeleted] for a version that was deleted. What else is wrong with a row does not lose its name.
func RowName(row []byte) (string, error) {
	m, err := Members(row)
	if err != nil {
		return "", fmt.Errorf("entry: %w", err)
	}
	server, err := Members(m["server"])
	if err != nil {
		return "", fmt.Errorf("server: %w", err)
	}
	raw, ok := server["name"]
	var name string
	switch {
	case !ok:
		return "", errors.New("name: not there")
	case json.Unmarshal(raw, &name) != nil || name == "":
		return "", errors.New("name: not a string, or empty")
	case len(name) > MaxName:
		return "", fmt.Errorf("name: longer than %d bytes", MaxName)
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }):
		return "", errors.New("name: control or replacement characters")
	case deleted(m["_meta"]):
		return "", ErrDeleted
	}
	return name, nil
}

// deleted reports whether a row's _meta says that the version was deleted.
func deleted(meta json.RawMessage) bool {
	m, err := Members(meta)
	if err != nil {
		return false
	}
	official, err := Members(m["io.modelcontextprotocol.registry/official"])
	return err == nil && string(official["status"]) == `"deleted"`
}

// Members returns the members of a JSON object by their exact names, which
// encoding/json's structs do not ask for. It fails on anything else, on a member
// that stands twice, and on nesting that encoding/json refuses.
func Members(raw []byte) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	m := make(map[string]json.RawMessage)
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := tok.(string)
		if !ok {
			return nil, errors.New("a member without a name")
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		if _, ok := m[name]; ok {
			return nil, fmt.Errorf("member %.100q stands twice", name)
		}
		m[name] = v
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("data after the object")
	}
	return m, nil
}
