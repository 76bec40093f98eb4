package templates_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notRun marks a shell block that the test leaves out, and says why.
const notRun = "<!-- not run here: "

// preamble makes a command that fails anywhere in a pipe a failure, but not one
// whose reader has seen enough.
const preamble = "set -euo pipefail\nhead() { command head \"$@\"; cat >/dev/null; }\n"

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
				cmd := exec.Command("bash", "-c", preamble+e.script)
				cmd.Dir = demo(t)
				cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "GIT_PAGER=cat", "LC_ALL=C")
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

// README.md lists every verb, and no other.
func TestReadmeListsTheVerbs(t *testing.T) {
	bin, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	help, err := exec.Command(filepath.Join(bin, "mcpstrata"), "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^  ([a-z-]+) `).FindAllStringSubmatch(string(help), -1) {
		want = append(want, m[1])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)[ `]").FindAllStringSubmatch(verbs(t), -1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if got = slices.Compact(got); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("README.md lists %q, the program %q", got, want)
	}
}

// verbs returns the section of README.md that lists the verbs.
func verbs(t *testing.T) string {
	t.Helper()
	_, rest, ok := strings.Cut(string(read(t, "../README.md")), "\n## Verbs\n")
	if !ok {
		t.Fatal("README.md has no section Verbs")
	}
	section, _, _ := strings.Cut(rest, "\n## ")
	return section
}
