package fleet

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// Protocol versions that decide something here (protocol.md 1.1).
const (
	modernVersion = "2026-07-28" // no handshake
	newestVersion = "2025-11-25" // the newest with a handshake; what v2 asks for
	headerSince   = "2025-06-18" // the first that names itself in a header, and that has titles and output schemas
	beforeHeader  = "2025-03-26" // the last without them
	oldVersion    = "2024-11-05" // what v1 asks for
)

// hello returns the result of a handshake that agrees on a version.
func hello(version string) string { return strings.Replace(goodInit, oldVersion, version, 1) }

// agreed returns the version on which a server with a handshake agrees: the one
// asked for, or the newest that it has.
func agreed(asked string) string {
	if slices.Contains([]string{oldVersion, "2025-03-26", headerSince, newestVersion}, asked) {
		return asked
	}
	return newestVersion
}

// agreeing answers initialize with the version that was asked for.
func agreeing(w http.ResponseWriter, _ *http.Request, c call) {
	send(w, http.StatusOK, jsonType, response(c, hello(agreed(c.Params.Asked))))
}

// inEra answers in the era without a handshake, and refuses what is not of it by
// the letter: version header and _meta that agree, capabilities, the method named
// in a header.
func inEra(well answer) answer {
	return func(w http.ResponseWriter, r *http.Request, c call) {
		meta := c.Params.Meta
		switch {
		case meta.Version == "" || len(meta.Capabilities) == 0:
			rpc(http.StatusBadRequest, -32602, "Invalid params: _meta is required", "")(w, r, c)
		case c.version != meta.Version || c.named != c.Method:
			rpc(http.StatusBadRequest, -32020, "Header mismatch", "")(w, r, c)
		case meta.Version != modernVersion:
			rpc(http.StatusBadRequest, -32022, "Unsupported protocol version", supportedModern)(w, r, c)
		default:
			well(w, r, c)
		}
	}
}

const supportedModern = `{"supported":["2026-07-28"],"requested":"2025-11-25"}`

// discovered is what a server without a handshake says of itself.
func discovered(name, version, instructions string) string {
	return style{}.text(object{
		{"resultType", "complete"},
		{"supportedVersions", list{modernVersion}},
		{"capabilities", object{{"tools", object{{"listChanged", false}}}}},
		{"instructions", instructions},
		{"ttlMs", rawJSON("60000")}, {"cacheScope", "public"},
		{"_meta", object{{"io.modelcontextprotocol/serverInfo", object{{"name", name}, {"version", version}}}}},
	})
}

// inForm gives the result of tools/list the members of the era without a
// handshake.
func inForm(list string) string {
	return `{"resultType":"complete","ttlMs":60000,"cacheScope":"public",` + strings.TrimPrefix(list, "{")
}

// modernAnswers are those of a server without a handshake; refuse answers
// initialize.
func modernAnswers(refuse answer) map[string]answer {
	return map[string]answer{
		methodInitialize: refuse,
		methodDiscover: inEra(func(w http.ResponseWriter, _ *http.Request, c call) {
			send(w, http.StatusOK, jsonType, response(c, discovered("behaviour", "1.0.0", "")))
		}),
		methodList: inEra(func(w http.ResponseWriter, _ *http.Request, c call) {
			send(w, http.StatusOK, jsonType, response(c, inForm(goodList)))
		}),
	}
}

// once answers first with the one answer and then with the other, and so on.
func once(first, then answer) answer {
	var n readings
	return func(w http.ResponseWriter, r *http.Request, c call) {
		if n.next()%2 == 0 {
			first(w, r, c)
			return
		}
		then(w, r, c)
	}
}

