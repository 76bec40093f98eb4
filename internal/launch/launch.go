// Package launch starts a stdio server without network and speaks mcp to it.
//
// # The sandbox
//
// The server runs in user, mount, PID, IPC, UTS and network namespaces of its
// own, which this program makes itself, or has bubblewrap make where the system
// allows these only to it and this program is not run by root. A second run of this program, within ([Inside]),
// finishes the sandbox and looks whether there is a network before it starts the
// server: that it has left the outer namespace, that no interface is up but
// loopback, that the kernel knows no way to a public address. Where neither way
// works, or a network is still there, nothing is started ([Refusal]). With the
// network, all but the network namespace stays; only then, and only where
// neither way works, a server runs without a sandbox, and Note says so.
//
// The server sees the folders of the system (/usr, /etc and the like) and its own
// program, read-only; not the homes, the temporary files or the sockets of the
// machine. It can write to an empty home, /home/reader, and to /tmp. A package
// stands at /home/package. These paths, the host name and the account are the
// same everywhere, because definitions quote them (seeds: capture-conditions,
// section 1). Without a sandbox home is a fresh folder, and the capture names it.
//
// Its environment is PATH, HOME, LANG, TMPDIR and, for each name that the caller
// gives, the value placeholder-NAME. Its user is none of the machine's where this
// program runs as root, and the caller otherwise. No shell is started.
//
// # Packages
//
// An npm package is named with its exact version and installed by npm, with the
// network but without its scripts; then its program is run by node, in the
// sandbox. resolvedVersion is what its package.json says.
//
// # Limits
//
// [DefaultLimits] bound the time of the whole reading, memory, processes, files
// and what is written to standard error; package mcp bounds the answers and the
// time of each. Resident memory and processes are counted over the whole tree ten
// times a second; the kernel limits the private memory of each process and, in
// namespaces of our own, processes at once (RLIMIT_DATA, RLIMIT_NPROC).
//
// Whatever happens, nothing is left running: the first process of the sandbox
// ends when the server ends, when this program closes its line or when this
// program dies, and with it the kernel ends every process of the PID namespace,
// whatever sessions or parents they chose. Without a sandbox the program inside
// adopts every orphan and ends them by name.
//
// # How a reading ended
//
// As that of any server, by the closed set of classes (package record). A server
// that ends before it answered is tls/reset, because its connection broke, also
// one that was ended for its memory or its processes; one that used up the time
// of the whole reading is timeout, one that wrote too much is parse/too_large.
// That it could not be started at all is an error of ours.
package launch

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/mcp"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// Networks that a server can be given, as the capture names them.
const (
	NetworkNone = "none"
	NetworkFull = "full"
)

// A Config says what is started and how.
type Config struct {
	// Self are the words that run this program so that it calls [Inside] and
	// nothing else; the first is the path of its file.
	Self []string

	Source  string      // npm:NAME@VERSION or cmd:PATH
	Args    []string    // passed as they are, and published
	Env     []string    // names of variables that get a placeholder; published, the values never
	Network string      // NetworkNone or NetworkFull; "" is none
	Limits  Limits      // the zero value is DefaultLimits
	Client  *mcp.Client `json:"-"` // bounds and clock of the exchange; its HTTP is not used

	// Note is told what a person should know who waits. It may be nil.
	Note func(line string) `json:"-"`

	kinds []string // of sandbox to try; nil are all that may be
}

// A Result is what the reading of a started server got.
type Result struct {
	mcp.Reading
	Ended  string // why this program ended the server before it had answered; "" if it did not
	Stderr string // the end of what the server wrote to standard error, at most 4 KiB
}

// A Refusal says why nothing was started, and what to do about it.
type Refusal struct {
	Err  error
	Next string
}

func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

// Hint says what to do.
func (r *Refusal) Hint() string { return r.Next }

// Read starts the server, reads its tools under m, and ends it. How the server
// behaved is the outcome of the result; the error is ours: nothing could be
// installed or started, or ctx was cancelled. When Read returns, nothing that it
// started is running.
func Read(ctx context.Context, cfg Config, m record.Methodology) (Result, error) {
	env, err := CheckNames(cfg.Env)
	if err != nil {
		return Result{}, err
	}
	cfg.Env = env
	if cfg.Network == "" {
		cfg.Network = NetworkNone
	}
	if cfg.Network != NetworkNone && cfg.Network != NetworkFull {
		return Result{}, fmt.Errorf("network %q: it is %s or %s", cfg.Network, NetworkNone, NetworkFull)
	}
	if cfg.Limits == (Limits{}) {
		cfg.Limits = DefaultLimits
	}
	if cfg.Note == nil {
		cfg.Note = func(string) {}
	}
	source, err := ParseSource(cfg.Source)
	if err != nil {
		return Result{}, err
	}
	return read(ctx, cfg, source, m)
}

