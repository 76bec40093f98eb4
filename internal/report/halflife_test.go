package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/survival"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// lives makes lives of lines such as "A 1-4", "B 6-9 numbers" and "C 10-10
// incomparable": the days of November on which a contract was first and last
// read.
func lives(lines ...string) []timeline.Life {
	var out []timeline.Life
	for _, line := range lines {
		var name, more string
		var first, read int
		if n, _ := fmt.Sscanf(line, "%s %d-%d %s", &name, &first, &read, &more); n < 3 {
			panic(line)
		}
		l := timeline.Life{Identity: canon.Digest(name), First: Date(day(first - 1)), Read: Date(day(read - 1)), Comparable: more != "incomparable"}
		if n := len(out); n > 0 {
			out[n-1].Ended, l.LastSame, l.Began = l.First, out[n-1].Read, record.Drift
			l.Classes = []string{"substantive"}
			if more == "numbers" {
				l.Classes = []string{"numbers_only"}
			}
			if more == "capture" {
				l.Began, l.Comparable = record.CaptureDifference, false
			}
		}
		out = append(out, l)
	}
	return out
}

func targetOf(state string, lines ...string) *timeline.Target {
	t := &timeline.Target{Name: "s", Listed: Date(day(0)), Lives: lives(lines...), Spans: []timeline.Span{{Days: 30, First: Date(day(0)), State: state}}}
	if state == timeline.Retired {
		t.Retired = Date(day(29))
	}
	return t
}

