package templates_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/drift"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaBase is where the schemas are published.
const schemaBase = "https://mcpstrata.github.io/mcpstrata/schema/"

// A kind of record: its schema, its type, and where its records are.
type recordKind struct {
	name  string
	value any
	files []string // patterns below the series
	first bool     // its record is the first line of a file, else the first line is left out where skip is set
	skip  bool     // the first line of each file is a header
}

func recordKinds() []recordKind {
	return []recordKind{
		{name: "observation", value: record.Observation{}, files: []string{"observations/*/*.v1.jsonl"}, skip: true},
		{name: "observation-header", value: record.ObservationHeader{}, files: []string{"observations/*/*.v1.jsonl"}, first: true},
		{name: "event", value: record.Event{}, files: []string{"events/*/*.jsonl"}},
		{name: "roster", value: record.Roster{}, files: []string{"roster/*/*.json"}},
		{name: "run", value: record.Run{}, files: []string{"runs/*/*.json"}},
		{name: "body", value: record.Body{}, files: []string{"artifacts/index/*/*.jsonl"}},
	}
}

// records returns every record of a kind in the demo.
func (k recordKind) records(t *testing.T) [][]byte {
	t.Helper()
	var out [][]byte
	for _, pattern := range k.files {
		for _, name := range glob(t, series+"/"+pattern) {
			b := read(t, name)
			if strings.HasSuffix(name, ".json") {
				out = append(out, b)
				continue
			}
			lines := slices.Collect(bytes.Lines(b))
			switch {
			case k.first:
				lines = lines[:1]
			case k.skip:
				lines = lines[1:]
			}
			out = append(out, lines...)
		}
	}
	if k.name == "observation" {
		for _, name := range glob(t, series+"/current/v1/*.jsonl") {
			out = slices.AppendSeq(out, bytes.Lines(read(t, name)))
		}
	}
	if len(out) == 0 {
		t.Fatalf("the demo holds no %s", k.name)
	}
	return out
}

func schemaFile(kind string) string {
	return filepath.Join(sourceDir, "schema", kind+".schema.json")
}

