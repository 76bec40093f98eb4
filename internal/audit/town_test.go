package audit_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/ledger"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A house is one registry entry and the server behind it.
type house struct {
	name, path string     // path is where the server answers; "" declares no remote
	tools      []string   // JSON of each
	version    string     // of the server
	protocol   string     // that it negotiates, whatever it was asked for; "" is 2024-11-05
	status     int        // of every answer; 0 answers, -1 breaks the connection
	lists      [][]string // what readings that send a version header get instead of tools, one after the other; nil is a 500
	turn       int        // in lists
	unlisted   bool
	live       bool // unlisted, and its versions are there
}

// A town is a registry and its servers, which a test changes from day to day.
type town struct {
	mu     sync.Mutex
	houses []*house
	cut    bool // the listing breaks off after its first page
	srv    *httptest.Server
}

func tool(name, description string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, description)
}

// hostile are names that are hard on file systems, shells and readers.
var hostile = []string{
	"COM.Example/UP", "com.example/up", "io.x/con", "io.x/aux.mcp", "io.x/..", ".git/config", "io.x/sp ace & ü '$(id)'",
	"io.x/" + strings.Repeat("long", 90), "io.x/a~0123456789abcdef", "io.x/\u202eevil\u200b", `io.x/"quoted\`,
}

func newTown(t testing.TB) *town {
	w := &town{}
	for i := range 9 {
		w.houses = append(w.houses, &house{name: fmt.Sprintf("com.example/s%d", i), path: fmt.Sprintf("/s%d", i), version: "1",
			tools: []string{tool("alpha", fmt.Sprintf("Does %d.", i)), tool("beta", "Does <b>.")}})
	}
	for i, n := range hostile {
		w.houses = append(w.houses, &house{name: n, path: fmt.Sprintf("/h%d", i), version: "1", tools: []string{tool(n, n)}})
	}
	w.houses = append(w.houses, &house{name: "com.example/none"})
	for i := range 2 { // what is read twice
		w.houses = append(w.houses, &house{name: fmt.Sprintf("com.example/u%d", i), path: fmt.Sprintf("/u%d", i), version: "1",
			protocol: "2025-06-18", tools: []string{tool("alpha", fmt.Sprintf("Does u%d.", i))}})
	}
	w.srv = httptest.NewServer(http.HandlerFunc(w.serve))
	t.Cleanup(w.srv.Close)
	return w
}

func (w *town) house(name string) *house {
	return w.houses[slices.IndexFunc(w.houses, func(h *house) bool { return h.name == name })]
}

func (w *town) serve(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/v0.1/servers"); ok {
		w.registry(rw, r, rest)
		return
	}
	i := slices.IndexFunc(w.houses, func(h *house) bool { return h.path != "" && h.path == r.URL.Path })
	switch h := w.houses[max(i, 0)]; {
	case i < 0:
		rw.WriteHeader(404)
	case h.status < 0:
		panic(http.ErrAbortHandler)
	case h.status > 0:
		rw.WriteHeader(h.status)
	default:
		h.answer(rw, r)
	}
}

func (h *house) answer(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var req struct{ Method string }
	json.Unmarshal(body, &req)
	switch req.Method {
	case "initialize":
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":%q}}}`, cmp.Or(h.protocol, "2024-11-05"), h.version)
	case "tools/list":
		tools := h.tools
		if len(h.lists) > 0 && r.Header.Get("Mcp-Protocol-Version") != "" {
			if tools, h.turn = h.lists[h.turn%len(h.lists)], h.turn+1; tools == nil {
				rw.WriteHeader(500)
				return
			}
		}
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":2,"result":{"tools":[%s]}}`, strings.Join(tools, ","))
	default:
		rw.WriteHeader(202)
	}
}

func (w *town) row(h *house) string {
	remotes := "[]"
	if h.path != "" {
		remotes = fmt.Sprintf(`[{"type":"streamable-http","url":%q}]`, w.srv.URL+h.path)
	}
	name, _ := json.Marshal(h.name)
	return fmt.Sprintf(`{"server":{"name":%s,"version":"1.0.0","remotes":%s},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","isLatest":true,"publishedAt":"2026-01-01T00:00:00Z"}}}`, name, remotes)
}

