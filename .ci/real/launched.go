package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
	"github.com/mcpstrata/mcpstrata/ci/real/child"
)

// A stdioServer is a package of npm whose program speaks over stdio.
type stdioServer struct {
	pkg, version string
	args         []string
	methods      []string // methodologies to read it with; each costs an installation
}

// stdioServers are the three that everybody starts with.
var stdioServers = []stdioServer{
	{"@modelcontextprotocol/server-filesystem", "2026.8.31", []string{"/tmp"}, []string{"v2"}},
	{"@modelcontextprotocol/server-memory", "2026.8.31", nil, []string{"v1", "v2"}},
	{"@modelcontextprotocol/server-sequential-thinking", "2026.8.31", nil, []string{"v2"}},
}

// stdioTimeout bounds one conversation that this program has itself.
const stdioTimeout = 30 * time.Second

// A launchedRow is what is looked at of what `probe -launch` prints.
type launchedRow struct {
	Digests struct {
		Tools []struct{ Name string }
	}
	ErrorClass *string `json:"error_class"`
	Flags      []string
	Head       struct {
		Artifacts []string
		Capture   struct {
			Transport string
			Pages     struct{ Complete bool }
			Protocol  struct {
				Requested, Negotiated string
				VersionHeader         bool
			}
			Launch struct {
				Args, EnvNames                                     []string
				EnvValues, Home, Network, Package, ResolvedVersion string
			}
		}
	}
}

// launched checks servers that mcpstrata starts itself, without a network.
func launched(ctx context.Context, j *job) error {
	for _, s := range stdioServers {
		if err := j.launchedPackage(ctx, s); err != nil {
			return err
		}
	}
	return j.launchedProgram(ctx)
}

// probeLaunch runs the verb and reads what it prints.
func (j *job) probeLaunch(ctx context.Context, words ...string) (launchedRow, error) {
	var row launchedRow
	stdout, stderr, code, err := child.Run(ctx, j.dir, append([]string{j.bin, "probe"}, words...)...)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %s", code, bytes.TrimSpace(stderr))
	}
	if err == nil {
		err = json.Unmarshal(stdout, &row)
	}
	if err != nil {
		return row, fmt.Errorf("probe %s: %w", strings.Join(words, " "), err)
	}
	return row, nil
}

// launchedPackage checks one package under its methodologies, against a
// conversation that this program has with it, outside any sandbox.
func (j *job) launchedPackage(ctx context.Context, s stdioServer) error {
	for _, version := range s.methods {
		protocol := map[string]string{"v1": "2024-11-05", "v2": "2025-11-25"}[version]
		line, names, err := j.converse(ctx, s, protocol)
		if err != nil {
			return err
		}
		row, err := j.probeLaunch(ctx, append([]string{"-launch", "npm:" + s.pkg + "@" + s.version, "-methodology", version, "-env", "SOME_KEY", "--"}, s.args...)...)
		if err != nil {
			return err
		}
		var got []string
		for _, t := range row.Digests.Tools {
			got = append(got, t.Name)
		}
		var l check.List
		l.Same("answered", row.ErrorClass == nil, true)
		l.Same("tools", got, names)
		l.Same("artifacts", row.Head.Artifacts, []string{fmt.Sprintf("sha256:%x", sha256.Sum256(line))})
		c := row.Head.Capture
		l.Same("transport", c.Transport, "stdio")
		l.Same("complete", c.Pages.Complete, true)
		l.Same("protocol", c.Protocol, struct {
			Requested, Negotiated string
			VersionHeader         bool
		}{protocol, protocol, false})
		l.Same("args", c.Launch.Args, s.args)
		l.Same("variables", c.Launch.EnvNames, []string{"SOME_KEY"})
		l.Same("values", c.Launch.EnvValues, "placeholder")
		l.Same("home", c.Launch.Home, "/home/reader")
		l.Same("network", c.Launch.Network, "none")
		l.Same("package", c.Launch.Package, "npm:"+s.pkg)
		l.Same("resolved version", c.Launch.ResolvedVersion, s.version)
		l.Same("flags", row.Flags, []string(nil))
		j.None(l, "%s under %s, without network: %d tools, the very bytes that it says with one", s.pkg, version, len(names))
	}
	return nil
}

