package internal

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const module = "github.com/mcpstrata/mcpstrata"

// allowed maps each internal package to the internal packages that it may
// import: the flow of DESIGN.md section 3 in checkable form. Bytes enter at the
// edge, are kept by the archive, and everything that tells of them is a pure
// function of data/. An import that is missing here is a change of the design,
// to be argued for in the commit that adds it.
var allowed = map[string][]string{
	// words
	"canon":    {},
	"record":   {"canon"},
	"survival": {},
	"jsonrpc":  {"canon", "record"},
	"visible":  {},
	"progress": {},
	// meaning
	"contract":    {"canon", "record", "jsonrpc"},
	"fingerprint": {"canon", "contract"},
	"drift":       {"canon", "contract", "visible"},
	"target":      {"record"},
	"timeline":    {"canon", "record"},
	// edge
	"safehttp": {},
	"registry": {"canon", "record", "safehttp"},
	"mcp":      {"canon", "record", "jsonrpc", "safehttp"},
	"launch":   {"canon", "record", "contract", "mcp"},
	// act
	"probe": {"canon", "record", "jsonrpc", "contract", "mcp"},
	"sweep": {"canon", "record", "target", "probe"},
	// keep
	"archive": {"canon", "record"},
	"ledger":  {"canon", "record", "contract", "drift", "timeline", "archive"},
	"gitrepo": {},
	// The checker derives again what the ledger wrote, and shares no code with it.
	"audit": {"canon", "record", "contract", "target", "registry", "archive", "gitrepo"},
	"body":  {"canon", "record", "contract", "archive", "gitrepo"},
	// tell
	"report": {"canon", "record", "survival", "target", "timeline", "archive"},
	"chart":  {"record", "survival", "timeline", "report"},
	"feed":   {"record", "drift", "visible", "report"},
	"site":   {"canon", "record", "visible", "contract", "drift", "fingerprint", "archive", "body", "report", "chart", "feed"},
	// wire
	"api":   {},
	"daily": {"canon", "record", "target", "safehttp", "registry", "mcp", "probe", "sweep", "archive", "ledger", "gitrepo"},
	"fleet": {"record"},
}

// onlyIn maps a third-party module to the one package that may use it.
var onlyIn = map[string]string{
	"github.com/go-json-experiment/json":     "canon",
	"github.com/go-git/go-git/v5":            "gitrepo",
	"code.dny.dev/ssrf":                      "safehttp",
	"github.com/cenkalti/backoff/v5":         "registry",
	"golang.org/x/net/publicsuffix":          "target",
	"github.com/sergi/go-diff":               "drift",
	"github.com/cheggaaa/pb/v3":              "progress",
	"github.com/gofrs/flock":                 "archive",
	"golang.org/x/time/rate":                 "sweep",
	"github.com/wcharczuk/go-chart/v2":       "chart",
	"github.com/golang/freetype":             "chart",
	"golang.org/x/image":                     "chart",
	"github.com/yuin/goldmark":               "site",
	"github.com/modelcontextprotocol/go-sdk": "fleet",
}

// violations returns, in file order, what the Go files below fsys (one folder a
// package) import against the tables.
func violations(fsys fs.FS) ([]string, error) {
	var files []string
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "testdata/") {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range files {
		pkg := path.Dir(name)
		permitted, ok := allowed[pkg]
		if !ok {
			out = append(out, name+": package "+pkg+" is not in the layer table")
			continue
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, spec := range f.Imports {
			imp := strings.Trim(spec.Path.Value, `"`)
			if dep, ok := strings.CutPrefix(imp, module+"/internal/"); ok && !slices.Contains(permitted, dep) {
				out = append(out, name+": "+pkg+" may not import "+dep)
			}
			if strings.HasPrefix(imp, module+"/cmd/") {
				out = append(out, name+": "+pkg+" may not import "+imp)
			}
			for mod, home := range onlyIn {
				if (imp == mod || strings.HasPrefix(imp, mod+"/")) && pkg != home {
					out = append(out, name+": only "+home+" may import "+mod)
				}
			}
		}
	}
	return out, nil
}

func TestLayers(t *testing.T) {
	found, err := violations(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
	commands, err := filepath.Glob("../cmd/*/*.go")
	if err != nil || len(commands) == 0 {
		t.Fatalf("no commands found: %v", err)
	}
	for _, name := range commands {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			imp := strings.Trim(spec.Path.Value, `"`)
			for mod, home := range onlyIn {
				if imp == mod || strings.HasPrefix(imp, mod+"/") {
					t.Errorf("%s: only %s may import %s", name, home, mod)
				}
			}
		}
	}
	for pkg := range allowed {
		if _, err := os.Stat(pkg); err != nil {
			t.Errorf("package %s is in the layer table but not in the tree", pkg)
		}
	}
}

// Forbidden imports, seeded: against the flow, past a sole user, and from packages
// that nobody placed.
func TestLayersFindsForbiddenImports(t *testing.T) {
	file := func(pkg, imp string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("package " + pkg + "\n\nimport _ \"" + imp + "\"\n")}
	}
	tests := []struct {
		name, file, want string
		src              *fstest.MapFile
	}{
		{"against the flow", "canon/x.go", "canon/x.go: canon may not import archive", file("canon", module+"/internal/archive")},
		{"past the sole user", "ledger/x.go", "ledger/x.go: only gitrepo may import github.com/go-git/go-git/v5", file("ledger", "github.com/go-git/go-git/v5/plumbing")},
		{"a package inside another", "canon/deep/x.go", "canon/deep/x.go: package canon/deep is not in the layer table", file("deep", "fmt")},
		{"an unplaced package", "stray/x.go", "stray/x.go: package stray is not in the layer table", file("stray", "fmt")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, err := violations(fstest.MapFS{tt.file: tt.src})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(found, []string{tt.want}) {
				t.Errorf("violations = %q, want %q", found, tt.want)
			}
		})
	}
	if found, err := violations(fstest.MapFS{"archive/x.go": file("archive", module+"/internal/canon")}); err != nil || len(found) != 0 {
		t.Errorf("violations of an allowed import = %q, %v, want none", found, err)
	}
}
