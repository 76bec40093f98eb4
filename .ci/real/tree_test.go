package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// site writes a rendered site with the given files and JSON beside the pages of
// some servers.
func site(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const smallReport = `{"calendar":[{"day":"2026-01-01"},{"day":"2026-01-02","changes":[{},{}]},{"day":"2026-01-03","changes":[{}]}],
"servers":{"a/quiet":{"read":"2026-01-03","versions":[{}]},"a/busy":{"read":"2026-01-03","versions":[{},{}]},
"b/none":{"state":"no_endpoint"},"c/login":{"state":"auth"},"d/login":{"state":"auth"},
"com.example.hostile/html":{"read":"2026-01-03","versions":[{},{},{}]},"com.example.next/search":{"state":"http_4xx","read":"2026-01-02"}}}`

func smallSite() map[string]string {
	files := map[string]string{"report.json": smallReport}
	for _, name := range []string{"a/quiet", "a/busy", "b/none", "c/login", "d/login", "com.example.hostile/html", modernName} {
		files["s/"+name+"/index.json"] = `{"name":"` + name + `"}`
	}
	return files
}

func TestReadTree(t *testing.T) {
	tr, err := readTree(site(t, smallSite()))
	if err != nil {
		t.Fatal(err)
	}
	if tr.busy != "a/busy" || tr.silent != "c/login" || tr.day != "2026-01-02" {
		t.Errorf("chosen: busy %s, silent %s, day %s, want a/busy, c/login, 2026-01-02", tr.busy, tr.silent, tr.day)
	}
	if got := tr.hostile(); len(got) != 1 || got[0] != htmlName {
		t.Errorf("hostile = %q, want %s", got, htmlName)
	}
	for _, p := range tr.chosen() {
		if strings.Contains(p.what, "server ") && !strings.HasPrefix(p.path, "s/") {
			t.Errorf("%s is at %q, want a page below s/", p.what, p.path)
		}
	}
}

func TestReadTreeFails(t *testing.T) {
	for name, spoil := range map[string]func(map[string]string){
		"no report":                func(f map[string]string) { delete(f, "report.json") },
		"a server without a page":  func(f map[string]string) { delete(f, "s/a/quiet/index.json") },
		"a page that names nobody": func(f map[string]string) { f["s/a/quiet/index.json"] = "{}" },
		"no hostile server":        func(f map[string]string) { f["report.json"] = strings.Replace(smallReport, htmlName, "a/quiet", 1) },
		"no server of one era": func(f map[string]string) {
			f["report.json"] = strings.Replace(smallReport, modernName, "a/quiet", 1)
			delete(f, "s/"+modernName+"/index.json")
		},
		"no server without a contract": func(f map[string]string) {
			f["report.json"] = strings.ReplaceAll(smallReport, `"state":"auth"`, `"state":"no_endpoint"`)
		},
	} {
		files := smallSite()
		spoil(files)
		if name == "no hostile server" {
			delete(files, "s/"+htmlName+"/index.json")
		}
		if _, err := readTree(site(t, files)); err == nil {
			t.Errorf("readTree with %s = nil error, want one", name)
		}
	}
}
