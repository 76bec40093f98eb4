package audit_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/audit"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A hand damages one file of a data folder.
type hand func(t *testing.T, file string)

// edit replaces old by new, which the file must hold.
func edit(old, new string) hand {
	return func(t *testing.T, file string) {
		b := load(t, file)
		if !bytes.Contains(b, []byte(old)) {
			t.Fatalf("%s does not hold %q", file, old)
		}
		save(t, file, bytes.Replace(b, []byte(old), []byte(new), 1))
	}
}

// change passes the bytes through f.
func change(f func([]byte) []byte) hand {
	return func(t *testing.T, file string) { save(t, file, f(load(t, file))) }
}

func flip(t *testing.T, file string) {
	b := load(t, file)
	b[len(b)/2] ^= 1
	save(t, file, b)
}

func remove(t *testing.T, file string) {
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, file string) {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	save(t, file, []byte("{}\n"))
}

func link(t *testing.T, file string) {
	os.Remove(file)
	if err := os.Symlink("/dev/null", file); err != nil {
		t.Fatal(err)
	}
}

var truncate = change(func(b []byte) []byte { return b[:len(b)/2] })
var crlf = change(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) })

// byLines passes the lines through f.
func byLines(f func([]string) []string) hand {
	return change(func(b []byte) []byte {
		return []byte(strings.Join(f(slices.Collect(strings.Lines(string(b)))), ""))
	})
}

var swap = byLines(func(l []string) []string {
	n := len(l)
	l[n-1], l[n-2] = l[n-2], l[n-1]
	return l
})
var double = byLines(func(l []string) []string { return append(l, l[len(l)-1]) })
var drop = byLines(func(l []string) []string { return l[:len(l)-1] })

