package templates_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/fleet"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/templates"
)

var update = flag.Bool("update", false, "write the generated tables of the data dictionary, and copy it to data/")

// The documents of a data folder, as the sources have them and as the project's
// own data folder does.
const (
	sourceDir = "data"
	ownDir    = "../data"
)

// demoDays is long enough for every kind of event; the day after them is a limited
// run.
const (
	demoDays  = 20
	demoLimit = 30
)

// demoTimeout is what a server that hangs costs on each day. It leaves time to
// answer also under the race detector.
const demoTimeout = time.Second

// scratch is the folder that all tests of the package share.
var scratch string

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if scratch, err = os.MkdirTemp("", "mcpstrata-templates-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(scratch)
	os.Exit(status)
}

// recordDemo records the demo's first days once, and returns the repository.
var recordDemo = sync.OnceValues(func() (string, error) {
	root := filepath.Join(scratch, "demo")
	if err := os.Mkdir(root, 0o777); err != nil {
		return "", err
	}
	if err := gitrepo.Init(root); err != nil {
		return "", err
	}
	ctx := context.Background()
	world, err := fleet.Start(ctx, fleet.Config{Seed: 1, Days: demoDays + 1, Hang: 10 * demoTimeout})
	if err != nil {
		return "", err
	}
	defer world.Close()
	for day := range demoDays + 1 {
		if err := world.SetDay(day); err != nil {
			return "", err
		}
		cfg := daily.Config{
			Data: filepath.Join(root, "data"), Registry: world.RegistryURL(), Timeout: demoTimeout, AllowPrivate: true,
			Version: "0.0.0", UserAgent: "mcpstrata-test", Vantage: "test", Simulated: true, Scaffold: templates.Data(),
			Clock: daily.FastClockAt(world.Day(day).Time().Add(3 * time.Hour)), Seed: func() int64 { return int64(day) },
		}
		if day == demoDays {
			cfg.Limit = demoLimit
		}
		if _, err := daily.Run(ctx, cfg); err != nil {
			return "", fmt.Errorf("recording %s: %w", world.Day(day), err)
		}
	}
	return root, nil
})

// demo returns a repository that holds the demo's first days.
func demo(t *testing.T) string {
	t.Helper()
	root, err := recordDemo()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// buildProgram builds the command once, and returns the folder it lies in.
var buildProgram = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(scratch, "bin")
	out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "mcpstrata"), "../cmd/mcpstrata").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the command: %w\n%s", err, out)
	}
	return dir, nil
})

// glob returns the files of the demo's data folder that match a pattern, and
// fails where there are none: a check that sees nothing proves nothing.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(demo(t), "data", filepath.FromSlash(pattern)))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no file of the demo matches %s", pattern)
	}
	return files
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// series is the folder of the series below the data folder.
const series = record.Series
