package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/fleet"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// What the job records of the demo's world as drift, under each methodology, is
// what the world's script says, for servers that are reached throughout.
func TestDriftIsWhatTheScriptSays(t *testing.T) {
	const servers, days = 92, 8
	world, err := fleet.Start(t.Context(), fleet.Config{Seed: 7, Servers: servers, Days: days, Hang: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { world.Close() })
	root := t.TempDir()
	if err := gitrepo.Init(root); err != nil {
		t.Fatal(err)
	}
	for day := range days {
		if err := world.SetDay(day); err != nil {
			t.Fatal(err)
		}
		if _, err := daily.Run(t.Context(), daily.Config{
			Data: filepath.Join(root, "data"), Registry: world.RegistryURL(), Timeout: time.Minute, AllowPrivate: true,
			Version: "0", Clock: daily.FastClockAt(world.Day(day).Time().Add(3 * time.Hour)), Simulated: true, Log: func(string) {},
		}); err != nil {
			t.Fatal(err)
		}
	}
	apart := map[string]bool{} // servers that are not reached, or not listed, on some day
	for _, c := range world.Script() {
		switch c.Kind {
		case fleet.Refused, fleet.Failing, fleet.Hanging, fleet.Walled, fleet.Limited, fleet.Recovered,
			fleet.Retired, fleet.Deleted, fleet.Returned, fleet.Unlisted, fleet.RemoteGone, fleet.Appeared:
			apart[c.Name] = true
		}
	}
	tree := archive.Open(os.DirFS(filepath.Join(root, "data")))
	for _, version := range []string{"v1", "v2"} {
		want, got := map[string]bool{}, map[string]bool{}
		for _, c := range world.Drifts(version) {
			want[fmt.Sprint(world.Day(c.Day), " ", c.Name)] = true
		}
		for day := range days {
			events, err := tree.Events(string(world.Day(day)))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				if e.Methodology == version && e.Kind == record.Drift {
					got[fmt.Sprint(e.Day, " ", e.Name)] = true
				}
			}
		}
		for name := range apart {
			for day := range days {
				delete(want, fmt.Sprint(world.Day(day), " ", name))
				delete(got, fmt.Sprint(world.Day(day), " ", name))
			}
		}
		a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))
		if !slices.Equal(a, b) || len(b) < 10 {
			t.Errorf("drifts under %s: %d\n%q\nwant %d\n%q", version, len(a), a, len(b), b)
		}
	}
}