func load(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func save(t *testing.T, file string, b []byte) {
	t.Helper()
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// shell runs a command line as a user would.
func shell(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@x", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@x")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// heal puts a repository back to a commit, whatever was done to it.
func heal(t *testing.T, root, commit string) {
	shell(t, "cd "+audit.Quote(root)+" && git reset -q --hard "+commit+" && git clean -fdxq")
}

const (
	s3  = "com.example/s3" // drifted away and back
	u0  = "com.example/u0" // unstable, also on the newest day
	dir = archive.Dir + "/"
)

// busyShard returns a shard with two rows at least.
func busyShard(t *testing.T, root string, pathOf func(string) string) string {
	for _, x := range archive.Shards {
		if b, err := os.ReadFile(filepath.Join(root, "data", pathOf(x))); err == nil && bytes.Count(b, []byte("\n")) >= 2 {
			return pathOf(x)
		}
	}
	t.Fatal("no shard holds two rows")
	return ""
}

func current(x string) string { return archive.CurrentPath("v1", x) }

// Each damage of the work tree is found at its file, with its rule, as the only
// fault; the command that the fault names mends it.
func TestCheckFindsDamage(t *testing.T) {
	root := history(t)
	var (
		body     = archive.BodyPath("v1", s3, "")
		initBody = archive.BodyPath("v1", s3, "init")
		file     = archive.ContractPath("v1", s3)
		obs      = archive.ObservationsPath(day(2), "v1")
		newObs   = archive.ObservationsPath(day(7), "v1")
		events   = archive.EventsPath(day(2))
		index    = archive.IndexPath(day(2))
		roster   = archive.RosterPath(day(3))
		newest   = archive.RosterPath(day(7))
		shard    = busyShard(t, root, current)
		rows     = busyShard(t, root, archive.RowsPath)
	)
	tests := []struct {
		name, path string
		do         hand
		rule       string // against the newest commit
		alone      string // without git, when another; "-" when it can't be seen
	}{
		{name: "flipped byte in a body", path: body, do: flip, rule: "body"},
		{name: "flipped byte in a handshake", path: initBody, do: flip, rule: "handshake"},
		{name: "flipped byte in a contract", path: file, do: flip, rule: "contract-file"},
		{name: "flipped byte in a rejected reading", path: archive.BodyPath("v2", u0, archive.Other), do: flip, rule: "body"},
		{name: "a rejected reading gone", path: archive.BodyPath("v2", u0, archive.OtherB), do: remove, rule: "missing-file"},
		{name: "a page too many of a rejected reading", path: archive.BodyPath("v2", u0, archive.RejectedPart(archive.Other, 2)), do: create, rule: "unexpected-file"},
		{name: "a rejected reading of one that was never unstable", path: archive.BodyPath("v2", s3, archive.Other), do: create, rule: "unexpected-file"},
		{name: "flipped byte in dated observations", path: obs, do: flip, rule: "dated-digest"},
		{name: "flipped byte in the newest observations", path: newObs, do: flip, rule: "dated-digest"},
		{name: "flipped byte in events", path: events, do: flip, rule: "dated-digest"},
		{name: "flipped byte in an index", path: index, do: flip, rule: "dated-digest"},
		{name: "flipped byte in a roster", path: roster, do: flip, rule: "dated-digest"},
		{name: "changed figure in a run record", path: archive.RunPath(day(2)), do: edit(`"timeout_ms": 5000`, `"timeout_ms": 5001`), rule: "run-chain"},
		{name: "flipped digit in the newest run record", path: archive.RunPath(day(7)), do: edit(`"answered": `, `"answered": 1`), rule: "committed", alone: "run-counts"},
		{name: "previous in a run record", path: archive.RunPath(day(2)), do: edit(`"previous": "sha256:`, `"previous": "sha256:0`), rule: "run-chain"},
		{name: "flipped byte in a current shard", path: shard, do: flip, rule: "*"},
		{name: "a changed figure in a current shard", path: shard, do: edit(`"tools":2`, `"tools":3`), rule: "fold"},
		{name: "a changed figure in registry rows", path: rows, do: edit(`"version":"1.0.0"`, `"version":"1.0.1"`), rule: "roster-rows"},
		{name: "flipped byte in the order", path: archive.OrderPath, do: edit("com.example/s3", "com.example/s4"), rule: "roster-order"},
		{name: "two names of the order swapped", path: archive.OrderPath, do: edit("com.example/s3\ncom.example/s4\n", "com.example/s4\ncom.example/s3\n"), rule: "page"},
		{name: "flipped digit in the latencies", path: archive.TimingPath, do: edit("T03:15:", "T03;15:"), rule: "timing"},
		{name: "a latency changed", path: archive.TimingPath, do: edit("T03:15:0", "T03:16:0"), rule: "committed", alone: "-"},

		{name: "missing body", path: body, do: remove, rule: "missing-file"},
		{name: "missing handshake", path: initBody, do: remove, rule: "missing-file"},
		{name: "missing contract", path: file, do: remove, rule: "missing-file"},
		{name: "missing observations", path: obs, do: remove, rule: "missing-file"},
		{name: "missing events", path: events, do: remove, rule: "missing-file"},
		{name: "missing index", path: index, do: remove, rule: "missing-file"},
		{name: "missing roster", path: roster, do: remove, rule: "missing-file"},
		{name: "missing newest roster", path: newest, do: remove, rule: "missing-file"},
		{name: "missing run record", path: archive.RunPath(day(2)), do: remove, rule: "missing-file"},
		{name: "missing newest run record", path: archive.RunPath(day(7)), do: remove, rule: "missing-file"},
		{name: "missing current shard", path: shard, do: remove, rule: "missing-file"},
		{name: "missing rows", path: rows, do: remove, rule: "missing-file"},
		{name: "missing order", path: archive.OrderPath, do: remove, rule: "missing-file"},
		{name: "missing latencies", path: archive.TimingPath, do: remove, rule: "missing-file"},

		{name: "stray file at the root", path: "notes.txt", do: create, rule: "unexpected-file"},
		{name: "stray hidden file", path: dir + ".DS_Store", do: create, rule: "unexpected-file"},
		{name: "stray file with a hostile name", path: dir + "a'b\n$(id) \u202e", do: create, rule: "unexpected-file"},
		{name: "stray series", path: "other-series/runs/x.json", do: create, rule: "unexpected-file"},
		{name: "stray contract", path: archive.ContractPath("v1", "com.example/nobody"), do: create, rule: "unexpected-file"},
		{name: "stray page", path: archive.BodyPath("v1", s3, "2"), do: create, rule: "unexpected-file"},
		{name: "stray rejected reading", path: archive.BodyPath("v1", s3, "other"), do: create, rule: "unexpected-file"},
		{name: "stray methodology", path: archive.ContractPath("v9", s3), do: create, rule: "unexpected-file"},
		{name: "stray dated file", path: archive.EventsPath(day(30)), do: create, rule: "unexpected-file"},
		{name: "stray run of no day", path: dir + "runs/2026/2026-02-31.json", do: create, rule: "unexpected-file"},
		{name: "stray folder in the index", path: dir + "artifacts/index/2026/x/y.jsonl", do: create, rule: "unexpected-file"},
		{name: "stray roster of a second run", path: archive.RosterPath(day(4) + ".2"), do: create, rule: "unexpected-file"},
		{name: "stray shard", path: dir + "current/v1/g.jsonl", do: create, rule: "unexpected-file"},
		{name: "stray temporary file", path: body + "+tmp", do: create, rule: "unexpected-file"},
		{name: "stray link", path: dir + "current/v1/z", do: link, rule: "unexpected-file"},
		{name: "a link in place of a body", path: body, do: link, rule: "unexpected-file"},

		{name: "edited events that still read", path: events, do: edit(`"reread":"none"`, `"reread":"same"`), rule: "dated-digest"},
		{name: "edited roster that still reads", path: roster, do: edit(`"complete": false`, `"complete": true`), rule: "dated-digest"},
		{name: "rows of current out of order", path: shard, do: swap, rule: "row-order"},
		{name: "a row of current twice", path: shard, do: double, rule: "row-order"},
		{name: "a row of current gone", path: shard, do: drop, rule: "fold"},
		{name: "registry rows out of order", path: rows, do: swap, rule: "roster-rows"},
		{name: "a registry row twice", path: rows, do: double, rule: "roster-rows"},
		{name: "a registry row gone", path: rows, do: drop, rule: "roster-rows"},
		{name: "a name of the order gone", path: archive.OrderPath, do: drop, rule: "roster-order"},
		{name: "a latency gone", path: archive.TimingPath, do: drop, rule: "timing"},
		{name: "truncated body", path: body, do: truncate, rule: "body"},
		{name: "truncated contract", path: file, do: truncate, rule: "contract-file"},
		{name: "truncated observations", path: obs, do: truncate, rule: "dated-digest"},
		{name: "truncated run record", path: archive.RunPath(day(2)), do: truncate, rule: "canonical-form"},
		{name: "truncated current shard", path: shard, do: truncate, rule: "*"},
		{name: "truncated registry rows", path: rows, do: truncate, rule: "roster-rows"},
		{name: "emptied current shard", path: shard, do: change(func([]byte) []byte { return nil }), rule: "fold"},
		{name: "CRLF in a contract", path: file, do: crlf, rule: "contract-file"},
		{name: "CRLF in events", path: events, do: crlf, rule: "dated-digest"},
		{name: "CRLF in a run record", path: archive.RunPath(day(7)), do: crlf, rule: "canonical-form"},
		{name: "CRLF in a current shard", path: shard, do: crlf, rule: "canonical-form"},
		{name: "CRLF in registry rows", path: rows, do: crlf, rule: "roster-rows"},
		{name: "CRLF in the order", path: archive.OrderPath, do: crlf, rule: "roster-order"},
		{name: "CRLF in the latencies", path: archive.TimingPath, do: crlf, rule: "timing"},
		{name: "an opt-out list that can't be read", path: "opt-out.txt", do: func(t *testing.T, f string) { save(t, f, []byte("://\n")) }, rule: "opt-out"},
		{name: "a tombstone without a reason", path: "tombstones.jsonl", do: func(t *testing.T, f string) {
			save(t, f, []byte(`{"day":"2026-11-01","reason":"","sha256":"`+string(canon.Sum(nil))+"\"}\n"))
		}, rule: "tombstone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					heal(t, root, "HEAD")
				}
			})
			tt.do(t, filepath.Join(root, "data", filepath.FromSlash(tt.path)))
			if tt.alone == "" {
				tt.alone = tt.rule
			}
			f := only(t, check(t, root), root, tt.path, tt.rule)
			if tt.alone == "-" {
				if r := checkAlone(t, root); len(r.Faults) > 0 {
					t.Errorf("without git: Check found %+v, want nothing", r.Faults)
				}
			} else {
				only(t, checkAlone(t, root), root, tt.path, tt.alone)
			}
			shell(t, f.Mend)
			if r := check(t, root); len(r.Faults) > 0 {
				t.Errorf("after %s: Check found %+v, want nothing", f.Mend, r.Faults)
			}
		})
	}
}

