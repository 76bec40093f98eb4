package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/audit"
	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/gitrepo"
	"github.com/mcpstrata/mcpstrata/internal/progress"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/visible"
)

func verifyVerb(ctx context.Context, c *call) error {
	data := c.flags.String("data", "data", "the data folder, in a git repository or not")
	asJSON := c.flags.Bool("json", false, "print one JSON object")
	if _, err := c.parse(0, 0); err != nil {
		return err
	}
	if fi, err := os.Stat(*data); err != nil {
		return &daily.HintError{Err: err, Next: "name the data folder with -data"}
	} else if !fi.IsDir() {
		return &daily.HintError{Err: fmt.Errorf("%s: it is not a folder", *data), Next: "name the data folder with -data"}
	}
	cfg, err := c.auditConfig(*data)
	if err != nil {
		return err
	}
	report, err := audit.Check(ctx, cfg)
	if err != nil {
		return err
	}
	if *asJSON {
		err = c.json(record.File(report))
	} else {
		err = c.printReport(report)
	}
	if err == nil && len(report.Faults) > 0 {
		err = errFound
	}
	return err
}

// auditConfig says what a data folder is to be compared with, and how its
// repository is reached from here.
func (c *call) auditConfig(data string) (audit.Config, error) {
	cfg := audit.Config{FS: os.DirFS(data), Data: filepath.ToSlash(data), Git: "git"}
	repo, err := gitrepo.Open(data)
	var none *gitrepo.NotRepositoryError
	if errors.As(err, &none) {
		c.note("no git repository holds " + data + ": the newest run record has nothing to be compared with")
		return cfg, nil
	}
	if err != nil {
		return cfg, err
	}
	if here, err := os.Getwd(); err != nil || !within(here, repo.Root()) {
		abs, err := filepath.Abs(data)
		if err != nil {
			return cfg, err
		}
		cfg.Data, cfg.Git = filepath.ToSlash(abs), "git -C "+audit.Quote(repo.Root())
	}
	if stage, whole, err := archive.OpenStage(repo.GitDir(), nil); err == nil && stage != nil && whole {
		c.note("a run is staged and not committed yet; `mcpstrata commit` finishes it, and then the folder is whole")
	}
	head, ok, err := repo.Head()
	if err != nil {
		return cfg, fmt.Errorf("reading the newest commit: %w", err)
	}
	if !ok {
		c.note("the repository has no commit yet: the newest run record has nothing to be compared with")
		return cfg, nil
	}
	if cfg.Committed, err = repo.TreeBlobs(head.ID); err != nil {
		return cfg, fmt.Errorf("reading the newest commit: %w", err)
	}
	switch {
	case repo.Shallow():
		c.note("the history is cut off: that git still has every older body is not checked")
	case partialClone(repo.GitDir()):
		c.note("the clone is partial: that git still has every older body is not checked")
	default:
		cfg.Has = repo.Has
	}
	return cfg, nil
}

// partialClone reports whether a repository left objects with its remote: it has
// packs that promise them.
func partialClone(gitDir string) bool {
	if b, err := os.ReadFile(filepath.Join(gitDir, "commondir")); err == nil { // a linked work tree
		gitDir = filepath.Join(gitDir, strings.TrimSpace(string(b)))
	}
	entries, err := os.ReadDir(filepath.Join(gitDir, "objects", "pack"))
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".promisor") })
}

// within reports whether dir is root or lies below it.
func within(dir, root string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func (c *call) printReport(r *audit.Report) error {
	n := r.Checked
	if len(r.Faults) == 0 {
		_, err := fmt.Fprintf(c.stdout, "%s runs, %s rows, %s bodies: no fault\n", progress.Count(n["runs"]), progress.Count(n["rows"]), progress.Count(n["bodies"]))
		return err
	}
	for _, f := range r.Faults {
		if _, err := fmt.Fprintf(c.stdout, "%s: %s: %s\n\tmend: %s\n", visible.Line(f.Path), f.Rule, visible.Line(f.Says), visible.Line(f.Mend)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.stdout, "%s runs, %s rows, %s bodies: faults in %s files\n", progress.Count(n["runs"]), progress.Count(n["rows"]), progress.Count(n["bodies"]), progress.Count(len(r.Faults)))
	return err
}
