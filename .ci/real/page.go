package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
	"github.com/mcpstrata/mcpstrata/ci/real/shown"
	"github.com/mcpstrata/mcpstrata/ci/real/wire"
)

// A machine is index.json beside a server's page, as far as it is checked: what
// the report says of each version, and what changed to it.
type machine struct {
	Name   string `json:"name"`
	Report struct {
		Versions []struct {
			First     string       `json:"first"`
			Identity  string       `json:"identity"`
			Changes   []toolChange `json:"changes"`
			Cut       bool         `json:"changes_cut"` // of many changes the report has the first alone
			Artifacts []string     `json:"artifacts"`
		} `json:"versions"`
	} `json:"report"`
	Versions []struct {
		Diff *struct {
			Tools []struct {
				Name  string `json:"name"`
				Kind  string `json:"kind"`
				Texts []struct {
					Before string `json:"before"`
					After  string `json:"after"`
				} `json:"texts"`
			} `json:"tools"`
		} `json:"diff"`
	} `json:"versions"`
}

// readPage reads a server's page and the JSON beside it.
func (s *series) readPage(t *target) (page *shown.Page, beside machine, err error) {
	dir := filepath.Join(s.site, "s", filepath.FromSlash(t.name()))
	b, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		return nil, beside, fmt.Errorf("reading the page of %s: %w", t.Name, err)
	}
	if page, err = shown.Parse(b); err != nil {
		return nil, beside, fmt.Errorf("%s: %w", t.Name, err)
	}
	if b, err = os.ReadFile(filepath.Join(dir, "index.json")); err != nil {
		return nil, beside, fmt.Errorf("reading the JSON beside the page of %s: %w", t.Name, err)
	}
	if err := json.Unmarshal(b, &beside); err != nil {
		return nil, beside, fmt.Errorf("reading the JSON beside the page of %s: %w", t.Name, err)
	}
	return page, beside, nil
}

// checkPages checks, under v2, which pages of servers show, that the site that the last run built has a page for every
// server with what the proxies saw on it, and every drift so far.
func (s *series) checkPages() error {
	for _, t := range s.targets {
		page, beside, err := s.readPage(t)
		if err != nil {
			return err
		}
		var bad check.List
		bad.Same("heading", page.Title, t.name())
		bad.Same("index.json: name", beside.Name, t.name())
		list := t.newer.kept.list
		if t.newer.kept.body == nil {
			bad.Same("index.json: versions", len(beside.Versions), 0)
			s.None(bad, "%s: %s has its page, which shows no contract", s.date(), t.Name)
			continue
		}
		checkTools(&bad, page, list)
		n := len(beside.Report.Versions)
		bad.Same("index.json: versions", n > 0, true)
		bad.Same("index.json: versions with their diffs", len(beside.Versions), n)
		if n > 0 {
			bad.Same("index.json: newest identity", beside.Report.Versions[n-1].Identity, list.Ordered())
			bad.Same("index.json: newest artifacts", beside.Report.Versions[n-1].Artifacts, t.newer.kept.digests())
		}
		s.None(bad, "%s: the page of %s shows its %d tools and their descriptions as recorded", s.date(), t.Name, len(list.Tools))
		if t.was != nil {
			s.checkDiff(t, page, beside)
		}
	}
	return nil
}

// cutAfter is how many characters of a description a page shows at least.
const cutAfter = 4_000

// checkTools checks that every tool's name and description stands on the page.
func checkTools(bad *check.List, page *shown.Page, list wire.List) {
	for _, tool := range list.Tools {
		name, _ := tool["name"].(string)
		if !slices.Contains(page.Recorded, name) {
			bad.Add("no tool %s on the page", name)
		}
		description, _ := tool["description"].(string)
		whole := slices.Contains(page.Recorded, description)
		if len(description) > cutAfter {
			whole = slices.ContainsFunc(page.Recorded, func(s string) bool { return len(s) > 100 && strings.HasPrefix(description, s[:100]) })
		}
		if description != "" && !whole {
			bad.Add("%s: the description is not on the page: %.80q", name, description)
		}
	}
}

// checkDiff compares what the page and the JSON beside it say of an upgrade
// with the two recorded bodies.
func (s *series) checkDiff(t *target, page *shown.Page, beside machine) {
	tools, err := page.Version(t.since)
	if err != nil {
		s.OK(false, "%s: %v", t.Name, err)
		return
	}
	texts, words := 0, 0
	for _, tool := range tools {
		texts += len(tool.Texts)
		for _, x := range tool.Texts {
			words += len(strings.Fields(x.New))
		}
	}
	s.None(shown.Compare(tools, t.newer.was.list, t.newer.kept.list), "%s: the page of %s shows the drift of %s with the right words added and removed: %d tools, %d texts, %d words, against the recorded bodies",
		s.date(), t.Name, t.since, len(tools), texts, words)

	var bad check.List
	for i, r := range beside.Report.Versions {
		if r.First != t.since || i >= len(beside.Versions) {
			continue
		}
		v := beside.Versions[i]
		bad.Same("index.json: changes_cut", r.Cut, false)
		diffChanges(&bad, r.Changes, wire.Compare(t.newer.was.list, t.newer.kept.list))
		if v.Diff == nil {
			bad.Add("index.json has no diff of %s", t.since)
			break
		}
		said := map[string]int{}
		for _, tool := range v.Diff.Tools {
			for _, x := range tool.Texts {
				said[tool.Name+"\x00"+x.Before+"\x00"+x.After]++
			}
		}
		for _, tool := range tools {
			for _, x := range tool.Texts {
				said[tool.Name+"\x00"+x.Old+"\x00"+x.New]--
			}
		}
		for what, n := range said {
			if n != 0 {
				bad.Add("index.json and the page differ by %d in %.100q", n, what)
			}
		}
		s.None(bad, "%s: index.json beside the page of %s says the same of %s", s.date(), t.Name, t.since)
		return
	}
	s.OK(false, "%s: index.json beside the page of %s has no version of %s", s.date(), t.Name, t.since)
}
