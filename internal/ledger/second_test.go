package ledger

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// newSecondSim returns a sim of methodology v2 in which x was read on the days
// 11-01 and 11-02, and the readings that the rows of the table are made of.
func newSecondSim(t *testing.T) *sim {
	s := newSim(t, x)
	s.method = "v2"
	s.must(day{day: "2026-11-01", got: one(contractA)})
	s.must(day{day: "2026-11-02", got: one(contractA)})
	return s
}

func one(r record.Result) map[string]record.Result { return map[string]record.Result{x: r} }

var (
	contractA = tools(tool("a", "A"))
	contractB = tools(tool("a", "B"))
	contractC = tools(tool("a", "C"), tool("c", "C"))
	nothing   = tools()
)

// under returns a reading under another negotiated version.
func under(r record.Result, negotiated string) record.Result {
	c := *r.Capture
	c.Protocol.Negotiated = negotiated
	r.Capture = &c
	return r
}

// partly returns a reading that was left at a cap.
func partly(r record.Result) record.Result {
	c := *r.Capture
	c.Pages.Complete = false
	r.Capture = &c
	r.Flags = []record.Flag{record.FlagListCapped}
	return r
}

// flagged returns a reading with a flag, of a server of another version.
func flagged(r record.Result, f record.Flag) record.Result {
	r.Flags = []record.Flag{f}
	r.Server = &record.Server{Capabilities: []string{"tools"}, Name: "s", Version: "2"}
	return r
}

func identityOf(t *testing.T, s *sim, r record.Result) canon.Digest {
	t.Helper()
	return s.result(x, r, record.Time{}).Identity
}

