package fleet

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of the real registry (API of 2025-12-01).
const (
	defaultLimit = 30
	maxLimit     = 100
)

// A catalogue is what the registry shows on one day.
type catalogue struct {
	rows   []row            // of the listing, by name and version
	byName map[string][]row // newest first; a name that is not here answers 404
	cut    int              // if positive, what follows the first cut rows can't be read
}

// A row is one version of one name, as it stands on a page.
type row struct {
	name, version, description, text string
	latest                           bool
	updated                          time.Time
}

// catalogue returns what the registry shows on day n.
func (f *Fleet) catalogue(n int) *catalogue {
	c := &catalogue{byName: map[string][]row{}}
	for _, s := range f.world.sites {
		st := &s.days[n]
		if !st.known || st.gone {
			continue
		}
		var rows []row
		for _, v := range slices.Backward(st.versions) {
			rows = append(rows, f.row(s.name, v))
		}
		c.byName[s.name] = rows
		if st.listed {
			c.rows = append(c.rows, rows...)
		}
	}
	slices.SortFunc(c.rows, compareRows)
	if n > 0 && n == f.world.cut {
		c.cut = max(1, min(maxLimit, len(c.rows)/2))
	}
	return c
}

// compareRows sorts as a database collation does rather than by bytes: letters
// first, then case.
func compareRows(a, b row) int {
	return cmp.Or(
		cmp.Compare(strings.ToLower(a.name), strings.ToLower(b.name)), cmp.Compare(a.name, b.name),
		cmp.Compare(a.version, b.version))
}

// row returns the row of a version in the form of the official registry 1.7.9.
func (f *Fleet) row(name string, v version) row {
	server := object{
		{"$schema", "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
		{"name", name}, {"description", v.description}, {"title", v.title}, {"version", v.version},
	}
	if len(v.remotes) == 0 {
		server = append(server, member{"packages", list{object{
			{"registryType", "npm"}, {"identifier", "@example/" + strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])},
			{"version", v.version}, {"transport", object{{"type", "stdio"}}},
		}}})
	}
	var remotes list
	for _, r := range v.remotes {
		address := r.url
		if address == "" {
			address = "http://" + f.hosts[r.host].addr + r.path
		}
		remotes = append(remotes, object{{"type", r.typ}, {"url", address}})
	}
	if len(remotes) > 0 {
		server = append(server, member{"remotes", remotes})
	}
	status := "active"
	if v.deleted {
		status = "deleted"
	}
	official := object{
		{"status", status}, {"statusChangedAt", stamp(v.published)}, {"publishedAt", stamp(v.published)},
		{"updatedAt", stamp(v.updated)}, {"isLatest", v.latest},
	}
	text := style{}.text(object{{"server", server}, {"_meta", object{{"io.modelcontextprotocol.registry/official", official}}}})
	return row{name: name, version: v.version, description: v.description, text: text, latest: v.latest, updated: v.updated}
}

// stamp writes a time as PostgreSQL and Go do together: microseconds without
// trailing zeros.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999Z07:00") }

// serveRegistry answers GET /v0.1/servers and what lies below it.
func (f *Fleet) serveRegistry(w http.ResponseWriter, r *http.Request) {
	const root = "/v0.1/servers"
	path := r.URL.EscapedPath()
	c := f.shown.Load()
	switch {
	case path != root && !strings.HasPrefix(path, root+"/"):
		problem(w, http.StatusNotFound, "Not Found", `,"detail":"Endpoint not found"`)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		problem(w, http.StatusMethodNotAllowed, "Method Not Allowed", "")
	case path == root:
		c.serveList(w, r.URL.Query())
	default:
		c.serveName(w, strings.Split(strings.TrimPrefix(path, root+"/"), "/"))
	}
}