func compileSchema(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(read(t, schemaFile(kind))))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	url := schemaBase + kind + ".schema.json"
	if err := c.AddResource(url, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func decode(t *testing.T, b []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Every record of the demo is valid, and what is valid reads as the type.
func TestSchemasAcceptWhatIsRecorded(t *testing.T) {
	for _, k := range recordKinds() {
		t.Run(k.name, func(t *testing.T) {
			s := compileSchema(t, k.name)
			for _, b := range k.records(t) {
				if err := s.Validate(decode(t, b)); err != nil {
					t.Fatalf("%s\nis not valid: %v", b, err)
				}
				if err := record.Decode(b, reflect.New(reflect.TypeOf(k.value)).Interface()); err != nil {
					t.Fatalf("%s\ndoes not read: %v", b, err)
				}
			}
		})
	}
}

// The demo shows every kind of event that methodology v1 writes, a missed target
// and a retired one, so that what the schemas say of them is tried.
func TestDemoShowsEveryKind(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range recordKinds() {
		for _, b := range k.records(t) {
			var r map[string]any
			if err := json.Unmarshal(b, &r); err != nil {
				t.Fatal(err)
			}
			if kind, ok := r["kind"].(string); ok {
				seen[kind] = true
			}
			for _, m := range []string{"missed", "limit", "retired_row", "previous"} {
				seen[m] = seen[m] || r[m] != nil
			}
			if k.name == "observation" && r["retired"] != nil {
				seen["retired_row"] = true
			}
		}
	}
	want := []string{"missed", "limit", "retired_row", "previous"}
	for _, kind := range kindConstants(t) {
		if kind != record.Unstable && kind != record.CaptureDifference { // of methodology v2
			want = append(want, string(kind))
		}
	}
	for _, w := range want {
		if !seen[w] {
			t.Errorf("the demo does not show %s", w)
		}
	}
}

// A record in which one thing is wrong is not valid.
func TestSchemasRejectMutations(t *testing.T) {
	for _, k := range recordKinds() {
		t.Run(k.name, func(t *testing.T) {
			s := compileSchema(t, k.name)
			kept := map[string]map[string]any{} // one record of each shape
			for _, b := range k.records(t) {
				m := decode(t, b).(map[string]any)
				kept[strings.Join(slices.Sorted(maps.Keys(m)), " ")+fmt.Sprint(m["kind"], m["error_class"])] = m
			}
			tried := 0
			for _, r := range kept {
				for _, m := range mutations(r, "") {
					tried++
					undo := m.apply()
					if err := s.Validate(r); err == nil {
						b, _ := json.Marshal(r)
						t.Errorf("valid, although %s:\n%s", m.what, b)
					}
					undo()
					if err := s.Validate(r); err != nil {
						t.Fatalf("after undoing %s: %v", m.what, err)
					}
				}
			}
			if tried == 0 {
				t.Error("nothing was tried")
			}
		})
	}
}

// A mutation makes a valid record wrong, and takes it back.
type mutation struct {
	what  string
	apply func() (undo func())
}

// freeKeys are objects whose member names are data.
var freeKeys = []string{".files", ".methodologies", ".classes", ".details", ".unchanged"}

// theirs are members that look like a day and hold what a server or the protocol
// says.
var theirs = []string{"requested", "negotiated", "from", "to"}

// mutations returns ways to make object, which is at that place of a valid
// record, wrong.
func mutations(object map[string]any, at string) []mutation {
	var out []mutation
	set := func(what, key string, v any) {
		out = append(out, mutation{at + "." + key + " is " + what, func() func() {
			old, had := object[key]
			object[key] = v
			return func() {
				object[key] = old
				if !had {
					delete(object, key)
				}
			}
		}})
	}
	if !slices.ContainsFunc(freeKeys, func(k string) bool { return strings.HasSuffix(at, k) }) {
		set("a member that nobody knows", "surprise", "x")
	}
	for key, v := range object {
		switch v := v.(type) {
		case map[string]any:
			out = append(out, mutations(v, at+"."+key)...)
			set("a number", key, json.Number("1"))
		case []any:
			set("a string", key, "x")
			for i, e := range v {
				if o, ok := e.(map[string]any); ok && i == 0 {
					out = append(out, mutations(o, at+"."+key)...)
				}
			}
		case string:
			set("a number", key, json.Number("1.5"))
			switch {
			case strings.HasPrefix(v, "sha256:"):
				set("a digest cut short", key, v[:70])
				set("a digest in capitals", key, "sha256:"+strings.ToUpper(v[7:])+"A")
			case key == "kind" || key == "transport" || key == "reread" || key == "clock" || key == "step" || key == "error_class":
				set("outside the closed set", key, v+"x")
			}
			if _, err := record.ParseDay(v); err == nil && !slices.Contains(theirs, key) {
				set("no day", key, v[:8]+"41")
			}
		case json.Number:
			set("a string", key, v.String())
			set("a fraction", key, json.Number("1.5"))
			set("negative", key, json.Number("-1"))
		case bool:
			set("a string", key, "true")
		}
	}
	return out
}

func TestSchemasRejectWhatCannotBe(t *testing.T) {
	const digest = `"sha256:0000000000000000000000000000000000000000000000000000000000000000"`
	tests := []struct{ name, kind, in string }{
		{"a success with a step", "observation", `{"endpoint":"http://h/","error_class":null,"name":"a/b","since":"2026-01-01","step":"initialize"}`},
		{"a success without a head", "observation", `{"endpoint":"http://h/","error_class":null,"name":"a/b","since":"2026-01-01"}`},
		{"no_endpoint with an endpoint", "observation", `{"endpoint":"http://h/","error_class":"no_endpoint","error_detail":"sse_only","name":"a/b","since":"2026-01-01"}`},
		{"a failure without its step", "observation", `{"endpoint":"http://h/","error_class":"timeout","name":"a/b","since":"2026-01-01"}`},
		{"a class that is not one", "observation", `{"endpoint":"http://h/","error_class":"dns","name":"a/b","since":"2026-01-01","step":"initialize"}`},
		{"an empty class", "observation", `{"endpoint":"http://h/","error_class":"","name":"a/b","since":"2026-01-01","step":"initialize"}`},
		{"a flag that is not one", "observation", `{"error_class":"no_endpoint","error_detail":"no_remote","flags":["odd"],"name":"a/b","since":"2026-01-01"}`},
		{"a roster event with a methodology", "event", `{"day":"2026-01-01","kind":"appeared","methodology_version":"v1","name":"a/b"}`},
		{"a first answer with an old contract", "event", `{"day":"2026-01-01","kind":"first_answer","methodology_version":"v1","name":"a/b","new":` + digest + `,"new_artifacts":[` + digest + `],"old":` + digest + `}`},
		{"a confirmation of no day", "event", `{"day":"2026-01-01","kind":"confirmed","methodology_version":"v1","name":"a/b","new":` + digest + `}`},
		{"a time with a fraction", "roster", `{"started":"2026-01-01T00:00:00.5Z"}`},
		{"a run id of a first run with a number", "observation-header", `{"run":"2026-01-01.1"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := compileSchema(t, tt.kind).Validate(decode(t, []byte(tt.in))); err == nil {
				t.Errorf("valid, want an error: %s", tt.in)
			}
		})
	}
}

// A node is a schema as the tests walk it.
type node struct {
	Schema      string           `json:"$schema"`
	ID          string           `json:"$id"`
	Ref         string           `json:"$ref"`
	Defs        map[string]*node `json:"$defs"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Type        any              `json:"type"`
	Const       any              `json:"const"`
	Enum        []any            `json:"enum"`
	Required    []string         `json:"required"`
	Properties  map[string]*node `json:"properties"`
	Items       *node            `json:"items"`
	Names       *node            `json:"propertyNames"`
	Additional  json.RawMessage  `json:"additionalProperties"`
	AllOf       []*node          `json:"allOf"`
	If          *node            `json:"if"`
	Then        *node            `json:"then"`

	root *node
}

func loadSchema(t *testing.T, kind string) *node {
	t.Helper()
	n := &node{}
	if err := json.Unmarshal(read(t, schemaFile(kind)), n); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	n.root = n
	return n
}

// sub returns a schema inside n, as it is written, and what its $ref names.
func (n *node) sub(s *node) (written, resolved *node) {
	s.root = n.root
	if s.Ref == "" {
		return s, s
	}
	r := n.root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
	r.root = n.root
	return s, r
}

// additional returns the schema of members that are not named.
func (n *node) additional(t *testing.T) *node {
	t.Helper()
	a := &node{}
	if err := json.Unmarshal(n.Additional, a); err != nil {
		t.Fatal(err)
	}
	_, r := n.sub(a)
	return r
}

// The schemas and the types have the same members, of the same types, and agree
// on which of them are always there.
func TestSchemasMatchTypes(t *testing.T) {
	for _, k := range recordKinds() {
		t.Run(k.name, func(t *testing.T) {
			n := loadSchema(t, k.name)
			if n.ID != schemaBase+k.name+".schema.json" || n.Schema != "https://json-schema.org/draft/2020-12/schema" {
				t.Errorf("$id = %s, $schema = %s", n.ID, n.Schema)
			}
			matchType(t, k.name, n, reflect.TypeOf(k.value))
		})
	}
}

func matchType(t *testing.T, at string, n *node, typ reflect.Type) {
	t.Helper()
	switch typ {
	case reflect.TypeFor[record.Time](), reflect.TypeFor[record.ErrorClass](), reflect.TypeFor[json.RawMessage]():
		return // their own forms; validation of the demo tries them
	case reflect.TypeFor[[]byte]():
		wantType(t, at, n, "string")
		return
	}
	switch typ.Kind() {
	case reflect.Pointer:
		matchType(t, at, n, typ.Elem())
	case reflect.Slice:
		wantType(t, at, n, "array")
		if n.Items == nil {
			t.Fatalf("%s: the schema does not say of what it is an array", at)
		}
		_, items := n.sub(n.Items)
		matchType(t, at+"[]", items, typ.Elem())
	case reflect.Map:
		wantType(t, at, n, "object")
		matchType(t, at+".*", n.additional(t), typ.Elem())
	case reflect.Struct:
		wantType(t, at, n, "object")
		matchFields(t, at, n, typ)
	case reflect.String:
		if n.Enum == nil {
			wantType(t, at, n, "string")
		}
	case reflect.Bool:
		wantType(t, at, n, "boolean")
	case reflect.Int, reflect.Int64:
		wantType(t, at, n, "integer")
	default:
		t.Errorf("%s: the test does not know %v", at, typ)
	}
}

func matchFields(t *testing.T, at string, n *node, typ reflect.Type) {
	t.Helper()
	if string(n.Additional) != "false" {
		t.Errorf("%s: additionalProperties = %s, want false", at, n.Additional)
	}
	left := maps.Clone(n.Properties)
	for f := range typ.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p, ok := left[name]
		delete(left, name)
		if !ok {
			t.Errorf("%s: the schema lacks %s", at, name)
			continue
		}
		always := !strings.Contains(options, "omit")
		if required := slices.Contains(n.Required, name); required != always {
			t.Errorf("%s.%s: required = %v, but the type writes it always = %v", at, name, required, always)
		}
		written, resolved := n.sub(p)
		if written.Description == "" {
			t.Errorf("%s.%s: no description", at, name)
		}
		matchType(t, at+"."+name, resolved, f.Type)
	}
	for name := range left {
		t.Errorf("%s: the type lacks %s", at, name)
	}
}

func wantType(t *testing.T, at string, n *node, want string) {
	t.Helper()
	if n.Type != any(want) {
		t.Errorf("%s: type = %v, want %s", at, n.Type, want)
	}
}

// Where a member can be absent, its description says what that means. The
// members of an event depend on its kind, and the table of kinds says how.
func TestSchemasSayWhatAbsenceMeans(t *testing.T) {
	for _, k := range recordKinds() {
		root := loadSchema(t, k.name)
		objects := map[string]*node{k.name: root}
		for name, d := range root.Defs {
			objects[k.name+"/"+name] = d
		}
		if k.name == "event" {
			delete(objects, "event")
		}
		for at, n := range objects {
			for name, p := range n.Properties {
				if !slices.Contains(n.Required, name) && !strings.Contains(p.Description, "Absent") {
					t.Errorf("%s.%s can be absent, and its description does not say what that means", at, name)
				}
			}
		}
	}
}

// The closed sets of the schemas are those of the code.
func TestSchemasHaveTheClosedSets(t *testing.T) {
	classes, labels := []any{nil}, []any{record.Success.Label()}
	for _, c := range record.Classes {
		classes = append(classes, string(c.Class))
		labels = append(labels, c.Class.Label())
	}
	var flags, kinds []any
	for _, f := range record.Flags {
		flags = append(flags, string(f.Flag))
	}
	for _, k := range kindConstants(t) {
		kinds = append(kinds, string(k))
	}
	observation, header, event, run := loadSchema(t, "observation"), loadSchema(t, "observation-header"), loadSchema(t, "event"), loadSchema(t, "run")
	drifts := []any{drift.Substantive, drift.NumbersOnly, drift.ReorderedOnly, drift.WhitespaceOnly}
	tests := []struct {
		name      string
		got, want []any
	}{
		{"error_class", observation.Defs["class"].Enum, classes},
		{"flags", observation.Properties["flags"].Items.Enum, flags},
		{"kind", event.Properties["kind"].Enum, kinds},
		{"classes of a drift", event.Properties["classes"].Items.Enum, drifts},
		{"labels of a run", run.Defs["coverage"].Properties["classes"].Names.Enum, labels},
		{"labels of a header", header.Properties["unchanged"].Names.Enum, labels},
	}
	for _, tt := range tests {
		if !reflect.DeepEqual(tt.got, tt.want) {
			t.Errorf("%s: the schema has %q, the code %q", tt.name, tt.got, tt.want)
		}
	}
	for _, k := range []drift.Kind{drift.Added, drift.Removed, drift.Changed} {
		if !slices.Contains(event.Defs["change"].Properties["kind"].Enum, any(string(k))) {
			t.Errorf("kind of a tool change: the schema lacks %s", k)
		}
	}
	var described []any
	for _, a := range event.AllOf {
		described = append(described, a.If.Properties["kind"].Const)
	}
	if !reflect.DeepEqual(described, kinds) {
		t.Errorf("the schema says of %q which members they have; the kinds are %q", described, kinds)
	}
}

// kindConstants returns the kinds of events in the order in which the code
// declares them.
func kindConstants(t *testing.T) []record.Kind {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../internal/record/event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []record.Kind
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); ok && id.Name == "Kind" && len(spec.Values) == 1 {
			v, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, record.Kind(v))
		}
		return true
	})
	if len(kinds) == 0 {
		t.Fatal("found no kinds of events in internal/record/event.go")
	}
	return kinds
}

// A digest in a schema is what canon takes for one.
func TestSchemaDigest(t *testing.T) {
	s := compileSchema(t, "body")
	body := func(d string) any {
		b := record.Line(record.Body{Blob: strings.Repeat("0", 40), Path: "artifacts/v1/00/a.json", SHA256: canon.Digest(d)})
		return decode(t, b)
	}
	good := string(canon.Sum(nil))
	for _, d := range []string{good, good[7:], strings.ToUpper(good), good + "0", "sha512:" + good[7:], ""} {
		_, err := canon.ParseDigest(d)
		if valid := s.Validate(body(d)) == nil; valid != (err == nil) {
			t.Errorf("%q: the schema says %v, canon %v", d, valid, err)
		}
	}
}