// Every row of the table of second readings (DESIGN.md section 4), for what the
// first reading can be.
func TestSecondReading(t *testing.T) {
	yes, no := true, false
	type wants struct {
		head      record.Result
		confirmed bool
		unstable  record.Day
		last      record.Day
		kind      record.Kind
		reread    record.Reread
		cmp       *bool
		differs   []string
		other     bool
		flags     []record.Flag
		bodies    []string // parts of +other that are there
	}
	newer := "2025-11-25"
	conditions := []string{"protocol.negotiated"}
	cut := []string{"pages.complete"}
	gone := []record.Flag{record.FlagAllToolsGone}
	failed := fails(record.Timeout)
	for _, tt := range []struct {
		name   string
		first  record.Result
		second *record.Result
		want   wants
	}{
		{"same", contractB, &contractB, wants{head: contractB, confirmed: true, kind: record.Drift, reread: record.RereadSame, cmp: &yes}},
		{"the head", contractB, &contractA, wants{head: contractA, confirmed: true, unstable: "2026-11-03", kind: record.Unstable, reread: record.RereadDifferent, bodies: []string{"other"}}},
		{"neither", contractB, &contractC, wants{head: contractA, confirmed: true, unstable: "2026-11-03", last: "2026-11-02", kind: record.Unstable, reread: record.RereadDifferent, other: true, bodies: []string{"other", "other-b"}}},
		{"failed", contractB, &failed, wants{head: contractB, kind: record.Drift, reread: record.RereadFailed, cmp: &yes}},
		{"not made", contractB, nil, wants{head: contractB, kind: record.Drift, reread: record.RereadNone, cmp: &yes}},

		{"to zero, same", nothing, &nothing, wants{head: nothing, confirmed: true, kind: record.Drift, reread: record.RereadSame, cmp: &yes, flags: gone}},
		{"to zero, the head", nothing, &contractA, wants{head: contractA, confirmed: true, unstable: "2026-11-03", kind: record.Unstable, reread: record.RereadDifferent, bodies: []string{"other"}}},
		{"to zero, neither", nothing, &contractB, wants{head: contractA, confirmed: true, unstable: "2026-11-03", last: "2026-11-02", kind: record.Unstable, reread: record.RereadDifferent, other: true, bodies: []string{"other", "other-b"}}},
		{"to zero, failed", nothing, &failed, wants{head: nothing, kind: record.Drift, reread: record.RereadFailed, cmp: &yes, flags: gone}},

		{"other conditions, same", under(contractB, newer), new(under(contractB, newer)), wants{head: contractB, confirmed: true, kind: record.CaptureDifference, reread: record.RereadSame, cmp: &no, differs: conditions}},
		{"other conditions, the head", under(contractB, newer), &contractA, wants{head: contractA, confirmed: true, unstable: "2026-11-03", kind: record.Unstable, reread: record.RereadDifferent, bodies: []string{"other"}}},
		{"other conditions, neither", under(contractB, newer), &contractC, wants{head: contractA, confirmed: true, unstable: "2026-11-03", last: "2026-11-02", kind: record.Unstable, reread: record.RereadDifferent, other: true, bodies: []string{"other", "other-b"}}},
		{"other conditions, failed", under(contractB, newer), &failed, wants{head: contractB, confirmed: true, kind: record.CaptureDifference, reread: record.RereadFailed, cmp: &no, differs: conditions}},
		{"other conditions, not made", under(contractB, newer), nil, wants{head: contractB, confirmed: true, kind: record.CaptureDifference, reread: record.RereadNone, cmp: &no, differs: conditions}},

		{"a list cut short, same", partly(contractB), new(partly(contractB)), wants{head: contractB, confirmed: true, kind: record.CaptureDifference, reread: record.RereadSame, cmp: &no, differs: cut, flags: []record.Flag{record.FlagListCapped}}},
		{"flags of the second", flagged(contractB, record.FlagBOM), new(flagged(contractA, record.FlagBatch)), wants{head: contractA, confirmed: true, unstable: "2026-11-03", kind: record.Unstable, reread: record.RereadDifferent, flags: []record.Flag{record.FlagBatch}, bodies: []string{"other"}}},
		{"flags of the first", flagged(contractB, record.FlagBOM), new(flagged(contractC, record.FlagBatch)), wants{head: contractA, confirmed: true, unstable: "2026-11-03", last: "2026-11-02", kind: record.Unstable, reread: record.RereadDifferent, other: true, flags: []record.Flag{record.FlagBOM}, bodies: []string{"other", "other-b"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSecondSim(t)
			before := s.row(x)
			d := day{day: "2026-11-03", got: one(tt.first)}
			if tt.second != nil {
				d.again = one(*tt.second)
			}
			s.must(d)
			o, want := s.row(x), tt.want
			if o.ErrorClass != record.Success || o.Since != "2026-11-01" {
				t.Errorf("class %s since %s, want answered since 2026-11-01", o.ErrorClass.Label(), o.Since)
			}
			if o.Head.Identity != identityOf(t, s, want.head) || o.Head.Confirmed != want.confirmed || o.Head.Unstable != want.unstable || o.Head.LastObserved != want.last {
				t.Errorf("head = %+v, want that of %s, %+v", o.Head, want.head.Pages, want)
			}
			if !slices.Equal(o.Flags, want.flags) {
				t.Errorf("flags = %v, want %v", o.Flags, want.flags)
			}
			if want.other && !cmp.Equal(o.Server, before.Server) {
				t.Errorf("server = %+v, want that of before", o.Server)
			}
			e := s.event("2026-11-03", want.kind)
			if e.Reread != want.reread || !cmp.Equal(e.Comparable, want.cmp) || !slices.Equal(e.Differs, want.differs) {
				t.Errorf("event = %+v, want %+v", e, want)
			}
			if e.Old != before.Head.Identity || !slices.Equal(e.OldArtifacts, before.Head.Artifacts) || e.New != identityOf(t, s, tt.first) || !slices.Equal(e.NewArtifacts, sums(tt.first)) {
				t.Errorf("event = %+v, want from the head to the first reading", e)
			}
			if want.other {
				if e.Other != identityOf(t, s, *tt.second) || !slices.Equal(e.OtherArtifacts, sums(*tt.second)) {
					t.Errorf("event = %+v, want the second reading as other", e)
				}
			} else if e.Other != "" || e.OtherArtifacts != nil {
				t.Errorf("event = %+v, want no other", e)
			}
			if want.kind != record.Unstable && (e.OldFirst != "2026-11-01" || e.LastSame != "2026-11-02" || e.FirstDifferent != "2026-11-03") {
				t.Errorf("event = %+v, want its days", e)
			}
			if got := s.rejected(); !slices.Equal(got, want.bodies) {
				t.Errorf("bodies = %v, want %v", got, want.bodies)
			}
		})
	}
}

// event returns the one event of x of that kind, and fails on others of a
// contract.
func (s *sim) event(run string, kind record.Kind) record.Event {
	s.t.Helper()
	var found []record.Event
	for _, e := range s.events(run, x) {
		if e.Kind != record.ServerChanged && e.Kind != record.ClassChanged {
			found = append(found, e)
		}
	}
	if len(found) != 1 || found[0].Kind != kind || found[0].Methodology != s.method {
		s.t.Fatalf("events of %s = %+v, want one %s", run, found, kind)
	}
	return found[0]
}

func sums(r record.Result) []canon.Digest {
	var out []canon.Digest
	for _, p := range r.Pages {
		out = append(out, canon.Sum(p))
	}
	return out
}

// rejected returns the parts of x's rejected readings, sorted.
func (s *sim) rejected() []string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.fs)) {
		if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(archive.BodyPath(s.method, x, "other"), "other.json")); ok && strings.HasPrefix(rest, "other") {
			parts = append(parts, strings.TrimSuffix(rest, ".json"))
		}
	}
	slices.Sort(parts)
	return parts
}

