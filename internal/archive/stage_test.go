package archive

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

var errKilled = errors.New("killed")

// killAt returns a step function that fails at the k-th step, counted from 1, and
// the number of steps that were taken.
func killAt(k int) (step func(string) error, taken *int) {
	taken = new(int)
	return func(string) error {
		*taken++
		if *taken == k {
			return errKilled
		}
		return nil
	}, taken
}

// stageDay stages, seals and applies a small day.
func stageDay(git, data string, step func(string) error) error {
	s, err := NewStage(git, step)
	if err != nil {
		return err
	}
	for name, b := range map[string]string{"mcp-schema/a.json": "new", "mcp-schema/b/c.json": "more"} {
		if err := s.Put(name, []byte(b)); err != nil {
			return err
		}
	}
	if err := s.Remove("mcp-schema/old/gone.json"); err != nil {
		return err
	}
	if err := s.Seal("2026-11-30", "", "observe", record.At(time.Unix(0, 0))); err != nil {
		return err
	}
	if err := s.Apply(data); err != nil {
		return err
	}
	return s.Discard()
}

// Killed before each durable step, a stage is afterwards whole or not there:
// rolled forward or discarded, the data folder is all new or all old.
func TestStageSurvivesEveryKill(t *testing.T) {
	for k := 1; ; k++ {
		git, data := t.TempDir(), t.TempDir()
		for name, b := range map[string]string{"mcp-schema/a.json": "old", "mcp-schema/old/gone.json": "gone"} {
			writeFile(t, filepath.Join(data, name), b)
		}
		step, taken := killAt(k)
		err := stageDay(git, data, step)
		if err == nil {
			if k <= 7 {
				t.Fatalf("only %d steps were taken", *taken)
			}
			return
		}
		if !errors.Is(err, errKilled) {
			t.Fatalf("killed at step %d: %v", k, err)
		}
		s, whole, err := OpenStage(git, nil)
		if err != nil {
			t.Fatalf("killed at step %d: opening the stage: %v", k, err)
		}
		if whole {
			if err := s.Apply(data); err != nil {
				t.Fatalf("killed at step %d: applying again: %v", k, err)
			}
		}
		if s != nil {
			if err := s.Discard(); err != nil {
				t.Fatalf("killed at step %d: discarding: %v", k, err)
			}
		}
		a := readFile(t, filepath.Join(data, "mcp-schema/a.json"))
		c := readFile(t, filepath.Join(data, "mcp-schema/b/c.json"))
		gone := readFile(t, filepath.Join(data, "mcp-schema/old/gone.json"))
		isNew, isOld := a == "new" && c == "more" && gone == "", a == "old" && c == "" && gone == "gone"
		if whole && !isNew || !isNew && !isOld {
			t.Errorf("killed at step %d (whole %v): a %q, b/c %q, old/gone %q", k, whole, a, c, gone)
		}
	}
}

func TestApplyRefusesToLeaveTheDataFolder(t *testing.T) {
	for _, name := range []string{"../x", "/x", "a/../../x", ""} {
		s, err := NewStage(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(name, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := s.Seal("2026-11-30", "", "", record.Time{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(t.TempDir()); err == nil {
			t.Errorf("Apply of %q = nil, want an error", name)
		}
	}
}

func TestApplyRefusesASymlinkOutOfTheDataFolder(t *testing.T) {
	data, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(data, "mcp-schema")); err != nil {
		t.Skip(err)
	}
	err := stageDay(t.TempDir(), data, nil)
	if err == nil {
		t.Error("Apply through a symlink = nil, want an error")
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("there is %s outside the data folder", entries[0].Name())
	}
}

func TestLockKeepsASecondRunOut(t *testing.T) {
	dir := t.TempDir()
	release, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if _, err := Lock(dir); !errors.As(err, &locked) || locked.Hint() == "" {
		t.Errorf("second Lock = %v, want a LockedError with a hint", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	release, err = Lock(dir)
	if err != nil {
		t.Fatalf("Lock after its release = %v", err)
	}
	release()
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// readFile returns the content of a file, and "" where there is none.
func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}
