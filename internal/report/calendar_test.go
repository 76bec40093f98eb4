package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// A platform release is one group; captures and numbers are counted apart.
func TestChangesOfADay(t *testing.T) {
	w := newTown(t, "com.example/alone", "com.example/capture", "com.example/numbers", "com.example/quiet")
	platform := []string{"org.platform/a", "org.platform/b", "org.platform/c"}
	for _, n := range platform {
		w.list(n, "https://"+n[len(n)-1:]+".platform.example/mcp")
	}
	before := readings{"com.example/alone": "A", "com.example/capture": "A", "com.example/numbers": "serves 10 cities", "com.example/quiet": "A"}
	before = before.and(all(platform, "A"))
	w.run(day(0), before)
	w.run(day(1), before.and(readings{
		"com.example/alone": "B", "com.example/capture": "2025-06-18 B", "com.example/numbers": "serves 11 cities",
	}).and(all(platform, "B")))
	r := w.build()
	d := r.Calendar[1]
	if d.Drift != 6 || d.Captures != 1 || d.Numbers != 1 {
		t.Errorf("%d changes, %d by capture, %d of numbers, want 6, 1, 1", d.Drift, d.Captures, d.Numbers)
	}
	want := []Group{
		{Operator: "platform.example", Servers: 3, Changed: []Changed{{1, "org.platform/a"}, {1, "org.platform/b"}, {1, "org.platform/c"}}},
		{Operator: "example-alone.com", Servers: 1, Changed: []Changed{{1, "com.example/alone"}}},
		{Operator: "example-capture.com", Servers: 1, Changed: []Changed{{1, "com.example/capture"}}},
		{Operator: "example-numbers.com", Servers: 1, Changed: []Changed{{1, "com.example/numbers"}}},
	}
	if diff := cmp.Diff(want, d.Changes); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if o := r.Operators[0]; o != (Operator{Changes: 3, Name: "platform.example", Servers: 3}) || len(r.Operators) != 5 || r.Population.Operators != 5 {
		t.Errorf("operators = %+v, %d in the population", r.Operators, r.Population.Operators)
	}
	v := r.Servers["com.example/capture"].Versions[1]
	if v.Comparable || !v.Drift || strings.Join(v.Differs, " ") != "protocol.negotiated" || v.Changed != 1 || len(v.Changes) != 1 {
		t.Errorf("the capture difference = %+v", v)
	}
	for _, l := range r.HalfLife.Lines {
		if want := map[string]Count{"comparable_only": 5, "substantive_only": 5, "gap_bound": 6}[l.ID]; want != 0 && l.Events != want {
			t.Errorf("%s has %d events, want %d", l.ID, l.Events, want)
		}
	}
}