// modernBehaviours returns servers of the era without a handshake.
func modernBehaviours() []Behaviour {
	refusal := rpc(http.StatusBadRequest, -32022, "Unsupported protocol version", supportedModern)
	old := outcome(record.StepInitialize, record.HTTP4xx, record.RPCDetail(-32022), http.StatusBadRequest)
	well := Reading{Tools: 2, Pages: 1, Negotiated: modernVersion, VersionHeader: true}
	var out []Behaviour
	for _, r := range []struct {
		name   string
		refuse answer
		want   record.Outcome
	}{
		{"only", refusal, old},
		{"header-mismatch", rpc(http.StatusBadRequest, -32020, "Header mismatch: MCP-Protocol-Version is missing", ""), outcome(record.StepInitialize, record.HTTP4xx, record.RPCDetail(-32020), http.StatusBadRequest)},
		{"missing-capability", rpc(http.StatusBadRequest, -32021, "Missing required client capability", `{"requiredCapabilities":{}}`), outcome(record.StepInitialize, record.HTTP4xx, record.RPCDetail(-32021), http.StatusBadRequest)},
		{"meta-400", rpc(http.StatusBadRequest, -32602, "Invalid params: missing _meta", ""), outcome(record.StepInitialize, record.HTTP4xx, record.RPCDetail(-32602), http.StatusBadRequest)},
		{"meta-404", rpc(http.StatusNotFound, -32601, "Method not found", `{"missing":["_meta"]}`), outcome(record.StepInitialize, record.HTTP4xx, record.RPCDetail(-32601), http.StatusNotFound)},
		{"in-200", rpc(http.StatusOK, -32022, "Unsupported protocol version", supportedModern), outcome(record.StepInitialize, record.Parse, record.RPCDetail(-32022), http.StatusOK)},
	} {
		out = append(out, Behaviour{Name: "modern/" + r.name, Want: r.want, V2: well, open: opener(serve(modernAnswers(r.refuse)))})
	}
	changed := func(name string, v2 Reading, method string, change func(well answer) answer) Behaviour {
		answers := modernAnswers(refusal)
		answers[method] = change(answers[method])
		return Behaviour{Name: "modern/" + name, Want: old, V2: v2, open: opener(serve(answers))}
	}
	always := func(a answer) func(answer) answer { return func(answer) answer { return a } }
	failed := func(step record.Step, code int64, status int) Reading {
		return Reading{Want: outcome(step, record.HTTP4xx, record.RPCDetail(code), status)}
	}
	return append(out,
		changed("retry", well, methodDiscover, func(well answer) answer { return once(refusal, well) }),
		changed("refused-twice", failed(record.StepDiscover, -32022, 400), methodDiscover, always(refusal)),
		changed("no-discover", failed(record.StepDiscover, -32601, 404), methodDiscover, always(rpc(http.StatusNotFound, -32601, "Method not found", ""))),
		changed("no-list", failed(record.StepToolsList, -32022, 400), methodList, always(rpc(http.StatusBadRequest, -32022, "Unsupported protocol version", `{"supported":["2025-11-25"]}`))),
		changed("pages", Reading{Tools: 2, Pages: 2, Negotiated: modernVersion, VersionHeader: true}, methodList, always(inEra(pagesOf(inForm, []string{"", "two"}, toolA, toolB)))),
		Behaviour{Name: "modern/dual", Tools: 2, Negotiated: oldVersion, V2: Reading{Tools: 2, Pages: 1, Negotiated: newestVersion, VersionHeader: true}, open: opener(serve(dualAnswers()))},
	)
}

// dualAnswers are those of a server of both eras.
func dualAnswers() map[string]answer {
	answers := modernAnswers(agreeing)
	era := answers[methodList]
	answers[methodList] = func(w http.ResponseWriter, r *http.Request, c call) {
		if c.version == modernVersion {
			era(w, r, c)
			return
		}
		plainJSON(w, r, c)
	}
	return answers
}

// pagesOf lists one tool a page. cursors[i] is the cursor that asks for page i;
// the first is never sent. What has another cursor is refused.
func pagesOf(form func(string) string, cursors []string, tools ...string) answer {
	return func(w http.ResponseWriter, r *http.Request, c call) {
		i := 0
		if c.Params.Cursor != nil {
			if i = slices.Index(cursors[1:], *c.Params.Cursor) + 1; i == 0 {
				rpc(http.StatusOK, -32602, "Invalid cursor", "")(w, r, c)
				return
			}
		}
		next := ""
		if i+1 < len(cursors) {
			next = `,"nextCursor":` + quote(cursors[i+1])
		}
		send(w, http.StatusOK, jsonType, response(c, form(`{"tools":[`+tools[i]+`]`+next+`}`)))
	}
}

// asIs leaves a list in its form.
func asIs(list string) string { return list }

// toolNumber returns a tool of its own for each number.
func toolNumber(n int) string {
	return fmt.Sprintf(`{"name":"tool_%d","inputSchema":{"type":"object"}}`, n)
}

