package internal

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// writers are the jobs that may hold a permission to write, and which.
var writers = map[string][]string{
	"observe.yml/record": {"contents"},
	"observe.yml/deploy": {"pages", "id-token"},
}

var (
	pin        = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*$`)
	untrusted  = regexp.MustCompile(`\$\{\{[^}]*\b(github\.(event|head_ref|ref_name|actor|triggering_actor)|inputs|matrix|needs|steps|env)\b`)
	jobLine    = regexp.MustCompile(`^  ([\w-]+):\s*$`)
	grant      = regexp.MustCompile(`^      ([\w-]+): (\w+)`)
	blockStyle = regexp.MustCompile(`^[|>][+-]?\d?$`)
)

// audit returns what is wrong with a workflow: the five audits that matter most
// (actions that are not pinned by their commit, permissions at the top, kept
// credentials, text of others in a script, permissions to write), and jobs
// without a time limit. It reads the YAML by lines, in the form that ours have:
// indented by two spaces, one key a line.
func audit(name, src string) []string {
	var found []string
	fault := func(n int, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s:%d: %s", name, n+1, fmt.Sprintf(format, args...)))
	}
	lines := strings.Split(src, "\n")
	top, group, inJobs, job, timed := false, false, false, "", map[string]bool{}
	script, inGrants := -1, false // indentation of the run key that a script stands under
	for n, line := range lines {
		text := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if strings.Contains(line, "\t") {
			fault(n, "a tab")
		}
		if text == "" {
			continue
		}
		if script >= 0 && indent > script {
			if untrusted.MatchString(text) {
				fault(n, "a script holds an expression; pass it by the environment")
			}
			continue
		}
		script = -1
		if strings.HasPrefix(text, "#") {
			continue
		}
		if indent == 0 {
			inJobs, top, group = text == "jobs:", top || strings.HasPrefix(text, "permissions:"), group || text == "concurrency:"
			if strings.HasPrefix(text, "permissions:") && text != "permissions: {}" {
				fault(n, "permissions at the top are not {}")
			}
			continue
		}
		if m := jobLine.FindStringSubmatch(line); m != nil && inJobs {
			job, inGrants = m[1], false
			timed[job] = false
		}
		key, value, _ := strings.Cut(strings.TrimPrefix(text, "- "), ": ")
		key = strings.TrimSuffix(key, ":")
		switch {
		case indent == 4 && key == "timeout-minutes":
			timed[job] = true
		case key == "permissions":
			inGrants = value == ""
			if indent != 4 || !inJobs || (value != "" && value != "{}") {
				fault(n, "permissions are named one by one, in a job, or {}")
			}
			continue
		case key == "uses":
			if !pin.MatchString(value) {
				fault(n, "%s is not pinned by its commit, with the version beside it", value)
			}
			if strings.HasPrefix(value, "actions/checkout@") && !keepsNoCredentials(lines, n, indent) {
				fault(n, "checkout keeps its credentials")
			}
		case key == "run" && inJobs:
			if blockStyle.MatchString(value) {
				script = indent + strings.Index(text, "run:")
			} else if untrusted.MatchString(value) {
				fault(n, "a script holds an expression; pass it by the environment")
			}
		case key == "pull_request_target" || key == "workflow_run":
			fault(n, "%s runs with rights over what others wrote", key)
		}
		if m := grant.FindStringSubmatch(line); m != nil && inGrants && indent == 6 {
			if m[2] == "write" && !slices.Contains(writers[name+"/"+job], m[1]) {
				fault(n, "job %s may write %s", job, m[1])
			}
		} else if indent <= 4 {
			inGrants = false
		}
	}
	if !top {
		fault(0, "no permissions: {} at the top")
	}
	if !group {
		fault(0, "no concurrency")
	}
	if len(timed) == 0 {
		fault(0, "no job was found")
	}
	for _, j := range slices.Sorted(maps.Keys(timed)) {
		if !timed[j] {
			fault(0, "job %s has no time limit", j)
		}
	}
	return found
}

// keepsNoCredentials reports whether the step whose uses is on line n says so.
func keepsNoCredentials(lines []string, n, indent int) bool {
	for _, line := range lines[n+1:] {
		text := strings.TrimSpace(line)
		in := len(line) - len(strings.TrimLeft(line, " "))
		if text != "" && (in < indent || in == indent && strings.HasPrefix(text, "- ")) {
			return false
		}
		if text == "persist-credentials: false" {
			return true
		}
	}
	return false
}

func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob("../.github/workflows/*")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 2 {
		t.Fatalf("found %d workflows", len(files))
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range audit(filepath.Base(f), string(src)) {
			t.Error(fault)
		}
	}
}

// An edit that breaks a rule is found.
func TestWorkflowAudits(t *testing.T) {
	b, err := os.ReadFile("../.github/workflows/observe.yml")
	if err != nil {
		t.Fatal(err)
	}
	good := string(b)
	tests := []struct{ name, old, new, want string }{
		{"a tag for a commit", "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "actions/checkout@v7", "is not pinned"},
		{"a pin without its version", "actions/setup-go@b7ad1dad31e06c5925ef5d2fc7ad053ef454303e # v7.0.0", "actions/setup-go@b7ad1dad31e06c5925ef5d2fc7ad053ef454303e", "is not pinned"},
		{"no permissions at the top", "\npermissions: {}\n", "\n", "no permissions: {} at the top"},
		{"rights at the top", "\npermissions: {}\n", "\npermissions: write-all\n", "permissions at the top are not {}"},
		{"kept credentials", "          persist-credentials: false\n", "", "checkout keeps its credentials"},
		{"text of others in a script", `sleep "$((RANDOM % 900))"`, "echo ${{ github.event.issue.title }}", "a script holds an expression"},
		{"text of others in a long script", "chmod +x job/mcpstrata", "echo ${{ inputs.name }}", "a script holds an expression"},
		{"a second writer", "      contents: read\n", "      contents: write\n", "job roster may write contents"},
		{"a writer of more", "      contents: write # the only job that writes to the repository\n", "      contents: write\n      packages: write\n", "job record may write packages"},
		{"a publisher that writes", "      pages: write\n", "      pages: write\n      contents: write\n", "job deploy may write contents"},
		{"a site that publishes itself", "    timeout-minutes: 45\n    permissions:\n", "    timeout-minutes: 45\n    permissions:\n      pages: write\n", "job site may write pages"},
		{"rights all at once", "    permissions: {}\n    strategy", "    permissions: write-all\n    strategy", "permissions are named one by one"},
		{"no time limit", "    timeout-minutes: 160\n", "", "job probe has no time limit"},
		{"no concurrency", "\nconcurrency:\n", "\nenv:\n", "no concurrency"},
		{"a dangerous trigger", "  workflow_dispatch:\n", "  pull_request_target:\n", "runs with rights"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bad := strings.Replace(good, tt.old, tt.new, 1)
			if bad == good {
				t.Fatalf("observe.yml has no %q", tt.old)
			}
			found := audit("observe.yml", bad)
			if len(found) != 1 || !strings.Contains(found[0], tt.want) {
				t.Errorf("audit = %q, want one fault with %q", found, tt.want)
			}
		})
	}
}

// observeJob returns the text of a job of observe.yml.
func observeJob(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../.github/workflows/observe.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, job, ok := strings.Cut(string(b), "\n  "+name+":\n")
	if !ok {
		t.Fatalf("observe.yml has no job called %s", name)
	}
	lines := strings.Split(job, "\n")
	if end := slices.IndexFunc(lines, jobLine.MatchString); end >= 0 {
		lines = lines[:end]
	}
	return strings.Join(lines, "\n")
}

// The job that can write runs no program that a job before it handed over.
func TestWriterBuildsItsOwnProgram(t *testing.T) {
	job := observeJob(t, "record")
	if !strings.Contains(job, "contents: write") {
		t.Fatal("the job called record does not write")
	}
	build, take := strings.Index(job, "go build"), strings.Index(job, "download-artifact")
	if build < 0 || take < 0 || build > take {
		t.Error("the writing job does not build its program before it takes what other jobs made")
	}
	for _, handed := range []string{"chmod +x", "$JOB/mcpstrata"} {
		if strings.Contains(job, handed) {
			t.Errorf("the writing job has %q: it runs what another job made", handed)
		}
	}
	for _, check := range []string{"sha256sum --check --strict", "verify -data data"} {
		if !strings.Contains(job, check) {
			t.Errorf("the writing job lacks %q", check)
		}
	}
}

// The site is built by a job that can write nothing, from the whole history of the
// commit that was pushed, and published by one that runs nothing of ours.
func TestSiteIsPublished(t *testing.T) {
	tests := []struct {
		job       string
		has, lack []string
	}{
		{"site",
			[]string{"needs: [roster, record]\n", "needs.record.outputs.pushed != ''", "ref: ${{ needs.record.outputs.pushed || github.ref }}", "fetch-depth: 0", "site -data data -out site", "actions/upload-pages-artifact@"},
			[]string{": write", "github.token", "download-artifact"}},
		{"deploy",
			[]string{"needs: site\n", "needs.site.result == 'success'", "name: github-pages", "actions/deploy-pages@"},
			[]string{"checkout", "contents:", "download-artifact", "go build"}},
		{"record",
			[]string{"pushed: ${{ steps.push.outputs.pushed }}", "- id: push\n"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.job, func(t *testing.T) {
			job := observeJob(t, tt.job)
			for _, s := range tt.has {
				if !strings.Contains(job, s) {
					t.Errorf("the job lacks %q", s)
				}
			}
			for _, s := range tt.lack {
				if strings.Contains(job, s) {
					t.Errorf("the job has %q", s)
				}
			}
		})
	}
}
