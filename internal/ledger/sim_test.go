package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/target"
)

// A sim records days into a tree in memory, as the daily job does into a commit.
type sim struct {
	t      *testing.T
	method string // methodology; default v1
	both   bool   // runs read under v1 and v2, and method is the one looked at
	fs     fstest.MapFS
	listed map[string]string // name to endpoint; "" has no remote
	order  []string          // of the listing
	put    map[string]bool   // paths written by the newest run
	said   []string          // by the newest run
}

func newSim(t *testing.T, names ...string) *sim {
	s := &sim{t: t, method: "v1", fs: fstest.MapFS{}, listed: map[string]string{}}
	for _, n := range names {
		s.list(n, "https://"+strings.ReplaceAll(n, "/", ".")+"/mcp")
	}
	return s
}

func (s *sim) list(name, url string) {
	if _, ok := s.listed[name]; !ok {
		s.order = append(s.order, name)
	}
	s.listed[name] = url
}

func (s *sim) unlist(name string) {
	delete(s.listed, name)
	s.order = slices.DeleteFunc(s.order, func(n string) bool { return n == name })
}

// A day is one run: what each target answered, and how the run went.
type day struct {
	day        record.Day
	run        string                   // default: the day
	got        map[string]record.Result // by name; a target without one was not probed
	again      map[string]record.Result // second readings of the run, by name
	incomplete bool                     // the listing was cut short
	live       []string                 // unlisted names of which a version remains
	limit      int
	skip       []string               // read by an earlier run of the day
	lie        func(r *record.Result) // bends each result after it was made
	at         string                 // when the readings were made; default the day at 03:15
}

