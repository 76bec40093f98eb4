package fleet

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A Difference is a server whose readings differ because of how it is read, with
// the cause that has to be named (seeds: capture-conditions, section 1).
type Difference struct {
	Name  string
	Cause record.Cause

	// Launched servers are started with the kind Name of [ServeStdio]; First and
	// Second are how each of two readers starts one. Others are served by Start, and
	// read under methodologies v1 and v2.
	Launched      bool
	First, Second record.Launch

	open func(ctx context.Context) (url string, stop func(), err error)
}

// Start serves a remote server on loopback until stop is called. It fails for one
// that is launched.
func (d Difference) Start(ctx context.Context) (url string, stop func(), err error) {
	if d.open == nil {
		return "", nil, fmt.Errorf("serving %s: it is launched", d.Name)
	}
	return d.open(ctx)
}

// Differences returns a server for each measured kind of capture difference. Each
// shows its difference to daily readings by their second day, and goes on.
func Differences() []Difference {
	return append(remoteDifferences(), launchedDifferences()...)
}

func remoteDifferences() []Difference {
	bySession := func(version string) func(call) bool {
		return func(c call) bool { return c.session >= version }
	}
	// in agrees on a version and remembers it in the session.
	in := func(version func(asked string) string) answer {
		return answer(func(w http.ResponseWriter, _ *http.Request, c call) {
			send(w, http.StatusOK, jsonType, response(c, hello(version(c.Params.Asked))))
		}).inSession(func(c call) string { return version(c.Params.Asked) })
	}
	offers := func(asked string) string { return max(asked, headerSince) }
	newest := func(string) string { return newestVersion }
	lost := new(sessions)
	alternating := &backend{list: listed(toolOne), other: listed(toolTwo)}
	// A server of one old version, so that nothing but the asking tells the readings
	// apart: whoever asks for a newer one comes after the edit.
	early := answer(func(w http.ResponseWriter, _ *http.Request, c call) {
		send(w, http.StatusOK, jsonType, response(c, goodInit))
	}).inSession(func(c call) string { return agreed(c.Params.Asked) })
	of := func(name string, cause record.Cause, init, list answer) Difference {
		return Difference{Name: name, Cause: cause, open: opener(serve(map[string]answer{methodInitialize: init, methodList: list}))}
	}
	return []Difference{
		of("page-one", record.CausePageOne, nil, pagesOf(asIs, []string{"", "two"}, toolA, toolB)),
		of("old-handshake", record.CauseHandshake, in(agreed), by(bySession(headerSince))),
		of("no-version-header", record.CauseHeader, in(newest), by(func(c call) bool { return c.version >= headerSince })),
		of("negotiated-version", record.CauseNegotiated, in(offers), by(bySession(newestVersion))),
		of("varies", record.CauseUnstable, early, alternating.turns()),
		of("around-an-edit", record.CauseEdit, early, by(bySession(newestVersion))),
		of("failed-read", record.CauseFailed, lost.start, lost.in(plainJSON)),
	}
}

// toolOne and toolTwo are lists of one tool that differ.
var (
	toolOne = tool{name: "echo", desc: "Returns the text that it was given."}
	toolTwo = tool{name: "echo", desc: "Returns the text that it was given, in capitals."}
)

func listed(t ...tool) *contract { return &contract{tools: t} }

// turns answers with the list and the other list by turns, to readings of each
// version that they ask for by themselves; sessions are named after it.
func (b *backend) turns() answer {
	lists := []string{b.list.list(), b.other.list()}
	return func(w http.ResponseWriter, _ *http.Request, c call) {
		n := &b.readings
		if c.session > oldVersion {
			n = &b.newer
		}
		send(w, http.StatusOK, jsonType, response(c, lists[n.next()%2]))
	}
}

// Kinds of servers that ServeStdio runs.
const (
	StdioNetwork     = "network-at-start"
	StdioHome        = "home-in-definition"
	StdioPlaceholder = "placeholder-in-definition"
	StdioRandom      = "random-id-in-definition"
	StdioVersion     = "package-version"
	StdioArgs        = "arguments"
)

// StdioVariable is the environment variable that the server of kind
// StdioPlaceholder quotes.
const StdioVariable = "EXAMPLE_API_KEY"

