package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// systemPath is the PATH of every server.
const systemPath = "/usr/local/bin:/usr/bin:/bin"

// A job is one server that is about to be started.
type job struct {
	cfg    Config
	base   string   // a fresh folder of this job, removed at its end
	folder string   // where a package was installed; "" for a file
	pkg    string   // as the capture names it; "" for a file
	ver    string   // resolved
	argv   []string // outside the sandbox
	entry  string   // path of the package's program below folder; "" for a file
	show   []string // paths that the sandbox shows
}

// read is [Read] on Linux, with everything in cfg checked.
func read(ctx context.Context, cfg Config, source Source, m record.Methodology) (_ Result, err error) {
	base, err := os.MkdirTemp("", "mcpstrata-launch-")
	if err != nil {
		return Result{}, fmt.Errorf("making a folder for the server: %w", err)
	}
	defer func() {
		if e := os.RemoveAll(base); e != nil && err == nil {
			err = fmt.Errorf("removing the folder of the server: %w", e)
		}
	}()
	for _, dir := range []string{"root", "home", "tmp"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o700); err != nil {
			return Result{}, fmt.Errorf("making a folder for the server: %w", err)
		}
	}
	j := &job{cfg: cfg, base: base}
	if source.Package != "" {
		err = j.prepare(ctx, source)
	} else {
		err = j.find(source.Path)
	}
	if err != nil {
		return Result{}, err
	}
	p, home, err := j.start(ctx)
	if err != nil {
		return Result{}, err
	}
	return p.read(ctx, cfg, launchOf(cfg, home, j.pkg, j.ver), m)
}

// find makes j start the program in a file.
func (j *job) find(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("finding the program: %w", err)
	}
	if _, err := exec.LookPath(path); err != nil {
		return fmt.Errorf("finding the program: %w", err)
	}
	j.argv = append([]string{path}, j.cfg.Args...)
	return j.reveal(path)
}

// reveal has the sandbox show the folder of a program, and that of the file that
// it links to.
func (j *job) reveal(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("finding the program: %w", err)
	}
	for _, p := range []string{path, real} {
		if inSystem(p) {
			continue
		}
		if dir := filepath.Dir(p); !isShared(dir) {
			p = dir
		}
		if !slices.Contains(j.show, p) {
			j.show = append(j.show, p)
		}
	}
	return nil
}

// inSystem reports whether the sandbox shows path anyway.
func inSystem(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains(systemFolders, first)
}

// isShared reports whether dir holds much that is none of a program's business:
// the folders that users share, and what the home of this user lies in.
func isShared(dir string) bool {
	home, _ := os.UserHomeDir()
	shared := []string{"/", "/home", "/root", "/run", "/srv", "/tmp", "/var", "/var/tmp", os.TempDir(), home}
	return slices.Contains(shared, dir) || strings.HasPrefix(home, dir+"/")
}

// start starts the server in the first kind of sandbox that works here. It
// returns the home that the server sees.
func (j *job) start(ctx context.Context) (*process, string, error) {
	kinds := []string{confineNamespaces}
	if os.Getuid() != 0 { // bubblewrap would leave the server all that root can read
		kinds = append(kinds, confineBubblewrap)
	}
	if j.cfg.Network == NetworkFull {
		kinds = append(kinds, confineNothing)
	}
	if j.cfg.kinds != nil {
		kinds = j.cfg.kinds
	}
	var failed []error
	for _, kind := range kinds {
		s, words, err := j.sandbox(kind)
		var p *process
		if err == nil {
			p, err = startProcess(ctx, s, words, j.cfg.Limits)
		}
		var server *serverError
		switch {
		case err == nil:
			for _, f := range failed {
				j.cfg.Note(f.Error())
			}
			if kind == confineNothing {
				j.cfg.Note("the server runs without a sandbox")
			}
			return p, s.home(), nil
		case ctx.Err() != nil, errors.As(err, &server):
			return nil, "", err
		}
		failed = append(failed, fmt.Errorf("a sandbox of %s does not work here: %w", kind, err))
	}
	texts := make([]string, len(failed))
	for i, f := range failed {
		texts[i] = f.Error()
	}
	return nil, "", &Refusal{
		Err:  fmt.Errorf("not starting a server with the network: %s", strings.Join(texts, "; ")),
		Next: "allow user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns), install bubblewrap, or give -network full",
	}
}

