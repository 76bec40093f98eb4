package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rendered returns a folder with a site that was made to stand at /mcpstrata/.
func rendered(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index.html": "home", "404.html": "no such page", "about/index.html": "about", ".mcpstrata-site": "mcpstrata site 1\nbase /mcpstrata/\nindex.html\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The verb prints the URL as soon as it can be opened, serves until it is
// interrupted, and ends well.
func TestServe(t *testing.T) {
	dir := rendered(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, stdout := io.Pipe()
	var stderr writer
	status := make(chan int, 1)
	go func() {
		status <- main1(ctx, []string{"serve", "-site", dir, "-http", "127.0.0.1:0"}, nil, stdout, &stderr, nil)
		stdout.Close()
	}()
	lines := bufio.NewReader(out)
	url, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("it printed no line: %v, %s", err, stderr)
	}
	url = strings.TrimSuffix(url, "\n")
	for target, want := range map[string]string{"": "home", "about": "about", "mcpstrata/about/": "about", "nothing/here": "no such page", ".mcpstrata-site": "no such page"} {
		resp, err := http.Get(url + target)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(b) != want {
			t.Errorf("GET %s%s = %q, %v, want %q", url, target, b, err, want)
		}
	}

	// A second one can't have the address.
	var out2, err2 writer
	addr := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	got := main1(t.Context(), []string{"serve", "-site", dir, "-http", addr}, nil, &out2, &err2, nil)
	if got != exitFailed || len(out2) > 0 || !strings.HasPrefix(string(err2), "mcpstrata: serve: serving at "+addr+": ") ||
		!strings.HasSuffix(string(err2), "\nmcpstrata: hint: name another address; -http 127.0.0.1:0 takes any free port\n") {
		t.Errorf("at a taken address: status %d, %q, %q", got, out2, err2)
	}

	interrupt()
	rest, err := io.ReadAll(lines)
	if s := <-status; s != exitOK || len(rest) > 0 || err != nil || len(stderr) > 0 {
		t.Errorf("interrupted: status %d, stdout %q, stderr %q, %v; want 0 and nothing more", s, rest, stderr, err)
	}
}
