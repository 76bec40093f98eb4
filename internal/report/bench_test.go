package report

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// The size at which the design states a bar is 23,231 servers and 365 days: under
// 20 s for all lives.
var (
	benchServers = flag.Int("servers", 2000, "servers of the generated year")
	benchDays    = flag.Int("days", 365, "days of it")
)

// A year is a generated archive: half of the targets have no endpoint, 13 % ask
// for a login, and 1.5 % of those that answer change on a day.
type year struct {
	fs     fstest.MapFS
	random *rand.Rand
	rows   []record.Observation
	unsure []int // changed on the day before: confirmed on this one
}

func newYear(servers, days int) *year {
	y := &year{fs: fstest.MapFS{}, random: rand.New(rand.NewPCG(1, 2)), rows: make([]record.Observation, servers)}
	for n := range days {
		d := record.DayOf(time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC))
		y.day(n, d)
	}
	return y
}

func (y *year) day(n int, d record.Day) {
	var rows []record.Observation
	var events []record.Event
	roster := record.Roster{Day: d, Run: string(d), Complete: true}
	if n == 0 {
		for i := range y.rows {
			y.rows[i] = y.first(i, d)
			roster.Added = append(roster.Added, record.RosterRow{Name: y.rows[i].Name})
		}
		rows = y.rows
	} else {
		rows, events = y.change(d)
	}
	head := record.ObservationHeader{Day: d, Methodology: "v1", Run: string(d), Rows: len(rows), Targets: len(y.rows)}
	obs := record.Line(head)
	for _, o := range rows {
		obs = append(obs, record.Line(o)...)
	}
	var told []byte
	for _, e := range events {
		told = append(told, record.Line(e)...)
	}
	coverage := record.Coverage{Classes: map[string]int{}, Targets: len(y.rows), Active: 1, Reached: 1}
	for _, o := range y.rows {
		coverage.Classes[o.ErrorClass.Label()]++
	}
	run := record.Run{Day: d, Run: string(d), RosterComplete: true, Methodologies: map[string]record.Coverage{"v1": coverage}}
	for name, b := range map[string][]byte{
		archive.RosterPath(string(d)): record.File(roster), archive.ObservationsPath(string(d), "v1"): obs,
		archive.EventsPath(string(d)): told, archive.RunPath(string(d)): record.File(run),
	} {
		y.fs[name] = &fstest.MapFile{Data: b}
	}
}

func (y *year) first(i int, d record.Day) record.Observation {
	o := record.Observation{Name: fmt.Sprintf("com.example%d/server-%d", i/7, i), Since: d}
	switch p := y.random.IntN(100); {
	case p < 51:
		o.ErrorClass, o.ErrorDetail = record.NoEndpoint, record.DetailNoRemote
		return o
	case p < 64:
		o.ErrorClass, o.Step, o.HTTPStatus = record.Auth, record.StepInitialize, 401
	}
	o.Endpoint = fmt.Sprintf("https://mcp.example%d.com/%d", i/7, i)
	if o.ErrorClass == record.Success {
		o.Server = &record.Server{Capabilities: []string{"tools"}, Name: "s", Version: "1"}
		o.Head = y.head(d)
		o.Head.Confirmed = true
	}
	return o
}

func (y *year) head(d record.Day) *record.Head {
	id := canon.Sum(fmt.Append(nil, y.random.Uint64()))
	return &record.Head{
		Artifacts: []canon.Digest{id}, Bytes: 20000, FirstObserved: d, Identity: id, Ordered: id, Tools: 18,
		Capture: record.Capture{ClientCapabilities: []string{}, Pages: record.Pages{Complete: true, Read: 1}, Transport: "streamable-http"},
	}
}

// change returns the rows and events of a day, sorted by name.
func (y *year) change(d record.Day) (rows []record.Observation, events []record.Event) {
	again := map[int]bool{}
	for _, i := range y.unsure {
		again[i] = true
		h := *y.rows[i].Head
		h.Confirmed = true
		y.rows[i].Head = &h
	}
	y.unsure = nil
	for i := range y.rows {
		o := &y.rows[i]
		changed := o.Head != nil && y.random.IntN(1000) < 15
		if changed {
			old := o.Head
			o.Head = y.head(d)
			y.unsure = append(y.unsure, i)
			comparable := true
			events = append(events, record.Event{
				Changes: []record.ToolChange{{Kind: "changed", Members: []string{"description"}, Name: "search"}}, Classes: []string{"substantive"},
				Comparable: &comparable, Day: d, Kind: record.Drift, Methodology: "v1", Name: o.Name, Old: old.Identity, New: o.Head.Identity,
				OldFirst: old.FirstObserved, FirstDifferent: d,
			})
		}
		if changed || again[i] {
			rows = append(rows, *o)
		}
	}
	slices.SortFunc(events, func(a, b record.Event) int { return strings.Compare(a.Name, b.Name) })
	return rows, events
}

func BenchmarkBuild(b *testing.B) {
	tree := archive.Open(newYear(*benchServers, *benchDays).fs)
	b.ReportAllocs()
	for b.Loop() {
		r, err := Build(tree, "v1")
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Population.Changes), "changes")
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys)/1e6, "heap-MB")
}

func BenchmarkLookup(b *testing.B) {
	r, err := Build(archive.Open(newYear(200, 30).fs), "v1")
	if err != nil {
		b.Fatal(err)
	}
	p := Pointer("servers", r.Calendar[5].Changes[0].Changed[0].Name, "versions", 0, "tools")
	for b.Loop() {
		if _, err := r.Lookup(p); err != nil {
			b.Fatal(err)
		}
	}
}
