package internal

import (
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the package map of README.md")

var packageMap = regexp.MustCompile(`(?s)(<!-- generated: packages -->\n).*?(<!-- end -->)`)

// The package map of README.md is the table of layers, with the first sentence
// of each package's comment.
func TestReadmePackages(t *testing.T) {
	table := "| layer | package | what it does | may import |\n|---|---|---|---|\n"
	for _, p := range layered(t) {
		imports := slices.Clone(allowed[p.name])
		slices.Sort(imports)
		table += fmt.Sprintf("| %s | `%s` | %s | %s |\n", p.layer, p.name, sentence(t, p.name), strings.Join(imports, ", "))
	}
	was, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !packageMap.Match(was) {
		t.Fatal("README.md has no package map")
	}
	is := packageMap.ReplaceAll(was, []byte("${1}"+strings.ReplaceAll(table, "$", "$$")+"${2}"))
	if string(is) == string(was) {
		return
	}
	if !*update {
		t.Fatal("the package map of README.md is not that of layers_test.go; `go test ./internal -run Readme -update` writes it")
	}
	if err := os.WriteFile("../README.md", is, 0o666); err != nil {
		t.Fatal(err)
	}
}

// A placed package is one of the table of layers, under the comment above it.
type placed struct{ layer, name string }

// layered returns the packages in the order of the table.
func layered(t *testing.T) []placed {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "layers_test.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var table *ast.CompositeLit
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Names[0].Name == "allowed" {
			table = spec.Values[0].(*ast.CompositeLit)
		}
		return table == nil
	})
	if table == nil {
		t.Fatal("layers_test.go has no table named allowed")
	}
	var out []placed
	layer := ""
	for _, e := range table.Elts {
		for _, c := range f.Comments {
			if c.Pos() > table.Pos() && c.End() < e.Pos() {
				layer = strings.TrimSpace(c.Text())
			}
		}
		name := e.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value
		out = append(out, placed{layer, strings.Trim(name, `"`)})
	}
	if len(out) != len(allowed) {
		t.Fatalf("found %d packages in the table, want %d", len(out), len(allowed))
	}
	return out
}

// sentence returns the first sentence of a package's comment, without the words
// that begin them all.
func sentence(t *testing.T, pkg string) string {
	t.Helper()
	files, err := fs.Glob(os.DirFS(pkg), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), pkg+"/"+name, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if f.Doc == nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		s := new(doc.Package).Synopsis(f.Doc.Text())
		s, ok := strings.CutPrefix(s, "Package "+pkg+" ")
		if !ok {
			t.Errorf("the comment of package %s begins with %q", pkg, s)
		}
		return strings.ReplaceAll(strings.TrimSuffix(s, "."), "|", `\|`)
	}
	t.Errorf("package %s has no comment", pkg)
	return ""
}
