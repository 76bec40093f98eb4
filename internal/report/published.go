package report

import (
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// Published is what report.json holds: the report of the series of record, with
// the reports of the other lines of observation and what differs between them
// beside it. A pointer that begins with /lines/v2 leads into the report of
// methodology v2. Lines are never mixed in one figure.
type Published struct {
	Report
	Readings *Readings          `json:"readings,omitempty"` // absent where only one methodology reads
	Lines    map[string]*Report `json:"lines,omitempty"`    // by methodology version; without that of Report
}

// Readings compares the readings of the same servers under two methodologies, as
// of the newest day on which a run read under both (DESIGN.md 10.1, /capture/).
// Both is Same, Different and Failed together.
//
// Two contracts are compared by the canonical form that both have: the ordered
// identity of a v1 row is the v2 identity of the same bodies. A v1 row without one
// is compared by its bodies, and has no identity here.
//
// Each server that was read differently stands under the first cause that applies
// ([record.CausesOf]). The conditions tell it, not the two texts: where one reading
// agreed on a version that has no output schemas and the other on one that has, the
// handshake is the cause, whatever else changed. A server that answered with two
// other contracts than its head in one run varies, whatever the conditions of the
// head were. Where nothing else explains it, the server was edited between the two.
//
// A server that refuses initialize, and that the other reading got a list from in
// the era without a handshake, has the cause negotiated_version: it leaves nothing
// out for the sake of an old handshake, it speaks no version that one can agree on.
// Any other failure of one reading is failed_read.
type Readings struct {
	Both      Count          `json:"both"`   // servers with an endpoint that both attempted; Of what follows
	Causes    []ReadingCause `json:"causes"` // every cause that daily readings can have, in the order of record.Causes
	Day       Date           `json:"day"`
	Different Share          `json:"different"` // differ in outcome or contract, of Both; a server that failed under both is not among them
	Failed    Share          `json:"failed"`    // failed under both
	First     string         `json:"first"`     // methodology version, such as v1
	Same      Share          `json:"same"`      // the same contract
	Second    string         `json:"second"`    // methodology version, such as v2
}

// A ReadingCause is the servers that two methodologies read differently for one
// cause: each under the first cause that applies, in the order of the list.
type ReadingCause struct {
	Cause   record.Cause      `json:"cause"`
	Servers []ReadDifferently `json:"servers,omitempty"` // sorted by name
	Share   Share             `json:"share"`             // of all that were read differently
}

// ReadDifferently is one server and the two readings of it.
type ReadDifferently struct {
	Differs []string    `json:"differs,omitempty"` // members of the captures, as record.Capture.Differs
	First   ReadingSide `json:"first"`
	Name    string      `json:"name"`
	Second  ReadingSide `json:"second"`
}

// A ReadingSide is one of two readings. Of a server that answered with two other
// contracts than its head in one run, only State is known.
type ReadingSide struct {
	Capture  *record.Capture `json:"capture,omitempty"`  // of a success
	Detail   string          `json:"detail,omitempty"`   // of the class
	Identity canon.Digest    `json:"identity,omitempty"` // in the form that both have; of a success
	State    string          `json:"state"`              // class label
	Tools    *Count          `json:"tools"`              // of a success, else null
}
