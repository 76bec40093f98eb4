package mcp

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/jsonrpc"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A link carries the messages of one reading to a server. What is sent and in
// which order is the exchange's; how it goes over the wire is the link's.
type link interface {
	// transport returns the name of the transport, as captures have it.
	transport() string
	// headers reports whether the version of a message goes with it.
	headers() bool
	// ask sends a request, reads its answer and has use take from a result that
	// is an object what is needed. ctx ends when the time for the request is up;
	// wait bounds only how long the answer may wait to be parsed. How the server
	// failed is the outcome of the answer, without a step; the error is ours.
	ask(ctx, wait context.Context, m message, use func(*canon.Value)) (answer, error)
	// tell sends a notification, best effort, and returns the requests made.
	tell(ctx context.Context, m message) int
	// end ends the session of m, best effort, and returns the requests made.
	end(ctx context.Context, m message) int
}

// An answer is what one request got.
type answer struct {
	outcome  record.Outcome
	body     []byte // as kept; nil unless the outcome is success
	flags    []record.Flag
	refusal  *refusal      // the error object that the answer held, if it was looked for
	header   http.Header   // nil where there are none
	waited   time.Duration // for its turn to be parsed
	requests int           // that were made
	finish   func()        // gives up the rest of the answer; nil if there is nothing to do

	latency time.Duration // without waited; the exchange measures it
}

// settle returns the answer that a response is which came with this status, 0
// where there are none. use keeps no part of the result, and strings only if it
// cloned them.
func settle(response jsonrpc.Response, kept []byte, status int, use func(*canon.Value)) answer {
	if response.Error != nil {
		o := record.Outcome{Class: record.Parse, Detail: record.RPCDetail(response.Error.Code), HTTPStatus: status}
		return answer{outcome: o, refusal: readRefusal(response.Error, status)}
	}
	if response.Result.Kind != canon.Object {
		return answer{outcome: record.Outcome{Class: record.Parse, Detail: record.DetailNotJSONRPC, HTTPStatus: status}}
	}
	use(response.Result)
	return answer{body: kept, flags: slices.Clone(response.Flags)}
}

const (
	// notifyShare of the request timeout is what the notification may take, and
	// the end of the session.
	notifyShare = 4
	// readingShare times the request timeout is what all requests of a reading
	// that have to be answered may take together.
	readingShare = 6
)

// An exchange is one reading in the making.
type exchange struct {
	client  *Client
	link    link
	m       record.Methodology
	left    time.Duration // for requests that have to be answered
	modern  bool          // requests have the form of the era without a handshake
	retried bool          // a request was sent again in another version
	renewed bool          // the session was begun anew
	session string        // id that the server gave; "" if none
	version string        // to be named beside what follows the handshake; "" to name none
	flags   []record.Flag
	reading Reading
}

// read makes a reading over l.
func (c *Client) read(ctx context.Context, l link, m record.Methodology) (Reading, error) {
	observed := c.now()
	e := &exchange{client: c, link: l, m: m, left: readingShare * m.RequestTimeout, reading: Reading{
		Observed: observed,
		Capture: record.Capture{
			ClientCapabilities: []string{},
			ObservedAt:         record.At(observed),
			Protocol:           record.Protocol{Requested: m.ProtocolVersion},
			Transport:          l.transport(),
		},
		InitLatency: -1,
		ListLatency: -1,
	}}
	ok, err := e.steps(ctx)
	if err == nil {
		err = e.end(ctx)
	}
	if err != nil {
		return Reading{}, err
	}
	if ok {
		slices.Sort(e.flags)
		e.reading.Flags = slices.Compact(e.flags)
	}
	return e.reading, nil
}

// steps makes the steps, up to the first mandatory one that fails, and once more
// from the beginning if the session was lost. It reports whether all succeeded.
func (e *exchange) steps(ctx context.Context) (bool, error) {
	for {
		ok, err := e.handshake(ctx)
		if err == nil && ok {
			ok, err = e.list(ctx)
		}
		if err != nil || ok || !e.renew() {
			return ok, err
		}
	}
}

