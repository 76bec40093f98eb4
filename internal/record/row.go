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
	server, _, err := member(row, "server")
	if err != nil {
		return "", fmt.Errorf("entry: %w", err)
	}
	raw, ok, err := member(server, "name")
	if err != nil {
		return "", fmt.Errorf("server: %w", err)
	}
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
	case deleted(row):
		return "", ErrDeleted
	}
	return name, nil
}

// deleted reports whether a row says that its version was deleted.
func deleted(row []byte) bool {
	at := json.RawMessage(row)
	for _, name := range []string{"_meta", "io.modelcontextprotocol.registry/official", "status"} {
		var err error
		if at, _, err = member(at, name); err != nil {
			return false
		}
	}
	return string(at) == `"deleted"`
}

// member returns the member of a JSON object with that exact name. It fails on
// anything but an object, and where that member stands twice; what else is wrong
// with the object is not its matter.
func member(raw []byte, name string) (v json.RawMessage, ok bool, err error) {
	err = eachMember(raw, func(n string, value json.RawMessage) error {
		if n != name {
			return nil
		}
		if ok {
			return fmt.Errorf("member %.100q stands twice", n)
		}
		v, ok = value, true
		return nil
	})
	return v, ok, err
}

// Members returns the members of a JSON object by their exact names, which
// encoding/json's structs do not ask for. It fails on anything else, on a member
// that stands twice, and on nesting that encoding/json refuses.
func Members(raw []byte) (map[string]json.RawMessage, error) {
	m := make(map[string]json.RawMessage)
	err := eachMember(raw, func(name string, v json.RawMessage) error {
		if _, ok := m[name]; ok {
			return fmt.Errorf("member %.100q stands twice", name)
		}
		m[name] = v
		return nil
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// eachMember calls f with each member of a JSON object, in order, until it fails.
func eachMember(raw []byte, f func(name string, v json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return errors.New("not an object")
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return err
		}
		name, ok := tok.(string)
		if !ok {
			return errors.New("a member without a name")
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return err
		}
		if err := f(name, v); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("data after the object")
	}
	return nil
}
