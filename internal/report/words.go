package report

import (
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// StateWords says in words, without digits, what a class label or a state of a
// span means: the one table that pages and drawings take them from. The words
// claim no more than the class does (record.Classes): under tls stand also a name
// that did not resolve and a connection that was refused, under parse also
// JSON-RPC errors and bodies that were too large, under no_endpoint also targets
// that asked not to be read, and under auth those that refuse the reader whoever
// logs in: [OutcomeWords] tells them apart where the detail is known. It is
// "unknown" for what no table knows.
func StateWords(label string) string {
	switch label {
	case record.Success.Label():
		return "answered"
	case record.Auth.Label():
		return "asks for a login or refuses"
	case record.RateLimited.Label():
		return "rate limited"
	case record.Parse.Label():
		return "no valid answer"
	case record.HTTP4xx.Label():
		return "client error"
	case record.HTTP5xx.Label():
		return "server error"
	case record.TLS.Label():
		return "no connection"
	case record.Timeout.Label():
		return "timed out"
	case record.NoEndpoint.Label():
		return "not probed"
	case timeline.Retired:
		return "retired"
	case timeline.NoData:
		return "not measured"
	}
	return "unknown"
}

// OutcomeWords is StateWords of one outcome whose detail is known, which may be the
// empty one.
func OutcomeWords(label, detail string) string {
	if label != record.Auth.Label() {
		return StateWords(label)
	}
	switch record.Detail(detail) {
	case record.DetailWAF, record.DetailHostCheck:
		return "refuses the reader"
	}
	return StateWords(label)
}
