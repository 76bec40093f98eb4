package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/fleet"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/mcp"
	"github.com/mcpstrata/mcpstrata/internal/probe"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
)

// Each measured kind of capture difference between daily readings, made by a
// server and recorded by the whole job, is named with its cause in the report and
// by compare.
func TestDifferencesOfDailyReadings(t *testing.T) {
	var rows []string
	want := map[string]record.Cause{}
	for _, d := range fleet.Differences() {
		if d.Launched {
			continue
		}
		url, stop, err := d.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		name := "com.example/" + d.Name
		rows = append(rows, fmt.Sprintf(`{"server":{"name":%q,"version":"1.0.0","remotes":[{"type":"streamable-http","url":%q}]},"_meta":{"io.modelcontextprotocol.registry/official":{"status":"active","isLatest":true}}}`, name, url))
		want[name] = d.Cause
	}
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"servers":[%s],"metadata":{"count":%d}}`, strings.Join(rows, ","), len(rows))
	}))
	t.Cleanup(registry.Close)

	root := t.TempDir()
	if err := gitrepo.Init(root); err != nil {
		t.Fatal(err)
	}
	for day := range 2 {
		when := time.Date(2026, 11, 29+day, 3, 15, 0, 0, time.UTC)
		if _, err := daily.Run(t.Context(), daily.Config{
			Data: filepath.Join(root, "data"), Registry: registry.URL, Timeout: time.Minute, Pace: time.Second, AllowPrivate: true,
			Version: "0", Clock: daily.FastClockAt(when), Simulated: true, Log: func(string) {},
		}); err != nil {
			t.Fatal(err)
		}
	}
	tree := archive.Open(os.DirFS(filepath.Join(root, "data")))
	checkReadings(t, tree, want)
	checkCompare(t, tree, want)
	checkVerb(t, root, want)
}

// checkVerb compares the rows that the verb observations prints with the verb
// compare.
func checkVerb(t *testing.T, root string, want map[string]record.Cause) {
	t.Helper()
	run := func(args ...string) []byte {
		var out, errs bytes.Buffer
		main1(t.Context(), args, strings.NewReader(""), &out, &errs, nil)
		if errs.Len() > 0 && out.Len() == 0 {
			t.Fatalf("%q: %s", args, errs.String())
		}
		return out.Bytes()
	}
	files := map[string]string{}
	for _, version := range []string{"v1", "v2"} {
		for line := range bytes.Lines(run("observations", "-data", filepath.Join(root, "data"), "-methodology", version, "-json", "2026-11-30")) {
			var o struct{ Name string }
			if err := json.Unmarshal(line, &o); err != nil || o.Name == "" {
				continue
			}
			name := filepath.Join(t.TempDir(), "row.json")
			if err := os.WriteFile(name, line, 0o666); err != nil {
				t.Fatal(err)
			}
			files[version+o.Name] = name
		}
	}
	for name, cause := range want {
		var got record.Comparison
		out := run("compare", "-json", files["v1"+name], files["v2"+name])
		if err := json.Unmarshal(out, &got); err != nil || !slices.Equal(got.Causes, []record.Cause{cause}) {
			t.Errorf("compare of the rows of %s = %s (%v), want the cause %q", name, out, err, cause)
		}
	}
}

// checkReadings holds what the report says of the readings to the causes wanted.
func checkReadings(t *testing.T, tree *archive.Tree, want map[string]record.Cause) {
	t.Helper()
	published, err := report.Publish(tree)
	if err != nil {
		t.Fatal(err)
	}
	if published.Readings == nil {
		t.Fatal("the report does not compare readings")
	}
	got := map[string]record.Cause{}
	for _, c := range published.Readings.Causes {
		for _, s := range c.Servers {
			got[s.Name] = c.Cause
		}
	}
	for name, cause := range want {
		if got[name] != cause {
			t.Errorf("the report gives %s the cause %q, want %q", name, got[name], cause)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the report names %d servers, want %d", len(got), len(want))
	}
}

// checkCompare compares the rows as package record does.
func checkCompare(t *testing.T, tree *archive.Tree, want map[string]record.Cause) {
	t.Helper()
	rows := map[string]map[string]record.Observation{}
	for _, version := range []string{"v1", "v2"} {
		rows[version] = map[string]record.Observation{}
		current, err := tree.Current(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range current {
			rows[version][o.Name] = o
		}
	}
	for name, cause := range want {
		got := record.Compare(record.ReadingOf(rows["v1"][name], "v1"), record.ReadingOf(rows["v2"][name], "v2"))
		if !slices.Equal(got.Causes, []record.Cause{cause}) {
			t.Errorf("Compare of the readings of %s = %+v, want the cause %q", name, got, cause)
		}
		wantVerdict := record.VerdictCapture
		switch cause {
		case record.CauseFailed:
			wantVerdict = record.VerdictNotComparable
		case record.CauseEdit, record.CauseUnstable:
			wantVerdict = record.VerdictDrift
		}
		if got.Verdict != wantVerdict {
			t.Errorf("Compare of the readings of %s = %s, want %s", name, got.Verdict, wantVerdict)
		}
	}
}

// Each measured kind of capture difference between two readers that start a
// server is named by compare.
func TestDifferencesOfLaunchedServers(t *testing.T) {
	seen := 0
	for _, d := range fleet.Differences() {
		if !d.Launched {
			continue
		}
		seen++
		t.Run(d.Name, func(t *testing.T) {
			first, second := launched(t, d.Name, d.First, 1), launched(t, d.Name, d.Second, 2)
			if d.Cause == record.CauseUnstable {
				second.Unstable = "2026-11-30" // what a second reading would have found
			}
			got := record.Compare(first, second)
			if !slices.Equal(got.Causes, []record.Cause{d.Cause}) || first.Digest == second.Digest {
				t.Errorf("Compare of the readings of %s and %s = %+v, want the cause %q", first.Digest, second.Digest, got, d.Cause)
			}
			if again := launched(t, d.Name, d.First, 1); again.Digest != first.Digest || record.Compare(first, again).Verdict != record.VerdictSame {
				t.Errorf("two readings under equal conditions give %s and %s, want one digest", first.Digest, again.Digest)
			}
		})
	}
	if seen == 0 {
		t.Error("no difference is of launched servers")
	}
}

// launched reads a stdio server that was started so.
func launched(t *testing.T, kind string, how record.Launch, start int) record.Reading {
	t.Helper()
	placeholder := "placeholder-of" + strings.ReplaceAll(how.Home, "/", "-")
	env := map[string]string{"HOME": how.Home}
	if how.EnvValues == "placeholder" {
		env[fleet.StdioVariable] = placeholder
	}
	toServer, fromUs := io.Pipe()
	fromServer, toUs := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := fleet.ServeStdio(kind, toServer, toUs, fleet.Surroundings{
			Args: how.Args, Env: func(name string) string { return env[name] }, Network: how.Network == "full",
			Version: how.ResolvedVersion, ID: func() string { return fmt.Sprint("start-", start) },
		})
		toUs.Close()
		ended <- err
	}()
	client := &mcp.Client{Now: func() time.Time { return time.Date(2026, 11, 30, 3, 15, 0, 0, time.UTC) }}
	reading, err := client.ReadPipe(context.Background(), fromServer, fromUs, record.V2)
	if err != nil {
		t.Fatal(err)
	}
	fromUs.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	r, err := (&probe.Prober{MCP: client}).Result(context.Background(), "com.example/x", reading, record.V2)
	if err != nil || !r.Outcome().OK() {
		t.Fatalf("reading %s: %v, %v", kind, r.Outcome(), err)
	}
	capture := *r.Capture
	capture.Launch = &how
	o := record.Observation{Name: r.Name, Head: &record.Head{Identity: r.Identity, Capture: capture, Confirmed: true}, Flags: r.Flags}
	for _, quoted := range []string{how.Home, placeholder} {
		if bytes.Contains(slices.Concat(reading.Pages...), []byte(quoted)) {
			o.Flags = append(o.Flags, record.FlagReaderInDefinition) // package launch sets it so
		}
	}
	return record.ReadingOf(o, "v2")
}