// A head that no second reading confirmed is confirmed by the next good reading
// of it, however many unstable days and failures lie between, and not by them.
func TestUnstableDaysConfirmNothing(t *testing.T) {
	s := newSecondSim(t)
	s.must(day{day: "2026-11-03", got: one(contractB), again: one(fails(record.Timeout))})
	s.must(day{day: "2026-11-04", got: one(contractC), again: one(contractB)})
	if h := s.row(x).Head; h.Confirmed || h.Unstable != "2026-11-04" || h.LastObserved != "" {
		t.Errorf("after the head was found again: %+v", h)
	}
	s.must(day{day: "2026-11-05", got: one(contractC), again: one(contractA)})
	if h := s.row(x).Head; h.Confirmed || h.Unstable != "2026-11-05" || h.LastObserved != "2026-11-04" {
		t.Errorf("after two others: %+v", h)
	}
	s.must(day{day: "2026-11-06", got: one(contractA), again: one(contractC)})
	if h := s.row(x).Head; h.Unstable != "2026-11-06" || h.LastObserved != "2026-11-04" {
		t.Errorf("after two others again: %+v", h)
	}
	s.must(day{day: "2026-11-07", got: one(fails(record.Timeout))})
	if h := s.row(x).Head; h.Confirmed || h.LastObserved != "2026-11-04" {
		t.Errorf("after a failure: %+v", h)
	}
	s.must(day{day: "2026-11-08", got: one(contractB)})
	h := s.row(x).Head
	if !h.Confirmed || h.LastObserved != "" || h.Unstable != "2026-11-06" {
		t.Errorf("after a good reading: %+v", h)
	}
	if e := s.event("2026-11-08", record.Confirmed); e.Confirms != "2026-11-03" || e.New != h.Identity {
		t.Errorf("event = %+v, want that of 11-03 confirmed", e)
	}
	s.must(day{day: "2026-11-09", got: one(contractA), again: one(contractA)})
	if h := s.row(x).Head; h.Unstable != "" || !h.Confirmed {
		t.Errorf("a new head begins with %+v", h)
	}
	if e := s.event("2026-11-09", record.Drift); e.ReturnOf != "2026-11-01" || e.LastSame != "2026-11-08" {
		t.Errorf("event = %+v, want a return of 11-01", e)
	}
}

