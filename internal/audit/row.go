package audit

import (
	"cmp"
	"fmt"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// rowFault says why a row can't be, by itself and on its day.
func rowFault(o record.Observation, day record.Day) string {
	if why := o.Fault(); why != "" {
		return why
	}
	after := func(name string, d record.Day) string {
		if d <= day {
			return ""
		}
		return fmt.Sprintf("%s %q is after its own day, %s", name, d, day)
	}
	why := cmp.Or(after("since", o.Since), after("retired", o.Retired))
	if h := o.Head; h != nil {
		why = cmp.Or(why, after("first_observed", h.FirstObserved), after("last_observed", h.LastObserved), after("unstable", h.Unstable))
	}
	return why
}
