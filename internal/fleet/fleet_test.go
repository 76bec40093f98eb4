package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// A reader is a plain client, as little like ours as it can be.
type reader struct {
	t      *testing.T
	client *http.Client
}

func newReader(t *testing.T) reader {
	tr := &http.Transport{DisableKeepAlives: true, Proxy: nil}
	t.Cleanup(tr.CloseIdleConnections)
	return reader{t, &http.Client{Transport: tr, Timeout: 10 * time.Second}}
}

func (r reader) get(u string) (int, []byte) {
	r.t.Helper()
	resp, err := r.client.Get(u)
	if err != nil {
		r.t.Fatalf("Get(%s): %v", u, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("Get(%s): %v", u, err)
	}
	return resp.StatusCode, b
}

// post sends one message and returns status and body.
func (r reader) post(ctx context.Context, u, session, message string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", u, strings.NewReader(message))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 32<<20))
	return resp, b, err
}

const (
	sayInitialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	sayInitialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	sayList        = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
)

// read does the three requests and says how it ended: the handshake and the list
// as bodies, or the error or status that ended it.
func (r reader) read(u string) (hello, tools, failed string) {
	r.t.Helper()
	resp, b, err := r.post(context.Background(), u, "", sayInitialize)
	if err != nil {
		return "", "", "no answer"
	}
	if resp.StatusCode != 200 {
		return "", "", fmt.Sprint(resp.StatusCode)
	}
	session := resp.Header.Get("Mcp-Session-Id")
	r.post(context.Background(), u, session, sayInitialized)
	resp, l, err := r.post(context.Background(), u, session, sayList)
	if err != nil {
		return "", "", "no list"
	}
	return string(b), string(l), fmt.Sprint(strings.TrimPrefix(resp.Status, "200 OK"))
}

// tools returns the tools of a body, each as JSON with sorted keys, sorted.
func (r reader) tools(body string) []string {
	r.t.Helper()
	if i := strings.Index(body, "data: {"); i >= 0 {
		body = body[i+len("data: "):]
	}
	var answer struct {
		Result struct{ Tools []any }
	}
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&answer); err != nil {
		r.t.Fatalf("reading %.100q: %v", body, err)
	}
	var out []string
	for _, t := range answer.Result.Tools {
		out = append(out, jsonOf(sorted(t)))
	}
	slices.Sort(out)
	return out
}

// sorted sorts every array of objects in v, as canonical form v1 does.
func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = sorted(v[k])
		}
	case []any:
		objects := true
		for i := range v {
			v[i] = sorted(v[i])
			_, isObject := v[i].(map[string]any)
			objects = objects && isObject
		}
		if objects {
			slices.SortFunc(v, func(a, b any) int { return cmp.Compare(jsonOf(a), jsonOf(b)) })
		}
	}
	return v
}

