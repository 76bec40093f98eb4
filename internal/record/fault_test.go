package record

import (
	"testing"

	"github.com/mcpstrata/mcpstrata/internal/canon"
)

// Each row is a sound one with one thing changed.
func TestObservationFault(t *testing.T) {
	body := canon.Sum([]byte("body"))
	answered := func() Observation {
		return Observation{Name: "com.example/s", Endpoint: "https://example.com/", Since: "2026-11-02", Server: &Server{}, Head: &Head{
			Identity: body, Artifacts: []canon.Digest{body}, FirstObserved: "2026-11-03", Capture: Capture{Pages: Pages{Read: 1}},
		}}
	}
	failed := func() Observation {
		o := answered()
		o.ErrorClass, o.Step, o.Head.LastObserved = Timeout, StepInitialize, "2026-11-03"
		return o
	}
	missing := func() Observation {
		return Observation{Name: "com.example/s", Since: "2026-11-02", ErrorClass: NoEndpoint, ErrorDetail: DetailNoRemote}
	}
	const (
		noFlags      = " are not flags of the closed set, sorted, each once"
		lastObserved = "last_observed is missing, although the target fails or is retired"
		lastRead     = "last_observed stands while a target is read and was not unstable after it"
		contradicts  = "the class no_endpoint and the endpoint contradict each other"
		dressed      = "a success with a detail, a step or a status"
	)
	for _, tt := range []struct {
		name string
		from func() Observation
		do   func(*Observation)
		want string
	}{
		{"answered", answered, func(o *Observation) {}, ""},
		{"failed", failed, func(o *Observation) {}, ""},
		{"failed with all that a failure may have", failed, func(o *Observation) {
			o.ErrorClass, o.ErrorDetail, o.HTTPStatus = HTTP4xx, DetailSession, 404
		}, ""},
		{"never answered", failed, func(o *Observation) { o.Head, o.Server = nil, nil }, ""},
		{"no endpoint", missing, func(o *Observation) {}, ""},
		{"a URL that could not be asked", missing, func(o *Observation) {
			o.Endpoint, o.ErrorDetail = "https://example.com:x/", DetailBadURL
		}, ""},
		{"retired", answered, func(o *Observation) { o.Retired, o.Head.LastObserved = "2026-11-05", "2026-11-04" }, ""},
		{"two pages", answered, func(o *Observation) {
			o.Head.Artifacts, o.Head.Capture.Pages.Read = []canon.Digest{body, body}, 2
		}, ""},
		{"flags", answered, func(o *Observation) { o.Flags = []Flag{FlagBatch, FlagBOM} }, ""},
		{"neither time what the head is", answered, func(o *Observation) { o.Head.LastObserved, o.Head.Unstable = "2026-11-04", "2026-11-06" }, ""},
		{"failed after it", failed, func(o *Observation) { o.Head.Unstable = "2026-11-05" }, ""},
		{"an ordered identity and unstable", answered, func(o *Observation) { o.Head.Ordered, o.Head.Unstable = body, "2026-11-04" }, ""},

		{"nameless", answered, func(o *Observation) { o.Name = "" }, "it has no name"},
		{"class", failed, func(o *Observation) { o.ErrorClass = "odd" }, `"odd" is not an error class`},
		{"no since", answered, func(o *Observation) { o.Since = "" }, `since "" is not a day`},
		{"since", answered, func(o *Observation) { o.Since = "2026-11-31" }, `since "2026-11-31" is not a day`},
		{"retired on no day", answered, func(o *Observation) { o.Retired = "2026" }, `retired "2026" is not a day`},
		{"success with a detail", answered, func(o *Observation) { o.ErrorDetail = DetailHTML }, dressed},
		{"success with a step", answered, func(o *Observation) { o.Step = StepToolsList }, dressed},
		{"success with a status", answered, func(o *Observation) { o.HTTPStatus = 200 }, dressed},
		{"success without a head", answered, func(o *Observation) { o.Head = nil }, "a success without a head"},
		{"success without an endpoint", answered, func(o *Observation) { o.Endpoint = "" }, contradicts},
		{"failure without an endpoint", failed, func(o *Observation) { o.Endpoint = "" }, contradicts},
		{"no_endpoint with one", missing, func(o *Observation) { o.Endpoint = "https://example.com/" }, contradicts},
		{"no_endpoint without a reason", missing, func(o *Observation) { o.ErrorDetail = "" }, "no_endpoint without its reason"},
		{"no_endpoint with a step", missing, func(o *Observation) { o.Step = StepInitialize }, "no_endpoint with a step or a status"},
		{"no_endpoint with a status", missing, func(o *Observation) { o.HTTPStatus = 404 }, "no_endpoint with a step or a status"},
		{"failure without a step", failed, func(o *Observation) { o.Step = "" }, "a failure without the step that failed"},
		{"server without a head", failed, func(o *Observation) { o.Head = nil }, "a server without a head"},
		{"unknown flag", answered, func(o *Observation) { o.Flags = []Flag{"o\x1bdd"} }, `["o\x1bdd"]` + noFlags},
		{"flags out of order", answered, func(o *Observation) { o.Flags = []Flag{FlagBOM, FlagBatch} }, `["bom" "batch"]` + noFlags},
		{"a flag twice", answered, func(o *Observation) { o.Flags = []Flag{FlagBOM, FlagBOM} }, `["bom" "bom"]` + noFlags},
		{"no bodies", answered, func(o *Observation) { o.Head.Artifacts, o.Head.Capture.Pages.Read = nil, 0 }, "its head has 0 bodies for 0 pages"},
		{"a page too few", answered, func(o *Observation) { o.Head.Capture.Pages.Read = 2 }, "its head has 1 bodies for 2 pages"},
		{"no first_observed", answered, func(o *Observation) { o.Head.FirstObserved = "" }, `first_observed "" is not a day`},
		{"last_observed while read", answered, func(o *Observation) { o.Head.LastObserved = "2026-11-04" }, lastRead},
		{"last_observed on the unstable day", answered, func(o *Observation) { o.Head.LastObserved, o.Head.Unstable = "2026-11-04", "2026-11-04" }, lastRead},
		{"no last_observed while failing", failed, func(o *Observation) { o.Head.LastObserved = "" }, lastObserved},
		{"no last_observed while retired", answered, func(o *Observation) { o.Retired = "2026-11-04" }, lastObserved},
		{"last before first", failed, func(o *Observation) { o.Head.LastObserved = "2026-11-02" }, `last_observed "2026-11-02" is not a day from 2026-11-03 on`},
		{"last on no day", failed, func(o *Observation) { o.Head.LastObserved = "2026-13-01" }, `last_observed "2026-13-01" is not a day from 2026-11-03 on`},
		{"unstable on no day", answered, func(o *Observation) { o.Head.Unstable = "x" }, `unstable "x" is not a day from 2026-11-03 on`},
		{"unstable before it began", answered, func(o *Observation) { o.Head.Unstable = "2026-11-02" }, `unstable "2026-11-02" is not a day from 2026-11-03 on`},
		{"negative tools", answered, func(o *Observation) { o.Head.Tools = -1 }, "a negative count"},
		{"negative bytes", answered, func(o *Observation) { o.Head.Bytes = -1 }, "a negative count"},
	} {
		o := tt.from()
		tt.do(&o)
		if got := o.Fault(); got != tt.want {
			t.Errorf("%s: Fault(%s) = %q, want %q", tt.name, Line(o), got, tt.want)
		}
	}
	for what, do := range map[string]func(*Head){
		"identity": func(h *Head) { h.Identity = "" },
		"body":     func(h *Head) { h.Artifacts[0] = "sha256:0" },
		"ordered":  func(h *Head) { h.Ordered = "x" },
	} {
		o := answered()
		do(o.Head)
		if o.Fault() == "" {
			t.Errorf("%s: Fault(%s) is empty, want one of a digest", what, Line(o))
		}
	}
}
