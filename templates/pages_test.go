package templates_test

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/fingerprint"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/safehttp"
	"github.com/mcpstrata/mcpstrata/internal/survival"
	"github.com/mcpstrata/mcpstrata/internal/sweep"
	"github.com/mcpstrata/mcpstrata/templates"
)

func handWritten(t *testing.T, name string) string {
	t.Helper()
	b, err := fs.ReadFile(templates.Pages(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The methodology page says what the program does: where a rule is a value in
// code, the page has that value.
func TestMethodologyPage(t *testing.T) {
	page := handWritten(t, "methodology/v1.md")
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.0f seconds", d.Seconds()) }
	want := []string{
		"`" + record.Series + "`", "`" + record.Source + "`", "`" + record.V1.ProtocolVersion + "`",
		"Each request may take " + seconds(record.V1.RequestTimeout),
		"| one request, its body included | " + seconds(record.V1.RequestTimeout) + " |",
		"at most " + seconds(record.V1.RequestTimeout/4) + " are spent on it",
		fmt.Sprintf("| a body, decoded | %d MiB |", safehttp.DefaultMaxBody>>20),
		"| values in one JSON document | " + report.Count(canon.MaxValues).Text() + " |",
		fmt.Sprintf("| nesting of a JSON document | %d |", canon.MaxDepth),
		"| tools in a list | " + report.Count(contract.MaxTools).Text() + " |",
		fmt.Sprintf("| redirects | %d |", safehttp.DefaultMaxRedirects),
		fmt.Sprintf("up to %s for one answer and %.0f minutes in a run", seconds(sweep.MaxRetryAfter), sweep.MaxRest.Minutes()),
		fmt.Sprintf("fewer than %d intervals or %d servers", survival.ThinBelow, survival.ThinBelow),
		"1.959963984540054",
		"\n\n<!-- generated: classes -->\n\n", "\n\n<!-- generated: flags -->\n\n",
	}
	for _, s := range want {
		if !strings.Contains(page, s) {
			t.Errorf("methodology/v1.md lacks %q", s)
		}
	}
}

// The page of methodology v2 does so as well, and names each thing of v2 that
// others look for: every cause and digest has its place in it.
func TestMethodologyPageV2(t *testing.T) {
	page := handWritten(t, "methodology/v2.md")
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.0f seconds", d.Seconds()) }
	want := []string{
		"`" + record.Series + "`", "`" + record.Source + "`", "protocol version `" + record.V2.ProtocolVersion + "`",
		"v1 asks for `" + record.V1.ProtocolVersion + "`",
		"Each request may take " + seconds(record.V2.RequestTimeout),
		"| one request, its body included | " + seconds(record.V2.RequestTimeout) + " |",
		"at most " + seconds(record.V2.RequestTimeout/4) + " are spent on it",
		fmt.Sprintf("| a body, decoded | %d MiB |", safehttp.DefaultMaxBody>>20),
		"| values in one JSON document | " + report.Count(canon.MaxValues).Text() + " |",
		fmt.Sprintf("| nesting of a JSON document | %d |", canon.MaxDepth),
		"| tools in a list | " + report.Count(contract.MaxTools).Text() + " |",
		fmt.Sprintf("| redirects of one request | %d |", safehttp.DefaultMaxRedirects),
		fmt.Sprintf("up to %s for one answer and %.0f minutes in a run", seconds(sweep.MaxRetryAfter), sweep.MaxRest.Minutes()),
		"`" + string(record.StepDiscover) + "`",
		"\n\n<!-- generated: classes -->\n\n", "\n\n<!-- generated: flags -->\n\n", "\n\n<!-- generated: causes -->\n\n",
	}
	for _, r := range []record.Reread{record.RereadSame, record.RereadDifferent, record.RereadFailed, record.RereadNone} {
		want = append(want, "`reread` is `"+string(r)+"`")
	}
	for _, k := range fingerprint.Kinds() {
		of := "a tool"
		if k.Set {
			of = "a list"
		}
		want = append(want, "| `"+k.Name+"` | "+of+" |")
	}
	for _, s := range want {
		if !strings.Contains(page, s) {
			t.Errorf("methodology/v2.md lacks %q", s)
		}
	}
}

var (
	pageLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notHTML  = regexp.MustCompile("`[^`]*`|<https://[^ >]+>") // code and addresses
)

// Links of the hand-written pages lead to a page of the site, or elsewhere by
// https. Raw HTML would be dropped.
func TestHandWrittenPages(t *testing.T) {
	site := map[string]bool{"": true, "about": true, "data": true, "half-life": true, "changes": true, "methodology/v1": true, "methodology/v2": true, "capture": true, "lookup": true}
	names := []string{"methodology/v1.md", "methodology/v2.md", "about.md"}
	for _, name := range names {
		page := handWritten(t, name)
		if !strings.HasPrefix(page, "# ") || strings.Count(page, "\n# ") != 0 {
			t.Errorf("%s: does not begin with its one title", name)
		}
		for _, m := range pageLink.FindAllStringSubmatch(page, -1) {
			if strings.HasPrefix(m[1], "https://") {
				continue
			}
			to := path.Join(strings.TrimSuffix(name, ".md"), m[1])
			if !site[to] || !strings.HasSuffix(m[1], "/") {
				t.Errorf("%s: %s leads to %q, which is no page", name, m[1], to)
			}
		}
		fence := false
		for _, line := range strings.Split(page, "\n") {
			if strings.HasPrefix(line, "```") {
				fence = !fence
			}
			if fence || strings.HasPrefix(line, "<!-- generated: ") {
				continue
			}
			if strings.Contains(notHTML.ReplaceAllString(line, ""), "<") {
				t.Errorf("%s: raw HTML in %q", name, line)
			}
		}
	}
}
