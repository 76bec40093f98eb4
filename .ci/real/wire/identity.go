package wire

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Identity returns the v1 identity of a list: SHA-256 over its tools, keys
// sorted, no white space, each array of objects sorted by its elements' text,
// numbers as sent (methodology v1, "Canonicalisation").
func (l List) Identity() string {
	var all []any
	for _, t := range l.Tools {
		all = append(all, t)
	}
	sum := sha256.Sum256([]byte(canonical(all)))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Ordered returns the v2 identity of a list: SHA-256 over the array of its tools'
// RFC 8785 texts, sorted by name and then by text. All names here are ASCII, and
// all numbers such that the shortest text of a float64 is theirs.
func (l List) Ordered() string {
	tools := slices.Clone(l.Tools)
	slices.SortFunc(tools, func(a, b map[string]any) int {
		x, _ := a["name"].(string)
		y, _ := b["name"].(string)
		return cmp.Or(strings.Compare(x, y), strings.Compare(inOrder(a), inOrder(b)))
	})
	var texts []string
	for _, t := range tools {
		texts = append(texts, inOrder(t))
	}
	sum := sha256.Sum256([]byte("[" + strings.Join(texts, ",") + "]"))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// inOrder writes a decoded value in the v2 form.
func inOrder(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var members []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			members = append(members, quote(name)+":"+inOrder(v[name]))
		}
		return "{" + strings.Join(members, ",") + "}"
	case []any:
		var elems []string
		for _, e := range v {
			elems = append(elems, inOrder(e))
		}
		return "[" + strings.Join(elems, ",") + "]"
	case json.Number:
		f, _ := v.Float64() // 0 for what is no float64, and then the digests differ
		b, _ := json.Marshal(f)
		return string(b)
	default:
		return canonical(v)
	}
}

// canonical writes a decoded value in the v1 form. Its recursion is bounded by
// encoding/json, which refuses deeper documents.
func canonical(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var members []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			members = append(members, quote(name)+":"+canonical(v[name]))
		}
		return "{" + strings.Join(members, ",") + "}"
	case []any:
		var elems []string
		objects := true
		for _, e := range v {
			elems = append(elems, canonical(e))
			_, ok := e.(map[string]any)
			objects = objects && ok
		}
		if objects {
			slices.Sort(elems)
		}
		return "[" + strings.Join(elems, ",") + "]"
	case json.Number:
		return v.String()
	case string:
		return quote(v)
	case bool:
		if v {
			return "true"
		}
		return "false"
	default:
		return "null"
	}
}

// quote writes a string with only the escapes that JSON needs. encoding/json
// escapes two line separators more.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	text := strings.TrimSuffix(b.String(), "\n")
	if strings.ContainsAny(s, "\u2028\u2029") {
		var parts []string
		for part := range strings.SplitSeq(text, `\\`) { // an escaped backslash begins no escape
			part = strings.ReplaceAll(part, `\u2028`, "\u2028")
			parts = append(parts, strings.ReplaceAll(part, `\u2029`, "\u2029"))
		}
		text = strings.Join(parts, `\\`)
	}
	return text
}
