package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

var shardHeader = record.ShardHeader{Plan: canon.Sum([]byte("plan")), Run: "2026-11-30", Shard: 1, Of: 2, Vantage: "test"}

func someResults() []record.Result {
	at := record.At(time.Date(2026, 11, 30, 3, 20, 0, 0, time.UTC))
	return []record.Result{
		{
			Capture: &record.Capture{
				ClientCapabilities: []string{}, ObservedAt: at, Pages: record.Pages{Complete: true, Read: 1},
				Protocol: record.Protocol{Negotiated: "2024-11-05", Requested: "2024-11-05"}, Transport: "streamable-http",
			},
			Flags: []record.Flag{record.FlagBOM}, Identity: canon.Sum([]byte("i")), Init: []byte("{\x00\xff}"), InitMS: 12, ListMS: 34,
			Method: "v1", Name: "com.example/a", Observed: at, Ordered: canon.Sum([]byte("o")),
			Pages: [][]byte{bytes.Repeat([]byte("tools "), 9000)}, Requests: 3,
			Server: &record.Server{Capabilities: []string{"tools"}, Name: "a", Version: "1"}, Tools: 2,
		},
		{
			Class: record.HTTP4xx, Detail: record.DetailPaymentRequired, HTTPStatus: 402, InitMS: 5, ListMS: -1,
			Method: "v1", Name: "com.example/b", Observed: at, Requests: 1, Step: record.StepInitialize,
		},
		{
			Class: record.Timeout, InitMS: 20000, ListMS: -1,
			Method: "v1", Name: "com.example/c", Observed: at, Requests: 1, Step: record.StepInitialize,
		},
	}
}

