// Package report computes every published figure; no page shows a number that
// is not in it.
//
// # One pass, one JSON
//
// [Build] reads the dated files of one methodology, oldest first, and nothing
// else: neither git nor the files that are rewritten. A [Report] is therefore
// the same in a clone without history. Its JSON form is published beside the
// pages as report.json. A page names each figure that it shows by the JSON
// Pointer (RFC 6901) of its place there, which [Report.Lookup] resolves, and
// shows what [Text] makes of it.
//
// # Two lines of observation
//
// [Publish] reads the dated files once for every methodology. The report of the
// series of record stands on top, the others under lines, and what two of them read
// differently under readings ([Readings]); members of two reports are never mixed
// in one figure. Readings and lines come last in the JSON form, and an archive of
// one methodology has neither: its form is that of its [Report].
//
// Under a methodology whose conditions restrict drift (v2), a difference read under
// other conditions is counted as a capture and not as drift, and censors the
// contract before it (reason capture). A change that is taken back before it was
// ever confirmed is neither counted, nor does it end a life: timeline.Life.Joined.
// The second reading and unstable days stand beside each version there; its capture
// stands there under either methodology.
//
// # What the figures are drawn from
//
// Shares of error classes come from full runs only, never from partial ones
// (methodology v1, "Partial runs are not a population sample"); while the newest
// run is partial, the figures of the newest full one stay (case e-015). A full run
// that is degraded counts, and is marked.
//
// No transition of availability is read from a degraded day: those of the kind
// class are derived from the days that are not degraded, and can therefore be
// fewer than the events recorded. A server is as it was last known to be, and its
// contract is in force only if it was read on the newest day. A day without a run
// is a gap, never a guess.
//
// # Half-life
//
// An interval is what was observed of one contract (DESIGN.md section 8;
// km/README.md). It begins with the first reading, also of a contract that was
// there before, and ends in an event on the first day on which another one was
// read; on a grid of days that is a day later at least. It is censored when the
// contract was last read. Every drift event that the methodology counts is one. Greenwood's limits
// take contracts for independent, which those of one operator are not: the
// half-life with the variance clustered by operator and the server-weighted one
// stand beside it. The variance of few clusters is far too small, so with fewer than
// [MinOperators] operators there are no such limits. Numbers that are no integers
// are rounded to six significant digits, so that they don't depend on the machine.
package report

