package gitrepo

import "strings"

// Branch returns the short name of the branch that HEAD is on, and false when it
// is detached.
func (r *Repo) Branch() (string, bool, error) {
	ref, _, err := r.head()
	if err != nil {
		return "", false, err
	}
	name, ok := strings.CutPrefix(string(ref), "refs/heads/")
	return name, ok, nil
}
