package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

const x = "com.example/x"

func TestQuietDayWritesNoRows(t *testing.T) {
	s := newSim(t, x, "com.example/y")
	a := map[string]record.Result{x: tools(tool("a", "A")), "com.example/y": fails(record.Auth)}
	s.must(day{day: "2026-11-01", got: a})
	s.must(day{day: "2026-11-02", got: a})
	head, rows, _, err := s.tree().Observations("2026-11-02", "v1")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"answered": 1, "auth": 1}
	if len(rows) != 0 || head.Rows != 0 || !cmp.Equal(head.Unchanged, want) || head.Attempted != 2 {
		t.Errorf("a quiet day has %d rows, header %+v, want none, unchanged %v", len(rows), head, want)
	}
	if n := len(s.events("2026-11-02", "")); n != 0 {
		t.Errorf("a quiet day has %d events, want none", n)
	}
}

func TestBaselineHasRowsAndNoEvents(t *testing.T) {
	s := newSim(t, x)
	s.list("com.example/none", "")
	s.must(day{day: "2026-11-01", got: map[string]record.Result{x: tools(tool("a", "A"))}})
	head, rows, _, err := s.tree().Observations("2026-11-01", "v1")
	if err != nil {
		t.Fatal(err)
	}
	if !head.Baseline || len(rows) != 2 || len(s.events("2026-11-01", "")) != 0 {
		t.Errorf("baseline %v, %d rows, %d events, want true, 2, 0", head.Baseline, len(rows), len(s.events("2026-11-01", "")))
	}
	if o := s.row("com.example/none"); o.Outcome().String() != "no_endpoint/no_remote" {
		t.Errorf("a target without a remote is %s", o.Outcome())
	}
	if h := s.row(x).Head; !h.Confirmed || h.FirstObserved != "2026-11-01" {
		t.Errorf("the first head is %+v, want confirmed, first observed 2026-11-01", h)
	}
}

// A step of a sequence of days of one target: what was read, and what events
// that makes.
type step struct {
	got  record.Result
	want []record.Kind
}

func TestSequences(t *testing.T) {
	a, b := tools(tool("a", "A")), tools(tool("a", "B"))
	gone := tools()
	drift := []record.Kind{record.Drift}
	tests := []struct {
		name  string
		steps []step
		check func(t *testing.T, s *sim)
	}{
		{
			// An outage between two equal readings is no change; after one, the
			// first good reading is compared with the last good one.
			name: "f-002", steps: []step{
				{a, nil}, {fails(record.Timeout), []record.Kind{record.ClassChanged}}, {fails(record.Timeout), nil},
				{a, []record.Kind{record.ClassChanged}}, {fails(record.HTTP5xx), []record.Kind{record.ClassChanged}},
				{b, []record.Kind{record.ClassChanged, record.Drift}},
			},
			check: func(t *testing.T, s *sim) {
				e := s.events("2026-11-06", x)[1]
				if e.LastSame != "2026-11-04" || e.FirstDifferent != "2026-11-06" || e.OldFirst != "2026-11-01" || s.row(x).Head.Identity != e.New {
					t.Errorf("drift = %+v, want between 11-04 and 11-06", e)
				}
			},
		},
		{
			// The way back is a transition too, though its contract was stored.
			name: "f-003", steps: []step{{a, nil}, {b, drift}, {a, drift}},
			check: func(t *testing.T, s *sim) {
				if e := s.events("2026-11-03", x)[0]; e.ReturnOf != "2026-11-01" {
					t.Errorf("return_of = %q, want 2026-11-01", e.ReturnOf)
				}
			},
		},
		{
			// All tools gone in one step, and back: both visible, the first flagged.
			name: "a-043", steps: []step{{a, nil}, {gone, drift}, {gone, []record.Kind{record.Confirmed}}, {a, drift}},
			check: func(t *testing.T, s *sim) {
				for day, want := range map[string]bool{"2026-11-02": true, "2026-11-03": false} {
					rows, _, err := s.tree().Fold("v1", day)
					if err != nil {
						t.Fatal(err)
					}
					o := rows[slices.IndexFunc(rows, func(o record.Observation) bool { return o.Name == x })]
					if got := slices.Contains(o.Flags, record.FlagAllToolsGone); got != want || o.Head.Tools != 0 {
						t.Errorf("row of %s: %d tools, flagged %v, want 0, %v", day, o.Head.Tools, got, want)
					}
				}
				if slices.Contains(s.row(x).Flags, record.FlagAllToolsGone) {
					t.Error("the flag outlives the step that it is of")
				}
			},
		},
		{
			// Two releases behind one address: four transitions of two contracts.
			name: "a-053", steps: []step{{a, nil}, {b, drift}, {a, drift}, {b, drift}, {b, []record.Kind{record.Confirmed}}, {a, drift}},
		},
		{
			name: "confirmed by the next success, across an outage",
			steps: []step{{a, nil}, {b, drift}, {fails(record.TLS), []record.Kind{record.ClassChanged}},
				{b, []record.Kind{record.ClassChanged, record.Confirmed}}},
			check: func(t *testing.T, s *sim) {
				if e := s.events("2026-11-04", x)[1]; e.Confirms != "2026-11-02" || !s.row(x).Head.Confirmed {
					t.Errorf("confirmed = %+v", e)
				}
			},
		},
		{
			name:  "first answer after failures",
			steps: []step{{fails(record.Auth), nil}, {a, []record.Kind{record.ClassChanged, record.FirstAnswer}}},
		},
		{
			name: "a detail is no transition",
			steps: []step{{fails(record.HTTP4xx), nil},
				{record.Result{Class: record.HTTP4xx, Detail: record.DetailPaymentRequired, Step: record.StepInitialize}, nil}},
			check: func(t *testing.T, s *sim) {
				if o := s.row(x); o.Since != "2026-11-01" || o.ErrorDetail != record.DetailPaymentRequired {
					t.Errorf("row = %+v, want since 11-01, payment_required", o)
				}
			},
		},
		{
			name: "order inside a schema changes under an equal identity",
			steps: []step{
				{tools(`{"name":"a","inputSchema":{"type":"object","prefixItems":[{"type":"string"},{"type":"number"}]}}`), nil},
				{tools(`{"name":"a","inputSchema":{"type":"object","prefixItems":[{"type":"number"},{"type":"string"}]}}`), []record.Kind{record.Reordered}},
			},
			check: func(t *testing.T, s *sim) {
				h := s.row(x).Head
				if h.FirstObserved != "2026-11-01" || h.Artifacts[0] != s.events("2026-11-02", x)[0].NewArtifacts[0] {
					t.Errorf("head = %+v, want the new body under the old first day", h)
				}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSim(t, x, "com.example/steady", "com.example/calm")
			for i, st := range tt.steps {
				d := record.Day(fmt.Sprintf("2026-11-%02d", i+1))
				s.must(day{day: d, got: map[string]record.Result{x: st.got, "com.example/steady": a, "com.example/calm": a}})
				if got := kinds(s.events(string(d), x)); !slices.Equal(got, st.want) {
					t.Errorf("events of %s = %v, want %v", d, got, st.want)
				}
			}
			if tt.check != nil {
				tt.check(t, s)
			}
		})
	}
}