import (
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/survival"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// A Report holds every published figure of one line of observation.
type Report struct {
	AsOf          Date               `json:"as_of"`                   // day of the newest run
	AsOfTime      record.Time        `json:"as_of_time"`              // when it finished
	Calendar      []Day              `json:"calendar"`                // every UTC day from First to AsOf, each once, oldest first
	Classes       []Class            `json:"classes"`                 // of the newest full run: success, then those that occurred, in the order of the table of classes; empty before the first
	First         Date               `json:"first"`                   // day of the first run
	Full          Date               `json:"full,omitempty"`          // day of the newest full run, which Classes and Population count; absent before the first
	FullDegraded  bool               `json:"full_degraded,omitempty"` // that run was degraded: it is full, and yet says more of the reader than of the servers
	HalfLife      HalfLife           `json:"half_life"`
	Methodology   string             `json:"methodology"`
	Newest        Newest             `json:"newest"`
	Operators     []Operator         `json:"operators"` // by number of servers, then name; those of the newest rows with an endpoint
	Population    Population         `json:"population"`
	ProberVersion string             `json:"prober_version"` // of the newest run
	Schema        int                `json:"schema"`         // version of this form: 1
	Series        string             `json:"series"`
	Servers       map[string]*Server `json:"servers"` // by name, everybody who ever was in the roster
	Simulated     bool               `json:"simulated"`
	Source        string             `json:"source"` // of the newest roster
}

// Newest says how the newest run went.
type Newest struct {
	Coverage       *Share `json:"coverage"` // active targets reached, of those active; null of a partial run
	Degraded       bool   `json:"degraded"`
	Partial        bool   `json:"partial"`
	RosterComplete bool   `json:"roster_complete"`
	Run            string `json:"run"`
}

// Population counts the targets as of the newest full run, and the record.
type Population struct {
	Answering  Count `json:"answering"` // whose newest reading succeeded, in that run
	Changes    Count `json:"changes"`   // drift events so far
	Contracts  Count `json:"contracts"` // lives of contracts so far
	Endpoints  Count `json:"endpoints"` // with an endpoint to probe
	EverAnswer Count `json:"ever_answered"`
	GapDays    Count `json:"gap_days"` // calendar days without a run
	Listed     Count `json:"listed"`   // in the roster
	Names      Count `json:"names"`    // ever in the roster, retired ones included
	Operators  Count `json:"operators"`
	Retired    Count `json:"retired"`
	RunDays    Count `json:"run_days"` // calendar days with a run
	Tools      Count `json:"tools"`    // in the contracts of those who answer
}

// A Class is how many targets ended in one error class.
type Class struct {
	Class   string   `json:"class"` // label: answered, timeout, tls …
	Details []Detail `json:"details,omitempty"`
	Share   Share    `json:"share"` // of all targets of that run
}

// A Detail is a part of a class.
type Detail struct {
	Detail string `json:"detail"`
	Forced bool   `json:"forced,omitempty"` // the closed set has no class for it: counted separately wherever shares are shown
	Share  Share  `json:"share"`            // of all targets of that run
}

// A Day is one UTC calendar day. A day without a run has Runs 0 and no other
// figure: it is a gap. Events of the roster can stand there, and are counted, where
// a run under another methodology recorded them.
type Day struct {
	Active    Count            `json:"active"`
	Answered  Count            `json:"answered"`
	Appeared  Count            `json:"appeared"`
	Attempted Count            `json:"attempted"`
	Captures  Count            `json:"captures"`          // differences that the conditions of reading may explain; see Drift
	Changes   []Group          `json:"changes,omitempty"` // by operator: most servers first, then by name
	Classes   map[string]Count `json:"classes,omitempty"` // targets per class label; absent in a gap and on a partial day
	Coverage  *Share           `json:"coverage"`          // null in a gap and on a partial day
	Day       Date             `json:"day"`
	Degraded  bool             `json:"degraded,omitempty"`
	Drift     Count            `json:"drift"`            // contracts that changed by an event of kind drift. Under v1 Captures are among them; where they are events of their own kind they are not
	Events    []Transition     `json:"events,omitempty"` // all other transitions of the day but confirmations, sorted by kind, then name
	First     Count            `json:"first"`            // first answers
	Lost      Count            `json:"lost"`             // answered before, no longer; the loss of the endpoint is none
	Moved     Count            `json:"moved"`            // endpoints
	Numbers   Count            `json:"numbers"`          // of Drift: only numbers, white space or order; Captures not counted again
	Partial   bool             `json:"partial,omitempty"`
	Regained  Count            `json:"regained"` // answer again after they were Lost; without those that only had no endpoint
	Retired   Count            `json:"retired"`
	Returned  Count            `json:"returned"`
	RunTimes  []RunTime        `json:"run_times,omitempty"` // of each: actual times are never replaced by planned ones (case e-003)
	Runs      Count            `json:"runs"`                // runs planned on this day
	Targets   Count            `json:"targets"`
}

// RunTime says when a run was planned and when its last answer ended.
type RunTime struct {
	Finished record.Time `json:"finished"`
	Planned  record.Time `json:"planned"`
	Run      string      `json:"run"`
}

// A Group is what changed on one day at one operator: a platform release moves
// many servers at once.
type Group struct {
	Changed  []Changed `json:"changed"` // sorted by name
	Operator string    `json:"operator"`
	Servers  Count     `json:"servers"`
}

// Changed points to a version of a server's contract: Servers[Name].Versions[Index].
type Changed struct {
	Index int    `json:"index"` // from 0
	Name  string `json:"name"`
}

// A Transition is an event other than a change of contract.
type Transition struct {
	From string      `json:"from,omitempty"` // class label, endpoint or what the server said of itself before, as text; hostile where a server said it
	Kind record.Kind `json:"kind"`
	Name string      `json:"name"`
	To   string      `json:"to,omitempty"`
}

// An Operator is the registrable domain that servers share.
type Operator struct {
	Changes Count  `json:"changes"` // drift events so far, of servers that it had then
	Name    string `json:"name"`
	Servers Count  `json:"servers"` // in the roster
}

// A Server is one target's figures and history.
type Server struct {
	Age      *Days           `json:"age"`                // of its newest contract, from the first to the last reading; null unless State is answered
	Answered Count           `json:"answered"`           // calendar days on which it answered
	Bytes    *Count          `json:"bytes"`              // of the head's bodies
	Changes  Count           `json:"changes"`            // drift events so far
	Detail   string          `json:"detail,omitempty"`   // of the class
	Events   []ServerEvent   `json:"events,omitempty"`   // its transitions in the calendar, oldest first
	Listed   Date            `json:"listed"`             // first day in the roster
	Measured Count           `json:"measured"`           // calendar days on which it was read, failing or not; without an endpoint it is not read
	NoData   Count           `json:"no_data"`            // calendar days since Listed of which nothing is known
	Operator string          `json:"operator,omitempty"` // registrable domain of the newest endpoint known
	Read     Date            `json:"read,omitempty"`     // newest day on which it answered
	Recent   Count           `json:"recent"`             // drift events of the 90 days that end with AsOf
	Retired  Date            `json:"retired,omitempty"`
	Since    Date            `json:"since"`              // first day since which nothing else was known; empty with no_data. Of one that came back into the roster and was not read since: when it was back
	Spans    []timeline.Span `json:"spans"`              // every calendar day since Listed
	State    string          `json:"state"`              // as last known: class label, retired, or no_data where nothing ever was
	Tools    *Count          `json:"tools"`              // of the contract in force or, where it fails, last read
	Unstable bool            `json:"unstable,omitempty"` // changed at least 8 times in its last 28 days with an answer, or answered two readings of one run differently in the last 28 days
	Versions []Version       `json:"versions,omitempty"` // its contracts, oldest first
}

// A ServerEvent is one transition other than a change of contract.
type ServerEvent struct {
	After  *Handshake `json:"after,omitempty"`  // of kind server, under a methodology that restricts by capture: what it said from then on
	Before *Handshake `json:"before,omitempty"` // what it said until then
	Day    Date       `json:"day"`
	Transition
}

// A Handshake is what a server said of itself when a reading began, and the
// protocol version that was agreed on. All of it is as the server has it: hostile.
type Handshake struct {
	Capabilities []string     `json:"capabilities"`           // flat dotted names, sorted
	Instructions canon.Digest `json:"instructions,omitempty"` // of the text
	Name         string       `json:"name,omitempty"`
	Negotiated   string       `json:"negotiated,omitempty"`
	Version      string       `json:"version,omitempty"`
}

// A Version is one life of a contract of a server.
type Version struct {
	Added        Count               `json:"added"` // tools
	Artifacts    []canon.Digest      `json:"artifacts"`
	Capture      *record.Capture     `json:"capture,omitempty"`     // how it was read, newest conditions; observedAt is of the first reading under them.
	Changed      Count               `json:"changed"`               // tools
	Changes      []record.ToolChange `json:"changes,omitempty"`     // as the event tells; absent for a first contract; at most [timeline.MaxChanges], of [timeline.MaxChangeBytes]
	ChangesCut   bool                `json:"changes_cut,omitempty"` // Changes lacks some; Added, Changed and Removed count all
	Classes      []string            `json:"classes,omitempty"`
	Comparable   bool                `json:"comparable"` // false: read under other conditions than the one before
	Confirmed    bool                `json:"confirmed"`
	ConfirmedOn  Date                `json:"confirmed_on,omitempty"` // absent for what was confirmed from the start
	Differs      []string            `json:"differs,omitempty"`
	Drift        bool                `json:"drift"`           // began with a change that the methodology counts; false for a first contract
	Ended        Date                `json:"ended,omitempty"` // first day of the next contract
	First        Date                `json:"first"`
	Gap          Days                `json:"gap"` // days between the last reading of the contract before and the first of this one; 0 for a first contract
	Identity     canon.Digest        `json:"identity"`
	InForce      bool                `json:"in_force"`            // the newest version of a server whose State is answered, read on AsOf; without that it is only the last one known
	Joined       bool                `json:"joined,omitempty"`    // began with one of two changes that cancel out: the first contract of the two was never confirmed, and the second is the one from before. Neither is counted, and neither ends a life
	LastSame     Date                `json:"last_same,omitempty"` // last day on which the contract before was read
	Lived        Days                `json:"lived"`               // First to Ended, or to the last reading
	N            Count               `json:"n"`                   // from 1
	Read         Date                `json:"read"`                // last day on which it was read
	Removed      Count               `json:"removed"`             // tools
	Reread       record.Reread       `json:"reread,omitempty"`    // what the second reading of its first day said; absent for a first contract and under v1
	ReturnOf     Count               `json:"return_of"`           // number of the newest earlier version with the same identity; 0: none
	Tools        Count               `json:"tools"`
	UnstableDays []Date              `json:"unstable_days,omitempty"` // on which two readings of one run differed while it was in force, oldest first
}

// HalfLife is how long contracts last: the headline estimate with what must
// stand beside it (km/README.md, sections 2 to 9; DESIGN.md 8).
//
// The reasons of Censored: window (the server answers, as far as is known),
// retired, auth (it asks for a login), no_endpoint (it declares none any more),
// unreachable (any other failure), and capture (another contract was read under
// other conditions, where the methodology takes that for no change).
type HalfLife struct {
	AtLeast           *Days              `json:"at_least"`  // while not reached: the 95 % lower limit of the half-life with the variance clustered by operator; null with FewOperators
	AtRisk            []AtRisk           `json:"at_risk"`   // at the ticks of the chart's axis
	Censored          map[string]Count   `json:"censored"`  // intervals without an event, by why nothing is known of them later; see above
	Clustered         Interval           `json:"clustered"` // the same half-life, its limits with the variance clustered by operator; without limits where FewOperators is true or the operators happen to be so alike that the variance is 0
	Estimate          *survival.Estimate `json:"estimate"`  // the whole table
	Events            Count              `json:"events"`
	FewOperators      bool               `json:"few_operators"` // fewer than MinOperators: nothing that needs the variance clustered by operator is stated, limits are null
	GapsOver1         Share              `json:"gaps_over_1"`   // events not dated to one day
	GapsOver7         Share              `json:"gaps_over_7"`
	HalfLife          Interval           `json:"half_life"` // pooled, right-point, pointwise Greenwood, log-log
	Intervals         Count              `json:"intervals"`
	Lines             []Line             `json:"lines"`      // sensitivity: the same under other choices
	MoreThan          *Days              `json:"more_than"`  // while not reached and without AtLeast: the last time at which the lower limit of the curve is above one half, so that the half-life is more; same level and variance as AtLeast
	Operators         Count              `json:"operators"`  // clusters of Clustered and Weighted
	Retirement        []Incidence        `json:"retirement"` // changes and retirements as competing events, at the days of S30 and S90
	RMST30            *Days              `json:"rmst_30"`    // null where nothing is known of the time up to it; see [survival.Estimate.Known]
	RMST90            *Days              `json:"rmst_90"`
	S30               Chance             `json:"s_30"`
	S90               Chance             `json:"s_90"`
	Servers           Count              `json:"servers"`
	StartUnknown      Share              `json:"start_unknown"`   // intervals that count from the first reading because their beginning was not observed: neither as a change, nor as the coming of a new server (as the line new_servers has it)
	Status            string             `json:"status"`          // reached, touches_only, not_reached
	Thin              bool               `json:"thin"`            // reached, with fewer than 30 intervals or 30 servers at risk at the half-life
	TopShare          Share              `json:"top_share"`       // events of the 1 % of servers that changed most, rounded up to whole servers: of up to 100 servers it is one
	UnstableEvents    Share              `json:"unstable_events"` // of servers that change again and again (Server.Unstable)
	UnstableIntervals Share              `json:"unstable_intervals"`
	UnstableServers   Share              `json:"unstable_servers"`
	Weighted          Interval           `json:"weighted"` // server-weighted (Wang and Chang 1999), limits as Clustered has them
}

// An Interval is a half-life with its 95 % limits; null where not reached.
type Interval struct {
	Lower *Days `json:"lower"`
	Upper *Days `json:"upper"`
	Value *Days `json:"value"`
}

// A Chance is the estimated share of contracts that last at least so long. Value
// is null where fewer than 30 were at risk. The limits are null then, and where the
// estimate has none: see [Chance.NoneEnded] and [Chance.AllEnded].
type Chance struct {
	Lower *Probability `json:"lower"`
	Upper *Probability `json:"upper"`
	Value *Probability `json:"value"`
}

// NoneEnded reports whether no contract was seen to end so early: the estimate is
// 1, and how far below it the truth may lie the method does not tell.
func (c Chance) NoneEnded() bool { return c.Value != nil && c.Lower == nil && *c.Value == 1 }

// AllEnded reports whether all contracts had ended by then: the estimate is 0, and
// has no limits either.
func (c Chance) AllEnded() bool { return c.Value != nil && c.Lower == nil && *c.Value == 0 }

// AtRisk is how many contracts were observed at least so long.
type AtRisk struct {
	Day Count `json:"day"`
	N   Count `json:"n"`
}

// A Line is the half-life under another choice of intervals.
type Line struct {
	Events    Count    `json:"events"`
	HalfLife  Interval `json:"half_life"`
	ID        string   `json:"id"` // stable, such as comparable_only
	Intervals Count    `json:"intervals"`
	S30       Chance   `json:"s_30"`
	Status    string   `json:"status"` // as HalfLife.Status
	Title     string   `json:"title"`  // without digits
}

// An Incidence is the estimated share of contracts that had ended by a day, in a
// change or in the retirement of their server, and of those that had not
// (Aalen and Johansen); null where fewer than 30 were at risk. The three sum to 1.
type Incidence struct {
	Changed *Probability `json:"changed"`
	Day     Count        `json:"day"`
	Neither *Probability `json:"neither"`
	Retired *Probability `json:"retired"`
}
