package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/ledger"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/target"
)

// testing.TB as far as a town needs it: of a test, and of a property.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// A town records days into a tree in memory with the ledger, as the daily job
// does into a commit.
type town struct {
	t      tb
	fs     fstest.MapFS
	listed map[string]string // name to endpoint; "" has no remote
	order  []string          // of the listing
	v2     readings          // what the next run reads under v2; nil: it reads under v1 alone
}

// newTown lists servers, each at its own operator.
func newTown(t tb, names ...string) *town {
	w := &town{t: t, fs: fstest.MapFS{}, listed: map[string]string{}}
	for _, n := range names {
		w.list(n, "https://mcp."+strings.ReplaceAll(n, "/", "-")+".com/mcp")
	}
	return w
}

func (w *town) list(name, url string) {
	if _, ok := w.listed[name]; !ok {
		w.order = append(w.order, name)
	}
	w.listed[name] = url
}

func (w *town) unlist(name string) {
	delete(w.listed, name)
	w.order = slices.DeleteFunc(w.order, func(n string) bool { return n == name })
}

func (w *town) tree() *archive.Tree { return archive.Open(w.fs) }

// readings says how each server answered: a class label, or else a text that its
// one tool has for a description, after "2025-06-18 " of a server that negotiates
// that version. Who has no entry was not probed.
type readings map[string]string

// run makes one run: its id names the day. Simulated readings are made at 03:15.
func (w *town) run(id string, got readings) record.Run {
	w.t.Helper()
	return w.runAt(id, "", got)
}