// A name that is not UTF-8 can't be opened through a file system of Go's. It is
// one fault, and all else is checked as ever.
func TestCheckNamesThatAreNotUTF8(t *testing.T) {
	root := history(t)
	data := filepath.Join(root, "data")
	for _, tt := range []struct{ name, file, at string }{
		{"a file", dir + "\xff", dir + `\xff`},
		{"a folder", dir + "runs/\xff/a", dir + `runs/\xff`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Cleanup(func() { heal(t, root, "HEAD") })
			create(t, filepath.Join(data, tt.file))
			create(t, filepath.Join(data, "notes.txt"))
			want := []string{`"` + filepath.ToSlash(data) + "/" + tt.at + `"`, filepath.ToSlash(data) + "/notes.txt"}
			for what, r := range map[string]*audit.Report{"git": check(t, root), "no git": checkAlone(t, root)} {
				var got []string
				for _, f := range r.Faults {
					got = append(got, f.Path)
					if f.Rule != "unexpected-file" {
						t.Errorf("%s: the fault of %s is %s, want unexpected-file", what, f.Path, f.Rule)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: Check found faults of %q, want %q", what, got, want)
				}
			}
			for _, f := range check(t, root).Faults {
				shell(t, f.Mend)
			}
			if r := check(t, root); len(r.Faults) > 0 {
				t.Errorf("after mending: Check found %+v, want nothing", r.Faults)
			}
			create(t, filepath.Join(data, tt.file))
			shell(t, "cd "+audit.Quote(root)+" && git add -A && git commit -q -m stray")
			r := check(t, root)
			shell(t, "cd "+audit.Quote(root)+" && git reset -q --hard HEAD^")
			if len(r.Faults) != 1 || r.Faults[0].Path != want[0] || !strings.Contains(r.Faults[0].Mend, "log --oneline") {
				t.Errorf("committed: Check found %+v, want one fault of %s that names the log", r.Faults, want[0])
			}
		})
	}
}

