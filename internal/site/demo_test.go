package site_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/body"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/site"
)

var (
	dataDir = flag.String("data", "", "a repository with a data folder to render, such as `mcpstrata demo -dir` makes")
	siteDir = flag.String("site", "", "where TestDemoPages writes the pages; default: a temporary folder")
)

// TestDemoPages renders real data, for people to look at and to measure.
func TestDemoPages(t *testing.T) {
	if *dataDir == "" {
		t.Skip("no -data")
	}
	out := *siteDir
	if out == "" {
		out = t.TempDir()
	}
	repo, err := gitrepo.Open(*dataDir)
	if err != nil {
		t.Fatal(err)
	}
	tree := archive.Open(os.DirFS(*dataDir + "/data"))
	start := time.Now()
	r, err := report.Publish(tree)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("report: %v", time.Since(start))
	start = time.Now()
	bodies := body.New(tree, repo)
	if err := bodies.Load(); err != nil {
		t.Fatal(err)
	}
	stats, err := site.Build(t.Context(), site.Config{Tree: tree, Bodies: bodies, Report: r, Out: out, Log: func(s string) { t.Log(s) }})
	t.Logf("site: %v: %+v", time.Since(start), stats)
	if err != nil {
		t.Fatal(err)
	}
	s := readSite(t, out, r)
	checkFigures(t, s)
	checkAll(t, s)
}
