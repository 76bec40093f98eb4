package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// demoTree makes a repository with the real pipeline and returns its root.
func demoTree(t *testing.T, days, servers string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "repo")
	if status, _, stderr := verb(t, "demo", "-no-serve", "-dir", root, "-days", days, "-servers", servers); status != exitOK {
		t.Fatalf("demo exits %d: %s", status, stderr)
	}
	return root
}

// verb runs one verb in this process.
func verb(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = main1(context.Background(), args, strings.NewReader(""), &out, &err, nil)
	return status, out.String(), err.String()
}

func TestVerify(t *testing.T) {
	root := demoTree(t, "3", "20")
	data := filepath.Join(root, "data")
	status, out, stderr := verb(t, "verify", "-data", data)
	if status != exitOK || !strings.HasPrefix(out, "3 runs, ") || !strings.HasSuffix(out, " bodies: no fault\n") || stderr != "" {
		t.Fatalf("verify of a sound tree = %d, %q, %q, want 0 and one line that says so", status, out, stderr)
	}

	order := filepath.Join(data, "mcp-schema", "roster", "order.txt")
	b, err := os.ReadFile(order)
	if err != nil {
		t.Fatal(err)
	}
	spoil := func() {
		if err := os.WriteFile(order, bytes.Replace(b, []byte("\n"), []byte("x\n"), 1), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// The command of a fault works from where verify was called: outside the
	// repository, at its root, and in a folder of it.
	for _, tt := range []struct{ name, dir, data, mend string }{
		{"outside", t.TempDir(), data, "git -C "},
		{"at the root", root, "data", "git checkout HEAD -- data/mcp-schema/roster/order.txt"},
		{"in the folder", data, ".", "git checkout HEAD -- mcp-schema/roster/order.txt"},
		{"beside the folder", filepath.Join(data, "mcp-schema"), "..", "git checkout HEAD -- ../mcp-schema/roster/order.txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(tt.dir)
			spoil()
			status, out, _ := verb(t, "verify", "-data", tt.data, "-json")
			var r struct {
				Faults  []struct{ Path, Rule, Says, Mend string }
				Checked map[string]int
			}
			if err := json.Unmarshal([]byte(out), &r); err != nil || status != exitFound || len(r.Faults) != 1 {
				t.Fatalf("verify -json = %d, %s, want 3 and one fault", status, out)
			}
			f := r.Faults[0]
			if f.Rule != "roster-order" || !strings.HasSuffix(f.Path, "roster/order.txt") || !strings.HasPrefix(f.Mend, tt.mend) || f.Says == "" {
				t.Errorf("verify found %+v, want roster-order, mended by %s", f, tt.mend)
			}
			status, out, _ = verb(t, "verify", "-data", tt.data)
			if lines := strings.Split(out, "\n"); status != exitFound || len(lines) != 4 || lines[0] != f.Path+": "+f.Rule+": "+f.Says || lines[1] != "\tmend: "+f.Mend {
				t.Errorf("verify = %d, %q, want 3, the fault, its command and a count", status, out)
			}
			if out, err := exec.Command("sh", "-c", f.Mend).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", f.Mend, err, out)
			}
			if status, out, _ := verb(t, "verify", "-data", tt.data); status != exitOK {
				t.Errorf("after %s: verify = %d, %q, want 0", f.Mend, status, out)
			}
		})
	}
}

// Where verify can't check, it fails; that is not a fault of the tree.
func TestVerifyCannotCheck(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		want int
	}{
		{"no such folder", []string{"-data", filepath.Join(dir, "none")}, exitFailed},
		{"a file", []string{"-data", file}, exitFailed},
		{"an argument", []string{"x"}, exitUsage},
		{"a flag of a later version", []string{"-history"}, exitUsage},
	} {
		status, out, stderr := verb(t, append([]string{"verify"}, tt.args...)...)
		if status != tt.want || out != "" || strings.Count(stderr, "\n") != 2 || !strings.Contains(stderr, "hint: ") {
			t.Errorf("%s: verify = %d, %q, %q, want %d, a line and a hint", tt.name, status, out, stderr, tt.want)
		}
	}
}

// A copy of the data folder can be checked where there is no repository.
func TestVerifyWithoutGit(t *testing.T) {
	root := demoTree(t, "2", "20")
	data := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(data, os.DirFS(filepath.Join(root, "data"))); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := verb(t, "verify", "-data", data)
	if status != exitOK || !strings.Contains(stderr, "no git repository") {
		t.Errorf("verify = %d, %q, %q, want 0 and a note", status, out, stderr)
	}
	if err := os.WriteFile(filepath.Join(data, "stray"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if status, out, _ = verb(t, "verify", "-data", data); status != exitFound || !strings.Contains(out, "stray: unexpected-file: ") {
		t.Errorf("verify = %d, %q, want 3 and the stray file", status, out)
	}
}

// A name that is not UTF-8 is a fault like any other.
func TestVerifyNameNotUTF8(t *testing.T) {
	root := demoTree(t, "2", "20")
	data := filepath.Join(root, "data")
	if err := os.WriteFile(filepath.Join(data, "mcp-schema", "\xff"), nil, 0o666); err != nil {
		t.Skip("no such name on this file system: ", err)
	}
	for _, args := range [][]string{{"verify", "-data", data}, {"verify", "-json", "-data", data}} {
		status, out, stderr := verb(t, args...)
		if status != exitFound || !utf8.ValidString(out) || !strings.Contains(out, `xff`) || strings.Count(out, "unexpected-file") != 1 {
			t.Errorf("%q = %d, %q, %q, want 3 and one unexpected-file", args, status, out, stderr)
		}
	}
}
