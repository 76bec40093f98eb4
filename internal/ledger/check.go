package ledger

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// How far from the time of the plan a reading may be dated. The clocks of the
// machines that probe need not agree; a year is no disagreement.
const (
	maxEarly = time.Hour
	maxLate  = 48 * time.Hour
)

// Forms of the open members of a failure.
var (
	detailForm = regexp.MustCompile(`^[a-z0-9_]{0,32}(:-?[0-9]{1,19})?$`)
	stepForm   = regexp.MustCompile(`^(initialize|server/discover|tools/list(#[1-9][0-9]{0,3})?)$`)
)

// A reading is a result and what is made of its bodies, once.
type reading struct {
	record.Result
	artifacts []canon.Digest     // of the bodies, in page order
	contract  *contract.Contract // nil where the bodies are those of the head
}

// again returns what the second reading of a run said of the first, and that
// reading where it succeeded. One that its own bytes don't bear out counts as
// failed. One that was not due is none: under a methodology without second
// readings, of a name that has no head, or whose head the first one equals.
func (l *line) again(first *reading) (record.Reread, *reading) {
	old := l.before[first.Name].Head
	if first.Second == nil || !l.methodology.SecondReading || old == nil || old.Identity == first.Identity {
		return record.RereadNone, nil
	}
	second := &reading{Result: *first.Second}
	why := l.misfit(second)
	if second.Name != first.Name || second.Method != first.Method || second.Second != nil {
		why = "it is of something else"
	}
	if why != "" {
		l.b.in.Log(fmt.Sprintf("%s: its second reading is not believed and counts as failed: %s", first.Name, why))
		return record.RereadFailed, nil
	}
	l.finish(second.Result)
	switch {
	case second.Class != record.Success:
		return record.RereadFailed, nil
	case second.Identity == first.Identity:
		return record.RereadSame, second
	}
	return record.RereadDifferent, second
}

// misfit says why a result is not believed, and "" when it is. A shard comes from
// a machine that is trusted with probing and nothing else: what its bytes don't
// bear out is as good as missed. Of a success it fills in what its bodies are.
func (l *line) misfit(r *reading) string {
	planned := l.b.in.Plan.Planned
	switch {
	case r.Observed.Before(planned.Add(-maxEarly)) || r.Observed.After(planned.Add(maxLate)):
		return "it is dated " + r.Observed.Format(time.RFC3339)
	case r.InitMS < -1 || r.ListMS < -1 || r.InitMS > maxLate.Milliseconds() || r.ListMS > maxLate.Milliseconds():
		return "its latencies can't be"
	case r.Class != record.Success:
		return misfitFailure(r.Result)
	case !record.FlagsInForm(r.Flags):
		return fmt.Sprintf("%.200q are no flags", r.Flags)
	case r.Detail != "" || r.Step != "" || r.HTTPStatus != 0:
		return "a success with a detail, a step or a status"
	case r.Capture == nil || r.Server == nil || len(r.Pages) == 0 || r.Capture.Pages.Read != len(r.Pages):
		return "a success without its capture, server or bodies"
	}
	return l.misread(r)
}

func misfitFailure(r record.Result) string {
	badURL := record.Outcome{Class: record.NoEndpoint, Detail: record.DetailBadURL}
	switch {
	case r.Outcome() == badURL: // the one failure without a step
		return ""
	case !r.Class.Known() || r.Class == record.NoEndpoint:
		return fmt.Sprintf("no probe ends as %s", r.Outcome())
	case !detailForm.MatchString(string(r.Detail)):
		return fmt.Sprintf("%.40q is no detail", r.Detail)
	case !stepForm.MatchString(string(r.Step)):
		return fmt.Sprintf("%.40q is no step", r.Step)
	case r.HTTPStatus < 0 || r.HTTPStatus > 999:
		return "its status can't be"
	}
	return ""
}

// misread says why the bodies of a success don't mean what the result states.
// The same bodies as the head's are not read again.
func (l *line) misread(r *reading) string {
	for _, p := range r.Pages {
		r.artifacts = append(r.artifacts, canon.Sum(p))
	}
	if old := l.before[r.Name].Head; old != nil && slices.Equal(r.artifacts, old.Artifacts) {
		return contradiction(r, old.Identity, old.Ordered, old.Tools)
	}
	c, err := contract.Read(r.Pages)
	if err != nil {
		return "its bodies hold no contract: " + err.Error()
	}
	r.contract = c
	identity, err := c.Identity(l.methodology.CanonicalForm)
	if err != nil {
		return "its bodies have no identity: " + err.Error()
	}
	var ordered canon.Digest
	if l.methodology.CanonicalForm != canon.FormV2 {
		ordered, _ = c.Identity(canon.FormV2) // "" where that form refuses
	}
	return contradiction(r, identity, ordered, len(c.Tools))
}

// contradiction says how a result contradicts what its bodies say.
func contradiction(r *reading, identity, ordered canon.Digest, tools int) string {
	if r.Identity == identity && r.Ordered == ordered && r.Tools == tools {
		return ""
	}
	return fmt.Sprintf("it states %s, %s and %d tools, and its bodies say %s, %s and %d", r.Identity, r.Ordered, r.Tools, identity, ordered, tools)
}
