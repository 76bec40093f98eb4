package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
	"github.com/mcpstrata/mcpstrata/ci/real/tape"
	"github.com/mcpstrata/mcpstrata/ci/real/wire"
)

// Versions of the protocol that methodology v2 speaks.
const (
	newerVersion  = "2025-11-25" // what it asks for
	headerSince   = "2025-06-18" // from here on requests name the version
	modernVersion = "2026-07-28" // no handshake
)

// readings cuts one run's exchanges with one server into its readings, each of
// which begins with initialize, and returns those of either methodology by the
// version that they ask for.
func readings(talk []tape.Exchange) (v1, v2 []*reading, err error) {
	for len(talk) > 0 {
		n := 1
		for n < len(talk) && methodOf(talk[n]).Method != "initialize" {
			n++
		}
		r, err := readTape(talk[:n])
		if err != nil {
			return nil, nil, err
		}
		if methodOf(talk[0]).Params.ProtocolVersion == newerVersion {
			v2 = append(v2, r)
		} else {
			v1 = append(v1, r)
		}
		talk = talk[n:]
	}
	return v1, v2, nil
}

func methodOf(e tape.Exchange) (c call) {
	if e.Method == "POST" {
		_ = json.Unmarshal(e.Request, &c) // what is no message has no method
	}
	return c
}

// readAll reads the tape of one run: what each methodology read of t.
func (s *series) readAll(t *target, upgraded bool) error {
	v1, v2, err := readings(t.proxy.Since(t.mark))
	if err != nil {
		return fmt.Errorf("reading the tape of %s: %w", t.Name, err)
	}
	want := 1
	if upgraded {
		want = 2 // v2 reads again before it believes
	}
	if !s.OK(len(v1) == 1 && len(v2) == want, "%s: %s was read %d times under v1 and %d times under v2, want 1 and %d", s.date(), t.Name, len(v1), len(v2), want) {
		return fmt.Errorf("counting the readings of %s", t.Name)
	}
	t.now, t.newer.now = v1[0], v2[0] // the bytes kept are those of the first
	s.None(t.now.conduct(t.Want.Class == ""), "%s: %s was asked what v1 asks, in its order, and nothing else", s.date(), t.Name)
	for i, r := range v2 {
		s.None(r.conductNewer(t), "%s: reading %d of %s asked what v2 asks, in its order, and nothing else: %s", s.date(), i+1, t.Name, strings.Join(r.asked, ", "))
	}
	if upgraded {
		s.OK(v2[0].list.Ordered() == v2[1].list.Ordered(), "%s: both readings of %s under v2 are one contract", s.date(), t.Name)
	}
	return nil
}

// conductNewer returns what one reading did otherwise than methodology v2 says.
func (r *reading) conductNewer(t *target) []string {
	var bad check.List
	spoken, session := r.init.ProtocolVersion, r.talk[0].Header.Get("Mcp-Session-Id")
	want := []string{"initialize"}
	switch {
	case t.Modern:
		spoken = modernVersion
		want = append(want, "server/discover")
	case t.Want.Class == "":
		want = append(want, "notifications/initialized")
	}
	if t.succeeds() {
		want = append(want, slices.Repeat([]string{"tools/list"}, max(1, len(r.bodies)))...)
		if session != "" {
			want = append(want, "DELETE /mcp")
		}
	}
	if !slices.Equal(r.asked, want) {
		bad.Add("asked %s, want %s", strings.Join(r.asked, ", "), strings.Join(want, ", "))
		return bad
	}
	bad.Same("initialize: protocolVersion", methodOf(r.talk[0]).Params.ProtocolVersion, newerVersion)
	bad.Same("initialize: capabilities", string(methodOf(r.talk[0]).Params.Capabilities), "{}")
	for i, e := range r.talk {
		h := e.Sent
		for _, name := range []string{"Origin", "Authorization", "Cookie"} {
			bad.Same(want[i]+": "+name, h.Get(name), "")
		}
		header, named, id := "", "", ""
		if i > 0 {
			id = session
			if spoken >= headerSince {
				header = spoken
			}
			if t.Modern {
				named = want[i]
			}
		}
		bad.Same(want[i]+": Mcp-Protocol-Version", h.Get("Mcp-Protocol-Version"), header)
		bad.Same(want[i]+": Mcp-Method", h.Get("Mcp-Method"), named)
		bad.Same(want[i]+": Mcp-Session-Id", h.Get("Mcp-Session-Id"), id)
		if e.Method == "POST" {
			bad.Same(want[i]+": Accept", h.Get("Accept"), "application/json, text/event-stream")
			bad.Same(want[i]+": Content-Type", h.Get("Content-Type"), "application/json")
		}
	}
	return bad
}