func (w *town) registry(rw http.ResponseWriter, r *http.Request, rest string) {
	if rest != "" {
		name, _ := url.PathUnescape(strings.TrimSuffix(strings.TrimPrefix(rest, "/"), "/versions"))
		for _, h := range w.houses {
			if h.name == name && (!h.unlisted || h.live) {
				fmt.Fprintf(rw, `{"servers":[%s],"metadata":{"count":1}}`, w.row(h))
				return
			}
		}
		rw.WriteHeader(404)
		fmt.Fprint(rw, `{"title":"Not Found","status":404,"detail":"Server not found"}`)
		return
	}
	var rows []string
	for _, h := range w.houses {
		if !h.unlisted {
			rows = append(rows, w.row(h))
		}
	}
	const size = 8
	from := 0
	fmt.Sscanf(r.URL.Query().Get("cursor"), "c%d", &from)
	if w.cut && from > 0 {
		rw.WriteHeader(500)
		return
	}
	to := min(from+size, len(rows))
	meta := fmt.Sprintf(`{"count":%d}`, to-from)
	if to < len(rows) {
		meta = fmt.Sprintf(`{"nextCursor":"c%d","count":%d}`, to, to-from)
	}
	fmt.Fprintf(rw, `{"servers":[%s],"metadata":%s}`, strings.Join(rows[from:to], ","), meta)
}

// run makes one run on a day, counted from 0. It returns nil if there was nothing
// to probe.
func (w *town) run(t testing.TB, root string, day, hour, limit int) *daily.Result {
	t.Helper()
	at := time.Date(2026, 11, 1+day, hour, 15, 0, 0, time.UTC)
	r, err := daily.Run(context.Background(), daily.Config{
		Data: filepath.Join(root, "data"), Registry: w.srv.URL + "/v0.1/servers", Timeout: 5 * time.Second, AllowPrivate: true,
		Version: "0", UserAgent: "test", Clock: daily.FastClockAt(at), Simulated: true, Limit: limit,
		Seed: func() int64 { return int64(day) },
	})
	if errors.Is(err, ledger.ErrNothingAttempted) {
		return nil
	}
	if err != nil {
		t.Fatalf("Run on day %d: %v", day, err)
	}
	return r
}

// live makes the runs of eight days, in which everything happens that a tree can
// hold, and calls after with the number of days recorded.
func (w *town) live(t testing.TB, root string, after func(days int)) {
	t.Helper()
	set := func(f func()) { w.mu.Lock(); defer w.mu.Unlock(); f() }
	must := func(what string, ok bool) {
		t.Helper()
		if !ok {
			t.Fatalf("the town did not bring about %s", what)
		}
	}
	s := func(i int) *house { return w.houses[i] }
	w.run(t, root, 0, 3, 0)
	after(1)
	set(func() { // a quiet day but for what changes the row and not the contract
		s(0).version = "2"
		s(1).tools = []string{s(1).tools[1], s(1).tools[0]}
		s(2).tools = append(s(2).tools, `{"name":"p","inputSchema":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}]}}`)
	})
	set(func() { // one that gives another list first
		u0 := w.house("com.example/u0")
		u0.lists = [][]string{{tool("beta", "Is other.")}, u0.tools}
	})
	w.run(t, root, 1, 3, 0)
	after(2)
	set(func() { // and two that are neither
		w.house("com.example/u0").lists = [][]string{{tool("gamma", "Is other.")}, {tool("delta", "Is other."), tool("epsilon", "Is other.")}}
		w.house("com.example/u0").turn = 0
		u1 := w.house("com.example/u1")
		u1.tools = []string{tool("alpha", "Does it once.")}
		u1.lists = [][]string{u1.tools, nil} // the second reading fails
	})
	set(func() {
		s(2).tools[2] = `{"name":"p","inputSchema":{"type":"array","prefixItems":[{"type":"number"},{"type":"string"}]}}`
		s(3).tools[0] = tool("alpha", "Does something else.")
		s(4).tools = nil
		for _, h := range w.houses[9:14] {
			h.tools = append(h.tools, tool("gamma", "Is new."))
		}
	})
	w.run(t, root, 2, 3, 0)
	after(3)
	set(func() {
		w.house("com.example/u0").lists, w.house("com.example/u1").lists = nil, nil
		w.cut = true
		w.houses = slices.Insert(w.houses, 0, &house{name: "com.example/new", path: "/new", version: "1", tools: []string{tool("n", "n")}})
		w.house("com.example/s5").status = 401
	})
	must("an incomplete roster", !w.run(t, root, 3, 3, 0).Run.RosterComplete)
	after(4)
	set(func() {
		w.cut = false
		for _, h := range w.houses[2:9] {
			h.status = -1
		}
	})
	must("a degraded run", w.run(t, root, 4, 3, 0).Run.Degraded)
	set(func() { w.house("com.example/s6").status = 0 })
	w.run(t, root, 4, 9, 0)
	after(5)
	set(func() {
		for _, h := range w.houses {
			h.status = 0
		}
		w.house("com.example/s7").unlisted = true
		w.house(hostile[6]).unlisted = true
		w.house("com.example/s8").unlisted, w.house("com.example/s8").live = true, true
		w.house("com.example/s3").tools[0] = tool("alpha", "Does 3.") // A, B, A
		w.house("com.example/s1").path = "/moved"
		w.house("com.example/s2").path = ""
	})
	w.run(t, root, 5, 3, 0)
	after(6)
	set(func() {
		w.house("com.example/s7").unlisted = false
		w.house("com.example/s7").path = "/back"
		w.house("com.example/s0").tools[0] = tool("alpha", "Does 0 at last.")
		w.house("com.example/s6").path = "/s6moved"
	})
	must("a partial run", w.run(t, root, 6, 3, 4).Run.Partial)
	w.run(t, root, 6, 9, 0)
	after(7)
	set(func() {
		w.house(hostile[6]).unlisted = false
		w.house("com.example/none").path = "/some"
		w.house("com.example/s5").tools[0] = tool("alpha", "Does five.")
		w.house("com.example/s6").protocol = "2025-03-26"
		w.house("com.example/s8").version = "2"
		w.house("com.example/u0").lists, w.house("com.example/u0").turn = [][]string{{tool("zeta", "Is other.")}, {tool("eta", "Is other.")}}, 0
		u1 := w.house("com.example/u1")
		u1.protocol, u1.tools = "2025-11-25", []string{tool("alpha", "Does it anew.")}
	})
	must("a whole run after a partial one", !w.run(t, root, 7, 3, 0).Run.Partial)
	after(8)
}

