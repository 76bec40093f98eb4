package record

import (
	"encoding/json"
	"fmt"
	"strings"
)

// An ErrorClass says why a probe did not succeed. The set is closed and frozen
// (methodology v1, "Error classification"); the empty class is success and is
// null in JSON. The values are never renamed.
type ErrorClass string

// The classes, in the order in which the methodology lists them.
const (
	Success     ErrorClass = ""
	Timeout     ErrorClass = "timeout"
	TLS         ErrorClass = "tls"
	HTTP4xx     ErrorClass = "http_4xx"
	HTTP5xx     ErrorClass = "http_5xx"
	Auth        ErrorClass = "auth"
	RateLimited ErrorClass = "rate_limited"
	NoEndpoint  ErrorClass = "no_endpoint"
	Parse       ErrorClass = "parse"
)

// MarshalJSON writes null for success, else the class.
func (c ErrorClass) MarshalJSON() ([]byte, error) {
	if c == Success {
		return []byte("null"), nil
	}
	return json.Marshal(string(c))
}

// UnmarshalJSON reads null or a class of the closed set.
func (c *ErrorClass) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*c = Success
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if !ErrorClass(s).Known() || s == "" {
		return fmt.Errorf("%q is not an error class", s)
	}
	*c = ErrorClass(s)
	return nil
}

// Known reports whether c is in the closed set; success is.
func (c ErrorClass) Known() bool {
	if c == Success {
		return true
	}
	for _, k := range Classes {
		if k.Class == c {
			return true
		}
	}
	return false
}

// Label returns the class as people and count tables see it: "answered" for
// success.
func (c ErrorClass) Label() string {
	if c == Success {
		return "answered"
	}
	return string(c)
}

// Reached reports whether an outcome of this class means that the server was
// reached: any but timeout and tls, and no_endpoint, where nothing was tried
// (DESIGN.md 5.3).
func (c ErrorClass) Reached() bool {
	return c != Timeout && c != TLS && c != NoEndpoint
}

// A Detail refines a class. The set is open; the ones in [Classes] are those
// that a probe gives today. The empty detail adds nothing to the class.
type Detail string

// Details, by the class they stand under. RPC details are made by [RPCDetail].
const (
	// under tls
	DetailDNS            Detail = "dns"
	DetailRefused        Detail = "refused"
	DetailReset          Detail = "reset"
	DetailCertificate    Detail = "certificate"
	DetailBlockedAddress Detail = "blocked_address"
	// under http_4xx
	DetailPaymentRequired Detail = "payment_required"
	DetailSession         Detail = "session"
	// under auth
	DetailWAF       Detail = "waf"
	DetailHostCheck Detail = "host_check"
	// under no_endpoint
	DetailNoRemote    Detail = "no_remote"
	DetailSSEOnly     Detail = "sse_only"
	DetailURLTemplate Detail = "url_template"
	DetailOptOut      Detail = "opt_out"
	DetailBadURL      Detail = "bad_url"
	DetailMalformed   Detail = "malformed"
	// under parse
	DetailHTML            Detail = "html"
	DetailEmpty           Detail = "empty"
	DetailInvalidJSON     Detail = "invalid_json"
	DetailNotJSONRPC      Detail = "not_jsonrpc"
	DetailTooLarge        Detail = "too_large"
	DetailRedirect        Detail = "redirect"
	DetailContentEncoding Detail = "content_encoding"
	DetailOldSSE          Detail = "old_sse"
)

// RPCDetail returns the detail for a JSON-RPC error object: rpc:<code>.
func RPCDetail(code int64) Detail { return Detail(fmt.Sprintf("rpc:%d", code)) }

// IsRPC reports whether d was made by [RPCDetail].
func (d Detail) IsRPC() bool { return strings.HasPrefix(string(d), "rpc:") }

// A Step names the request of a probe at which it failed. Further pages of a
// list are tools/list#2, #3 …
type Step string

// The mandatory steps. The notification between them can't fail a probe.
const (
	StepInitialize Step = "initialize"
	StepToolsList  Step = "tools/list"
	StepDiscover   Step = "server/discover" // of the era without a handshake (2026-07-28)
)

