package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// rowFault says why a row can't be, by itself and on its day.
func rowFault(o record.Observation, day record.Day) string {
	ok := o.ErrorClass == record.Success
	for _, f := range o.Flags {
		if !slices.ContainsFunc(record.Flags, func(d struct {
			Flag  record.Flag
			Means string
		}) bool {
			return d.Flag == f
		}) {
			return fmt.Sprintf("%q is not a flag", f)
		}
	}
	switch {
	case o.Name == "":
		return "it has no name"
	case sortedBy(o.Flags, func(x, y record.Flag) int { return strings.Compare(string(x), string(y)) }) > 0:
		return "its flags are not sorted, each once"
	case !dayUpTo(o.Since, day):
		return fmt.Sprintf("since %q is not a day up to %s", o.Since, day)
	case o.Retired != "" && !dayUpTo(o.Retired, day):
		return fmt.Sprintf("retired %q is not a day up to %s", o.Retired, day)
	case ok && (o.ErrorDetail != "" || o.Step != "" || o.HTTPStatus != 0):
		return "a success with a detail, a step or a status"
	case ok && o.Head == nil:
		return "a success without a head"
	case (o.ErrorClass == record.NoEndpoint) != (o.Endpoint == ""):
		return "the class no_endpoint and the endpoint contradict each other"
	case o.ErrorClass == record.NoEndpoint && o.ErrorDetail == "":
		return "no_endpoint without its reason"
	case !ok && o.ErrorClass != record.NoEndpoint && o.Step == "":
		return "a failure without the step that failed"
	case o.Head == nil:
		return ""
	}
	return headFault(*o.Head, ok && o.Retired == "", day)
}

// headFault says why a head can't be. It is read if the run's probe succeeded.
func headFault(h record.Head, read bool, day record.Day) string {
	for _, d := range slices.Concat([]canon.Digest{h.Identity}, h.Artifacts) {
		if _, err := canon.ParseDigest(string(d)); err != nil {
			return err.Error()
		}
	}
	switch {
	case len(h.Artifacts) == 0 || len(h.Artifacts) != h.Capture.Pages.Read:
		return fmt.Sprintf("its head has %d bodies for %d pages", len(h.Artifacts), h.Capture.Pages.Read)
	case !dayUpTo(h.FirstObserved, day):
		return fmt.Sprintf("first_observed %q is not a day up to %s", h.FirstObserved, day)
	case (h.LastObserved == "") != read:
		return "last_observed stands exactly while a target fails or is retired"
	case h.LastObserved != "" && (!dayUpTo(h.LastObserved, day) || h.LastObserved < h.FirstObserved):
		return fmt.Sprintf("last_observed %q is not a day from %s to %s", h.LastObserved, h.FirstObserved, day)
	case h.Unstable != "" && !dayUpTo(h.Unstable, day):
		return fmt.Sprintf("unstable %q is not a day up to %s", h.Unstable, day)
	case h.Tools < 0 || h.Bytes < 0:
		return "a negative count"
	}
	return ""
}

func dayUpTo(d, day record.Day) bool {
	_, err := record.ParseDay(string(d))
	return err == nil && d <= day
}
