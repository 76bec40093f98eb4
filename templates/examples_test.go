package templates_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// notRun marks a shell block that the test leaves out, and says why.
const notRun = "<!-- not run here: "

// An example is one paragraph of a shell block of a document.
type example struct {
	name   string // its first comment
	script string
	skip   string // why it is not run
}

// examples returns the shell examples of a document: every paragraph of every
// ```sh block.
func examples(t *testing.T, name string) []example {
	t.Helper()
	var out []example
	skip, in := "", false
	var block []string
	for line := range strings.Lines(string(read(t, name))) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case in && line == "```":
			in = false
			for paragraph := range strings.SplitSeq(strings.Join(block, "\n"), "\n\n") {
				first, _, _ := strings.Cut(paragraph, "\n")
				out = append(out, example{strings.TrimPrefix(first, "# "), paragraph, skip})
			}
			skip, block = "", nil
		case in:
			block = append(block, line)
		case line == "```sh":
			in = true
		case strings.HasPrefix(line, "```") && line != "```":
			skip = "" // a block of another language
		case strings.HasPrefix(line, notRun):
			skip = strings.TrimSuffix(strings.TrimPrefix(line, notRun), " -->")
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no shell example", name)
	}
	return out
}

// Every shell example of the documents works on a fresh archive: it succeeds,
// says something, and complains of nothing.
func TestExamples(t *testing.T) {
	for _, tool := range []string{"bash", "git", "jq", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the examples need %s: %v", tool, err)
		}
	}
	bin, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{"../README.md", filepath.Join(sourceDir, "README.md")} {
		for _, e := range examples(t, doc) {
			t.Run(filepath.Base(filepath.Dir(doc))+"/"+e.name, func(t *testing.T) {
				if e.skip != "" {
					t.Skip(e.skip)
				}
				cmd := exec.Command("bash", "-c", "set -euo pipefail\n"+strings.ReplaceAll(e.script, "| head", "| sponge_head"))
				cmd.Dir = demo(t)
				cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "GIT_PAGER=cat", "LC_ALL=C")
				cmd.Env = append(cmd.Env, "BASH_FUNC_sponge_head%%=() { head \"$@\"; cat >/dev/null; }")
				var stdout, stderr strings.Builder
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				if err := cmd.Run(); err != nil {
					t.Fatalf("%s\n%v\n%s%s", e.script, err, stdout.String(), stderr.String())
				}
				if strings.TrimSpace(stdout.String()) == "" {
					t.Errorf("%s\nprints nothing", e.script)
				}
				if strings.Contains(stderr.String(), "error") {
					t.Errorf("%s\ncomplains: %s", e.script, stderr.String())
				}
				t.Logf("%s\n%.600s", e.script, stdout.String())
			})
		}
	}
}
