package internal

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns what links into a Markdown page can name, as GitHub makes it
// from the headings.
func anchors(page string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		out[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return out
}

// Every link of our pages to a file or a heading of this repository leads
// somewhere.
func TestLinks(t *testing.T) {
	pages := []string{"README.md", "CHANGELOG.md", "RECORDED-TEXT.md", "SECURITY.md", "data/README.md", "site/README.md"}
	followed := 0
	for _, page := range pages {
		src, err := os.ReadFile(filepath.Join("..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(src), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			followed++
			name, anchor, _ := strings.Cut(m[1], "#")
			there := src
			if name != "" {
				if there, err = os.ReadFile(filepath.Join("..", filepath.Dir(page), name)); err != nil {
					t.Errorf("%s: %s: %v", page, m[1], err)
					continue
				}
			}
			if anchor != "" && !anchors(string(there))[anchor] {
				t.Errorf("%s: %s: there is no such heading", page, m[1])
			}
		}
	}
	if followed == 0 {
		t.Error("no link was followed")
	}
}
