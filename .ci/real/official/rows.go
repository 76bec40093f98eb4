package official

import (
	"fmt"
	"strings"
)

// A Version is a server.json: one version of one name, as published.
type Version struct {
	Schema      string    `json:"$schema"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Title       string    `json:"title,omitempty"`
	Version     string    `json:"version"`
	Packages    []Package `json:"packages,omitempty"`
	Remotes     []Remote  `json:"remotes,omitempty"`
}

// A Package is something to run oneself.
type Package struct {
	RegistryType string    `json:"registryType"`
	Identifier   string    `json:"identifier"`
	Version      string    `json:"version"`
	Transport    Transport `json:"transport"`
}

// A Transport is how a package is spoken to. One with a URL is still no remote.
type Transport struct {
	Type string `json:"type"`
	URL  string `json:"url,omitempty"`
}

// A Remote is an endpoint of a running server.
type Remote struct {
	Type      string           `json:"type"`
	URL       string           `json:"url"`
	Headers   []Header         `json:"headers,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"`
}

// A Header is one that a client is to send.
type Header struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	IsRequired  bool   `json:"isRequired,omitempty"`
	IsSecret    bool   `json:"isSecret,omitempty"`
}

// An Input is a variable of a URL.
type Input struct {
	Description string `json:"description,omitempty"`
	IsRequired  bool   `json:"isRequired,omitempty"`
	Default     string `json:"default,omitempty"`
}

// A Want is what a plan must say of a name: an endpoint, or why there is none.
type Want struct {
	Endpoint string
	Reason   string
}

// Names and versions: 290 names make three pages of 100 by latest version, the
// last one short. Their versions are 500, so that the last page of all versions
// is exactly full and an empty one follows it (protocol.md 3.2).
const (
	names    = 290
	versions = 500
)

// Rows returns versions in publishing order, and what each name's plan line
// must say.
func Rows() ([]Version, map[string]Want) {
	var all []Version
	want := map[string]Want{}
	more := versions - names
	for i := range names {
		name := nameOf(i)
		releases, latest := releasesOf(i, &more, names-i)
		for v, release := range releases {
			row, w := rowOf(i, v)
			row.Name, row.Version = name, release
			all = append(all, row)
			if release == latest {
				want[name] = w
			}
		}
	}
	return all, want
}

// nameOf returns names that only differ by case, that sort otherwise by
// collation than by bytes, and plain ones.
func nameOf(i int) string {
	spaces := []string{"io.github.Foo", "com.example", "io.github.foo", "dev.Zeta.demo", "org.sample", "ai.x-1"}
	names := []string{"Mail", "search", "maps", "a_b", "a.b", "a-b", "Z9"}
	if i < 4 { // two pairs that a case-insensitive file system can't tell apart
		return []string{"io.github.Foo/twin", "io.github.foo/twin", "io.github.foo/Case", "io.github.foo/case"}[i]
	}
	return fmt.Sprintf("%s/%s-%03d", spaces[i%len(spaces)], names[i%len(names)], i)
}

// releasesOf returns the versions of name i in publishing order and the one
// that the registry must call the latest: the highest by semantic versioning. It
// takes extra versions from more and leaves none when the last name has come.
func releasesOf(i int, more *int, left int) (releases []string, latest string) {
	patterns := []struct {
		releases []string
		latest   string
	}{
		{[]string{"1.0.0"}, "1.0.0"},
		{[]string{"1.0.0", "1.1.0+build.5"}, "1.1.0+build.5"},
		{[]string{"2.0.0", "1.9.9", "2.0.1-rc.1"}, "2.0.1-rc.1"}, // a lower one published later
		{[]string{"2.0.0-beta.1", "2.0.0", "2.0.0-rc.1"}, "2.0.0"},
		{[]string{"0.9.0", "0.10.0"}, "0.10.0"}, // not by text
	}
	p := patterns[i%len(patterns)]
	if extra := len(p.releases) - 1; extra > *more {
		p = patterns[0]
	}
	releases, latest = p.releases, p.latest
	*more -= len(releases) - 1
	if left == 1 {
		for n := range *more { // the rest, on the last name
			latest = fmt.Sprintf("3.%d.0", n)
			releases = append(releases[:len(releases):len(releases)], latest)
		}
	}
	return releases, latest
}

// rowOf returns the v-th version of name i without name and version. The kinds
// of remotes go round by i; URLs are unique, as the registry demands.
func rowOf(i, v int) (Version, Want) {
	row := Version{
		Schema:      "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		Title:       fmt.Sprintf("Sample %d", i),
		Description: fmt.Sprintf("Sample server %d, release %d — ünïcode ✓ <b>&amp;</b> \u2028", i, v),
	}
	host := fmt.Sprintf("https://mcp%d.example.com/v%d", i, v)
	http := Remote{Type: "streamable-http", URL: host + "/mcp"}
	sse := Remote{Type: "sse", URL: host + "/sse"}
	template := Remote{Type: "streamable-http", URL: fmt.Sprintf("https://{tenant}.t%d.example.com/v%d/mcp", i, v),
		Variables: map[string]Input{"tenant": {Description: "your tenant", IsRequired: true}}}
	npm := Package{RegistryType: "npm", Identifier: fmt.Sprintf("@example/mcp-%d-%d", i, v), Version: "1.0.0", Transport: Transport{Type: "stdio"}}
	switch i % 10 {
	case 0, 1:
		row.Remotes = []Remote{http}
	case 2:
		row.Remotes = []Remote{sse, http, {Type: "streamable-http", URL: host + "/second"}}
	case 3:
		http.Headers = []Header{{Name: "Authorization", Description: "API key", IsRequired: true, IsSecret: true}}
		row.Remotes, row.Packages = []Remote{http}, []Package{npm}
	case 4:
		row.Remotes = []Remote{template}
		return row, Want{Reason: "url_template"}
	case 5: // templates are never filled in, not even with defaults; the first remote counts
		template.Variables["tenant"] = Input{Default: "main"}
		row.Remotes = []Remote{template, http}
		return row, Want{Reason: "url_template"}
	case 6:
		row.Remotes = []Remote{sse}
		return row, Want{Reason: "sse_only"}
	case 7:
		row.Packages = []Package{npm}
		return row, Want{Reason: "no_remote"}
	case 8: // an endpoint of a package is no remote
		npm.Transport = Transport{Type: "streamable-http", URL: "http://localhost:3000/mcp"}
		row.Packages = []Package{npm}
		return row, Want{Reason: "no_remote"}
	case 9:
		http.URL = host + "/" + strings.Repeat("long-path/", 12) + "mcp?a=1&b=%2F"
		row.Remotes = []Remote{http}
	}
	return row, Want{Endpoint: http.URL}
}
