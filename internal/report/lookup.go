package report

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Lookup returns the value at a JSON Pointer (RFC 6901) into the report, as it
// stands in Go, and nil for a null. It fails on a pointer to nowhere, a member
// that the JSON form omits included. Its cost is that of the path, whatever the size of the report.
func (r *Report) Lookup(pointer string) (any, error) {
	return lookup(reflect.ValueOf(r), pointer)
}

// lookup returns the value at a pointer below v.
func lookup(v reflect.Value, pointer string) (any, error) {
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok && pointer != "" {
		return nil, fmt.Errorf("looking up %q: a pointer begins with a slash", pointer)
	}
	for ok {
		var token string
		token, rest, ok = strings.Cut(rest, "/")
		token, err := unescape(token)
		if err == nil {
			v, err = step(v, token)
		}
		if err != nil {
			return nil, fmt.Errorf("looking up %q: %w", pointer, err)
		}
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	}
	return v.Interface(), nil
}

// Pointer returns the JSON Pointer whose tokens are path: strings and integers.
func Pointer(path ...any) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteByte('/')
		b.WriteString(escaper.Replace(fmt.Sprint(p)))
	}
	return b.String()
}

// escaper writes a token as RFC 6901, section 3, has it.
var escaper = strings.NewReplacer("~", "~0", "/", "~1")

func unescape(token string) (string, error) {
	for i := 0; i < len(token); i++ {
		if token[i] == '~' && (i+1 == len(token) || token[i+1] != '0' && token[i+1] != '1') {
			return "", fmt.Errorf("%q has a ~ that escapes nothing", token)
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"), nil
}

// marshaler is what a type implements that is no object in JSON whatever it is in
// Go, such as a time.
var marshaler = reflect.TypeFor[json.Marshaler]()

// step returns the value of one token below v.
func step(v reflect.Value, token string) (reflect.Value, error) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return v, fmt.Errorf("a null has no %q", token)
		}
		v = v.Elem()
	}
	var found reflect.Value
	switch v.Kind() {
	case reflect.Struct:
		found = member(v, token)
	case reflect.Map:
		found = v.MapIndex(reflect.ValueOf(token).Convert(v.Type().Key()))
	case reflect.Slice, reflect.Array:
		if i, err := strconv.Atoi(token); err == nil && strconv.Itoa(i) == token && i >= 0 && i < v.Len() {
			found = v.Index(i)
		}
	}
	if !found.IsValid() {
		return v, fmt.Errorf("a %v has no %q", v.Type(), token)
	}
	return found, nil
}

// A field is where a member of a struct stands.
type field struct {
	index          []int // as reflect.Value.FieldByIndex takes it
	empty, zeroing bool  // tagged omitempty, omitzero
}

// fields are the members of each struct of what is published that is an object in
// JSON, by name: the types say it once and for all, and reading tags at each
// look-up costs ten times as much.
var fields = sync.OnceValue(func() map[reflect.Type]map[string]field {
	return fieldsOf(reflect.TypeFor[Published](), map[reflect.Type]map[string]field{})
})

// fieldsOf adds the members of the structs in a type to known, and returns it.
func fieldsOf(t reflect.Type, known map[reflect.Type]map[string]field) map[reflect.Type]map[string]field {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return fieldsOf(t.Elem(), known)
	case reflect.Struct:
	default:
		return known
	}
	if _, ok := known[t]; ok || t.Implements(marshaler) {
		return known
	}
	members := map[string]field{}
	known[t] = members
	for i := range t.NumField() {
		f := t.Field(i)
		fieldsOf(f.Type, known)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			for name, m := range known[f.Type] {
				members[name] = field{append([]int{i}, m.index...), m.empty, m.zeroing}
			}
			continue
		}
		members[name] = field{[]int{i}, options == "omitempty", options == "omitzero"}
	}
	return known
}

// member returns the field of a struct with that JSON name, and the zero Value
// where there is none or the JSON form omits it.
func member(v reflect.Value, name string) reflect.Value {
	f, ok := fields()[v.Type()][name]
	if !ok {
		return reflect.Value{}
	}
	m := v.FieldByIndex(f.index)
	if f.empty && isEmpty(m) || f.zeroing && m.IsZero() {
		return reflect.Value{}
	}
	return m
}

// isEmpty reports whether encoding/json omits a value that is tagged omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		return false
	case reflect.Slice, reflect.Map, reflect.Array:
		return v.Len() == 0
	}
	return v.IsZero()
}