// only returns the one fault of a report, which is of the path and the rule.
func only(t *testing.T, r *audit.Report, root, path, rule string) audit.Fault {
	t.Helper()
	want := filepath.ToSlash(filepath.Join(root, "data")) + "/" + path
	if len(r.Faults) != 1 || r.Faults[0].Path != want || rule != "*" && r.Faults[0].Rule != rule {
		t.Fatalf("Check found %d faults %+v, want one of %s at %s", len(r.Faults), r.Faults, rule, path)
	}
	if !slices.ContainsFunc(audit.Rules, func(d audit.Rule) bool { return d.ID == r.Faults[0].Rule }) {
		t.Errorf("the rule %s is not in Rules", r.Faults[0].Rule)
	}
	return r.Faults[0]
}

// Where the newest commit itself is wrong, and its run record was made to fit,
// the fault is found by what the records say of each other. The command shows
// the commits that touched the file.
func TestCheckFindsCommittedDamage(t *testing.T) {
	root := history(t)
	start := strings.TrimSpace(shell(t, "git -C "+audit.Quote(root)+" rev-parse HEAD"))
	var (
		run    = day(7)
		obs    = archive.ObservationsPath(run, "v1")
		obs2   = archive.ObservationsPath(run, "v2")
		events = archive.EventsPath(run)
		index  = archive.IndexPath(run)
		roster = archive.RosterPath(run)
		rec    = archive.RunPath(run)
	)
	// member edits a line that holds all of some words.
	member := func(old, new string, words ...string) hand {
		return byLines(func(lines []string) []string {
			for i, l := range lines {
				if strings.Contains(l, old) && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(l, w) }) {
					lines[i] = strings.Replace(l, old, new, 1)
					return lines
				}
			}
			t.Fatalf("no line holds %q and %q", old, words)
			return nil
		})
	}
	without := func(word string) hand {
		return byLines(func(lines []string) []string {
			return slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, word) })
		})
	}
	// lose removes what matches from a line that holds a word.
	lose := func(pattern, word string) hand {
		return byLines(func(lines []string) []string {
			for i, l := range lines {
				if at := regexp.MustCompile(pattern).FindStringIndex(l); at != nil && strings.Contains(l, word) {
					lines[i] = l[:at[0]] + l[at[1]:]
					return lines
				}
			}
			t.Fatalf("no line holds %q and matches %s", word, pattern)
			return nil
		})
	}
	// turn changes one digit of a digest in a line that holds a word.
	turn := func(name, word string) hand {
		return byLines(func(lines []string) []string {
			mark := `"` + name + `":"sha256:`
			for i, l := range lines {
				if at := strings.Index(l, mark); at >= 0 && strings.Contains(l, word) {
					b := []byte(l)
					b[at+len(mark)] ^= 1
					if b[at+len(mark)] == '`' || b[at+len(mark)] == 'g' {
						b[at+len(mark)] = '0'
					}
					lines[i] = string(b)
					return lines
				}
			}
			t.Fatalf("no line holds %q and %q", mark, word)
			return nil
		})
	}
	tests := []struct {
		name, path string
		do         hand
		rule, at   string // at: where the fault is, if not at path
	}{
		{name: "dangling digest in an event", path: events, do: member(`"new_artifacts":["sha256:`, `"new_artifacts":["sha256:00`, "drift"), rule: "*"},
		{name: "dangling digest in an event, well formed", path: events, do: dangle, rule: "dangling-digest"},
		{name: "drift without its event", path: events, do: without(`"kind":"drift"`), rule: "event"},
		{name: "event of another identity", path: events, do: member(`"old":"sha256:`, `"old":"sha256:0`, "drift"), rule: "event"},
		{name: "return without its event", path: events, do: without(`"kind":"returned"`), rule: "event"},
		{name: "endpoint moved without its event", path: events, do: without(`"kind":"endpoint_moved"`), rule: "event"},
		{name: "event of nothing", path: events, do: member(`"kind":"confirmed"`, `"kind":"first_answer"`), rule: "event"},
		{name: "server changed without its event", path: events, do: without(`"version":"2"`), rule: "event"},
		{name: "protocol changed without its event", path: events, do: without(`"negotiated":"2025-03-26"`), rule: "event"},
		{name: "event of another server", path: events, do: member(`"version":"2"`, `"version":"3"`, `"kind":"server"`), rule: "event"},
		{name: "event of another protocol", path: events, do: member(`"negotiated":"2025-03-26"`, `"negotiated":"2025-06-18"`), rule: "event"},
		{name: "a server event of one that stayed the same", path: events, do: invent, rule: "event"},
		{name: "changes in an event of no drift", path: events, do: member(`{`, `{"changes":[{"kind":"added","name":"x"}],`, `"kind":"confirmed"`), rule: "event"},
		{name: "unstable without its event", path: events, do: without(`"kind":"unstable"`), rule: "event"},
		{name: "an unstable event of another head", path: events, do: member(`"old":"sha256:`, `"old":"sha256:0`, `"kind":"unstable"`), rule: "event"},
		{name: "an unstable event of another first reading", path: events, do: turn("new", `"kind":"unstable"`), rule: "event"},
		{name: "an unstable event of another second reading", path: events, do: turn("other", `"kind":"unstable"`), rule: "event"},
		{name: "an unstable event without its second reading", path: events, do: lose(`,"other":"[^"]*","other_artifacts":\[[^]]*\]`, `"kind":"unstable"`), rule: "event"},
		{name: "an unstable event whose readings are one", path: events, do: member(`"reread":"different"`, `"reread":"same"`, `"kind":"unstable"`), rule: "event"},
		{name: "a drift that was read twice, as if once", path: events, do: member(`"reread":"same"`, `"reread":"none"`, `"kind":"drift"`), rule: "event"},
		{name: "a drift of one reading, as if read twice", path: events, do: member(`"reread":"none"`, `"reread":"same"`, `"kind":"drift"`), rule: "event"},
		{name: "a capture difference that is comparable", path: events, do: member(`"comparable":false`, `"comparable":true`, `"kind":"capture_difference"`), rule: "event"},
		{name: "a capture difference in other members", path: events, do: lose(`"differs":\["[^"]*",?`, `"kind":"capture_difference"`), rule: "*"},
		{name: "a capture difference without its event", path: events, do: without(`"kind":"capture_difference"`), rule: "event"},
		{name: "a drift under v2 that nothing confirmed", path: obs2, do: member(`"confirmed":true`, `"confirmed":false`, "com.example/u1"), rule: "row-change"},
		{name: "a head that lost its confirmation", path: obs2, do: member(`"confirmed":true`, `"confirmed":false`, u0), rule: "row-change"},
		{name: "last read on another day", path: obs2, do: member(`"last_observed":"2026-11-07"`, `"last_observed":"2026-11-06"`, u0), rule: "row-change"},
		{name: "dangling digest of a second reading", path: events, do: member(`"other_artifacts":["sha256:`, `"other_artifacts":["sha256:0`), rule: "*"},
		{name: "unstable on another day", path: obs2, do: member(`"unstable":"2026-11-08"`, `"unstable":"2026-11-07"`), rule: "row"},
		{name: "a new head that is confirmed under v1", path: obs, do: member(`"confirmed":false`, `"confirmed":true`), rule: "row-change"},
		{name: "an unstable server that changed its version", path: obs2, do: member(`"version":"1"`, `"version":"9"`, u0), rule: "row-change"},
		{name: "event of another day", path: events, do: member(`"day":"2026-11-08"`, `"day":"2026-11-07"`), rule: "event"},
		{name: "events out of order", path: events, do: swap, rule: "event-order"},
		{name: "an event twice", path: events, do: double, rule: "event-order"},
		{name: "CRLF in events", path: events, do: crlf, rule: "canonical-form"},
		{name: "a member that no event has", path: events, do: member(`{`, `{"a":1,`), rule: "canonical-form"},
		{name: "dated rows out of order", path: obs, do: swap, rule: "row-order"},
		{name: "a dated row twice", path: obs, do: double, rule: "row-order"},
		{name: "a dated row gone", path: obs, do: drop, rule: "dated-header"},
		{name: "a flag that is none", path: obs, do: member(`"head":`, `"flags":["odd"],"head":`), rule: "row"},
		{name: "a class that is none", path: obs, do: member(`"error_class":null`, `"error_class":"odd"`), rule: "canonical-form"},
		{name: "first_observed in the future", path: obs, do: member(`"first_observed":"2026-11-08"`, `"first_observed":"2026-11-09"`), rule: "row"},
		{name: "first_observed in the past", path: obs, do: member(`"first_observed":"2026-11-08"`, `"first_observed":"2026-11-06"`), rule: "row-change"},
		{name: "since in the past", path: obs, do: member(`"since":"2026-11-08"`, `"since":"2026-11-06"`), rule: "row-change"},
		{name: "since today without a reason", path: obs, do: member(`"since":"2026-11-0`, `"since":"2026-11-08","x":"`, "s0"), rule: "canonical-form"},
		{name: "a count of tools in a dated row", path: obs, do: member(`"tools":2`, `"tools":4`), rule: "dated-header"},
		{name: "the fold in a header", path: obs, do: edit(`"folded":"sha256:`, `"folded":"sha256:0`), rule: "dated-header"},
		{name: "rows in a header", path: obs, do: edit(`"rows":`, `"rows":1`), rule: "dated-header"},
		{name: "degraded in a header", path: obs, do: edit(`"day":"2026-11-08",`, `"day":"2026-11-08","degraded":true,`), rule: "dated-header"},
		{name: "targets in a header", path: obs, do: edit(`"targets":`, `"targets":1`), rule: "dated-header"},
		{name: "attempted in a header", path: obs, do: edit(`"attempted":`, `"attempted":1`), rule: "dated-header"},
		{name: "unchanged in a header", path: obs, do: edit(`"unchanged":{"answered":`, `"unchanged":{"answered":1`), rule: "dated-header"},
		{name: "index out of order", path: index, do: swap, rule: "index"},
		{name: "index of a strange path", path: index, do: edit(`"path":"artifacts/`, `"path":"artefacts/`), rule: "index"},
		{name: "an object that git does not have", path: index, do: edit(`"blob":"`, `"blob":"00`), rule: "index"},
		{name: "an object that git does not have, well formed", path: index, do: forge, rule: "index-object"},
		{name: "wrong names in a roster", path: roster, do: edit(`"names": `, `"names": 1`), rule: "roster"},
		{name: "wrong listed in a roster", path: roster, do: edit(`"listed": `, `"listed": 1`), rule: "roster"},
		{name: "wrong endpoints in a roster", path: roster, do: edit(`"endpoints": `, `"endpoints": 1`), rule: "roster"},
		{name: "a page that is none", path: roster, do: edit(`"sha256": "sha256:`, `"sha256": "sha256:0`), rule: "roster"},
		{name: "a page that does not rebuild", path: roster, do: edit(`"prefix": "{\"servers\":[`, `"prefix": "{\"servers\": [`), rule: "page", at: archive.OrderPath},
		{name: "wrong answered in a run record", path: rec, do: edit(`"answered": `, `"answered": 1`), rule: "run-counts"},
		{name: "wrong coverage in a run record", path: rec, do: edit(`"coverage": 10000`, `"coverage": 9999`), rule: "run-counts"},
		{name: "wrong active in a run record", path: rec, do: edit(`"active": `, `"active": 1`), rule: "run-counts"},
		{name: "a class too many in a run record", path: rec, do: edit(`"classes": {`, `"classes": {"auth": 1,`), rule: "canonical-form"},
		{name: "degraded in a run record", path: rec, do: edit(`"degraded": false`, `"degraded": true`), rule: "run-counts"},
		{name: "partial in a run record", path: rec, do: edit(`"partial": false`, `"partial": true`), rule: "run-counts"},
		{name: "another roster in a run record", path: rec, do: edit(`"roster": "sha256:`, `"roster": "sha256:0`), rule: "roster", at: roster},
		{name: "another day in a run record", path: rec, do: edit(`"day": "2026-11-08"`, `"day": "2026-11-09"`), rule: "run-record"},
		{name: "a file too many in a run record", path: rec, do: edit(`"files": {`, "\"files\": {\n  \"a\": \"\","), rule: "run-record"},
		{name: "an older run record, alone", path: archive.RunPath(day(3)), do: edit(`"pace_ms": 0`, `"pace_ms": 1`), rule: "run-chain"},
		{name: "a contract", path: archive.ContractPath("v1", s3), do: flip, rule: "contract-file"},
		{name: "a stray file", path: dir + "notes.txt", do: create, rule: "unexpected-file"},
		{name: "a missing contract", path: archive.ContractPath("v1", s3), do: remove, rule: "missing-file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Cleanup(func() { heal(t, root, start) })
			tt.do(t, filepath.Join(root, "data", tt.path))
			if _, dated := strings.CutPrefix(tt.path, dir); dated && strings.Contains(tt.path, run) && tt.path != rec {
				reseal(t, root, tt.path)
			}
			commit(t, root)
			at := tt.at
			if at == "" {
				at = tt.path
			}
			f := only(t, check(t, root), root, at, tt.rule)
			if !strings.Contains(f.Mend, " log --oneline -- ") {
				t.Errorf("Mend = %q, want a command that shows the commits", f.Mend)
			}
			shell(t, f.Mend)
		})
	}
}

