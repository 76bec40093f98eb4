package record

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDayReadsOneFormOnly(t *testing.T) {
	for _, s := range []string{"2026-11-30", "0001-01-01"} {
		if d, err := ParseDay(s); err != nil || string(d) != s || DayOf(d.Time()) != d {
			t.Errorf("ParseDay(%q) = %q, %v", s, d, err)
		}
	}
	for _, s := range []string{"", "2026-1-2", "2026-02-30", "2026-11-30T00:00:00Z", " 2026-11-30", "26-11-30"} {
		if d, err := ParseDay(s); err == nil {
			t.Errorf("ParseDay(%q) = %q, want an error", s, d)
		}
	}
}

// A day is the UTC day, wherever the clock stands.
func TestDayIsUTC(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	if got := DayOf(time.Date(2026, 11, 3, 0, 10, 0, 0, berlin)); got != "2026-11-02" {
		t.Errorf("DayOf(00:10 at +01:00) = %s, want the day before", got)
	}
}

func TestTimeRoundTrip(t *testing.T) {
	in := At(time.Date(2026, 11, 30, 3, 15, 7, 999, time.FixedZone("", 7200)))
	b, err := json.Marshal(in)
	if err != nil || string(b) != `"2026-11-30T01:15:07Z"` {
		t.Fatalf("Marshal = %s, %v", b, err)
	}
	var out Time
	if err := json.Unmarshal(b, &out); err != nil || !out.Equal(in.Time) {
		t.Errorf("Unmarshal = %v, %v, want %v", out, err, in)
	}
	for _, s := range []string{`"2026-11-30T01:15:07+00:00"`, `"2026-11-30T01:15:07.5Z"`, `"2026-11-30"`, `1`, `null`} {
		if err := json.Unmarshal([]byte(s), &out); err == nil {
			t.Errorf("Unmarshal(%s) = nil, want an error", s)
		}
	}
}

func TestRunIDs(t *testing.T) {
	for _, s := range []string{"2026-11-30", "2026-11-30.2", "2026-11-30.10"} {
		d, n, err := ParseRunID(s)
		if err != nil || RunID(d, n) != s {
			t.Errorf("ParseRunID(%q) = %s, %d, %v", s, d, n, err)
		}
	}
	for _, s := range []string{"", "2026-11-30.1", "2026-11-30.", "2026-11-30.02", "2026-11-30.-2", "2026-11-30.x", "../../x"} {
		if _, _, err := ParseRunID(s); err == nil {
			t.Errorf("ParseRunID(%q) = nil, want an error", s)
		}
	}
	runs := []string{"zz", "2026-11-30.10", "2026-12-01", "2026-11-30", "2026-11-30.9"}
	slices.SortFunc(runs, CompareRuns)
	if want := []string{"2026-11-30", "2026-11-30.9", "2026-11-30.10", "2026-12-01", "zz"}; !slices.Equal(runs, want) {
		t.Errorf("sorted runs = %v, want %v", runs, want)
	}
}

func TestErrorClassIsClosed(t *testing.T) {
	b, err := json.Marshal(Success)
	if err != nil || string(b) != "null" {
		t.Errorf("Marshal(Success) = %s, %v, want null", b, err)
	}
	for _, d := range Classes {
		b, err := json.Marshal(d.Class)
		var back ErrorClass
		if err != nil || json.Unmarshal(b, &back) != nil || back != d.Class || !back.Known() {
			t.Errorf("%s does not survive JSON: %s, %v", d.Class, b, err)
		}
	}
	for _, s := range []string{`"dns"`, `""`, `"Timeout"`, `3`} {
		var c ErrorClass
		if err := json.Unmarshal([]byte(s), &c); err == nil {
			t.Errorf("Unmarshal(%s) = %q, want an error", s, c)
		}
	}
}

func TestReached(t *testing.T) {
	for _, class := range []ErrorClass{Timeout, TLS, NoEndpoint} {
		if class.Reached() {
			t.Errorf("%s counts as reached", class)
		}
	}
	for _, class := range []ErrorClass{Success, HTTP4xx, HTTP5xx, Auth, RateLimited, Parse} {
		if !class.Reached() {
			t.Errorf("%s does not count as reached", class.Label())
		}
	}
}

func TestDecodeIsStrict(t *testing.T) {
	for _, s := range []string{`{"day":"2026-11-30","extra":1}`, `{"day":"2026-11-30"}{}`, `{"day":}`, ``} {
		var r Run
		if err := Decode([]byte(s), &r); err == nil {
			t.Errorf("Decode(%s) = nil, want an error", s)
		}
	}
}