// Each kind of transition, on its day and at its server.
func TestTransitions(t *testing.T) {
	w := newTown(t, "com.example/a", "com.example/b", "com.example/c", "com.example/d", "com.example/e", "com.example/f", "com.example/g", "com.example/h",
		"com.example/i", "com.example/j", "com.example/k", "com.example/l", "com.example/m")
	got := readings{}
	for _, n := range w.order {
		got[n] = "A"
	}
	got["com.example/b"] = "auth"
	w.run(day(0), got)
	w.unlist("com.example/c")
	w.list("com.example/d", "https://elsewhere.test/mcp")
	w.list("com.example/new", "https://new.test/mcp")
	delete(got, "com.example/c")
	w.run(day(1), got.and(readings{"com.example/a": "tls", "com.example/b": "A", "com.example/new": "N"}))
	w.list("com.example/c", "https://c.test/mcp")
	w.list("com.example/e", "")
	delete(got, "com.example/e")
	got["com.example/b"] = "A"
	w.run(day(2), got.and(readings{"com.example/c": "A", "com.example/new": "N"}))
	r := w.build()
	type counts struct{ Appeared, First, Lost, Moved, Regained, Retired, Returned Count }
	for i, want := range []counts{
		{},
		{Appeared: 1, First: 2, Lost: 1, Moved: 1, Retired: 1},
		{Moved: 2, Regained: 1, Returned: 1},
	} {
		d := r.Calendar[i]
		if got := (counts{d.Appeared, d.First, d.Lost, d.Moved, d.Regained, d.Retired, d.Returned}); got != want {
			t.Errorf("day %d counts %+v, want %+v; events %v", i, got, want, d.Events)
		}
	}
	want := []Transition{
		{Kind: record.ClassChanged, Name: "com.example/a", From: "tls", To: "answered"},
		{Kind: record.ClassChanged, Name: "com.example/e", From: "answered", To: "no_endpoint"},
		{Kind: record.EndpointMoved, Name: "com.example/c", From: "https://mcp.com.example-c.com/mcp", To: "https://c.test/mcp"},
		{Kind: record.EndpointMoved, Name: "com.example/e", From: "https://mcp.com.example-e.com/mcp"},
		{Kind: record.Returned, Name: "com.example/c"},
	}
	if diff := cmp.Diff(want, r.Calendar[2].Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if e := r.Servers["com.example/a"].Events; len(e) != 2 || e[0].Day != Date(day(1)) || e[0].To != "tls" || e[1].To != "answered" {
		t.Errorf("events of a = %v, want lost and back", e)
	}
	if s := r.Servers["com.example/e"]; s.State != "no_endpoint" || s.Detail != "no_remote" || s.Operator != "example-e.com" || s.Measured != 2 || s.Versions[0].InForce {
		t.Errorf("a server without an endpoint = %+v", s)
	}
	if s := r.Servers["com.example/c"]; s.Retired != "" || spanText(s) != "1×answered 1×retired 1×answered" || len(s.Versions) != 1 {
		t.Errorf("a server that came back = %+v", s)
	}
}

func TestToldServer(t *testing.T) {
	const was, is = `{"capabilities":["tools"],"name":"s","negotiated":"2024-11-05","version":"1"}`, `{"capabilities":["logging","tools"],"name":"s","version":"2\u001b[31m"}`
	if got, want := told(record.ServerChanged, []byte(was), []byte(is)), "capabilities tools; protocol 2024-11-05; version 1"; got != want {
		t.Errorf("told = %q, want %q", got, want)
	}
	if got, want := told(record.ServerChanged, []byte(is), []byte(was)), "capabilities logging, tools; protocol none; version 2\x1b[31m"; got != want {
		t.Errorf("told = %q, want %q", got, want)
	}
	for side, want := range map[string]string{`null`: "", `"tls"`: "tls", `[1]`: "[1]", ``: ""} {
		if got := told(record.ServerChanged, []byte(side), []byte(is)); got != want {
			t.Errorf("told(%s) = %q, want %q", side, got, want)
		}
	}
}

// Details are counted beside their class, the forced ones marked.
func TestClasses(t *testing.T) {
	got := classes(record.Coverage{
		Classes: map[string]int{"answered": 5, "parse": 3, "tls": 1, "timeout": 0, "http_4xx": 1},
		Details: map[string]int{"parse/rpc:-32001": 1, "parse/html": 2, "tls/dns": 1, "http_4xx/rpc:-32022": 1},
	})
	want := []Class{
		{Class: "answered", Share: Share{5, 10}},
		{Class: "tls", Share: Share{1, 10}, Details: []Detail{{Detail: "dns", Share: Share{1, 10}}}},
		{Class: "http_4xx", Share: Share{1, 10}, Details: []Detail{{Detail: "rpc:-32022", Share: Share{1, 10}}}},
		{Class: "parse", Share: Share{3, 10}, Details: []Detail{{Detail: "html", Share: Share{2, 10}}, {Detail: "rpc:-32001", Forced: true, Share: Share{1, 10}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
}

// A full run counts even when it is degraded, and says that it is.
func TestFullDegradedRun(t *testing.T) {
	servers := names(10)
	w := newTown(t, servers...)
	w.run(day(0), all(servers, "A"))
	w.run(day(1), all(servers, "timeout"))
	r := w.build()
	if r.Full != Date(day(1)) || !r.FullDegraded || r.Population.Answering != 0 || r.Classes[0].Share != (Share{0, 10}) || r.Classes[1].Class != "timeout" || r.Population.Listed != 10 {
		t.Errorf("full %s, degraded %v, %+v", r.Full, r.FullDegraded, r.Population)
	}
	if s := r.Servers[servers[0]]; s.State != "answered" || s.Since != Date(day(0)) || s.Detail != "" || s.NoData != 1 || s.Versions[0].InForce || *s.Age != 0 {
		t.Errorf("a server on the day of the outage = %+v", s)
	}
}

// Before the first full run nobody is counted.
func TestOnlyPartialRuns(t *testing.T) {
	servers := names(4)
	w := newTown(t, servers...)
	w.run(day(0), all(servers[:2], "A"))
	r := w.build()
	if r.Full != "" || len(r.Classes) != 0 || r.Classes == nil || r.Population.Listed != 0 || r.Population.Names != 4 || r.Population.EverAnswer != 2 {
		t.Errorf("full %q, classes %v, %+v", r.Full, r.Classes, r.Population)
	}
}

func TestRecentChanges(t *testing.T) {
	w := newTown(t, "com.example/a")
	for _, r := range []struct {
		at   int
		text string
	}{{0, "A"}, {1, "B"}, {2, "C"}, {91, "C"}} {
		w.run(day(r.at), readings{"com.example/a": r.text})
	}
	s := w.build().Servers["com.example/a"]
	if s.Changes != 2 || s.Recent != 1 || *s.Age != 89 || s.Versions[2].ConfirmedOn != Date(day(91)) || s.Versions[1].ConfirmedOn != "" || s.Versions[1].Confirmed {
		t.Errorf("%d changes, %d recent, age %v; versions %+v", s.Changes, s.Recent, *s.Age, s.Versions)
	}
}

// The detail is that of the state: a retired server has none.
func TestDetailOfState(t *testing.T) {
	w := newTown(t, "com.example/a")
	w.list("com.example/none", "")
	w.run(day(0), readings{"com.example/a": "A"})
	if s := w.build().Servers["com.example/none"]; s.State != "no_endpoint" || s.Detail != "no_remote" {
		t.Errorf("a server without an endpoint is %s/%s", s.State, s.Detail)
	}
	w.unlist("com.example/none")
	w.run(day(1), readings{"com.example/a": "A"})
	if s := w.build().Servers["com.example/none"]; s.State != "retired" || s.Detail != "" || s.Retired != Date(day(1)) {
		t.Errorf("a retired server is %s/%s since %s", s.State, s.Detail, s.Retired)
	}
}

// Nobody read the contract since: how long it was in force is known to the last
// reading, and whether it still is nobody knows.
func TestUnreadIsNotInForce(t *testing.T) {
	servers := names(4)
	w := newTown(t, servers...)
	w.run(day(0), all(servers, "A"))
	w.run(day(1), all(servers, "A"))
	for i := 2; i < 22; i++ {
		w.run(day(i), all(servers[:1], "A"))
	}
	r := w.build()
	if s := r.Servers[servers[1]]; s.State != "answered" || *s.Age != 1 || s.Versions[0].InForce || s.Read != Date(day(1)) || s.NoData != 20 {
		t.Errorf("a server that was missed is %s, aged %v, in force %v, read %s", s.State, *s.Age, s.Versions[0].InForce, s.Read)
	}
	if s := r.Servers[servers[0]]; *s.Age != 21 || !s.Versions[0].InForce {
		t.Errorf("a server that was read is aged %v, in force %v, want 21 days, true", *s.Age, s.Versions[0].InForce)
	}
}

// Of a server that renames all of its tools the report names some, and counts all.
func TestManyChanges(t *testing.T) {
	w := newTown(t, "com.example/a")
	w.run(day(0), readings{"com.example/a": "A"})
	w.run(day(1), readings{"com.example/a": "B"})
	var e record.Event
	for got, err := range w.tree().EventsOf("com.example/a") {
		if err != nil {
			t.Fatal(err)
		}
		if got.Kind == record.Drift {
			e = got
		}
	}
	e.Changes = nil
	for i := range 9900 {
		e.Changes = append(e.Changes, record.ToolChange{Kind: "removed", Name: fmt.Sprintf("old%d", i)}, record.ToolChange{Kind: "added", Name: fmt.Sprintf("new%d", i)})
	}
	w.fs[archive.EventsPath(day(1))].Data = record.Line(e)
	r := w.build()
	v := r.Servers["com.example/a"].Versions[1]
	if v.Added != 9900 || v.Removed != 9900 || v.Changed != 0 || len(v.Changes) != timeline.MaxChanges || !v.ChangesCut {
		t.Errorf("%d added, %d removed, %d of them named, cut %v; want 9900, 9900, %d, true", v.Added, v.Removed, len(v.Changes), v.ChangesCut, timeline.MaxChanges)
	}
	if n := len(record.File(r)); n > 32<<10 {
		t.Errorf("the report takes %d bytes", n)
	}
}

// Those missed on the day of a run are known from the runs up to it.
func TestMissed(t *testing.T) {
	servers := names(3)
	w := newTown(t, servers...)
	w.run(day(0), all(servers[:1], "A"))
	w.run(day(0)+".2", all(servers[1:2], "A"))
	w.run(day(1), all(servers, "A"))
	for run, want := range map[string]string{day(0): servers[1] + " " + servers[2], day(0) + ".2": servers[2], day(1): ""} {
		got, err := Missed(w.tree(), "v1", run)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("Missed(%s) = %v, %v, want %s", run, got, err, want)
		}
	}
}
