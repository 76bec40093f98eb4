package sweep

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// fullPlan uses every member of the records.
func fullPlan() *Plan {
	return &Plan{
		Header: record.PlanHeader{
			Allow: true, Clock: "simulated", Day: "2026-11-30", Limit: 2, Listing: canon.Sum([]byte("listing")),
			Methodologies: []string{"v1"}, PaceMS: 1000,
			Planned: record.At(time.Date(2026, 11, 30, 3, 15, 0, 0, time.UTC)), ProberVersion: "v0.1.0",
			Roster: canon.Sum([]byte("roster")), Run: "2026-11-30.2", Seed: 1<<53 - 1, Targets: 3, TimeoutMS: 20000,
			Vantage: "github-actions",
		},
		Targets: []record.PlanTarget{
			{
				Endpoint: "https://a.example/mcp?a=1&b=<2>", Flags: []record.Flag{record.FlagLatestAmbiguous},
				Heads: map[string]record.PlanHead{"v1": {Identity: canon.Sum([]byte("head")), Tools: 12}},
				Name:  "com.example/a", Skip: []string{"v1"},
			},
			{Name: "com.example/b", Reason: record.DetailNoRemote},
			{Endpoint: "https://c.example/mcp", Missed: true, Name: "com.example/ü\u2028"},
		},
	}
}

func write(t *testing.T, p *Plan) ([]byte, canon.Digest) {
	t.Helper()
	var buf bytes.Buffer
	d, err := p.Write(&buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), d
}

func TestPlanRoundTrip(t *testing.T) {
	plan := fullPlan()
	plan.Header.Targets = 99 // not believed
	file, digest := write(t, plan)
	if want := canon.Sum(file); digest != want {
		t.Errorf("Write = %s, want the digest of the file %s", digest, want)
	}
	got, d, err := ReadPlan(iotest.OneByteReader(bytes.NewReader(file)))
	if err != nil {
		t.Fatal(err)
	}
	if d != digest {
		t.Errorf("ReadPlan = %s, want %s", d, digest)
	}
	if diff := cmp.Diff(fullPlan(), got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if want := (record.ShardHeader{Plan: d, Run: "2026-11-30.2", Shard: 2, Of: 3, Vantage: "github-actions"}); got.ShardHeader(d, 2, 3) != want {
		t.Errorf("ShardHeader = %+v, want %+v", got.ShardHeader(d, 2, 3), want)
	}
}

func TestReadPlanRefuses(t *testing.T) {
	file, _ := write(t, fullPlan())
	whole := string(file)
	line := strings.SplitAfter(whole, "\n")
	header := func(old, new string) string { return strings.Replace(whole, old, new, 1) }
	tests := []struct {
		name, file, want string
	}{
		{"an empty file", "", "reading plan: it is empty"},
		{"a cut header", line[0][:50], "reading plan: line 1: the last line does not end in a line feed"},
		{"a cut target", whole[:len(whole)-1], "reading plan: line 4: the last line does not end in a line feed"},
		{"a target too few", line[0] + line[1] + line[2], "reading plan: it has 2 targets, and its header counts 3"},
		{"a target too many", whole + line[3], "reading plan: line 5: more than the 3 targets that the header counts"},
		{"the same target twice", line[0] + line[1] + line[2] + line[2], "reading plan: line 4: com.example/b occurs twice"},
		{"a blank line", line[0] + "\n" + line[1] + line[2] + line[3], "reading plan: line 2: EOF"},
		{"no JSON", line[0] + line[1] + "x\n" + line[3], "reading plan: line 3: invalid character 'x' looking for beginning of value"},
		{"an unknown member", line[0] + line[1] + `{"name":"b","wish":1}` + "\n", `reading plan: line 3: json: unknown field "wish"`},
		{"two values", line[0] + line[1] + `{"name":"b"}{}` + "\n", "reading plan: line 3: more than one JSON value on a line"},
		{"a member twice", line[0] + `{"name":"a","name":"b","reason":"no_remote"}` + "\n", "reading plan: line 2: not in the form that is written: members sorted, each once, no white space"},
		{"a member in capitals", line[0] + `{"NAME":"a","reason":"no_remote"}` + "\n", "reading plan: line 2: not in the form that is written: members sorted, each once, no white space"},
		{"no name", line[0] + `{"name":"","reason":"no_remote"}` + "\n", "reading plan: line 2: a target without a name"},
		{"neither endpoint nor reason", line[0] + `{"name":"a"}` + "\n", "reading plan: line 2: a has neither an endpoint nor a reason"},
		{"unknown methodology", header(`"methodologies":["v1"]`, `"methodologies":["v9"]`), `reading plan: line 1: methodology "v9" is not one that this version reads with`},
		{"methodology twice", header(`["v1"]`, `["v1","v1"]`), "reading plan: line 1: methodology v1 occurs twice"},
		{"no methodology", header(`["v1"]`, `[]`), "reading plan: line 1: no methodology"},
		{"no day", header(`"day":"2026-11-30"`, `"day":"2026-11-31"`), `reading plan: line 1: "2026-11-31" is not a day of the form 2006-01-02`},
		{"no run", header(`"run":"2026-11-30.2"`, `"run":""`), "reading plan: line 1: no run id"},
		{"negative pace", header(`"pace_ms":1000`, `"pace_ms":-1`), "reading plan: line 1: a pace of -1 ms"},
		{"a pace beyond a day", header(`"pace_ms":1000`, `"pace_ms":86400001`), "reading plan: line 1: a pace of 86400001 ms"},
		{"negative timeout", header(`"timeout_ms":20000`, `"timeout_ms":-1`), "reading plan: line 1: a timeout of -1 ms"},
		{"seed beyond 2^53", header("9007199254740991", "9007199254740992"), "reading plan: line 1: the seed 9007199254740992 is not in [0, 2^53)"},
		{"a long line", line[0] + `{"name":"` + strings.Repeat("a", maxPlanLine), "reading plan: line 2: longer than 1048576 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := ReadPlan(strings.NewReader(tt.file))
			if err == nil || err.Error() != tt.want {
				t.Errorf("ReadPlan = %v, want %s", err, tt.want)
			}
		})
	}
}

func TestPlanErrorsOfTheFileSystem(t *testing.T) {
	full := errors.New("no space left on device")
	if _, err := fullPlan().Write(failingWriter{after: 400, err: full}.new()); !errors.Is(err, full) {
		t.Errorf("Write = %v, want %v", err, full)
	}
	broken := errors.New("input/output error")
	if _, _, err := ReadPlan(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("ReadPlan = %v, want %v", err, broken)
	}
}

// A failingWriter takes some bytes and then fails.
type failingWriter struct {
	after int
	err   error
}

func (w failingWriter) new() *failingWriter { return &w }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.after -= len(p); w.after < 0 {
		return 0, w.err
	}
	return len(p), nil
}