func TestFailureKeepsTheHead(t *testing.T) {
	s := newSim(t, x, "com.example/y")
	ok := tools(tool("a", "A"))
	s.must(day{day: "2026-11-01", got: map[string]record.Result{x: ok, "com.example/y": ok}})
	s.must(day{day: "2026-11-02", got: map[string]record.Result{x: ok, "com.example/y": ok}})
	before := s.row(x).Head
	s.must(day{day: "2026-11-03", got: map[string]record.Result{x: fails(record.HTTP5xx), "com.example/y": ok}})
	o := s.row(x)
	if o.Head.Identity != before.Identity || o.Head.LastObserved != "2026-11-02" || o.Since != "2026-11-03" {
		t.Errorf("row = %+v, head %+v, want the head kept, last observed 11-02", o, o.Head)
	}
	if o.Server == nil {
		t.Error("the server of the last success is gone")
	}
}

// A drift under unequal captures is still drift by the letter of v1, and says so.
func TestDriftUnderUnequalCaptures(t *testing.T) {
	s := newSim(t, x)
	s.must(day{day: "2026-11-01", got: map[string]record.Result{x: tools(tool("a", "A"))}})
	other := tools(tool("a", "B"))
	other.Capture.Protocol.Negotiated = "2025-06-18"
	s.must(day{day: "2026-11-02", got: map[string]record.Result{x: other}})
	events := s.events("2026-11-02", x)
	if got := kinds(events); !slices.Equal(got, []record.Kind{record.Drift, record.ServerChanged}) {
		t.Fatalf("events = %v", got)
	}
	if e := events[0]; *e.Comparable || !slices.Equal(e.Differs, []string{"protocol.negotiated"}) {
		t.Errorf("comparable %v, differs %v, want false, protocol.negotiated", *e.Comparable, e.Differs)
	}
}