// After an outage the first good reading is compared with the last good one, and
// read again where it differs.
func TestSecondReadingAfterAnOutage(t *testing.T) {
	s := newSecondSim(t)
	s.must(day{day: "2026-11-03", got: one(fails(record.HTTP5xx))})
	s.must(day{day: "2026-11-09", got: one(contractB), again: one(contractC)})
	o := s.row(x)
	if o.ErrorClass != record.Success || o.Since != "2026-11-09" || o.Head.LastObserved != "2026-11-02" || o.Head.Unstable != "2026-11-09" {
		t.Errorf("row = %+v %+v, want answered, the head last read on 11-02", o, o.Head)
	}
	s.must(day{day: "2026-11-10", got: one(contractB), again: one(contractB)})
	if e := s.event("2026-11-10", record.Drift); e.LastSame != "2026-11-02" || e.FirstDifferent != "2026-11-10" {
		t.Errorf("event = %+v, want last same on 11-02", e)
	}
}

// Bodies of rejected readings stay until the next one, whose surplus goes.
func TestRejectedBodies(t *testing.T) {
	pages := func(r record.Result) record.Result {
		r.Pages = append(slices.Clone(r.Pages), contractC.Pages...)
		c := *r.Capture
		c.Pages.Read = 2
		r.Capture = &c
		return r
	}
	s := newSecondSim(t)
	s.must(day{day: "2026-11-03", got: one(pages(contractB)), again: one(pages(contractC))})
	if got, want := s.rejected(), []string{"other", "other-b", "other-b.2", "other.2"}; !slices.Equal(got, want) {
		t.Errorf("bodies = %v, want %v", got, want)
	}
	index, err := s.tree().Index("2026-11-03")
	if err != nil || len(index) != 4 || index[3].SHA256 != canon.Sum(contractB.Pages[0]) {
		t.Errorf("index = %+v, %v, want the four bodies", index, err)
	}
	s.must(day{day: "2026-11-04", got: one(contractA)})
	if got := s.rejected(); len(got) != 4 {
		t.Errorf("bodies after a good day = %v, want those of before", got)
	}
	s.must(day{day: "2026-11-05", got: one(contractC), again: one(contractA)})
	if got, want := s.rejected(), []string{"other"}; !slices.Equal(got, want) {
		t.Errorf("bodies = %v, want %v", got, want)
	}
	if b := s.fs[archive.BodyPath("v2", x, "other")].Data; string(b) != string(contractC.Pages[0]) {
		t.Errorf("other = %s, want the newest rejected reading", b)
	}
}

// split returns a reading whose tools came on so many pages, one a page and the
// rest on the last.
func split(r record.Result, pages ...[]byte) record.Result {
	c := *r.Capture
	c.Pages.Read = len(pages)
	r.Capture, r.Pages = &c, pages
	return r
}

// A list that is the same on another number of pages is no change, and the bodies,
// the capture and the count of pages stay those of one reading.
func TestTheSameOnOtherPages(t *testing.T) {
	a, c := tool("a", "C"), tool("c", "C")
	two := split(contractC, tools(a).Pages[0], tools(c).Pages[0])
	for _, tt := range []struct {
		name          string
		first, second record.Result
		unstable      record.Day
	}{
		{"first reading", two, two, ""},
		{"second reading", contractB, two, "2026-11-02"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSim(t, x)
			s.method = "v2"
			s.must(day{day: "2026-11-01", got: one(contractC)})
			s.must(day{day: "2026-11-02", got: one(tt.first), again: one(tt.second)})
			h := s.row(x).Head
			if h.Identity != identityOf(t, s, contractC) || h.FirstObserved != "2026-11-01" || h.Unstable != tt.unstable || !slices.Equal(h.Artifacts, sums(two)) || h.Capture.Pages.Read != 2 {
				t.Errorf("head = %+v, want that of before on two pages", h)
			}
			if bodies, err := s.tree().HeadBodies("v2", s.row(x)); err != nil || len(bodies) != 2 {
				t.Errorf("HeadBodies = %d bodies, %v, want two", len(bodies), err)
			}
			s.must(day{day: "2026-11-03", got: one(contractC)})
			if h := s.row(x).Head; !slices.Equal(h.Artifacts, sums(contractC)) || h.Capture.Pages.Read != 1 {
				t.Errorf("head = %+v, want it on one page again", h)
			}
			if _, left := s.fs[archive.BodyPath("v2", x, "2")]; left {
				t.Error("the second page is still there")
			}
		})
	}
}

