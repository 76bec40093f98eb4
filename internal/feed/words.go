package feed

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpstrata/mcpstrata/internal/drift"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/visible"
)

// What a title and a summary tell at most. A hostile list has ten thousand tools
// with names as long as it likes.
const (
	maxName       = 100 // characters of a name
	maxTitleTools = 3   // names of one kind in a title
	maxTools      = 50  // and in a summary
	maxMembers    = 12  // of one tool
)

// title says in words what changed, first that the conditions of reading may
// explain it. The record begins with the day first.
func title(name string, v *report.Version, first report.Date) string {
	var parts []string
	for _, k := range kinds {
		if l := list(v, k.kind, maxTitleTools, false); l != "" {
			parts = append(parts, k.verb+" "+l)
		}
	}
	if len(parts) == 0 {
		parts = []string{"changes " + noTool(v, first)}
	}
	hedge := ""
	if !v.Comparable {
		hedge = "read under other conditions: "
	}
	return named(name) + " " + hedge + strings.Join(parts, "; ")
}

var kinds = []struct{ kind, verb, head string }{
	{string(drift.Added), "adds", "Tools added"},
	{string(drift.Removed), "removes", "Tools removed"},
	{"renamed", "renames", "Tools renamed"},
	{string(drift.Changed), "changes", "Tools changed"},
}

// noTool says what changed where no tool is named (package record, Event.Changes).
// Between two runs of the first day, which is the baseline, no event tells what
// changed (DESIGN.md, section 5); the bodies of both contracts are on record.
func noTool(v *report.Version, first report.Date) string {
	switch {
	case len(v.Classes) == 0 && v.First == first:
		return betweenRuns
	case len(v.Classes) == 0:
		return "in what is no longer on record"
	case v.Classes[0] == drift.ReorderedOnly:
		return "the order of its list only"
	}
	return "what is no tool in its list"
}

// betweenRuns says that two runs of the first day read different contracts.
const betweenRuns = "between two runs of the first day"

// summary says all that the report knows of a change, in sentences. The record
// begins with the day first.
func summary(v *report.Version, first report.Date) string {
	var b strings.Builder
	for _, k := range kinds {
		if l := list(v, k.kind, maxTools, true); l != "" {
			fmt.Fprintf(&b, "%s: %s. ", k.head, l)
		}
	}
	if b.Len() == 0 {
		what := noTool(v, first)
		if what == betweenRuns {
			what += "; its page compares the two contracts"
		}
		fmt.Fprintf(&b, "It changes %s. ", what)
	}
	fmt.Fprintf(&b, "First read on %s", v.First)
	if v.LastSame != "" {
		fmt.Fprintf(&b, "; the contract before was last read on %s", v.LastSame)
	}
	if v.ConfirmedOn != "" {
		fmt.Fprintf(&b, "; confirmed on %s", v.ConfirmedOn)
	}
	b.WriteString(".")
	if len(v.Classes) > 0 {
		fmt.Fprintf(&b, " Class: %s.", names(v.Classes, maxMembers))
	}
	if v.ReturnOf > 0 {
		fmt.Fprintf(&b, " It is the contract of version %s again.", v.ReturnOf.Text())
	}
	if !v.Comparable {
		b.WriteString(" The two were read under different conditions")
		if len(v.Differs) > 0 {
			fmt.Fprintf(&b, " (%s)", names(v.Differs, maxMembers))
		}
		b.WriteString(", so the difference may lie in how the server was read.")
	}
	return b.String()
}

// list names the tools of a kind, at most so many, with the members that differ,
// and counts those that the report does not name.
func list(v *report.Version, kind string, most int, members bool) string {
	var all []string
	n := 0
	for _, c := range v.Changes {
		if c.Kind != kind {
			continue
		}
		if n++; n > most {
			continue
		}
		s := named(c.Name)
		if c.Old != "" {
			s = named(c.Old) + " to " + s
		}
		if members && len(c.Members) > 0 {
			s += " (" + names(c.Members, maxMembers) + ")"
		}
		all = append(all, s)
	}
	n += unnamed(v, kind)
	switch {
	case len(all) > 0:
		return join(all, n)
	case n == 1:
		return "1 tool"
	case n > 1:
		return report.Count(n).Text() + " tools"
	}
	return ""
}

// unnamed returns how many tools of a kind changed that a version does not name,
// because there are too many for the report. Tools under a new name count as
// changed there.
func unnamed(v *report.Version, kind string) int {
	if !v.ChangesCut {
		return 0
	}
	named := map[string]int{}
	for _, c := range v.Changes {
		named[c.Kind]++
	}
	switch kind {
	case string(drift.Added):
		return max(int(v.Added)-named[kind], 0)
	case string(drift.Removed):
		return max(int(v.Removed)-named[kind], 0)
	case string(drift.Changed):
		return max(int(v.Changed)-named[kind]-named["renamed"], 0)
	}
	return 0
}

// names lists names, at most so many.
func names(all []string, most int) string {
	var shown []string
	for _, s := range all[:min(len(all), most)] {
		shown = append(shown, named(s))
	}
	return join(shown, len(all))
}

// join lists what is shown of so many.
func join(shown []string, of int) string {
	s := strings.Join(shown, ", ")
	if more := of - len(shown); more > 0 {
		s += " and " + report.Count(more).Text() + " more"
	}
	return s
}

// cutLine returns the beginning of a name as [visible.Line] does, and no chip in
// part.
func cutLine(s string) string {
	var b strings.Builder
	left := maxName
	for p := range visible.Pieces(s) {
		v := visible.Line(p.Text)
		switch n := utf8.RuneCountInString(v); {
		case n <= left:
			b.WriteString(v)
			left -= n
		case p.Hidden:
			return b.String()
		default:
			return b.String() + string([]rune(v)[:left])
		}
	}
	return b.String()
}

// named returns a recorded name for a line of text: hidden characters as chips,
// cut, and in quotation marks unless it can't be taken for our words.
func named(s string) string {
	if s == "" {
		return "(no name)"
	}
	v := visible.Line(s)
	if utf8.RuneCountInString(v) > maxName {
		v = cutLine(s) + "…"
	}
	if v == s && strings.Trim(s, unreserved+"/") == "" {
		return s
	}
	return "“" + strings.ReplaceAll(v, "”", `\”`) + "”"
}