// Case d-006: retired by a complete roster, kept, and back under the same name.
func TestRetiredAndReturned(t *testing.T) {
	s := newSim(t, x, "com.example/y")
	ok := tools(tool("a", "A"))
	both := map[string]record.Result{x: ok, "com.example/y": ok}
	one := map[string]record.Result{"com.example/y": ok}
	s.must(day{day: "2026-11-01", got: both})
	url := s.listed[x]
	s.unlist(x)
	s.must(day{day: "2026-11-02", got: both, live: []string{x}})
	if o := s.row(x); o.Retired != "" {
		t.Errorf("a name of which a version lives is retired: %+v", o)
	}
	s.must(day{day: "2026-11-03", got: both, incomplete: true})
	if o := s.row(x); o.Retired != "" {
		t.Errorf("an incomplete listing retired a name: %+v", o)
	}
	s.must(day{day: "2026-11-04", got: one})
	o := s.row(x)
	if o.Retired != "2026-11-04" || o.Head == nil || o.Head.LastObserved != "2026-11-03" {
		t.Errorf("row = %+v, want retired 11-04, head kept", o)
	}
	if got := kinds(s.events("2026-11-04", x)); !slices.Equal(got, []record.Kind{record.Retired}) {
		t.Errorf("events = %v, want retired", got)
	}
	for _, name := range []string{archive.ContractPath("v1", x), archive.BodyPath("v1", x, ""), archive.BodyPath("v1", x, "init")} {
		if _, ok := s.fs[name]; !ok {
			t.Errorf("%s of a retired target is gone", name)
		}
	}
	s.must(day{day: "2026-11-05", got: one})
	if n := len(s.events("2026-11-05", x)); n != 0 {
		t.Errorf("a retired name has %d events", n)
	}
	s.list(x, url)
	s.must(day{day: "2026-11-30", got: both})
	o = s.row(x)
	if o.Retired != "" || o.Since != "2026-11-30" || o.Head.LastObserved != "" {
		t.Errorf("row = %+v, want active again since 11-30", o)
	}
	if got := kinds(s.events("2026-11-30", x)); !slices.Equal(got, []record.Kind{record.Returned}) {
		t.Errorf("events = %v, want returned only: the contract is the same", got)
	}
}

// Case d-014: the name is the identity; a moved endpoint is an event, not drift.
func TestEndpointMoved(t *testing.T) {
	s := newSim(t)
	s.list(x, "https://API.Example.com/mcp")
	ok := map[string]record.Result{x: tools(tool("a", "A"))}
	s.must(day{day: "2026-11-01", got: ok})
	s.list(x, "https://api.example.com:443/mcp/")
	s.must(day{day: "2026-11-02", got: ok})
	events := s.events("2026-11-02", x)
	if got := kinds(events); !slices.Equal(got, []record.Kind{record.EndpointMoved}) {
		t.Fatalf("events = %v, want endpoint_moved", got)
	}
	if string(events[0].From) != `"https://API.Example.com/mcp"` || s.row(x).Endpoint != "https://api.example.com:443/mcp/" {
		t.Errorf("from %s, row at %s", events[0].From, s.row(x).Endpoint)
	}
}

func many(n int, class record.ErrorClass, bad int) map[string]record.Result {
	got := map[string]record.Result{}
	for i := range n {
		r := tools(tool("a", "A"))
		if i < bad {
			r = fails(class)
		}
		got[fmt.Sprintf("com.example/n%03d", i)] = r
	}
	return got
}

// Coverage counts the active targets that reached their server, whatever it said.
func TestCoverage(t *testing.T) {
	tests := []struct {
		name     string
		class    record.ErrorClass
		bad      int
		coverage int
		degraded bool
	}{
		{"all", record.TLS, 0, 10000, false},
		{"nine in ten is enough", record.TLS, 10, 9000, false},
		{"less is degraded", record.TLS, 11, 8900, true},
		{"timeouts count as tls does", record.Timeout, 50, 5000, true},
		{"a refusal is an answer", record.Auth, 100, 10000, false},
		{"so is a server error", record.HTTP5xx, 100, 10000, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSim(t)
			for i := range 100 {
				s.list(fmt.Sprintf("com.example/n%03d", i), fmt.Sprintf("https://h%d.example/", i))
			}
			s.must(day{day: "2026-11-01", got: many(100, tt.class, 0)})
			sum := s.must(day{day: "2026-11-02", got: many(100, tt.class, tt.bad)})
			c := sum.Run.Methodologies["v1"]
			if c.Active != 100 || c.Coverage != tt.coverage || sum.Run.Degraded != tt.degraded {
				t.Errorf("coverage %+v, degraded %v, want %d of 100 active, %v", c, sum.Run.Degraded, tt.coverage, tt.degraded)
			}
			for _, e := range s.events("2026-11-02", "") {
				if e.Degraded != tt.degraded {
					t.Errorf("event %+v: degraded %v, want %v", e, e.Degraded, tt.degraded)
				}
			}
		})
	}
}

