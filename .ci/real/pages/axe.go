package pages

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
	"github.com/mcpstrata/mcpstrata/ci/real/chrome"
	"github.com/mcpstrata/mcpstrata/ci/real/npm"
)

//go:embed axe/package.json axe/package-lock.json
var axeFiles embed.FS

// axeTags are the rules of axe-core that must hold: WCAG 2.0 to 2.2, levels A
// and AA, and the rules that axe calls best practice. None is left out.
var axeTags = []string{"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"}

// minRules is fewer than the tags select in the pinned version; a run of less
// did not run what it should.
const minRules = 80

// Axe is the source of axe-core.
type Axe struct{ source string }

// LoadAxe installs axe-core, at the version in axe/package.json.
func LoadAxe(ctx context.Context, temp string) (*Axe, error) {
	tree, err := fs.Sub(axeFiles, "axe")
	if err != nil {
		return nil, err
	}
	dir, err := npm.Install(ctx, tree, temp)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return nil, fmt.Errorf("reading axe-core: %w", err)
	}
	return &Axe{source: string(b) + ";0"}, nil
}

// A finding is a rule that an element breaks.
type finding struct{ Rule, Help, Where, Why, HTML string }

// Accessible returns what axe-core finds wrong on the page. It leaves to a
// person what it can't decide: nearly all text in drawings ([Drawn] looks at
// that) and what is scrolled out of the window.
func (a *Axe) Accessible(t *chrome.Tab) check.List {
	var bad check.List
	if _, err := chrome.Probe[int](t, a.source); err != nil {
		return failed(err)
	}
	r, err := chrome.Probe[struct {
		Violations []finding
		Rules      int
	}](t, call("axe", axeTags))
	if err != nil {
		return failed(err)
	}
	if r.Rules < minRules {
		bad.Add("axe ran %d rules, want at least %d", r.Rules, minRules)
	}
	for _, f := range r.Violations {
		bad.Add("axe, %s (%s): %s: %s: %s", f.Rule, f.Help, f.Where, f.HTML, f.Why)
	}
	return bad
}