// newRoot makes a repository in a new folder.
func newRoot(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	if err := gitrepo.Init(root); err != nil {
		t.Fatal(err)
	}
	return root
}

// shared is a repository with the eight days of a town, made once; its users put
// it back as it was.
var shared string

// history returns the shared repository.
func history(t *testing.T) string {
	if shared == "" {
		dir, err := os.MkdirTemp("", "audit")
		if err != nil {
			t.Fatal(err)
		}
		root := filepath.Join(dir, "it's a root")
		if err := errors.Join(os.Mkdir(root, 0o777), gitrepo.Init(root)); err != nil {
			t.Fatal(err)
		}
		newTown(t).live(t, root, func(int) {})
		shared = root
	}
	return shared
}

func TestMain(m *testing.M) {
	status := m.Run()
	if shared != "" {
		os.RemoveAll(filepath.Dir(shared))
	}
	os.Exit(status)
}

// day is the run id of a day of the town.
func day(n int) string { return string(record.DayOf(time.Date(2026, 11, 1+n, 0, 0, 0, 0, time.UTC))) }

// shake changes the town at random. One house always answers, so that every run
// attempts something.
func (w *town) shake(random *rand.Rand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = random.IntN(5) == 0
	outage := random.IntN(6) == 0
	for i, h := range w.houses[1:] {
		switch random.IntN(14) {
		case 0:
			h.unlisted, h.live = true, random.IntN(2) == 0
		case 1, 2:
			h.unlisted = false
		case 3:
			h.tools = []string{tool("alpha", fmt.Sprintf("Does %d.", random.IntN(3)))}
		case 4:
			h.tools = nil
		case 5:
			h.version = fmt.Sprint(random.IntN(3))
		case 6:
			h.status = []int{-1, 401, 503, 404}[random.IntN(4)]
		case 7, 8:
			h.status = 0
		case 9:
			h.path = fmt.Sprintf("/r%d-%d", i, random.IntN(3))
		case 10:
			h.path = ""
		case 11:
			slices.Reverse(h.tools)
		case 12:
			h.protocol = []string{"", "2025-03-26", "2025-06-18"}[random.IntN(3)]
		}
		switch random.IntN(8) { // what readings under v2 see, where the server speaks a version with a header
		case 0:
			h.lists, h.turn = nil, 0
			for range 1 + random.IntN(3) {
				var list []string
				if n := random.IntN(4); n > 0 {
					list = []string{tool("alpha", fmt.Sprintf("Does %d.", n))}
				}
				h.lists = append(h.lists, list)
			}
		case 1, 2, 3:
			h.lists = nil
		}
		if outage && random.IntN(2) == 0 {
			h.status = -1
		}
	}
	random.Shuffle(len(w.houses)-1, func(i, j int) { w.houses[i+1], w.houses[j+1] = w.houses[j+1], w.houses[i+1] })
}