// succeeds reports whether a reading under v2 gets the list.
func (t *target) succeeds() bool { return t.Want.Class == "" || t.Modern }

// A line is what methodology v2 read of one server, day by day.
type line struct {
	now, kept, was *reading
}

// checkNewerRow compares a row of v2 with what the tape says.
func (s *series) checkNewerRow(bad *check.List, t *target, r row) {
	bad.Same("endpoint", r.Endpoint, t.endpoint())
	if !t.succeeds() {
		bad.Same("failed", r.Class != nil && *r.Class == t.Want.Class, true)
		bad.Same("http_status", r.HTTPStatus, t.Want.Status)
		bad.Same("step", r.Step, t.Want.Step)
		bad.Same("head", r.Head == nil, true)
		return
	}
	if r.Class != nil || r.Head == nil || r.Server == nil {
		bad.Add("no success, or head or server is missing")
		return
	}
	h, kept := r.Head, t.newer.kept
	spoken := t.newer.now.init.ProtocolVersion
	if t.Modern {
		spoken = modernVersion
	}
	bytes := 0
	for _, b := range kept.bodies {
		bytes += len(b)
	}
	bad.Same("head.artifacts", h.Artifacts, kept.digests())
	bad.Same("head.bytes", h.Bytes, bytes)
	bad.Same("head.identity", h.Identity, kept.list.Ordered())
	bad.Same("head.tools", h.Tools, len(kept.list.Tools))
	bad.Same("head.first_observed", h.FirstObserved, t.since)
	bad.Same("head.confirmed", h.Confirmed, true)
	bad.Same("capture.pages", h.Capture.Pages, fmt.Sprintf("{%d true}", len(kept.bodies)))
	bad.Same("capture.protocol", h.Capture.Protocol, fmt.Sprintf("{%s %s %t}", newerVersion, spoken, spoken >= headerSince))
	if !t.Modern {
		bad.Same("server.name", r.Server.Name, t.newer.now.init.ServerInfo.Name)
	}
}

// digests names the bodies of a list, in page order.
func (r *reading) digests() []string {
	var all []string
	for _, b := range r.bodies {
		all = append(all, digest(b))
	}
	return all
}

// checkNewerEvents checks that the day's events of v2 are the drift of the
// upgraded server, confirmed by its second reading, and what comes with it.
func (s *series) checkNewerEvents(up *target, all []event) {
	var bad check.List
	drifts := 0
	for _, e := range all {
		switch {
		case e.Name == up.name() && e.Kind == "server":
		case e.Name == up.name() && e.Kind == "drift":
			drifts++
			bad.Same("reread", e.Reread, "same")
			bad.Same("comparable", e.Comparable == nil || *e.Comparable, true)
			bad.Same("old", e.Old, up.newer.was.list.Ordered())
			bad.Same("new", e.New, up.newer.kept.list.Ordered())
			bad.Same("old_artifacts", e.OldArtifacts, up.newer.was.digests())
			bad.Same("new_artifacts", e.NewArtifacts, up.newer.kept.digests())
			diffChanges(&bad, e.Changes, wire.Compare(up.newer.was.list, up.newer.kept.list))
		default:
			bad.Add("%s of %s", e.Kind, e.Name)
		}
	}
	bad.Same("drifts", drifts, 1)
	s.None(bad, "%s: under v2 the upgrade of %s is the one drift, confirmed by a second reading", s.date(), up.Name)
}