// A target that has not reached its server on 7 days is no longer active.
func TestActiveForSevenDays(t *testing.T) {
	const steady = 20
	s := newSim(t, x)
	for i := range steady {
		s.list(fmt.Sprintf("com.example/n%03d", i), fmt.Sprintf("https://h%d.example/", i))
	}
	for i := 1; i <= 10; i++ {
		got := many(steady, record.TLS, 0)
		got[x] = tools(tool("a", "A"))
		if i > 1 {
			got[x] = fails([]record.ErrorClass{record.TLS, record.Timeout}[i%2])
		}
		sum := s.must(day{day: record.Day(fmt.Sprintf("2026-11-%02d", i)), got: got})
		want := steady + 1
		if i > 8 { // last reached on 11-01, the 7th day before 11-08
			want = steady
		}
		if c := sum.Run.Methodologies["v1"]; c.Active != want || sum.Run.Degraded {
			t.Errorf("active on 11-%02d = %d, degraded %v, want %d, false", i, c.Active, sum.Run.Degraded, want)
		}
	}
}

// An outage of ours, however long, is degraded to its last day: its days don't
// make the targets inactive.
func TestLongOutageStaysDegraded(t *testing.T) {
	s := newSim(t)
	for i := range 10 {
		s.list(fmt.Sprintf("com.example/n%03d", i), fmt.Sprintf("https://h%d.example/", i))
	}
	s.must(day{day: "2026-11-01", got: many(10, record.Timeout, 0)})
	for i := 2; i <= 12; i++ {
		sum := s.must(day{day: record.Day(fmt.Sprintf("2026-11-%02d", i)), got: many(10, record.Timeout, 10)})
		if c := sum.Run.Methodologies["v1"]; !sum.Run.Degraded || c.Active != 10 || c.Coverage != 0 {
			t.Errorf("11-%02d: degraded %v, %+v, want degraded, 10 active", i, sum.Run.Degraded, c)
		}
		head, _, _, err := s.tree().Observations(fmt.Sprintf("2026-11-%02d", i), "v1")
		if err != nil || !head.Degraded {
			t.Errorf("11-%02d: its header is not marked as degraded, %v", i, err)
		}
	}
}

// One that was retired, or missed, for longer than that is not active either.
func TestRetiredAndMissedAreNotActive(t *testing.T) {
	const steady = 20
	s := newSim(t, x)
	for i := range steady {
		s.list(fmt.Sprintf("com.example/n%03d", i), fmt.Sprintf("https://h%d.example/", i))
	}
	with := func() map[string]record.Result {
		got := many(steady, record.TLS, 0)
		got[x] = tools(tool("a", "A"))
		return got
	}
	url := s.listed[x]
	s.must(day{day: "2026-11-01", got: with()})
	s.unlist(x)
	for i := 2; i <= 9; i++ {
		s.must(day{day: record.Day(fmt.Sprintf("2026-11-%02d", i)), got: many(steady, record.TLS, 0)})
	}
	s.list(x, url)
	if c := s.must(day{day: "2026-11-10", got: with()}).Run.Methodologies["v1"]; c.Active != steady {
		t.Errorf("active = %d on the return after 8 days, want %d", c.Active, steady)
	}
	if c := s.must(day{day: "2026-11-11", got: with()}).Run.Methodologies["v1"]; c.Active != steady+1 {
		t.Errorf("active = %d the day after, want %d", c.Active, steady+1)
	}
	for i := 12; i <= 18; i++ { // x, which stands last in the listing, is missed for 7 days
		s.must(day{day: record.Day(fmt.Sprintf("2026-11-%02d", i)), got: many(steady, record.TLS, 0), limit: steady})
	}
	if c := s.must(day{day: "2026-11-19", got: with()}).Run.Methodologies["v1"]; c.Active != steady {
		t.Errorf("active = %d after 7 days on which it was missed, want %d", c.Active, steady)
	}
}