// maxNames bounds the variables of one server. Real ones have up to 40.
const maxNames = 200

// reserved are names that a placeholder would keep a server, or node, from
// starting.
var reserved = []string{"HOME", "LANG", "LD_LIBRARY_PATH", "LD_PRELOAD", "NODE_OPTIONS", "NODE_PATH", "PATH", "TMPDIR"}

// Reserved reports whether the variable name is not given placeholders.
func Reserved(name string) bool { return slices.Contains(reserved, name) }

// CheckNames returns the names of variables sorted, each once. It fails if one is
// not a letter or _ and then letters, digits and _, at most 128 bytes, or if it
// is [Reserved].
func CheckNames(names []string) ([]string, error) {
	seen := map[string]bool{}
	for _, n := range names {
		if !isName(n) {
			return nil, fmt.Errorf("%.200q is not the name of a variable", n)
		}
		if Reserved(n) {
			return nil, fmt.Errorf("the variable %s is the reader's own", n)
		}
		seen[n] = true
	}
	if len(seen) > maxNames {
		return nil, fmt.Errorf("%d variables: the limit is %d", len(seen), maxNames)
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

func isName(s string) bool {
	for i, r := range []byte(s) {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}

// placeholder returns the value that the variable name gets: constant, and never
// part of a definition by chance.
func placeholder(name string) string { return "placeholder-" + name }

// launchOf returns the conditions of the start, as they are published.
func launchOf(cfg Config, home, pkg, version string) *record.Launch {
	values := "none"
	if len(cfg.Env) > 0 {
		values = "placeholder"
	}
	return &record.Launch{
		Args:            append([]string{}, cfg.Args...),
		EnvNames:        append([]string{}, cfg.Env...),
		EnvValues:       values,
		Home:            home,
		Network:         cfg.Network,
		Package:         pkg,
		ResolvedVersion: version,
	}
}

// complete adds to a reading what the start adds to it.
func complete(r *mcp.Reading, launch *record.Launch) {
	r.Capture.Launch = launch
	r.Capture.Transport = "stdio"
	if r.Outcome.OK() && quotesReader(r.Pages, launch) {
		r.Flags = append(slices.Clone(r.Flags), record.FlagReaderInDefinition)
		slices.Sort(r.Flags)
		r.Flags = slices.Compact(r.Flags)
	}
}

// overrule says in the outcome why the server was ended, if it was.
func overrule(o *record.Outcome, end cause) {
	if o.OK() {
		return
	}
	switch end {
	case endedTime:
		o.Class, o.Detail = record.Timeout, ""
	case endedStderr:
		o.Class, o.Detail = record.Parse, record.DetailTooLarge
	}
}

// A cause is why a server was ended before it had answered.
type cause string

const (
	endedTime   cause = "time"
	endedMemory cause = "memory"
	endedTasks  cause = "tasks"
	endedStderr cause = "stderr"
)

// text says it to people.
func (e cause) text(l Limits) string {
	switch e {
	case endedTime:
		return fmt.Sprintf("the reading took longer than %s", l.Time)
	case endedMemory:
		return fmt.Sprintf("the server used more than %d MiB of memory", l.Memory>>20)
	case endedTasks:
		return fmt.Sprintf("the server had more than %d processes and threads", l.Tasks)
	case endedStderr:
		return fmt.Sprintf("the server wrote more than %d MiB to standard error", l.Stderr>>20)
	}
	return ""
}

// Said returns the end of what the server wrote to standard error as one line of at
// most some 300 bytes, for a message.
func (r Result) Said() string { return oneLine([]byte(r.Stderr)) }

// oneLine returns the last lines of what a program wrote as one, for a message.
func oneLine(b []byte) string {
	const most = 300
	lines := strings.FieldsFunc(string(bytes.ToValidUTF8(b, []byte("?"))), func(r rune) bool { return r == '\n' || r == '\r' })
	s := strings.Join(lines[max(0, len(lines)-3):], "; ")
	if len(s) > most {
		s = "…" + strings.ToValidUTF8(s[len(s)-most:], "")
	}
	return s
}
