// Mcpstrata keeps the public memory of MCP servers: it reads the official
// registry once a day, asks every remote server for its tools, and commits what
// it saw to a git repository.
//
// Each verb is one file of this package. README.md shows the two that a
// newcomer needs; `mcpstrata help` lists all.
//
// Results go to standard output and nothing else does. What went wrong is one
// line on standard error, then a hint where there is one. The exit status is 0
// when the verb did what it was asked, 1 when it failed, 2 when it was called
// wrongly, 3 when a verb that checks found a difference or a fault.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/visible"
)

// Exit statuses, and all there are.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitFound  = 3
)

// A command is one verb.
type command struct {
	name  string
	args  string // after the flags, for usage
	short string // completes "mcpstrata <name> ..."
	waits bool   // for the network: it ends well when it is interrupted
	run   func(ctx context.Context, c *call) error
}

// commands lists the verbs in the order in which help shows them.
func commands() []command {
	return []command{
		{"demo", "", "shows everything, offline: simulated days over an embedded registry and servers", true, demo},
		{"run", "", "does the daily job: roster, probe, record, commit, site", true, runDaily},
		{"roster", "-out PLAN", "reads the registry and writes the plan of today's run", true, roster},
		{"probe", "-plan PLAN -out FILE | URL | -launch npm:PKG@VERSION|cmd:PATH [-- ARGS]", "executes a plan, or reads one server", true, probeVerb},
		{"record", "-plan PLAN FILE...", "stages the records of a run", true, recordVerb},
		{"commit", "", "commits what is staged", true, commitVerb},
		{"site", "", "builds the site from the data folder", true, siteVerb},
		{"serve", "", "serves the site over HTTP", true, serveVerb},
		{"log", "NAME", "prints the history of one target", false, logVerb},
		{"show", "NAME[@DAY]", "prints a target and its tools, as of a day", false, showVerb},
		{"diff", "NAME [OLD [NEW]] | -files OLD.json NEW.json", "compares two contracts", false, diffVerb},
		{"artifact", "DIGEST", "prints a recorded body, verbatim", false, artifactVerb},
		{"observations", "DAY", "prints the row of every target on a day", false, observationsVerb},
		{"halflife", "", "prints how long contracts last, with the table of the curve", false, halfLifeVerb},
		{"canon", "[FILE]", "prints the canonical bytes of a JSON document", false, canonVerb},
		{"digest", "[FILE]", "prints the identities of a tools/list result, and others' digests of it", false, digestVerb},
		{"compare", "A.json B.json", "compares two published observations, and says whether a difference is drift or of the reading", false, compareVerb},
		{"verify", "", "checks the data folder by every rule", false, verifyVerb},
		{"version", "", "prints the version", false, versionVerb},
	}
}

// A call is one invocation of a verb: its words and where it speaks.
type call struct {
	verb   string
	args   []string // after the verb
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	flags  *flag.FlagSet
	step   func(string) error // crash tests only: called before each durable step
}

// parse reads the flags and returns the other words, of which there must be from
// least to most (-1: any number). Flags may stand before and after words; what
// follows -- are words.
func (c *call) parse(least, most int) ([]string, error) {
	var words []string
	for args := c.args; ; {
		if err := c.flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, usageError{err.Error()}
		}
		rest := c.flags.Args()
		if len(rest) == 0 {
			break
		}
		if n := len(args) - len(rest); n > 0 && args[n-1] == "--" {
			words = append(words, rest...)
			break
		}
		words, args = append(words, rest[0]), rest[1:]
	}
	switch {
	case len(words) < least:
		return nil, usageError{"too few arguments"}
	case most >= 0 && len(words) > most:
		return nil, usageError{fmt.Sprintf("unexpected argument %q", words[most])}
	}
	return words, nil
}

// note prints one line for people.
func (c *call) note(line string) {
	fmt.Fprintf(c.stderr, "mcpstrata: %s: %s\n", c.verb, visible.Line(line))
}

