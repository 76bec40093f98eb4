package record

import (
	"encoding/json"

	"github.com/mcpstrata/mcpstrata/internal/canon"
)

// A Kind is a kind of event. The set is closed; kinds are never renamed.
type Kind string

// The kinds. Roster kinds carry no methodology; probe kinds do.
const (
	Appeared          Kind = "appeared"
	Retired           Kind = "retired"
	Returned          Kind = "returned"
	EndpointMoved     Kind = "endpoint_moved"
	FirstAnswer       Kind = "first_answer"
	Drift             Kind = "drift"
	Reordered         Kind = "reordered"
	CaptureDifference Kind = "capture_difference"
	Unstable          Kind = "unstable"
	Confirmed         Kind = "confirmed"
	ClassChanged      Kind = "class"
	ServerChanged     Kind = "server"
)

// An Event is one transition of one target on one day. Which members stand
// depends on the kind (DESIGN.md 5.2). Events are sorted by name, kind,
// methodology.
//
// A drift and a capture difference have both contracts, their days, what a second
// reading said, whether the readings are comparable and what changed; the
// capture difference is never comparable and names the members. An unstable day
// has the head as old, the first reading as new, and as other the second one
// where it was neither: no days and no changes, for nothing began.
type Event struct {
	Changes        []ToolChange    `json:"changes,omitempty"`
	Classes        []string        `json:"classes,omitempty"` // substantive, numbers_only, reordered_only, whitespace_only
	Comparable     *bool           `json:"comparable,omitempty"`
	Confirms       Day             `json:"confirms,omitempty"` // day of the event that this one confirms
	Day            Day             `json:"day"`
	Degraded       bool            `json:"degraded,omitempty"` // of a degraded run: no availability transition is read from it
	Differs        []string        `json:"differs,omitempty"`  // capture members that are not comparable
	FirstDifferent Day             `json:"first_different,omitempty"`
	From           json.RawMessage `json:"from,omitempty"` // class, endpoint or server before; null is success or none
	Kind           Kind            `json:"kind"`
	LastSame       Day             `json:"last_same,omitempty"` // last day on which the old contract was read
	Methodology    string          `json:"methodology_version,omitempty"`
	Name           string          `json:"name"`
	New            canon.Digest    `json:"new,omitempty"` // identities
	NewArtifacts   []canon.Digest  `json:"new_artifacts,omitempty"`
	Old            canon.Digest    `json:"old,omitempty"`
	OldArtifacts   []canon.Digest  `json:"old_artifacts,omitempty"`
	OldFirst       Day             `json:"old_first,omitempty"` // first day of the old contract
	Other          canon.Digest    `json:"other,omitempty"`     // of unstable: identity of the second reading, where it is not the head's either
	OtherArtifacts []canon.Digest  `json:"other_artifacts,omitempty"`
	Reread         Reread          `json:"reread,omitempty"`    // what the second reading said
	ReturnOf       Day             `json:"return_of,omitempty"` // first day of an earlier life of the new identity
	To             json.RawMessage `json:"to,omitempty"`
}

// A Reread says what the second reading of a run said of the first. The set is
// closed.
type Reread string

// The values. Under a methodology without a second reading all are [RereadNone].
const (
	RereadSame      Reread = "same"      // it equals the first
	RereadDifferent Reread = "different" // it does not: the server is unstable
	RereadFailed    Reread = "failed"    // it failed
	RereadNone      Reread = "none"      // it was not made
)

// A ToolChange says what happened to one tool between two contracts.
type ToolChange struct {
	Kind    string   `json:"kind"`              // added, removed, renamed, changed
	Members []string `json:"members,omitempty"` // of a changed tool: top-level members that differ, sorted
	Name    string   `json:"name"`
	Old     string   `json:"old,omitempty"` // of a renamed tool: its name before
}

// Value returns v as the From or To of an event.
func Value(v any) json.RawMessage {
	b := Line(v)
	return b[:len(b)-1]
}