// tools is a good reading of a list of tools, given as JSON elements.
func tools(elems ...string) record.Result {
	body := `{"jsonrpc":"2.0","id":2,"result":{"tools":[` + strings.Join(elems, ",") + `]}}`
	return record.Result{
		Pages:   [][]byte{[]byte(body)},
		Init:    []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`),
		Server:  &record.Server{Capabilities: []string{"tools"}, Name: "s", Version: "1"},
		Capture: &record.Capture{ClientCapabilities: []string{}, Pages: record.Pages{Complete: true, Read: 1}, Protocol: record.Protocol{Negotiated: "2024-11-05", Requested: "2024-11-05"}, Transport: "streamable-http"},
	}
}

func tool(name, description string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, description)
}

func fails(class record.ErrorClass) record.Result {
	return record.Result{Class: class, Step: record.StepInitialize}
}

// methods returns the methodologies that a run reads with.
func (s *sim) methods() []string {
	if s.both {
		return []string{"v1", "v2"}
	}
	return []string{s.method}
}

func (s *sim) tree() *archive.Tree { return archive.Open(s.fs) }

// row returns the newest row of a target.
func (s *sim) row(name string) record.Observation {
	s.t.Helper()
	rows, err := s.tree().Current(s.method)
	i := slices.IndexFunc(rows, func(o record.Observation) bool { return o.Name == name })
	if err != nil || i < 0 {
		s.t.Fatalf("the row of %q is number %d of current/, %v", name, i, err)
	}
	return rows[i]
}

// events returns the kinds of the events of a run, of one target or of all.
func (s *sim) events(run, name string) []record.Event {
	s.t.Helper()
	events, err := s.tree().Events(run)
	if err != nil {
		s.t.Fatal(err)
	}
	if name == "" {
		return events
	}
	return slices.DeleteFunc(events, func(e record.Event) bool { return e.Name != name })
}

func kinds(events []record.Event) []record.Kind {
	var out []record.Kind
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

func (s *sim) record(d day) (*Summary, error) {
	s.t.Helper()
	if d.run == "" {
		d.run = string(d.day)
	}
	if d.at == "" {
		d.at = string(d.day) + "T03:15:00Z"
	}
	at, err := time.Parse(time.RFC3339, d.at)
	if err != nil {
		s.t.Fatal(err)
	}
	in := Input{
		Tree: s.tree(), Log: func(line string) { s.said = append(s.said, line) }, BlobID: func(b []byte) string { return canon.Sum(b).Hex()[:40] },
		Plan: record.PlanHeader{Run: d.run, Day: d.day, Methodologies: s.methods(), Limit: d.limit, ProberVersion: "0", Planned: record.At(at)},
	}
	in.Listing = record.ListingHeader{Complete: !d.incomplete, Kept: d.run != string(d.day)}
	for _, n := range s.order {
		row := fmt.Sprintf(`{"server":{"name":%q},"_meta":{}}`, n)
		if url := s.listed[n]; url != "" {
			row = fmt.Sprintf(`{"server":{"name":%q,"remotes":[{"type":"streamable-http","url":%q}]},"_meta":{"io.modelcontextprotocol.registry/official":{"isLatest":true}}}`, n, url)
		}
		if !in.Listing.Kept {
			in.Rows = append(in.Rows, record.ListingRow{Name: n, Bytes: row})
		}
	}
	missing, err := Missing(in.Tree, in.Rows)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, n := range missing {
		in.Listing.Asked = append(in.Listing.Asked, record.Asked{Name: n, Live: slices.Contains(d.live, n), Status: 200})
	}
	pop, err := Populate(in.Tree, in.Listing, in.Rows)
	if err != nil {
		s.t.Fatal(err)
	}
	for i, t := range target.Choose(pop.ListingRows(), target.OptOut{}) {
		pt := record.PlanTarget{Name: t.Name, Endpoint: t.Endpoint, Reason: t.Reason, Missed: d.limit > 0 && i >= d.limit}
		if slices.Contains(d.skip, t.Name) {
			pt.Skip = []string{s.method}
		}
		in.Targets = append(in.Targets, pt)
	}
	in.Results = func(yield func(record.Result) error) error {
		looked := s.method
		defer func() { s.method = looked }()
		for _, s.method = range s.methods() {
			for _, name := range slices.Sorted(maps.Keys(d.got)) {
				r := s.result(name, d.got[name], record.At(at))
				if again, ok := d.again[name]; ok && s.method != "v1" || ok && !s.both {
					second := s.result(name, again, record.At(at.Add(time.Second)))
					r.Second = &second
				}
				if d.lie != nil {
					d.lie(&r)
				}
				if err := yield(r); err != nil {
					return err
				}
			}
		}
		return nil
	}
	puts := fstest.MapFS{}
	s.put, s.said = map[string]bool{}, nil
	in.Put = func(name string, b []byte) error {
		if _, twice := puts[name]; twice {
			s.t.Errorf("%s is written twice", name)
		}
		puts[name] = &fstest.MapFile{Data: b}
		s.put[name] = true
		return nil
	}
	var removed []string
	in.Remove = func(name string) error { removed = append(removed, name); return nil }
	sum, err := Record(in)
	if err != nil {
		return nil, err
	}
	maps.Copy(s.fs, puts)
	for _, name := range removed {
		delete(s.fs, name)
	}
	s.checkFold()
	return sum, nil
}

// result completes a reading as the prober does.
func (s *sim) result(name string, r record.Result, at record.Time) record.Result {
	r.Name, r.Method, r.Observed = name, s.method, at
	if r.Class != record.Success {
		return r
	}
	c, err := contract.Read(r.Pages)
	if err != nil {
		s.t.Fatal(err)
	}
	if r.Identity, err = c.Identity(s.method); err != nil {
		s.t.Fatal(err)
	}
	if s.method == "v1" {
		if r.Ordered, err = c.Identity("v2"); err != nil {
			s.t.Fatal(err)
		}
	}
	capture := *r.Capture
	capture.ObservedAt = at
	r.Capture, r.Tools = &capture, len(c.Tools)
	return r
}

// must records a day that has to succeed.
func (s *sim) must(d day) *Summary {
	s.t.Helper()
	sum, err := s.record(d)
	if err != nil {
		s.t.Fatalf("recording %s: %v", d.day, err)
	}
	return sum
}

// checkFold holds the tree to its first rule: current/ is the fold of the dated
// files, and the newest header states its digest.
func (s *sim) checkFold() {
	s.t.Helper()
	runs, err := s.tree().Runs()
	if err != nil {
		s.t.Fatal(err)
	}
	folded, head, err := s.tree().Fold(s.method, runs[len(runs)-1])
	if err != nil {
		s.t.Fatal(err)
	}
	current, err := s.tree().Current(s.method)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, o := range current {
		if why := o.Fault(); why != "" {
			s.t.Errorf("after %s: the row of %s: %s", head.Run, o.Name, why)
		}
	}
	a, _ := json.Marshal(folded)
	b, _ := json.Marshal(current)
	if string(a) != string(b) {
		s.t.Errorf("after %s: the fold is %s, current is %s", head.Run, a, b)
	}
	if got := archive.Folded(archive.EncodeShards(folded)); got != head.Folded {
		s.t.Errorf("after %s: the fold is %s, the header says %s", head.Run, got, head.Folded)
	}
}
