package record

import "github.com/mcpstrata/mcpstrata/internal/canon"

// An Observation is the row that every target has after every run, also when
// the probe failed. It is written only when it differs from the target's last
// dated row, so a quiet day writes nothing.
type Observation struct {
	Endpoint    string     `json:"endpoint,omitempty"` // as declared, verbatim; absent for no_endpoint
	ErrorClass  ErrorClass `json:"error_class"`        // null is success
	ErrorDetail Detail     `json:"error_detail,omitempty"`
	Flags       []Flag     `json:"flags,omitempty"` // sorted
	Head        *Head      `json:"head,omitempty"`  // the last known-good contract; absent until the first success
	HTTPStatus  int        `json:"http_status,omitempty"`
	Name        string     `json:"name"`              // registry server name: the target's identity
	Retired     Day        `json:"retired,omitempty"` // the day on which a complete roster no longer had it
	Server      *Server    `json:"server,omitempty"`  // from the handshake of the last success
	Since       Day        `json:"since"`             // first day of the present class
	Step        Step       `json:"step,omitempty"`
}

// Outcome returns how the probe behind the row ended.
func (o Observation) Outcome() Outcome {
	return Outcome{Class: o.ErrorClass, Detail: o.ErrorDetail, Step: o.Step, HTTPStatus: o.HTTPStatus}
}

// A Head is the last known-good contract of a target. It advances only on
// success (methodology v1, "Error classification").
type Head struct {
	Artifacts     []canon.Digest `json:"artifacts"` // one body per page, in page order
	Bytes         int64          `json:"bytes"`     // of all bodies together
	Capture       Capture        `json:"capture"`   // observedAt: when this identity was first seen
	Confirmed     bool           `json:"confirmed"`
	FirstObserved Day            `json:"first_observed"` // first day of this identity
	Identity      canon.Digest   `json:"identity"`
	LastObserved  Day            `json:"last_observed,omitempty"` // last day it was read; only while the target fails, is retired, or answered and said neither time what the head is
	Ordered       canon.Digest   `json:"ordered,omitempty"`       // v1 rows only: the v2 identity of the same bodies
	Tools         int            `json:"tools"`
	Unstable      Day            `json:"unstable,omitempty"` // newest day on which two readings of one run differed
}

// A Server is what the handshake said of the server.
type Server struct {
	Capabilities []string     `json:"capabilities"`           // flat dotted names, sorted; present even where a boolean is false
	Instructions canon.Digest `json:"instructions,omitempty"` // of the text, UTF-8
	Name         string       `json:"name,omitempty"`
	Version      string       `json:"version,omitempty"`
}

// An ObservationHeader is the first line of a dated observation file.
type ObservationHeader struct {
	Attempted     int            `json:"attempted"` // targets that this run probed
	Baseline      bool           `json:"baseline,omitempty"`
	Day           Day            `json:"day"`
	Degraded      bool           `json:"degraded,omitempty"` // as the run record says: no availability transition is read from these rows
	Folded        canon.Digest   `json:"folded"`             // SHA-256 of the 16 shards of current/ after this file, concatenated
	Methodology   string         `json:"methodology_version"`
	Missed        *Missed        `json:"missed,omitempty"`
	ProberVersion string         `json:"prober_version"`
	Rows          int            `json:"rows"` // rows that follow
	Run           string         `json:"run"`
	Targets       int            `json:"targets"`   // in the roster, retired ones not counted
	Unchanged     map[string]int `json:"unchanged"` // targets without a row here, per class label
}

// Missed says which targets a partial run did not attempt, and why. Exactly one
// of Names and Only stands: the shorter list.
type Missed struct {
	After  int      `json:"after,omitempty"`  // -limit: roster positions greater than this, counted from 1
	Names  []string `json:"names,omitempty"`  // the targets missed
	Only   []string `json:"only,omitempty"`   // the targets attempted: all others with an endpoint were missed
	Shards []int    `json:"shards,omitempty"` // numbers of the shards that were missing or cut, from 1
	Of     int      `json:"shards_of,omitempty"`
}