// runAt makes a run at a time of its own.
func (w *town) runAt(id, at string, got readings) record.Run {
	w.t.Helper()
	day, _, err := record.ParseRunID(id)
	if err != nil {
		w.t.Fatalf("run %s: %v", id, err)
	}
	if at == "" {
		at = string(day) + "T03:15:00Z"
	}
	clock, err := time.Parse(time.RFC3339, at)
	if err != nil {
		w.t.Fatalf("run %s: %v", id, err)
	}
	puts := fstest.MapFS{}
	var removed []string
	in := ledger.Input{
		Tree: w.tree(), Log: func(string) {}, BlobID: func(b []byte) string { return canon.Sum(b).Hex()[:40] },
		Plan:    record.PlanHeader{Run: id, Day: day, Methodologies: []string{"v1"}, ProberVersion: "0", Planned: record.At(clock), Clock: "simulated"},
		Listing: record.ListingHeader{Complete: true, Kept: id != string(day), Source: "https://registry.test/"},
		Put:     func(name string, b []byte) error { puts[name] = &fstest.MapFile{Data: b}; return nil },
		Remove:  func(name string) error { removed = append(removed, name); return nil },
		Results: func(yield func(record.Result) error) error {
			for i, of := range []readings{got, w.v2} {
				for _, name := range slices.Sorted(maps.Keys(of)) {
					if err := yield(w.resultOf(record.Methodologies[i].Version, name, of[name], record.At(clock))); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	if w.v2 != nil {
		in.Plan.Methodologies = []string{"v1", "v2"}
	}
	w.fillPlan(&in)
	sum, err := ledger.Record(in)
	if err != nil {
		w.t.Fatalf("recording %s: %v", id, err)
	}
	maps.Copy(w.fs, puts)
	for _, name := range removed {
		delete(w.fs, name)
	}
	return sum.Run
}

// fillPlan enters the listing and whom it makes targets.
func (w *town) fillPlan(in *ledger.Input) {
	for _, n := range w.order {
		row := fmt.Sprintf(`{"server":{"name":%q},"_meta":{}}`, n)
		if url := w.listed[n]; url != "" {
			row = fmt.Sprintf(`{"server":{"name":%q,"remotes":[{"type":"streamable-http","url":%q}]},"_meta":{"io.modelcontextprotocol.registry/official":{"isLatest":true}}}`, n, url)
		}
		if !in.Listing.Kept {
			in.Rows = append(in.Rows, record.ListingRow{Name: n, Bytes: row})
		}
	}
	missing, err := ledger.Missing(in.Tree, in.Rows)
	if err != nil {
		w.t.Fatalf("asking: %v", err)
	}
	for _, n := range missing {
		in.Listing.Asked = append(in.Listing.Asked, record.Asked{Name: n, Status: 200})
	}
	pop, err := ledger.Populate(in.Tree, in.Listing, in.Rows)
	if err != nil {
		w.t.Fatalf("populating: %v", err)
	}
	for _, t := range target.Choose(pop.ListingRows(), target.OptOut{}) {
		in.Targets = append(in.Targets, record.PlanTarget{Name: t.Name, Endpoint: t.Endpoint, Reason: t.Reason})
	}
}

// result is a reading as the prober gives it.
func (w *town) result(name, got string, at record.Time) record.Result {
	r := record.Result{Name: name, Method: "v1", Observed: at}
	if class := record.ErrorClass(got); class.Known() && got != "" {
		r.Class, r.Step = class, record.StepInitialize
		return r
	}
	protocol := "2024-11-05"
	if text, ok := strings.CutPrefix(got, "2025-06-18 "); ok {
		got, protocol = text, "2025-06-18"
	}
	tool := fmt.Sprintf(`{"name":"t","description":%q,"inputSchema":{"type":"object"}}`, got)
	r.Pages = [][]byte{[]byte(`{"jsonrpc":"2.0","id":2,"result":{"tools":[` + tool + `]}}`)}
	r.Init = []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	r.Server = &record.Server{Capabilities: []string{"tools"}, Name: "s", Version: "1"}
	r.Capture = &record.Capture{
		ClientCapabilities: []string{}, ObservedAt: at, Pages: record.Pages{Complete: true, Read: 1},
		Protocol: record.Protocol{Negotiated: protocol, Requested: "2024-11-05"}, Transport: "streamable-http",
	}
	c, err := contract.Read(r.Pages)
	if err == nil {
		r.Identity, err = c.Identity("v1")
	}
	if err == nil {
		r.Ordered, err = c.Identity("v2")
	}
	if err != nil {
		w.t.Fatalf("reading a contract: %v", err)
	}
	r.Tools = len(c.Tools)
	return r
}

// resultOf is a reading under a methodology. Under v2 a server negotiates
// 2025-11-25 unless its text begins with another version; a second reading follows
// a bar, as in "A|B". A text that ends with … was left after its first page, and
// a class may have a detail, as in http_4xx/rpc:-32022.
func (w *town) resultOf(version, name, got string, at record.Time) record.Result {
	class, detail, _ := strings.Cut(got, "/")
	if detail != "" {
		got = class
	}
	got, second, twice := strings.Cut(got, "|")
	protocol := map[string]string{"v1": "2024-11-05", "v2": "2025-11-25"}[version]
	if p, text, ok := strings.Cut(got, " "); ok && len(p) == len("2025-11-25") {
		got, protocol = text, p
	}
	text, cut := strings.CutSuffix(got, "…")
	r := w.result(name, text, at)
	r.Method, r.Detail = version, record.Detail(detail)
	if r.Class != record.Success {
		return r
	}
	p := &r.Capture.Protocol
	r.Capture.Pages.Complete, p.Negotiated = !cut, protocol
	if version == "v2" {
		p.Requested, p.VersionHeader = record.V2.ProtocolVersion, protocol >= "2025-06-18"
		r.Identity, r.Ordered = r.Ordered, ""
	}
	if twice {
		s := w.resultOf(version, name, second, at)
		r.Second = &s
	}
	return r
}

// both makes a run under v1 and v2.
func (w *town) both(id string, v1, v2 readings) record.Run {
	w.t.Helper()
	w.v2 = v2
	defer func() { w.v2 = nil }()
	return w.run(id, v1)
}

// publish returns all lines of what was recorded.
func (w *town) publish() *Published {
	w.t.Helper()
	p, err := Publish(w.tree())
	if err != nil {
		w.t.Fatalf("Publish: %v", err)
	}
	return p
}

// build returns the report of what was recorded.
func (w *town) build() *Report {
	w.t.Helper()
	r, err := Build(w.tree(), "v1")
	if err != nil {
		w.t.Fatalf("Build: %v", err)
	}
	return r
}

// spanText writes spans as 2×answered 1×no_data.
func spanText(s *Server) string {
	var parts []string
	for _, span := range s.Spans {
		parts = append(parts, fmt.Sprintf("%d×%s", span.Days, span.State))
	}
	return strings.Join(parts, " ")
}

// load reads a case.
func load(t tb, id string, v any) {
	t.Helper()
	b, err := os.ReadFile("testdata/cases/" + id + ".json")
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatalf("reading case %s: %v", id, err)
	}
}

// names returns n names.
func names(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("com.example/s%02d", i))
	}
	return out
}

// all returns the same reading of several servers.
func all(of []string, got string) readings {
	r := readings{}
	for _, n := range of {
		r[n] = got
	}
	return r
}

// and returns the readings with some replaced.
func (r readings) and(others readings) readings {
	out := maps.Clone(r)
	maps.Copy(out, others)
	return out
}

func day(n int) string {
	return string(record.DayOf(time.Date(2026, 11, 1+n, 0, 0, 0, 0, time.UTC)))
}
