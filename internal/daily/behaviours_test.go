package daily

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/fleet"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/sweep"
)

// Every class and every detail of the error table, provoked by a server and
// recorded by the whole job as the table says. Servers that never answer are
// read with a short deadline, all others with one that no machine is too slow
// for.
func TestEveryBehaviourIsRecorded(t *testing.T) {
	var slow, others []fleet.Behaviour
	for _, b := range fleet.Behaviours() {
		switch {
		case b.Guarded: // see TestPrivateAddressesAreNotDialled
		case b.Slow:
			slow = append(slow, b)
		default:
			others = append(others, b)
		}
	}
	seen := map[string]bool{}
	recordBehaviours(t, slow, time.Second, seen)
	recordBehaviours(t, others, time.Minute, seen)
	checkTableProvoked(t, seen) // by one methodology or the other
}

// recordBehaviours serves behaviours, runs the daily job over them, and holds
// each row to what the behaviour wants.
func recordBehaviours(t *testing.T, behaviours []fleet.Behaviour, timeout time.Duration, seen map[string]bool) {
	t.Helper()
	var rows, optOut []string
	wanted := map[string]fleet.Behaviour{}
	for i, b := range behaviours {
		name := fmt.Sprintf("com.example/b%03d", i)
		row := b.Row
		if row == "" {
			url, stop, err := b.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(stop)
			row = rowOf(name, url)
		} else {
			if stated, err := record.RowName([]byte(row)); err == nil {
				name = stated
			}
			if b.OptOut != "" {
				optOut = append(optOut, b.OptOut)
			}
		}
		wanted[name] = b
		rows = append(rows, row)
	}
	w := &world{t: t, root: t.TempDir()}
	w.repository(optOut)
	cfg := Config{
		Data: filepath.Join(w.root, "data"), Registry: registryOf(t, rows), Timeout: timeout, AllowPrivate: true, Version: "0",
		Clock: FastClockAt(time.Date(2026, 11, 30, 3, 15, 0, 0, time.UTC)), Simulated: true,
	}
	if _, err := Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	for _, m := range record.Methodologies {
		recorded, err := w.tree().Current(m.Version)
		if err != nil {
			t.Fatal(err)
		}
		want := maps.Clone(wanted)
		for _, o := range recorded {
			b, ok := want[o.Name]
			if !ok {
				t.Errorf("%s: there is a row of %s, which no behaviour gave", m.Version, o.Name)
				continue
			}
			delete(want, o.Name)
			seen[o.Outcome().String()] = true
			holdRow(t, m.Version+" "+b.Name, b.Under(m.Version), o)
		}
		for name, b := range want {
			t.Errorf("%s: %s (%s) has no row", m.Version, name, b.Name)
		}
	}
	w.sound()
}

// holdRow compares a row with what is wanted of it.
func holdRow(t *testing.T, what string, b fleet.Reading, o record.Observation) {
	t.Helper()
	got := o.Outcome()
	if b.Want.HTTPStatus == 0 {
		got.HTTPStatus = 0 // it did not decide
	}
	if got != b.Want {
		t.Errorf("%s is recorded as %s at %q, status %d, want %s at %q, status %d", what, got, got.Step, got.HTTPStatus, b.Want, b.Want.Step, b.Want.HTTPStatus)
	}
	if !b.Want.OK() {
		return
	}
	if o.Head == nil {
		t.Errorf("%s is recorded without a head", what)
		return
	}
	c := o.Head.Capture
	tools := o.Head.Tools
	if slices.Contains(b.Findings, record.FlagNotATool) {
		tools = b.Tools // the behaviour counts what is no tool, too
	}
	if c.Pages.Complete == b.Incomplete || c.Pages.Read != b.Pages || c.Protocol.Negotiated != b.Negotiated || c.Protocol.VersionHeader != b.VersionHeader || tools != b.Tools {
		t.Errorf("%s is recorded with the head %+v, want %+v", what, o.Head, b)
	}
}

