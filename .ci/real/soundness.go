package main

import (
	"context"
	"strconv"
	"strings"
)

// checkCommits checks that the history has one commit for each day so far, and
// that the work tree is as committed.
func (s *series) checkCommits(ctx context.Context) error {
	count, err := s.repo.git(ctx, "rev-list", "--count", "HEAD")
	if err != nil {
		return err
	}
	got := strings.TrimSpace(string(count.out))
	s.OK(got == strconv.Itoa(s.commits), "%s: %s commits, want %d, one a day", s.date(), got, s.commits)
	status, err := s.repo.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	s.OK(status.code == 0 && len(status.out) == 0, "%s: git status is clean: %q", s.date(), status.out)
	return nil
}

// soundness checks the finished repository with its own verb and with git.
func (s *series) soundness(ctx context.Context) error {
	verify, err := s.repo.call(ctx, "verify", "-data", s.repo.data())
	if err != nil {
		return err
	}
	if !s.OK(verify.code == 0, "verify exits 0, got %d", verify.code) {
		s.Note("%s%s", verify.out, verify.last())
	}
	fsck, err := s.repo.git(ctx, "fsck", "--strict")
	if err != nil {
		return err
	}
	if !s.OK(fsck.code == 0, "git fsck --strict passes, exit code %d", fsck.code) {
		s.Note("%s%s", fsck.out, fsck.last())
	}
	return s.checkCommits(ctx)
}
