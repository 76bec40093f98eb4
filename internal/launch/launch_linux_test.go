package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// markPrefix begins the name of a variable that marks all processes of one test.
const markPrefix = "MARK_"

// config starts this test binary as a server of a kind.
func config(t *testing.T, sandbox, kind string, args ...string) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	limits := DefaultLimits
	limits.Time, limits.Stderr, limits.File = 30*time.Second, 4<<20, 2<<20
	cfg := Config{
		Self:    []string{self, "inside"},
		Source:  "cmd:" + self,
		Args:    append([]string{"server", kind}, args...),
		Env:     []string{markPrefix + strings.ToUpper(filepath.Base(t.TempDir())) + fmt.Sprintf("_%d_%p", os.Getpid(), t)},
		Network: NetworkNone,
		Limits:  limits,
		Note:    func(line string) { t.Log(line) },
	}
	if sandbox != "" {
		cfg.kinds = []string{sandbox}
	}
	if sandbox == confineNothing {
		cfg.Network = NetworkFull
	}
	return cfg
}

// sandboxes are those that work here. A test that finds none is skipped.
func sandboxes(t *testing.T) []string {
	t.Helper()
	works := []string{confineNothing}
	for _, s := range []string{confineBubblewrap, confineNamespaces} {
		cfg := config(t, s, "plain")
		_, err := Read(t.Context(), cfg, record.V2)
		var refusal *Refusal
		switch {
		case err == nil:
			works = append(works, s)
		case errors.As(err, &refusal):
			t.Logf("NOT TESTED with %s: %v", s, err)
		default:
			t.Fatalf("Read(plain server in %s) = %v", s, err)
		}
	}
	return works
}

// marked returns the processes that have the mark of cfg in their environment.
func marked(cfg Config) []string {
	var pids []string
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(cfg.Env[0]+"=")) {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids
}

// nothingLeft fails if a process that Read started is still there.
func nothingLeft(t *testing.T, cfg Config) {
	t.Helper()
	if pids := marked(cfg); len(pids) > 0 {
		t.Errorf("after Read processes %v of the server are running, want none", pids)
	}
	if left := descendants(os.Getpid()); len(left) > 0 {
		t.Errorf("after Read processes %v of this program are running, want none", left)
	}
}

func description(t *testing.T, r Result) string {
	t.Helper()
	c, err := contract.Read(r.Pages)
	if err != nil || len(c.Tools) != 1 {
		t.Fatalf("Read(server) = outcome %v, %d pages (%v), want one tool", r.Outcome, len(r.Pages), err)
	}
	return c.Tools[0].Value.Get("description").Text
}

func TestSurroundings(t *testing.T) {
	for _, s := range sandboxes(t) {
		if s == confineNothing {
			continue
		}
		for _, network := range []string{NetworkNone, NetworkFull} {
			t.Run(s+"/"+network, func(t *testing.T) {
				cfg := config(t, s, "look", "a b", "$(id)")
				cfg.Network = network
				r, err := Read(t.Context(), cfg, record.V2)
				if err != nil {
					t.Fatal(err)
				}
				got := description(t, r)
				want := fmt.Sprintf(`args=["a b" "$(id)"] cwd=/home/reader host=reader uid=1000 parent=1 env=["HOME=/home/reader" "LANG=C.UTF-8" "%s=placeholder-%s" "PATH=%s" "TMPDIR=/tmp"]`,
					cfg.Env[0], cfg.Env[0], systemPath)
				// Only the end of a namespace's first process ends all others. bubblewrap adds PWD; the order of variables is no matter.
				for _, part := range append(strings.Fields(want[strings.Index(want, "cwd="):]), `args=["a b" "$(id)"]`) {
					if part = strings.Trim(part, "[]"); !strings.Contains(got, strings.TrimPrefix(part, "env=[")) {
						t.Errorf("Read(look) = %s, want it to hold %s", got, part)
					}
				}
				if up := strings.Count(got, " up="); network == NetworkNone && (up != 1 || !strings.Contains(got, " up=lo ")) {
					t.Errorf("Read(look) = %s, want no interface up but lo", got)
				}
				rest := got[strings.Index(got, " home="):]
				if s == confineBubblewrap && os.Getuid() == 0 { // which is why only tests do that
					rest = strings.Replace(rest, " read=/etc/shadow", "", 1)
				}
				if rest != " home=0,<nil> wrote=/home/reader wrote=/tmp big=true" {
					t.Errorf("Read(look) ends in %q, want an empty home, nothing written but to it and /tmp, nothing read, and a file too large", rest)
				}
				want2 := record.Launch{Args: cfg.Args, EnvNames: cfg.Env, EnvValues: "placeholder", Home: "/home/reader", Network: network}
				if c := r.Capture; c.Launch == nil || c.Transport != "stdio" || fmt.Sprint(*c.Launch) != fmt.Sprint(want2) || c.Protocol.VersionHeader {
					t.Errorf("Read(look) has capture %+v, launch %+v, want %+v", c, c.Launch, want2)
				}
				nothingLeft(t, cfg)
			})
		}
	}
}

