package record

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Records are written with sorted member names because the fields of their types
// are sorted; this holds every published type to it, nested ones included.
func TestFieldsAreSorted(t *testing.T) {
	roots := []any{
		Observation{}, ObservationHeader{}, Event{}, Run{}, Body{}, Roster{},
		Tombstone{}, PlanHeader{}, PlanTarget{}, ListingLine{}, ShardHeader{}, Result{}, ShardFooter{}, Capture{},
	}
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(typ.Elem())
			return
		case reflect.Float32, reflect.Float64:
			t.Errorf("a record holds a float: %v", typ)
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[typ] || typ == reflect.TypeFor[Time]() {
			return
		}
		seen[typ] = true
		var names []string
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				t.Errorf("%v.%s has no JSON name", typ, f.Name)
			}
			names = append(names, name)
			walk(f.Type)
		}
		if !slices.IsSorted(names) {
			t.Errorf("%v: JSON names are not sorted: %v", typ, names)
		}
	}
	for _, r := range roots {
		walk(reflect.TypeOf(r))
	}
}

func TestTablesAreWhole(t *testing.T) {
	if !slices.IsSortedFunc(Flags, func(a, b struct {
		Flag  Flag
		Means string
	}) int {
		return strings.Compare(string(a.Flag), string(b.Flag))
	}) {
		t.Error("Flags is not in alphabetical order")
	}
	for _, c := range Classes {
		if c.Means == "" {
			t.Errorf("class %s has no meaning", c.Class)
		}
	}
}
