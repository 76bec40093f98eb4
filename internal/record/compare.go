package record

import (
	"cmp"
	"slices"
)

// A Reading is one side of a comparison: a digest with the conditions under which
// it was read, of our record ([ReadingOf]) or of somebody else's ([ReadPublished]).
// Members that are not known are empty; nothing is guessed.
type Reading struct {
	Name     string // of what was read
	Endpoint string
	Format   string // of the digest: identity/v1, identity/v2, or what its record calls it
	Digest   string // SHA-256: 64 lower-case hex digits; anything else as published
	Member   string // dotted name of the member that the digest was taken from
	Ordered  string // the identity of form v2 of the same bodies, in hex
	Capture  *Capture
	Unknown  []string // members of the capture that the comparison needs and the record leaves out, dotted, in the order of [Capture.Differs]
	Failed   bool     // the newest reading failed, or the digest is of an earlier one
	Flags    []Flag
	Unstable Day // newest day on which it said two things
	Day      Day // the day asked about: if it is set, only that day's Unstable counts
}

// Formats of our own digests.
const (
	formatV1 = "identity/v1"
	formatV2 = "identity/v2"
)

// ReadingOf returns what a row says, as one side of a comparison. The methodology
// is the version under which it was read.
func ReadingOf(o Observation, methodology string) Reading {
	r := Reading{Name: o.Name, Endpoint: o.Endpoint, Failed: o.ErrorClass != "", Flags: o.Flags}
	h := o.Head
	if h == nil {
		return r
	}
	r.Digest, r.Member, r.Unstable = h.Identity.Hex(), "head.identity", h.Unstable
	capture := h.Capture
	r.Capture = &capture
	r.Unknown = unknownOf(capture)
	r.Format, r.Ordered = formatV2, r.Digest
	if m, ok := MethodologyByVersion(methodology); ok && m.CanonicalForm == V1.CanonicalForm {
		r.Format, r.Ordered = formatV1, h.Ordered.Hex()
	}
	return r
}

// unknownOf returns the members that are not known although a row of ours has them
// or leaves them out. A version that it leaves out was not named by the server,
// which is known.
func unknownOf(c Capture) []string {
	if l := c.Launch; l != nil && l.Package != "" && l.ResolvedVersion == "" {
		return []string{memberVersion}
	}
	return nil
}

// A Verdict says what comparing two readings gave. The set is closed.
type Verdict string

// The verdicts (DESIGN.md section 9).
const (
	VerdictSame          Verdict = "same"               // the digests are equal
	VerdictDrift         Verdict = "drift"              // they differ, and the conditions were comparable
	VerdictCapture       Verdict = "capture_difference" // they differ and the conditions were not comparable, or a list was not read whole
	VerdictNotComparable Verdict = "not_comparable"     // digests of two formats or of two servers, or no digest
)

// A Comparison is the result of comparing two readings.
type Comparison struct {
	Verdict Verdict  `json:"verdict"`
	Members []string `json:"members"` // of the captures, not comparable; of not_comparable, what differs or is missing: name, format, digest
	Causes  []Cause  `json:"causes"`  // what explains a difference, in the order of [Causes]
}

// Dotted names of capture members, as [Capture.Differs] gives them.
const (
	memberCapture    = "capture"
	memberComplete   = "pages.complete"
	memberNegotiated = "protocol.negotiated"
	memberHeader     = "protocol.versionHeader"
	memberLaunch     = "launch"
	memberVersion    = "launch.resolvedVersion"
	memberArgs       = "launch.args"
	memberEnvNames   = "launch.envNames"
	memberEnvValues  = "launch.envValues"
	memberNetwork    = "launch.network"
	memberHome       = "launch.home" // never in [Capture.Differs]
)

// memberOrder is the order of members in a comparison.
var memberOrder = []string{memberCapture, memberComplete, memberNegotiated, memberHeader, memberLaunch, memberVersion, memberArgs, memberEnvNames, memberEnvValues, memberNetwork}

// Compare compares two readings (seeds: capture-conditions, rule 3; DESIGN.md 2 and
// 9).
//
// Digests of one format are compared; so are an identity of form v1 and one of form
// v2, by the identity of form v2 that a v1 row carries beside its own. Readings are
// of one server if they have one name, or one endpoint; a name that is not stated
// differs from none. Then equal digests are the same, whatever the conditions were,
// unless a list is known to be incomplete: such a list is never compared, and the
// verdict is capture_difference. Digests that differ are a capture_difference where
// the captures are not comparable, and drift where they are.
//
// A definition that quotes its reader's environment identifies the reader as much
// as the server (rule 4). Of two such digests that differ nothing is known of the
// server, unless both readers are known to have had the same home: they are a
// capture_difference in launch.home.
//
// A member that a capture omits is not known. It is not equal to anything, not even
// to one omitted by the other side: a difference between digests is then never
// drift, and the member is listed. In a row of ours an omitted protocol.negotiated is
// known: the server named no version.
func Compare(a, b Reading) Comparison {
	if m := unlike(a, b); len(m) > 0 {
		return Comparison{VerdictNotComparable, m, causesOf(a, b, false)}
	}
	members, equal := Differs(a, b), sameDigest(a, b)
	if !equal && quotesHome(a, b) {
		members = append(members, memberHome)
	}
	verdict := VerdictDrift
	switch {
	case incomplete(a) || incomplete(b):
		verdict = VerdictCapture
	case equal:
		verdict = VerdictSame
	case len(members) > 0:
		verdict = VerdictCapture
	}
	return Comparison{verdict, members, causesOf(a, b, equal)}
}