func TestPartialRunIsCompleted(t *testing.T) {
	s := newSim(t)
	for i := range 5 {
		s.list(fmt.Sprintf("com.example/n%03d", i), fmt.Sprintf("https://h%d.example/", i))
	}
	all := many(5, record.TLS, 0)
	s.must(day{day: "2026-11-01", got: all})
	some := map[string]record.Result{"com.example/n000": tools(tool("a", "B")), "com.example/n001": fails(record.Auth)}
	sum := s.must(day{day: "2026-11-02", got: some, limit: 2})
	if !strings.Contains(sum.Message, " changed, partial\n") || strings.Contains(sum.Message, "overage") {
		t.Errorf("message = %q, want no coverage of a partial day", sum.Message)
	}
	if !sum.Run.Partial || sum.Run.Limit != 2 || sum.Run.Methodologies["v1"].Attempted != 2 {
		t.Errorf("run = %+v, want partial, 2 attempted", sum.Run)
	}
	head, _, _, err := s.tree().Observations("2026-11-02", "v1")
	if err != nil || !cmp.Equal(head.Missed, &record.Missed{After: 2, Only: []string{"com.example/n000", "com.example/n001"}}) {
		t.Errorf("missed = %+v, %v", head.Missed, err)
	}
	plan := record.PlanHeader{Day: "2026-11-02", Run: "2026-11-02.2"}
	var targets []record.PlanTarget
	for _, n := range s.order {
		targets = append(targets, record.PlanTarget{Name: n, Endpoint: s.listed[n]})
	}
	skip, err := Skips(s.tree(), plan, targets, "v1", false)
	if err != nil || len(skip) != 2 || !skip["com.example/n000"] || !skip["com.example/n001"] {
		t.Errorf("Skips = %v, %v, want the two that were read", skip, err)
	}
	delete(all, "com.example/n000")
	delete(all, "com.example/n001")
	sum = s.must(day{day: "2026-11-02", run: "2026-11-02.2", got: all, skip: []string{"com.example/n000", "com.example/n001"}})
	c := sum.Run.Methodologies["v1"]
	if sum.Run.Partial || c.Attempted != 5 || c.Answered != 4 || c.Classes["auth"] != 1 {
		t.Errorf("the completed day = %+v, want 5 attempted, 4 answered", sum.Run)
	}
	if got := kinds(s.events("2026-11-02.2", "")); len(got) != 0 {
		t.Errorf("events of the second run = %v, want none: a change counts once", got)
	}
	if _, ok, _ := s.tree().Roster("2026-11-02.2"); ok {
		t.Error("the second run of a day wrote a roster")
	}
}

func TestDegradedRunIsReadAgainWhereItFailed(t *testing.T) {
	s := newSim(t)
	for i := range 10 {
		s.list(fmt.Sprintf("com.example/n%03d", i), fmt.Sprintf("https://h%d.example/", i))
	}
	s.must(day{day: "2026-11-01", got: many(10, record.TLS, 0)})
	first := many(10, record.Timeout, 3)
	first["com.example/n003"] = fails(record.HTTP5xx)
	s.must(day{day: "2026-11-02", got: first})
	var targets []record.PlanTarget
	for _, n := range s.order {
		targets = append(targets, record.PlanTarget{Name: n, Endpoint: s.listed[n]})
	}
	skip, err := Skips(s.tree(), record.PlanHeader{Day: "2026-11-02", Run: "2026-11-02.2"}, targets, "v1", true)
	if err != nil || len(skip) != 7 || skip["com.example/n000"] || !skip["com.example/n003"] {
		t.Fatalf("Skips = %v, %v, want all but the three in timeout", skip, err)
	}
	again := map[string]record.Result{}
	for i := range 3 {
		again[fmt.Sprintf("com.example/n%03d", i)] = tools(tool("a", "A"))
	}
	sum := s.must(day{day: "2026-11-02", run: "2026-11-02.2", got: again})
	if c := sum.Run.Methodologies["v1"]; sum.Run.Degraded || c.Coverage != 10000 || c.Active != 10 {
		t.Errorf("the completed day = %+v", c)
	}
	if o := s.row("com.example/n000"); o.Since != "2026-11-01" || o.Head.LastObserved != "" {
		t.Errorf("row = %+v, want answered since 11-01, as if the degraded run had not been", o)
	}
	if o := s.row("com.example/n003"); o.Since != "2026-11-02" {
		t.Errorf("row = %+v, want http_5xx since 11-02", o)
	}
	for _, run := range []string{"2026-11-02", "2026-11-02.2"} {
		for _, e := range s.events(run, "com.example/n000") {
			if e.Kind != record.ClassChanged || !e.Degraded {
				t.Errorf("event of %s = %+v, want both halves of the transition marked", run, e)
			}
		}
	}
}

func TestNothingAttempted(t *testing.T) {
	s := newSim(t)
	s.list(x, "")
	if _, err := s.record(day{day: "2026-11-01"}); !errors.Is(err, ErrNothingAttempted) {
		t.Errorf("recording a run without a probe = %v, want ErrNothingAttempted", err)
	}
	if len(s.put) != 0 {
		t.Errorf("it wrote %d files before it knew", len(s.put))
	}
}

// Case e-013: order is by run, not by clock; the reading that is dated back says
// so, and the change counts once.
func TestClockGoesBack(t *testing.T) {
	s := newSim(t, x)
	a, b := tools(tool("a", "A")), tools(tool("a", "B"))
	s.must(day{day: "2026-11-05", got: map[string]record.Result{x: a}})
	s.must(day{day: "2026-11-06", at: "2026-11-05T01:00:00Z", got: map[string]record.Result{x: b}})
	if o := s.row(x); !slices.Contains(o.Flags, record.FlagClockBack) {
		t.Errorf("flags = %v, want clock_back", o.Flags)
	}
	if got := kinds(s.events("2026-11-06", x)); !slices.Equal(got, []record.Kind{record.Drift}) {
		t.Errorf("events = %v, want one drift", got)
	}
	s.must(day{day: "2026-11-07", got: map[string]record.Result{x: b}})
	if got := kinds(s.events("2026-11-07", x)); !slices.Equal(got, []record.Kind{record.Confirmed}) {
		t.Errorf("events = %v, want confirmed", got)
	}
	if !slices.IsSortedFunc([]string{"2026-11-05", "2026-11-06", "2026-11-06.2", "2026-11-06.10", "2026-11-07"}, record.CompareRuns) {
		t.Error("run ids are not in the order of runs")
	}
}

