// Package api serves the site over HTTP.
//
// # What is served
//
// A folder that holds a rendered site, as a static host would serve it, so that
// what is seen here is what is published: GET and HEAD, the index.html of a
// folder at the path with a final slash, 404.html with status 404. Folders are
// never listed, and names that begin with a dot are not there. A path is matched
// as it is, segment by segment after decoding: one with an empty segment, with .
// or .., an encoded slash, a backslash or a control character names nothing, and
// none is rewritten to another. The caller decides by the [fs.FS] whether links
// may lead out of the folder; [os.Root] keeps them in.
//
// # Headers
//
// Pages state their policy themselves, because a static host can't; here it is a
// header as well, with what only a header can say (CSP 3, 6.4.2: frame-ancestors).
// A chart that is opened by itself brings its style with it and may do nothing
// else. Nothing is told of when a file was written, which differs from build to
// build: what a client has is compared by the digest of the content.
package api

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Policy is the Content-Security-Policy of every page.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// imagePolicy is that of an SVG document, whose style stands in it.
const imagePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

// maxAge is how long an answer may be used without asking, in seconds: what
// GitHub Pages says.
const maxAge = "max-age=600"

// types maps the extension of a file to its media type. What has another one is
// sent as bytes.
var types = map[string]string{
	".atom":  "application/atom+xml; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".csv":   "text/csv; charset=utf-8",
	".html":  "text/html; charset=utf-8",
	".ico":   "image/x-icon",
	".js":    "text/javascript; charset=utf-8",
	".json":  "application/json; charset=utf-8",
	".jsonl": "application/jsonl; charset=utf-8",
	".md":    "text/markdown; charset=utf-8",
	".png":   "image/png",
	".svg":   "image/svg+xml; charset=utf-8",
	".txt":   "text/plain; charset=utf-8",
	".woff2": "font/woff2",
	".xml":   "application/xml; charset=utf-8",
}

const indexPage, notFoundPage = "index.html", "404.html"

// Site returns a handler that serves a rendered site. The files may be replaced
// while it does.
func Site(fsys fs.FS) http.Handler { return site{fsys} }

type site struct{ fsys fs.FS }

// Below returns a handler that is h, and is it below a path too: a site that was
// rendered to stand at /mcpstrata/ names it in its page for what is not there.
// The path begins and ends with a slash.
func Below(prefix string, h http.Handler) http.Handler {
	if prefix == "/" {
		return h
	}
	mount := strings.TrimSuffix(prefix, "/")
	below := http.StripPrefix(mount, h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, prefix):
			below.ServeHTTP(w, r)
		case r.URL.Path == mount:
			http.Redirect(w, r, prefix, http.StatusMovedPermanently)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", maxAge)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are answered", http.StatusMethodNotAllowed)
		return
	}
	name, ok := fileName(r.URL)
	if !ok {
		s.notFound(w, r)
		return
	}
	folder := strings.HasSuffix(r.URL.Path, "/")
	switch i, err := fs.Stat(s.fsys, name); {
	case err != nil, folder && !i.IsDir():
		s.notFound(w, r)
	case folder:
		s.file(w, r, path.Join(name, indexPage))
	case i.IsDir():
		s.addSlash(w, r, name)
	default:
		s.file(w, r, name)
	}
}

// fileName returns the name below the root that a URL's path asks for, and
// whether there can be one.
func fileName(u *url.URL) (string, bool) {
	escaped := strings.ToLower(u.EscapedPath())
	name, ok := strings.CutPrefix(u.Path, "/")
	if !ok || strings.Contains(escaped, "%2f") || strings.ContainsFunc(u.Path, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }) {
		return "", false
	}
	name = strings.TrimSuffix(name, "/")
	if name == "" {
		return ".", u.Path == "/"
	}
	return name, fs.ValidPath(name) && name != "." && !strings.HasPrefix(name, ".") && !strings.Contains(name, "/.")
}

// addSlash sends to a folder's own path, where its relative links are right.
func (s site) addSlash(w http.ResponseWriter, r *http.Request, name string) {
	if i, err := fs.Stat(s.fsys, path.Join(name, indexPage)); err != nil || !i.Mode().IsRegular() {
		s.notFound(w, r)
		return
	}
	// Relative, for the site may stand below a path that was taken off. The dot
	// keeps a colon in the name from being read as the end of a scheme.
	to := "./" + url.PathEscape(path.Base(name)) + "/"
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusMovedPermanently)
}

// file sends a file, whole or in part, or says that it is as the client has it.
func (s site) file(w http.ResponseWriter, r *http.Request, name string) {
	f, err := open(s.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		s.notFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, "the file can't be read", http.StatusInternalServerError)
		return
	}
	defer f.Close()
	sum := sha256.New()
	if _, err = io.Copy(sum, f); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		http.Error(w, "the file can't be read", http.StatusInternalServerError)
		return
	}
	setType(w.Header(), name)
	w.Header().Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:15])+`"`)
	http.ServeContent(w, r, "", time.Time{}, f)
}

// notFound sends the site's page for that, or a line where it has none.
func (s site) notFound(w http.ResponseWriter, r *http.Request) {
	f, err := open(s.fsys, notFoundPage)
	if err != nil {
		http.Error(w, "there is nothing at this address", http.StatusNotFound)
		return
	}
	defer f.Close()
	setType(w.Header(), notFoundPage)
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	}
	w.WriteHeader(http.StatusNotFound)
	if _, err := f.Seek(0, io.SeekStart); err == nil && r.Method == http.MethodGet {
		io.Copy(w, f) // the client may be gone; nobody is left to tell
	}
}

func setType(h http.Header, name string) {
	t, ok := types[path.Ext(name)]
	if !ok {
		t = "application/octet-stream"
	}
	h.Set("Content-Type", t)
	if path.Ext(name) == ".svg" {
		h.Set("Content-Security-Policy", imagePolicy)
	}
}

type seekableFile interface {
	fs.File
	io.Seeker
}

// open opens a regular file. One that is a folder, a pipe or a device is not
// there: to open a pipe would wait for whoever writes to it.
func open(fsys fs.FS, name string) (seekableFile, error) {
	i, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !i.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	s, ok := f.(seekableFile)
	if !ok {
		f.Close()
		return nil, fmt.Errorf("opening %s: this kind of file can't be read twice", name)
	}
	return s, nil
}
