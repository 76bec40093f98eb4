package api

import (
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func rendered() fstest.MapFS {
	files := map[string]string{
		"index.html": "home", "404.html": "there is no such page", "assets/site.css": "css", "assets/site.js": "js",
		"report.json": "{}", "changes.atom": "<feed/>", "half-life/index.html": "half-life", "half-life/half-life.svg": "<svg/>",
		"half-life/half-life.png": "png", "half-life/half-life.csv": "a,b", "names.txt": "names", "sitemap.xml": "<urlset/>",
		"s/com.example/weather/index.html": "weather", "s/com.example/ü ?#%2F/index.html": "odd", "s/a:b/index.html": "colon",
		"empty/index.txt": "no page", ".hidden/index.html": "hidden", ".mcpstrata-site": "base /mcpstrata/", "s/.git/config": "hidden",
		"file.unknown": "bytes", "0123456789.txt": "0123456789",
	}
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// ask sends one request without following redirects.
func ask(t *testing.T, h http.Handler, method, target string, header ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	resp := w.Result()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func TestSite(t *testing.T) {
	const missing = "there is no such page"
	tests := []struct {
		name, target string
		status       int
		mediaType    string
		body         string
	}{
		{"the root", "/", 200, "text/html; charset=utf-8", "home"},
		{"a page by its file", "/index.html", 200, "text/html; charset=utf-8", "home"},
		{"a folder", "/half-life/", 200, "text/html; charset=utf-8", "half-life"},
		{"a query is of no matter", "/half-life/?x=../..", 200, "text/html; charset=utf-8", "half-life"},
		{"a server", "/s/com.example/weather/", 200, "text/html; charset=utf-8", "weather"},
		{"a server by its decoded path", "/s/com.example/%C3%BC%20%3F%23%252F/", 200, "text/html; charset=utf-8", "odd"},
		{"a style", "/assets/site.css", 200, "text/css; charset=utf-8", "css"},
		{"a script", "/assets/site.js", 200, "text/javascript; charset=utf-8", "js"},
		{"JSON", "/report.json", 200, "application/json; charset=utf-8", "{}"},
		{"Atom", "/changes.atom", 200, "application/atom+xml; charset=utf-8", "<feed/>"},
		{"SVG", "/half-life/half-life.svg", 200, "image/svg+xml; charset=utf-8", "<svg/>"},
		{"PNG", "/half-life/half-life.png", 200, "image/png", "png"},
		{"CSV", "/half-life/half-life.csv", 200, "text/csv; charset=utf-8", "a,b"},
		{"text", "/names.txt", 200, "text/plain; charset=utf-8", "names"},
		{"XML", "/sitemap.xml", 200, "application/xml; charset=utf-8", "<urlset/>"},
		{"what we don't know", "/file.unknown", 200, "application/octet-stream", "bytes"},
		{"nothing there", "/nothing", 404, "text/html; charset=utf-8", missing},
		{"nothing there, as a folder", "/nothing/", 404, "text/html; charset=utf-8", missing},
		{"a file as a folder", "/report.json/", 404, "text/html; charset=utf-8", missing},
		{"a folder without a page", "/empty/", 404, "text/html; charset=utf-8", missing},
		{"a folder without a page, no slash", "/empty", 404, "text/html; charset=utf-8", missing},
		{"a hidden file", "/.mcpstrata-site", 404, "text/html; charset=utf-8", missing},
		{"a hidden folder", "/.hidden/", 404, "text/html; charset=utf-8", missing},
		{"a hidden folder further down", "/s/.git/config", 404, "text/html; charset=utf-8", missing},
		{"up", "/../index.html", 404, "text/html; charset=utf-8", missing},
		{"up, encoded", "/assets/%2e%2e/index.html", 404, "text/html; charset=utf-8", missing},
		{"up from within", "/assets/../index.html", 404, "text/html; charset=utf-8", missing},
		{"here", "/./index.html", 404, "text/html; charset=utf-8", missing},
		{"two slashes", "//index.html", 404, "text/html; charset=utf-8", missing},
		{"two slashes at the end", "/half-life//", 404, "text/html; charset=utf-8", missing},
		{"only slashes", "//", 404, "text/html; charset=utf-8", missing},
		{"an encoded slash", "/s/com.example%2Fweather/", 404, "text/html; charset=utf-8", missing},
		{"an encoded slash in small letters", "/s/com.example%2fweather/", 404, "text/html; charset=utf-8", missing},
		{"a backslash", "/half-life%5Cindex.html", 404, "text/html; charset=utf-8", missing},
		{"NUL", "/index.html%00", 404, "text/html; charset=utf-8", missing},
		{"a line feed", "/half-life%0d%0aX-Evil:%201", 404, "text/html; charset=utf-8", missing},
		{"not UTF-8", "/%ff", 404, "text/html; charset=utf-8", missing},
	}
	h := Site(rendered())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := ask(t, h, "GET", tt.target)
			if resp.StatusCode != tt.status || body != tt.body || resp.Header.Get("Content-Type") != tt.mediaType {
				t.Errorf("GET %s = %d %s %q, want %d %s %q", tt.target, resp.StatusCode, resp.Header.Get("Content-Type"), body, tt.status, tt.mediaType, tt.body)
			}
			head, none := ask(t, h, "HEAD", tt.target)
			if head.StatusCode != tt.status || none != "" || !maps.EqualFunc(head.Header, resp.Header, func(a, b []string) bool { return strings.Join(a, ",") == strings.Join(b, ",") }) {
				t.Errorf("HEAD %s = %d %v %q, want the head of GET: %v", tt.target, head.StatusCode, head.Header, none, resp.Header)
			}
		})
	}
}