// pageBehaviours returns servers whose list has more pages than one, or says so.
func pageBehaviours() []Behaviour {
	first := `{"tools":[` + toolA + `],"nextCursor":"two"}`
	// second answers the second page.
	second := func(a answer) answer {
		return func(w http.ResponseWriter, r *http.Request, c call) {
			if c.Params.Cursor == nil {
				send(w, http.StatusOK, jsonType, response(c, first))
				return
			}
			a(w, r, c)
		}
	}
	says := func(list string) answer {
		return func(w http.ResponseWriter, _ *http.Request, c call) {
			send(w, http.StatusOK, jsonType, response(c, list))
		}
	}
	endless := func(w http.ResponseWriter, _ *http.Request, c call) {
		n := 0
		if c.Params.Cursor != nil {
			fmt.Sscan(*c.Params.Cursor, &n)
		}
		send(w, http.StatusOK, jsonType, response(c, fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, toolNumber(n), n+1)))
	}
	read := func(tools, pages int) Reading { return Reading{Tools: tools, Pages: pages, Negotiated: oldVersion} }
	cut := func(tools, pages int, flag record.Flag) Reading {
		r := read(tools, pages)
		r.Incomplete, r.Flags = true, flags(flag)
		return r
	}
	failed := func(class record.ErrorClass, d record.Detail, status int) Reading {
		return Reading{Want: outcome(record.ListStep(2), class, d, status)}
	}
	duplicate := read(2, 2)
	duplicate.Findings = flags(record.FlagDuplicateName)
	var out []Behaviour
	for _, p := range []struct {
		name   string
		whole  bool // one page is all, for v1 too
		slow   bool
		answer answer
		v2     Reading
	}{
		{"three", false, false, pagesOf(asIs, []string{"", "Mg==", "Mw=="}, toolA, toolB, toolNumber(3)), read(3, 3)},
		{"empty-cursor", false, false, pagesOf(asIs, []string{"", ""}, toolA, toolB), read(2, 2)},
		{"null-cursor", true, false, says(`{"tools":[` + toolA + `],"nextCursor":null}`), read(1, 1)},
		{"number-cursor", true, false, says(`{"tools":[` + toolA + `],"nextCursor":2}`), read(1, 1)},
		{"repeated-cursor", false, false, second(says(`{"tools":[` + toolB + `],"nextCursor":"two"}`)), cut(2, 2, record.FlagCursorRepeated)},
		{"endless", false, false, endless, cut(200, 200, record.FlagListCapped)},
		{"duplicate", false, false, second(says(`{"tools":[` + toolA + `]}`)), duplicate},
		{"empty-last", false, false, second(says(`{"tools":[]}`)), read(1, 2)},
		{"fails", false, false, second(status(http.StatusInternalServerError)), failed(record.HTTP5xx, "", http.StatusInternalServerError)},
		{"limited", false, false, second(status(http.StatusTooManyRequests, "Retry-After", "30")), failed(record.RateLimited, "", http.StatusTooManyRequests)},
		{"error", false, false, second(rpc(http.StatusOK, -32602, "Invalid cursor", "")), failed(record.Parse, record.RPCDetail(-32602), http.StatusOK)},
		{"no-list", false, false, second(says(`{}`)), failed(record.Parse, record.DetailNotJSONRPC, http.StatusOK)},
		{"timeout", false, true, second(func(w http.ResponseWriter, r *http.Request, _ call) { hold(w, r, forever) }), failed(record.Timeout, "", 0)},
	} {
		out = append(out, Behaviour{
			Name: "pages/" + p.name, Tools: 1, Negotiated: oldVersion, Incomplete: !p.whole, Slow: p.slow, V2: p.v2,
			open: opener(serve(map[string]answer{methodList: p.answer})),
		})
	}
	return out
}

// sessions gives out session ids, and tells by an id whether its session is
// kept. A session of the version that v1 asks for is always lost; of others, every
// second one is kept.
type sessions struct {
	mu sync.Mutex // guards n
	n  int
}

func (s *sessions) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n = 0
}

