package drift

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
)

// A walker lists the places at which a tool differs, and the texts there. Its
// recursion is bounded by the nesting that canon.Parse admits, and it compares
// every value once, but for the ends of pointers that are too long.
type walker struct {
	v1     *summer
	places []Place
	cut    bool // there was no room for another place
}

// walk lists where what stands at path differs, and reports whether it does.
func (w *walker) walk(path string, old, new *canon.Value) bool {
	switch {
	case old == nil || new == nil || old.Kind != new.Kind:
		return w.place(path, old, new)
	case w.cut:
		return !strict.same(old, new)
	case old.Kind == canon.Object:
		return w.object(path, old, new)
	case old.Kind == canon.Array:
		return w.array(path, old, new)
	}
	return old.Text != new.Text && w.place(path, old, new)
}

func (w *walker) object(path string, old, new *canon.Value) bool {
	start := *w
	differs := false
	for _, p := range pairMembers(old, new) {
		pointer := appendPointer(path, p.Path)
		if len(pointer) <= MaxPointer {
			differs = w.walk(pointer, p.Old, p.New) || differs
		} else if !strict.same(p.Old, p.New) {
			*w = start
			return w.place(path, old, new)
		}
	}
	return differs
}

// array tells two arrays as one place when their elements can't be told apart by
// their index, because some were put in, taken out or moved, and when they hold
// nothing but scalars, as required and enum do.
func (w *walker) array(path string, old, new *canon.Value) bool {
	if len(old.Elems) != len(new.Elems) {
		return w.place(path, old, new)
	}
	nested := func(v *canon.Value) bool { return v.Kind == canon.Array || v.Kind == canon.Object }
	flat := !slices.ContainsFunc(old.Elems, nested) && !slices.ContainsFunc(new.Elems, nested)
	if flat || len(path)+len("/999999999") > MaxPointer {
		return !strict.same(old, new) && w.place(path, old, new)
	}
	start := *w
	var differ []int
	for i := range old.Elems {
		if w.walk(path+"/"+strconv.Itoa(i), old.Elems[i], new.Elems[i]) {
			differ = append(differ, i)
		}
	}
	if w.moved(old.Elems, new.Elems, differ) {
		*w = start
		return w.place(path, old, new)
	}
	return len(differ) > 0
}

// moved reports whether two lists of elements, which differ at some indices,
// hold the same ones in another order. Order inside the elements doesn't count:
// where only that differs, nothing was moved.
func (w *walker) moved(old, new []*canon.Value, differ []int) bool {
	return slices.ContainsFunc(differ, func(i int) bool { return w.v1.sum(old[i]) != w.v1.sum(new[i]) }) &&
		w.v1.array(old, true) == w.v1.array(new, true)
}

// place lists one place, if there is room. It returns true, for a difference.
func (w *walker) place(path string, old, new *canon.Value) bool {
	if len(w.places) == MaxPlaces {
		w.cut = true
	} else {
		w.places = append(w.places, Place{path, old, new})
	}
	return true
}

// addPlaces lists what w found, and the texts there.
func (t *ToolDiff) addPlaces(w *walker) {
	t.Places, t.PathsCut = w.places, w.cut
	for _, p := range w.places {
		t.Paths = append(t.Paths, p.Path)
		switch {
		case p.Old == nil:
			t.addTexts(p.Path, p.New, false)
		case p.New == nil:
			t.addTexts(p.Path, p.Old, true)
		case p.Old.Kind == canon.String && p.New.Kind == canon.String:
			t.addText(TextChange{p.Path, p.Old.Text, p.New.Text})
		}
	}
}

// addTexts lists the texts in v, which stands on one side only: old or new.
func (t *ToolDiff) addTexts(path string, v *canon.Value, old bool) {
	if len(t.Texts) == MaxPlaces || len(path) > MaxPointer {
		return
	}
	switch v.Kind {
	case canon.String:
		if old {
			t.addText(TextChange{path, v.Text, ""})
		} else {
			t.addText(TextChange{path, "", v.Text})
		}
	case canon.Array:
		for i, e := range v.Elems {
			t.addTexts(path+"/"+strconv.Itoa(i), e, old)
		}
	case canon.Object:
		for _, m := range sortedMembers(v) {
			t.addTexts(appendPointer(path, m.Name), m.Value, old)
		}
	}
}

// addText lists c if it is text for people or models rather than schema.
func (t *ToolDiff) addText(c TextChange) {
	inSchema := inside(c.Path, "/inputSchema") || inside(c.Path, "/outputSchema")
	last := c.Path[strings.LastIndexByte(c.Path, '/')+1:]
	if inSchema && last != "title" && last != "description" || c.Before == c.After || len(t.Texts) == MaxPlaces {
		return
	}
	t.Texts = append(t.Texts, c)
}

// inside reports whether path is at or below the place that pointer names.
func inside(path, pointer string) bool {
	rest, ok := strings.CutPrefix(path, pointer)
	return ok && (rest == "" || rest[0] == '/')
}

// pairMembers returns the members of two objects by name, sorted by code point.
// Path is the name itself, not a pointer.
func pairMembers(old, new *canon.Value) []Place {
	a, b := sortedMembers(old), sortedMembers(new)
	var pairs []Place
	for len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			pairs = append(pairs, Place{a[0].Name, a[0].Value, nil})
			a = a[1:]
		case len(a) == 0 || b[0].Name < a[0].Name:
			pairs = append(pairs, Place{b[0].Name, nil, b[0].Value})
			b = b[1:]
		default:
			pairs = append(pairs, Place{a[0].Name, a[0].Value, b[0].Value})
			a, b = a[1:], b[1:]
		}
	}
	return pairs
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// appendPointer returns the JSON Pointer to the member of that name at path.
func appendPointer(path, name string) string { return path + "/" + pointerEscape.Replace(name) }
