package launch

import "time"

// Limits bound a server that is read. They are constants of the reader, not
// conditions that a caller chooses for a published reading; tests use smaller
// ones.
type Limits struct {
	Time    time.Duration // of the whole reading, from the start of the process
	Memory  int64         // resident bytes of all processes of the server together
	Data    int64         // bytes of private writable memory of one process (RLIMIT_DATA)
	Tasks   int           // processes and threads
	File    int64         // bytes of one file (RLIMIT_FSIZE), and of each writable folder
	Stderr  int64         // bytes on standard error
	Install time.Duration // of installing a package
}

// DefaultLimits are what [Read] holds a server to where its Config names none.
// A server of npm takes some 100 MB and 15 threads; memory is looked at ten
// times a second, Data stops a process that is quicker than that.
var DefaultLimits = Limits{
	Time:    2 * time.Minute,
	Memory:  1 << 30,
	Data:    3 << 30,
	Tasks:   512,
	File:    64 << 20,
	Stderr:  32 << 20,
	Install: 5 * time.Minute,
}

// Folders inside the sandbox. They are the same on every machine, so that a
// definition that quotes one has the same digest everywhere.
const (
	sandboxHome    = "/home/reader"
	sandboxPackage = "/home/package"
	sandboxTemp    = "/tmp"
	sandboxHost    = "reader" // host name
)

// How a server is confined.
const (
	confineNamespaces = "namespaces"
	confineBubblewrap = "bubblewrap"
	confineNothing    = "nothing" // only with the network, and only where nothing else works
)

// A spec is what the outer program tells the one inside the sandbox.
type spec struct {
	Confine string
	Root    string   // namespaces: an empty folder, for the new root
	Show    []string // namespaces: paths that the server sees beside the system's, read-only
	Package string   // namespaces: folder that is sandboxPackage inside; "" for none
	Offline bool     // there must be no network
	NetNS   string   // the outer network namespace, as /proc/self/ns/net names it
	ID      int      // namespaces: user and group of the server, as the program inside sees them
	Argv    []string
	Env     []string
	Dir     string
	Limits  Limits
}

// A status is the one line with which the program inside answers.
type status struct {
	Error string // "" when the server was started
	Exec  bool   // the sandbox stands; it was the server that could not be started
}
