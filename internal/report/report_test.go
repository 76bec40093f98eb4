package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/fleet"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// demo records some days of a small fleet with the real pipeline, and returns the
// data folder.
func demo(t *testing.T, days, servers int) string {
	t.Helper()
	root := t.TempDir()
	if err := gitrepo.Init(root); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	f, err := fleet.Start(ctx, fleet.Config{Seed: 1, Servers: servers, Days: days, Hang: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data := filepath.Join(root, "data")
	for n := range days {
		if err := f.SetDay(n); err != nil {
			t.Fatal(err)
		}
		_, err := daily.Run(ctx, daily.Config{
			Data: data, Registry: f.RegistryURL(), Timeout: time.Second, AllowPrivate: true, Version: "0", UserAgent: "test",
			Clock: daily.FastClockAt(f.Day(n).Time().Add(3 * time.Hour)), Simulated: true, Seed: func() int64 { return int64(n) },
			Log: func(string) {},
		})
		if err != nil {
			t.Fatalf("recording day %d: %v", n, err)
		}
	}
	return data
}

// Over servers that change, fail and are hostile: every number of the JSON form is
// found by its pointer and can be written, and only the dated files are read.
func TestDemoReport(t *testing.T) {
	if testing.Short() {
		t.Skip("records days over loopback")
	}
	data := demo(t, 6, 60)
	r, err := Build(archive.Open(os.DirFS(data)), "v1")
	if err != nil {
		t.Fatal(err)
	}
	if r.Population.Changes == 0 || len(r.Servers) < 60 || len(r.Calendar) != 6 || r.HalfLife.Intervals == 0 || !r.Simulated {
		t.Fatalf("the demo is too quiet: %+v", r.Population)
	}
	b := record.File(r)
	if n := checkPointers(t, r, b); n < 1000 {
		t.Errorf("only %d numbers were looked up", n)
	}
	for _, dir := range []string{"current", "contracts", "artifacts", "roster/rows", "roster/order.txt", "timing.csv"} {
		if err := os.RemoveAll(filepath.Join(data, record.Series, dir)); err != nil {
			t.Fatal(err)
		}
	}
	dated, err := Build(archive.Open(os.DirFS(data)), "v1")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, record.File(dated)) {
		t.Error("the report differs without the files that are rewritten")
	}
}

// checkPointers looks up every value of the JSON form, and returns how many
// numbers there were.
func checkPointers(t *testing.T, r interface{ Lookup(string) (any, error) }, b []byte) int {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	numbers := 0
	var walk func(v any, path []any)
	walk = func(v any, path []any) {
		p := Pointer(path...)
		got, err := r.Lookup(p)
		if err != nil {
			t.Errorf("Lookup(%q): %v", p, err)
			return
		}
		switch v := v.(type) {
		case map[string]any:
			for name, m := range v {
				walk(m, append(slices.Clip(path), name))
			}
		case []any:
			for i, m := range v {
				walk(m, append(slices.Clip(path), i))
			}
		case nil:
			if got != nil && !reflect.ValueOf(got).IsZero() {
				t.Errorf("Lookup(%q) = %v, want nil", p, got)
			}
		case json.Number:
			numbers++
			if text, err := Text(got); err != nil || text == "" || text == Dash {
				t.Errorf("Text(Lookup(%q)) = %q, %v", p, text, err)
			}
			if want, _ := v.Float64(); fmt.Sprint(reflect.ValueOf(got).Convert(reflect.TypeFor[float64]()).Float()) != fmt.Sprint(want) {
				t.Errorf("Lookup(%q) = %v, want %v", p, got, v)
			}
		}
	}
	walk(doc, nil)
	return numbers
}

func TestLookup(t *testing.T) {
	days := Days(3)
	r := &Report{
		Servers: map[string]*Server{
			"com.example/a~b": {
				Age: &days, Events: []ServerEvent{{Day: "2026-11-01", Transition: Transition{Kind: record.Retired, Name: "x"}}},
				Versions: []Version{{Tools: 12}},
			},
		},
		Calendar: []Day{{Coverage: &Share{1, 2}, Classes: map[string]Count{"tls": 4}, RunTimes: []RunTime{{Run: "2026-11-01"}}}, {}},
	}
	for _, tt := range []struct {
		pointer string
		want    any
	}{
		{Pointer("servers", "com.example/a~b", "versions", 0, "tools"), Count(12)},
		{"/servers/com.example~1a~0b/age", Days(3)},
		{"/servers/com.example~1a~0b/events/0/kind", record.Retired},
		{"/servers/com.example~1a~0b/events/0/day", Date("2026-11-01")},
		{"/servers/com.example~1a~0b/bytes", nil},
		{"/calendar/0/coverage", Share{1, 2}},
		{"/calendar/0/coverage/of", Count(2)},
		{"/calendar/0/classes/tls", Count(4)},
		{"/calendar/0/run_times/0/run", "2026-11-01"},
		{"/calendar/1/coverage", nil},
		{"/half_life/half_life/value", nil},
		{"/schema", 0},
	} {
		if got, err := r.Lookup(tt.pointer); err != nil || got != tt.want {
			t.Errorf("Lookup(%q) = %v, %v, want %v", tt.pointer, got, err, tt.want)
		}
	}
	if got, err := r.Lookup(""); err != nil || reflect.TypeOf(got) != reflect.TypeFor[Report]() {
		t.Errorf(`Lookup("") is a %T, %v, want the whole`, got, err)
	}
	for _, p := range []string{
		"servers", "/nowhere", "/Servers", "/calendar/2", "/calendar/-1", "/calendar/00", "/calendar/0x0", "/calendar/-", "/calendar/0/coverage/n/x",
		"/calendar/1/coverage/n", "/servers/nobody", "/servers/com.example~1a~0b/detail", "/servers/com.example~2", "/servers/~",
		"/calendar/0/run_times/0/finished/wall", "/as_of_time/0", "/calendar/", "/",
	} {
		if got, err := r.Lookup(p); err == nil {
			t.Errorf("Lookup(%q) = %v, want an error", p, got)
		}
	}
}

func TestPointer(t *testing.T) {
	for _, tt := range []struct {
		path []any
		want string
	}{
		{nil, ""},
		{[]any{"servers", "com.example/a~b", "versions", int64(3), "n"}, "/servers/com.example~1a~0b/versions/3/n"},
		{[]any{"~1", ""}, "/~01/"},
		{[]any{Count(1234), Date("2026-11-01")}, "/1234/2026-11-01"},
	} {
		if got := Pointer(tt.path...); got != tt.want {
			t.Errorf("Pointer(%v) = %q, want %q", tt.path, got, tt.want)
		}
	}
}

func TestText(t *testing.T) {
	days := Days(2)
	for _, tt := range []struct {
		of   any
		want string
	}{
		{nil, Dash}, {Count(0), "0"}, {Count(999), "999"}, {Count(23231), "23,231"}, {Count(-1234567), "−1,234,567"},
		{Days(1), "1 day"}, {days, "2 days"}, {Days(0), "0 days"}, {Days(44.5), "44.5 days"}, {Days(1000), "1,000 days"},
		{Probability(0.5), "50.0 %"}, {Probability(0.00001), "<0.1 %"}, {Probability(0.99999), ">99.9 %"}, {Probability(0), "0 %"}, {Probability(1), "100 %"},
		{1000, "1,000"}, {int64(7), "7"}, {3.0, "3"}, {0.123456789, "0.123457"}, {1e-7, "1e-7"}, {2.5e20, "2.5e+20"},
	} {
		if got, err := Text(tt.of); err != nil || got != tt.want {
			t.Errorf("Text(%T %v) = %q, %v, want %q", tt.of, tt.of, got, err, tt.want)
		}
	}
	for _, v := range []any{"12", true, Date("2026-11-01"), []Count{1}} {
		if got, err := Text(v); err == nil {
			t.Errorf("Text(%T) = %q, want an error", v, got)
		}
	}
}

func TestWritten(t *testing.T) {
	if got := Written("2026-11-03"); got != "3 Nov 2026" {
		t.Errorf("Written = %q, want 3 Nov 2026", got)
	}
	if got := Written(""); got != Dash {
		t.Errorf("Written of no day = %q, want a dash", got)
	}
}

// The published form has sorted member names because the fields of its types are
// sorted.
func TestFieldsAreSorted(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(typ.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[typ] || typ.Implements(marshaler) {
			return
		}
		seen[typ] = true
		if names := memberNames(t, typ, walk); !slices.IsSorted(names) {
			t.Errorf("%v: JSON names are not sorted: %v", typ, names)
		}
	}
	walk(reflect.TypeFor[Report]())
	walk(reflect.TypeFor[Readings]()) // in Published, it and the lines come last
	if len(seen) < 25 {
		t.Errorf("only %d types were seen", len(seen))
	}
}

// memberNames returns the JSON names of a struct, those of embedded ones in their
// place.
func memberNames(t *testing.T, typ reflect.Type, walk func(reflect.Type)) []string {
	var names []string
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			names = append(names, memberNames(t, f.Type, walk)...)
		case name == "":
			t.Errorf("%v.%s has no JSON name", typ, f.Name)
		default:
			names = append(names, name)
			walk(f.Type)
		}
	}
	return names
}