// Case e-001: a change seen after a gap lies somewhere in it, and a day on which
// the source network was down moves no head.
func TestGapAndSourceOutage(t *testing.T) {
	s := newSim(t)
	for i := range 10 {
		s.list(fmt.Sprintf("com.example/n%03d", i), fmt.Sprintf("https://h%d.example/", i))
	}
	s.must(day{day: "2026-06-01", got: many(10, record.TLS, 0)})
	s.must(day{day: "2026-06-02", got: many(10, record.TLS, 0)})
	down := s.must(day{day: "2026-06-25", got: many(10, record.TLS, 10)})
	if !down.Run.Degraded || s.row("com.example/n000").Head.LastObserved != "2026-06-02" {
		t.Errorf("degraded %v, row %+v", down.Run.Degraded, s.row("com.example/n000").Head)
	}
	changed := many(10, record.TLS, 0)
	changed["com.example/n000"] = tools(tool("a", "B"))
	s.must(day{day: "2026-06-26", got: changed})
	events := s.events("2026-06-26", "com.example/n000")
	if e := events[len(events)-1]; e.Kind != record.Drift || e.LastSame != "2026-06-02" || e.FirstDifferent != "2026-06-26" {
		t.Errorf("drift = %+v, want dated (06-02, 06-26]", e)
	}
}

func TestRunRecordsAreChained(t *testing.T) {
	s := newSim(t, x)
	ok := map[string]record.Result{x: tools(tool("a", "A"))}
	s.must(day{day: "2026-11-01", got: ok})
	second := s.must(day{day: "2026-11-02", got: ok})
	_, raw, err := s.tree().Run("2026-11-01")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := second.Run.Previous, canon.Sum(raw); got != want {
		t.Errorf("previous = %s, want %s", got, want)
	}
	if got := second.Run.Finished.Format(time.RFC3339); got != "2026-11-02T03:15:00Z" {
		t.Errorf("finished = %s, want the end of the last answer", got)
	}
	if !strings.HasPrefix(second.Message, "observe 2026-11-02: 1 answered, 0 changed, coverage 100.0 %\n\n") {
		t.Errorf("message = %q", second.Message)
	}
	for _, trailer := range []string{"Run: 2026-11-02\n", "Coverage: 100.0 %\n", "Degraded: false\n", "Partial: false\n", "Methodology: v1\n"} {
		if !strings.Contains(second.Message, trailer) {
			t.Errorf("message lacks %q", trailer)
		}
	}
}

// A body that can't be read, such as one removed on request, stops no later day:
// the drift from its contract is recorded, without what changed, and said.
func TestDriftFromARemovedBody(t *testing.T) {
	s := newSim(t, x)
	s.must(day{day: "2026-11-01", got: map[string]record.Result{x: tools(tool("a", "A"))}})
	gone := s.row(x).Head.Artifacts[0]
	delete(s.fs, archive.BodyPath("v1", x, ""))
	s.must(day{day: "2026-11-02", got: map[string]record.Result{x: tools(tool("a", "B"))}})
	events := s.events("2026-11-02", x)
	if len(events) != 1 || events[0].Kind != record.Drift || events[0].Changes != nil || events[0].Classes != nil || events[0].OldArtifacts[0] != gone {
		t.Errorf("events = %+v, want a drift without changes", events)
	}
	if len(s.said) != 1 || !strings.Contains(s.said[0], x) {
		t.Errorf("it said %q, want one line that names the target", s.said)
	}
}