// unlike returns why two readings can't be compared.
func unlike(a, b Reading) []string {
	m := []string{}
	named := a.Name != "" && b.Name != "" && a.Name != b.Name
	if named && (a.Endpoint == "" || a.Endpoint != b.Endpoint) {
		m = append(m, "name")
	}
	if a.Digest == "" || b.Digest == "" {
		return append(m, "digest")
	}
	if a.Format != b.Format && !bothOrdered(a, b) {
		m = append(m, "format")
	}
	return m
}

// bothOrdered reports whether both sides have an identity of form v2.
func bothOrdered(a, b Reading) bool { return a.Ordered != "" && b.Ordered != "" }

// sameDigest reports whether the digests are equal, in the format that both have.
func sameDigest(a, b Reading) bool {
	if a.Format == b.Format {
		return a.Digest != "" && a.Digest == b.Digest
	}
	return bothOrdered(a, b) && a.Ordered == b.Ordered
}

// incomplete reports whether a list is known not to have been read to its end.
func incomplete(r Reading) bool {
	return r.Capture != nil && !r.Capture.Pages.Complete && !r.unknown(memberComplete)
}

func (r Reading) unknown(member string) bool {
	return r.Capture == nil || slices.Contains(r.Unknown, member)
}

// Differs returns the members in which the captures of two readings are not
// comparable, those that either does not know included, in the order of
// [Capture.Differs]. It is never nil.
func Differs(a, b Reading) []string {
	if a.Capture == nil || b.Capture == nil {
		return []string{memberCapture}
	}
	m := slices.Concat(a.Capture.Differs(*b.Capture), a.Unknown, b.Unknown)
	slices.SortFunc(m, func(x, y string) int {
		return cmp.Compare(slices.Index(memberOrder, x), slices.Index(memberOrder, y))
	})
	return append([]string{}, slices.Compact(m)...)
}

// HeaderSince is the first protocol version whose tools have titles and output
// schemas, and from which on every later request carries the version header.
const HeaderSince = "2025-06-18"

// CausesOf returns the causes that explain why two readings of one server differ,
// in the order of [Causes]; none if they don't differ. Each is read from the
// captures and rows alone; where a member that a cause needs is not known, the
// cause is not named.
//
// An edit ([CauseEdit]) is named only where nothing else is, the captures are
// comparable and the readings are of different times. Two versions before
// 2025-06-18 count as [CauseNegotiated].
func CausesOf(a, b Reading) []Cause { return causesOf(a, b, sameDigest(a, b)) }

func causesOf(a, b Reading, equal bool) []Cause {
	found := map[Cause]bool{CausePageOne: incomplete(a) || incomplete(b)}
	if !equal {
		found[CauseFailed] = a.Failed != b.Failed
		found[CauseEnvironment] = quotesReader(a) || quotesReader(b)
		found[CauseUnstable] = a.varies() || b.varies()
		if c := protocolCause(a, b); c != "" {
			found[c] = true
		}
		launchCauses(a, b, found)
	}
	causes := []Cause{}
	for _, d := range Causes {
		if found[d.Cause] {
			causes = append(causes, d.Cause)
		}
	}
	if len(causes) == 0 && !equal && edited(a, b) {
		causes = append(causes, CauseEdit)
	}
	return causes
}

// quotesHome reports whether a definition quotes its reader, and the readers are
// not known to have had one home.
func quotesHome(a, b Reading) bool {
	home := func(r Reading) string {
		if r.Capture == nil || r.Capture.Launch == nil {
			return ""
		}
		return r.Capture.Launch.Home
	}
	return (quotesReader(a) || quotesReader(b)) && (home(a) == "" || home(a) != home(b))
}

func quotesReader(r Reading) bool { return slices.Contains(r.Flags, FlagReaderInDefinition) }

// varies reports whether the server said two things, on the day asked about if one
// is.
func (r Reading) varies() bool {
	return r.Unstable != "" && (r.Day == "" || r.Day == r.Unstable)
}

// protocolCause returns the cause that lies in the versions agreed on, if there is
// one. Versions are dates, so they compare as text.
func protocolCause(a, b Reading) Cause {
	if a.unknown(memberNegotiated) || b.unknown(memberNegotiated) {
		return ""
	}
	p, q := a.Capture.Protocol, b.Capture.Protocol
	switch {
	case (p.Negotiated < HeaderSince) != (q.Negotiated < HeaderSince):
		return CauseHandshake
	case p.Negotiated != q.Negotiated:
		return CauseNegotiated
	case p.Negotiated >= HeaderSince && !a.unknown(memberHeader) && !b.unknown(memberHeader) && p.VersionHeader != q.VersionHeader:
		return CauseHeader
	}
	return ""
}

// causeOfMember says which cause lies in a member of a launch.
var causeOfMember = map[string]Cause{
	memberLaunch: CauseLaunch, memberArgs: CauseLaunch, memberEnvNames: CauseLaunch, memberEnvValues: CauseLaunch,
	memberVersion: CausePackage, memberNetwork: CauseNetwork,
}

// launchCauses finds the causes that lie in how a server was started: in the known
// members in which [Capture.Differs] finds the captures not comparable.
func launchCauses(a, b Reading, found map[Cause]bool) {
	if a.unknown(memberLaunch) || b.unknown(memberLaunch) {
		return
	}
	for _, m := range a.Capture.Differs(*b.Capture) {
		if c, ok := causeOfMember[m]; ok && !a.unknown(m) && !b.unknown(m) {
			found[c] = true
		}
	}
}

// edited reports whether two comparable readings of different times differ.
func edited(a, b Reading) bool {
	if a.Digest == "" || b.Digest == "" || len(Differs(a, b)) > 0 {
		return false
	}
	s, t := a.Capture.ObservedAt, b.Capture.ObservedAt
	return !s.IsZero() && !t.IsZero() && !s.Equal(t.Time)
}
