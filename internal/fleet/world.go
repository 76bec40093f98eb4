package fleet

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A world is what a seed makes: every state of every site, and the script that
// led there. It is never changed once it is built.
type world struct {
	start  record.Day
	days   int
	sites  []*site
	script []Change
	cut    int // day of the cut listing; 0 if there is none
	hosts  int // host numbers in use are below this
}

// A site is one registry name with the server behind it.
type site struct {
	name    string
	dom     domain
	flavour flavour
	shares  *site   // its endpoint is this site's; nil for its own
	days    []state // by simulated day
}

// A flavour says how a server answers while it is well.
type flavour int

const (
	sdkJSON      flavour = iota // go-sdk, stateless, answers in JSON
	sdkStream                   // go-sdk, stateless, answers in an event stream
	sdkState                    // go-sdk with sessions
	ownJSON                     // by hand, JSON, tools and members in any order
	ownStream                   // by hand, event stream with a priming event
	ownText                     // by hand, JSON under text/plain
	ownModern                   // by hand, only the era without a handshake
	ownPaged                    // by hand, a few tools a page
	ownGated                    // by hand, titles and output schemas only after a handshake that has them
	ownNamed                    // by hand, agrees on the newest version, and keeps to it only where the header names it
	ownLosing                   // by hand, loses the first session of a reading that asks for a newer version, and all others
	ownVarying                  // by hand, one old version for all, and sessions
	ownUpgrading                // by hand, an old version at most until it is upgraded, and titles and output schemas only from then on
	ownLate                     // by hand, one old version for all; shows a day's edit to readings of v2 only
)

// A mode says what a server does with requests.
type mode int

const (
	up mode = iota
	refused
	failing
	hanging
	walled    // 401
	asking    // 401 with WWW-Authenticate
	forbidden // 403 with an HTML challenge
	limited   // 429
	missing   // 404
	paid      // 402
	page      // an HTML page
	oldSSE    // the older transport
	modern    // speaks 2026-07-28 only
	denies    // a JSON-RPC error in a 200
)

// A state is what the world shows of a site on one day.
type state struct {
	known    bool // it has been in the registry
	listed   bool // it is in the listing
	gone     bool // its versions answer 404
	versions []version
	mode     mode
	list     *contract
	other    *contract // while unstable: what every second reading gets
	early    *contract // what readings that come before the day's edit get; nil for list
	before   *contract // what list was before its last change
	about    about
}

// An about is what the handshake says of a server.
type about struct {
	name, title, version, instructions string
	speaks                             string // newest protocol version that an upgrading server speaks; empty before its upgrade
}

// A version is one row of the registry.
type version struct {
	version, title, description string
	remotes                     []remote
	deleted                     bool
	published, updated          time.Time
	latest                      bool
}

// A remote is one element of a row's remotes.
type remote struct {
	typ  string
	host int    // host number, if url is empty
	path string // on that host
	url  string // as it stands, for what is no endpoint of ours
}

// endpoint returns the host and path that the newest version declares.
func (s *state) endpoint() (host int, path string, ok bool) {
	if len(s.versions) == 0 {
		return 0, "", false
	}
	for _, r := range s.versions[len(s.versions)-1].remotes {
		if r.typ == "streamable-http" {
			return r.host, r.path, r.url == ""
		}
	}
	return 0, "", false
}

// A builder makes a world.
type builder struct {
	world
	cfg     Config
	domains []domain
	names   map[string]bool
}

// build makes the world of cfg, whose defaults are filled in.
func build(cfg Config) (*world, error) {
	domains, err := ecosystem()
	if err != nil {
		return nil, err
	}
	b := &builder{cfg: cfg, domains: domains, names: map[string]bool{}}
	b.start, b.days = cfg.Start, cfg.Days
	if b.days > cutDay {
		b.cut = cutDay
	}
	later := 0
	cast := company()
	for _, r := range cast {
		switch {
		case r.from > 0 && later < max(1, cfg.Servers/15):
			later++
		case r.from > 0 || len(b.sites)-later >= cfg.Servers:
			continue
		}
		b.play(r)
	}
	for i := 0; len(b.sites)-later < cfg.Servers; i++ {
		b.play(b.extra(i))
	}
	if b.cut > 0 {
		b.note(b.cut, "", ListingCut, "", "page 2 answers 502")
	}
	if b.days > outageDay+1 {
		b.blackout()
	}
	b.mirror()
	slices.SortStableFunc(b.script, func(x, y Change) int {
		return cmp.Or(cmp.Compare(x.Day, y.Day), cmp.Compare(x.Name, y.Name))
	})
	return &b.world, nil
}