// The files of a head change only with its identity or its order; a body that
// differs otherwise writes nothing, and the handshake's only with what it says.
func TestFilesChangeOnlyWithTheHead(t *testing.T) {
	a := tools(tool("a", "A"))
	spaced := a
	spaced.Pages = [][]byte{[]byte(strings.Replace(string(a.Pages[0]), `"id":2`, `"id": 2`, 1))}
	otherInit := a
	otherInit.Init = []byte(`{"jsonrpc":"2.0","id":1,"result":{"_meta":{}}}`)
	released := otherInit
	released.Server = &record.Server{Capabilities: []string{"tools"}, Name: "s", Version: "2"}
	body, page, file, init := archive.BodyPath("v1", x, ""), archive.BodyPath("v1", x, "2"), archive.ContractPath("v1", x), archive.BodyPath("v1", x, "init")
	two := tools(tool("a", "C"))
	two.Capture.Pages.Read = 2
	two.Pages = append(two.Pages, []byte(`{"jsonrpc":"2.0","id":3,"result":{"tools":[`+tool("b", "B")+`]}}`))
	tests := []struct {
		name string
		got  record.Result
		want []string // of the four
	}{
		{"first", a, []string{body, file, init}},
		{"other bytes, same contract", spaced, nil},
		{"other handshake bytes, same server", otherInit, nil},
		{"another release of the server", released, []string{init}},
		{"another contract", tools(tool("a", "B")), []string{body, file, init}}, // the server is the old one again
		{"two pages", two, []string{body, page, file}},
		{"one page again", tools(tool("a", "B")), []string{body, file}},
	}
	s := newSim(t, x)
	for i, tt := range tests {
		d := record.Day(fmt.Sprintf("2026-11-%02d", i+1))
		s.must(day{day: d, got: map[string]record.Result{x: tt.got}})
		for _, name := range []string{body, page, file, init} {
			if got, want := s.put[name], slices.Contains(tt.want, name); got != want {
				t.Errorf("%s: %s written: %v, want %v", tt.name, name, got, want)
			}
		}
		index, err := s.tree().Index(string(d))
		if err != nil {
			t.Fatal(err)
		}
		want := slices.DeleteFunc(slices.Clone(tt.want), func(n string) bool { return n == file })
		if len(index) != len(want) {
			t.Errorf("%s: the index has %d bodies, want %d", tt.name, len(index), len(want))
		}
	}
	if _, ok := s.fs[page]; ok {
		t.Error("the page that the head no longer has is still there")
	}
}

// Under an equal identity a capture is replaced whole when a member other than
// its time changes, and kept otherwise.
func TestCaptureIsReplacedWhole(t *testing.T) {
	s := newSim(t, x)
	a := tools(tool("a", "A"))
	s.must(day{day: "2026-11-01", got: map[string]record.Result{x: a}})
	first := s.row(x).Head.Capture
	s.must(day{day: "2026-11-02", got: map[string]record.Result{x: a}})
	if got := s.row(x).Head.Capture; !cmp.Equal(got, first) {
		t.Errorf("capture = %+v, want that of the first reading %+v", got, first)
	}
	other := *a.Capture
	other.Protocol.Negotiated = "2025-06-18"
	a.Capture = &other
	s.must(day{day: "2026-11-03", got: map[string]record.Result{x: a}})
	if got := s.row(x).Head; got.Capture.Protocol.Negotiated != "2025-06-18" || record.DayOf(got.Capture.ObservedAt.Time) != "2026-11-03" || got.FirstObserved != "2026-11-01" {
		t.Errorf("head = %+v, want the new capture whole under the old first day", got)
	}
}

// The last reading of a target that a partial day missed lies before that day.
func TestLastObservedAfterAPartialDay(t *testing.T) {
	s := newSim(t)
	for i := range 5 {
		s.list(fmt.Sprintf("com.example/n%03d", i), fmt.Sprintf("https://h%d.example/", i))
	}
	s.must(day{day: "2026-11-01", got: many(5, record.HTTP5xx, 0)})
	s.must(day{day: "2026-11-02", limit: 1, got: map[string]record.Result{"com.example/n000": tools(tool("a", "A"))}})
	s.must(day{day: "2026-11-03", got: many(5, record.HTTP5xx, 5)})
	for name, want := range map[string]record.Day{"com.example/n000": "2026-11-02", "com.example/n001": "2026-11-01"} {
		if got := s.row(name).Head.LastObserved; got != want {
			t.Errorf("last_observed of %s = %s, want %s", name, got, want)
		}
	}
}

// An endpoint that moved is told by the run that reads it, be it the day's second.
func TestEndpointMovedOnADayThatIsCompleted(t *testing.T) {
	s := newSim(t)
	for i := range 3 {
		s.list(fmt.Sprintf("com.example/n%03d", i), fmt.Sprintf("https://h%d.example/", i))
	}
	s.must(day{day: "2026-11-01", got: many(3, record.TLS, 0)})
	s.list("com.example/n002", "https://moved.example/")
	s.must(day{day: "2026-11-02", limit: 1, got: many(1, record.TLS, 0)})
	rest := many(3, record.TLS, 0)
	delete(rest, "com.example/n000")
	s.must(day{day: "2026-11-02", run: "2026-11-02.2", got: rest, skip: []string{"com.example/n000"}})
	if got := kinds(s.events("2026-11-02.2", "com.example/n002")); !slices.Equal(got, []record.Kind{record.EndpointMoved}) {
		t.Errorf("events = %v, want endpoint_moved", got)
	}
}