// renew reports whether the exchange begins a session anew, because the one that
// it had was lost, and drops what came of that.
func (e *exchange) renew() bool {
	if e.reading.Outcome.Detail != record.DetailSession || !e.m.Reinitialize {
		return false
	}
	e.session = "" // nothing left to end
	if e.renewed {
		return false
	}
	e.renewed = true
	e.modern, e.version = false, ""
	e.flags = []record.Flag{record.FlagSessionRenewed}
	r := &e.reading
	r.Outcome, r.RetryAfter = record.Outcome{}, 0
	r.Init, r.Server = nil, nil
	r.InitLatency, r.ListLatency = -1, -1
	r.Capture.Protocol = record.Protocol{Requested: e.m.ProtocolVersion}
	return true
}

// end ends the session, best effort. The only error is that ctx is done.
func (e *exchange) end(ctx context.Context) error {
	if !e.m.CloseSession || e.session == "" {
		return nil
	}
	short, cancel := context.WithTimeout(ctx, e.m.RequestTimeout/notifyShare)
	defer cancel()
	e.reading.Requests += e.link.end(short, e.message("", 0, nil))
	return ctx.Err()
}

// message returns a message with what goes beside it at this point.
func (e *exchange) message(method string, id int64, body []byte) message {
	return message{method: method, id: id, body: body, session: e.session, version: e.version, modern: e.modern}
}

// handshake makes the steps before the list. It reports whether they succeeded.
func (e *exchange) handshake(ctx context.Context) (bool, error) {
	if e.m.ModernEra && e.m.ProtocolVersion == modernVersion {
		return e.discover(ctx)
	}
	a, err := e.initialize(ctx)
	if err != nil {
		return false, err
	}
	if a.outcome.OK() {
		return true, e.notify(ctx)
	}
	if !e.m.ModernEra || e.renewed || !a.refusal.modern() {
		return false, nil
	}
	e.reading.Outcome, e.reading.RetryAfter = record.Outcome{}, 0
	return e.discover(ctx)
}

// initialize makes the first step and takes from its answer what the later ones
// need.
func (e *exchange) initialize(ctx context.Context) (answer, error) {
	m := e.message(methodInitialize, initializeID, initializeBody(e.m.ProtocolVersion, e.client.Info))
	m.look = e.m.ModernEra
	var negotiated string
	a, err := e.ask(ctx, record.StepInitialize, m, func(result *canon.Value) {
		e.reading.Server = readServer(result, result.Get("serverInfo"))
		negotiated = text(result.Get("protocolVersion"), maxVersion)
	})
	e.reading.InitLatency = a.latency
	if err != nil || !a.outcome.OK() {
		return a, err
	}
	e.reading.Init = a.body
	e.session = sessionID(a.header)
	if e.m.VersionHeader && hasVersionHeader(negotiated) {
		e.version = negotiated
	}
	e.modern = e.m.ModernEra && negotiated == modernVersion // what follows has that version's form
	e.agree(negotiated)
	return a, nil
}

// agree notes the version that is spoken from here on.
func (e *exchange) agree(version string) {
	p := &e.reading.Capture.Protocol
	p.Negotiated = version
	p.VersionHeader = e.version != "" && e.link.headers()
}

// hasVersionHeader reports whether the clients of a protocol version name it in
// a header. What is not a date is no version.
func hasVersionHeader(version string) bool {
	_, err := time.Parse(time.DateOnly, version)
	return err == nil && version >= record.HeaderSince
}

// notify sends notifications/initialized. Nothing about its answer matters
// (protocol.md 1.7); the only error is that ctx is done.
func (e *exchange) notify(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, e.m.RequestTimeout/notifyShare)
	defer cancel()
	e.reading.Requests += e.link.tell(short, e.message(methodInitialized, 0, []byte(initializedBody)))
	return ctx.Err()
}

// discover takes the place of the handshake in the era that has none. It reports
// whether it succeeded.
func (e *exchange) discover(ctx context.Context) (bool, error) {
	e.modern, e.version = true, modernVersion
	m := e.message(methodDiscover, discoverID, discoverBody(e.client.Info))
	a, err := e.ask(ctx, record.StepDiscover, m, func(result *canon.Value) {
		info := result.Get("_meta").Get(metaServerInfo)
		if info == nil {
			info = result.Get("serverInfo") // as drafts had it, and the mocks of the conformance suite
		}
		e.reading.Server = readServer(result, info)
	})
	e.reading.InitLatency = a.latency
	if err != nil || !a.outcome.OK() {
		return false, err
	}
	e.reading.Init = a.body
	e.agree(modernVersion)
	return true, nil
}

