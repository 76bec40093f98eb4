package archive

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncTree makes everything written below dir durable with one call: it syncs
// the file system that holds it.
func syncTree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