func TestReaderInDefinition(t *testing.T) {
	for _, tt := range []struct {
		kind string
		env  string
		want bool
	}{
		{"home", "API_KEY", true},
		{"key", "API_KEY", true},
		{"plain", "API_KEY", false},
	} {
		for _, s := range sandboxes(t) {
			t.Run(tt.kind+"/"+s, func(t *testing.T) {
				cfg := config(t, s, tt.kind)
				cfg.Env = []string{tt.env}
				r, err := Read(t.Context(), cfg, record.V2)
				if err != nil {
					t.Fatal(err)
				}
				if got := slices.Contains(r.Flags, record.FlagReaderInDefinition); got != tt.want || !r.Outcome.OK() {
					t.Errorf("Read(%s) = %v, flags %v, want the flag: %v", tt.kind, r.Outcome, r.Flags, tt.want)
				}
			})
		}
	}
}

func TestEnded(t *testing.T) {
	short := record.V2
	short.RequestTimeout = 2 * time.Second
	long := record.V2
	timeout, reset := record.Outcome{Class: record.Timeout, Step: record.StepInitialize}, record.Outcome{Class: record.TLS, Detail: record.DetailReset, Step: record.StepInitialize}
	large := record.Outcome{Class: record.Parse, Detail: record.DetailTooLarge, Step: record.StepInitialize}
	for _, tt := range []struct {
		kind   string
		m      record.Methodology
		limit  func(*Limits)
		want   []record.Outcome
		ended  string
		stderr string
	}{
		{kind: "silent", m: short, want: []record.Outcome{timeout}},
		{kind: "silent", m: long, limit: func(l *Limits) { l.Time = 2 * time.Second }, want: []record.Outcome{timeout}, ended: "longer than 2s"},
		{kind: "stubborn", m: short, want: []record.Outcome{timeout}},
		{kind: "daemon", m: long, want: []record.Outcome{reset}},
		{kind: "answers-and-forks", m: long, want: []record.Outcome{{}}},
		{kind: "modern", m: long, want: []record.Outcome{{}}},
		{kind: "flood-stdout", m: long, want: []record.Outcome{large}},
		{kind: "flood-line", m: long, want: []record.Outcome{large}},
		{kind: "flood-stderr", m: long, want: []record.Outcome{large}, ended: "standard error", stderr: "eeee"},
		{kind: "memory", m: long, limit: func(l *Limits) { l.Memory = 150 << 20 }, want: []record.Outcome{reset}, ended: "150 MiB of memory"},
		{kind: "exits", m: long, want: []record.Outcome{reset}, stderr: "no key, no service"},
		// Where the kernel limits processes the server meets that limit and goes on
		// or not; where it does not, it is ended.
		{kind: "forks", m: short, limit: func(l *Limits) { l.Tasks = 60 }, want: []record.Outcome{timeout, reset}},
	} {
		for _, s := range sandboxes(t) {
			t.Run(tt.kind+"/"+s, func(t *testing.T) {
				cfg := config(t, s, tt.kind)
				if tt.limit != nil {
					tt.limit(&cfg.Limits)
				}
				r, err := Read(t.Context(), cfg, tt.m)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(tt.want, r.Outcome) {
					t.Errorf("Read(%s) = %v at %q, want one of %v", tt.kind, r.Outcome, r.Outcome.Step, tt.want)
				}
				if !strings.Contains(r.Ended, tt.ended) || tt.ended == "" && r.Ended != "" && tt.kind != "forks" {
					t.Errorf("Read(%s) was ended for %q, want %q", tt.kind, r.Ended, tt.ended)
				}
				if !strings.Contains(r.Stderr, tt.stderr) || len(r.Stderr) > keptStderr {
					t.Errorf("Read(%s) has %d bytes of standard error %.100q, want %q in at most %d", tt.kind, len(r.Stderr), r.Stderr, tt.stderr, keptStderr)
				}
				nothingLeft(t, cfg)
			})
		}
	}
}

// wait waits until ok holds, for 20 seconds at most.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestCancelled(t *testing.T) {
	for _, s := range sandboxes(t) {
		t.Run(s, func(t *testing.T) {
			cfg := config(t, s, "stubborn")
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() {
				_, err := Read(ctx, cfg, record.V2)
				done <- err
			}()
			wait(t, "the server and its child", func() bool { return len(marked(cfg)) >= 2 })
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("Read(cancelled) = %v, want %v", err, context.Canceled)
			}
			nothingLeft(t, cfg)
		})
	}
}

