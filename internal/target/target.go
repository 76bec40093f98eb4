// Package target decides which endpoint of a registry entry is probed, records
// why another is not, and whose platform it is. It is a pure function of the
// registry's rows.
//
// # Which version
//
// A target is a registry name, compared byte for byte; nothing is folded. Of the
// rows of one name those whose official status is "deleted" do not count, and a
// name without any other row is no target. Of the rest the version with
// isLatest true supplies the endpoint, even where an older version would have a
// better one. When several versions are marked, the one published last does;
// when none is, the highest semantic version does, a semantic version before any
// other, then the one published last. Both cases carry the flag
// latest_ambiguous, also when the name has a single version that is not marked
// (registry documentation, "Versioning", rules for aggregators). The choice does
// not depend on the order of the rows.
//
// # Which endpoint
//
// It is the URL of the first element of the version's remotes whose type is
// "streamable-http", verbatim; a package's transport is no remote. If that URL is
// a template it is not filled in, defaults or not, and no later remote is tried:
// a reader that fills in templates picks a server that nobody declared. Declared
// headers are not sent. Where there is no endpoint, Reason is a detail of the
// class no_endpoint (package record).
package target

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// MaxURL is the length in bytes beyond which a declared URL is not read.
const MaxURL = 2000

// A Target is one name of the roster and the endpoint at which it is probed.
// Either Endpoint or Reason is empty.
type Target struct {
	Name     string        // the registry server name: the target's identity
	Version  string        // of the row that was chosen; empty if it states none
	Endpoint string        // URL as declared, verbatim
	Reason   record.Detail // why there is no endpoint: a detail of no_endpoint
	Flags    []record.Flag // latest_ambiguous or none
	Position int           // among the targets of the listing, from 1, by the first row of the name
	Warnings []string      // for people: what the registry left unclear
}

// Choose returns the target of each name in rows, in the order in which the
// names first occur. Rows without a name are passed over; a row that can't be
// read counts only if its name has no readable one, and then the target's reason
// is malformed. A version listed twice counts once, as it was updated last.
func Choose(rows []record.ListingRow, optOut OptOut) []Target {
	var order []string
	byName := make(map[string][]string)
	for _, r := range rows {
		if r.Name == "" {
			continue
		}
		if _, ok := byName[r.Name]; !ok {
			order = append(order, r.Name)
		}
		byName[r.Name] = append(byName[r.Name], r.Bytes)
	}
	var targets []Target
	for _, name := range order {
		t, ok := choose(name, byName[name], optOut)
		if !ok {
			continue
		}
		t.Position = len(targets) + 1
		targets = append(targets, t)
	}
	return targets
}

// choose returns the target of one name from its rows, and false when all of
// them are deleted.
func choose(name string, rows []string, optOut OptOut) (Target, bool) {
	t := Target{Name: name}
	var all []entry
	for _, b := range rows {
		if e, err := readEntry(b); err == nil {
			all = append(all, e)
		}
	}
	live := undeleted(all)
	switch {
	case len(all) == 0:
		t.Reason = record.DetailMalformed
	case len(live) == 0:
		return Target{}, false
	default:
		e, clear := pick(live)
		t.Version = e.version
		t.Endpoint, t.Reason = e.endpoint()
		if !clear {
			t.Flags = []record.Flag{record.FlagLatestAmbiguous}
			t.Warnings = []string{"isLatest missing/ambiguous for " + name}
		}
	}
	if optOut.Name(name) || t.Reason == "" && optOut.Endpoint(t.Endpoint) {
		t.Endpoint, t.Reason = "", record.DetailOptOut
	}
	return t, true
}

// undeleted returns the newest listing of each version, without those that are
// deleted by then: a version can be listed twice while the registry changes.
func undeleted(all []entry) []entry {
	all = slices.SortedFunc(slices.Values(all), func(a, b entry) int {
		return cmp.Or(
			strings.Compare(a.version, b.version),
			b.updated.Compare(a.updated),
			strings.Compare(a.bytes, b.bytes),
		)
	})
	all = slices.CompactFunc(all, func(a, b entry) bool { return a.version == b.version })
	return slices.DeleteFunc(all, func(e entry) bool { return e.deleted })
}

// pick returns the entry that supplies the endpoint, and whether exactly one
// version is marked as the latest.
func pick(live []entry) (e entry, clear bool) {
	var latest []entry
	for _, e := range live {
		if e.latest {
			latest = append(latest, e)
		}
	}
	switch len(latest) {
	case 0:
		return slices.MaxFunc(live, func(a, b entry) int {
			return cmp.Or(compareVersions(a.version, b.version), a.published.Compare(b.published), strings.Compare(a.version, b.version))
		}), false
	case 1:
		return latest[0], true
	default:
		return slices.MaxFunc(latest, func(a, b entry) int {
			return cmp.Or(a.published.Compare(b.published), compareVersions(a.version, b.version), strings.Compare(a.version, b.version))
		}), false
	}
}

// endpoint returns the entry's endpoint, or the reason why it has none.
func (e entry) endpoint() (string, record.Detail) {
	if e.badRemotes {
		return "", record.DetailMalformed
	}
	sse, unreadable := false, false
	for _, r := range e.remotes {
		switch {
		case r.unreadable:
			unreadable = true
		case r.kind == "streamable-http":
			if why := reject(r); why != "" {
				return "", why
			}
			return r.url, ""
		case r.kind == "sse":
			sse = true
		}
	}
	switch {
	case unreadable:
		return "", record.DetailMalformed
	case sse:
		return "", record.DetailSSEOnly
	}
	return "", record.DetailNoRemote
}

// parse reads a URL that a probe may ask: http or https, with a host, without
// credentials.
func parse(s string) (*url.URL, bool) {
	if s == "" || len(s) > MaxURL || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || r == utf8.RuneError
	}) {
		return nil, false
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || hostname(u) == "" || u.User != nil {
		return nil, false
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return nil, false
		}
	}
	if _, err := httpguts.PunycodeHostPort(u.Host); err != nil {
		return nil, false
	}
	return u, true
}
