package fleet

import (
	"cmp"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A face is what one site shows at its endpoint on one day.
type face struct {
	mode mode
	well http.Handler  // when up
	hang time.Duration // longest time for which a request is held
}

// ServeHTTP answers by the mode.
func (f *face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.mode == up {
		f.well.ServeHTTP(w, r)
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	c, err := readCall(w, r)
	if err != nil {
		http.Error(w, "Bad Request", http.StatusBadRequest)
		return
	}
	if f.mode == hanging {
		hold(w, r, f.hang)
		return
	}
	modes[f.mode](w, r, c)
}

// modes says what a server answers when it is not well. No entry looks at the
// clock or at what came before, so that equal requests get equal bytes.
var modes = map[mode]answer{
	failing:   reply(http.StatusBadGateway, "text/html", badGateway),
	walled:    rpc(http.StatusUnauthorized, -32001, "Unauthorized: missing bearer token", ""),
	asking:    reply(http.StatusUnauthorized, jsonType, `{"error":"invalid_token","error_description":"Sign in first"}`, "WWW-Authenticate", `Bearer resource_metadata="https://auth.example.com/.well-known/oauth-protected-resource"`),
	forbidden: reply(http.StatusForbidden, htmlType, challenge, "Cf-Mitigated", "challenge"),
	limited:   status(http.StatusTooManyRequests, "Retry-After", "3600"),
	missing:   status(http.StatusNotFound),
	paid:      reply(http.StatusPaymentRequired, jsonType, `{"x402Version":1,"error":"X-PAYMENT header is required","accepts":[]}`),
	page:      reply(http.StatusOK, htmlType, landingPage),
	oldSSE:    reply(http.StatusOK, streamType, "event: endpoint\ndata: /messages?session_id=4c0ffee\n\n"),
	modern:    rpc(http.StatusBadRequest, -32022, "Unsupported protocol version: 2024-11-05", `{"supported":["2026-07-28"],"requested":"2024-11-05"}`),
	denies:    rpc(http.StatusOK, -32001, "Unauthorized", ""),
}

// A backend serves one list under one flavour. Two states with the same list and
// the same about share one.
type backend struct {
	handler http.Handler
	list    *contract
	other   *contract
	early   *contract
	about   about
	hangUp  func() // ends the sessions that readers left open
	readings
	newer    readings // of lists in a version that names itself
	sessions sessions
}

// readings counts the lists that were read since the day began.
type readings struct {
	mu sync.Mutex // guards n
	n  int
}

func (r *readings) begin(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n = n
}

// next returns the number of the reading that begins.
func (r *readings) next() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	return r.n - 1
}

// serves reports whether b shows what s wants shown.
func (b *backend) serves(s *state) bool {
	return b != nil && b.list == s.list && b.other == s.other && b.early == s.early && b.about == s.about
}

// newBackend makes the server of a state.
func newBackend(f flavour, s *state) (*backend, error) {
	b := &backend{list: s.list, other: s.other, early: s.early, about: s.about}
	var err error
	switch f {
	case sdkJSON, sdkStream, sdkState:
		b.handler, b.hangUp, err = sdkHandler(f, s)
	default:
		b.handler, b.hangUp = serve(b.answers(f)), func() {}
	}
	return b, err
}

// answers returns what a server made by hand answers.
func (b *backend) answers(f flavour) map[string]answer {
	say := sayer(f)
	answers := map[string]answer{
		methodInitialize: func(w http.ResponseWriter, _ *http.Request, c call) { say(w, c, b.hello(agreed(c.Params.Asked))) },
		methodList:       b.lists(say),
	}
	switch f {
	case ownModern:
		answers[methodInitialize] = modes[modern]
		answers[methodDiscover] = inEra(func(w http.ResponseWriter, _ *http.Request, c call) {
			say(w, c, discovered(b.about.name, b.about.version, b.about.instructions))
		})
		text := inForm(b.list.list())
		answers[methodList] = inEra(func(w http.ResponseWriter, _ *http.Request, c call) { say(w, c, text) })
	case ownPaged:
		answers[methodList] = b.paged(say)
	case ownGated:
		answers[methodInitialize] = answers[methodInitialize].inSession(func(c call) string { return agreed(c.Params.Asked) })
		answers[methodList] = b.gated(say, func(c call) string { return c.session })
	case ownUpgrading:
		speaks := func(c call) string { return min(agreed(c.Params.Asked), cmp.Or(b.about.speaks, beforeHeader)) }
		answers[methodInitialize] = answer(func(w http.ResponseWriter, _ *http.Request, c call) { say(w, c, b.hello(speaks(c))) }).inSession(speaks)
		answers[methodList] = b.gated(say, func(c call) string { return c.session })
	case ownNamed:
		answers[methodInitialize] = func(w http.ResponseWriter, _ *http.Request, c call) { say(w, c, b.hello(newestVersion)) }
		answers[methodList] = b.gated(say, func(c call) string { return c.version })
	case ownLosing:
		answers[methodInitialize] = answers[methodInitialize].inSession(b.sessions.next)
		answers[methodList] = b.sessions.in(answers[methodList])
	case ownVarying, ownLate:
		answers[methodInitialize] = answer(func(w http.ResponseWriter, _ *http.Request, c call) { say(w, c, b.hello(oldVersion)) }).
			inSession(func(c call) string { return agreed(c.Params.Asked) })
		if f == ownLate {
			answers[methodList] = b.late(say)
		}
	}
	return answers
}

// A saying sends a result as a flavour sends it.
type saying func(w http.ResponseWriter, c call, result string)

func sayer(f flavour) saying {
	return func(w http.ResponseWriter, c call, result string) {
		switch text := response(c, result); f {
		case ownStream:
			send(w, http.StatusOK, streamType, "id: 0\nretry: 3000\ndata: \n\n"+event(text))
		case ownText:
			send(w, http.StatusOK, textType, text)
		default:
			send(w, http.StatusOK, jsonType, text)
		}
	}
}

// hello returns the result of a handshake that agrees on a version.
func (b *backend) hello(version string) string {
	return style{}.text(object{
		{"protocolVersion", version},
		{"capabilities", object{{"tools", object{{"listChanged", false}}}}},
		{"serverInfo", object{{"name", b.about.name}, {"title", b.about.title}, {"version", b.about.version}}},
		{"instructions", b.about.instructions},
	})
}

// inSession begins the session that id names, with the answer of a.
func (a answer) inSession(id func(c call) string) answer {
	return func(w http.ResponseWriter, r *http.Request, c call) {
		w.Header().Set("Mcp-Session-Id", id(c))
		a(w, r, c)
	}
}

// lists answers with the list, and every second time with the other one while
// there is one. Readings that ask for a newer version, as far as a header or a
// session tells, are counted by themselves, so that those of one methodology
// alternate whatever others there are.
func (b *backend) lists(say saying) answer {
	lists := []string{b.list.list(), b.list.list()}
	if b.other != nil {
		lists[1] = b.other.list()
	}
	return func(w http.ResponseWriter, _ *http.Request, c call) {
		n := &b.readings
		if c.version != "" || c.session > oldVersion {
			n = &b.newer
		}
		say(w, c, lists[n.next()%2])
	}
}

// pageSize is how many tools a paged server lists at a time.
const pageSize = 3

// paged answers with one page of the list.
func (b *backend) paged(say saying) answer {
	pages := b.list.pages(pageSize)
	return func(w http.ResponseWriter, r *http.Request, c call) {
		i := 0
		for c.Params.Cursor != nil && i < len(pages) && cursorOf(i) != *c.Params.Cursor {
			i++
		}
		if i == len(pages) {
			rpc(http.StatusOK, -32602, "Invalid cursor", "")(w, r, c)
			return
		}
		say(w, c, pages[i])
	}
}

// gated answers with the whole list in a version that has all its members.
func (b *backend) gated(say saying, version func(c call) string) answer {
	whole, plain := b.list.list(), b.list.plain().list()
	return func(w http.ResponseWriter, _ *http.Request, c call) {
		if version(c) >= headerSince {
			say(w, c, whole)
			return
		}
		say(w, c, plain)
	}
}

// late answers readings of v1 with the list as it was before the day's edit.
func (b *backend) late(say saying) answer {
	before, after := b.list.list(), b.list.list()
	if b.early != nil {
		before = b.early.list()
	}
	return func(w http.ResponseWriter, _ *http.Request, c call) {
		if c.session == oldVersion {
			say(w, c, before)
			return
		}
		say(w, c, after)
	}
}

// A host is one address with the servers behind it.
type host struct {
	addr   string // host:port
	server *listening
	mu     sync.RWMutex // guards routes
	routes map[string]*face
}

// ServeHTTP hands a request to the server at its path.
func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.RLock()
	f := h.routes[strings.TrimSuffix(r.URL.Path, "/")]
	h.mu.RUnlock()
	if f == nil {
		http.NotFound(w, r)
		return
	}
	f.ServeHTTP(w, r)
}

func (h *host) route(routes map[string]*face) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.routes = routes
}

// down reports whether nothing is to listen at the address: nobody is there, or
// somebody there refuses connections.
func down(routes map[string]*face) bool {
	for _, f := range routes {
		if f.mode == refused {
			return true
		}
	}
	return len(routes) == 0
}
