package launch

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Descriptors by which the two programs speak, beside the server's own three.
const (
	statusFD  = 3 // written inside: one status
	controlFD = 4 // written outside: the spec, then nothing until it is closed, which ends the server
)

// maxSpec bounds the line that holds the spec, in bytes.
const maxSpec = 4 << 20

// Inside is the part of this program that runs within the sandbox: it finishes
// it, checks it, starts the server and ends everything when the server ends or
// its caller closes the line or dies. The caller exits with its result at once.
// It must be called only in a process that [Read] started by way of Config.Self.
func Inside() (code int) {
	syscall.CloseOnExec(statusFD)
	syscall.CloseOnExec(controlFD)
	control := os.NewFile(controlFD, "control")
	answer := os.NewFile(statusFD, "status")
	if control == nil || answer == nil {
		return 1
	}
	var s spec
	line, err := bufio.NewReaderSize(io.LimitReader(control, maxSpec), maxSpec).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	if err != nil {
		return 1
	}
	pid, st := begin(s)
	b, _ := json.Marshal(st) // of a string and a bool, can't fail
	_, err = answer.Write(append(b, '\n'))
	answer.Close()
	if st.Error != "" || err != nil {
		s.end()
		return 1
	}
	// What the server holds of its pipes is what counts, not what is held here.
	for fd := range 3 {
		syscall.Close(fd)
	}
	gone := make(chan struct{})
	go func() {
		io.Copy(io.Discard, control)
		s.end()
		close(gone)
		os.Exit(0)
	}()
	reap(pid)
	s.end()
	return 0
}

// reap waits for children, orphans of the server among them, until pid has ended.
func reap(pid int) {
	for {
		got, err := syscall.Wait4(-1, nil, 0, nil)
		if got == pid || err != nil && err != syscall.EINTR {
			return
		}
	}
}

