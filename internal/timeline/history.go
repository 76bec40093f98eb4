package timeline

import (
	"encoding/json"
	"slices"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A Span is a run of calendar days on which the same was known of a target.
type Span struct {
	Days  int        `json:"days"`
	First record.Day `json:"first"`
	State string     `json:"state"` // class label (answered, auth, timeout …), retired, or no_data
}

// States of a span beside the class labels.
const (
	Retired = "retired" // not in the roster
	NoData  = "no_data" // no run, not attempted, or a failure on a degraded day
)

// A History is what the dated files of one methodology tell.
type History struct {
	Days    []Day     // every UTC calendar day from the first run to the newest, each once
	Targets []*Target // everybody who ever was in the roster, sorted by name
}

// A Day is one UTC calendar day. A day without a run has no Runs and nothing else
// but the Transitions of the roster that a run under another methodology recorded.
type Day struct {
	Day         record.Day
	Runs        []RunTime       // oldest first
	Coverage    record.Coverage // of the day, as its last run counts it
	Degraded    bool            // as its last run says, like Partial
	Partial     bool
	Transitions []Transition // but changes of contract and confirmations, sorted by kind, then name
}

// A RunTime says when a run was planned and when its last answer ended.
type RunTime struct {
	Run               string
	Planned, Finished record.Time
}

// A Transition is an event other than a change of contract. Those of the kind
// class are derived from the states of days that are not degraded; the others are
// as recorded.
type Transition struct {
	Kind     record.Kind
	Name     string
	From, To json.RawMessage // of a class its label; else as the event says
	Lost     bool            // of a class: answered before, and no longer does although it declares an endpoint
	Regained bool            // of a class: answers again after it was Lost
}

// A Target is what the dated files tell of one name of the roster.
type Target struct {
	Name     string
	Listed   record.Day         // first day in the roster
	Lacked   record.Day         // of the newest complete roster before Listed, which did not have it; empty where there was none
	Retired  record.Day         // since when it is not in the roster; empty while it is
	Row      record.Observation // the newest one; without a name before the first
	Endpoint string             // the newest one known
	Read     record.Day         // newest day on which it answered
	Lives    []Life             // oldest first
	Spans    []Span             // of every calendar day from Listed, or from the first run if that is later

	back    record.Day           // when it last came back into the roster
	tried   bool                 // attempted on the open day, or settled without
	settled record.ErrorClass    // class at the end of the last day on which it was known and that was not degraded
	known   bool                 // settled stands
	lost    bool                 // and did not answer since
	newest  map[canon.Digest]int // number, from 1, of the newest life of each contract before the last one
}

// State returns the newest thing known of a target, a class label or [Retired],
// and the first day since which nothing else was; [NoData] and the empty day where
// nothing ever was. Retired it is since the day on which it last left the roster.
// A target that came back and was not read since is as it was when it left, since
// the day on which it was back: it was retired until then.
func (t *Target) State() (state string, since record.Day) {
	if t.Retired != "" {
		return Retired, t.Retired
	}
	state = NoData
	for _, s := range slices.Backward(t.Spans) {
		switch {
		case s.State == NoData, s.State == Retired && state == NoData:
		case state == NoData || s.State == state:
			state, since = s.State, s.First
		default:
			return state, max(since, t.back)
		}
	}
	if state == NoData {
		return NoData, ""
	}
	return state, max(since, t.back)
}

// push adds a day in a state, which follows the last one.
func (t *Target) push(day record.Day, state string, days int) {
	if n := len(t.Spans); n > 0 && t.Spans[n-1].State == state {
		t.Spans[n-1].Days += days
		return
	}
	t.Spans = append(t.Spans, Span{Days: days, First: day, State: state})
}

// state returns what is known of a target at the end of a day with a run.
func (t *Target) state(degraded bool) string {
	class := t.Row.ErrorClass
	switch {
	case t.Retired != "":
		return Retired
	case t.Row.Name == "" || t.Row.Retired != "" || !t.tried:
		return NoData
	case degraded && class != record.Success && class != record.NoEndpoint:
		return NoData
	}
	return class.Label()
}

// settledRow reports whether no run has to attempt the target for its row to be
// true: it declares no endpoint, or was retired.
func (t *Target) settledRow() bool {
	return t.Row.Name != "" && (t.Row.ErrorClass == record.NoEndpoint || t.Row.Retired != "")
}
