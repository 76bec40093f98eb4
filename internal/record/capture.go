package record

import "slices"

// A Capture is the set of conditions under which a contract was read, published
// beside every digest (seeds: capture-conditions, section 2). Members that the
// reader does not know are omitted.
type Capture struct {
	ClientCapabilities []string `json:"clientCapabilities"` // declared names, sorted; empty, not absent, when none
	Launch             *Launch  `json:"launch,omitempty"`   // only for a server that the reader started
	ObservedAt         Time     `json:"observedAt,omitzero"`
	Pages              Pages    `json:"pages"`
	Protocol           Protocol `json:"protocol"`
	Transport          string   `json:"transport"` // streamable-http or stdio
}

// Pages says how much of the list was read.
type Pages struct {
	Complete bool `json:"complete"` // true only if no nextCursor was left unfollowed
	Read     int  `json:"read"`     // pages read, from 1
}

// Protocol says which protocol version was spoken.
type Protocol struct {
	Negotiated    string `json:"negotiated,omitempty"` // what the server answered
	Requested     string `json:"requested"`            // what the reader asked for
	VersionHeader bool   `json:"versionHeader"`        // every request after the handshake carried MCP-Protocol-Version
}

// A Launch describes a server that the reader started. Values of environment
// variables are never published.
type Launch struct {
	Args            []string `json:"args"`
	EnvNames        []string `json:"envNames"`
	EnvValues       string   `json:"envValues"` // none, placeholder or real
	Home            string   `json:"home"`
	Network         string   `json:"network"` // none or full
	Package         string   `json:"package,omitempty"`
	ResolvedVersion string   `json:"resolvedVersion,omitempty"`
}

// Differs returns the members in which two captures are not comparable, as
// dotted names in a fixed order; none means that a difference between two
// digests of one format read under them is a difference of the server (seeds:
// capture-conditions, rule 3). A list that either side did not read to its end
// is never comparable.
func (c Capture) Differs(d Capture) []string {
	var m []string
	add := func(name string, differs bool) {
		if differs {
			m = append(m, name)
		}
	}
	add("pages.complete", !c.Pages.Complete || !d.Pages.Complete)
	add("protocol.negotiated", c.Protocol.Negotiated != d.Protocol.Negotiated)
	add("protocol.versionHeader", c.Protocol.VersionHeader != d.Protocol.VersionHeader)
	add("launch", (c.Launch == nil) != (d.Launch == nil))
	if c.Launch != nil && d.Launch != nil {
		a, b := c.Launch, d.Launch
		add("launch.resolvedVersion", a.ResolvedVersion != b.ResolvedVersion)
		add("launch.args", !slices.Equal(a.Args, b.Args))
		add("launch.envNames", !slices.Equal(sorted(a.EnvNames), sorted(b.EnvNames)))
		add("launch.envValues", a.EnvValues != b.EnvValues)
		add("launch.network", a.Network != b.Network)
	}
	return m
}

// sorted returns names in order: a reader lists those of variables in any.
func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// Same reports whether two captures are equal in every member but the time of
// the reading.
func (c Capture) Same(d Capture) bool {
	return slices.Equal(c.ClientCapabilities, d.ClientCapabilities) && c.Pages == d.Pages &&
		c.Protocol == d.Protocol && c.Transport == d.Transport && c.Launch.same(d.Launch)
}

func (a *Launch) same(b *Launch) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.Args, b.Args) && slices.Equal(a.EnvNames, b.EnvNames) &&
		a.EnvValues == b.EnvValues && a.Home == b.Home && a.Network == b.Network &&
		a.Package == b.Package && a.ResolvedVersion == b.ResolvedVersion
}