func jsonOf(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// An entry is a row as a client sees it.
type entry struct {
	Server struct {
		Name, Version string
		Remotes       []struct{ Type, URL string }
	}
	Meta map[string]struct {
		Status   string
		IsLatest bool
	} `json:"_meta"`
}

func (e entry) endpoint() string {
	for _, r := range e.Server.Remotes {
		if r.Type == "streamable-http" && !strings.Contains(r.URL, "{") {
			return r.URL
		}
	}
	return ""
}

type pageBody struct {
	Servers  []entry
	Metadata struct {
		NextCursor string
		Count      int
	}
}

// walk pages through the listing to its end, or to the first page that fails.
func (r reader) walk(base string, limit int) (entries []entry, bodies []byte, complete bool) {
	r.t.Helper()
	cursor := ""
	for range 1000 {
		u := fmt.Sprintf("%s?limit=%d&version=latest", base, limit)
		if cursor != "" {
			u += "&cursor=" + url.QueryEscape(cursor)
		}
		status, b := r.get(u)
		if status != 200 {
			return entries, bodies, false
		}
		var p pageBody
		if err := json.Unmarshal(b, &p); err != nil {
			r.t.Fatalf("Get(%s) = %.200s: %v", u, b, err)
		}
		if len(p.Servers) != p.Metadata.Count {
			r.t.Errorf("Get(%s) has %d rows, count says %d", u, len(p.Servers), p.Metadata.Count)
		}
		entries, bodies = append(entries, p.Servers...), append(bodies, b...)
		if cursor = p.Metadata.NextCursor; cursor == "" {
			return entries, bodies, true
		}
	}
	r.t.Fatal("the listing has no end")
	return nil, nil, false
}

func start(t *testing.T, cfg Config) *Fleet {
	t.Helper()
	f, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Start(%+v): %v", cfg, err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func setDay(t *testing.T, f *Fleet, n int) {
	t.Helper()
	if err := f.SetDay(n); err != nil {
		t.Fatalf("SetDay(%d): %v", n, err)
	}
}

func TestListingPagesToTheEnd(t *testing.T) {
	f, r := start(t, Config{}), newReader(t)
	for _, limit := range []int{100, 60, 7, 1} {
		entries, _, complete := r.walk(f.RegistryURL(), limit)
		seen := map[string]bool{}
		for _, e := range entries {
			if seen[e.Server.Name] {
				t.Errorf("limit %d: %s is listed twice", limit, e.Server.Name)
			}
			seen[e.Server.Name] = true
			if official := e.Meta["io.modelcontextprotocol.registry/official"]; !official.IsLatest || official.Status != "active" {
				t.Errorf("limit %d: %s is %+v", limit, e.Server.Name, official)
			}
		}
		if !complete || len(seen) != 120 {
			t.Errorf("limit %d: complete = %v with %d names, want true with 120", limit, complete, len(seen))
		}
	}
}

// What the registry says where the official one's answer is recorded, it says in
// the same bytes.
func TestRegistryAsTheOfficialOne(t *testing.T) {
	f, r := start(t, Config{Servers: 3}), newReader(t)
	dir := "../../../shared/registry/official-1.7.9"
	for _, c := range []struct {
		path   string
		status int
		file   string
		want   string
	}{
		{"?limit=101", 422, "error-limit-101.body", `{"title":"Unprocessable Entity","status":422,"detail":"validation failed","errors":[{"message":"expected number <= 100","location":"query.limit","value":101}]}` + "\n"},
		{"?limit=0", 422, "error-limit-0.body", `{"title":"Unprocessable Entity","status":422,"detail":"validation failed","errors":[{"message":"expected number >= 1","location":"query.limit","value":0}]}` + "\n"},
		{"?limit=2&cursor=zzz", 200, "error-bad-cursor.body", `{"servers":[],"metadata":{"count":0}}` + "\n"},
		{"?limit=2&cursor=zzz/zzz%3A9", 200, "empty-cursor-past-end.body", `{"servers":[],"metadata":{"count":0}}` + "\n"},
		{"/com.example%2Fnone/versions", 404, "unknown.body", `{"title":"Not Found","status":404,"detail":"Server not found"}` + "\n"},
	} {
		status, b := r.get(f.RegistryURL() + c.path)
		if status != c.status || string(b) != c.want {
			t.Errorf("Get(%s) = %d %s, want %d %s", c.path, status, b, c.status, c.want)
		}
		if official, err := os.ReadFile(filepath.Join(dir, c.file)); err == nil && !bytes.Equal(official, b) {
			t.Errorf("Get(%s) = %s, want %s as the official registry", c.path, b, official)
		}
	}
}

func TestVersionsOfAName(t *testing.T) {
	f, r := start(t, Config{}), newReader(t)
	for _, c := range []struct {
		name string
		day  int
		want string // status of /versions, then status and latest of each row
	}{
		{"io.github.quillfern/ticket-mcp", 20, "200 active+ active-"},
		{"io.github.tavernlight/notes", 11, "200 active+"},
		{"io.github.tavernlight/notes", 12, "404"},
		{"io.github.tavernlight/notes", 21, "200 active+"},
		{"io.github.mossgate/travel-mcp", 8, "200 deleted+"},
		{"io.github.brindlecove/sql", 16, "200 active-"},
		{"x/..", 1, "200 active+"},
		{"io.github.newleaf/forecast", 4, "404"},
		{"io.github.newleaf/forecast", 5, "200 active+"},
	} {
		setDay(t, f, c.day)
		status, b := r.get(f.RegistryURL() + "/" + url.PathEscape(c.name) + "/versions")
		got := fmt.Sprint(status)
		var p pageBody
		if err := json.Unmarshal(b, &p); err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Servers {
			official := e.Meta["io.modelcontextprotocol.registry/official"]
			got += " " + official.Status + map[bool]string{true: "+", false: "-"}[official.IsLatest]
		}
		if got != c.want {
			t.Errorf("versions of %s on day %d = %s, want %s", c.name, c.day, got, c.want)
		}
		latest, _ := r.get(f.RegistryURL() + "/" + url.PathEscape(c.name) + "/versions/latest")
		if want := map[bool]int{true: 200, false: 404}[strings.Contains(c.want, "+")]; latest != want {
			t.Errorf("latest version of %s on day %d: status %d, want %d", c.name, c.day, latest, want)
		}
	}
}

func TestCutListing(t *testing.T) {
	for _, servers := range []int{20, 120} {
		f, r := start(t, Config{Servers: servers}), newReader(t)
		for day, want := range map[int]bool{cutDay - 1: true, cutDay: false, cutDay + 1: true} {
			setDay(t, f, day)
			entries, _, complete := r.walk(f.RegistryURL(), 100)
			if complete != want || len(entries) == 0 {
				t.Errorf("%d servers: listing of day %d: complete = %v with %d rows, want %v", servers, day, complete, len(entries), want)
			}
		}
	}
}

// hidden are servers of the script whose list can't be read on that day.
func hidden(st *state) bool { return st.mode != up }

// Between two days a server's list changes, to readings of each methodology, if
// and only if the script says so.
func TestScriptIsWhatServersServe(t *testing.T) {
	for _, c := range []struct {
		version string
		servers int
		pairs   int
		read    func(r reader, u string) (tools string, failed string)
	}{
		{"v1", 70, 300, func(r reader, u string) (string, string) {
			_, body, failed := r.read(u)
			if failed != "" {
				return "", failed
			}
			return strings.Join(r.tools(body), "\n"), ""
		}},
		{"v1", 90, 20, func(r reader, u string) (string, string) {
			_, body, failed := r.read(u)
			if failed != "" {
				return "", failed
			}
			return strings.Join(r.tools(body), "\n"), ""
		}},
		{"v2", 90, 300, reader.readNewer},
	} {
		t.Run(fmt.Sprint(c.version, " of ", c.servers), func(t *testing.T) {
			f, r := start(t, Config{Servers: c.servers, Days: 30, Hang: time.Millisecond}), newReader(t)
			changed := map[string]map[int]bool{}
			for _, d := range f.Drifts(c.version) {
				if changed[d.Name] == nil {
					changed[d.Name] = map[int]bool{}
				}
				changed[d.Name][d.Day] = true
			}
			before := map[string]string{}
			compared := 0
			for day := range f.Days() {
				setDay(t, f, day)
				for i, s := range f.world.sites {
					host, path, ok := s.days[day].endpoint()
					blind := c.version == "v1" && (s.flavour == ownModern || s.flavour == ownLosing)
					special := s.flavour >= ownModern
					if !ok || hidden(&s.days[day]) || blind || s.days[day].other != nil || !special && (c.pairs < 100 || i%4 != 0 && i > 12) || s.name == "io.github.twofaced/web-search" {
						delete(before, s.name)
						continue
					}
					now, failed := c.read(r, "http://"+f.hosts[host].addr+path)
					if failed != "" {
						t.Fatalf("reading %s on day %d: %s", s.name, day, failed)
					}
					if old, ok := before[s.name]; ok {
						compared++
						upgraded := c.version == "v2" && s.days[day].about.speaks != s.days[day-1].about.speaks
						if got, want := old != now, changed[s.name][day] || upgraded; got != want {
							t.Errorf("list of %s changed on day %d: %v, want %v", s.name, day, got, want)
						}
					}
					before[s.name] = now
				}
			}
			if compared < c.pairs {
				t.Errorf("compared %d pairs of days, want at least %d", compared, c.pairs)
			}
		})
	}
}

const sayInitializeNewer = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// readNewer reads a list as methodology v2 does, and returns its tools, sorted,
// with everything inside them in order.
func (r reader) readNewer(u string) (tools, failed string) {
	r.t.Helper()
	for range 2 {
		header := http.Header{}
		meta := ""
		status, answered, body := r.postWith(u, header, sayInitializeNewer)
		switch {
		case status == http.StatusBadRequest && strings.Contains(body, "-32022"):
			header.Set("Mcp-Method", "tools/list")
			header.Set("Mcp-Protocol-Version", modernVersion)
			meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		case status != http.StatusOK:
			return "", fmt.Sprint(status)
		default:
			if id := answered.Get("Mcp-Session-Id"); id != "" {
				header.Set("Mcp-Session-Id", id)
			}
			if strings.Contains(body, `"protocolVersion":"2025-11-25"`) {
				header.Set("Mcp-Protocol-Version", "2025-11-25")
			}
			r.postWith(u, header, sayInitialized)
		}
		if tools, status = r.pages(u, header, meta); status != http.StatusNotFound {
			return tools, strings.TrimPrefix(fmt.Sprint(status), "200")
		}
	}
	return "", "404"
}

// pages reads all pages of a list, up to a status that is not 200.
func (r reader) pages(u string, header http.Header, meta string) (tools string, status int) {
	r.t.Helper()
	var all []string
	for cursor := ""; ; {
		params := meta
		if cursor != "" {
			params += `"cursor":` + quote(cursor)
		}
		status, _, body := r.postWith(u, header, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{`+params+`}}`)
		if status != http.StatusOK {
			return "", status
		}
		if i := strings.Index(body, "data: {"); i >= 0 {
			body = body[i+len("data: "):]
		}
		var answer struct {
			Result struct {
				Tools      []any
				NextCursor string
			}
		}
		if err := json.NewDecoder(strings.NewReader(body)).Decode(&answer); err != nil {
			r.t.Fatalf("reading %.100q: %v", body, err)
		}
		for _, t := range answer.Result.Tools {
			all = append(all, jsonOf(t))
		}
		if cursor = answer.Result.NextCursor; cursor == "" {
			slices.Sort(all)
			return strings.Join(all, "\n"), status
		}
	}
}

// postWith sends one message with more headers.
func (r reader) postWith(u string, header http.Header, message string) (status int, answered http.Header, body string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), "POST", u, strings.NewReader(message))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, nil, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 32<<20))
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

func TestModesOnTheWire(t *testing.T) {
	f, r := start(t, Config{Hang: time.Millisecond}), newReader(t)
	for _, c := range []struct {
		name string
		day  int
		want string
	}{
		{"example.cartograph/maps", 4, ""},
		{"example.cartograph/maps", 5, "no answer"},
		{"example.cartograph/maps", 7, ""},
		{"com.example.pay/billing", 4, "401"},
		{"com.example/quotes", 18, "429"},
		{"io.github.flickerwick/news", 24, "502"},
		{"com.example.closed/metered", 0, "402"},
		{"com.example.closed/intranet", 0, "403"},
		{"com.example.closed/future", 0, "400"},
		{"com.example.closed/partners", 0, "401"},
		{"com.example.closed/offline", 0, "no answer"},
		{"example.hub/acorn-crm", 0, ""},
	} {
		setDay(t, f, c.day)
		i := slices.IndexFunc(f.world.sites, func(s *site) bool { return s.name == c.name })
		if i < 0 {
			t.Fatalf("%s is not in the world", c.name)
		}
		host, path, _ := f.world.sites[i].days[c.day].endpoint()
		if _, _, failed := r.read("http://" + f.hosts[host].addr + path); failed != c.want {
			t.Errorf("reading %s on day %d: %q, want %q", c.name, c.day, failed, c.want)
		}
	}
}

func TestMovedServerLeavesItsAddress(t *testing.T) {
	f, r := start(t, Config{Servers: 8, Days: 40}), newReader(t)
	at := func(day int) string {
		setDay(t, f, day)
		entries, _, _ := r.walk(f.RegistryURL(), 100)
		for _, e := range entries {
			if e.Server.Name == "net.example/git-hosting" {
				return e.endpoint()
			}
		}
		t.Fatalf("no row on day %d", day)
		return ""
	}
	first := at(5)
	_, tools, _ := r.read(first)
	moved := at(6)
	if _, _, failed := r.read(first); moved == first || failed != "no answer" {
		t.Errorf("after the move from %s to %s, the old address says %q, want no answer", first, moved, failed)
	}
	if _, again, _ := r.read(moved); again != tools || again == "" {
		t.Errorf("after the move the list is %.80q, want %.80q", again, tools)
	}
	last := at(31)
	if _, _, failed := r.read(moved); last == moved || failed != "404" {
		t.Errorf("after the change of path to %s, the old one says %q, want 404", last, failed)
	}
}

func TestUnstableServerAlternates(t *testing.T) {
	f, r := start(t, Config{Servers: 12, Days: 40}), newReader(t)
	i := slices.IndexFunc(f.world.sites, func(s *site) bool { return s.name == "io.github.twofaced/web-search" })
	host, path, _ := f.world.sites[i].days[0].endpoint()
	u := "http://" + f.hosts[host].addr + path
	list := func(day, times int) (out []string) {
		setDay(t, f, day)
		for range times {
			_, body, _ := r.read(u)
			out = append(out, body)
		}
		return out
	}
	for _, day := range []int{21, 22, 33} {
		if l := list(day, 3); l[0] == l[1] || l[0] != l[2] {
			t.Errorf("day %d: three readings do not alternate", day)
		}
	}
	if a, b := list(21, 1), list(22, 1); a[0] == b[0] {
		t.Error("the first readings of two days are equal")
	}
	for _, day := range []int{20, 34} {
		if l := list(day, 2); l[0] != l[1] {
			t.Errorf("day %d: two readings differ", day)
		}
	}
}

// snapshot reads everything that a world shows on a day, with its addresses
// taken out.
func snapshot(t *testing.T, f *Fleet, day int) []byte {
	r := newReader(t)
	setDay(t, f, day)
	entries, bodies, _ := r.walk(f.RegistryURL(), 100)
	for i, e := range entries {
		if u := e.endpoint(); u != "" {
			hello, tools, failed := r.read(u)
			fmt.Fprintf((*writer)(&bodies), "\n%d %s %s %s %s", i, e.Server.Name, failed, hello, tools)
		}
	}
	_, port, _ := net.SplitHostPort(f.address)
	return bytes.ReplaceAll(bodies, []byte(":"+port), []byte(":port"))
}

type writer []byte

func (w *writer) Write(p []byte) (int, error) { *w = append(*w, p...); return len(p), nil }

func TestEqualSeedsGiveEqualBytes(t *testing.T) {
	cfg := Config{Seed: 7, Servers: 100, Days: 30, Hang: time.Millisecond}
	a, b := start(t, cfg), start(t, cfg)
	if !slices.Equal(a.Script(), b.Script()) {
		t.Error("two scripts of one seed differ")
	}
	for _, day := range []int{0, 29, 3} {
		x, y := snapshot(t, a, day), snapshot(t, b, day)
		if len(x) < 100_000 || !bytes.Equal(x, y) {
			t.Errorf("day %d: two worlds of one seed show %d and %d different bytes", day, len(x), len(y))
		}
	}
	cfg.Seed = 8
	if c := start(t, cfg); slices.Equal(a.Script(), c.Script()) {
		t.Error("two seeds make one script")
	}
}

// The demo's world keeps its promises: a clean baseline, something new every
// day, every kind of change, few hangs, one degraded day.
func TestDemoWorld(t *testing.T) {
	w, err := build(Config{}.filled())
	if err != nil {
		t.Fatal(err)
	}
	perDay, kinds := map[int]int{}, map[Kind]int{}
	for _, c := range w.script {
		kinds[c.Kind]++
		if c.Kind.Drifts() {
			perDay[c.Day]++
		}
		if c.Day < 1 || c.Day >= w.days {
			t.Errorf("the script has %+v", c)
		}
	}
	for day := 1; day < w.days; day++ {
		if perDay[day] == 0 {
			t.Errorf("no list changes on day %d", day)
		}
	}
	for _, k := range Kinds {
		if kinds[k.Kind] == 0 {
			t.Errorf("no change of kind %s in the demo", k.Kind)
		}
		delete(kinds, k.Kind)
	}
	if len(kinds) > 0 {
		t.Errorf("kinds without a definition: %v", kinds)
	}
	hangs := 0
	for _, s := range w.sites {
		for i := range s.days {
			if s.days[i].mode == hanging {
				hangs++
			}
		}
	}
	if hangs == 0 || hangs > 10 {
		t.Errorf("servers hang on %d days, want 1 to 10", hangs)
	}
	for day := range w.days {
		alive, dead := 0, 0
		for _, s := range w.sites {
			st := &s.days[day]
			if _, _, ok := st.endpoint(); !ok || !st.listed {
				continue
			}
			if st.mode == refused || st.mode == hanging {
				dead++
			} else {
				alive++
			}
		}
		if degraded := 10*alive < 9*(alive+dead); degraded != (day == outageDay) {
			t.Errorf("day %d: %d of %d are down, degraded = %v", day, dead, alive+dead, degraded)
		}
	}
}

func TestWorldsOfOtherSizes(t *testing.T) {
	for _, c := range []struct{ servers, days int }{{1, 1}, {1, 2}, {5, 10}, {30, 25}, {90, 40}, {400, 90}} {
		w, err := build(Config{Servers: c.servers, Days: c.days}.filled())
		if err != nil {
			t.Fatalf("build(%+v): %v", c, err)
		}
		listed, names := 0, map[string]bool{}
		for _, s := range w.sites {
			names[s.name] = true
			if s.days[0].listed {
				listed++
			}
			if len(s.days) != c.days {
				t.Errorf("build(%+v): %s has %d days", c, s.name, len(s.days))
			}
		}
		if listed != c.servers || len(names) != len(w.sites) {
			t.Errorf("build(%+v): %d listed, %d names of %d sites", c, listed, len(names), len(w.sites))
		}
	}
}

func TestStartRefusesImpossibleWorlds(t *testing.T) {
	for _, cfg := range []Config{{Servers: -1}, {Days: -1}, {Start: "yesterday"}, {Hang: -1}} {
		if f, err := Start(t.Context(), cfg); err == nil {
			f.Close()
			t.Errorf("Start(%+v) succeeded", cfg)
		}
	}
	f := start(t, Config{Servers: 2, Days: 3})
	for _, n := range []int{-1, 3} {
		if f.SetDay(n) == nil {
			t.Errorf("SetDay(%d) of 3 days succeeded", n)
		}
	}
	if got := f.Day(2); got != "2026-01-03" {
		t.Errorf("Day(2) = %s, want 2026-01-03", got)
	}
	f.Close()
	if f.SetDay(1) == nil {
		t.Error("SetDay after Close succeeded")
	}
}

func TestPortsInsteadOfAddresses(t *testing.T) {
	w, err := build(Config{Servers: 4, Days: 2}.filled())
	if err != nil {
		t.Fatal(err)
	}
	f := &Fleet{world: w}
	if err := f.allocatePorts(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, h := range f.hosts {
		if seen[h.addr] || !strings.HasPrefix(h.addr, "127.0.0.1:") {
			t.Errorf("host at %s", h.addr)
		}
		seen[h.addr] = true
	}
	if len(seen) != w.hosts {
		t.Errorf("%d addresses for %d hosts", len(seen), w.hosts)
	}
}

// Close ends a request that hangs, and leaves no goroutine.
func TestCloseEndsEverything(t *testing.T) {
	before := runtime.NumGoroutine()
	f, err := Start(context.Background(), Config{Servers: 15, Days: 30, Hang: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetDay(18); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(f.world.sites, func(s *site) bool { return s.days[18].mode == hanging })
	host, path, _ := f.world.sites[i].days[18].endpoint()
	r := newReader(t)
	ended := make(chan error)
	go func() {
		_, _, err := r.post(context.Background(), "http://"+f.hosts[host].addr+path, "", sayInitialize)
		ended <- err
	}()
	for f.Requests() == 0 {
		runtime.Gosched()
	}
	r.read("http://" + f.hosts[2].addr + "/mcp") // a session that stays open
	f.Close()
	if err := <-ended; err == nil {
		t.Error("a hanging request was answered")
	}
	f.Close()
	settled(t, before)
}

// settled waits until no more goroutines run than before.
func settled(t *testing.T, before int) {
	t.Helper()
	for range 500 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	buf := make([]byte, 1<<20)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
}

func TestContextEndsTheFleet(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f, err := Start(ctx, Config{Servers: 2, Days: 2})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for range 500 {
		if f.SetDay(1) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the fleet outlives its context")
}

// A name that declares another's endpoint has the same changes of contract.
func TestSharedEndpoint(t *testing.T) {
	f := start(t, Config{Servers: 60})
	lists := func(name string) (out []Change) {
		for _, c := range f.Script() {
			if c.Name == name && c.Kind.Drifts() {
				c.Name = ""
				out = append(out, c)
			}
		}
		return out
	}
	mirror, owner := lists("com.example.mirror/weather"), lists("com.example/weather")
	if len(mirror) == 0 || !slices.Equal(mirror, owner) {
		t.Errorf("changes of the mirror = %v, want %v", mirror, owner)
	}
	entries, _, _ := newReader(t).walk(f.RegistryURL(), 100)
	urls := map[string]string{}
	for _, e := range entries {
		urls[e.Server.Name] = e.endpoint()
	}
	if urls["com.example.mirror/weather"] != urls["com.example/weather"] {
		t.Errorf("the mirror's endpoint is %s, want %s", urls["com.example.mirror/weather"], urls["com.example/weather"])
	}
}

// Before its first day a name is nowhere in the script.
func TestNamesChangeOnlyOnceKnown(t *testing.T) {
	w, err := build(Config{}.filled())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range w.sites {
		for _, c := range w.script {
			if c.Name == s.name && !s.days[c.Day].known {
				t.Errorf("%+v happens before the name appears", c)
			}
		}
	}
}

// The ticker, which gives every day its change, can be read every day.
func TestEveryDayShowsSomething(t *testing.T) {
	for _, seed := range []int64{0, 1, 2, 3} {
		w, err := build(Config{Seed: seed}.filled())
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		for _, c := range w.script {
			i := slices.IndexFunc(w.sites, func(s *site) bool { return s.name == c.Name })
			if c.Kind.Drifts() && i >= 0 && w.sites[i].days[c.Day].mode == up && w.sites[i].days[c.Day].listed {
				seen[c.Day] = true
			}
		}
		for day := 1; day < w.days; day++ {
			if !seen[day] {
				t.Errorf("seed %d: nothing changes visibly on day %d", seed, day)
			}
		}
	}
}
