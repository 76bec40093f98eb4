// Package official runs the official MCP registry's own server, with PostgreSQL
// under it, on loopback, over rows that this package makes.
package official

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/mcpstrata/mcpstrata/ci/real/child"
)

// startTimeout is how long PostgreSQL or the registry may take until it listens.
const startTimeout = 90 * time.Second

// StartPostgres starts a private cluster below dir and returns its URL. It
// installs Debian's package when there is none. PostgreSQL refuses to run as
// root, so root runs it as the package's own user.
func StartPostgres(ctx context.Context, g *child.Group, dir string) (url string, err error) {
	bin, err := findPostgres(ctx)
	if err != nil {
		return "", err
	}
	home := filepath.Join(dir, "postgres")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", fmt.Errorf("making a folder for PostgreSQL: %w", err)
	}
	who, err := owner(dir, home)
	if err != nil {
		return "", err
	}
	cluster := filepath.Join(home, "cluster")
	// An ICU collation, as the public registry has one: its pages are not in
	// byte order.
	err = finish(ctx, g, child.Spec{Name: "initdb", Dir: home, Credential: who, Args: []string{
		filepath.Join(bin, "initdb"), "-D", cluster, "-U", "postgres", "-A", "trust", "-E", "UTF8",
		"--no-sync", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US",
	}})
	if err != nil {
		return "", err
	}
	port, err := child.FreePort()
	if err != nil {
		return "", err
	}
	p, err := g.Start(child.Spec{Name: "postgres", Dir: home, Credential: who, Interrupt: true, Args: []string{
		filepath.Join(bin, "postgres"), "-D", cluster, "-p", strconv.Itoa(port), "-k", "", "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off",
	}})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	return "postgres://postgres@" + addr + "/postgres?sslmode=disable", p.WaitPort(ctx, addr)
}

// findPostgres returns the folder of Debian's newest PostgreSQL.
func findPostgres(ctx context.Context) (string, error) {
	const pattern = "/usr/lib/postgresql/*/bin/initdb"
	found, _ := filepath.Glob(pattern)
	for _, args := range [][]string{{"apt-get", "update"}, {"apt-get", "install", "-y", "--no-install-recommends", "postgresql"}} {
		if len(found) > 0 {
			break
		}
		out, errs, code, err := child.Run(ctx, "/", append([]string{"env", "DEBIAN_FRONTEND=noninteractive"}, args...)...)
		if err != nil {
			return "", err
		}
		if code != 0 {
			return "", fmt.Errorf("installing PostgreSQL: %v ended with %d:\n%s%s", args, code, out, errs)
		}
		found, _ = filepath.Glob(pattern)
	}
	if len(found) == 0 {
		return "", errors.New("looking for PostgreSQL: none at " + pattern)
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	return filepath.Dir(found[0]), nil
}

// owner gives home to the user postgres when this process is root's, and lets
// that user reach it through dir.
func owner(dir, home string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("looking for PostgreSQL's user: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Chmod(dir, 0o711), os.Chown(home, int(uid), int(gid))); err != nil {
		return nil, fmt.Errorf("giving PostgreSQL its folder: %w", err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// finish runs a program of the group to its end.
func finish(ctx context.Context, g *child.Group, s child.Spec) error {
	p, err := g.Start(s)
	if err != nil {
		return err
	}
	code, err := p.Wait(ctx)
	if err == nil && code != 0 {
		err = fmt.Errorf("running %s: it ended with %d; its last lines:\n%s", s.Name, code, p.Tail(15))
	}
	return err
}
