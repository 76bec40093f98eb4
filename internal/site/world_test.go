package site_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/body"
	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/fleet"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/site"
)

// A history is a repository that recorded some days, and its report.
type history struct {
	root   string
	tree   *archive.Tree
	bodies func() *body.Store
	report *report.Published
}

func openHistory(t testing.TB, root string) *history {
	t.Helper()
	repo, err := gitrepo.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	h := &history{root: root, tree: archive.Open(os.DirFS(filepath.Join(root, "data")))}
	h.bodies = func() *body.Store {
		store := body.New(h.tree, repo)
		if err := store.Load(); err != nil {
			t.Fatal(err)
		}
		return store
	}
	if h.report, err = report.Publish(h.tree); err != nil {
		t.Fatal(err)
	}
	return h
}

// alone leaves of the report the series of record, as an archive has it that was
// only ever read under v1.
func (h *history) alone() *history {
	h.report = &report.Published{Report: h.report.Report}
	return h
}

func (h *history) config(out string) site.Config {
	return site.Config{Tree: h.tree, Bodies: h.bodies(), Report: h.report, Out: out}
}

// build renders the history into a folder and returns it.
func (h *history) build(t testing.TB, change func(*site.Config)) string {
	t.Helper()
	cfg := h.config(t.TempDir())
	if change != nil {
		change(&cfg)
	}
	if _, err := site.Build(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	return cfg.Out
}

// fleetDays is how many days of the fleet are recorded for the tests.
const fleetDays = 10

var fleetHistory struct {
	sync.Once
	root string
}

// recordedFleet returns some days of the fleet, hostile servers among them. They
// are recorded once for all tests.
func recordedFleet(t *testing.T) *history {
	t.Helper()
	if testing.Short() {
		t.Skip("records a fleet")
	}
	fleetHistory.Do(func() {
		root, err := os.MkdirTemp("", "site-fleet-")
		if err != nil {
			t.Fatal(err)
		}
		f, err := fleet.Start(t.Context(), fleet.Config{Seed: 3, Servers: 60, Days: fleetDays, Hang: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := gitrepo.Init(root); err != nil {
			t.Fatal(err)
		}
		for day := range fleetDays {
			if err := f.SetDay(day); err != nil {
				t.Fatal(err)
			}
			if day == 4 {
				continue // no run on this day
			}
			runDay(t, root, f.RegistryURL(), f.Day(day), nil)
		}
		fleetHistory.root = root
	})
	if fleetHistory.root == "" {
		t.Fatal("the fleet could not be recorded")
	}
	return openHistory(t, fleetHistory.root)
}

func TestMain(m *testing.M) {
	code := m.Run()
	if fleetHistory.root != "" {
		os.RemoveAll(fleetHistory.root)
	}
	os.Exit(code)
}

func runDay(t *testing.T, root, registry string, day record.Day, change func(*daily.Config)) {
	t.Helper()
	cfg := daily.Config{
		Data: filepath.Join(root, "data"), Registry: registry, Timeout: 2 * time.Second, AllowPrivate: true,
		Version: "test", Vantage: "test", Clock: daily.FastClockAt(day.Time().Add(3 * time.Hour)), Simulated: true,
		Seed: func() int64 { return 1 }, Log: func(string) {},
	}
	if change != nil {
		change(&cfg)
	}
	if _, err := daily.Run(t.Context(), cfg); err != nil {
		t.Fatalf("recording %s: %v", day, err)
	}
}

// A world is a registry and servers of names and tools that a test chooses.
type world struct {
	t    *testing.T
	http *httptest.Server
	root string

	mu      sync.Mutex
	names   []string
	tools   []string // JSON array of each
	row     []string // more members of the server object of its registry row, each with a comma before it
	failing bool     // every server drops the connection
}

func newWorld(t *testing.T, names ...string) *world {
	w := &world{t: t, root: t.TempDir()}
	for _, n := range names {
		w.add(n, `[{"name":"one","description":"Does one thing.","inputSchema":{"type":"object"}}]`, "")
	}
	w.http = httptest.NewServer(w)
	t.Cleanup(w.http.Close)
	if err := gitrepo.Init(w.root); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) add(name, tools, row string) {
	w.names, w.tools, w.row = append(w.names, name), append(w.tools, tools), append(w.row, row)
}

// set changes the tools of a server.
func (w *world) set(name, tools string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tools[slices.Index(w.names, name)] = tools
}

func (w *world) fail(failing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing = failing
}

func (w *world) run(day record.Day, change func(*daily.Config)) {
	w.t.Helper()
	runDay(w.t, w.root, w.http.URL+"/v0.1/servers", day, change)
}

func (w *world) history() *history { return openHistory(w.t, w.root) }

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/v0.1/servers" {
		var rows []string
		for i, n := range w.names {
			name, err := json.Marshal(n)
			if err != nil {
				panic(err)
			}
			rows = append(rows, fmt.Sprintf(`{"server":{"name":%s,"version":"1.0.0"%s,"remotes":[{"type":"streamable-http","url":"%s/mcp/%d"}]},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","isLatest":true}}}`,
				name, w.row[i], w.http.URL, i))
		}
		fmt.Fprintf(rw, `{"servers":[%s],"metadata":{"count":%d}}`, strings.Join(rows, ","), len(rows))
		return
	}
	at, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/mcp/"))
	if err != nil {
		http.NotFound(rw, r)
		return
	}
	if w.failing {
		panic(http.ErrAbortHandler)
	}
	var q struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	switch q.Method {
	case "initialize":
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}}`, q.ID)
	case "tools/list":
		fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}`, q.ID, w.tools[at])
	default:
		rw.WriteHeader(http.StatusAccepted)
	}
}