func TestKilled(t *testing.T) {
	for _, s := range sandboxes(t) {
		t.Run(s, func(t *testing.T) {
			cfg := config(t, s, "stubborn")
			b, err := json.Marshal(cfg)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(cfg.Self[0], "reader", string(b), s)
			cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			wait(t, "the server and its child", func() bool { return len(marked(cfg)) >= 2 })
			cmd.Process.Kill()
			cmd.Wait()
			wait(t, "the end of the server", func() bool { return len(marked(cfg)) == 0 })
		})
	}
}

func TestUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("all other tests are that")
	}
	for _, s := range sandboxes(t) {
		if s != confineNothing {
			t.Run(s, func(t *testing.T) { testUnprivileged(t, s) })
		}
	}
}

func testUnprivileged(t *testing.T, sandbox string) {
	dir, err := os.MkdirTemp("", "launch") // not below a folder of root's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cfg := config(t, sandbox, "look")
	binary, err := os.ReadFile(cfg.Self[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "server"), binary, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	cfg.Self[0], cfg.Source = filepath.Join(dir, "server"), "cmd:"+filepath.Join(dir, "server")
	b, _ := json.Marshal(cfg)
	cmd := exec.Command(cfg.Self[0], "reader", string(b), sandbox)
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "PATH=" + systemPath}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	out, err := cmd.CombinedOutput()
	if err != nil && bytes.Contains(out, []byte("does not work here")) {
		t.Skipf("NOT TESTED: this kernel gives namespaces to root only: %s", out)
	}
	var r Result
	if err != nil || json.Unmarshal(out, &r) != nil {
		t.Fatalf("Read(look) by an unprivileged user = %v, %s", err, out)
	}
	got := description(t, r)
	if want := " up=lo home=0,<nil> wrote=/home/reader wrote=/tmp big=true"; !strings.HasSuffix(got, want) || !strings.Contains(got, "uid=1000") {
		t.Errorf("Read(look) by an unprivileged user = %s, want uid=1000 and %s", got, want)
	}
	nothingLeft(t, cfg)
}

func TestRefused(t *testing.T) {
	t.Run("nothing works", func(t *testing.T) {
		cfg := config(t, "", "plain")
		cfg.Self = []string{"/bin/false"}
		_, err := Read(t.Context(), cfg, record.V2)
		var refusal *Refusal
		if !errors.As(err, &refusal) || strings.Contains(err.Error(), "\n") || !strings.Contains(refusal.Hint(), "-network full") {
			t.Errorf("Read(no sandbox) = %v, want a refusal of one line with a hint", err)
		}
	})
	t.Run("never without saying so", func(t *testing.T) {
		t.Setenv("PATH", "")
		cfg := config(t, "", "plain")
		cfg.kinds = []string{confineBubblewrap}
		if _, err := Read(t.Context(), cfg, record.V2); err == nil || !strings.Contains(err.Error(), "bubblewrap does not work here: it is not installed") {
			t.Errorf("Read(no bubblewrap) = %v, want it refused", err)
		}
		var notes []string
		cfg.Network, cfg.kinds, cfg.Note = NetworkFull, []string{confineBubblewrap, confineNothing}, func(line string) { notes = append(notes, line) }
		r, err := Read(t.Context(), cfg, record.V2)
		if err != nil || len(notes) != 2 || r.Capture.Launch.Network != NetworkFull || strings.HasPrefix(r.Capture.Launch.Home, "/home/") {
			t.Errorf("Read(no bubblewrap, network full) = %v, launch %+v, notes %q, want it said twice", err, r.Capture.Launch, notes)
		}
	})
	t.Run("no program", func(t *testing.T) {
		cfg := config(t, "", "plain")
		cfg.Source = "cmd:/no/such/program"
		if _, err := Read(t.Context(), cfg, record.V2); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("Read(no program) = %v, want %v", err, os.ErrNotExist)
		}
	})
	t.Run("no executable", func(t *testing.T) {
		cfg := config(t, "", "plain")
		path := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(path, []byte("neither a script nor a binary"), 0o755); err != nil {
			t.Fatal(err)
		}
		cfg.Source = "cmd:" + path
		var server *serverError
		if _, err := Read(t.Context(), cfg, record.V2); !errors.As(err, &server) {
			t.Errorf("Read(no executable) = %v, want it not started", err)
		}
	})
}

// TestOffline looks whether a network that is there would be seen.
func TestOffline(t *testing.T) {
	if err := offline(namespaceOf()); err == nil {
		t.Error("offline(the outer namespace) = nil, want an error")
	}
}
