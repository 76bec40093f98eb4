package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpstrata/mcpstrata/internal/fleet"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mcpstrata": func() {
			os.Exit(main1(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, nil))
		},
		// fleetserver KIND VERSION is a stdio server of package fleet.
		"fleetserver": func() {
			if err := fleet.ServeStdio(os.Args[1], os.Stdin, os.Stdout, fleet.Process(os.Args[2], os.Args[3:])); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
	})
}

// The scripts run the command as a person would. `fleet N` starts N servers and
// a registry, and sets $REGISTRY; `fleetday D` moves it to a simulated day.
func TestScript(t *testing.T) {
	fleets := map[*testscript.TestScript]*fleet.Fleet{}
	testscript.Run(t, testscript.Params{
		Condition: func(name string) (bool, error) {
			if name == "namespaces" { // what a sandbox is made of can be had
				return exec.Command("unshare", "--user", "--map-root-user", "--net", "true").Run() == nil, nil
			}
			return false, fmt.Errorf("there is no condition %s", name)
		},
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"fleet": func(ts *testscript.TestScript, _ bool, args []string) {
				n, err := strconv.Atoi(args[0])
				ts.Check(err)
				f, err := fleet.Start(context.Background(), fleet.Config{Seed: 7, Servers: n, Days: 5, Hang: 20 * time.Second})
				ts.Check(err)
				ts.Defer(func() { f.Close() })
				fleets[ts] = f
				ts.Setenv("REGISTRY", f.RegistryURL())
			},
			"fleetday": func(ts *testscript.TestScript, _ bool, args []string) {
				n, err := strconv.Atoi(args[0])
				ts.Check(err)
				ts.Check(fleets[ts].SetDay(n))
			},
			"emptyregistry": func(ts *testscript.TestScript, _ bool, _ []string) {
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					io.WriteString(w, `{"servers":[],"metadata":{"count":0}}`)
				}))
				ts.Defer(s.Close)
				ts.Setenv("REGISTRY", s.URL+"/v0.1/servers")
			},
			"chomp": func(ts *testscript.TestScript, _ bool, args []string) {
				for _, name := range args {
					ts.Check(os.WriteFile(ts.MkAbs(name), bytes.TrimSuffix([]byte(ts.ReadFile(name)), []byte("\n")), 0o666))
				}
			},
			"oneline": func(ts *testscript.TestScript, neg bool, args []string) {
				if n := countLines(ts.ReadFile(args[0])); n != 1 != neg {
					ts.Fatalf("%s has %d lines", args[0], n)
				}
			},
		},
	})
}

func countLines(s string) int {
	n := 0
	for _, r := range s {
		if r == '\n' {
			n++
		}
	}
	return n
}

// Every verb has a usage text, and says so when it is called wrongly.
func TestVerbsAreCalledWrongly(t *testing.T) {
	for _, cmd := range commands() {
		t.Run(cmd.name, func(t *testing.T) {
			var out, errs writer
			if got := main1(t.Context(), []string{cmd.name, "-no-such-flag"}, nil, &out, &errs, nil); got != exitUsage {
				t.Errorf("status = %d, want %d", got, exitUsage)
			}
			want := fmt.Sprintf("mcpstrata: %s: flag provided but not defined: -no-such-flag\nmcpstrata: hint: `mcpstrata %s -h` shows how it is called\n", cmd.name, cmd.name)
			if string(errs) != want || len(out) > 0 {
				t.Errorf("it printed %q and %q, want nothing and %q", out, errs, want)
			}
			out, errs = nil, nil
			if got := main1(t.Context(), []string{cmd.name, "-h"}, nil, &out, &errs, nil); got != exitOK || len(out) == 0 || len(errs) > 0 {
				t.Errorf("-h: status %d, %d bytes of usage, %q", got, len(out), errs)
			}
		})
	}
}

// Whoever interrupts gets one line and what to do next, whatever was under way.
func TestInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(errors.New("interrupt signal received"))
	var out, errs writer
	got := main1(ctx, []string{"demo", "-no-serve", "-days", "2", "-servers", "3", "-dir", t.TempDir()}, nil, &out, &errs, nil)
	if got != exitFailed || len(out) > 0 || !strings.HasSuffix(string(errs), "\nmcpstrata: demo: interrupted\nmcpstrata: hint: start it again: what was staged whole is rolled forward, and nothing is half done\n") {
		t.Errorf("status %d, stdout %q, stderr %q", got, out, errs)
	}
}

type writer []byte

func (w *writer) Write(p []byte) (int, error) { *w = append(*w, p...); return len(p), nil }
