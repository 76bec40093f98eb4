package record

import (
	"fmt"
	"slices"

	"github.com/mcpstrata/mcpstrata/internal/canon"
)

// Fault says why a row can't be, whatever the rows before it and the day that it
// is of; "" when it is sound. The ledger asks before it writes a row, the checker
// after.
//
// It checks that the class is of the closed set and fits the endpoint, the
// detail, the step, the status and the head (methodology v1, "Error
// classification"), where no_endpoint has an endpoint only as bad_url, of a URL
// that was declared and could not be asked; that the flags are of their closed set and sorted, each once;
// that days are days, digests digests, and counts not negative; and that a head
// has one body for each page that its capture counts, and last_observed exactly
// while the target is not read or, on an unstable day, said neither time what the
// head is (DESIGN.md section 4). That no day lies after the row's own is left to
// those who know that day. What is quoted from the row is escaped.
func (o Observation) Fault() string {
	ok := o.ErrorClass == Success
	none := o.ErrorClass == NoEndpoint
	switch {
	case o.Name == "":
		return "it has no name"
	case !o.ErrorClass.Known():
		return fmt.Sprintf("%q is not an error class", string(o.ErrorClass))
	case !isDay(o.Since):
		return fmt.Sprintf("since %q is not a day", o.Since)
	case o.Retired != "" && !isDay(o.Retired):
		return fmt.Sprintf("retired %q is not a day", o.Retired)
	case ok && (o.ErrorDetail != "" || o.Step != "" || o.HTTPStatus != 0):
		return "a success with a detail, a step or a status"
	case ok && o.Head == nil:
		return "a success without a head"
	case none != (o.Endpoint == "") && !(none && o.ErrorDetail == DetailBadURL):
		return "the class no_endpoint and the endpoint contradict each other"
	case none && o.ErrorDetail == "":
		return "no_endpoint without its reason"
	case none && (o.Step != "" || o.HTTPStatus != 0):
		return "no_endpoint with a step or a status"
	case !ok && !none && o.Step == "":
		return "a failure without the step that failed"
	case o.Server != nil && o.Head == nil:
		return "a server without a head"
	case !FlagsInForm(o.Flags):
		return fmt.Sprintf("%.200q are not flags of the closed set, sorted, each once", o.Flags)
	case o.Head != nil:
		return o.Head.fault(ok && o.Retired == "")
	}
	return ""
}

// fault says why a head can't be. It is read if the newest probe of its target
// succeeded.
func (h *Head) fault(read bool) string {
	digests := slices.Concat([]canon.Digest{h.Identity}, h.Artifacts)
	if h.Ordered != "" {
		digests = append(digests, h.Ordered)
	}
	for _, d := range digests {
		if _, err := canon.ParseDigest(string(d)); err != nil {
			return err.Error()
		}
	}
	switch {
	case len(h.Artifacts) == 0 || len(h.Artifacts) != h.Capture.Pages.Read:
		return fmt.Sprintf("its head has %d bodies for %d pages", len(h.Artifacts), h.Capture.Pages.Read)
	case !isDay(h.FirstObserved):
		return fmt.Sprintf("first_observed %q is not a day", h.FirstObserved)
	case h.LastObserved == "" && !read:
		return "last_observed is missing, although the target fails or is retired"
	case h.LastObserved != "" && read && h.Unstable <= h.LastObserved:
		return "last_observed stands while a target is read and was not unstable after it"
	case h.LastObserved != "" && (!isDay(h.LastObserved) || h.LastObserved < h.FirstObserved):
		return fmt.Sprintf("last_observed %q is not a day from %s on", h.LastObserved, h.FirstObserved)
	case h.Unstable != "" && (!isDay(h.Unstable) || h.Unstable < h.FirstObserved):
		return fmt.Sprintf("unstable %q is not a day from %s on", h.Unstable, h.FirstObserved)
	case h.Tools < 0 || h.Bytes < 0:
		return "a negative count"
	}
	return ""
}

func isDay(d Day) bool {
	_, err := ParseDay(string(d))
	return err == nil
}