// A second reading whose bytes do not bear it out counts as failed, and one that
// was not due as none.
func TestSecondReadingIsChecked(t *testing.T) {
	s := newSecondSim(t)
	s.must(day{day: "2026-11-03", got: one(contractB), again: one(contractB), lie: func(r *record.Result) { r.Second.Tools++ }})
	if e := s.event("2026-11-03", record.Drift); e.Reread != record.RereadFailed || s.row(x).Head.Confirmed {
		t.Errorf("event = %+v, want a failed second reading", e)
	}
	if !strings.Contains(strings.Join(s.said, "\n"), "second reading is not believed") {
		t.Errorf("said %q, want why", s.said)
	}
	s.must(day{day: "2026-11-04", got: one(contractB), again: one(contractC)})
	if h := s.row(x).Head; !h.Confirmed || h.Unstable != "" {
		t.Errorf("head = %+v, want confirmed: the first reading was the head", h)
	}
	s.must(day{day: "2026-11-05", got: one(contractA), again: one(contractA), lie: func(r *record.Result) { r.Second.Method = "v1" }})
	if e := s.event("2026-11-05", record.Drift); e.Reread != record.RereadFailed {
		t.Errorf("event = %+v, want a failed second reading", e)
	}
}

// Methodology v1 has no second reading, whatever a shard says.
func TestV1HasNoSecondReading(t *testing.T) {
	s := newSim(t, x)
	s.must(day{day: "2026-11-01", got: one(contractA)})
	s.must(day{day: "2026-11-02", got: one(contractB), again: one(contractA)})
	if e := s.event("2026-11-02", record.Drift); e.Reread != record.RereadNone || s.row(x).Head.Confirmed || len(s.rejected()) > 0 {
		t.Errorf("event = %+v, row %+v, want a v1 drift", e, s.row(x).Head)
	}
	s.must(day{day: "2026-11-03", got: one(under(contractA, "2025-06-18"))})
	if e := s.event("2026-11-03", record.Drift); *e.Comparable || s.row(x).Head.Confirmed {
		t.Errorf("event = %+v, want a drift that is not comparable", e)
	}
}

// Both sides of a list that was never read to its end are incomparable, so its
// changes are capture differences for ever.
func TestIncompleteListsNeverDrift(t *testing.T) {
	s := newSim(t, x)
	s.method = "v2"
	s.must(day{day: "2026-11-01", got: one(partly(contractA))})
	for i, r := range []record.Result{partly(contractB), partly(contractC), contractA} {
		d := record.Day("2026-11-0" + string(rune('2'+i)))
		s.must(day{day: d, got: one(r), again: one(r)})
		if e := s.event(string(d), record.CaptureDifference); *e.Comparable || !slices.Equal(e.Differs, []string{"pages.complete"}) || !s.row(x).Head.Confirmed {
			t.Errorf("event = %+v, want a confirmed capture difference", e)
		}
	}
}

