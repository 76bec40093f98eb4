package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A tree is a rendered site on disk.
type tree struct {
	dir    string
	paths  map[string]string // of the folders of server pages below the root, "s/…/", by registry name
	report siteReport
	busy   string // the server with most versions of its contract
	silent string // a server that never gave its tools
	day    string // a day with changes
}

// A siteReport is report.json, as far as it is needed.
type siteReport struct {
	Calendar []struct {
		Day     string            `json:"day"`
		Changes []json.RawMessage `json:"changes"`
	} `json:"calendar"`
	Servers map[string]struct {
		Read     string            `json:"read"`
		State    string            `json:"state"`
		Versions []json.RawMessage `json:"versions"`
	} `json:"servers"`
}

// readTree reads what stands beside the pages.
func readTree(dir string) (*tree, error) {
	t := &tree{dir: dir, paths: map[string]string{}}
	b, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return nil, fmt.Errorf("reading the site: %w", err)
	}
	if err := json.Unmarshal(b, &t.report); err != nil {
		return nil, fmt.Errorf("reading report.json of the site: %w", err)
	}
	if err := t.readPaths(); err != nil {
		return nil, err
	}
	return t, t.choose()
}

// readPaths finds the page of each server by the name that the JSON beside it
// gives.
func (t *tree) readPaths() error {
	root := os.DirFS(t.dir)
	return fs.WalkDir(root, "s", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("looking for server pages: %w", err)
		}
		if path.Base(name) != "index.json" {
			return nil
		}
		b, err := fs.ReadFile(root, name)
		if err != nil {
			return fmt.Errorf("reading a server's JSON: %w", err)
		}
		var page struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(b, &page); err != nil || page.Name == "" {
			return fmt.Errorf("reading %s: it names no server: %w", name, err)
		}
		t.paths[page.Name] = path.Dir(name) + "/"
		return nil
	})
}

// choose picks the pages to look at, always the same ones of one site.
func (t *tree) choose() error {
	for name, s := range t.report.Servers {
		if t.paths[name] == "" {
			return fmt.Errorf("choosing pages: %s has none", name)
		}
		if isHostile(name) {
			continue
		}
		if n, most := len(s.Versions), len(t.report.Servers[t.busy].Versions); t.busy == "" || n > most || n == most && name < t.busy {
			t.busy = name
		}
		if s.Read == "" && s.State != "no_endpoint" && (t.silent == "" || name < t.silent) {
			t.silent = name
		}
	}
	for _, d := range t.report.Calendar {
		if len(d.Changes) > 1 {
			t.day = d.Day
		}
	}
	if t.busy == "" || t.silent == "" || t.day == "" || t.paths[htmlName] == "" || t.paths[modernName] == "" {
		return errors.New("choosing pages: want a server with a contract, one without, a day with changes, " + htmlName + " and " + modernName)
	}
	return nil
}

// isHostile reports whether a server of the demo has texts that attack.
func isHostile(name string) bool { return strings.HasPrefix(name, "com.example.hostile/") }

// hostile returns the servers whose texts attack, sorted.
func (t *tree) hostile() []string {
	var all []string
	for name := range t.paths {
		if isHostile(name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// A chosenPage is a page to look at.
type chosenPage struct {
	what   string // for people
	path   string // below the root
	walked bool   // by keyboard too
}

// htmlName is the server whose texts are full of markup.
const htmlName = "com.example.hostile/html"

// modernName is a server that only methodology v2 can read.
const modernName = "com.example.next/search"

// chosen returns the pages to look at closely: one of each kind.
func (t *tree) chosen() []chosenPage {
	return []chosenPage{
		{"home", "", true},
		{"busy server " + t.busy, t.paths[t.busy], true},
		{"hostile server " + htmlName, t.paths[htmlName], false},
		{"silent server " + t.silent, t.paths[t.silent], false},
		{"server of one era " + modernName, t.paths[modernName], false},
		{"half-life", "half-life/", true},
		{"day " + t.day, "changes/" + t.day + "/", false},
		{"changes", "changes/", false},
		{"servers", "servers/", true},
		{"methodology v1", "methodology/v1/", false},
		{"methodology v2", "methodology/v2/", false},
		{"capture", "capture/", true},
		{"look-up", "lookup/", true},
		{"data", "data/", false},
		{"about", "about/", false},
	}
}
