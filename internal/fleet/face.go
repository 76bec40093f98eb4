package fleet

import (
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
	about   about
	hangUp  func() // ends the sessions that readers left open
	readings
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
	return b != nil && b.list == s.list && b.other == s.other && b.about == s.about
}

// newBackend makes the server of a state.
func newBackend(f flavour, s *state) (*backend, error) {
	b := &backend{list: s.list, other: s.other, about: s.about}
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
	hello := style{}.text(object{
		{"protocolVersion", "2024-11-05"},
		{"capabilities", object{{"tools", object{{"listChanged", false}}}}},
		{"serverInfo", object{{"name", b.about.name}, {"title", b.about.title}, {"version", b.about.version}}},
		{"instructions", b.about.instructions},
	})
	lists := []string{b.list.list(), b.list.list()}
	if b.other != nil {
		lists[1] = b.other.list()
	}
	say := func(w http.ResponseWriter, c call, result string) {
		switch text := response(c, result); f {
		case ownStream:
			send(w, http.StatusOK, streamType, "id: 0\nretry: 3000\ndata: \n\n"+event(text))
		case ownText:
			send(w, http.StatusOK, textType, text)
		default:
			send(w, http.StatusOK, jsonType, text)
		}
	}
	return map[string]answer{
		methodInitialize: func(w http.ResponseWriter, _ *http.Request, c call) { say(w, c, hello) },
		methodList:       func(w http.ResponseWriter, _ *http.Request, c call) { say(w, c, lists[b.next()%2]) },
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