// serveList answers with one page of the listing.
func (c *catalogue) serveList(w http.ResponseWriter, q url.Values) {
	limit, err := strconv.Atoi(cmp.Or(q.Get("limit"), strconv.Itoa(defaultLimit)))
	if err != nil || limit < 1 || limit > maxLimit {
		unprocessable(w, limit, err)
		return
	}
	rows := c.rows
	if v := q.Get("version"); v != "" {
		rows = filter(rows, func(r row) bool { return r.version == v || v == "latest" && r.latest })
	}
	if s := strings.ToLower(q.Get("search")); s != "" {
		rows = filter(rows, func(r row) bool {
			return strings.Contains(strings.ToLower(r.name), s) || strings.Contains(strings.ToLower(r.description), s)
		})
	}
	if since := q.Get("updated_since"); since != "" {
		t, err := time.Parse(time.RFC3339, since)
		if err != nil {
			problem(w, http.StatusBadRequest, "Bad Request", `,"detail":"Invalid updated_since format"`)
			return
		}
		rows = filter(rows, func(r row) bool { return r.updated.After(t) })
	}
	from := 0
	if cursor := q.Get("cursor"); cursor != "" {
		if c.cut > 0 {
			send(w, http.StatusBadGateway, "text/html", badGateway)
			return
		}
		name, version, _ := strings.Cut(cursor, ":")
		from, _ = slices.BinarySearchFunc(rows, row{name: name, version: version}, func(r, at row) int {
			if compareRows(r, at) <= 0 {
				return -1
			}
			return 1
		})
	}
	if c.cut > 0 {
		limit = min(limit, c.cut)
	}
	to := min(len(rows), from+limit)
	next := ""
	if to-from == limit {
		last := rows[to-1]
		next = last.name + ":" + last.version // also when nothing follows: the next page is empty
	}
	writePage(w, rows[from:to], next)
}

func filter(rows []row, keep func(row) bool) []row {
	var out []row
	for _, r := range rows {
		if keep(r) {
			out = append(out, r)
		}
	}
	return out
}

// serveName answers /{name}/versions and /{name}/versions/{version}.
func (c *catalogue) serveName(w http.ResponseWriter, parts []string) {
	name, err := url.PathUnescape(parts[0])
	if err != nil || len(parts) < 2 || len(parts) > 3 || parts[1] != "versions" {
		problem(w, http.StatusNotFound, "Not Found", `,"detail":"Endpoint not found"`)
		return
	}
	rows := c.byName[name]
	if len(parts) == 2 && len(rows) > 0 {
		writePage(w, rows, "")
		return
	}
	if len(parts) == 3 {
		version, _ := url.PathUnescape(parts[2])
		for _, r := range rows {
			if r.version == version || version == "latest" && r.latest {
				send(w, http.StatusOK, jsonType, r.text+"\n")
				return
			}
		}
	}
	problem(w, http.StatusNotFound, "Not Found", `,"detail":"Server not found"`)
}

// writePage writes rows and their envelope as the official registry does.
func writePage(w http.ResponseWriter, rows []row, next string) {
	var b strings.Builder
	b.WriteString(`{"servers":[`)
	for i, r := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(r.text)
	}
	b.WriteString(`],"metadata":{`)
	if next != "" {
		b.WriteString(`"nextCursor":` + quote(next) + `,`)
	}
	b.WriteString(`"count":` + strconv.Itoa(len(rows)) + "}}\n")
	send(w, http.StatusOK, jsonType, b.String())
}

// unprocessable refuses a limit as the official registry's framework does.
func unprocessable(w http.ResponseWriter, limit int, err error) {
	message, value := "expected number >= 1", strconv.Itoa(limit)
	if limit > maxLimit {
		message = "expected number <= 100"
	}
	if err != nil {
		message, value = "invalid integer", "null"
	}
	problem(w, http.StatusUnprocessableEntity, "Unprocessable Entity",
		`,"detail":"validation failed","errors":[{"message":`+quote(message)+`,"location":"query.limit","value":`+value+`}]`)
}

// problem answers with a problem document (RFC 9457).
func problem(w http.ResponseWriter, status int, title, rest string) {
	send(w, status, "application/problem+json", `{"title":`+quote(title)+`,"status":`+strconv.Itoa(status)+rest+"}\n")
}
