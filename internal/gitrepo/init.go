package gitrepo

import (
	"fmt"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

// Init makes an empty repository with a work tree in dir, which exists, on the
// branch main.
func Init(dir string) error {
	_, err := git.PlainInitWithOptions(dir, &git.PlainInitOptions{
		InitOptions: git.InitOptions{DefaultBranch: plumbing.NewBranchReferenceName("main")},
	})
	if err != nil {
		return fmt.Errorf("initializing a repository: %w", err)
	}
	return nil
}
