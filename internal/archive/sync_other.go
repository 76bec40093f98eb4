//go:build !linux

package archive

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// syncTree makes everything written below dir durable, file by file: these
// systems have no call that syncs one file system.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && runtime.GOOS == "windows" {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Sync(); err != nil && !d.IsDir() {
			return err
		}
		return nil
	})
}