// sandbox returns what the program inside is told, and the words that start it.
func (j *job) sandbox(kind string) (spec, []string, error) {
	s := spec{
		Confine: kind,
		Root:    filepath.Join(j.base, "root"),
		Show:    j.show,
		Package: j.folder,
		Offline: j.cfg.Network == NetworkNone,
		NetNS:   namespaceOf(),
		Argv:    j.argv,
		Limits:  j.cfg.Limits,
	}
	home, temp, folder := sandboxHome, sandboxTemp, sandboxPackage
	if kind == confineNothing {
		home, temp, folder = filepath.Join(j.base, "home"), filepath.Join(j.base, "tmp"), j.folder
	}
	if j.entry != "" {
		s.Argv = slices.Concat(j.argv[:1], []string{filepath.Join(folder, j.entry)}, j.cfg.Args)
	}
	if os.Getuid() == 0 {
		s.ID = serverID
	}
	s.Dir = home
	s.Env = []string{"HOME=" + home, "LANG=C.UTF-8", "PATH=" + systemPath, "TMPDIR=" + temp}
	for _, n := range j.cfg.Env {
		s.Env = append(s.Env, n+"="+placeholder(n))
	}
	if kind != confineBubblewrap {
		return s, j.cfg.Self, nil
	}
	words, err := j.bubblewrap()
	return s, words, err
}

// home returns the home that the server sees.
func (s spec) home() string { return s.Dir }

// bubblewrap returns the words that have bubblewrap make the sandbox and start
// the program inside.
func (j *job) bubblewrap() ([]string, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, errors.New("it is not installed")
	}
	const self = "/run/reader"
	// The program inside is the first process of the namespace, so that bubblewrap
	// ends after all others have. A first process of its own it does not wait for.
	size := fmt.Sprint(j.cfg.Limits.File)
	w := []string{path, "--unshare-user", "--unshare-pid", "--as-pid-1", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session",
		"--uid", fmt.Sprint(serverID), "--gid", fmt.Sprint(serverID), "--hostname", sandboxHost, "--clearenv"}
	if j.cfg.Network == NetworkNone {
		w = append(w, "--unshare-net")
	}
	for _, name := range systemFolders {
		p := "/" + name
		if to, err := os.Readlink(p); err == nil {
			w = append(w, "--symlink", to, p)
		} else {
			w = append(w, "--ro-bind-try", p, p)
		}
	}
	w = append(w, "--proc", "/proc", "--dev", "/dev", "--size", size, "--tmpfs", sandboxTemp, "--size", size, "--tmpfs", sandboxHome)
	for _, p := range j.show {
		w = append(w, "--ro-bind", p, p)
	}
	if j.folder != "" {
		w = append(w, "--ro-bind", j.folder, sandboxPackage)
	}
	w = append(w, "--ro-bind", j.cfg.Self[0], self, "--remount-ro", "/", "--chdir", sandboxHome, "--", self)
	return append(w, j.cfg.Self[1:]...), nil
}

// attributes returns those of the process that begins a sandbox of this kind.
func (s spec) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if s.Confine == confineNothing {
		return a // it ends when its line closes, and has to end the server first
	}
	a.Pdeathsig = syscall.SIGKILL
	if s.Confine == confineBubblewrap {
		return a
	}
	a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	if s.Offline {
		a.Cloneflags |= syscall.CLONE_NEWNET
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	if s.ID != 0 {
		// The server of root is nobody, so that it owns nothing of the machine.
		nobody := syscall.SysProcIDMap{ContainerID: s.ID, HostID: nobodyID, Size: 1}
		a.UidMappings = append(a.UidMappings, nobody)
		a.GidMappings = append(a.GidMappings, nobody)
		a.GidMappingsEnableSetgroups = true
	}
	return a
}

// nobodyID is the user and group that own nothing on Linux systems.
const nobodyID = 65534