// next returns the id of the session that c begins.
func (s *sessions) next(c call) string {
	if agreed(c.Params.Asked) == oldVersion {
		return "lost-1"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n++; s.n%2 == 0 {
		return "kept-1"
	}
	return "lost-1"
}

// start answers initialize with a new session.
func (s *sessions) start(w http.ResponseWriter, r *http.Request, c call) {
	answer(agreeing).inSession(s.next)(w, r, c)
}

// in answers well in a session that is kept, in others that it is lost.
func (s *sessions) in(well answer) answer {
	return func(w http.ResponseWriter, r *http.Request, c call) {
		if strings.HasPrefix(c.session, "kept") {
			well(w, r, c)
			return
		}
		rpc(http.StatusNotFound, -32001, "Session not found", "")(w, r, c)
	}
}

// renewalBehaviours returns servers that lose sessions, and servers that do not
// take the end of one well.
func renewalBehaviours() []Behaviour {
	lost := outcome(record.StepToolsList, record.HTTP4xx, record.DetailSession, http.StatusNotFound)
	renewed := Reading{Tools: 2, Pages: 1, Negotiated: newestVersion, VersionHeader: true, Flags: flags(record.FlagSessionRenewed)}
	second := renewed
	second.Pages = 2
	one, two := new(sessions), new(sessions)
	pages := pagesOf(asIs, []string{"", "two"}, toolA, toolB)
	out := []Behaviour{
		{Name: "session/lost-once", Want: lost, V2: renewed, open: opener(serve(map[string]answer{methodInitialize: one.start, methodList: one.in(plainJSON)}))},
		{Name: "session/lost-on-page-two", Tools: 1, Negotiated: oldVersion, Incomplete: true, V2: second, open: opener(serve(map[string]answer{
			methodInitialize: two.start, methodList: func(w http.ResponseWriter, r *http.Request, c call) {
				if c.Params.Cursor != nil {
					two.in(pages)(w, r, c)
					return
				}
				pages(w, r, c)
			}}))},
		{Name: "session/lost-always", Want: lost, V2: Reading{Want: lost}, open: opener(serve(map[string]answer{
			methodInitialize: answer(agreeing).with("Mcp-Session-Id", "lost-1"), methodList: status(http.StatusNotFound)}))},
	}
	for _, d := range []struct {
		name   string
		slow   bool
		answer answer
	}{
		{"ended", false, status(http.StatusOK)},
		{"end-405", false, status(http.StatusMethodNotAllowed, "Allow", "POST")},
		{"end-404", false, status(http.StatusNotFound)},
		{"end-reset", false, raw("")},
		{"end-hang", true, func(w http.ResponseWriter, r *http.Request, _ call) { hold(w, r, forever) }},
	} {
		out = append(out, Behaviour{
			Name: "session/" + d.name, Tools: 2, Negotiated: oldVersion, Slow: d.slow,
			V2: Reading{Tools: 2, Pages: 1, Negotiated: newestVersion, VersionHeader: true},
			open: opener(serve(map[string]answer{
				methodInitialize: answer(agreeing).with("Mcp-Session-Id", "kept-1"), http.MethodDelete: d.answer})),
		})
	}
	return out
}

// newList is a list with members that older versions of the protocol do not have.
const newList = `{"tools":[{"name":"echo","title":"Echo","description":"Returns the text that it was given.","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}`

// oldList is the same list without them.
const oldList = `{"tools":[{"name":"echo","description":"Returns the text that it was given.","inputSchema":{"type":"object"}}]}`

// by answers with the one list or the other.
func by(test func(c call) bool) answer {
	return func(w http.ResponseWriter, _ *http.Request, c call) {
		list := oldList
		if test(c) {
			list = newList
		}
		send(w, http.StatusOK, jsonType, response(c, list))
	}
}

// versionBehaviours returns servers whose answer depends on the version of the
// protocol, or on the header that names it.
func versionBehaviours() []Behaviour {
	newer := func(w http.ResponseWriter, _ *http.Request, c call) {
		send(w, http.StatusOK, jsonType, response(c, hello(newestVersion)))
	}
	capped := func(w http.ResponseWriter, r *http.Request, c call) {
		if c.Params.Asked > headerSince {
			c.Params.Asked = headerSince
		}
		agreeing(w, r, c)
	}
	named := func(w http.ResponseWriter, r *http.Request, c call) {
		if c.version != newestVersion {
			http.Error(w, "Bad Request: MCP-Protocol-Version is missing", http.StatusBadRequest)
			return
		}
		plainJSON(w, r, c)
	}
	unnamed := func(w http.ResponseWriter, r *http.Request, c call) {
		if c.version != "" {
			http.Error(w, "Bad Request: Unsupported protocol version", http.StatusBadRequest)
			return
		}
		plainJSON(w, r, c)
	}
	bad := outcome(record.StepToolsList, record.HTTP4xx, "", http.StatusBadRequest)
	read := func(tools int, version string) Reading {
		return Reading{Tools: tools, Pages: 1, Negotiated: version, VersionHeader: true}
	}
	return []Behaviour{
		{Name: "version/header-required", Want: bad, V2: read(2, newestVersion), open: opener(serve(map[string]answer{methodInitialize: newer, methodList: named}))},
		{Name: "version/header-refused", Tools: 2, Negotiated: oldVersion, V2: Reading{Want: bad}, open: opener(serve(map[string]answer{methodInitialize: agreeing, methodList: unnamed}))},
		{Name: "version/capped", Tools: 2, Negotiated: oldVersion, V2: read(2, headerSince), open: opener(serve(map[string]answer{methodInitialize: capped}))},
		{Name: "version/drops-by-handshake", Tools: 1, Negotiated: oldVersion, V2: read(1, newestVersion), open: opener(serve(map[string]answer{
			methodInitialize: func(w http.ResponseWriter, r *http.Request, c call) {
				w.Header().Set("Mcp-Session-Id", "of-"+agreed(c.Params.Asked))
				agreeing(w, r, c)
			},
			methodList: by(func(c call) bool { return strings.TrimPrefix(c.session, "of-") >= headerSince })}))},
		{Name: "version/drops-by-header", Tools: 1, Negotiated: newestVersion, V2: read(1, newestVersion), open: opener(serve(map[string]answer{
			methodInitialize: newer, methodList: by(func(c call) bool { return c.version >= headerSince })}))},
	}
}