func shardFile(t *testing.T, results []record.Result) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := WriteShard(&buf, shardHeader)
	for _, r := range results {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestShardRoundTrip(t *testing.T) {
	for _, want := range [][]record.Result{nil, someResults()} {
		var got []record.Result
		header, complete, err := ReadShard(bytes.NewReader(shardFile(t, want)), collect(&got))
		if err != nil || !complete || header != shardHeader {
			t.Errorf("ReadShard = %+v, %v, %v, want %+v, true", header, complete, err, shardHeader)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	}
}

// A file that begins in the middle of another is read from there.
func TestReadShardFromWhereItStands(t *testing.T) {
	r := bytes.NewReader(append([]byte("something before\n"), shardFile(t, someResults())...))
	if _, err := r.Seek(int64(len("something before\n")), 0); err != nil {
		t.Fatal(err)
	}
	var got []record.Result
	if _, complete, err := ReadShard(r, collect(&got)); !complete || err != nil || len(got) != 3 {
		t.Errorf("ReadShard = %d results, %v, %v, want 3", len(got), complete, err)
	}
}

// However a shard file is cut, nothing of it is yielded and it is no error.
func TestCutShards(t *testing.T) {
	small := someResults()
	small[0].Pages = [][]byte{[]byte("tools")}
	file := shardFile(t, small)
	for n := range len(file) {
		_, complete, err := ReadShard(bytes.NewReader(file[:n]), func(r record.Result) error {
			return fmt.Errorf("yielded %s", r.Name)
		})
		if complete || err != nil {
			t.Fatalf("ReadShard of the first %d of %d bytes = %v, %v, want incomplete", n, len(file), complete, err)
		}
	}
}

// Whichever byte is flipped, nothing is yielded: the file is incomplete, or a
// line is named that became malformed.
func TestFlippedBytes(t *testing.T) {
	small := someResults()
	small[0].Pages = [][]byte{[]byte("tools")}
	file := shardFile(t, small)
	for i := range file {
		bit := []byte{0x01, 0x20, 0x80}[i%3]
		bad := bytes.Clone(file)
		bad[i] ^= bit
		_, complete, err := ReadShard(bytes.NewReader(bad), func(r record.Result) error {
			return fmt.Errorf("yielded %s", r.Name)
		})
		if complete {
			t.Fatalf("ReadShard with byte %d flipped by %#x = complete", i, bit)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "reading shard: line ") {
			t.Fatalf("ReadShard with byte %d flipped by %#x = %v, want a line named", i, bit, err)
		}
	}
}

func TestReadShardRefuses(t *testing.T) {
	file := string(shardFile(t, someResults()))
	line := strings.SplitAfter(file, "\n")
	// sealed closes lines with a footer that is right, as a buggy writer would.
	sealed := func(count int, lines ...string) string {
		s := strings.Join(lines, "")
		return s + string(record.Line(record.ShardFooter{Results: count, SHA256: canon.Sum([]byte(s))}))
	}
	tests := []struct {
		name, file, want string
	}{
		{"malformed in the middle of a cut file", line[0] + line[1] + "{\n" + line[3], "reading shard: line 3: unexpected EOF"},
		{"malformed in a sealed file", sealed(3, line[0], line[1], "{}}\n", line[3]), "reading shard: line 3: more than one JSON value on a line"},
		{"an unknown class", sealed(1, line[0], strings.Replace(line[3], `"timeout"`, `"tired"`, 1)), `reading shard: line 2: "tired" is not an error class`},
		{"a result twice", sealed(2, line[0], line[2], line[2]), "reading shard: line 3: a second result of com.example/b under v1"},
		{"a result of nobody", sealed(1, line[0], strings.Replace(line[3], "com.example/c", "", 1)), "reading shard: line 2: a result without a name or a methodology"},
		{"more after the footer", file + line[3], `reading shard: line 5: json: unknown field "results"`},
		{"two shards in one file", file + file, `reading shard: line 5: json: unknown field "results"`},
		{"no header", sealed(1, line[1], line[2]), `reading shard: line 1: json: unknown field "capture"`},
		{"shard beyond", sealed(0, strings.Replace(line[0], `"shard":1`, `"shard":3`, 1)), "reading shard: line 1: there is no shard 3 of 2"},
		{"no plan", sealed(0, strings.Replace(line[0], `"sha256:`, `"`, 1)), "reading shard: line 1: " + `"` + shardHeader.Plan.Hex() + `" is not a digest of the form sha256:<64 hex digits>`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, complete, err := ReadShard(strings.NewReader(tt.file), func(record.Result) error { return nil })
			if complete || err == nil || err.Error() != tt.want {
				t.Errorf("ReadShard = %v, %v, want %s", complete, err, tt.want)
			}
		})
	}
}

// A line beyond the limit is refused before it is held.
func TestLongLines(t *testing.T) {
	l := newLines(strings.NewReader("abc\n"+strings.Repeat("x", 1<<20)), 8)
	if line, err := l.next(); err != nil || string(line) != "abc\n" {
		t.Errorf("next = %q, %v, want the first line", line, err)
	}
	if _, err := l.next(); err == nil || err.Error() != "line 2: longer than 8 bytes" {
		t.Errorf("next = %v, want line 2: longer than 8 bytes", err)
	}
	if cap(l.buf) > 1024 {
		t.Errorf("%d bytes were held for a line of at most 8", cap(l.buf))
	}
}

func TestYieldErrorsComeBackAsTheyAre(t *testing.T) {
	stop := errors.New("stop")
	n := 0
	_, complete, err := ReadShard(bytes.NewReader(shardFile(t, someResults())), func(record.Result) error { n++; return stop })
	if err != stop || complete || n != 1 {
		t.Errorf("ReadShard = %v, %v after %d results, want stop after 1", complete, err, n)
	}
}

func TestShardWriterErrorsStick(t *testing.T) {
	full := errors.New("no space left on device")
	for _, after := range []int{0, 250} {
		w := WriteShard(&failingWriter{after: after, err: full}, shardHeader)
		first := w.Write(someResults()[1])
		if after == 0 && !errors.Is(first, full) {
			t.Errorf("Write after a failed header = %v, want %v", first, full)
		}
		if err := w.Write(someResults()[0]); !errors.Is(err, full) {
			t.Errorf("Write = %v, want %v", err, full)
		}
		if err := w.Close(); !errors.Is(err, full) {
			t.Errorf("Close = %v, want %v", err, full)
		}
	}
	w := WriteShard(&bytes.Buffer{}, shardHeader)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Write(someResults()[1]) == nil || w.Close() == nil {
		t.Error("a closed shard was written to")
	}
}

// Shards are made by one version and merged by another, so the rule is pinned:
// the first 8 bytes of the SHA-256, big-endian, modulo.
func TestShardOf(t *testing.T) {
	tests := []struct {
		host string
		of   int
		want int
	}{
		{"a.example:443", 0, 1},
		{"a.example:443", 1, 1},
		{"a.example:443", 4, 4},
		{"b.example:443", 4, 3},
		{"127.0.0.1:8080", 16, 7},
		{"[::1]:80", 16, 12},
		{"", 7, 2},
	}
	for _, tt := range tests {
		if got := ShardOf(tt.host, tt.of); got != tt.want {
			t.Errorf("ShardOf(%q, %d) = %d, want %d", tt.host, tt.of, got, tt.want)
		}
	}
}

func TestMergeCheck(t *testing.T) {
	with := func(change func(h *record.ShardHeader)) record.ShardHeader {
		h := shardHeader
		h.Shard = 2
		change(&h)
		return h
	}
	second := with(func(*record.ShardHeader) {})
	tests := []struct {
		name    string
		headers []record.ShardHeader
		want    string
	}{
		{"none", nil, ""},
		{"one of two", []record.ShardHeader{second}, ""},
		{"both", []record.ShardHeader{second, shardHeader}, ""},
		{"another vantage", []record.ShardHeader{shardHeader, with(func(h *record.ShardHeader) { h.Vantage = "elsewhere" })}, ""},
		{"a shard twice", []record.ShardHeader{shardHeader, second, shardHeader}, "shard 1 of 2 occurs twice"},
		{"another run", []record.ShardHeader{shardHeader, with(func(h *record.ShardHeader) { h.Run = "2026-11-30.2" })}, "the shards are of different runs: 2026-11-30 and 2026-11-30.2"},
		{
			"another plan",
			[]record.ShardHeader{shardHeader, with(func(h *record.ShardHeader) { h.Plan = canon.Sum([]byte("other")) })},
			"the shards are of different plans: " + shardHeader.Plan.Short() + " and " + canon.Sum([]byte("other")).Short(),
		},
		{"another cut", []record.ShardHeader{shardHeader, with(func(h *record.ShardHeader) { h.Of = 3 })}, "the shards do not fit: one is of 2, another of 3"},
		{"no such shard", []record.ShardHeader{with(func(h *record.ShardHeader) { h.Shard = 3 })}, "there is no shard 3 of 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := MergeCheck(tt.headers); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("MergeCheck = %q, want %q", got, tt.want)
			}
		})
	}
}
