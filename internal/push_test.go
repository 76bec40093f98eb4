package internal

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A town is a bare repository and the shallow clone that a job of observe.yml
// works in.
type town struct{ origin, clone string }

func newTown(t *testing.T) town {
	t.Helper()
	for _, tool := range []string{"bash", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	w := town{filepath.Join(dir, "origin"), filepath.Join(dir, "clone")}
	seed := filepath.Join(dir, "seed")
	gitIn(t, dir, "init", "--quiet", "--bare", "-b", "main", w.origin)
	gitIn(t, dir, "init", "--quiet", "-b", "main", seed)
	commit(t, seed, "code", "1", "2026-01-01T00:00:00Z")
	commit(t, seed, "data/day", "1", "2026-01-02T00:00:00Z")
	gitIn(t, seed, "push", "--quiet", w.origin, "main")
	gitIn(t, dir, "clone", "--quiet", "--depth", "1", "file://"+w.origin, w.clone)
	return w
}

// elsewhere pushes a commit to the branch from another clone.
func (w town) elsewhere(t *testing.T, name, content string) {
	t.Helper()
	other := filepath.Join(t.TempDir(), "other")
	gitIn(t, filepath.Dir(other), "clone", "--quiet", w.origin, other)
	commit(t, other, name, content, "2026-01-03T00:00:00Z")
	gitIn(t, other, "push", "--quiet", "origin", "main")
}

func (w town) push(t *testing.T) (string, error) {
	t.Helper()
	script, err := filepath.Abs("../.ci/push.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", script, "main")
	cmd.Dir, cmd.Env = w.clone, append(gitEnv(""), "PUSH_WAIT=0")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// gitEnv keeps git to what the test says.
func gitEnv(date string) []string {
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C", "TOKEN=")
	env = append(env, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=c", "GIT_COMMITTER_EMAIL=c@example.com")
	if date != "" {
		env = append(env, "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	}
	return env
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, gitEnv("")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func commit(t *testing.T, dir, name, content, date string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "add", ".")
	cmd := exec.Command("git", "commit", "--quiet", "-m", "observe "+name)
	cmd.Dir, cmd.Env = dir, gitEnv(date)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git commit: %v\n%s", err, out)
	}
}

func TestPush(t *testing.T) {
	const day = "2026-01-02T03:15:00Z"
	tests := []struct {
		name  string
		moved func(*testing.T, town)
		want  string // subjects on the branch after it, newest first
		fails bool
	}{
		{name: "the branch stands", want: "observe data/today\nobserve data/day\nobserve code"},
		{
			name: "the branch moved", want: "observe data/today\nobserve code\nobserve data/day\nobserve code",
			moved: func(t *testing.T, w town) { w.elsewhere(t, "code", "2") },
		},
		{
			name: "the day is there already", want: "observe data/today\nobserve data/day\nobserve code", fails: true,
			moved: func(t *testing.T, w town) { w.elsewhere(t, "data/today", "other") },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newTown(t)
			commit(t, w.clone, "data/today", "2", day)
			if tt.moved != nil {
				tt.moved(t, w)
			}
			before := gitIn(t, w.origin, "rev-parse", "main")
			out, err := w.push(t)
			if (err != nil) != tt.fails {
				t.Fatalf("push.sh: %v, want an error: %v\n%s", err, tt.fails, out)
			}
			if got := gitIn(t, w.origin, "log", "--format=%s", "main"); got != tt.want {
				t.Errorf("the branch has\n%s\nwant\n%s", got, tt.want)
			}
			if tt.fails {
				if after := gitIn(t, w.origin, "rev-parse", "main"); after != before {
					t.Errorf("the branch moved from %s to %s", before, after)
				}
				return
			}
			if got := gitIn(t, w.origin, "log", "-1", "--format=%aI %cI", "main"); strings.ReplaceAll(got, "+00:00", "Z") != day+" "+day {
				t.Errorf("the dates are %s, want those of the run, %s", got, day)
			}
			gitIn(t, w.origin, "merge-base", "--is-ancestor", before, "main")
			gitIn(t, w.origin, "fsck", "--strict")
		})
	}
}