// Git keeps every body: one that a commit spoiled is taken from there.
func TestCheckMendsCommittedBody(t *testing.T) {
	root := history(t)
	start := strings.TrimSpace(shell(t, "git -C "+audit.Quote(root)+" rev-parse HEAD"))
	body := archive.BodyPath("v1", s3, "")
	for _, tt := range []struct {
		name string
		do   hand
		rule string
	}{{"flipped", flip, "body"}, {"removed", remove, "missing-file"}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Cleanup(func() { heal(t, root, start) })
			tt.do(t, filepath.Join(root, "data", body))
			commit(t, root)
			f := only(t, check(t, root), root, body, tt.rule)
			shell(t, f.Mend)
			commit(t, root)
			if r := check(t, root); len(r.Faults) > 0 {
				t.Errorf("after %s: Check found %+v, want nothing", f.Mend, r.Faults)
			}
		})
	}
}

// A body that was removed on request, and its contract, may be gone.
func TestCheckAcceptsTombstones(t *testing.T) {
	root := history(t)
	start := strings.TrimSpace(shell(t, "git -C "+audit.Quote(root)+" rev-parse HEAD"))
	t.Cleanup(func() { heal(t, root, start) })
	rows, err := archive.Open(os.DirFS(filepath.Join(root, "data"))).Current("v1")
	i := slices.IndexFunc(rows, func(o record.Observation) bool { return o.Name == s3 })
	if err != nil || i < 0 {
		t.Fatalf("the row of %s is number %d of current/, %v", s3, i, err)
	}
	row := rows[i]
	for _, m := range record.Methodologies { // the same body, read twice
		remove(t, filepath.Join(root, "data", archive.BodyPath(m.Version, s3, "")))
		remove(t, filepath.Join(root, "data", archive.ContractPath(m.Version, s3)))
	}
	commit(t, root)
	if r := check(t, root); len(r.Faults) != 4 {
		t.Errorf("before the tombstone Check found %+v, want the four missing files", r.Faults)
	}
	save(t, filepath.Join(root, "data", "tombstones.jsonl"), []byte(`{"day":"2026-11-08","reason":"asked for by its owner","sha256":"`+string(row.Head.Artifacts[0])+"\"}\n"))
	commit(t, root)
	if r := check(t, root); len(r.Faults) > 0 {
		t.Errorf("Check found %+v, want nothing", r.Faults)
	}
}

