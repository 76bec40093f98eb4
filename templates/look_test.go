package templates_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const sheet = "site/assets/style.css"

// TestChartStyles holds the sheet of the pages to the one that charts carry when
// they stand alone: each rule of a class has the same declarations, and each
// variable the same value where both define it. The font is the pages' own.
func TestChartStyles(t *testing.T) {
	const alone = "../internal/chart/style.css"
	ours, theirs := rules(t, sheet), rules(t, alone)
	if len(theirs) < 30 {
		t.Fatalf("read %d rules of %s", len(theirs), alone)
	}
	for selector, want := range theirs {
		if selector == ".chart" || selector == ".chart text" {
			continue
		}
		if got := ours[selector]; got != want {
			t.Errorf("%s: %s { %s }, want { %s } as in %s", sheet, selector, got, want, alone)
		}
	}
	for theme, vars := range themes(t, alone, ".chart") {
		for name, want := range vars {
			if !strings.HasPrefix(name, "--s-") && !strings.HasPrefix(name, "--c") {
				continue // grounds and greys are the pages' own, and are measured below
			}
			if got := themes(t, sheet, ":root")[theme][name]; got != want {
				t.Errorf("%s, %s: %s is %q, want %q as in %s", sheet, theme, name, got, want, alone)
			}
		}
	}
}

// TestContrast measures the colours of both themes: text to its ground at least
// 5.5 to 1, what is drawn at least 3 (WCAG 2.2, 1.4.3 and 1.4.11, asks for 4.5
// and 3).
func TestContrast(t *testing.T) {
	const text, drawn = 5.5, 3
	pairs := []struct {
		fore, back string
		least      float64
	}{
		{"--fg", "--bg", text}, {"--fg", "--soft", text}, {"--fg", "--lift", text},
		{"--mut", "--bg", text}, {"--mut", "--soft", text},
		{"--link", "--bg", text}, {"--link", "--soft", text},
		{"--ins", "--ins-bg", text}, {"--ins", "--bg", text}, {"--ins", "--soft", text},
		{"--del", "--del-bg", text}, {"--del", "--bg", text}, {"--del", "--soft", text},
		{"--warn", "--warn-bg", text}, {"--warn", "--bg", text},
		{"--good", "--good-bg", text},
		{"--bg", "--accent", text}, {"--accent", "--bg", text},
		{"--warn-line", "--bg", drawn}, {"--edge", "--bg", drawn}, {"--edge", "--soft", drawn},
		{"--m1", "--bg", drawn}, {"--m2", "--bg", drawn}, {"--m3", "--bg", drawn},
		{"--s-answered", "--soft", drawn}, {"--s-auth", "--soft", drawn}, {"--s-timeout", "--soft", drawn}, {"--s-no_endpoint", "--soft", drawn},
	}
	all := themes(t, sheet, ":root")
	if len(all["dark"]) < 20 || len(all["light"]) < 20 {
		t.Fatalf("read %d light and %d dark variables", len(all["light"]), len(all["dark"]))
	}
	for theme, vars := range all {
		for _, p := range pairs {
			got := contrast(t, vars[p.fore], vars[p.back])
			if got < p.least {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", theme, p.fore, p.back, got, p.least)
			}
		}
	}
}

// TestPagesRunNothing holds what the content security policy forbids out of the
// templates: a browser would drop it and say so on the console.
func TestPagesRunNothing(t *testing.T) {
	bad := regexp.MustCompile(`(?i)\sstyle=|\son[a-z]+=|<style|javascript:|<script(?: src="\{\{\.Asset "site\.js"\}\}" defer)?>[^<]|<(?:iframe|object|embed|base|form)\b`)
	entries, err := os.ReadDir("site")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		n++
		if m := bad.FindString(fileText(t, "site/"+e.Name())); m != "" {
			t.Errorf("site/%s holds %q", e.Name(), m)
		}
	}
	if n < 11 {
		t.Errorf("read %d templates, want 11", n)
	}
	if m := regexp.MustCompile(`@import|url\(|expression\(`).FindString(fileText(t, sheet)); m != "" {
		t.Errorf("%s holds %q", sheet, m)
	}
}

func fileText(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	comment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	rule    = regexp.MustCompile(`(?m)^(\.chart[^{},]*)\{([^{}]*)\}`)
	setting = regexp.MustCompile(`(--[\w-]+)\s*:\s*(#[0-9a-f]{6})`)
)

// rules returns the declarations of the rules for charts that stand outside
// media queries, by selector, in one spelling.
func rules(t *testing.T, name string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, m := range rule.FindAllStringSubmatch(comment.ReplaceAllString(fileText(t, name), ""), -1) {
		var list []string
		for d := range strings.SplitSeq(m[2], ";") {
			if property, value, ok := strings.Cut(d, ":"); ok {
				list = append(list, strings.TrimSpace(property)+": "+strings.Join(strings.Fields(value), " "))
			}
		}
		found[strings.TrimSpace(m[1])] = strings.Join(list, "; ")
	}
	return found
}

// themes returns the colours that a sheet sets on a selector, light and dark.
func themes(t *testing.T, name, selector string) map[string]map[string]string {
	t.Helper()
	block := regexp.MustCompile(`(?s)(prefers-color-scheme: ?dark\)\s*\{\s*)?` + regexp.QuoteMeta(selector) + `\s*\{([^{}]*)\}`)
	all := map[string]map[string]string{"light": {}, "dark": {}}
	for _, m := range block.FindAllStringSubmatch(comment.ReplaceAllString(fileText(t, name), ""), -1) {
		theme := "light"
		if m[1] != "" {
			theme = "dark"
		}
		for _, s := range setting.FindAllStringSubmatch(m[2], -1) {
			if _, again := all[theme][s[1]]; !again { // print sets some once more, on paper
				all[theme][s[1]] = s[2]
			}
		}
	}
	return all
}

// contrast returns the ratio of two colours as WCAG 2.2 defines it.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	if len(colour) != 7 {
		t.Fatal(fmt.Errorf("%q is not a colour", colour))
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
