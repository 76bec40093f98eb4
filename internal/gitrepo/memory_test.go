package gitrepo

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

func osGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = gitEnv()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *sandbox) chmod(name string) {
	s.t.Helper()
	if err := os.Chmod(filepath.Join(s.dir, name), 0o777); err != nil {
		s.t.Fatal(err)
	}
}

func writeFile(tb testing.TB, name, content string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		tb.Fatal(err)
	}
}

// many makes a repository of n uncommitted files of the given size, of words that
// compress about as JSON does.
func many(tb testing.TB, n, size int) (*Repo, Change) {
	tb.Helper()
	dir := tb.TempDir()
	if out, err := osGit(dir, "init", "-q"); err != nil {
		tb.Skip(out, err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	c := Change{Message: "m", When: when}
	for i := range n {
		b := make([]byte, 0, size+20)
		for len(b) < size {
			b = fmt.Appendf(b, "\"word%x\": %d,\n", rnd.IntN(4096), rnd.IntN(100))
		}
		name := fmt.Sprintf("%02x/f%d.json", i%256, i)
		writeFile(tb, filepath.Join(dir, name), string(b))
		c.Paths = append(c.Paths, name)
	}
	r, err := Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return r, c
}

// A commit holds one file in memory at a time: that of 400 files of 50 kB stays
// far below their sum. (What is measured is what the collector can't free while
// the last file is added.)
func TestCommitMemory(t *testing.T) {
	const n, size = 400, 50_000
	r, c := many(t, n, size)
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c.Step = func(step string) error {
		if step == StepPackInPlace {
			runtime.GC()
			runtime.ReadMemStats(&during)
		}
		return nil
	}
	if _, err := r.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if during.HeapAlloc == 0 {
		t.Fatal("the step was not taken")
	}
	if used := int64(during.HeapAlloc) - int64(before.HeapAlloc); used > n*size/4 {
		t.Errorf("committing %d bytes holds %d bytes of heap, want a fraction", n*size, used)
	}
}

func benchmarkCommit(b *testing.B, n, size int) {
	var peak uint64
	for b.Loop() {
		b.StopTimer()
		r, c := many(b, n, size)
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b.StartTimer()
		if _, err := r.Commit(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		runtime.ReadMemStats(&after)
		peak = max(peak, after.HeapSys)
		b.StartTimer()
	}
	b.SetBytes(int64(n * size))
	b.ReportMetric(float64(peak)/(1<<20), "MB-heap-from-system")
}

// 100 MB in 2,000 files: a large day.
func BenchmarkCommit2000(b *testing.B) { benchmarkCommit(b, 2000, 50_000) }

// 550 MB in 23,000 files: the first commit of the full population.
func BenchmarkCommit23000(b *testing.B) { benchmarkCommit(b, 23_000, 24_000) }

// A day: 1,000 of 23,000 files change. The bar is git add -A && git commit of the
// same files.
func BenchmarkDay(b *testing.B) {
	for _, who := range []string{"ours", "git"} {
		b.Run(who, func(b *testing.B) {
			r, c := many(b, 23_000, 5_000)
			id, err := r.Commit(b.Context(), c)
			if err != nil {
				b.Fatal(err)
			}
			day := 0
			for b.Loop() {
				b.StopTimer()
				day++
				c := Change{Message: "day", When: when, Parent: id}
				for i := range 1000 {
					name := fmt.Sprintf("%02x/f%d.json", i%256, i)
					old, err := os.ReadFile(filepath.Join(r.root, name))
					if err != nil {
						b.Fatal(err)
					}
					writeFile(b, filepath.Join(r.root, name), fmt.Sprintf("%d\n%s", day, old))
					c.Paths = append(c.Paths, name)
				}
				b.StartTimer()
				if who == "ours" {
					if id, err = r.Commit(b.Context(), c); err != nil {
						b.Fatal(err)
					}
					continue
				}
				for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "-m", "day"}} {
					if out, err := osGit(r.root, args...); err != nil {
						b.Fatal(out, err)
					}
				}
			}
		})
	}
}