func (b *builder) note(day int, name string, k Kind, tool, detail string) {
	b.script = append(b.script, Change{Day: day, Name: name, Kind: k, Tool: tool, Detail: detail})
}

// source returns a random source of its own for a name, so that one site's
// story doesn't depend on another's.
func (b *builder) source(name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(uint64(b.cfg.Seed), h.Sum64()))
}

// play adds the site of r and plays its story to the end.
func (b *builder) play(r role) {
	b.names[r.name] = true
	rng := b.source(cmp.Or(r.like, r.name))
	s := &site{name: r.name, flavour: r.flavour, dom: b.domain(r.domain, rng)}
	now := b.opening(r, s, rng)
	s.days = make([]state, 0, b.days)
	for day := range b.days {
		now.early = nil
		if day > 0 {
			morning := now.list
			for _, x := range r.story {
				if x.day == day || x.day < 0 && x.day+b.days == day {
					b.apply(s, &now, day, x, rng)
				}
			}
			if r.daily != "" {
				b.apply(s, &now, day, beat{kind: r.daily}, rng)
			}
			if r.lively > 0 && now.known {
				b.chance(s, &now, day, r.lively, rng)
			}
			if r.flavour == ownLate && now.list != morning {
				now.early = morning
			}
		}
		s.days = append(s.days, now)
	}
	b.sites = append(b.sites, s)
}

func (b *builder) domain(slug string, rng *rand.Rand) domain {
	for _, d := range b.domains {
		if d.slug == slug {
			return d
		}
	}
	return b.domains[rng.IntN(len(b.domains))]
}

// opening returns the state of the site on day 0.
func (b *builder) opening(r role, s *site, rng *rand.Rand) state {
	now := state{mode: r.mode, known: r.from == 0, listed: r.from == 0}
	now.list = first(s.dom, r, rng)
	words := strings.FieldsFunc(r.name, func(c rune) bool { return c == '/' })
	now.about = about{
		name:         words[len(words)-1],
		title:        cmp.Or(r.title, s.dom.title),
		version:      fmt.Sprintf("1.%d.%d", rng.IntN(9), rng.IntN(20)),
		instructions: cmp.Or(r.instructions, "Tools for "+s.dom.about+"."),
	}
	v := version{
		version:     now.about.version + r.suffix,
		title:       now.about.title,
		description: cmp.Or(r.desc, strings.ToUpper(s.dom.about[:1])+s.dom.about[1:]),
		remotes:     r.remotes,
		latest:      true,
	}
	if r.sharing != "" {
		i := slices.IndexFunc(b.sites, func(o *site) bool { return o.name == r.sharing })
		if i >= 0 {
			s.shares = b.sites[i]
			v.remotes = s.shares.days[0].versions[0].remotes
		}
	}
	if v.remotes == nil {
		host, path := b.hosts, "/mcp"
		if r.platform {
			host, path = b.platformHost(), "/"+words[len(words)-1]+"/mcp"
		} else {
			b.hosts++
		}
		v.remotes = []remote{{typ: "streamable-http", host: host, path: path}}
	}
	v.published = b.at(-30-rng.IntN(270), rng)
	v.updated = v.published
	now.versions = []version{v}
	return now
}

// platformHost returns the host number that all sites of the platform share.
func (b *builder) platformHost() int {
	for _, s := range b.sites {
		if host, path, ok := s.days[0].endpoint(); ok && strings.Count(path, "/") == 2 {
			return host
		}
	}
	b.hosts++
	return b.hosts - 1
}

// mirror lets names that declare another's endpoint see what happens there.
func (b *builder) mirror() {
	for _, s := range b.sites {
		if s.shares == nil {
			continue
		}
		for day, theirs := range s.shares.days {
			ours := &s.days[day]
			ours.mode, ours.list, ours.other, ours.about = theirs.mode, theirs.list, theirs.other, theirs.about
		}
		for _, c := range b.script {
			if c.Name == s.shares.name && (edits[c.Kind] != nil || slices.Contains(serverKinds, c.Kind)) {
				b.note(c.Day, s.name, c.Kind, c.Tool, c.Detail)
			}
		}
	}
}

