package site

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
)

// Paths of the look-up page and of what it reads.
const (
	lookupPath    = "lookup/"
	lookupServers = lookupPath + "servers.txt"
)

// The files of digests: one for each beginning of two hex digits. A line holds the
// next fourteen digits, so two different digests among ten million share what is
// kept of them once in some hundred thousand archives.
const (
	shardDigits = 2
	keptDigits  = 16
)

// maxLookup is how many digests of one server are entered at most.
const maxLookup = 50_000

// Kinds of digests beside those of package fingerprint, by the code that the files
// have.
const (
	kindIdentityV1 = 'i'
	kindIdentityV2 = 'j'
	kindBody       = 'b'
)

// ownKinds are the kinds of our own record.
var ownKinds = []LookupKind{
	{string(kindIdentityV1), "Identity, methodology v1", "list"},
	{string(kindIdentityV2), "Identity, methodology v2", "list"},
	{string(kindBody), "SHA-256 of a body", "body"},
}

// lookupKinds returns all kinds that can be looked up, ours first.
func lookupKinds() []LookupKind { return slices.Concat(ownKinds, fingerprintKinds()) }

// A found is one digest of one server in days.
type found struct {
	key         [keptDigits / 2]byte
	kind        byte
	server      int32 // line of servers.txt, from 1
	first, last record.Day
	open        bool // still so on the newest day
}

// A digestIndex collects the digests of all servers. It is safe for concurrent
// use.
type digestIndex struct {
	mu  sync.Mutex
	all []found
}

// add enters the digests of one server.
func (x *digestIndex) add(list []found) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.all = append(x.all, list...)
}

// A digestSet holds the digests of one server while its page is made: in which of
// its versions each stands.
type digestSet struct {
	at    map[digestKey][]int // indices of versions, ascending or descending, each once
	order []digestKey
}

type digestKey struct {
	kind byte
	hex  string
}

// note enters a digest of a version. What is no SHA-256 in hex is passed over.
func (s *digestSet) note(kind byte, digest string, version int) {
	digest = strings.TrimPrefix(digest, "sha256:")
	if len(digest) != 64 || kind == 0 || len(s.order) == maxLookup {
		return
	}
	k := digestKey{kind, digest}
	if s.at == nil {
		s.at = map[digestKey][]int{}
	}
	list, ok := s.at[k]
	if !ok {
		s.order = append(s.order, k)
	}
	if n := len(list); n > 0 && list[n-1] == version {
		return
	}
	s.at[k] = append(list, version)
}

// found returns the digests with the days on which each stood: versions that
// follow each other in one piece.
func (s *digestSet) found(server int32, versions []report.Version) []found {
	var out []found
	for _, k := range s.order {
		b, err := hex.DecodeString(k.hex[:keptDigits])
		if err != nil {
			continue
		}
		at := slices.Sorted(slices.Values(s.at[k]))
		for i := 0; i < len(at); {
			j := i
			for j+1 < len(at) && at[j+1] == at[j]+1 {
				j++
			}
			last := versions[at[j]]
			out = append(out, found{key: [keptDigits / 2]byte(b), kind: k.kind, server: server, first: versions[at[i]].First, last: last.Read, open: last.InForce})
			i = j + 1
		}
	}
	return out
}

// noteVersions enters the identities and bodies of a server's versions under one
// methodology, and returns what is found of them.
func noteVersions(server int32, methodology string, versions []report.Version) []found {
	var s digestSet
	kind := byte(kindIdentityV1)
	if m, ok := record.MethodologyByVersion(methodology); ok && m.CanonicalForm == record.V2.CanonicalForm {
		kind = kindIdentityV2
	}
	for i, v := range versions {
		s.note(kind, string(v.Identity), i)
		for _, a := range v.Artifacts {
			s.note(kindBody, string(a), i)
		}
	}
	return s.found(server, versions)
}

// serverNumbers returns the names of all servers in the order of servers.txt: by
// the day on which they were first listed, so that numbers stay when more come;
// and the number of each, from 1.
func (b *builder) serverNumbers() ([]string, map[string]int32) {
	listed := func(name string) record.Day {
		if s, ok := b.record.report.Servers[name]; ok {
			return s.Listed
		}
		return b.newest.report.Servers[name].Listed
	}
	order := slices.Clone(b.names)
	slices.SortFunc(order, func(x, y string) int { return cmp.Or(cmp.Compare(listed(x), listed(y)), strings.Compare(x, y)) })
	numbers := make(map[string]int32, len(order))
	for i, n := range order {
		numbers[n] = int32(i + 1)
	}
	return order, numbers
}