// Two methodologies in one run are two lines. One may join an archive later: its
// first run is its baseline, and the other goes on as before.
func TestTwoLines(t *testing.T) {
	s := newSim(t, x)
	s.must(day{day: "2026-11-01", got: one(contractA)})
	s.both = true
	s.must(day{day: "2026-11-02", got: one(contractB)})
	if e := s.event("2026-11-02", record.Drift); e.Old != identityOf(t, s, contractA) {
		t.Errorf("event = %+v, want the drift of v1 alone", e)
	}
	sum := s.must(day{day: "2026-11-03", got: one(contractC), again: one(contractB)})
	if sum.Drifted["v1"] != 1 || sum.Drifted["v2"] != 0 {
		t.Errorf("drifted = %v, want one under v1", sum.Drifted)
	}
	var got []string
	for _, e := range s.events("2026-11-03", x) {
		got = append(got, string(e.Kind)+" "+e.Methodology)
	}
	if want := []string{"drift v1", "unstable v2"}; !slices.Equal(got, want) {
		t.Errorf("events = %v, want %v", got, want)
	}
	want := "observe 2026-11-03: 1 answered, 1 changed, coverage 100.0 %\n\nv2: 1 answered, 0 changed\n\nRun: 2026-11-03\n"
	if !strings.HasPrefix(sum.Message, want) || !strings.Contains(sum.Message, "\nMethodology: v1, v2\n") {
		t.Errorf("message = %q, want it to begin %q", sum.Message, want)
	}
	if h := s.row(x).Head; h.Identity != identityOf(t, s, contractC) || h.Ordered == "" {
		t.Errorf("the head under v1 = %+v, want the newest reading", h)
	}
	s.method = "v2"
	if h := s.row(x).Head; h.FirstObserved != "2026-11-02" || h.Unstable != "2026-11-03" || h.Ordered != "" || !h.Confirmed {
		t.Errorf("the head under v2 = %+v, want its baseline, unstable", h)
	}
	s.checkFold()
}

// Case a-053 under v2: two releases behind one address, from reading to reading.
// Of A B A B it makes no four lives, but one, and unstable days.
func TestCaseA053V2(t *testing.T) {
	s := newSecondSim(t)
	for _, d := range []record.Day{"2026-11-03", "2026-11-04"} {
		s.must(day{day: d, got: one(contractB), again: one(contractA)})
		if e := s.event(string(d), record.Unstable); e.Reread != record.RereadDifferent || e.Old != identityOf(t, s, contractA) {
			t.Errorf("event of %s = %+v, want unstable beside the head", d, e)
		}
	}
	h := s.row(x).Head
	if h.Identity != identityOf(t, s, contractA) || h.FirstObserved != "2026-11-01" || h.Unstable != "2026-11-04" {
		t.Errorf("head = %+v, want the first contract, unstable", h)
	}
}

// Case a-043 under v2: a list that drops to nothing counts only when a second
// reading says so too; both transitions are visible, and the first is flagged.
func TestCaseA043V2(t *testing.T) {
	s := newSecondSim(t)
	s.must(day{day: "2026-11-03", got: one(nothing), again: one(contractA)})
	if o := s.row(x); o.Head.Tools == 0 || slices.Contains(o.Flags, record.FlagAllToolsGone) {
		t.Errorf("row = %+v after one empty list of two, want the head to stay", o)
	}
	s.must(day{day: "2026-11-04", got: one(nothing), again: one(nothing)})
	if o := s.row(x); o.Head.Tools != 0 || !o.Head.Confirmed || !slices.Contains(o.Flags, record.FlagAllToolsGone) {
		t.Errorf("row = %+v after two empty lists, want them confirmed and flagged", o)
	}
	s.must(day{day: "2026-11-05", got: one(contractA), again: one(contractA)})
	if e := s.event("2026-11-05", record.Drift); e.ReturnOf != "2026-11-01" || slices.Contains(s.row(x).Flags, record.FlagAllToolsGone) {
		t.Errorf("event = %+v, want a return of 11-01", e)
	}
}
