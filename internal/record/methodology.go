package record

import "time"

// A Methodology is a frozen set of reading rules. A change to a rule is a new
// methodology, never an edit (methodology v1, "Versioning").
type Methodology struct {
	Version          string        // v1
	ProtocolVersion  string        // what initialize asks for
	RequestTimeout   time.Duration // per request, the body included
	FollowPages      bool          // tools/list is followed to the last page
	VersionHeader    bool          // MCP-Protocol-Version is sent after the handshake when it was negotiated
	CloseSession     bool          // DELETE of the session at the end, best effort
	Reinitialize     bool          // begins a session anew, once, when it was lost (404)
	ModernEra        bool          // speaks 2026-07-28 to servers that know nothing else
	SecondReading    bool          // reads again before a difference becomes the head
	CanonicalForm    string        // canonical form of the identity
	CaptureRestricts bool          // a difference under unequal captures is not drift
}

// V1 is methodology v1: one attempt, one page, the 2024-11-05 handshake, no
// version header (seeds: mcp-schema-methodology-v1).
var V1 = Methodology{
	Version:         "v1",
	ProtocolVersion: "2024-11-05",
	RequestTimeout:  20 * time.Second,
	CanonicalForm:   "v1",
}

// V2 is methodology v2: the newest handshake with its version header, every page,
// both eras of the protocol, and a second reading before a difference becomes the
// head (DESIGN.md section 4).
var V2 = Methodology{
	Version:          "v2",
	ProtocolVersion:  "2025-11-25",
	RequestTimeout:   20 * time.Second,
	FollowPages:      true,
	VersionHeader:    true,
	CloseSession:     true,
	Reinitialize:     true,
	ModernEra:        true,
	SecondReading:    true,
	CanonicalForm:    "v2",
	CaptureRestricts: true,
}

// Methodologies lists those that this version can read with, oldest first. The
// first is the series of record.
var Methodologies = []Methodology{V1, V2}

// MethodologyByVersion returns the methodology of that version.
func MethodologyByVersion(v string) (Methodology, bool) {
	for _, m := range Methodologies {
		if m.Version == v {
			return m, true
		}
	}
	return Methodology{}, false
}

// Series is the slug of the one series that mcpstrata keeps, and Source its
// population, frozen in v1.
const (
	Series = "mcp-schema"
	Source = "https://registry.modelcontextprotocol.io/v0.1/servers"
)
