// Command real checks mcpstrata against software that none of us wrote: real
// MCP servers on loopback, and the official registry's own server.
//
//	go run -C .ci/real . servers  -bin PATH [-only NAME,…] [-keep]
//	go run -C .ci/real . registry -bin PATH [-keep]
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
	dir  string   // temporary folder of this run
	kids *child.Group
}

// main1 runs one verb: exit code 0 when all checks passed, 1 when one failed or
// could not be made, 2 when called wrongly.
func main1(args []string, stdout, stderr io.Writer) int {
	verbs := map[string]func(context.Context, *job) error{"servers": servers, "registry": registry}
	if len(args) == 0 || verbs[args[0]] == nil {
		fmt.Fprintln(stderr, "usage: real servers|registry -bin PATH [-only NAME,…] [-keep]")
		return 2
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	bin := flags.String("bin", "", "the mcpstrata `program` to check")
	only := flags.String("only", "", "check only these `servers`, by their short names, separated by commas")
	keep := flags.Bool("keep", false, "keep the temporary folder and name it")
	if err := flags.Parse(args[1:]); err != nil || *bin == "" || flags.NArg() > 0 {
		fmt.Fprintf(stderr, "real: %s: want -bin PATH and no further arguments\n", args[0])
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, totalTimeout, fmt.Errorf("not done after %s", totalTimeout))
	defer cancel()
	j := &job{Report: &check.Report{Out: stdout}}
	if *only != "" {
		j.only = strings.Split(*only, ",")
	}
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
	var err error
	if j.bin, err = filepath.Abs(bin); err != nil {
		return fmt.Errorf("locating %s: %w", bin, err)
	}
	if _, err := os.Stat(j.bin); err != nil {
		return fmt.Errorf("looking for the program under test: %w", err)
	}
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
