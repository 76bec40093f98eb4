// Command real checks mcpstrata against software that none of us wrote: real
// MCP servers on loopback, the official registry's own server, a real browser.
//
//	go run -C .ci/real . servers  -bin PATH [-only NAME,…] [-keep]
//	go run -C .ci/real . launched -bin PATH [-keep]
//	go run -C .ci/real . registry -bin PATH [-keep]
//	go run -C .ci/real . browser  -bin PATH [-site DIR] [-keep]
//	go run -C .ci/real . pictures -bin PATH [-site DIR] -out DIR
//
// It imports nothing of mcpstrata: what it expects it works out itself, from
// what recording proxies saw. README.md says what is checked and why.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
	"github.com/mcpstrata/mcpstrata/ci/real/child"
)

// totalTimeout ends a check that hangs, with everything it started.
const totalTimeout = 12 * time.Minute

func main() { os.Exit(main1(os.Args[1:], os.Stdout, os.Stderr)) }

// A job is one run of one verb.
type job struct {
	*check.Report
	bin  string   // mcpstrata, absolute
	only []string // servers; nil for all
	site string   // a rendered site, absolute; "": the demo's
	out  string   // where pictures go, absolute
	dir  string   // temporary folder of this run
	kids *child.Group
}

// usage says how the program is called.
const usage = `usage: real servers  -bin PATH [-only NAME,…] [-keep]
       real launched -bin PATH [-keep]
       real registry -bin PATH [-keep]
       real browser  -bin PATH [-site DIR] [-keep]
       real pictures -bin PATH [-site DIR] -out DIR`

// verbs are what the program can do.
var verbs = map[string]func(context.Context, *job) error{
	"servers": servers, "launched": launched, "registry": registry, "browser": browser, "pictures": pictures,
}

// main1 runs one verb: exit code 0 when all checks passed, 1 when one failed or
// could not be made, 2 when called wrongly.
func main1(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || verbs[args[0]] == nil {
		fmt.Fprintln(stderr, usage)
		return 2
	}
	j := &job{Report: &check.Report{Out: stdout}}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	bin := flags.String("bin", "", "the mcpstrata `program` to check")
	keep := flags.Bool("keep", false, "keep the temporary folder and name it")
	var only string
	switch args[0] {
	case "servers":
		flags.StringVar(&only, "only", "", "check only these `servers`, by their short names, separated by commas")
	case "pictures":
		flags.StringVar(&j.out, "out", "", "write the pictures into this `folder`")
		fallthrough
	case "browser":
		flags.StringVar(&j.site, "site", "", "look at the rendered site in this `folder` instead of the demo's")
	}
	if err := flags.Parse(args[1:]); err != nil || *bin == "" || flags.NArg() > 0 || args[0] == "pictures" && j.out == "" {
		fmt.Fprintf(stderr, "real: %s: called wrongly\n%s\n", args[0], usage)
		return 2
	}
	if only != "" {
		j.only = strings.Split(only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, totalTimeout, fmt.Errorf("not done after %s", totalTimeout))
	defer cancel()
	err := j.run(ctx, *bin, *keep, verbs[args[0]])
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		j.OK(false, "%s: %v", args[0], err)
	}
	if !j.Close() {
		return 1
	}
	return 0
}

// run gives a verb its folder, and ends what it started.
func (j *job) run(ctx context.Context, bin string, keep bool, verb func(context.Context, *job) error) error {
	j.bin = bin
	for _, path := range []*string{&j.bin, &j.site, &j.out} {
		if *path == "" {
			continue
		}
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			return fmt.Errorf("locating %s: %w", *path, err)
		}
	}
	if _, err := os.Stat(j.bin); err != nil {
		return fmt.Errorf("looking for the program under test: %w", err)
	}
	var err error
	if j.dir, err = os.MkdirTemp("", "mcpstrata-real-"); err != nil {
		return fmt.Errorf("making a temporary folder: %w", err)
	}
	if keep {
		j.Note("folder: %s", j.dir)
	} else {
		defer os.RemoveAll(j.dir)
	}
	logs := filepath.Join(j.dir, "logs")
	if err := os.Mkdir(logs, 0o755); err != nil {
		return fmt.Errorf("making a folder for logs: %w", err)
	}
	j.kids = &child.Group{LogDir: logs}
	defer j.kids.Close()
	return verb(ctx, j)
}
