package daily

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/audit"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A teller is a server that says another list in each reading: the pages of the
// list, each the names of its tools.
type teller struct {
	mu   sync.Mutex
	says [][]string // of the readings to come; guarded by mu
	now  []string   // guarded by mu
}

// tell sets what the readings to come are told, and returns how many of those
// before were not made.
func (s *teller) tell(says [][]string) (left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left, s.says = len(s.says), says
	return left
}

func (s *teller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		Method string
		Params struct{ Cursor string }
	}
	json.NewDecoder(r.Body).Decode(&m)
	w.Header().Set("Content-Type", "application/json")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m.Method {
	case "initialize":
		s.now, s.says = s.says[0], s.says[1:]
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`)
	case "tools/list":
		n := 0
		fmt.Sscan(m.Params.Cursor, &n)
		var tools []string
		for _, name := range strings.Fields(s.now[n]) {
			tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
		}
		next := ""
		if n+1 < len(s.now) {
			next = fmt.Sprintf(`,"nextCursor":"%d"`, n+1)
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{"tools":[%s]%s}}`, n+2, strings.Join(tools, ","), next)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// The table of second readings (DESIGN.md section 4), from a server that says
// other things to the tree that it leaves, which has no fault.
func TestSecondReadings(t *testing.T) {
	server := &teller{}
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	w := &world{t: t, root: t.TempDir()}
	w.repository(nil)
	registry := registryOf(t, []string{rowOf("com.example/teller", s.URL+"/mcp")})
	for i, tt := range []struct {
		name   string
		says   [][]string
		tools  int
		pages  int
		reread record.Reread // of the day's event of a contract; "" where there is none
		last   bool          // its head was last read before
		files  []string
	}{
		{"the first day", [][]string{{"a b"}}, 2, 1, "", false, nil},
		{"on other pages", [][]string{{"a", "b"}}, 2, 2, "", false, nil},
		{"the head, on other pages again", [][]string{{"a b c", "d"}, {"b a"}}, 2, 1, record.RereadDifferent, false, []string{"other", "other.2"}},
		{"neither", [][]string{{"c"}, {"d", "e"}}, 2, 1, record.RereadDifferent, true, []string{"other", "other-b", "other-b.2"}},
		{"the head again", [][]string{{"a b"}}, 2, 1, "", false, []string{"other", "other-b", "other-b.2"}},
		{"nothing at all, twice", [][]string{{""}, {""}}, 0, 1, record.RereadSame, false, []string{"other", "other-b", "other-b.2"}},
		{"the head, after one page", [][]string{{"c"}, {""}}, 0, 1, record.RereadDifferent, false, []string{"other"}},
	} {
		server.tell(tt.says)
		r, err := Run(t.Context(), Config{
			Data: filepath.Join(w.root, "data"), Registry: registry, AllowPrivate: true, Version: "0", Simulated: true,
			Clock: FastClockAt(time.Date(2026, 11, 1+i, 3, 15, 0, 0, time.UTC)), Methodologies: []string{"v2"},
		})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		rows, err := w.tree().Current("v2")
		if err != nil || len(rows) != 1 {
			t.Fatalf("%s: %d rows, %v, want one", tt.name, len(rows), err)
		}
		h := rows[0].Head
		if h == nil || h.Tools != tt.tools || len(h.Artifacts) != tt.pages || h.Capture.Pages.Read != tt.pages || (h.LastObserved != "") != tt.last || !h.Confirmed {
			t.Errorf("%s: head = %+v, want %d tools on %d pages, read before: %v", tt.name, h, tt.tools, tt.pages, tt.last)
		}
		events, err := w.tree().Events(r.Run.Run)
		if err != nil {
			t.Fatal(err)
		}
		var reread record.Reread
		for _, e := range events {
			reread += e.Reread
		}
		if left := server.tell(nil); reread != tt.reread || left > 0 {
			t.Errorf("%s: the second reading said %q, want %q; %d readings were not made", tt.name, reread, tt.reread, left)
		}
		var files []string
		for name := range w.files() {
			if _, part, ok := strings.Cut(name, "+other"); ok {
				files = append(files, "other"+strings.TrimSuffix(part, ".json"))
			}
		}
		slices.Sort(files)
		if !slices.Equal(files, tt.files) {
			t.Errorf("%s: bodies %v, want %v", tt.name, files, tt.files)
		}
		found, err := audit.Check(t.Context(), audit.Config{FS: os.DirFS(filepath.Join(w.root, "data")), Data: "data"})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found.Faults {
			t.Errorf("%s: %s: %s: %s", tt.name, f.Path, f.Rule, f.Says)
		}
	}
}