// ListStep returns the step that reads page n of the list, counted from 1.
func ListStep(n int) Step {
	if n <= 1 {
		return StepToolsList
	}
	return Step(fmt.Sprintf("%s#%d", StepToolsList, n))
}

// An Outcome says how one probe of one target ended. The zero Outcome is
// success.
type Outcome struct {
	Class      ErrorClass
	Detail     Detail
	Step       Step // the step that failed; empty on success and for no_endpoint
	HTTPStatus int  // status of the answer that failed the step; 0 if there was none
}

// OK reports whether the probe succeeded.
func (o Outcome) OK() bool { return o.Class == Success }

// String returns class/detail, for people and for count tables.
func (o Outcome) String() string {
	if o.Detail == "" {
		return o.Class.Label()
	}
	return o.Class.Label() + "/" + string(o.Detail)
}

// A ClassDef defines one error class.
type ClassDef struct {
	Class   ErrorClass
	Means   string // one sentence
	Details []DetailDef
}

// A DetailDef defines one detail of a class.
type DetailDef struct {
	Detail Detail
	Means  string
	Forced bool // the closed set has no class for it; counted separately wherever shares are shown
}

// Classes defines each class and detail, in the order of the methodology. The
// methodology page prints this table. Precedence of what is seen: transport,
// then HTTP status, then body.
var Classes = []ClassDef{
	{Timeout, "A request took longer than 20 seconds, the body included.", nil},
	{TLS, "The connection, the name look-up or the TLS handshake failed.", []DetailDef{
		{DetailDNS, "The host name did not resolve.", false},
		{DetailRefused, "Nothing accepted the connection.", false},
		{DetailReset, "The connection broke, or what came over it was not HTTP.", false},
		{DetailCertificate, "The TLS certificate was not valid for the host.", false},
		{DetailBlockedAddress, "The host resolved to an address that is not public; it was not dialled.", false},
	}},
	{HTTP4xx, "An HTTP status from 400 to 499, but 401, 403 and 429.", []DetailDef{
		{DetailPaymentRequired, "402: the server asks for a payment.", false},
		{DetailSession, "404 to a request that carried a session id: the session was lost.", false},
		{"rpc:<code>", "The body held a JSON-RPC error with this code, such as -32022 for an unsupported protocol version.", false},
	}},
	{HTTP5xx, "An HTTP status from 500 to 599.", nil},
	{Auth, "HTTP 401 or 403.", []DetailDef{
		{DetailWAF, "403 with an HTML challenge: a firewall in front of the server refused the reader.", false},
		{DetailHostCheck, "403 because of the Host or Origin header.", false},
	}},
	{RateLimited, "HTTP 429.", nil},
	{NoEndpoint, "The registry entry declares no streamable-http remote that can be read.", []DetailDef{
		{DetailNoRemote, "No remote at all, or none of a known type.", false},
		{DetailSSEOnly, "Only remotes of the older HTTP+SSE transport.", false},
		{DetailURLTemplate, "A remote is declared, but its URL is a template; templates are never filled in.", true},
		{DetailOptOut, "The target asked not to be read (data/opt-out.txt).", false},
		{DetailBadURL, "The declared URL is not an http or https URL with a host, or it carries credentials.", false},
		{DetailMalformed, "The registry entry could not be read.", false},
	}},
	{Parse, "The answer was not a valid JSON-RPC response.", []DetailDef{
		{DetailHTML, "An HTML page.", false},
		{DetailEmpty, "Nothing: no body, or a stream in which no event held anything.", false},
		{DetailInvalidJSON, "Not JSON, or JSON that has no one meaning: duplicate members, lone surrogates, invalid UTF-8, nesting beyond 512.", false},
		{DetailNotJSONRPC, "JSON, but no response to the request.", false},
		{DetailTooLarge, "The body exceeded the size limit.", false},
		{DetailRedirect, "A redirect that the rules do not follow.", true},
		{DetailContentEncoding, "A content encoding that was not asked for, or that did not decode.", false},
		{DetailOldSSE, "The endpoint speaks the older HTTP+SSE transport.", false},
		{"rpc:<code>", "A JSON-RPC error object where a result was due.", true},
	}},
}
