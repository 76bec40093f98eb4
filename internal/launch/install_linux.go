package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// prepare installs a package and makes j start its program.
func (j *job) prepare(ctx context.Context, s Source) error {
	node, err := exec.LookPath("node")
	if err == nil {
		node, err = filepath.Abs(node)
	}
	if err == nil {
		err = j.reveal(node)
	}
	if err != nil {
		return &Refusal{fmt.Errorf("finding node: %w", err), "install Node.js, with npm"}
	}
	j.folder = filepath.Join(j.base, "package")
	// The server may be another user than this one.
	if err := os.Mkdir(j.folder, 0o755); err != nil {
		return fmt.Errorf("making a folder for %s: %w", s.Package, err)
	}
	if err := os.WriteFile(filepath.Join(j.folder, "package.json"), []byte(`{"private":true}`), 0o644); err != nil {
		return fmt.Errorf("making a folder for %s: %w", s.Package, err)
	}
	if err := install(ctx, s, j.folder, j.cfg.Limits); err != nil {
		return fmt.Errorf("installing npm:%s@%s: %w", s.Package, s.Version, err)
	}
	version, entry, err := s.program(j.folder)
	if err != nil {
		return fmt.Errorf("reading npm:%s@%s: %w", s.Package, s.Version, err)
	}
	j.pkg, j.ver, j.entry, j.argv = "npm:"+s.Package, version, entry, []string{node}
	return nil
}

// install has npm install a package, without running any of its scripts, into
// dir. npm has the environment of this program, for its registry and proxies.
func install(ctx context.Context, s Source, dir string, limits Limits) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return &Refusal{fmt.Errorf("finding npm: %w", err), "install Node.js, with npm"}
	}
	short, cancel := context.WithTimeout(ctx, limits.Install)
	defer cancel()
	cmd := exec.CommandContext(short, npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
		"--loglevel=error", "--prefix", dir, "--", s.Package+"@"+s.Version)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = endTime
	var said tail
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case short.Err() != nil:
		return fmt.Errorf("it took longer than %s", limits.Install)
	case err != nil && len(said) > 0:
		return errors.New(oneLine(said))
	}
	return err
}

// A tail keeps the end of what is written to it, keptStderr bytes.
type tail []byte

func (t *tail) Write(b []byte) (int, error) {
	*t = append(*t, b...)
	*t = append(tail(nil), (*t)[max(0, len(*t)-keptStderr):]...)
	return len(b), nil
}
