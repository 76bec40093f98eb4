package fleet

import (
	"slices"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A Kind is a kind of change in a script. [Kinds] says what each means.
type Kind string

// A Change is one line of the script: the ground truth of what the world does on
// one day, whether or not a reader could see it that day.
type Change struct {
	Day    int // simulated day, from 1; day 0 is the baseline and has no changes
	Name   string
	Kind   Kind
	Tool   string // the tool concerned, under its new name; empty if none or all
	Detail string // for people: what exactly
}

// Kinds of change to what a server lists.
const (
	Description     Kind = "description"
	Sentence        Kind = "sentence"
	Numbers         Kind = "numbers"
	Whitespace      Kind = "whitespace"
	Injection       Kind = "injection"
	Hidden          Kind = "hidden"
	Title           Kind = "title"
	ToolAdded       Kind = "tool_added"
	ToolRemoved     Kind = "tool_removed"
	ToolRenamed     Kind = "tool_renamed"
	RequiredAdded   Kind = "required_added"
	RequiredRemoved Kind = "required_removed"
	EnumRemoved     Kind = "enum_removed"
	EnumAdded       Kind = "enum_added"
	EnumReordered   Kind = "enum_reordered"
	TypeNarrowed    Kind = "type_narrowed"
	TypeWidened     Kind = "type_widened"
	MaximumLowered  Kind = "maximum_lowered"
	MaximumRaised   Kind = "maximum_raised"
	PropertyAdded   Kind = "property_added"
	PropertyRemoved Kind = "property_removed"
	Closed          Kind = "closed"
	Annotations     Kind = "annotations"
	Output          Kind = "output"
	Emptied         Kind = "emptied"
	Reverted        Kind = "reverted"
	PrefixItems     Kind = "prefix_items"
	Reordered       Kind = "reordered"
	Layout          Kind = "layout"
)

// Kinds of change to the rest of a server.
const (
	ServerVersion Kind = "server_version"
	Upgraded      Kind = "upgraded"
	Instructions  Kind = "instructions"
	Unstable      Kind = "unstable"
	Stable        Kind = "stable"
	Refused       Kind = "refused"
	Failing       Kind = "failing"
	Hanging       Kind = "hanging"
	Walled        Kind = "walled"
	Limited       Kind = "limited"
	Recovered     Kind = "recovered"
)

// Kinds of change to the registry.
const (
	Appeared   Kind = "appeared"
	Retired    Kind = "retired"
	Deleted    Kind = "deleted"
	Returned   Kind = "returned"
	Unlisted   Kind = "unlisted"
	Relisted   Kind = "relisted"
	Moved      Kind = "moved"
	PathMoved  Kind = "path_moved"
	Bumped     Kind = "bumped"
	RemoteGone Kind = "remote_gone"
	ListingCut Kind = "listing_cut" // of the registry: Name is empty
	MassOutage Kind = "mass_outage" // of the world: Name is empty
)

// A KindDef defines one kind.
type KindDef struct {
	Kind   Kind
	Drifts bool // the v1 identity of the list differs from that of the day before
	Means  string
}

// Kinds defines each kind.
var Kinds = []KindDef{
	{Description, true, "One word of a tool's description was replaced."},
	{Sentence, true, "A sentence was added to a tool's description."},
	{Numbers, true, "Only digits of a description changed."},
	{Whitespace, true, "Only white space of a description changed."},
	{Injection, true, "A description began to give orders to the model that reads it."},
	{Hidden, true, "Characters that people don't see came into a description."},
	{Title, true, "A tool's title changed."},
	{ToolAdded, true, "A tool was added."},
	{ToolRemoved, true, "A tool was removed."},
	{ToolRenamed, true, "A tool got another name and kept the rest."},
	{RequiredAdded, true, "A parameter became required."},
	{RequiredRemoved, true, "A parameter became optional."},
	{EnumRemoved, true, "A value was removed from an enum."},
	{EnumAdded, true, "A value was added to an enum."},
	{EnumReordered, true, "The values of an enum changed their order."},
	{TypeNarrowed, true, "A parameter takes fewer types."},
	{TypeWidened, true, "A parameter takes more types."},
	{MaximumLowered, true, "A maximum was lowered."},
	{MaximumRaised, true, "A maximum was raised."},
	{PropertyAdded, true, "An optional parameter was added."},
	{PropertyRemoved, true, "A parameter was removed."},
	{Closed, true, "Unknown parameters are refused from now on, or no longer."},
	{Annotations, true, "A tool's annotations changed."},
	{Output, true, "A member was added to what a tool returns."},
	{Emptied, true, "The list is empty."},
	{Reverted, true, "The list is what it was before its last change."},
	{PrefixItems, false, "Two items of a prefixItems changed places: the v1 identity is the same, the order is not."},
	{Reordered, false, "Tools and members are sent in another order."},
	{Layout, false, "White space between tokens changed: other bytes, the same document."},
	{ServerVersion, false, "The server says that it has another version."},
	{Upgraded, false, "The server speaks a newer protocol version, and lists the members that came with it."},
	{Instructions, false, "The server's instructions changed."},
	{Unstable, true, "From this day the list alternates from reading to reading; a day's first reading is the other list on odd days, so that it differs from that of the day before."},
	{Stable, true, "The list no longer alternates."},
	{Refused, false, "Nothing accepts connections."},
	{Failing, false, "Requests are answered with a status of the 500s."},
	{Hanging, false, "Requests are held and never answered."},
	{Walled, false, "Requests are answered with 401."},
	{Limited, false, "Requests are answered with 429."},
	{Recovered, false, "The server answers as before the outage, or for the first time."},
	{Appeared, false, "A name is in the registry for the first time."},
	{Retired, false, "A name is gone from the registry; its versions answer 404."},
	{Deleted, false, "All versions of a name are marked as deleted, and it is gone from the listing."},
	{Returned, false, "A retired or deleted name is back."},
	{Unlisted, false, "A name is missing from the listing although it has a live version."},
	{Relisted, false, "An unlisted name is listed again."},
	{Moved, false, "A new registry version declares an endpoint at another address; the server moved there."},
	{PathMoved, false, "The registry row was edited to another path; the server moved there."},
	{Bumped, false, "A new registry version declares the same endpoint."},
	{RemoteGone, false, "A new registry version declares no streamable-http remote; the old endpoint is closed."},
	{ListingCut, false, "The listing breaks off after its first page, for this day."},
	{MassOutage, false, "More than a tenth of the servers are down, for this day."},
}

// Drifts reports whether a change of this kind changes the v1 identity of what
// the server lists.
func (k Kind) Drifts() bool { return k.DriftsUnder(record.V1.Version) }

// DriftsUnder reports whether a change of this kind is drift under the
// methodology of that version, which in v2 differs from v1 in two ways: the order
// of schemas counts (DESIGN.md section 6), and what alternates from reading to
// reading never becomes the head (section 4).
func (k Kind) DriftsUnder(version string) bool {
	i := slices.IndexFunc(Kinds, func(d KindDef) bool { return d.Kind == k })
	drifts := i >= 0 && Kinds[i].Drifts
	if version != record.V2.Version {
		return drifts
	}
	switch k {
	case PrefixItems:
		return true
	case Unstable, Stable:
		return false
	}
	return drifts
}

// Drifts returns the changes of the script that are drift under the methodology
// of that version to readings that reach the server, each on the day on which
// they first see it. What such readings never see is not among them: v1 reads no
// server that lacks the old handshake or loses its sessions, no second page, and
// no member that a server keeps from old versions of the protocol.
func (f *Fleet) Drifts(version string) []Change {
	sites := map[string]*site{}
	for _, s := range f.world.sites {
		sites[s.name] = s
	}
	var out []Change
	for _, c := range f.world.script {
		s := sites[c.Name]
		if s == nil || !c.Kind.DriftsUnder(version) {
			continue
		}
		if version == record.V1.Version {
			if s.flavour == ownLate {
				c.Day++ // the day's reading comes before the edit
			}
			if c.Day >= f.world.days || !s.seenByV1(c) {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// seenByV1 reports whether v1 can see a change of what the site lists.
func (s *site) seenByV1(c Change) bool {
	before, after := s.days[c.Day-1].list, s.days[c.Day].list
	switch s.flavour {
	case ownModern, ownLosing:
		return false
	case ownPaged:
		return before.pages(pageSize)[0] != after.pages(pageSize)[0]
	case ownGated, ownNamed, ownUpgrading:
		return before.plain().list() != after.plain().list()
	}
	return true
}