// converse installs a package, starts its program as a person would, and returns
// the line that answers tools/list, with the names in it.
func (j *job) converse(ctx context.Context, s stdioServer, protocol string) (line []byte, names []string, err error) {
	dir := filepath.Join(j.dir, strings.ReplaceAll(s.pkg, "/", "+"))
	if _, err := os.Stat(dir); err != nil {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, nil, err
		}
		_, stderr, code, err := child.Run(ctx, dir, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", dir, s.pkg+"@"+s.version)
		if err != nil || code != 0 {
			return nil, nil, fmt.Errorf("installing %s: %v, exit code %d: %s", s.pkg, err, code, stderr)
		}
	}
	programs, err := filepath.Glob(filepath.Join(dir, "node_modules", ".bin", "mcp-server-*"))
	if err != nil || len(programs) != 1 {
		return nil, nil, fmt.Errorf("looking for the program of %s: found %q, %v", s.pkg, programs, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stdioTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, programs[0], s.args...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("starting %s: %w", s.pkg, err)
	}
	defer func() { stdin.Close(); cancel(); cmd.Wait() }()
	fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"check","version":"1"}}}`+"\n", protocol)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Result struct{ Tools []struct{ Name string } }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || string(m.ID) != "2" {
			continue
		}
		for _, t := range m.Result.Tools {
			names = append(names, t.Name)
		}
		return bytes.Clone(lines.Bytes()), names, nil
	}
	return nil, nil, fmt.Errorf("talking to %s: it ended without an answer", s.pkg)
}

// lookScript is a server that says in its definition what it sees.
const lookScript = `
const os = require('os'), fs = require('fs');
const up = Object.keys(os.networkInterfaces()).sort().join();
const say = m => process.stdout.write(JSON.stringify({jsonrpc: '2.0', ...m}) + '\n');
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const {id, method} = JSON.parse(line);
  if (method === 'initialize') say({id, result: {protocolVersion: '2025-11-25', capabilities: {tools: {}}, serverInfo: {name: 'look', version: '1'}}});
  if (method === 'tools/list') require('dns').lookup('example.com', err => say({id, result: {tools: [
    {name: 'up=' + up, inputSchema: {type: 'object'}},
    {name: 'dns=' + (err ? 'none' : 'some'), inputSchema: {type: 'object'}},
    {name: 'home=' + fs.readdirSync(os.homedir()).length, description: 'Notes are kept in ' + os.homedir() + '/notes.', inputSchema: {type: 'object'}},
  ]}}));
});
`

// launchedProgram checks what a program sees of the network and of its home, and
// that nothing of it is left.
func (j *job) launchedProgram(ctx context.Context) error {
	node, err := exec.LookPath("node")
	if err != nil {
		return fmt.Errorf("finding node: %w", err)
	}
	dir := filepath.Join(j.dir, "look")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	program := filepath.Join(dir, "look.js")
	if err := os.WriteFile(program, []byte("#!"+node+"\n"+lookScript), 0o755); err != nil {
		return err
	}
	for network, up := range map[string]string{"none": "lo", "full": interfacesUp()} {
		row, err := j.probeLaunch(ctx, "-launch", "cmd:"+program, "-network", network)
		if err != nil {
			return err
		}
		var names []string
		for _, t := range row.Digests.Tools {
			names = append(names, t.Name)
		}
		var l check.List
		l.Same("interfaces", slices.Contains(names, "up="+up), true)
		l.Same("home is empty", slices.Contains(names, "home=0"), true)
		l.Same("names are looked up", slices.Contains(names, "dns=some") && network == "none", false)
		l.Same("network", row.Head.Capture.Launch.Network, network)
		l.Same("flags", row.Flags, []string{"reader_in_definition"})
		if len(l) > 0 {
			l.Add("it saw %q", names)
		}
		j.None(l, "a program with -network %s sees %s, and its home in its definition is flagged", network, up)
	}
	left, err := running(program)
	j.OK(err == nil && len(left) == 0, "nothing that was started is running (%v, %v)", left, err)
	return nil
}

// interfacesUp names the interfaces of this machine that have an address, as node
// lists them.
func interfacesUp() string {
	var names []string
	all, _ := net.Interfaces()
	for _, i := range all {
		addresses, _ := i.Addrs()
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagRunning != 0 && len(addresses) > 0 {
			names = append(names, i.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// running returns the command lines of processes that name word.
func running(word string) ([]string, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(word)) {
			found = append(found, string(bytes.ReplaceAll(b, []byte{0}, []byte(" "))))
		}
	}
	return found, err
}
