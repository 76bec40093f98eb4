package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	git "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
)

// pushTries bounds how often a commit is re-applied to a remote that moves.
const pushTries = 5

// Push has branch of remote follow HEAD, without force, with the git command,
// which sends a fifth of the bytes that go-git would.
//
// When the remote has moved, its new commits are fetched (without a depth: from a
// shallow clone, only those), and reapply is called with the new tip. It returns
// the change to make there, whose files are in the work tree already, or an error
// if the tip holds what makes that wrong, such as a run of the same day: look
// with [Repo.FS]. Parent of the change is set to the new tip. The commit takes the
// place of HEAD, and the work tree follows with what the others changed outside
// the change; should that touch a file with local changes, nothing moves, and it
// is an error. So it is when HEAD is more than one commit ahead of what the remote
// has: those in between would be lost. All that at most five times.
//
// Without a git command go-git pushes, and a remote that has moved is an error.
// All errors but those of reapply are a [*PushError].
func (r *Repo) Push(ctx context.Context, remote, branch string, reapply func(newTip string) (Change, error)) error {
	fail := func(err error) error { return &PushError{Remote: remote, Branch: branch, Err: err} }
	if err := checkRemote(remote, branch); err != nil {
		return fail(err)
	}
	if r.git == "" {
		if err := r.pushWithout(ctx, remote, branch); err != nil {
			return fail(err)
		}
		return nil
	}
	for try := 1; ; try++ {
		_, pushErr := r.command(ctx, nil, "push", "--quiet", remote, "HEAD:refs/heads/"+branch)
		if pushErr == nil {
			return nil
		}
		if ctx.Err() != nil || try == pushTries {
			return fail(pushErr)
		}
		tip, moved, err := r.fetch(ctx, remote, branch)
		if err != nil {
			return fail(fmt.Errorf("%w; then %w", pushErr, err))
		}
		if !moved || reapply == nil {
			return fail(pushErr)
		}
		if _, err := r.command(ctx, nil, "merge-base", "--is-ancestor", "HEAD^1", tip); err != nil {
			return fail(fmt.Errorf("%w; the commit before HEAD is not in the remote either (%w), and only one can be re-applied", pushErr, err))
		}
		change, err := reapply(tip)
		if err != nil {
			return fmt.Errorf("re-applying to %s: %w", tip, err)
		}
		change.Parent = tip
		if err := r.replaceHead(ctx, change); err != nil {
			return fail(err)
		}
	}
}

// checkRemote refuses what git would take for an option.
func checkRemote(remote, branch string) error {
	if remote == "" || strings.HasPrefix(remote, "-") {
		return fmt.Errorf("%q is not a remote", remote)
	}
	if err := plumbing.NewBranchReferenceName(branch).Validate(); err != nil {
		return fmt.Errorf("%q is not a branch: %w", branch, err)
	}
	return nil
}

// fetch gets the tip of the remote's branch, and reports whether HEAD lacks it.
func (r *Repo) fetch(ctx context.Context, remote, branch string) (tip string, moved bool, err error) {
	if _, err := r.command(ctx, nil, "fetch", "--quiet", "--no-tags", remote, "refs/heads/"+branch); err != nil {
		return "", false, err
	}
	out, err := r.command(ctx, nil, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
	if err != nil {
		return "", false, err
	}
	tip = strings.TrimSpace(string(out))
	r.store.Reindex()
	_, err = r.command(ctx, nil, "merge-base", "--is-ancestor", tip, "HEAD")
	if exitCode(err) == 1 {
		return tip, true, nil
	}
	return tip, false, err
}

// replaceHead makes c the commit at HEAD in place of the one that is there. At no
// moment is there neither: the new one is complete before git moves HEAD, index
// and work tree to it.
func (r *Repo) replaceHead(ctx context.Context, c Change) error {
	if err := c.check(); err != nil {
		return err
	}
	b, err := r.build(ctx, &c, nil, &stepper{hook: c.Step})
	if err != nil {
		return err
	}
	_, err = r.command(ctx, nil, "reset", "-q", "--keep", b.id.String())
	return err
}

// pushWithout pushes with go-git.
func (r *Repo) pushWithout(ctx context.Context, remote, branch string) error {
	rc, ok := r.config.Remotes[remote]
	if !ok {
		return fmt.Errorf("there is no remote called %s", remote)
	}
	_, id, err := r.head()
	if err != nil {
		return err
	}
	spec := config.RefSpec(id.String() + ":refs/heads/" + branch)
	err = git.NewRemote(r.store, rc).PushContext(ctx, &git.PushOptions{
		RemoteName: remote, RefSpecs: []config.RefSpec{spec},
	})
	if errors.Is(err, git.NoErrAlreadyUpToDate) {
		return nil
	}
	return err
}
