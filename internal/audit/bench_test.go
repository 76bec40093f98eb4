package audit_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/audit"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/ledger"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

var (
	benchTargets = flag.Int("targets", 500, "targets of the benchmark's tree; the registry has 23,231")
	benchDays    = flag.Int("days", 5, "days of the benchmark's tree")
)

// reading returns a good reading of one target: 12 KB, as the field has them.
func reading(b *testing.B, name string, day, version int) record.Result {
	var tools []string
	for i := range 10 {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{"a":{"type":"string","description":%q},"b":{"type":"number"}},"required":["a"]}}`,
			i, fmt.Sprintf("%s %d %s", name, version, strings.Repeat("does this and that. ", 25)), strings.Repeat("what it is ", 40)))
	}
	r := record.Result{
		Name: name, Method: "v1", Observed: record.At(time.Date(2026, 1, 1+day, 3, 15, 0, 0, time.UTC)),
		Pages: [][]byte{[]byte(`{"jsonrpc":"2.0","id":2,"result":{"tools":[` + strings.Join(tools, ",") + `]}}`)},
		Init:  []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), Server: &record.Server{Capabilities: []string{"tools"}, Name: name, Version: "1"},
		Capture: &record.Capture{ClientCapabilities: []string{}, Pages: record.Pages{Complete: true, Read: 1}, Protocol: record.Protocol{Negotiated: "2024-11-05", Requested: "2024-11-05"}, Transport: "streamable-http"},
	}
	r.Capture.ObservedAt = r.Observed
	c, err := contract.Read(r.Pages)
	if err != nil {
		b.Fatal(err)
	}
	r.Identity, _ = c.Identity("v1")
	r.Ordered, _ = c.Identity("v2")
	r.Tools = len(c.Tools)
	return r
}

// write records one day without network: 1.5 % of the targets drift.
func write(b *testing.B, data string, day, targets int) {
	at := time.Date(2026, 1, 1+day, 3, 15, 0, 0, time.UTC)
	in := ledger.Input{
		Tree: archive.Open(os.DirFS(data)), Log: func(string) {}, BlobID: gitrepo.BlobID,
		Plan: record.PlanHeader{Run: string(record.DayOf(at)), Day: record.DayOf(at), Methodologies: []string{"v1"}, Planned: record.At(at), TimeoutMS: 20000, ProberVersion: "0", Roster: record.RosterDigest(nil)},
	}
	in.Listing = record.ListingHeader{Complete: true, Started: record.At(at), Finished: record.At(at)}
	var names []string
	for i := range targets {
		n := fmt.Sprintf("com.example%d/server", i)
		names = append(names, n)
		in.Rows = append(in.Rows, record.ListingRow{Name: n, Bytes: fmt.Sprintf(`{"server":{"name":%q},"_meta":{"pad":%q}}`, n, strings.Repeat("x", 1500))})
		in.Targets = append(in.Targets, record.PlanTarget{Name: n, Endpoint: "https://example.com/" + n})
	}
	in.Results = func(yield func(record.Result) error) error {
		for i, n := range names {
			version := 0
			if i%70 == day%70 {
				version = day
			}
			if err := yield(reading(b, n, day, version)); err != nil {
				return err
			}
		}
		return nil
	}
	in.Put = func(name string, content []byte) error {
		file := filepath.Join(data, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		return os.WriteFile(file, content, 0o666)
	}
	in.Remove = func(name string) error { return os.Remove(filepath.Join(data, name)) }
	if _, err := ledger.Record(in); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkCheck(b *testing.B) {
	data := b.TempDir()
	for day := range *benchDays {
		write(b, data, day, *benchTargets)
	}
	blobs := map[string]string{} // as if all were committed
	var size int64
	err := filepath.WalkDir(data, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		rel, _ := filepath.Rel(data, file)
		blobs[filepath.ToSlash(rel)] = gitrepo.BlobID(content)
		size += int64(len(content))
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		r, err := audit.Check(b.Context(), audit.Config{FS: os.DirFS(data), Data: data, Committed: blobs})
		if err != nil || len(r.Faults) > 0 {
			b.Fatalf("Check = %+v, %v", r, err)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/(1<<20), "MB-of-memory")
}