func TestSpells(t *testing.T) {
	tests := []struct {
		name    string
		decide  judge
		place   placing
		state   string
		lives   []string
		want    string // times, + for an event, else why it was censored; ! where the beginning was seen
		listed  int    // day of November; 0 is the first
		lacked  int    // day of the complete roster before; 0: none
		newcome bool
	}{
		{name: "one contract, in force", lives: []string{"A 1-30"}, want: "29 window"},
		{name: "seen once", lives: []string{"A 30-30"}, want: "0 window"},
		{name: "a change", lives: []string{"A 1-3", "B 4-30"}, want: "3+ 26!window"},
		{name: "censored when last read", lives: []string{"A 1-12"}, state: "tls", want: "11 unreachable"},
		{name: "lost to a login", lives: []string{"A 1-12"}, state: "auth", want: "11 auth"},
		{name: "lost its endpoint", lives: []string{"A 1-12"}, state: "no_endpoint", want: "11 no_endpoint"},
		{name: "retired", lives: []string{"A 1-12"}, state: "retired", want: "11 retired"},
		{name: "a gap before the change", lives: []string{"A 1-3", "B 20-30"}, want: "19+ 10!window"},
		{name: "as early as the gap allows", lives: []string{"A 1-3", "B 20-30"}, place: left, want: "3+ 10!window"},
		{name: "the middle of it", lives: []string{"A 1-3", "B 20-30"}, place: middle, want: "11+ 10!window"},
		{name: "twice on one day", lives: []string{"A 1-1", "B 1-30"}, want: "1+ 29!window"},
		{name: "twice on one day, early", lives: []string{"A 1-1", "B 1-30"}, place: left, want: "1+ 29!window"},
		{name: "v1 counts what capture may explain, and knows no beginning", lives: []string{"A 1-3", "B 4-30 incomparable"}, want: "3+ 26 window"},
		{name: "the line without it", decide: comparableOnly, lives: []string{"A 1-3", "B 5-9 incomparable", "C 10-30"}, want: "2 capture 5+ 20!window"},
		{name: "a capture difference is no event", lives: []string{"A 1-3", "B 5-30 capture"}, want: "2 capture 25 window"},
		{name: "numbers count in the headline", lives: []string{"A 1-3", "B 4-9 numbers", "C 10-30"}, want: "3+ 6!+ 20!window"},
		{name: "numbers end no life in the line without them", decide: substantiveOnly, lives: []string{"A 1-3", "B 4-9 numbers", "C 10-30"}, want: "9+ 20!window"},
		{name: "numbers last, then the end", decide: substantiveOnly, lives: []string{"A 1-3", "B 4-28 numbers"}, want: "27 window"},
		{name: "numbers before a gap", decide: substantiveOnly, place: left, lives: []string{"A 1-3", "B 4-9 numbers", "C 20-30"}, want: "9+ 10!window"},
		{name: "never answered", want: ""},
		{name: "a newcomer", listed: 5, lacked: 5, lives: []string{"A 6-8", "B 9-30"}, want: "3+ 21!window", newcome: true},
		{name: "a newcomer read two days later", listed: 5, lacked: 4, lives: []string{"A 8-30"}, want: "22 window", newcome: true},
		{name: "a newcomer that answers late", listed: 5, lacked: 5, lives: []string{"A 9-30"}, want: "21 window"},
		{name: "a newcomer after a gap", listed: 5, lacked: 3, lives: []string{"A 6-30"}, want: "24 window"},
		{name: "new in the first complete roster", listed: 5, lives: []string{"A 6-30"}, want: "24 window"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.decide == nil {
				tt.decide = counted
			}
			if tt.place == nil {
				tt.place = right
			}
			if tt.state == "" {
				tt.state = "answered"
			}
			of := targetOf(tt.state, tt.lives...)
			of.Listed = Date(day(tt.listed))
			if tt.lacked > 0 {
				of.Lacked = Date(day(tt.lacked - 1))
			}
			var parts []string
			for i, s := range spells(of, 7, tt.decide) {
				part := fmt.Sprint(tt.place(&s))
				switch {
				case s.known && s.ended != "":
					part += "!+"
				case s.known:
					part += "!" + s.reason
				case s.ended != "":
					part += "+"
				default:
					part += " " + s.reason
				}
				if s.ended != "" && s.reason != "" || s.server != 7 || s.newcomer != (tt.newcome && i == 0) {
					t.Errorf("spell %d = %+v", i, s)
				}
				parts = append(parts, part)
			}
			if got := strings.Join(parts, " "); got != tt.want {
				t.Errorf("spells = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestUnstable(t *testing.T) {
	changing := func(n int) []string {
		out := []string{"A 1-1"}
		for i := range n {
			out = append(out, fmt.Sprintf("C%d %d-%d", i, i+2, i+2))
		}
		return out
	}
	spans := func(days ...int) []timeline.Span { // answered and failing, in turn
		var out []timeline.Span
		at := 0
		for i, n := range days {
			out = append(out, timeline.Span{Days: n, First: Date(day(at)), State: []string{"answered", "tls"}[i%2]})
			at += n
		}
		return out
	}
	tests := []struct {
		name    string
		changes int
		spans   []timeline.Span
		want    bool
	}{
		{"eight changes in the window", 8, spans(29), true},
		{"seven", 7, spans(29), false},
		{"eight, one of them before the window", 8, spans(30), false},
		{"eight of nine", 9, spans(30), true},
		{"all before the window", 8, spans(60), false},
		{"days without an answer don't move the window", 8, spans(12, 40, 3), true},
		{"never answered", 0, spans(0, 30), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			of := targetOf("answered", changing(tt.changes)...)
			of.Spans = tt.spans
			if got := unstable(of); got != tt.want {
				t.Errorf("unstable = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTicks(t *testing.T) {
	for last := range 5000 {
		got := ticks(last)
		if got[0] != 0 || got[len(got)-1] > last || len(got) > 9 || len(got) < 5 && last >= 4 {
			t.Fatalf("ticks(%d) = %v, want 5 to 9 from 0", last, got)
		}
		for i := 1; i < len(got); i++ {
			if got[i]-got[i-1] != got[1] {
				t.Fatalf("ticks(%d) = %v, want equal steps", last, got)
			}
		}
		if end := got[len(got)-1]; len(got) > 1 && end+got[1] <= last {
			t.Fatalf("ticks(%d) = %v, want one more", last, got)
		}
	}
	for _, tt := range []struct {
		last int
		want []int
	}{
		{0, []int{0}}, {3, []int{0, 1, 2, 3}}, {59, []int{0, 10, 20, 30, 40, 50}}, {89, []int{0, 10, 20, 30, 40, 50, 60, 70, 80}},
		{90, []int{0, 20, 40, 60, 80}}, {365, []int{0, 60, 120, 180, 240, 300, 360}},
	} {
		if got := ticks(tt.last); !slices.Equal(got, tt.want) {
			t.Errorf("ticks(%d) = %v, want %v", tt.last, got, tt.want)
		}
	}
}

func TestTopShare(t *testing.T) {
	many := make([]Count, 200)
	for i := range many {
		many[i] = 1
	}
	many[7], many[100], many[150] = 50, 30, 20
	for _, tt := range []struct {
		name string
		of   []Count
		want Share
	}{
		{"nobody", nil, Share{}},
		{"one server", []Count{4}, Share{4, 4}},
		{"two of 200", many, Share{80, 297}},
		{"two of 101", append([]Count{3, 2}, make([]Count, 99)...), Share{5, 5}},
	} {
		if got := topShare(slices.Clone(tt.of)); got != tt.want {
			t.Errorf("%s: topShare = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// What was not reached has no half-life; how long it is at least may be known.
// What fewer than 30 lasted is not stated.
func TestHalfLifeOfYoungArchive(t *testing.T) {
	servers := names(40)
	w := newTown(t, servers...)
	w.run(day(0), all(servers, "A"))
	first := w.build().HalfLife
	if first.Status != survival.NotReached || first.HalfLife != (Interval{}) || first.MoreThan != nil || first.AtLeast != nil || first.Events != 0 || first.Intervals != 40 || first.RMST30 != nil {
		t.Errorf("after one day the half-life is %+v, %s, more than %v", first.HalfLife, first.Status, first.MoreThan)
	}
	for i := 1; i <= 31; i++ {
		got := all(servers, "A")
		for j := range min(i, 6) {
			got[servers[j]] = "B"
		}
		w.run(day(i), got)
	}
	f := w.build().HalfLife // 46 intervals, 6 of them events: S(30) = 40/46
	if f.Status != survival.NotReached || f.HalfLife.Value != nil || f.Events != 6 || f.MoreThan == nil || *f.MoreThan != 31 {
		t.Errorf("the half-life is %+v, %s, more than %v, %d events; want not reached, 31 days, 6", f.HalfLife, f.Status, f.MoreThan, f.Events)
	}
	if f.S30.Value == nil || *f.S30.Value != 0.869565 || f.S90.Value != nil || f.RMST30 == nil || f.RMST90 != nil || f.Thin {
		t.Errorf("S(30) = %v, S(90) = %v, means %v and %v", f.S30.Value, f.S90.Value, f.RMST30, f.RMST90)
	}
	if n := len(f.AtRisk); f.AtRisk[n-1].Day != 30 || f.AtRisk[n-1].N != 35 {
		t.Errorf("at risk: %v, want 35 on day 30", f.AtRisk)
	}
	for _, s := range servers[:12] {
		w.unlist(s)
	}
	w.run(day(32), all(servers[12:], "A"))
	f = w.build().HalfLife
	if f.S30.Value == nil || f.Censored["retired"] != 12 || f.Censored["window"] != 28 || *f.Retirement[0].Changed != 0.130435 {
		t.Errorf("after twelve retired: S(30) = %v, censored %v, changed %v", f.S30.Value, f.Censored, *f.Retirement[0].Changed)
	}
}

func TestHalfLifeReached(t *testing.T) {
	servers := names(40)
	w := newTown(t, servers...)
	for i := range 11 {
		got := readings{}
		for j, s := range servers {
			got[s] = "A"
			if i > j%10 {
				got[s] = "B"
			}
		}
		w.run(day(i), got)
	}
	f := w.build().HalfLife
	if f.Status != survival.Reached || f.HalfLife.Value == nil || f.MoreThan != nil || f.Weighted.Value == nil || f.Clustered.Value == nil || f.Operators != 40 {
		t.Fatalf("the half-life is %+v, %s; %+v", f.HalfLife, f.Status, f)
	}
	if *f.HalfLife.Lower > *f.HalfLife.Value || *f.Clustered.Value != *f.HalfLife.Value || f.Estimate.HalfLife.Value == nil {
		t.Errorf("half-life %v from %v, clustered %v", *f.HalfLife.Value, *f.HalfLife.Lower, *f.Clustered.Value)
	}
	var ids []string
	for _, l := range f.Lines {
		ids = append(ids, l.ID)
	}
	want := []string{"observed_starts", "new_servers", "gap_bound", "without_unstable", "comparable_only", "substantive_only", "loss_as_end"}
	if !slices.Equal(ids, want) {
		t.Errorf("lines = %v, want %v", ids, want)
	}
}

// Where the bounds of the dates differ much, the middle is stated too.
func TestGapMiddle(t *testing.T) {
	servers := names(40)
	w := newTown(t, servers...)
	w.run(day(0), all(servers, "A"))
	w.run(day(10), all(servers, "B"))
	got := map[string]float64{}
	for _, l := range w.build().HalfLife.Lines {
		if l.HalfLife.Value != nil {
			got[l.ID] = float64(*l.HalfLife.Value)
		}
	}
	if got["gap_bound"] != 1 || got["gap_middle"] != 5.5 {
		t.Errorf("half-lives = %v, want gap_bound 1 and gap_middle 5.5", got)
	}
}

// Servers of one operator are one cluster, and a server that lost its endpoint
// stays with the operator it had.
func TestClusters(t *testing.T) {
	c := &collector{operators: map[string]string{}}
	got := c.clusters(&timeline.History{Targets: []*timeline.Target{
		{Name: "a", Endpoint: "https://one.example.com/a"},
		{Name: "b", Endpoint: "https://two.example.com/b"},
		{Name: "c"},
		{Name: "d", Endpoint: "https://example.com/", Row: record.Observation{ErrorClass: record.NoEndpoint}},
		{Name: "e"},
		{Name: "f", Endpoint: "https://f.vercel.app/"},
	}})
	if want := []int32{0, 0, 1, 0, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("clusters = %v, want %v", got, want)
	}
}

// The lines leave out whole servers that keep changing, and count a loss as an end.
func TestLines(t *testing.T) {
	servers := names(30)
	w := newTown(t, servers...)
	for i := range 12 {
		got := all(servers, "A").and(readings{servers[0]: fmt.Sprintf("v%c", 'a'+i)})
		if i > 7 {
			got[servers[1]] = "auth"
			w.unlist(servers[2])
			delete(got, servers[2])
		}
		w.run(day(i), got)
	}
	f := w.build().HalfLife
	if f.Events != 11 || f.Intervals != 41 || f.UnstableServers != (Share{1, 30}) || f.UnstableEvents != (Share{11, 11}) || f.UnstableIntervals != (Share{12, 41}) {
		t.Errorf("%d events of %d intervals, unstable %v, %v, %v", f.Events, f.Intervals, f.UnstableServers, f.UnstableEvents, f.UnstableIntervals)
	}
	type size struct{ events, intervals Count }
	for _, l := range f.Lines {
		if want, ok := map[string]size{"without_unstable": {0, 29}, "loss_as_end": {13, 41}, "observed_starts": {10, 11}, "new_servers": {}}[l.ID]; ok && (size{l.Events, l.Intervals}) != want {
			t.Errorf("%s has %d events of %d intervals, want %+v", l.ID, l.Events, l.Intervals, want)
		}
	}
}

// The incidences of a day are those of the last row at or before it.
func TestRetirementAtHorizons(t *testing.T) {
	of := func(times ...float64) *survival.Estimate {
		e := &survival.Estimate{AalenJohansen: &survival.Incidence{Time: times}, SurvAt: []survival.At{{NRisk: 30}, {NRisk: 29}}}
		for i := range times {
			e.AalenJohansen.CIFChange = append(e.AalenJohansen.CIFChange, float64(i+1)/10)
			e.AalenJohansen.CIFRetired = append(e.AalenJohansen.CIFRetired, 0)
			e.AalenJohansen.EventFree = append(e.AalenJohansen.EventFree, 1-float64(i+1)/10)
		}
		return e
	}
	for _, tt := range []struct {
		times []float64
		want  string
	}{
		{[]float64{10, 30, 40}, "20.0 %"}, {[]float64{10, 29, 31}, "20.0 %"}, {[]float64{30}, "10.0 %"}, {[]float64{31}, Dash}, {nil, Dash},
	} {
		got := retirement(of(tt.times...))
		text := Dash
		if got[0].Changed != nil {
			text = got[0].Changed.Text()
		}
		if text != tt.want || got[0].Day != 30 || got[1].Day != 90 || got[1].Changed != nil {
			t.Errorf("retirement with rows at %v = %s, %+v, want %s and none where 29 are at risk", tt.times, text, got[1], tt.want)
		}
	}
}
