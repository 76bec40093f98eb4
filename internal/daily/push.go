package daily

import (
	"context"
	"fmt"
	"slices"

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
	if err != nil {
		return c, fmt.Errorf("reading the newest commit: %w", err)
	}
	if !ok || len(head.Parents) != 1 {
		return c, fmt.Errorf("the newest commit is no run on top of another commit")
	}
	same, err := j.sameSeries(head.Parents[0], tip)
	if err != nil {
		return c, err
	}
	if !same {
		return c, &HintError{
			fmt.Errorf("%s has another series than this run was compared with", Remote),
			fmt.Sprintf("another writer recorded this day: `git reset --hard @{upstream}` gives way to what %s has", Remote),
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