// end ends what the server left. In a PID namespace the kernel does so when this
// process ends, which is its first; elsewhere this process has adopted them all.
func (s spec) end() {
	if s.Confine != confineNothing {
		return
	}
	for range 1000 {
		found := descendants(os.Getpid())
		if len(found) == 0 {
			return
		}
		for _, p := range found {
			syscall.Kill(p.pid, syscall.SIGKILL)
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 && err != syscall.EINTR {
				break
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// begin finishes the sandbox and starts the server.
func begin(s spec) (pid int, st status) {
	if err := s.confine(); err != nil {
		return 0, status{Error: err.Error()}
	}
	pid, err := s.start()
	if err != nil {
		return 0, status{Error: err.Error(), Exec: true}
	}
	return pid, status{}
}

// confine finishes what the kernel, or bubblewrap, has begun.
func (s spec) confine() error {
	switch s.Confine {
	case confineNamespaces:
		if err := s.root(); err != nil {
			return err
		}
		if s.ID != 0 { // started by root: the groups of root must not stay
			if err := syscall.Setgroups(nil); err != nil {
				return fmt.Errorf("leaving the groups: %w", err)
			}
		}
		if err := syscall.Sethostname([]byte(sandboxHost)); err != nil {
			return fmt.Errorf("setting the host name: %w", err)
		}
		if s.Offline {
			if err := loopbackUp(); err != nil {
				return fmt.Errorf("starting the loopback interface: %w", err)
			}
		}
	case confineNothing:
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("adopting orphans: %w", err)
		}
	}
	if s.Offline {
		if err := offline(s.NetNS); err != nil {
			return err
		}
	}
	return s.limit()
}

// systemFolders are those of the outer file system that a server sees,
// read-only. What is not there isn't shown.
var systemFolders = []string{"bin", "etc", "lib", "lib32", "lib64", "libx32", "nix", "opt", "sbin", "usr"}

// root makes a file system for the server and changes to it: the folders of the
// system, what the spec shows, an empty home and an empty folder for temporary
// files. Nothing of it can be written to but these two and shared memory.
func (s spec) root() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("leaving the outer mounts: %w", err)
	}
	if err := unix.Mount("tmpfs", s.Root, "tmpfs", unix.MS_NOSUID, "size=1m,mode=755"); err != nil {
		return fmt.Errorf("mounting a root: %w", err)
	}
	for _, mount := range []func() error{s.mountOwn, s.fill, s.protect} {
		if err := mount(); err != nil {
			return err
		}
	}
	if err := unix.PivotRoot(s.Root, s.Root+"/.old"); err != nil {
		return fmt.Errorf("changing the root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Unmount("/.old", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the outer root: %w", err)
	}
	return nil
}

// writable are the folders that a server can write to. They begin empty.
var writable = []string{sandboxHome, sandboxTemp, "/dev/shm"}

// mountOwn mounts what is the sandbox's own.
func (s spec) mountOwn() error {
	for _, dir := range []string{"/.old", "/proc", "/dev/shm", sandboxTemp, sandboxHome, sandboxPackage} {
		if err := os.MkdirAll(s.Root+dir, 0o755); err != nil {
			return err
		}
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("proc", s.Root+"/proc", "proc", flags|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	own := fmt.Sprintf("size=%d,nr_inodes=20000,uid=%d,gid=%d,mode=0700", s.Limits.File, s.ID, s.ID)
	for _, dir := range writable {
		if err := unix.Mount("tmpfs", s.Root+dir, "tmpfs", flags, own); err != nil {
			return fmt.Errorf("mounting %s: %w", dir, err)
		}
	}
	return nil
}

// protect makes everything read-only that is not the server's own.
func (s spec) protect() error {
	all := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
	if err := unix.MountSetattr(unix.AT_FDCWD, s.Root, unix.AT_RECURSIVE, &all); err != nil {
		return fmt.Errorf("making the root read-only: %w", err)
	}
	// Through /proc the user of the server is named when it starts. The server
	// itself owns nothing there but its own entries.
	for _, dir := range append([]string{"/proc"}, writable...) {
		own := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(unix.AT_FDCWD, s.Root+dir, 0, &own); err != nil {
			return fmt.Errorf("making %s writable: %w", dir, err)
		}
	}
	return nil
}

// fill puts into the new root what the server sees.
func (s spec) fill() error {
	for _, name := range systemFolders {
		path := "/" + name
		info, err := os.Lstat(path)
		switch {
		case err != nil:
			continue
		case info.Mode().Type() == os.ModeSymlink:
			var to string
			if to, err = os.Readlink(path); err == nil {
				err = os.Symlink(to, s.Root+path)
			}
		default:
			err = s.bind(path, path)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom"} {
		if err := s.bind("/dev/"+name, "/dev/"+name); err != nil {
			return err
		}
	}
	for _, link := range [][2]string{{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"}} {
		if err := os.Symlink(link[0], s.Root+link[1]); err != nil {
			return err
		}
	}
	for _, path := range s.Show {
		if err := s.bind(path, path); err != nil {
			return err
		}
	}
	if s.Package != "" {
		if err := s.bind(s.Package, sandboxPackage); err != nil {
			return err
		}
	}
	return s.accounts()
}

// accounts hides the names of the machine's users.
func (s spec) accounts() error {
	for name, line := range map[string]string{
		"passwd": fmt.Sprintf("reader:x:%d:%d::%s:/bin/sh\n", serverID, serverID, sandboxHome),
		"group":  fmt.Sprintf("reader:x:%d:\n", serverID),
	} {
		own := s.Root + "/." + name
		if err := os.WriteFile(own, []byte(line), 0o644); err != nil {
			return err
		}
		if _, err := os.Lstat("/etc/" + name); err != nil {
			continue
		}
		if err := unix.Mount(own, s.Root+"/etc/"+name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("hiding the accounts: %w", err)
		}
	}
	return nil
}

// bind shows the outer path as target in the new root.
func (s spec) bind(path, target string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	to := s.Root + target
	if info.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
		if _, exists := os.Lstat(to); exists != nil {
			err = os.WriteFile(to, nil, 0o644)
		}
	}
	if err == nil {
		err = unix.Mount(path, to, "", unix.MS_BIND|unix.MS_REC, "")
	}
	if err != nil {
		return fmt.Errorf("showing %s: %w", path, err)
	}
	return nil
}

// loopbackUp starts the loopback interface, which a server may want to talk to
// itself; bubblewrap does the same.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}

// offline fails unless this process has no network: it has left the outer
// network namespace, no interface is up but loopback, and the kernel knows no
// way to a public address. Nothing is sent.
func offline(outer string) error {
	if own, err := os.Readlink("/proc/self/ns/net"); err == nil && own == outer {
		return errors.New("there is still a network: the namespace is the outer one")
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("looking at the interfaces: %w", err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
			return fmt.Errorf("there is still a network: interface %s is up", i.Name)
		}
	}
	// Addresses for documentation (RFC 5737, RFC 3849). Connecting a datagram
	// socket looks up the route and sends nothing.
	for _, address := range []string{"192.0.2.1:9", "[2001:db8::1]:9"} {
		if c, err := net.Dial("udp", address); err == nil {
			c.Close()
			return fmt.Errorf("there is still a network: a way to %s", address)
		}
	}
	return nil
}

// limit sets the limits that the kernel holds each process to.
func (s spec) limit() error {
	limits := []struct {
		what  int
		value uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, uint64(s.Limits.File)},
		{unix.RLIMIT_DATA, uint64(s.Limits.Data)},
		{unix.RLIMIT_CPU, uint64(s.Limits.Time/time.Second)*4 + 1},
	}
	if s.Confine == confineNamespaces { // elsewhere it would count the user's other processes
		limits = append(limits, struct {
			what  int
			value uint64
		}{unix.RLIMIT_NPROC, uint64(s.Limits.Tasks)})
	}
	for _, l := range limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.what, &now); err != nil {
			return fmt.Errorf("reading a limit: %w", err)
		}
		value := min(l.value, now.Max)
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("setting a limit: %w", err)
		}
	}
	return nil
}

// start starts the server in a session of its own, without privileges and
// without a way to gain any.
func (s spec) start() (pid int, err error) {
	runtime.LockOSThread() // never unlocked: the next setting is the thread's
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("giving up privileges: %w", err)
	}
	sys := &syscall.SysProcAttr{Setsid: true}
	if s.Confine == confineNamespaces {
		// A user namespace of its own has no power over the one that owns the
		// mounts and the network.
		sys.Cloneflags = syscall.CLONE_NEWUSER
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: serverID, HostID: s.ID, Size: 1}}
		sys.GidMappings = sys.UidMappings
		sys.Credential = &syscall.Credential{Uid: serverID, Gid: serverID, NoSetGroups: true}
	}
	pid, err = syscall.ForkExec(s.Argv[0], s.Argv, &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Files: []uintptr{0, 1, 2}, Sys: sys})
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", s.Argv[0], err)
	}
	return pid, nil
}

// serverID is the user and group of a server, as it sees them itself.
const serverID = 1000

// namespaceOf names the network namespace of this process.
func namespaceOf() string {
	name, _ := os.Readlink("/proc/self/ns/net")
	return strings.TrimSpace(name)
}