func launchedDifferences() []Difference {
	base := func(change func(l *record.Launch)) record.Launch {
		l := record.Launch{Args: []string{}, EnvNames: []string{}, EnvValues: "none", Home: "/home/one", Network: "none", Package: "npm:example-mcp", ResolvedVersion: "1.2.3"}
		if change != nil {
			change(&l)
		}
		return l
	}
	named := func(home string) record.Launch {
		return base(func(l *record.Launch) {
			l.EnvNames, l.EnvValues, l.Home = []string{StdioVariable}, "placeholder", home
		})
	}
	return []Difference{
		{Name: StdioNetwork, Cause: record.CauseNetwork, Launched: true, First: base(nil), Second: base(func(l *record.Launch) { l.Network = "full" })},
		{Name: StdioHome, Cause: record.CauseEnvironment, Launched: true, First: base(nil), Second: base(func(l *record.Launch) { l.Home = "/home/two" })},
		{Name: StdioPlaceholder, Cause: record.CauseEnvironment, Launched: true, First: named("/home/one"), Second: named("/home/two")},
		{Name: StdioRandom, Cause: record.CauseUnstable, Launched: true, First: base(nil), Second: base(nil)},
		{Name: StdioVersion, Cause: record.CausePackage, Launched: true, First: base(nil), Second: base(func(l *record.Launch) { l.ResolvedVersion = "1.3.0" })},
		{Name: StdioArgs, Cause: record.CauseLaunch, Launched: true, First: base(nil), Second: base(func(l *record.Launch) { l.Args = []string{"--all"} })},
	}
}

// Surroundings are what a launched server sees of the world.
type Surroundings struct {
	Args    []string
	Env     func(name string) string
	Network bool          // there is one beside loopback
	Version string        // of its package
	ID      func() string // another one with each start
}

// Process returns the surroundings of this process, as a server of that version.
func Process(version string, args []string) Surroundings {
	s := Surroundings{Args: args, Env: os.Getenv, Version: version, ID: rand.Text}
	ifaces, _ := net.Interfaces() // none where they can't be listed
	for _, i := range ifaces {
		s.Network = s.Network || i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0
	}
	return s
}

// ServeStdio is a stdio server of that kind: it answers until in ends. A test
// binary that was started again as a server calls it with its own streams. It
// fails on an unknown kind, on a message that is not JSON, and where out fails.
func ServeStdio(kind string, in io.Reader, out io.Writer, s Surroundings) error {
	listing, err := stdioList(kind, s)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxRequest)
	for lines.Scan() {
		var c call
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return fmt.Errorf("reading a message: %w", err)
		}
		var text string
		switch {
		case len(c.ID) == 0:
			continue
		case c.Method == methodInitialize:
			text = response(c, hello(agreed(c.Params.Asked)))
		case c.Method == methodList:
			text = response(c, listing)
		default:
			text = rpcError(c, -32601, "Method not found", "")
		}
		if _, err := io.WriteString(out, text+"\n"); err != nil {
			return fmt.Errorf("answering: %w", err)
		}
	}
	return lines.Err()
}

// stdioList returns the list of a server of that kind in its surroundings.
func stdioList(kind string, s Surroundings) (string, error) {
	desc := "Searches the files below a folder."
	tools := []tool{{name: "search", desc: desc}}
	switch kind {
	case StdioNetwork:
		if s.Network {
			tools = append(tools, tool{name: "search_web", desc: "Searches the web."})
		}
	case StdioHome:
		tools[0].desc = desc + " The default is " + s.Env("HOME") + "/files."
	case StdioPlaceholder:
		// What a reader calls a placeholder is its own choice.
		tools[0].desc = desc + " Signed in with " + s.Env(StdioVariable) + "."
	case StdioRandom:
		tools[0].desc = desc + " Instance " + s.ID() + "."
	case StdioVersion:
		tools[0].desc = desc + " Version " + s.Version + "."
	case StdioArgs:
		if strings.Contains(strings.Join(s.Args, " "), "--all") {
			tools = append(tools, tool{name: "delete", desc: "Deletes a file."})
		}
	default:
		return "", fmt.Errorf("serving stdio: there is no kind %q", kind)
	}
	return listed(tools...).list(), nil
}