// ask sends a request that has to be answered. A failure of the server becomes
// the outcome of the reading; the error is ours, as of [Client.Read].
func (e *exchange) ask(ctx context.Context, step record.Step, m message, use func(*canon.Value)) (answer, error) {
	a, err := e.try(ctx, m, use)
	if err == nil && m.modern && !e.retried && a.refusal.offers() {
		e.retried = true
		a, err = e.try(ctx, m, use)
	}
	if err != nil {
		return answer{}, err
	}
	if a.outcome.OK() {
		e.flags = append(e.flags, a.flags...)
		return a, nil
	}
	if a.outcome.Class == record.NoEndpoint {
		a.latency = -1 // nothing was sent
	} else {
		a.outcome.Step = step
	}
	e.reading.Outcome = a.outcome
	e.reading.RetryAfter = retryAfter(a.header, e.client.now())
	return a, nil
}

// try sends a request within what time there is left.
func (e *exchange) try(ctx context.Context, m message, use func(*canon.Value)) (answer, error) {
	if e.left <= 0 {
		return answer{outcome: record.Outcome{Class: record.Timeout}}, nil
	}
	most := min(e.m.RequestTimeout, e.left)
	short, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	start := e.client.now()
	a, err := e.link.ask(short, ctx, m, use)
	a.latency = max(0, e.client.now().Sub(start)-a.waited)
	if a.finish != nil {
		a.finish()
	}
	if err != nil {
		return answer{}, err
	}
	e.left -= min(a.latency, most) // a clock that jumped took no time from the others
	e.reading.Requests += a.requests
	if err := ctx.Err(); err != nil && !a.outcome.OK() {
		return answer{}, err
	}
	return a, nil
}

// A refusal is what an error object says of the protocol.
type refusal struct {
	code      int64
	namesMeta bool // it names the missing _meta, under a status that means it
	offered   bool // it lists a version without a handshake that is spoken here
}

// Error codes of the era without a handshake (protocol.md 1.4).
const (
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
)

// readRefusal reads the error object of an answer with this status, 0 where
// there are none.
func readRefusal(err *jsonrpc.Error, status int) *refusal {
	r := &refusal{code: err.Code}
	if status == 0 || status == http.StatusBadRequest || status == http.StatusNotFound {
		r.namesMeta = strings.Contains(err.Message, "_meta") || namesMeta(err.Data)
	}
	for _, member := range []string{"supported", "supportedVersions"} {
		r.offered = r.offered || holds(err.Data.Get(member), modernVersion)
	}
	return r
}

// modern reports whether a server that refused initialize so speaks the era
// without a handshake.
func (r *refusal) modern() bool {
	if r == nil {
		return false
	}
	switch r.code {
	case codeHeaderMismatch, codeMissingCapability, codeUnsupportedVersion:
		return true
	}
	return r.namesMeta
}

// offers reports whether a server that refused a version names one that it
// would take.
func (r *refusal) offers() bool {
	return r != nil && r.code == codeUnsupportedVersion && r.offered
}

// namesMeta reports whether the data of an error name _meta, in a text.
func namesMeta(v *canon.Value) bool {
	if v == nil {
		return false
	}
	switch v.Kind {
	case canon.String:
		return strings.Contains(v.Text, "_meta")
	case canon.Array:
		return slices.ContainsFunc(v.Elems, namesMeta)
	case canon.Object:
		return slices.ContainsFunc(v.Members, func(m canon.Member) bool { return namesMeta(m.Value) })
	}
	return false
}

// holds reports whether v is an array with the string s.
func holds(v *canon.Value, s string) bool {
	return v != nil && v.Kind == canon.Array &&
		slices.ContainsFunc(v.Elems, func(e *canon.Value) bool { return e.Kind == canon.String && e.Text == s })
}
