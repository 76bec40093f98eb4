package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseSource(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Source
		ok   bool
	}{
		{"npm:server@1.2.3", Source{Package: "server", Version: "1.2.3"}, true},
		{"npm:@scope/server.js@0.0.1-rc.1+b", Source{Package: "@scope/server.js", Version: "0.0.1-rc.1+b"}, true},
		{"npm:JSONStream@1.0.0", Source{Package: "JSONStream", Version: "1.0.0"}, true},
		{"cmd:./server", Source{Path: "./server"}, true},
		{"cmd:/a b/$(id)", Source{Path: "/a b/$(id)"}, true},
		{"", Source{}, false},
		{"server@1.2.3", Source{}, false},
		{"cmd:", Source{}, false},
		{"cmd:a\x00b", Source{}, false},
		{"npm:server", Source{}, false},
		{"npm:@scope/server", Source{}, false},
		{"npm:server@latest", Source{}, false},
		{"npm:server@^1.2.3", Source{}, false},
		{"npm:server@1.2", Source{}, false},
		{"npm:server@01.2.3", Source{}, false},
		{"npm:server@1.2.3 --ignore-scripts=false", Source{}, false},
		{"npm:server@npm:other@1.0.0", Source{}, false},
		{"npm:server@file:../x", Source{}, false},
		{"npm:server@https://example.com/x.tgz", Source{}, false},
		{"npm:--prefix@1.2.3", Source{}, false},
		{"npm:../server@1.2.3", Source{}, false},
		{"npm:a/b@1.2.3", Source{}, false},
		{"npm:@a/../b@1.2.3", Source{}, false},
		{"npm:.server@1.2.3", Source{}, false},
		{"npm:server;id@1.2.3", Source{}, false},
		{"npm:server\n@1.2.3", Source{}, false},
		{"npm:node_modules@1.2.3", Source{}, false},
		{"npm:@scope/node_modules@1.2.3", Source{}, false},
		{"npm:" + strings.Repeat("a", 215) + "@1.2.3", Source{}, false},
	} {
		got, err := ParseSource(tt.in)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParseSource(%q) = %+v, %v, want %+v, ok %v", tt.in, got, err, tt.want, tt.ok)
		}
	}
}

func TestProgram(t *testing.T) {
	for _, tt := range []struct {
		name, manifest string
		want           string // below the package; "" for an error
	}{
		{"one", `{"name":"@s/p","version":"1.0.1","bin":"./dist/i.js"}`, "dist/i.js"},
		{"one with a name", `{"name":"@s/p","version":"1.0.1","bin":{"other":"dist/i.js"}}`, "dist/i.js"},
		{"two names of one", `{"name":"@s/p","version":"1.0.1","bin":{"a":"dist/i.js","b":"dist/i.js"}}`, "dist/i.js"},
		{"the package's own of several", `{"name":"@s/p","version":"1.0.1","bin":{"a":"dist/a.js","p":"dist/i.js"}}`, "dist/i.js"},
		{"none of several", `{"name":"@s/p","version":"1.0.1","bin":{"a":"dist/a.js","b":"dist/i.js"}}`, ""},
		{"none", `{"name":"@s/p","version":"1.0.1"}`, ""},
		{"not there", `{"name":"@s/p","version":"1.0.1","bin":"dist/x.js"}`, ""},
		{"a folder", `{"name":"@s/p","version":"1.0.1","bin":"dist"}`, ""},
		{"outside", `{"name":"@s/p","version":"1.0.1","bin":"../../../outside.js"}`, ""},
		{"absolute", `{"name":"@s/p","version":"1.0.1","bin":"/bin/sh"}`, ""},
		{"by a link", `{"name":"@s/p","version":"1.0.1","bin":"dist/link.js"}`, ""},
		{"another package", `{"name":"p","version":"1.0.1","bin":"dist/i.js"}`, ""},
		{"no version", `{"name":"@s/p","version":"new","bin":"dist/i.js"}`, ""},
		{"no JSON", `{`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			folder := filepath.Join(dir, "node_modules", "@s", "p")
			if err := os.MkdirAll(filepath.Join(folder, "dist"), 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"package.json": tt.manifest, "dist/i.js": "1", "dist/a.js": "1", "../../../outside.js": "1"} {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(os.DevNull, filepath.Join(folder, "dist/link.js")); err != nil {
				t.Skip(err)
			}
			version, path, err := Source{Package: "@s/p", Version: "1.0.0"}.program(dir)
			want := ""
			if tt.want != "" {
				want = filepath.Join("node_modules", "@s", "p", filepath.FromSlash(tt.want))
			}
			if path != want || (err == nil) != (want != "") || (want != "") != (version == "1.0.1") {
				t.Errorf("program(%s) = %q, %q, %v, want %q", tt.manifest, version, path, err, want)
			}
		})
	}
}

func TestCheckNames(t *testing.T) {
	if got, err := CheckNames([]string{"B_2", "_a", "B_2"}); err != nil || strings.Join(got, " ") != "B_2 _a" {
		t.Errorf("CheckNames = %v, %v, want each once, sorted", got, err)
	}
	for _, name := range []string{"", "2A", "A-B", "A=B", "A B", "Ä", "PATH", "HOME", "NODE_OPTIONS", "LD_PRELOAD", strings.Repeat("A", 129)} {
		if got, err := CheckNames([]string{name}); err == nil {
			t.Errorf("CheckNames(%q) = %v, want an error", name, got)
		}
	}
}