// at returns a time on a simulated day, before the daily run.
func (b *builder) at(day int, rng *rand.Rand) time.Time {
	t := b.start.Time().AddDate(0, 0, day).Add(time.Hour)
	return t.Add(time.Duration(rng.Int64N(2 * int64(time.Hour)))).Truncate(time.Microsecond)
}

// first returns the list with which a role begins: its own, or some of its
// domain's tools in its own manner of naming.
func first(d domain, r role, rng *rand.Rand) *contract {
	c := &contract{tools: r.tools}
	if c.tools == nil {
		c.tools = slices.Clone(d.tools)
		if n := len(c.tools); n > 3 && r.daily == "" {
			i := rng.IntN(n)
			c.tools = slices.Delete(c.tools, i, i+1)
		}
	}
	c = c.clone()
	if r.tools != nil {
		return c
	}
	style := rng.IntN(6)
	for i := range c.tools {
		t := &c.tools[i]
		switch style {
		case 0:
			t.name = strings.ReplaceAll(t.name, "_", "-")
		case 1:
			t.name = d.slug + "_" + t.name
		case 2:
			t.title = ""
		}
		if rng.IntN(4) == 0 {
			t.desc += " " + sentences[rng.IntN(4)]
		}
		if rng.IntN(3) == 0 {
			t.hints = nil
		}
	}
	return c
}

// apply changes now by one beat and writes it into the script.
func (b *builder) apply(s *site, now *state, day int, x beat, rng *rand.Rand) {
	var toolName, detail string
	ok := true
	switch {
	case edits[x.kind] != nil:
		toolName, detail, ok = b.edit(s, now, x, rng)
	case slices.Contains(serverKinds, x.kind):
		detail, ok = b.serve(s, now, x, rng)
	default:
		detail, ok = b.register(now, day, x, rng)
	}
	if ok {
		b.note(day, s.name, x.kind, toolName, detail)
	}
}

func (b *builder) edit(s *site, now *state, x beat, rng *rand.Rand) (toolName, detail string, ok bool) {
	e := &editor{rng: rng, c: now.list.clone(), dom: s.dom, arg: x.arg}
	toolName, detail, ok = edits[x.kind](e)
	if ok {
		now.before, now.list = now.list, e.c
	}
	return toolName, detail, ok
}

// serverKinds are the kinds that serve applies.
var serverKinds = []Kind{Emptied, Reverted, ServerVersion, Upgraded, Instructions, Unstable, Stable, Refused, Failing, Hanging, Walled, Limited, Recovered}

var modeOf = map[Kind]mode{Refused: refused, Failing: failing, Hanging: hanging, Walled: walled, Limited: limited, Recovered: up}

// serve applies the kinds that change a server as a whole.
func (b *builder) serve(s *site, now *state, x beat, rng *rand.Rand) (detail string, ok bool) {
	switch x.kind {
	case Emptied:
		if len(now.list.tools) == 0 {
			return "", false
		}
		now.before, now.list = now.list, &contract{layout: now.list.layout}
	case Reverted:
		if now.before == nil {
			return "", false
		}
		now.before, now.list = now.list, now.before
	case ServerVersion:
		old := now.about.version
		now.about.version = nextVersion(old)
		return old + " became " + now.about.version, true
	case Upgraded:
		now.about.speaks = newestVersion
		return now.about.speaks, true
	case Instructions:
		now.about.instructions += " " + sentences[rng.IntN(len(sentences))]
	case Unstable:
		e := &editor{rng: rng, c: now.list.clone(), dom: s.dom}
		if _, detail, ok = e.addTool(); ok {
			now.other = e.c
		}
		return detail, ok
	case Stable:
		now.other = nil
	default:
		now.mode = modeOf[x.kind]
	}
	return "", true
}