// enterDigests enters all digests of a server: those of its versions under each
// methodology, and those of tools and lists that its page's history read.
func (b *builder) enterDigests(name string, h *history) {
	if b.Only != "" {
		return
	}
	number := b.numbers[name]
	list := h.digests.found(number, h.versions)
	for _, l := range []*line{b.record, b.newest} {
		if s, ok := l.report.Servers[name]; ok {
			list = append(list, noteVersions(number, l.report.Methodology, s.Versions)...)
		}
		if l == b.newest { // which is the only one, or the second
			break
		}
	}
	b.index.add(list)
}

// compareFound orders entries as the files have them.
func compareFound(x, y found) int {
	return cmp.Or(bytes.Compare(x.key[:], y.key[:]), cmp.Compare(x.kind, y.kind), cmp.Compare(x.server, y.server), cmp.Compare(x.first, y.first), cmp.Compare(x.last, y.last))
}

// lookup writes the look-up page, the files of digests and the list of servers
// that they number. It is made last: it has what all pages of servers found.
func (b *builder) lookup() error {
	all := b.index.all
	slices.SortFunc(all, compareFound)
	all = slices.CompactFunc(all, func(x, y found) bool { return compareFound(x, y) == 0 })
	total, longest := 0, 0
	for shard, i := 0, 0; shard < 256; shard++ {
		var buf bytes.Buffer
		for ; i < len(all) && int(all[i].key[0]) == shard; i++ {
			writeFound(&buf, all[i])
		}
		total += buf.Len()
		longest = max(longest, buf.Len())
		if err := b.out.write(fmt.Sprintf("%s%02x.txt", lookupPath, shard), buf.Bytes()); err != nil {
			return err
		}
	}
	var servers bytes.Buffer
	for _, n := range b.numbered {
		fmt.Fprintf(&servers, "%s\t%s\n", n, ServerPath(n))
	}
	if err := b.out.write(lookupServers, servers.Bytes()); err != nil {
		return err
	}
	p := b.page(b.newest, lookupPath, "Look up a digest", "Which servers had a tool, a list or a body with a given digest, and on which days.", "data")
	machine := lookupJSON{Bytes: total + servers.Len(), Entries: len(all), Head: b.head(p), Kinds: []kindJSON{}, Longest: longest, Servers: b.url(lookupServers), Shards: b.url(lookupPath) + "{hex}.txt"}
	for _, k := range lookupKinds() {
		machine.Kinds = append(machine.Kinds, kindJSON{k.Code, k.Of, k.Title})
	}
	return b.render("lookup.html", p, LookupPage{Page: p, Kinds: lookupKinds()}, record.File(machine))
}

// writeFound writes one line: the digits after those of the file's name, the kind,
// the number of the server, and the first and last day, which is missing while it
// lasts.
func writeFound(buf *bytes.Buffer, f found) {
	digits := hex.EncodeToString(f.key[:])
	last := ""
	if !f.open {
		last = compactDay(f.last)
	}
	fmt.Fprintf(buf, "%s %c %d %s-%s\n", digits[shardDigits:], f.kind, f.server, compactDay(f.first), last)
}

// compactDay writes a day without its hyphens.
func compactDay(d record.Day) string { return strings.ReplaceAll(string(d), "-", "") }

type lookupJSON struct {
	Bytes   int        `json:"bytes"`   // of the files of digests and the list of servers together
	Entries int        `json:"entries"` // lines of the files of digests
	Head    head       `json:"head"`
	Kinds   []kindJSON `json:"kinds"`
	Longest int        `json:"longest"` // bytes of the longest file of digests
	Servers string     `json:"servers"` // URL of the list that numbers name lines of
	Shards  string     `json:"shards"`  // URL of the files: {hex} is the first two digits of a digest
}

type kindJSON struct {
	Code  string `json:"code"` // as the lines have it
	Of    string `json:"of"`
	Title string `json:"title"`
}