// json prints JSON. Recorded text stays what it is, but characters that a
// terminal obeys or hides are written as escapes, which mean the same.
func (c *call) json(b []byte) error {
	_, err := c.stdout.Write(visible.JSON(b))
	return err
}

// A usageError says how a verb was called wrongly.
type usageError struct{ what string }

func (e usageError) Error() string { return e.what }

// errFound is returned by verbs that check and have printed what they found.
var errFound = errors.New("found")

// errInterrupted says that the person, or the machine, asked for the end.
var errInterrupted = &daily.HintError{
	Err:  errors.New("interrupted"),
	Next: "start it again: what was staged whole is rolled forward, and nothing is half done",
}

// memoryLimit, in bytes, is where the collector begins to work harder: bodies of
// hostile servers, all at once, are garbage soon. GOMEMLIMIT overrides it.
const memoryLimit = 1 << 30

func main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	ctx := context.Background()
	waits := func(c command) bool { return len(os.Args) > 1 && c.name == os.Args[1] && c.waits }
	if slices.ContainsFunc(commands(), waits) {
		var stop func()
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop) // a second signal kills
	}
	os.Exit(main1(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, nil))
}

// main1 runs one verb and returns the exit status.
func main1(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, step func(string) error) int {
	if len(args) == 0 {
		help(stderr)
		return exitUsage
	}
	verb := args[0]
	if verb == "help" || verb == "-h" || verb == "-help" || verb == "--help" {
		help(stdout)
		return exitOK
	}
	for _, cmd := range commands() {
		if cmd.name != verb {
			continue
		}
		c := &call{verb: verb, args: args[1:], stdin: stdin, stdout: stdout, stderr: stderr, step: step}
		c.flags = flag.NewFlagSet(verb, flag.ContinueOnError)
		c.flags.SetOutput(io.Discard)
		err := cmd.run(ctx, c)
		if err != nil && ctx.Err() != nil {
			err = errInterrupted
		}
		return c.report(cmd, err)
	}
	fmt.Fprintf(stderr, "mcpstrata: %s: there is no such verb\n", visible.Line(verb))
	fmt.Fprintln(stderr, "mcpstrata: hint: `mcpstrata help` lists the verbs")
	return exitUsage
}

// report prints an error as one line and a hint, and returns the exit status.
func (c *call) report(cmd command, err error) int {
	var usage usageError
	var hinted interface{ Hint() string }
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFound):
		return exitFound
	case errors.Is(err, flag.ErrHelp):
		c.usage(cmd, c.stdout)
		return exitOK
	case errors.As(err, &usage):
		c.note(usage.what)
		fmt.Fprintf(c.stderr, "mcpstrata: hint: `mcpstrata %s -h` shows how it is called\n", c.verb)
		return exitUsage
	}
	c.note(strings.ReplaceAll(err.Error(), "\n", "; "))
	if errors.As(err, &hinted) && hinted.Hint() != "" {
		fmt.Fprintf(c.stderr, "mcpstrata: hint: %s\n", visible.Line(hinted.Hint()))
	}
	return exitFailed
}

func (c *call) usage(cmd command, w io.Writer) {
	fmt.Fprintf(w, "usage: mcpstrata %s [flags] %s\n\nIt %s.\n", cmd.name, cmd.args, cmd.short)
	any := false
	c.flags.VisitAll(func(*flag.Flag) { any = true })
	if any {
		fmt.Fprintln(w, "\nflags:")
		c.flags.SetOutput(w)
		c.flags.PrintDefaults()
	}
}

func help(w io.Writer) {
	fmt.Fprint(w, "mcpstrata keeps the public memory of MCP servers.\n\nusage: mcpstrata <verb> [flags] [arguments]\n\n")
	for _, cmd := range commands() {
		fmt.Fprintf(w, "  %-13s %s\n", cmd.name, cmd.short)
	}
	fmt.Fprint(w, "\n`mcpstrata <verb> -h` shows the flags of a verb.\n")
}
