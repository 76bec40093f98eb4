package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// locating are the variables that git sets for its hooks; inherited, they would
// send a command to another repository or index (git rev-parse --local-env-vars).
var locating = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CEILING_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR",
	"GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX",
	"GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
	"GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
}

// gitEnv returns the environment of git commands: that of the process, less what
// names another repository, with English messages, no questions asked, and paths
// taken as they are.
func gitEnv() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(locating, name)
	})
	return append(env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", "GIT_LITERAL_PATHSPECS=1")
}

// killDelay is how long a git command may take to end after its context did.
const killDelay = 5 * time.Second

// maxComplaint bounds what is repeated of a git command's standard error.
const maxComplaint = 2 << 10

// command runs git in the work tree, without hooks, and returns its standard
// output. The error holds what git said.
func (r *Repo) command(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	if r.git == "" {
		return nil, exec.ErrNotFound
	}
	full := append([]string{"-C", r.root, "-c", "core.hooksPath=" + os.DevNull}, args...)
	cmd := exec.CommandContext(ctx, r.git, full...)
	cmd.Env = gitEnv()
	cmd.Stdin = stdin
	cmd.WaitDelay = killDelay
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		said := strings.TrimSpace(stderr.String())
		if len(said) > maxComplaint {
			said = said[:maxComplaint] + "…"
		}
		if said = strings.ReplaceAll(said, "\n", "; "); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return nil, fmt.Errorf("running git %s: %w", args[0], err)
	}
	return stdout.Bytes(), nil
}

// exitCode returns the exit code that err reports, -1 if it reports none.
func exitCode(err error) int {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode()
	}
	return -1
}