// A body that was removed on request and is there all the same is a fault; the
// command removes it, and never brings it back.
func TestCheckFindsRemovedBodies(t *testing.T) {
	root := history(t)
	start := strings.TrimSpace(shell(t, "git -C "+audit.Quote(root)+" rev-parse HEAD"))
	for _, tt := range []struct{ name, path string }{
		{"a page", archive.BodyPath("v1", s3, "")},
		{"a handshake", archive.BodyPath("v1", s3, "init")},
		{"a rejected reading", archive.BodyPath("v2", u0, archive.Other)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Cleanup(func() { heal(t, root, start) })
			file := filepath.Join(root, "data", tt.path)
			save(t, file, append(load(t, file), ' ')) // a body of its own: others may have the same
			removed := canon.Sum(load(t, file))
			save(t, filepath.Join(root, "data", "tombstones.jsonl"), record.Line(record.Tombstone{Day: "2026-11-08", Reason: "asked for", SHA256: removed}))
			commit(t, root)
			f := only(t, check(t, root), root, tt.path, "tombstone")
			only(t, checkAlone(t, root), root, tt.path, "tombstone")
			if !strings.Contains(f.Mend, " rm -- ") {
				t.Errorf("Mend = %q, want one that removes it from git's index", f.Mend)
			}
			shell(t, f.Mend)
			if _, err := os.Stat(file); err == nil {
				t.Errorf("after %s the body is still there", f.Mend)
			}
		})
	}
}

