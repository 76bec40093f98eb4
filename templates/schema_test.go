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
		{name: "observation", value: record.Observation{}, files: perMethodology("observations/*/*.%s.jsonl"), skip: true},
		{name: "observation-header", value: record.ObservationHeader{}, files: perMethodology("observations/*/*.%s.jsonl"), first: true},
		{name: "event", value: record.Event{}, files: []string{"events/*/*.jsonl"}},
		{name: "roster", value: record.Roster{}, files: []string{"roster/*/*.json"}},
		{name: "run", value: record.Run{}, files: []string{"runs/*/*.json"}},
		{name: "body", value: record.Body{}, files: []string{"artifacts/index/*/*.jsonl"}},
	}
}

// perMethodology returns a pattern for each methodology; the demo reads with all.
func perMethodology(format string) []string {
	var out []string
	for _, m := range record.Methodologies {
		out = append(out, fmt.Sprintf(format, m.Version))
	}
	return out
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
		for _, pattern := range perMethodology("current/%s/*.jsonl") {
			for _, name := range glob(t, series+"/"+pattern) {
				out = slices.AppendSeq(out, bytes.Lines(read(t, name)))
			}
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

// The demo shows every kind of event under every methodology that writes it, a
// missed target and a retired one, and what only one methodology has, so that
// what the schemas say of them is tried.
func TestDemoShowsEveryKind(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range recordKinds() {
		for _, b := range k.records(t) {
			var r map[string]any
			if err := json.Unmarshal(b, &r); err != nil {
				t.Fatal(err)
			}
			for _, what := range shown(k.name, r) {
				seen[what] = true
			}
		}
	}
	want := []string{"missed", "limit", "retired_row", "previous", "unstable_row", "step server/discover", "modern head", "several pages",
		"reread same", "reread different", "run v1 v2", "header v1", "header v2", "body v1", "body v2"}
	for _, kind := range kindConstants(t) {
		switch kind {
		case record.Appeared, record.Retired, record.Returned, record.EndpointMoved:
			want = append(want, string(kind)+" ")
		case record.Reordered:
			want = append(want, string(kind)+" v1")
		case record.Unstable, record.CaptureDifference:
			want = append(want, string(kind)+" v2")
		case record.Confirmed: // under v2 only after a second reading that failed
			want = append(want, string(kind)+" v1")
		default:
			want = append(want, string(kind)+" v1", string(kind)+" v2")
		}
	}
	for _, w := range want {
		if !seen[w] {
			t.Errorf("the demo does not show %s", w)
		}
	}
	for _, never := range []string{"reordered v2", "unstable v1", "capture_difference v1"} {
		if seen[never] {
			t.Errorf("the demo shows %s, which nothing writes", never)
		}
	}
}

// shown returns what a record shows that is worth a try.
func shown(kind string, r map[string]any) []string {
	var out []string
	for _, m := range []string{"missed", "limit", "previous"} {
		if r[m] != nil {
			out = append(out, m)
		}
	}
	version, _ := r["methodology_version"].(string)
	switch kind {
	case "event":
		out = append(out, fmt.Sprintf("%s %s", r["kind"], version), fmt.Sprintf("reread %v", r["reread"]))
	case "observation-header":
		out = append(out, "header "+version)
	case "body":
		p, _ := r["path"].(string)
		out = append(out, "body "+strings.Split(p+"//", "/")[1])
	case "run":
		m, _ := r["methodologies"].(map[string]any)
		out = append(out, "run "+strings.Join(slices.Sorted(maps.Keys(m)), " "))
	case "observation":
		out = append(out, fmt.Sprintf("step %v", r["step"]))
		if r["retired"] != nil {
			out = append(out, "retired_row")
		}
		head, _ := r["head"].(map[string]any)
		if head["unstable"] != nil {
			out = append(out, "unstable_row")
		}
		if a, _ := head["artifacts"].([]any); len(a) > 1 {
			out = append(out, "several pages")
		}
		if b, _ := json.Marshal(head); strings.Contains(string(b), `"negotiated":"2026-07-28"`) {
			out = append(out, "modern head")
		}
	}
	return out
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

// A head of a row, without its last brace: tests add members to it.
const (
	zeros     = `"sha256:0000000000000000000000000000000000000000000000000000000000000000"`
	headStart = `{"artifacts":[` + zeros + `],"bytes":1,"capture":{"clientCapabilities":[],"pages":{"complete":true,"read":1},` +
		`"protocol":{"requested":"2025-11-25","versionHeader":true},"transport":"streamable-http"},` +
		`"confirmed":true,"first_observed":"2026-01-01","identity":` + zeros + `,"tools":1`
	rowStart = `{"endpoint":"http://h/","error_class":null,"name":"a/b","since":"2026-01-01","head":` + headStart
)

// event returns a valid event of that kind and methodology, with further members.
func event(kind, methodology, more string) string {
	s := `{"day":"2026-01-02","kind":"` + kind + `","methodology_version":"` + methodology + `","name":"a/b","new":` + zeros +
		`,"new_artifacts":[` + zeros + `],"old":` + zeros + `,"old_artifacts":[` + zeros + `]`
	if kind != "unstable" {
		s += `,"first_different":"2026-01-02","last_same":"2026-01-01","old_first":"2026-01-01"`
	}
	return s + more + `}`
}

const third = `,"reread":"different","other":` + zeros + `,"other_artifacts":[` + zeros + `]`

// What the demo need not show is valid all the same, and reads as the type.
func TestSchemasAcceptWhatCanBe(t *testing.T) {
	launched := strings.Replace(rowStart, `"pages"`, `"launch":{"args":[],"envNames":["KEY"],"envValues":"placeholder","home":"/home/reader",`+
		`"network":"none","package":"npm:a","resolvedVersion":"1.0.0"},"pages"`, 1)
	tests := []struct{ name, kind, in string }{
		{"an answer that said neither time what the head is", "observation", rowStart + `,"unstable":"2026-01-02","last_observed":"2026-01-01"}}`},
		{"an answer of an unstable day that is the head", "observation", rowStart + `,"unstable":"2026-01-02"}}`},
		{"a retired target", "observation", rowStart + `,"last_observed":"2026-01-01"},"retired":"2026-01-02"}`},
		{"a launched server", "observation", strings.Replace(launched, "streamable-http", "stdio", 1) + `}}`},
		{"a failure of the era without a handshake", "observation", `{"endpoint":"http://h/","error_class":"timeout","name":"a/b","since":"2026-01-01","step":"server/discover"}`},
		{"a failure on a later page", "observation", `{"endpoint":"http://h/","error_class":"timeout","name":"a/b","since":"2026-01-01","step":"tools/list#12"}`},
		{"the flags of methodology v2", "observation", rowStart + `},"flags":["cursor_repeated","list_capped","session_renewed"]}`},
		{"an unstable day whose second reading is the head", "event", event("unstable", "v2", `,"reread":"different"`)},
		{"an unstable day with three contracts", "event", event("unstable", "v2", third)},
		{"a drift whose second reading failed", "event", event("drift", "v2", `,"comparable":true,"reread":"failed"`)},
		{"a drift without a second reading", "event", event("drift", "v2", `,"comparable":true,"reread":"none"`)},
		{"a drift of v1 that is not comparable", "event", event("drift", "v1", `,"comparable":false,"differs":["pages.complete"],"reread":"none"`)},
		{"a capture difference", "event", event("capture_difference", "v2", `,"comparable":false,"differs":["protocol.negotiated"],"reread":"failed"`)},
		{"a confirmation under v2", "event", `{"confirms":"2026-01-01","day":"2026-01-02","kind":"confirmed","methodology_version":"v2","name":"a/b","new":` + zeros + `}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := compileSchema(t, tt.kind).Validate(decode(t, []byte(tt.in))); err != nil {
				t.Errorf("%s: %v", tt.in, err)
			}
			for _, k := range recordKinds() {
				if k.name != tt.kind {
					continue
				}
				v := reflect.New(reflect.TypeOf(k.value)).Interface()
				if err := json.Unmarshal([]byte(tt.in), v); err != nil {
					t.Errorf("%s does not read: %v", tt.in, err)
				}
				if got := string(record.Line(v)); !sameMembers(t, got, tt.in) {
					t.Errorf("%s\nis written as\n%s", tt.in, got)
				}
			}
		})
	}
}

// sameMembers reports whether two JSON documents say the same.
func sameMembers(t *testing.T, a, b string) bool {
	t.Helper()
	return reflect.DeepEqual(decode(t, []byte(a)), decode(t, []byte(b)))
}

func TestSchemasRejectWhatCannotBe(t *testing.T) {
	tests := []struct{ name, kind, in string }{
		{"a success with a step", "observation", `{"endpoint":"http://h/","error_class":null,"name":"a/b","since":"2026-01-01","step":"initialize"}`},
		{"a success without a head", "observation", `{"endpoint":"http://h/","error_class":null,"name":"a/b","since":"2026-01-01"}`},
		{"no_endpoint with an endpoint", "observation", `{"endpoint":"http://h/","error_class":"no_endpoint","error_detail":"sse_only","name":"a/b","since":"2026-01-01"}`},
		{"a failure without its step", "observation", `{"endpoint":"http://h/","error_class":"timeout","name":"a/b","since":"2026-01-01"}`},
		{"a class that is not one", "observation", `{"endpoint":"http://h/","error_class":"dns","name":"a/b","since":"2026-01-01","step":"initialize"}`},
		{"an empty class", "observation", `{"endpoint":"http://h/","error_class":"","name":"a/b","since":"2026-01-01","step":"initialize"}`},
		{"a flag that is not one", "observation", `{"error_class":"no_endpoint","error_detail":"no_remote","flags":["odd"],"name":"a/b","since":"2026-01-01"}`},
		{"a roster event with a methodology", "event", `{"day":"2026-01-01","kind":"appeared","methodology_version":"v1","name":"a/b"}`},
		{"a first answer with an old contract", "event", `{"day":"2026-01-01","kind":"first_answer","methodology_version":"v1","name":"a/b","new":` + zeros + `,"new_artifacts":[` + zeros + `],"old":` + zeros + `}`},
		{"a confirmation of no day", "event", `{"day":"2026-01-01","kind":"confirmed","methodology_version":"v1","name":"a/b","new":` + zeros + `}`},
		{"an answer that is not read day by day, of a stable server", "observation", rowStart + `,"last_observed":"2026-01-01"}}`},
		{"a step of no request", "observation", `{"endpoint":"http://h/","error_class":"timeout","name":"a/b","since":"2026-01-01","step":"server/discover#2"}`},
		{"an unstable day under v1", "event", event("unstable", "v1", `,"reread":"different"`)},
		{"an unstable day whose readings are the same", "event", event("unstable", "v2", `,"reread":"same"`)},
		{"an unstable day with a third contract without bodies", "event", event("unstable", "v2", `,"reread":"different","other":`+zeros)},
		{"an unstable day with bodies of no contract", "event", event("unstable", "v2", `,"reread":"different","other_artifacts":[`+zeros+`]`)},
		{"an unstable day on which something began", "event", event("unstable", "v2", `,"reread":"different","first_different":"2026-01-02"`)},
		{"a drift whose readings differ", "event", event("drift", "v2", `,"comparable":true,"reread":"different"`)},
		{"a drift with a third contract", "event", event("drift", "v2", `,"comparable":true`+third)},
		{"a drift of v2 that is not comparable", "event", event("drift", "v2", `,"comparable":false,"differs":["pages.complete"],"reread":"same"`)},
		{"a drift of v1 that was read twice", "event", event("drift", "v1", `,"comparable":true,"reread":"same"`)},
		{"a comparable drift that differs in its capture", "event", event("drift", "v2", `,"comparable":true,"differs":["pages.complete"],"reread":"same"`)},
		{"a drift that is not comparable and does not say why", "event", event("drift", "v1", `,"comparable":false,"reread":"none"`)},
		{"a comparable capture difference", "event", event("capture_difference", "v2", `,"comparable":true,"differs":["pages.complete"],"reread":"same"`)},
		{"a capture difference without members", "event", event("capture_difference", "v2", `,"comparable":false,"reread":"same"`)},
		{"a capture difference in what is no condition", "event", event("capture_difference", "v2", `,"comparable":false,"differs":["observedAt"],"reread":"same"`)},
		{"a capture difference under v1", "event", event("capture_difference", "v1", `,"comparable":false,"differs":["pages.complete"],"reread":"none"`)},
		{"a reordering under v2", "event", `{"day":"2026-01-02","kind":"reordered","methodology_version":"v2","name":"a/b","new_artifacts":[` + zeros + `],"old_artifacts":[` + zeros + `]}`},
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
	rereads := []any{string(record.RereadSame), string(record.RereadDifferent), string(record.RereadFailed), string(record.RereadNone)}
	tests := []struct {
		name      string
		got, want []any
	}{
		{"reread", event.Properties["reread"].Enum, rereads},
		{"capture members", event.Properties["differs"].Items.Enum, captureMembers()},
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

// captureMembers returns every member by which two captures can fail to be
// comparable, in the order of the code.
func captureMembers() []any {
	other := record.Launch{Args: []string{"x"}, EnvNames: []string{"X"}, EnvValues: "real", Network: "full", ResolvedVersion: "2"}
	whole := record.Capture{Pages: record.Pages{Complete: true}, Launch: &record.Launch{EnvValues: "none", Network: "none"}}
	launched := record.Capture{Protocol: record.Protocol{Negotiated: "x", VersionHeader: true}, Launch: &other}
	var out []any
	for _, m := range whole.Differs(record.Capture{Protocol: launched.Protocol}) {
		out = append(out, m)
	}
	for _, m := range whole.Differs(launched) {
		if !slices.Contains(out, any(m)) {
			out = append(out, m)
		}
	}
	return out
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
