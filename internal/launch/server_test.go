//go:build linux

package launch

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// TestMain lets the test binary be the program inside the sandbox, and the
// servers that are started in it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "inside":
			os.Exit(Inside())
		case "server":
			serve(os.Args[2], os.Args[3:])
			os.Exit(0)
		case "reader":
			readAndTell(os.Args[2], os.Args[3:])
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// readAndTell reads the server that a configuration describes, in a sandbox of one
// of kinds, and prints what it got.
func readAndTell(config string, kinds []string) {
	var cfg Config
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		panic(err)
	}
	cfg.kinds = kinds
	r, err := Read(context.Background(), cfg, record.V2)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	b, _ := json.Marshal(r)
	os.Stdout.Write(b)
}

// say writes one line to standard output.
func say(format string, args ...any) { fmt.Fprintf(os.Stdout, format+"\n", args...) }

// serve is a server of the kind that its first word names.
func serve(kind string, args []string) {
	switch kind {
	case "silent":
		select {}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
		again([]string{"server", "stubborn-child"})
		select {}
	case "stubborn-child":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
		select {}
	case "daemon", "answers-and-forks":
		// A child in a session of its own whose parent ends: nothing links it to
		// the server any more.
		again([]string{"server", "daemon-parent"})
		if kind == "daemon" {
			return
		}
	case "daemon-parent":
		again([]string{"server", "stubborn-child"})
		return
	case "flood-stdout":
		for line := []byte(strings.Repeat("x", 1000) + "\n"); ; {
			os.Stdout.Write(line)
		}
	case "flood-line":
		for b := []byte(strings.Repeat("x", 1<<20)); ; {
			os.Stdout.Write(b)
		}
	case "flood-stderr":
		for b := []byte(strings.Repeat("e", 1<<16)); ; {
			os.Stderr.Write(b)
		}
	case "forks":
		for {
			if again([]string{"server", "stubborn-child"}) != nil {
				time.Sleep(time.Second)
			}
		}
	case "memory":
		var kept [][]byte
		for {
			b := make([]byte, 16<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			kept = append(kept, b)
			_ = kept
		}
	case "exits":
		fmt.Fprintln(os.Stderr, "no key, no service")
		os.Exit(7)
	}
	answer(kind, args)
}

// again starts this binary in a session of its own.
func again(words []string) error {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	cmd := exec.Command(self, words...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// answer speaks the protocol.
func answer(kind string, args []string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Cursor string
				Meta   map[string]any `json:"_meta"`
			}
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			os.Exit(1)
		}
		switch m.Method {
		case "initialize":
			if kind == "modern" {
				say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}`, m.ID)
				continue
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}}`, m.ID)
		case "server/discover":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}}`, m.ID)
		case "tools/list":
			if kind == "modern" && m.Params.Meta["io.modelcontextprotocol/protocolVersion"] != "2026-07-28" {
				os.Exit(1)
			}
			text, _ := json.Marshal(describe(kind, args))
			say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","description":%s,"inputSchema":{"type":"object"}}]}}`, m.ID, text)
		}
	}
}

// describe returns what the server says of its tool.
func describe(kind string, args []string) string {
	switch kind {
	case "home":
		return "Files go to " + os.Getenv("HOME") + "/files."
	case "key":
		return "Uses the key " + os.Getenv("API_KEY") + "."
	case "look":
		return look(args)
	}
	return "A tool."
}

// look reports what the server sees of its surroundings.
func look(args []string) string {
	var b strings.Builder
	cwd, _ := os.Getwd()
	host, _ := os.Hostname()
	fmt.Fprintf(&b, "args=%q cwd=%s host=%s uid=%d parent=%d env=%q", args, cwd, host, os.Getuid(), os.Getppid(), os.Environ())
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if i.Flags&net.FlagUp != 0 {
			fmt.Fprintf(&b, " up=%s", i.Name)
		}
	}
	entries, err := os.ReadDir(os.Getenv("HOME"))
	fmt.Fprintf(&b, " home=%d,%v", len(entries), err)
	for _, dir := range []string{os.Getenv("HOME"), os.Getenv("TMPDIR"), "/", "/etc", "/home", "/usr"} {
		if err := os.WriteFile(dir+"/written", []byte("x"), 0o600); err == nil {
			fmt.Fprintf(&b, " wrote=%s", dir)
		}
	}
	for _, file := range []string{"/etc/shadow", "/root", os.Getenv("HOME") + "/../../root"} {
		if _, err := os.Open(file); err == nil {
			fmt.Fprintf(&b, " read=%s", file)
		}
	}
	big := os.WriteFile(os.Getenv("TMPDIR")+"/big", make([]byte, 3<<20), 0o600)
	fmt.Fprintf(&b, " big=%v", big != nil)
	return b.String()
}
