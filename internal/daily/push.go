package daily

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
)

// Remote is the remote that a run is pushed to.
const Remote = "origin"

// Push pushes the newest run to the branch of the same name at [Remote], never
// with force. Where the remote moved meanwhile, the files of the run are applied
// again on its new tip, unless that tip has runs that this one was not compared
// with.
func Push(ctx context.Context, cfg Config) error {
	j, err := newJob(cfg)
	if err != nil {
		return err
	}
	defer j.Close()
	branch, ok, err := j.repo.Branch()
	if err != nil {
		return fmt.Errorf("reading the branch: %w", err)
	}
	if !ok {
		return &HintError{fmt.Errorf("HEAD is detached, so there is no branch to push"), "check out a branch"}
	}
	return j.repo.Push(ctx, Remote, branch, j.reapply)
}

// reapply returns the change that the newest commit made, for another parent.
func (j *Job) reapply(tip string) (gitrepo.Change, error) {
	var c gitrepo.Change
	head, ok, err := j.repo.Head()
	if err != nil || !ok || len(head.Parents) != 1 {
		return c, fmt.Errorf("the newest commit has not one parent: %w", err)
	}
	base, theirs, err := j.runsOf(head.Parents[0], tip)
	if err != nil {
		return c, err
	}
	if !slices.Equal(base, theirs) {
		return c, &HintError{
			fmt.Errorf("%s has other runs than this one was compared with", Remote),
			fmt.Sprintf("another writer recorded this day: `git reset --hard %s/HEAD` gives way to it", Remote),
		}
	}
	was, err := j.repo.TreeBlobs(head.Parents[0])
	if err != nil {
		return c, err
	}
	is, err := j.repo.TreeBlobs(head.ID)
	if err != nil {
		return c, err
	}
	c.Message, c.When = head.Message, head.When
	for name, blob := range is {
		if was[name] != blob {
			c.Paths = append(c.Paths, name)
		}
	}
	for name := range was {
		if _, ok := is[name]; !ok {
			c.Deleted = append(c.Deleted, name)
		}
	}
	slices.Sort(c.Paths)
	slices.Sort(c.Deleted)
	return c, nil
}

// runsOf returns the runs in the trees of two commits.
func (j *Job) runsOf(a, b string) (ra, rb []string, err error) {
	for _, side := range []struct {
		id   string
		runs *[]string
	}{{a, &ra}, {b, &rb}} {
		fsys, err := j.repo.FS(side.id)
		if err != nil {
			return nil, nil, fmt.Errorf("reading the commit %s: %w", side.id, err)
		}
		if *side.runs, err = archive.Open(fsys).Runs(); err != nil {
			return nil, nil, err
		}
	}
	return ra, rb, nil
}