// register applies the kinds that change the registry.
func (b *builder) register(now *state, day int, x beat, rng *rand.Rand) (detail string, ok bool) {
	now.versions = slices.Clone(now.versions)
	newest := &now.versions[len(now.versions)-1]
	switch x.kind {
	case Appeared:
		now.known, now.listed = true, true
		newest.published = b.at(day, rng)
		newest.updated = newest.published
	case Retired:
		now.listed, now.gone = false, true
	case Deleted, Returned:
		now.listed, now.gone = x.kind == Returned, false
		for i := range now.versions {
			now.versions[i].deleted = x.kind == Deleted
			now.versions[i].updated = b.at(day, rng)
		}
	case Unlisted, Relisted:
		now.listed = x.kind == Relisted
		newest.latest = x.kind == Relisted
	case PathMoved:
		remotes := slices.Clone(newest.remotes)
		remotes[0].path = cmp.Or(x.arg, "/v2/mcp")
		newest.remotes, newest.updated = remotes, b.at(day, rng)
		return remotes[0].path, true
	case Moved, Bumped, RemoteGone:
		v := *newest
		newest.latest = false // which does not touch updatedAt, in the real registry either
		v.version = nextVersion(v.version)
		v.published = b.at(day, rng)
		v.updated = v.published
		if x.kind == Moved {
			v.remotes = []remote{{typ: "streamable-http", host: b.hosts, path: v.remotes[0].path}}
			b.hosts++
		}
		if x.kind == RemoteGone {
			v.remotes = []remote{{typ: "sse", url: "https://sse.example.com/sse"}}
		}
		now.versions = append(now.versions, v)
		return v.version, true
	default:
		return "", false
	}
	return "", true
}

// nextVersion counts the last number of a version up and keeps its suffix.
func nextVersion(v string) string {
	end := len(v)
	if i := strings.IndexAny(v, "+-"); i >= 0 {
		end = i
	}
	i := strings.LastIndexByte(v[:end], '.')
	n := 0
	fmt.Sscan(v[i+1:end], &n)
	return fmt.Sprintf("%s%d%s", v[:i+1], n+1, v[end:])
}

// ordinary are the changes that happen to servers by chance, each as often as it
// is listed.
var ordinary = []Kind{
	Description, Description, Description, Sentence, Sentence, Sentence, Numbers, Whitespace, Title,
	ToolAdded, ToolAdded, ToolAdded, ToolRemoved, ToolRenamed, RequiredAdded, RequiredRemoved,
	EnumRemoved, EnumAdded, EnumAdded, EnumReordered, TypeNarrowed, TypeWidened, MaximumLowered, MaximumRaised,
	PropertyAdded, PropertyAdded, PropertyRemoved, Closed, Annotations, Output, Reverted,
}

// chance lets a day happen to a site: most days nothing does. lively is the
// chance of a change of contract, in thousandths.
func (b *builder) chance(s *site, now *state, day, lively int, rng *rand.Rand) {
	if now.mode != up {
		if rng.IntN(2) == 0 {
			b.apply(s, now, day, beat{kind: Recovered}, rng)
		}
		return
	}
	switch r := rng.IntN(1000); {
	case r < lively:
		for range 4 { // some kinds don't apply to some lists
			n := len(b.script)
			b.apply(s, now, day, beat{kind: ordinary[rng.IntN(len(ordinary))]}, rng)
			if len(b.script) > n {
				break
			}
		}
		if rng.IntN(2) == 0 {
			b.apply(s, now, day, beat{kind: ServerVersion}, rng)
		}
		if rng.IntN(3) == 0 {
			b.apply(s, now, day, beat{kind: Bumped}, rng)
		}
	case r < lively+4:
		b.apply(s, now, day, beat{kind: []Kind{Refused, Failing, Failing, Limited}[rng.IntN(4)]}, rng)
	case r < lively+5:
		b.apply(s, now, day, beat{kind: Bumped}, rng)
	}
}

// blackout takes every sixth server that is well down for one day, and more than
// a tenth of all in any case.
func (b *builder) blackout() {
	b.note(outageDay, "", MassOutage, "", "a network is down")
	well := func(s *site, day int) bool {
		st := &s.days[day]
		_, path, ok := st.endpoint()
		return ok && st.listed && st.mode == up && s.shares == nil && strings.Count(path, "/") < 2
	}
	changes := func(s *site, day int) bool {
		return slices.ContainsFunc(b.script, func(c Change) bool {
			return c.Name == s.name && c.Day == day
		})
	}
	n := 0
	for _, s := range b.sites {
		if !well(s, outageDay) || !well(s, outageDay+1) || changes(s, outageDay) || changes(s, outageDay+1) {
			continue
		}
		if n++; n%4 == 1 {
			s.days[outageDay].mode = refused
			b.note(outageDay, s.name, Refused, "", "the network is down")
			b.note(outageDay+1, s.name, Recovered, "", "")
		}
	}
}
