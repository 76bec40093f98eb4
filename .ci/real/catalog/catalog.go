// Package catalog serves registry rows the way the official registry does
// (API v0.1), for servers that live on loopback, whose URLs the real registry
// refuses.
package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An Entry is what a row says.
type Entry struct {
	Name    string
	Title   string
	Version string
	URL     string // of its streamable-http remote
	Updated time.Time
}

// A Catalog is a registry on a port of 127.0.0.1.
type Catalog struct {
	server *http.Server
	addr   string

	mu      sync.Mutex // guards entries
	entries []Entry
}

// pageRows is how many rows a page has at most, so that a few servers make
// several pages.
const pageRows = 4

// Start starts a registry with the given rows.
func Start(entries []Entry) (*Catalog, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the registry: %w", err)
	}
	c := &Catalog{addr: l.Addr().String(), entries: entries}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v0.1/servers", c.list)
	mux.HandleFunc("GET /v0.1/servers/{name}/versions", c.versions)
	c.server = &http.Server{Handler: mux}
	go c.server.Serve(l) // returns when closed
	return c, nil
}

// URL returns the value for -registry.
func (c *Catalog) URL() string { return "http://" + c.addr + "/v0.1/servers" }

// Close ends the registry.
func (c *Catalog) Close() { _ = c.server.Close() }

// Release sets the version that a row names, as a publisher does.
func (c *Catalog) Release(name, version string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.entries {
		if c.entries[i].Name == name {
			c.entries[i].Version, c.entries[i].Updated = version, now
		}
	}
}

// list answers a page: rows after the cursor, which names the row before it.
func (c *Catalog) list(w http.ResponseWriter, r *http.Request) {
	limit := pageRows
	if n, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil {
		limit = min(n, pageRows)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := c.entries
	if cursor := r.URL.Query().Get("cursor"); cursor != "" {
		for len(rows) > 0 {
			found := rows[0].cursor() == cursor
			rows = rows[1:]
			if found {
				break
			}
		}
	}
	next := ""
	if len(rows) >= limit {
		rows = rows[:limit]
		next = rows[limit-1].cursor()
	}
	answer(w, rows, next)
}

// versions answers all versions of one name.
func (c *Catalog) versions(w http.ResponseWriter, r *http.Request) {
	name, err := url.PathUnescape(r.PathValue("name"))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		if err == nil && e.Name == name {
			answer(w, []Entry{e}, "")
			return
		}
	}
	http.Error(w, `{"title":"Not Found","status":404,"detail":"Server not found"}`, http.StatusNotFound)
}

func (e Entry) cursor() string { return e.Name + ":" + e.Version }

// row writes the row as the official server does, members in its order.
func (e Entry) row() string {
	when := quote(e.Updated.UTC().Format("2006-01-02T15:04:05.000000Z"))
	var b strings.Builder
	fmt.Fprintf(&b, `{"server":{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",`)
	fmt.Fprintf(&b, `"name":%s,"description":%s,"version":%s,`, quote(e.Name), quote(e.Title), quote(e.Version))
	fmt.Fprintf(&b, `"remotes":[{"type":"streamable-http","url":%s}]},`, quote(e.URL))
	fmt.Fprintf(&b, `"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","statusChangedAt":%s,`, when)
	fmt.Fprintf(&b, `"publishedAt":%s,"updatedAt":%s,"isLatest":true}}}`, when, when)
	return b.String()
}

// answer writes a page as the official server does, line feed included.
func answer(w http.ResponseWriter, rows []Entry, next string) {
	var all []string
	for _, e := range rows {
		all = append(all, e.row())
	}
	cursor := ""
	if next != "" {
		cursor = `"nextCursor":` + quote(next) + `,`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, "{\"servers\":[%s],\"metadata\":{%s\"count\":%d}}\n", strings.Join(all, ","), cursor, len(rows))
}

// quote returns s as a JSON string with <, > and & as they are.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