// The contract holds the words of its bodies: it has to go with them.
func TestCheckFindsContractOfRemovedBody(t *testing.T) {
	root := history(t)
	start := strings.TrimSpace(shell(t, "git -C "+audit.Quote(root)+" rev-parse HEAD"))
	t.Cleanup(func() { heal(t, root, start) })
	body := archive.BodyPath("v1", s3, "")
	files := []string{body, archive.BodyPath("v2", s3, ""), archive.ContractPath("v1", s3), archive.ContractPath("v2", s3)}
	removed := canon.Sum(load(t, filepath.Join(root, "data", body)))
	save(t, filepath.Join(root, "data", "tombstones.jsonl"), record.Line(record.Tombstone{Day: "2026-11-08", Reason: "asked for", SHA256: removed}))
	commit(t, root)
	r := check(t, root)
	if len(r.Faults) != len(files) {
		t.Fatalf("Check found %+v, want faults of the bodies and of the contracts", r.Faults)
	}
	for i, f := range r.Faults {
		if !strings.HasSuffix(f.Path, files[i]) {
			t.Errorf("fault %d is of %s, want %s", i, f.Path, files[i])
		}
		if f.Rule != "tombstone" {
			t.Errorf("the fault of %s is %s, want tombstone", f.Path, f.Rule)
		}
		shell(t, f.Mend)
	}
	commit(t, root)
	if r := check(t, root); len(r.Faults) > 0 {
		t.Errorf("after mending: Check found %+v, want nothing", r.Faults)
	}
}