// What a shard states is held against its bytes and the forms of the records; a
// result that they don't bear out counts as missed, and the others stand.
func TestResultsThatAreNotBelieved(t *testing.T) {
	lies := map[string]func(r *record.Result){
		"identity":    func(r *record.Result) { r.Identity = canon.Sum(nil) },
		"ordered":     func(r *record.Result) { r.Ordered = canon.Sum(nil) },
		"tools":       func(r *record.Result) { r.Tools = 7 },
		"no contract": func(r *record.Result) { r.Pages = [][]byte{[]byte("{}")} },
		"no bodies":   func(r *record.Result) { r.Pages = nil },
		"no capture":  func(r *record.Result) { r.Capture = nil },
		"no server":   func(r *record.Result) { r.Server = nil },
		"pages":       func(r *record.Result) { c := *r.Capture; c.Pages.Read = 7; r.Capture = &c },
		"flag":        func(r *record.Result) { r.Flags = []record.Flag{"zzz"} },
		"time":        func(r *record.Result) { r.Observed = record.At(r.Observed.AddDate(10, 0, 0)) },
		"latency":     func(r *record.Result) { r.ListMS = 1 << 40 },
		"class": func(r *record.Result) {
			*r = record.Result{Name: r.Name, Method: r.Method, Observed: r.Observed, Class: "odd"}
		},
		"no_endpoint": func(r *record.Result) {
			*r = record.Result{Name: r.Name, Method: r.Method, Observed: r.Observed, Class: record.NoEndpoint, Step: record.StepInitialize}
		},
		"failure, no step": func(r *record.Result) {
			*r = record.Result{Name: r.Name, Method: r.Method, Observed: r.Observed, Class: record.TLS}
		},
		"detail": func(r *record.Result) {
			*r = record.Result{Name: r.Name, Method: r.Method, Observed: r.Observed, Class: record.TLS, Step: record.StepInitialize, Detail: "x y"}
		},
		"success with step": func(r *record.Result) { r.Step = record.StepInitialize },
	}
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, x, "com.example/y")
			a := tools(tool("a", "A"))
			both := map[string]record.Result{x: a, "com.example/y": a}
			s.must(day{day: "2026-11-01", got: both})
			before := s.row(x)
			changed := map[string]record.Result{x: tools(tool("a", "B")), "com.example/y": a}
			sum := s.must(day{day: "2026-11-02", got: changed, lie: func(r *record.Result) {
				if r.Name == x {
					lie(r)
				}
			}})
			if !sum.Run.Partial || !cmp.Equal(s.row(x), before) || len(s.events("2026-11-02", x)) != 0 {
				t.Errorf("partial %v, row %+v, want the row of the day before in a partial run", sum.Run.Partial, s.row(x))
			}
			if len(s.said) != 1 || !strings.Contains(s.said[0], x) {
				t.Errorf("it said %q, want one line that names the target", s.said)
			}
		})
	}
	t.Run("an old identity for new bodies", func(t *testing.T) {
		s := newSim(t, x, "com.example/y")
		a := tools(tool("a", "A"))
		s.must(day{day: "2026-11-01", got: map[string]record.Result{x: a, "com.example/y": a}})
		old := s.row(x).Head
		sum := s.must(day{day: "2026-11-02", got: map[string]record.Result{x: tools(tool("a", "B")), "com.example/y": a}, lie: func(r *record.Result) {
			r.Identity, r.Ordered = old.Identity, old.Ordered
		}})
		if !sum.Run.Partial {
			t.Error("a drift was hidden")
		}
	})
}

// A target that came back but was missed still stands as retired, whatever the
// day of its event; a class found again by the day's second run is no return to
// the class of the morning then.
func TestMorningIsReadFromRows(t *testing.T) {
	s := newSim(t, "com.example/a", "com.example/b", x)
	ok, denied := tools(tool("a", "A")), fails(record.Auth)
	all := map[string]record.Result{"com.example/a": ok, "com.example/b": ok, x: denied}
	url := s.listed[x]
	s.must(day{day: "2026-11-01", got: all})
	s.unlist(x)
	s.must(day{day: "2026-11-02", got: map[string]record.Result{"com.example/a": ok, "com.example/b": ok}})
	s.list(x, url)
	s.must(day{day: "2026-11-03", got: map[string]record.Result{"com.example/a": ok}, limit: 1})
	down := map[string]record.Result{"com.example/a": fails(record.TLS), "com.example/b": fails(record.TLS), x: denied}
	s.must(day{day: "2026-11-04", got: down})
	s.must(day{day: "2026-11-04", run: "2026-11-04.2", got: map[string]record.Result{"com.example/a": ok, "com.example/b": ok}, skip: []string{x}})
	if o := s.row(x); o.Since != "2026-11-04" || o.Retired != "" {
		t.Errorf("row = %+v, want auth since 11-04, the day it was read again", o)
	}
	if o := s.row("com.example/a"); o.Since != "2026-11-01" {
		t.Errorf("row = %+v, want answered since 11-01", o)
	}
}
