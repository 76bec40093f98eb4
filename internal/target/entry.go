package target

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// official is the member of a row's _meta that the registry itself writes.
const official = "io.modelcontextprotocol.registry/official"

// An entry is what Choose reads of one registry row.
type entry struct {
	bytes      string // the row
	version    string
	deleted    bool
	latest     bool
	published  time.Time // zero if not stated
	updated    time.Time
	badRemotes bool // remotes is there, and no array
	remotes    []remote
}

// A remote is one element of remotes.
type remote struct {
	kind, url  string
	badURL     bool // url is there, and no string
	unreadable bool
}

// readEntry reads one registry row. It fails if the row, or its server, is no
// JSON object, or one in which a member stands twice.
func readEntry(b string) (entry, error) {
	row, err := record.Members([]byte(b))
	if err != nil {
		return entry{}, fmt.Errorf("reading registry row: %w", err)
	}
	server, err := record.Members(row["server"])
	if err != nil {
		return entry{}, fmt.Errorf("reading server of registry row: %w", err)
	}
	e := entry{bytes: b}
	e.version, _ = text(server["version"])
	e.remotes, e.badRemotes = readRemotes(server["remotes"])

	meta, err := record.Members(row["_meta"])
	if err != nil {
		return e, nil // an unmarked row is still a row
	}
	m, err := record.Members(meta[official])
	if err != nil {
		return e, nil
	}
	status, _ := text(m["status"])
	e.deleted = status == "deleted"
	e.latest = string(m["isLatest"]) == "true"
	e.published = instant(m["publishedAt"])
	e.updated = instant(m["updatedAt"])
	return e, nil
}

// readRemotes returns the elements of a remotes member, and whether it is there
// but not an array.
func readRemotes(raw json.RawMessage) (remotes []remote, bad bool) {
	if raw == nil || string(raw) == "null" {
		return nil, false
	}
	var elems []json.RawMessage
	if json.Unmarshal(raw, &elems) != nil {
		return nil, true
	}
	for _, elem := range elems {
		m, err := record.Members(elem)
		if err != nil {
			remotes = append(remotes, remote{unreadable: true})
			continue
		}
		var r remote
		var ok bool
		r.kind, ok = text(m["type"])
		r.unreadable = !ok
		r.url, ok = text(m["url"])
		r.badURL = !ok
		remotes = append(remotes, r)
	}
	return remotes, false
}

// reject returns why the URL of a streamable-http remote is not probed; the
// empty detail if it is.
func reject(r remote) record.Detail {
	switch {
	case r.badURL:
		return record.DetailMalformed
	case strings.ContainsAny(r.url, "{}"):
		return record.DetailURLTemplate
	}
	if _, ok := parse(r.url); !ok {
		return record.DetailBadURL
	}
	return ""
}

// text returns the value of a JSON string. An absent or null one is empty and
// ok; anything else but a string is not ok.
func text(raw json.RawMessage) (s string, ok bool) {
	if raw == nil {
		return "", true
	}
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// instant returns the time that a JSON string holds in RFC 3339; zero if none.
func instant(raw json.RawMessage) time.Time {
	s, _ := text(raw)
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// compareVersions orders registry versions: any other one before a semantic
// one, and those by precedence. It returns 0 for two that are not semantic, and
// for two that differ in their build only (Semantic Versioning 2.0.0, rule 10).
func compareVersions(a, b string) int {
	return semver.Compare(semantic(a), semantic(b)) // an invalid version is the lower one
}

// semantic returns v in the form of package semver, or the empty string if it
// has no three numbers. The registry writes versions without the leading v.
func semantic(v string) string {
	if !strings.HasPrefix(v, "v") {
		v = "v" + v
	}
	core, _, _ := strings.Cut(v, "+")
	core, _, _ = strings.Cut(core, "-")
	if strings.Count(core, ".") != 2 || !semver.IsValid(v) {
		return ""
	}
	return v
}
