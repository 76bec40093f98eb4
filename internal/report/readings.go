package report

import (
	"slices"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/timeline"
)

// A comparer compares the newest rows of two lines on one day.
type comparer struct {
	day   Date
	sides [2]map[string]*timeline.Target // whom each attempted on that day, and who declares an endpoint
	forms [2]string                      // canonical form of the identities of each
	r     *Readings
}

// compareReadings compares what two lines read of every server on a day on which
// both have read, and which neither has left.
func compareReadings(day Date, first, second *collector) *Readings {
	c := &comparer{day: day, r: &Readings{
		Day: day, First: first.r.Methodology, Second: second.r.Methodology,
	}}
	for i, of := range []*collector{first, second} {
		c.sides[i], c.forms[i] = of.attempted(), of.rules.CanonicalForm
	}
	found := map[record.Cause][]ReadDifferently{}
	for _, name := range sortedNames(c.sides[0]) {
		a, b := c.sides[0][name], c.sides[1][name]
		if b == nil {
			continue
		}
		c.r.Both++
		c.compare(name, a, b, found)
	}
	for _, def := range record.Causes {
		if ofRemote(def.Cause) {
			list := found[def.Cause]
			c.r.Causes = append(c.r.Causes, ReadingCause{Cause: def.Cause, Servers: list, Share: Share{Count(len(list)), c.r.Different.N}})
		}
	}
	c.r.Same.Of, c.r.Different.Of, c.r.Failed.Of = c.r.Both, c.r.Both, c.r.Both
	return c.r
}

// compare enters one server.
func (c *comparer) compare(name string, a, b *timeline.Target, found map[record.Cause][]ReadDifferently) {
	okA, okB := a.Row.ErrorClass == record.Success, b.Row.ErrorClass == record.Success
	switch {
	case !okA && !okB:
		c.r.Failed.N++
		return
	case okA && okB && c.same(a.Row.Head, b.Row.Head):
		c.r.Same.N++
		return
	}
	c.r.Different.N++
	d := ReadDifferently{First: c.side(0, &a.Row), Name: name, Second: c.side(1, &b.Row)}
	if x, y := d.First.Capture, d.Second.Capture; x != nil && y != nil {
		d.Differs = x.Differs(*y)
	}
	cause := c.cause(a, b)
	found[cause] = append(found[cause], d)
}

// attempted returns the targets that declare an endpoint and that a run of the
// open day attempted, by name.
func (c *collector) attempted() map[string]*timeline.Target {
	missed := c.builder.Missed()
	out := map[string]*timeline.Target{}
	for _, t := range c.builder.Targets() {
		_, not := slices.BinarySearch(missed, t.Name)
		if t.Retired == "" && !not && t.Row.Name != "" && t.Row.Retired == "" && t.Row.ErrorClass != record.NoEndpoint {
			out[t.Name] = t
		}
	}
	return out
}

func sortedNames(of map[string]*timeline.Target) []string {
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// side returns what is published of a reading. Of one that found neither time what
// the head is, that it answered: the head is another contract.
func (c *comparer) side(which int, o *record.Observation) ReadingSide {
	s := ReadingSide{State: o.ErrorClass.Label(), Detail: string(o.ErrorDetail)}
	if h := o.Head; o.ErrorClass == record.Success && h.LastObserved == "" {
		capture, tools := h.Capture, Count(h.Tools)
		s.Capture, s.Identity, s.Tools = &capture, c.common(which, h), &tools
	}
	return s
}

// common returns the identity of a contract in canonical form v2, which rows of
// both methodologies have: a v1 row as its ordered identity. A v1 row without one
// has none: the digest of another form says nothing here.
func (c *comparer) common(which int, h *record.Head) canon.Digest {
	if c.forms[which] == record.V2.CanonicalForm {
		return h.Identity
	}
	return h.Ordered
}

// same reports whether both sides read one contract: one identity in the common
// form or, where a row has none, the same bodies. A head that its target did not
// answer with on that day, because two readings said two other things, is no
// reading.
func (c *comparer) same(a, b *record.Head) bool {
	if a.LastObserved != "" || b.LastObserved != "" {
		return false
	}
	x, y := c.common(0, a), c.common(1, b)
	if x == "" || y == "" {
		return slices.Equal(a.Artifacts, b.Artifacts)
	}
	return x == y
}

// cause returns the first cause, in the order of record.Causes, for which two
// readings differ of which at least one succeeded.
func (c *comparer) cause(a, b *timeline.Target) record.Cause {
	okA, okB := a.Row.ErrorClass == record.Success, b.Row.ErrorClass == record.Success
	switch {
	case okA && okB:
		return c.causeOfTwo(a, b)
	case okA && onlyModern(&b.Row, a.Row.Head), okB && onlyModern(&a.Row, b.Row.Head):
		return record.CauseNegotiated
	}
	return record.CauseFailed
}

// causeOfTwo returns the first cause, of those that daily readings can have, for
// which two successful readings differ. Where one side said two other things than
// its head, the conditions under which it did are not known.
func (c *comparer) causeOfTwo(a, b *timeline.Target) record.Cause {
	if a.Row.Head.LastObserved != "" || b.Row.Head.LastObserved != "" {
		return record.CauseUnstable
	}
	x, y := record.ReadingOf(a.Row, c.r.First), record.ReadingOf(b.Row, c.r.Second)
	x.Day, y.Day = c.day, c.day
	for _, cause := range record.CausesOf(x, y) {
		if ofRemote(cause) {
			return cause
		}
	}
	return record.CauseEdit
}

// ofRemote reports whether servers that the reader does not start can have a cause.
func ofRemote(cause record.Cause) bool {
	i := slices.IndexFunc(record.Causes, func(d record.CauseDef) bool { return d.Cause == cause })
	return i >= 0 && !record.Causes[i].Launched
}

// noHandshake is the first version of the protocol without initialize (protocol.md,
// section 1).
const noHandshake = "2026-07-28"

// onlyModern reports whether a reading failed because the server speaks only the
// era without a handshake, in which the other reading got its list: it refused
// initialize in so many words.
func onlyModern(failed *record.Observation, head *record.Head) bool {
	refused := failed.Step == record.StepInitialize && (failed.ErrorClass == record.HTTP4xx || failed.ErrorDetail.IsRPC())
	return refused && head.Capture.Protocol.Negotiated >= noHandshake
}