// A file with several faults shows the same one each time.
func TestCheckIsRepeatable(t *testing.T) {
	root := history(t)
	start := strings.TrimSpace(shell(t, "git -C "+audit.Quote(root)+" rev-parse HEAD"))
	all := func(old, new string) hand {
		return change(func(b []byte) []byte {
			if bytes.Count(b, []byte(old)) < 2 {
				t.Fatalf("%q stands less than twice", old)
			}
			return bytes.ReplaceAll(b, []byte(old), []byte(new))
		})
	}
	for _, tt := range []struct {
		name, path string
		do         hand
	}{
		{"registry rows", busyShard(t, root, archive.RowsPath), all(`"version":"1.0.0"`, `"version":"1.0.1"`)},
		{"order", archive.OrderPath, all("com.example/s", "com.example/x")},
		{"run record", archive.RunPath(day(7)), all(`"sha256:`, `"sha256-`)},
		{"index, by several bodies", archive.IndexPath(day(7)), all(`"bytes":`, `"bytes":1`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Cleanup(func() { heal(t, root, start) })
			tt.do(t, filepath.Join(root, "data", tt.path))
			if strings.Contains(tt.path, "/index/") {
				reseal(t, root, tt.path)
				commit(t, root)
			}
			first := check(t, root)
			if len(first.Faults) == 0 {
				t.Fatal("Check found nothing")
			}
			for range 19 {
				if r := check(t, root); !slices.Equal(r.Faults, first.Faults) {
					t.Fatalf("Check found %+v, and before that %+v", r.Faults, first.Faults)
				}
			}
		})
	}
}

func commit(t *testing.T, root string) {
	shell(t, "cd "+audit.Quote(root)+" && git add -A && git -c commit.gpgsign=false commit -qm damage")
}

// reseal makes the record of the newest run state the digest of a dated file.
func reseal(t *testing.T, root, name string) {
	t.Helper()
	file := filepath.Join(root, "data", archive.RunPath(day(7)))
	var r record.Run
	if err := record.Decode(load(t, file), &r); err != nil {
		t.Fatal(err)
	}
	below := strings.TrimPrefix(name, dir)
	if _, ok := r.Files[below]; !ok {
		t.Fatalf("the run record has no file %s", below)
	}
	r.Files[below] = canon.Sum(load(t, filepath.Join(root, "data", name)))
	save(t, file, record.File(r))
}

// dangle has a drift event speak of a body that nobody recorded.
var dangle = byLines(func(lines []string) []string {
	for i, l := range lines {
		var e record.Event
		if record.Decode([]byte(l), &e) == nil && e.Kind == record.Drift {
			e.OldArtifacts = []canon.Digest{canon.Sum([]byte("nobody"))}
			lines[i] = string(record.Line(e))
		}
	}
	return lines
})

// invent adds a server event of a target whose row changed otherwise.
var invent = byLines(func(lines []string) []string {
	var e record.Event
	for _, l := range lines {
		if strings.Contains(l, `"kind":"server"`) && record.Decode([]byte(l), &e) == nil {
			break
		}
	}
	e.Name = "com.example/s5"
	for i, l := range lines {
		var next record.Event
		if record.Decode([]byte(l), &next) == nil && next.Name > e.Name {
			return slices.Insert(lines, i, string(record.Line(e)))
		}
	}
	return append(lines, string(record.Line(e)))
})

// forge has an index line name a git object that is not there.
var forge = byLines(func(lines []string) []string {
	var e record.Body
	if record.Decode([]byte(lines[0]), &e) == nil {
		e.Blob = strings.Repeat("0", 40)
		lines[0] = string(record.Line(e))
	}
	return lines
})
