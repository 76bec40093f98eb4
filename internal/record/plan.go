package record

import "github.com/mcpstrata/mcpstrata/internal/canon"

// A PlanHeader is the first line of a plan: what one run is to do.
type PlanHeader struct {
	Allow         bool         `json:"allow_private"` // private addresses may be dialled: tests and the demo
	Clock         string       `json:"clock,omitempty"`
	Day           Day          `json:"day"`
	Limit         int          `json:"limit,omitempty"`
	Listing       canon.Digest `json:"listing"` // SHA-256 of the listing file that travels with the plan
	Methodologies []string     `json:"methodologies"`
	PaceMS        int64        `json:"pace_ms"`
	Planned       Time         `json:"planned"`
	ProberVersion string       `json:"prober_version"`
	Roster        canon.Digest `json:"roster"`
	Run           string       `json:"run"`
	Seed          int64        `json:"seed"`
	Targets       int          `json:"targets"` // lines that follow
	TimeoutMS     int64        `json:"timeout_ms"`
	Vantage       string       `json:"vantage,omitempty"`
}

// A PlanTarget is one line of a plan, in roster order.
type PlanTarget struct {
	Endpoint string              `json:"endpoint,omitempty"`
	Flags    []Flag              `json:"flags,omitempty"`
	Heads    map[string]PlanHead `json:"heads,omitempty"`  // by methodology: what a second reading is for
	Missed   bool                `json:"missed,omitempty"` // not to be probed by this run (beyond -limit)
	Name     string              `json:"name"`
	Reason   Detail              `json:"reason,omitempty"` // why there is no endpoint
	Skip     []string            `json:"skip,omitempty"`   // methodologies under which an earlier run of the day read it
}

// A PlanHead is what a prober needs to know of a head.
type PlanHead struct {
	Identity canon.Digest `json:"identity"`
	Tools    int          `json:"tools"`
}

// A ListingLine is one line of a listing file: the roster as far as the
// registry decides it, then the rows in listing order, then the rows of names
// that were asked for one by one. Exactly one member stands.
type ListingLine struct {
	Listing *ListingHeader `json:"listing,omitempty"`
	Row     *ListingRow    `json:"row,omitempty"`
}

// A ListingHeader says how a listing was read.
type ListingHeader struct {
	Asked     []Asked     `json:"asked"`
	Complete  bool        `json:"complete"`
	Finished  Time        `json:"finished"`
	Kept      bool        `json:"kept,omitempty"` // no listing was read: the run completes a day and keeps its roster
	Malformed []Malformed `json:"malformed"`
	Pages     []Page      `json:"pages"`
	Query     string      `json:"query"`
	Reason    string      `json:"reason,omitempty"`
	Rows      int         `json:"rows"` // lines that follow
	Source    string      `json:"source"`
	Started   Time        `json:"started"`
}

// A ListingRow is one registry row, verbatim.
type ListingRow struct {
	Asked bool   `json:"asked,omitempty"` // not on a page: from the name's versions
	Bytes string `json:"bytes"`           // the row as it stood on the page; valid UTF-8
	Name  string `json:"name"`            // empty for an entry without a readable name
}

// A ShardHeader is the first line of a shard file: the results of the targets
// whose host hashes to this shard.
type ShardHeader struct {
	Plan    canon.Digest `json:"plan"` // SHA-256 of the plan file
	Run     string       `json:"run"`
	Shard   int          `json:"shard"` // from 1
	Of      int          `json:"shards"`
	Vantage string       `json:"vantage,omitempty"`
}

// A Result is one line of a shard file: one probe of one target under one
// methodology.
type Result struct {
	Capture    *Capture     `json:"capture,omitempty"` // of a success
	Class      ErrorClass   `json:"error_class"`
	Detail     Detail       `json:"error_detail,omitempty"`
	Flags      []Flag       `json:"flags,omitempty"` // sorted
	HTTPStatus int          `json:"http_status,omitempty"`
	Identity   canon.Digest `json:"identity,omitempty"`
	Init       []byte       `json:"init,omitempty"` // body that answered the handshake
	InitMS     int64        `json:"init_ms"`        // latency of initialize; -1 if it was not sent
	ListMS     int64        `json:"list_ms"`        // latency of tools/list, all pages; -1 if not sent
	Method     string       `json:"methodology_version"`
	Name       string       `json:"name"`
	Observed   Time         `json:"observed_at"`
	Ordered    canon.Digest `json:"ordered,omitempty"`
	Pages      [][]byte     `json:"pages,omitempty"`  // bodies, in page order
	Requests   int          `json:"requests"`         // of this reading; those of Second are its own
	Second     *Result      `json:"second,omitempty"` // the second reading of the run, where one was due and made; it has no Second itself
	Server     *Server      `json:"server,omitempty"`
	Step       Step         `json:"step,omitempty"`
	Tools      int          `json:"tools,omitempty"`
}

// Outcome returns how the probe ended.
func (r Result) Outcome() Outcome {
	return Outcome{Class: r.Class, Detail: r.Detail, Step: r.Step, HTTPStatus: r.HTTPStatus}
}

// A ShardFooter is the last line of a shard file. A file without it was cut.
type ShardFooter struct {
	Results int          `json:"results"`
	SHA256  canon.Digest `json:"sha256"` // of all bytes before this line
}