func TestAddsSlash(t *testing.T) {
	tests := []struct{ name, target, want string }{
		{"a folder", "/half-life", "./half-life/"},
		{"with a query", "/half-life?a=b&c", "./half-life/?a=b&c"},
		{"further down", "/s/com.example/weather", "./weather/"},
		{"what has to be encoded", "/s/com.example/%C3%BC%20%3F%23%252F", "./%C3%BC%20%3F%23%252F/"},
		{"a colon is no scheme", "/s/a:b", "./a:b/"},
	}
	h := Site(rendered())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, _ := ask(t, h, "GET", tt.target)
			if got := resp.Header.Get("Location"); resp.StatusCode != 301 || got != tt.want {
				t.Fatalf("GET %s = %d to %q, want 301 to %q", tt.target, resp.StatusCode, got, tt.want)
			}
			next, err := httptest.NewRequest("GET", tt.target, nil).URL.Parse(tt.want)
			if err != nil {
				t.Fatal(err)
			}
			if resp, _ := ask(t, h, "GET", next.RequestURI()); resp.StatusCode != 200 {
				t.Errorf("GET %s = %d, want 200", next, resp.StatusCode)
			}
		})
	}
}

func TestMethods(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "TRACE"} {
		resp, _ := ask(t, Site(rendered()), method, "/")
		if resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s / = %d, Allow %q, want 405 and GET, HEAD", method, resp.StatusCode, resp.Header.Get("Allow"))
		}
	}
}

func TestHeaders(t *testing.T) {
	want := map[string]string{
		"Content-Security-Policy": Policy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "max-age=600", "Last-Modified": "",
	}
	for _, target := range []string{"/", "/report.json", "/nothing", "/half-life"} {
		resp, _ := ask(t, Site(rendered()), "GET", target)
		for name, value := range want {
			if got := resp.Header.Get(name); got != value {
				t.Errorf("GET %s: %s = %q, want %q", target, name, got, value)
			}
		}
	}
	resp, _ := ask(t, Site(rendered()), "GET", "/half-life/half-life.svg")
	if got := resp.Header.Get("Content-Security-Policy"); got != imagePolicy {
		t.Errorf("policy of an SVG = %q, want %q", got, imagePolicy)
	}
}

