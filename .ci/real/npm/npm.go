// Package npm installs pinned npm packages once, into the user's cache.
package npm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpstrata/mcpstrata/ci/real/child"
)

// Install returns a folder with the files of tree, a package.json and its lock
// file among them, and the packages that the lock file names. It is made once
// for each state of tree, below the user's cache folder, or below temp where
// there is none. No package runs a script of its own while it is installed.
func Install(ctx context.Context, tree fs.FS, temp string) (dir string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = temp // no home folder: nothing to keep it in
	}
	digest, err := digestOf(tree)
	if err != nil {
		return "", fmt.Errorf("reading the embedded files: %w", err)
	}
	dir = filepath.Join(cache, "mcpstrata-ci", "npm-"+digest)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("making the cache folder: %w", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	if err != nil {
		return "", fmt.Errorf("making the cache folder: %w", err)
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, tree); err != nil {
		return "", fmt.Errorf("copying the embedded files: %w", err)
	}
	out, errs, code, err := child.Run(ctx, work, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	if err != nil {
		return "", err
	}
	if code != 0 {
		return "", fmt.Errorf("installing npm packages: npm ci ended with %d:\n%s%s", code, out, errs)
	}
	if err := os.Rename(work, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("keeping the npm packages: %w", err)
	}
	return dir, nil
}

// digestOf names the state of a tree: twelve hex digits.
func digestOf(tree fs.FS) (string, error) {
	h := sha256.New()
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(tree, path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(b), b)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:12], err
}
