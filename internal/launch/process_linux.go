package launch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/mcp"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

const (
	// setupTime is what making a sandbox may take.
	setupTime = 10 * time.Second
	// watchPeriod is how often memory and processes are counted.
	watchPeriod = 100 * time.Millisecond
	// endTime is what the program inside may take to end; then all below it are
	// killed, and after as long again it.
	endTime = 3 * time.Second
	// keptStderr is how much of the end of standard error is kept, in bytes.
	keptStderr = 4 << 10
)

// A serverError says that the sandbox stands and the server could not be started
// in it, so that no other kind of sandbox is worth a try.
type serverError struct{ what string }

func (e *serverError) Error() string { return e.what }

// A process is a started server with the program inside that holds it.
type process struct {
	cmd     *exec.Cmd
	limits  Limits
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	status  *os.File
	control *os.File

	exited   chan struct{} // closed when the program inside was waited for
	drained  chan struct{} // closed when standard error ended
	stopOnce sync.Once

	mu   sync.Mutex // guards end, said
	end  cause      // why the server was ended
	said tail       // to standard error
}

// startProcess starts the program inside by words and has it start the server.
// When it fails, nothing of what it started is left.
func startProcess(ctx context.Context, s spec, words []string, limits Limits) (*process, error) {
	p := &process{limits: limits, exited: make(chan struct{}), drained: make(chan struct{})}
	p.cmd = exec.Command(words[0], words[1:]...)
	p.cmd.Env = []string{"PATH=" + systemPath}
	p.cmd.SysProcAttr = s.attributes()
	theirs, err := p.pipes()
	if err == nil {
		err = p.cmd.Start()
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	go func() {
		p.cmd.Wait() // how it ended is told by what it wrote
		close(p.exited)
	}()
	go p.drain()
	if err := p.agree(ctx, s); err != nil {
		p.stop()
		if err == errNoStatus {
			err = fmt.Errorf("it ended at once: %s", oneLine(p.said))
		}
		return nil, err
	}
	return p, nil
}

// pipes makes the pipes of p and gives the command its ends, which it returns.
func (p *process) pipes() (theirs []*os.File, err error) {
	pipe := func(inward bool, ours **os.File) *os.File {
		if err != nil {
			return nil
		}
		r, w, e := os.Pipe()
		if e != nil {
			err = fmt.Errorf("making a pipe: %w", e)
			return nil
		}
		their := w
		*ours = r
		if inward {
			*ours, their = w, r
		}
		theirs = append(theirs, their)
		return their
	}
	stdin, stdout, stderr := pipe(true, &p.stdin), pipe(false, &p.stdout), pipe(false, &p.stderr)
	status, control := pipe(false, &p.status), pipe(true, &p.control)
	if err != nil {
		return theirs, err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, stderr
	p.cmd.ExtraFiles = []*os.File{status, control}
	return theirs, nil
}

var errNoStatus = errors.New("no status")

// agree tells the program inside what to do and waits until it has done so.
func (p *process) agree(ctx context.Context, s spec) error {
	b, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("describing the sandbox: %w", err)
	}
	deadline := time.Now().Add(setupTime)
	p.control.SetWriteDeadline(deadline)
	p.status.SetReadDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { p.status.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := p.control.Write(append(b, '\n')); err != nil {
		return errNoStatus
	}
	line, err := bufio.NewReader(p.status).ReadBytes('\n')
	var st status
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("it took too long to make")
	case err != nil || json.Unmarshal(line, &st) != nil:
		return errNoStatus
	case st.Exec:
		return &serverError{st.Error}
	case st.Error != "":
		return errors.New(st.Error)
	}
	return nil
}

// drain reads standard error to its end and keeps its tail.
func (p *process) drain() {
	defer close(p.drained)
	buf := make([]byte, 32<<10)
	for total := int64(0); ; {
		n, err := p.stderr.Read(buf)
		total += int64(n)
		p.mu.Lock()
		p.said.Write(buf[:n])
		p.mu.Unlock()
		if total > p.limits.Stderr {
			p.endFor(endedStderr)
			return
		}
		if err != nil {
			return
		}
	}
}

// read has the server list its tools, within the limits, and ends it.
func (p *process) read(ctx context.Context, cfg Config, launch *record.Launch, m record.Methodology) (Result, error) {
	timer := time.AfterFunc(p.limits.Time, func() { p.endFor(endedTime) })
	go p.watch()
	client := cfg.Client
	if client == nil {
		client = new(mcp.Client)
	}
	reading, err := client.ReadPipe(ctx, p.stdout, p.stdin, m)
	timer.Stop()
	p.mu.Lock()
	end := p.end
	p.mu.Unlock()
	p.stop()
	if err != nil {
		return Result{}, err
	}
	r := Result{Reading: reading, Stderr: string(bytes.ToValidUTF8(p.said, []byte("?")))}
	if !r.Outcome.OK() {
		r.Ended = end.text(p.limits)
	}
	overrule(&r.Outcome, end)
	complete(&r.Reading, launch)
	return r, nil
}

// watch ends the server when it takes too much memory or has too many processes.
func (p *process) watch() {
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	for {
		select {
		case <-p.exited:
			return
		case <-tick.C:
		}
		var memory int64
		tasks := 0
		for _, t := range descendants(p.cmd.Process.Pid) {
			memory += t.resident
			tasks += t.threads
		}
		switch {
		case memory > p.limits.Memory:
			p.endFor(endedMemory)
		case tasks > p.limits.Tasks:
			p.endFor(endedTasks)
		}
	}
}

// endFor ends the server and notes why, if nothing has ended it before.
func (p *process) endFor(why cause) {
	p.mu.Lock()
	if p.end == "" {
		p.end = why
	}
	p.mu.Unlock()
	p.hangUp()
}

// hangUp closes the line to the program inside, which ends it and the server, and
// kills what has not ended in time.
func (p *process) hangUp() {
	p.stopOnce.Do(func() {
		p.control.Close()
		go func() {
			if p.exits(endTime) {
				return
			}
			for _, t := range descendants(p.cmd.Process.Pid) {
				syscall.Kill(t.pid, syscall.SIGKILL)
			}
			// What waited for these ends after them; killed with them it may end before.
			if !p.exits(endTime) {
				p.cmd.Process.Kill()
			}
		}()
	})
}

// exits reports whether the process that was started ends within d.
func (p *process) exits(d time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// stop ends the server, waits until nothing of it is left, and closes the pipes.
func (p *process) stop() {
	p.hangUp()
	<-p.exited
	p.stderr.SetReadDeadline(time.Now().Add(time.Second)) // nobody holds the other end, unless it escaped
	<-p.drained
	p.close()
}

// close closes the pipes.
func (p *process) close() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr, p.status, p.control} {
		if f != nil {
			f.Close()
		}
	}
}
