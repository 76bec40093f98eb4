package record

import "github.com/mcpstrata/mcpstrata/internal/canon"

// A Run is the record of what one run attempted and got.
type Run struct {
	Clock          string                  `json:"clock,omitempty"` // simulated, when days were not real ones
	Day            Day                     `json:"day"`
	Degraded       bool                    `json:"degraded"`
	Files          map[string]canon.Digest `json:"files"` // every dated file of the run but this one, by path below the series
	Finished       Time                    `json:"finished"`
	Limit          int                     `json:"limit,omitempty"`
	Methodologies  map[string]Coverage     `json:"methodologies"`
	PaceMS         int64                   `json:"pace_ms"` // least time between two probe starts at one host and port
	Partial        bool                    `json:"partial"`
	Planned        Time                    `json:"planned"`
	Previous       canon.Digest            `json:"previous,omitempty"` // SHA-256 of the run record before; absent in the first
	ProberVersion  string                  `json:"prober_version"`
	Roster         canon.Digest            `json:"roster"` // see RosterDigest
	RosterComplete bool                    `json:"roster_complete"`
	Run            string                  `json:"run"`  // the day, or the day and .2, .3 … for a run that completes it
	Seed           int64                   `json:"seed"` // of the shuffle; below 2^53
	TimeoutMS      int64                   `json:"timeout_ms"`
	Vantage        string                  `json:"vantage,omitempty"` // where the reader stood, such as github-actions
}

// Coverage is what a day got under one methodology. A run that completes a day
// counts the whole day.
type Coverage struct {
	Active    int            `json:"active"`    // attempted, and reached on one of the last 7 days recorded before, degraded ones not counted (first day: all attempted)
	Answered  int            `json:"answered"`  // success
	Attempted int            `json:"attempted"` // probed
	Classes   map[string]int `json:"classes"`   // targets per class label; the sum is targets less those that no run of this day attempted
	Coverage  int            `json:"coverage"`  // reached of active, in basis points, rounded down; 10000 when none is active
	Details   map[string]int `json:"details"`   // targets per class/detail, where there is a detail
	Eligible  int            `json:"eligible"`  // targets with an endpoint
	Reached   int            `json:"reached"`   // active targets that reached their server
	Targets   int            `json:"targets"`
}

// Degraded reports whether fewer than 90 % of the active targets reached their
// server (methodology v1, "Cadence").
// A day without active targets is degraded if it reached none of those that it
// attempted.
func (c Coverage) Degraded() bool {
	lost := c.Classes[Timeout.Label()] + c.Classes[TLS.Label()]
	return 10*c.Reached < 9*c.Active || c.Active == 0 && c.Attempted > 0 && lost >= c.Attempted
}

// BasisPoints returns reached/active in basis points, rounded down, and 10000
// when no target is active.
func BasisPoints(reached, active int) int {
	if active == 0 {
		return 10000
	}
	return int(int64(reached) * 10000 / int64(active))
}

// A Body is one line of the artifact index: where git keeps a body for ever.
type Body struct {
	Blob   string       `json:"blob"`  // git object id of the same bytes
	Bytes  int64        `json:"bytes"` // length
	Path   string       `json:"path"`  // below the series, on the day of the index
	SHA256 canon.Digest `json:"sha256"`
}

// A Tombstone is one line of data/tombstones.jsonl: a body that was removed on
// request. Its digest stays in every record that names it.
type Tombstone struct {
	Day    Day          `json:"day"` // of the removal
	Reason string       `json:"reason"`
	SHA256 canon.Digest `json:"sha256"`
}
