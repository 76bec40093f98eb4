package templates_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/templates"
)

// The project's own data folder holds the files of the scaffold, byte for byte.
func TestOwnDataFolder(t *testing.T) {
	scaffold := templates.Data()
	err := fs.WalkDir(scaffold, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want, err := fs.ReadFile(scaffold, name)
		if err != nil {
			return err
		}
		own := filepath.Join(ownDir, filepath.FromSlash(name))
		got, err := os.ReadFile(own)
		if err == nil && bytes.Equal(got, want) {
			return nil
		}
		if !*update {
			t.Errorf("%s differs from templates/data/%s; `go test ./templates -update` copies it", own, name)
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(own), 0o777); err != nil {
			return err
		}
		return os.WriteFile(own, read(t, filepath.Join(sourceDir, filepath.FromSlash(name))), 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
	// What a schema says of a file that is not there would be read all the same.
	stray, err := filepath.Glob(filepath.Join(ownDir, "schema", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stray {
		if _, err := fs.Stat(scaffold, "schema/"+filepath.Base(name)); err != nil {
			t.Errorf("%s: the scaffold does not have it", name)
		}
	}
}

// Every data folder has the scaffold from its first commit on.
func TestScaffoldIsRecorded(t *testing.T) {
	err := fs.WalkDir(templates.Data(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			_, err = os.Stat(filepath.Join(demo(t), "data", filepath.FromSlash(name)))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

var section = regexp.MustCompile(`(?s)(<!-- generated: ([a-z -]+) -->\n).*?(<!-- end -->)`)

// The tables of the dictionary are those of the code and of the schemas.
func TestDictionary(t *testing.T) {
	tables := map[string]string{"paths": pathTable(t), "classes": classTable(), "flags": flagTable(), "kinds": kindTable(t)}
	for _, k := range recordKinds() {
		tables["members "+k.name] = memberTable(t, k.name)
	}
	name := filepath.Join(sourceDir, "README.md")
	was := read(t, name)
	used := map[string]bool{}
	is := section.ReplaceAllFunc(was, func(b []byte) []byte {
		m := section.FindSubmatch(b)
		table, ok := tables[string(m[2])]
		if !ok {
			t.Errorf("the dictionary asks for a table %q", m[2])
		}
		used[string(m[2])] = true
		return slices.Concat(m[1], []byte(table), m[3])
	})
	for name := range tables {
		if !used[name] {
			t.Errorf("the dictionary has no table %q", name)
		}
	}
	if bytes.Equal(was, is) {
		return
	}
	if !*update {
		t.Fatalf("the tables of %s are not those of the code; `go test ./templates -update` writes them", name)
	}
	if err := os.WriteFile(name, is, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ownDir, "README.md"), is, 0o666); err != nil {
		t.Fatal(err)
	}
}

// row returns a line of a Markdown table.
func row(cells ...string) string {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func head(cells ...string) string {
	return row(cells...) + "|" + strings.Repeat("---|", len(cells)) + "\n"
}

func classTable() string {
	var b strings.Builder
	b.WriteString(head("class", "detail", "meaning", "no class of its own"))
	b.WriteString(row("`null`", "", "The list was read.", ""))
	for _, c := range record.Classes {
		b.WriteString(row("`"+string(c.Class)+"`", "", c.Means, ""))
		for _, d := range c.Details {
			forced := ""
			if d.Forced {
				forced = "yes"
			}
			b.WriteString(row("`"+string(c.Class)+"`", "`"+string(d.Detail)+"`", d.Means, forced))
		}
	}
	return b.String()
}

func flagTable() string {
	var b strings.Builder
	b.WriteString(head("flag", "meaning"))
	for _, f := range record.Flags {
		b.WriteString(row("`"+string(f.Flag)+"`", f.Means))
	}
	return b.String()
}

func kindTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString(head("kind", "what happened", "members beside day, kind, name", "and, where they apply"))
	for _, a := range loadSchema(t, "event").AllOf {
		var always, sometimes []string
		for _, m := range a.Then.Names.Enum {
			switch name := m.(string); {
			case slices.Contains([]string{"day", "kind", "name", "degraded"}, name):
			case slices.Contains(a.Then.Required, name):
				always = append(always, "`"+name+"`")
			default:
				sometimes = append(sometimes, "`"+name+"`")
			}
		}
		b.WriteString(row(fmt.Sprintf("`%s`", a.If.Properties["kind"].Const), a.Then.Description, strings.Join(always, ", "), strings.Join(sometimes, ", ")))
	}
	return b.String()
}

func memberTable(t *testing.T, kind string) string {
	var b strings.Builder
	b.WriteString(head("member", "type", "always", "meaning"))
	members(t, &b, loadSchema(t, kind), "")
	return b.String()
}

// members writes the members of an object, and below each those that it holds.
func members(t *testing.T, b *strings.Builder, n *node, prefix string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		p, r := n.sub(n.Properties[name])
		always := ""
		if slices.Contains(n.Required, name) {
			always = "yes"
		}
		b.WriteString(row("`"+prefix+name+"`", typeName(n, p), always, p.Description))
		at := prefix + name
		switch {
		case r.Items != nil:
			at += "[]"
			_, r = r.sub(r.Items)
		case len(r.Additional) > 0 && string(r.Additional) != "false":
			at += ".*"
			r = r.additional(t)
		}
		members(t, b, r, at+".")
	}
}

// typeName says in words what a member holds.
func typeName(parent, n *node) string {
	_, r := parent.sub(n)
	name := strings.TrimPrefix(n.Ref, "#/$defs/")
	switch {
	case slices.Contains([]string{"digest", "day", "time", "run", "class"}, name):
		return name
	case name == "name" || name == "methodology":
		return "string"
	case r.Items != nil:
		return "list of " + plural(typeName(r, r.Items))
	case r.Enum != nil:
		var values []string
		for _, v := range r.Enum {
			values = append(values, fmt.Sprint(v))
		}
		if len(values) > 4 {
			return "string, see below"
		}
		return strings.Join(values, ", ")
	case r.Type == nil:
		return "string, null or object"
	}
	return fmt.Sprint(r.Type)
}

func plural(s string) string {
	if strings.Contains(s, ", ") && !strings.HasPrefix(s, "string") {
		return s // the values themselves
	}
	if strings.HasPrefix(s, "string") {
		return "strings"
	}
	return strings.TrimSuffix(s, "s") + "s"
}

// dataPackage is data/datapackage.json as far as the tests read it.
type dataPackage struct {
	Schema    string `json:"$schema"`
	Name      string
	Licenses  []struct{ Name, Path string }
	Resources []struct {
		Name, Title, Description, JSONSchema string
		Path                                 any
		Schema                               *struct {
			Fields []struct{ Name string }
		}
	}
	Dated []struct{ Name, Title, Description, Pattern, JSONSchema, HeaderJSONSchema string } `json:"datedResources"`
}

func loadPackage(t *testing.T) (p dataPackage) {
	t.Helper()
	if err := json.Unmarshal(read(t, filepath.Join(sourceDir, "datapackage.json")), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// paths returns the paths of a resource.
func paths(v any) []string {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	var out []string
	for _, p := range v.([]any) {
		out = append(out, p.(string))
	}
	return out
}

func pathTable(t *testing.T) string {
	p := loadPackage(t)
	rows := map[string]string{
		"README.md":                 "This page.",
		"datapackage.json":          "The same in Data Package 2.0 form, for programs.",
		"schema/<kind>.schema.json": "JSON Schema 2020-12 of each kind of record.",
		".gitattributes":            "Tells git to change no line ends.",
	}
	for _, r := range p.Resources {
		name := paths(r.Path)[0]
		if len(paths(r.Path)) > 1 {
			name = path.Join(path.Dir(name), "<x>"+path.Ext(name))
		}
		rows[name] = r.Title + ". " + r.Description
	}
	for _, r := range p.Dated {
		rows[r.Pattern] = r.Title + ". " + r.Description
	}
	var b strings.Builder
	b.WriteString(head("path", "what it holds"))
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		b.WriteString(row("`"+name+"`", rows[name]))
	}
	return b.String()
}

// placeholders are what stands for a part of a path.
var placeholders = strings.NewReplacer(
	`<year>`, `\d{4}`, `<run>`, `\d{4}-\d\d-\d\d(\.\d+)?`, `<methodology>`, `v\d+`, `<hh>`, `[0-9a-f]{2}`, `<slug>`, `[a-z0-9._~!=-]+`, `<part>`, `[a-z0-9.-]+`,
)

// The data package names every file of an archive, and no resource that is not
// there.
func TestDataPackage(t *testing.T) {
	p := loadPackage(t)
	if p.Schema != "https://datapackage.org/profiles/2.0/datapackage.json" || p.Name != series || len(p.Licenses) != 1 {
		t.Errorf("datapackage.json: $schema %s, name %s, licences %v", p.Schema, p.Name, p.Licenses)
	}
	named := map[string]bool{"README.md": true, "datapackage.json": true, ".gitattributes": true}
	var patterns []*regexp.Regexp
	uses := map[string]int{}
	for _, r := range p.Resources {
		for _, name := range paths(r.Path) {
			named[name] = true
			if _, err := os.Stat(filepath.Join(demo(t), "data", filepath.FromSlash(name))); err != nil {
				t.Errorf("resource %s: %v", r.Name, err)
			}
		}
		wantSchema(t, r.Name, r.JSONSchema)
	}
	for _, r := range p.Dated {
		quoted := strings.NewReplacer(".", `\.`, "+", `\+`).Replace(r.Pattern)
		patterns = append(patterns, regexp.MustCompile("^"+placeholders.Replace(quoted)+"$"))
		wantSchema(t, r.Name, r.JSONSchema)
		wantSchema(t, r.Name, r.HeaderJSONSchema)
	}
	data := os.DirFS(filepath.Join(demo(t), "data"))
	err := fs.WalkDir(data, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || named[name] || path.Dir(name) == "schema" {
			return err
		}
		for _, re := range patterns {
			if re.MatchString(name) {
				uses[re.String()]++
				return nil
			}
		}
		t.Errorf("data/%s: no resource of datapackage.json names it", name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, re := range patterns {
		if uses[re.String()] == 0 {
			t.Errorf("no file of the demo matches %s", re)
		}
	}
	wantTiming(t, p)
}

// wantSchema reports a schema that is named and does not exist.
func wantSchema(t *testing.T, resource, name string) {
	t.Helper()
	if name == "" {
		return
	}
	if _, err := os.Stat(filepath.Join(sourceDir, filepath.FromSlash(name))); err != nil {
		t.Errorf("resource %s: %v", resource, err)
	}
}

// wantTiming compares the columns of timing.csv with those that are declared.
func wantTiming(t *testing.T, p dataPackage) {
	t.Helper()
	for _, r := range p.Resources {
		if r.Schema == nil {
			continue
		}
		var want []string
		for _, f := range r.Schema.Fields {
			want = append(want, f.Name)
		}
		csv := read(t, filepath.Join(demo(t), "data", filepath.FromSlash(paths(r.Path)[0])))
		if got, _, _ := strings.Cut(string(csv), "\n"); got != strings.Join(want, ",") {
			t.Errorf("%s begins with %s, and datapackage.json declares %v", r.Name, got, want)
		}
		return
	}
	t.Error("datapackage.json declares no table")
}
