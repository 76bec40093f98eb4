// Package child starts programs in process groups of their own, keeps what they
// print in files, and ends every one of them.
package child

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Spec says what to start.
type Spec struct {
	Name       string   // of the log file, unique in a group
	Args       []string // program and arguments
	Dir        string
	Env        []string // added to this process's environment
	Credential *syscall.Credential
	Interrupt  bool // asked to end by SIGINT instead of SIGTERM (PostgreSQL: end at once, but cleanly)
}

// A Group owns the programs started through it.
type Group struct {
	LogDir string // where their output goes, NAME.log each

	mu  sync.Mutex // guards all
	all []*Process
}

// A Process is a started program.
type Process struct {
	Spec Spec
	Log  string // file with all it printed
	cmd  *exec.Cmd
	done chan struct{} // closed once it ended
}

// grace is how long a program may take to end before it is killed.
const grace = 5 * time.Second

// Start starts a program. It runs until [Process.Stop] or [Group.Close].
func (g *Group) Start(s Spec) (*Process, error) {
	p := &Process{Spec: s, Log: filepath.Join(g.LogDir, s.Name+".log"), done: make(chan struct{})}
	out, err := os.Create(p.Log)
	if err != nil {
		return nil, fmt.Errorf("creating the log of %s: %w", s.Name, err)
	}
	defer out.Close()
	p.cmd = exec.Command(s.Args[0], s.Args[1:]...)
	p.cmd.Dir = s.Dir
	p.cmd.Env = append(os.Environ(), s.Env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.Credential}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.done)
	}()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = append(g.all, p)
	return p, nil
}

// Close ends every program of the group and waits for it.
func (g *Group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range g.all {
		wg.Go(p.Stop)
	}
	wg.Wait()
	g.all = nil
}

// Stop ends the program and its process group: asked first, killed after five
// seconds. Stopping twice does nothing.
func (p *Process) Stop() {
	ask := syscall.SIGTERM
	if p.Spec.Interrupt {
		ask = syscall.SIGINT
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, ask) // gone already: nothing to end
	select {
	case <-p.done:
	case <-time.After(grace):
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
}

// Interrupt asks the program to end, as Ctrl-C does.
func (p *Process) Interrupt() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT) } // gone already: nothing to end

// Ended reports whether the program has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// WaitPort waits until something accepts connections at addr, the program
// ends, or ctx does.
func (p *Process) WaitPort(ctx context.Context, addr string) error {
	for {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			return c.Close()
		}
		select {
		case <-p.done:
			return fmt.Errorf("waiting for %s: it ended; its last lines:\n%s", p.Spec.Name, p.Tail(15))
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s at %s: %w; its last lines:\n%s", p.Spec.Name, addr, ctx.Err(), p.Tail(15))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Tail returns the last n lines that the program printed.
func (p *Process) Tail(n int) string {
	b, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// FreePort returns a TCP port of 127.0.0.1 that nothing listens on.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// Run runs a program to its end and returns what it printed. An exit code
// other than 0 is no error; ctx ends the whole process group.
func Run(ctx context.Context, dir string, args ...string) (stdout, stderr []byte, code int, err error) {
	var out, errs strings.Builder
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = grace
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return []byte(out.String()), []byte(errs.String()), exit.ExitCode(), nil
	}
	if err != nil {
		err = fmt.Errorf("running %s: %w", strings.Join(args, " "), err)
	}
	return []byte(out.String()), []byte(errs.String()), 0, err
}

// Wait waits until the program ends and returns its exit code, -1 if a signal
// ended it.
func (p *Process) Wait(ctx context.Context) (int, error) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return -1, fmt.Errorf("waiting for %s to end: %w; its last lines:\n%s", p.Spec.Name, ctx.Err(), p.Tail(15))
	}
}