// checkTableProvoked reports the classes and details that nothing provoked.
func checkTableProvoked(t *testing.T, seen map[string]bool) {
	t.Helper()
	seen[record.Outcome{Class: record.TLS, Detail: record.DetailBlockedAddress}.String()] = true // TestPrivateAddressesAreNotDialled
	for _, class := range record.Classes {
		if !seen[string(class.Class)] && len(class.Details) == 0 {
			t.Errorf("no behaviour was recorded as %s", class.Class)
		}
		for _, d := range class.Details {
			found := seen[string(class.Class)+"/"+string(d.Detail)]
			for s := range seen {
				found = found || strings.HasPrefix(string(d.Detail), "rpc:") && strings.HasPrefix(s, string(class.Class)+"/rpc:")
			}
			if !found {
				t.Errorf("no behaviour was recorded as %s/%s", class.Class, d.Detail)
			}
		}
	}
}

// A private address is never dialled by a job that does not say so, and its row
// says why.
func TestPrivateAddressesAreNotDialled(t *testing.T) {
	guarded := 0
	for _, b := range fleet.Behaviours() {
		if !b.Guarded {
			continue
		}
		guarded++
		t.Run(b.Name, func(t *testing.T) {
			url, stop, err := b.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			plan := sweep.Plan{
				Header:  record.PlanHeader{Day: "2026-11-30", Run: "2026-11-30", Methodologies: []string{"v1"}, TimeoutMS: 1000, Planned: record.At(time.Unix(0, 0))},
				Targets: []record.PlanTarget{{Name: "com.example/x", Endpoint: url}},
			}
			name, out := filepath.Join(t.TempDir(), "plan"), filepath.Join(t.TempDir(), "shard")
			f, err := os.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := plan.Write(f); err != nil {
				t.Fatal(err)
			}
			if _, err := Probe(t.Context(), Config{}, name, 1, 1, out); err != nil {
				t.Fatal(err)
			}
			shard, err := os.Open(out)
			if err != nil {
				t.Fatal(err)
			}
			defer shard.Close()
			results := 0
			_, complete, err := sweep.ReadShard(shard, func(r record.Result) error {
				results++
				if got := r.Outcome(); got != b.Want {
					t.Errorf("outcome = %s, want %s", got, b.Want)
				}
				return nil
			})
			if err != nil || !complete || results != 1 {
				t.Errorf("the shard has %d results, complete %v, %v", results, complete, err)
			}
		})
	}
	if guarded == 0 {
		t.Error("no behaviour is guarded")
	}
}

func rowOf(name, url string) string {
	b, err := json.Marshal(map[string]any{
		"server": map[string]any{"name": name, "version": "1.0.0", "remotes": []any{map[string]any{"type": "streamable-http", "url": url}}},
		"_meta":  map[string]any{"io.modelcontextprotocol.registry/official": map[string]any{"status": "active", "isLatest": true}},
	})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// registryOf serves rows on one page a hundred.
func registryOf(t *testing.T, rows []string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var from int
		fmt.Sscan(r.URL.Query().Get("cursor"), &from)
		to, next := min(from+100, len(rows)), ""
		if to < len(rows) {
			next = fmt.Sprintf(`"nextCursor":"%d",`, to)
		}
		fmt.Fprintf(w, `{"servers":[%s],"metadata":{%s"count":%d}}`+"\n", strings.Join(rows[from:to], ","), next, to-from)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v0.1/servers"
}

// repository makes the world's repository, with an opt-out list committed.
func (w *world) repository(optOut []string) {
	w.t.Helper()
	if err := gitrepo.Init(w.root); err != nil {
		w.t.Fatal(err)
	}
	name := filepath.Join(w.root, "data", OptOutPath)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.Join(optOut, "\n")+"\n"), 0o666); err != nil {
		w.t.Fatal(err)
	}
	repo := mustOpen(w.t, filepath.Join(w.root, "data"))
	if _, err := repo.Commit(context.Background(), gitrepo.Change{Paths: []string{OptOutPath}, Message: "opt-out list", When: time.Unix(0, 0)}); err != nil {
		w.t.Fatal(err)
	}
}