// Rule 3 of the capture conditions, member by member.
func TestCaptureDiffers(t *testing.T) {
	remote := Capture{Pages: Pages{Complete: true, Read: 1}, Protocol: Protocol{Negotiated: "2025-11-25", Requested: "2025-11-25", VersionHeader: true}, Transport: "streamable-http"}
	started := remote
	started.Launch = &Launch{Args: []string{"--stdio"}, EnvNames: []string{"KEY"}, EnvValues: "placeholder", Network: "none", ResolvedVersion: "1.2.3", Home: "/home/a"}
	tests := []struct {
		name   string
		of     Capture
		change func(c *Capture)
		want   []string
	}{
		{"equal", remote, func(*Capture) {}, nil},
		{"the time does not matter", remote, func(c *Capture) { c.ObservedAt = At(time.Unix(9, 0)) }, nil},
		{"nor what was asked for", remote, func(c *Capture) { c.Protocol.Requested = "2024-11-05" }, nil},
		{"nor how many pages there were", remote, func(c *Capture) { c.Pages.Read = 3 }, nil},
		{"an incomplete list", remote, func(c *Capture) { c.Pages.Complete = false }, []string{"pages.complete"}},
		{"another version", remote, func(c *Capture) { c.Protocol.Negotiated = "2024-11-05" }, []string{"protocol.negotiated"}},
		{"no header", remote, func(c *Capture) { c.Protocol.VersionHeader = false }, []string{"protocol.versionHeader"}},
		{"started here", remote, func(c *Capture) { c.Launch = &Launch{} }, []string{"launch"}},
		{"another package version", started, func(c *Capture) { c.Launch.ResolvedVersion = "1.2.4" }, []string{"launch.resolvedVersion"}},
		{"other arguments", started, func(c *Capture) { c.Launch.Args = nil }, []string{"launch.args"}},
		{"other variables", started, func(c *Capture) { c.Launch.EnvNames = nil }, []string{"launch.envNames"}},
		{"other values", started, func(c *Capture) { c.Launch.EnvValues = "real" }, []string{"launch.envValues"}},
		{"with the network", started, func(c *Capture) { c.Launch.Network = "full" }, []string{"launch.network"}},
		{"another home is flagged, not compared", started, func(c *Capture) { c.Launch.Home = "/root" }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			other := tt.of
			if other.Launch != nil {
				l := *other.Launch
				other.Launch = &l
			}
			tt.change(&other)
			if got := tt.of.Differs(other); !slices.Equal(got, tt.want) {
				t.Errorf("Differs = %v, want %v", got, tt.want)
			}
			if got := other.Differs(tt.of); !slices.Equal(got, tt.want) {
				t.Errorf("Differs the other way = %v, want %v", got, tt.want)
			}
		})
	}
	cut := remote
	cut.Pages.Complete = false
	if got := cut.Differs(cut); !slices.Equal(got, []string{"pages.complete"}) {
		t.Errorf("two incomplete lists differ in %v, want pages.complete: they are never compared", got)
	}
}

// Another reader may list the names of variables in any order.
func TestCaptureDiffersInNoOrderOfNames(t *testing.T) {
	with := func(names ...string) Capture {
		return Capture{Pages: Pages{Complete: true}, Launch: &Launch{EnvNames: names}}
	}
	if got := with("A", "B").Differs(with("B", "A")); len(got) > 0 {
		t.Errorf("Differs = %v, want nothing", got)
	}
	if got := with("A", "B").Differs(with("A")); !slices.Equal(got, []string{"launch.envNames"}) {
		t.Errorf("Differs = %v, want launch.envNames", got)
	}
}

// Case a-051: two readers that negotiated different versions do not read drift.
func TestCaseA051(t *testing.T) {
	b, err := os.ReadFile("testdata/cases/a-051.json")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Input struct{ Read1, Read2 struct{ Negotiated string } }
	}
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	read := func(negotiated string) Capture {
		return Capture{Pages: Pages{Complete: true, Read: 1}, Protocol: Protocol{Negotiated: negotiated}}
	}
	if got := read(c.Input.Read1.Negotiated).Differs(read(c.Input.Read2.Negotiated)); !slices.Equal(got, []string{"protocol.negotiated"}) {
		t.Errorf("Differs = %v, want protocol.negotiated", got)
	}
}

func TestRowName(t *testing.T) {
	tests := []struct{ row, want string }{
		{`{"server":{"name":"com.example/x"},"_meta":{}}`, "com.example/x"},
		{`{"server":{"name":"com.example/x","NAME":"y"}}`, "com.example/x"},
		{`{"server":{"name":"x","name":"y"}}`, ""},
		{`{"server":{"name":"com.example/x","version":"1","version":"2"},"x":1,"x":2}`, "com.example/x"},
		{`{"server":{"name":"x"},"server":{"name":"y"}}`, ""},
		{`{"server":{"name":"\ud800"}}`, ""},
		{`{"name":"com.example/x"}`, ""},
		{`{"server":{"name":"com.example/x"},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"deleted"}}}`, ""},
		{`{"server":{"name":"com.example/x"},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"deprecated"}}}`, "com.example/x"},
		{`{"server":{"name":3}}`, ""},
		{`{"server":{"name":"a\nb"}}`, ""},
		{`{"server":{"name":"` + strings.Repeat("n", MaxName+1) + `"}}`, ""},
		{`{"server":[]}`, ""},
		{`null`, ""},
		{`{`, ""},
	}
	for _, tt := range tests {
		if got, err := RowName([]byte(tt.row)); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("RowName(%.40s) = %q, %v, want %q", tt.row, got, err, tt.want)
		}
	}
}

func TestBasisPointsRoundDown(t *testing.T) {
	tests := []struct{ reached, active, want int }{{0, 0, 10000}, {22310, 22320, 9995}, {1, 3, 3333}, {22319, 22320, 9999}, {0, 9, 0}}
	for _, tt := range tests {
		if got := BasisPoints(tt.reached, tt.active); got != tt.want {
			t.Errorf("BasisPoints(%d, %d) = %d, want %d", tt.reached, tt.active, got, tt.want)
		}
	}
}