// The pages state the same policy, but for what only a header can.
func TestPolicyOfPages(t *testing.T) {
	layout, err := os.ReadFile("../../templates/site/layout.html")
	if err != nil {
		t.Fatal(err)
	}
	meta, ok := strings.CutSuffix(Policy, "; frame-ancestors 'none'")
	if want := `content="` + meta + `"`; !ok || !strings.Contains(string(layout), want) {
		t.Errorf("layout.html lacks %s", want)
	}
}

// A tag is of the content: the same in two builds, another after a change.
func TestETag(t *testing.T) {
	files := rendered()
	h := Site(files)
	first, _ := ask(t, h, "GET", "/names.txt")
	tag := first.Header.Get("ETag")
	if resp, body := ask(t, h, "GET", "/names.txt", "If-None-Match", tag); tag == "" || resp.StatusCode != 304 || body != "" {
		t.Errorf("GET with the tag %s = %d %q, want 304", tag, resp.StatusCode, body)
	}
	files["names.txt"] = &fstest.MapFile{Data: []byte("other")}
	if resp, body := ask(t, h, "GET", "/names.txt", "If-None-Match", tag); resp.StatusCode != 200 || body != "other" {
		t.Errorf("GET of what changed = %d %q, want 200 other", resp.StatusCode, body)
	}
	if resp, body := ask(t, h, "GET", "/0123456789.txt", "Range", "bytes=2-4"); resp.StatusCode != 206 || body != "234" {
		t.Errorf("GET of a part = %d %q, want 206 234", resp.StatusCode, body)
	}
}

func TestNoNotFoundPage(t *testing.T) {
	resp, body := ask(t, Site(fstest.MapFS{}), "GET", "/")
	if resp.StatusCode != 404 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") || body == "" {
		t.Errorf("GET / of an empty folder = %d %s %q, want a line of text", resp.StatusCode, resp.Header.Get("Content-Type"), body)
	}
}

// Neither a link out of the folder nor what is no file is served.
func TestOutOfTheFolder(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(outside, "secret.txt"): "secret", filepath.Join(dir, "index.html"): "home", filepath.Join(dir, "real.txt"): "real",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"out.txt": filepath.Join(outside, "secret.txt"), "up": "..", "in.txt": "real.txt"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Skip(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for target, want := range map[string]int{"/": 200, "/in.txt": 200, "/out.txt": 404, "/up/": 404, "/up/" + filepath.Base(outside) + "/secret.txt": 404} {
		if resp, body := ask(t, Site(root.FS()), "GET", target); resp.StatusCode != want || strings.Contains(body, "secret") {
			t.Errorf("GET %s = %d %q, want %d", target, resp.StatusCode, body, want)
		}
	}
	special := rendered()
	special["pipe.txt"] = &fstest.MapFile{Mode: fs.ModeNamedPipe}
	if resp, _ := ask(t, Site(special), "GET", "/pipe.txt"); resp.StatusCode != 404 {
		t.Errorf("GET of a pipe = %d, want 404", resp.StatusCode)
	}
}

func TestBelow(t *testing.T) {
	h := Below("/mcpstrata/", Site(rendered()))
	tests := []struct {
		target   string
		status   int
		location string
	}{
		{"/", 200, ""},
		{"/half-life/", 200, ""},
		{"/mcpstrata/", 200, ""},
		{"/mcpstrata", 301, "/mcpstrata/"},
		{"/mcpstrata/half-life/", 200, ""},
		{"/mcpstrata/half-life", 301, "./half-life/"},
		{"/mcpstrata/nothing", 404, ""},
		{"/mcpstrata//half-life/", 404, ""},
		{"/mcpstrata/.hidden/", 404, ""},
		{"/mcpstratahalf-life/", 404, ""},
	}
	for _, tt := range tests {
		resp, _ := ask(t, h, "GET", tt.target)
		if got := resp.Header.Get("Location"); resp.StatusCode != tt.status || got != tt.location {
			t.Errorf("GET %s = %d %q, want %d %q", tt.target, resp.StatusCode, got, tt.status, tt.location)
		}
	}
	if resp, body := ask(t, Below("/", Site(rendered())), "GET", "/half-life/"); resp.StatusCode != 200 || body != "half-life" {
		t.Errorf("below the root: %d %q", resp.StatusCode, body)
	}
}
