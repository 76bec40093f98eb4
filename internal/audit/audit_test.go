package audit_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/audit"
	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/fleet"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
)

// check checks the tree in root against the newest commit.
func check(t testing.TB, root string) *audit.Report {
	t.Helper()
	data := filepath.Join(root, "data")
	repo, err := gitrepo.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	head, ok, err := repo.Head()
	if err != nil || !ok {
		t.Fatalf("Head = %v, %v", ok, err)
	}
	blobs, err := repo.TreeBlobs(head.ID)
	if err != nil {
		t.Fatal(err)
	}
	return checkWith(t, audit.Config{FS: os.DirFS(data), Data: data, Git: "git -C " + audit.Quote(root), Committed: blobs, Has: repo.Has})
}

// checkAlone checks the tree in root as if no repository held it.
func checkAlone(t testing.TB, root string) *audit.Report {
	t.Helper()
	data := filepath.Join(root, "data")
	return checkWith(t, audit.Config{FS: os.DirFS(data), Data: data})
}

func checkWith(t testing.TB, cfg audit.Config) *audit.Report {
	t.Helper()
	r, err := audit.Check(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A tree that the daily job wrote has no fault, on any day, with git or without.
func TestCheckFindsNothing(t *testing.T) {
	w, root := newTown(t), newRoot(t)
	w.live(t, root, func(days int) {
		for _, r := range []*audit.Report{check(t, root), checkAlone(t, root)} {
			for _, f := range r.Faults {
				t.Errorf("after %d days: %s: %s: %s", days, f.Path, f.Rule, f.Says)
			}
			for _, what := range []string{"files", "runs", "rows", "bodies", "pages"} {
				if r.Checked[what] == 0 {
					t.Errorf("after %d days: nothing checked of %s", days, what)
				}
			}
		}
	})
}

// The fleet brings about what no table thinks of.
func TestCheckFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("real servers that hang cost real time")
	}
	root := newRoot(t)
	const days = 6
	world, err := fleet.Start(t.Context(), fleet.Config{Seed: 7, Servers: 25, Days: days, Hang: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	for n := range days {
		if err := world.SetDay(n); err != nil {
			t.Fatal(err)
		}
		_, err := daily.Run(t.Context(), daily.Config{
			Data: filepath.Join(root, "data"), Registry: world.RegistryURL(), Timeout: 300 * time.Millisecond, AllowPrivate: true,
			Version: "0", UserAgent: "test", Clock: daily.FastClockAt(world.Day(n).Time().Add(3 * time.Hour)), Simulated: true,
			Seed: func() int64 { return int64(n) },
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range check(t, root).Faults {
			t.Errorf("after %d days: %s: %s: %s", n+1, f.Path, f.Rule, f.Says)
		}
	}
}

// Two damages are two faults: neither hides the other.
func TestCheckFindsSeveral(t *testing.T) {
	root := history(t)
	t.Cleanup(func() { heal(t, root, "HEAD") })
	data := filepath.Join(root, "data")
	want := []string{
		archive.BodyPath("v1", s3, ""), archive.ContractPath("v1", s3), archive.ObservationsPath(day(1), "v1"), archive.RosterPath(day(2)),
	}
	for _, name := range want {
		flip(t, filepath.Join(data, name))
	}
	var got []string
	for _, f := range check(t, root).Faults {
		rel, err := filepath.Rel(data, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, filepath.ToSlash(rel))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("Check found faults at %q, want %q", got, want)
	}
}

// Every rule has a damage that breaks it, and a purpose to print.
func TestRules(t *testing.T) {
	src, err := os.ReadFile("damage_test.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range audit.Rules {
		if seen[r.ID] || !strings.HasPrefix(r.Purpose, "Checks that ") {
			t.Errorf("rule %q is there twice, or has the purpose %q", r.ID, r.Purpose)
		}
		seen[r.ID] = true
		if !strings.Contains(string(src), `rule: "`+r.ID+`"`) {
			t.Errorf("no damage breaks the rule %s", r.ID)
		}
	}
}

// A check that is called off says so.
func TestCheckEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := audit.Check(ctx, audit.Config{FS: fstest.MapFS{"README.md": {}}}); !errors.Is(err, context.Canceled) {
		t.Errorf("Check of an ended context = %v, want context.Canceled", err)
	}
}

func TestQuote(t *testing.T) {
	for _, s := range []string{"plain/a-b", "", "-x", "it's", "a b", "$(id)", "a\nb", "a\x1b[2Jb", "%s\u202e"} {
		if out := shell(t, "printf %s "+audit.Quote(s)); out != s {
			t.Errorf("the shell reads Quote(%q) as %q", s, out)
		}
	}
}

var randomSeeds = flag.Int("seeds", 1, "random histories of TestCheckRandom")

// Whatever happens in whatever order, the tree that the daily job writes has no
// fault.
func TestCheckRandom(t *testing.T) {
	for seed := range *randomSeeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w, root := newTown(t), newRoot(t)
			random := rand.New(rand.NewPCG(uint64(seed), 0))
			for n := range 16 {
				w.shake(random)
				limit := 0
				if random.IntN(3) == 0 {
					limit = 1 + random.IntN(15)
				}
				r := w.run(t, root, n, 3, limit)
				for hour := 5; r != nil && (r.Run.Partial || r.Run.Degraded) && hour < 9 && random.IntN(3) > 0; hour += 2 {
					w.shake(random)
					r = w.run(t, root, n, hour, random.IntN(2)*12)
				}
				if n == 0 && r == nil {
					t.Skip("nothing to probe on the first day")
				}
				for _, f := range append(check(t, root).Faults, checkAlone(t, root).Faults...) {
					t.Fatalf("on day %d: %s: %s: %s", n, f.Path, f.Rule, f.Says)
				}
			}
		})
	}
}
