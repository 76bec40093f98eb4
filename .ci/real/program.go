package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/ci/real/child"
)

// callTimeout bounds one call of the program under test.
const callTimeout = 3 * time.Minute

// A repo is a git repository that the program under test writes to.
type repo struct {
	job *job
	dir string
}

// newRepo makes an empty repository.
func (j *job) newRepo(ctx context.Context, name string) (*repo, error) {
	r := &repo{job: j, dir: filepath.Join(j.dir, name)}
	_, errs, code, err := child.Run(ctx, j.dir, "git", "init", "-q", r.dir)
	if err == nil && code != 0 {
		err = fmt.Errorf("making a git repository: %s", errs)
	}
	return r, err
}

// data is the data folder, the value for -data.
func (r *repo) data() string { return filepath.Join(r.dir, "data") }

// A said is what a program printed and how it ended.
type said struct {
	out, err []byte
	code     int
}

// last returns the end of what it printed on stderr.
func (s said) last() string {
	lines := strings.Split(strings.TrimSpace(string(s.err)), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}

// call runs one verb of the program under test in the repository.
func (r *repo) call(ctx context.Context, args ...string) (said, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("mcpstrata %s: not done after %s", args[0], callTimeout))
	defer cancel()
	out, errs, code, err := child.Run(ctx, r.dir, append([]string{r.job.bin}, args...)...)
	if cause := context.Cause(ctx); cause != nil {
		err = fmt.Errorf("%w; it said:\n%s", cause, errs)
	}
	return said{out, errs, code}, err
}

// git runs a git command in the repository and returns what it printed.
func (r *repo) git(ctx context.Context, args ...string) (said, error) {
	out, errs, code, err := child.Run(ctx, r.dir, append([]string{"git"}, args...)...)
	return said{out, errs, code}, err
}

// lines decodes JSON lines, skipping empty ones.
func lines[T any](b []byte) ([]T, error) {
	var all []T
	for line := range bytes.Lines(b) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return all, fmt.Errorf("reading line %d, %.80q: %w", len(all)+1, line, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// fileLines decodes a file of JSON lines.
func fileLines[T any](path string) ([]T, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return lines[T](b)
}
