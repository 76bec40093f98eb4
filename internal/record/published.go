package record

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpstrata/mcpstrata/internal/canon"
)

// digestMembers are the members that hold a digest, in the order in which they are
// looked for: below head first, then at the top.
var digestMembers = []string{"identity", "digest", "digestSRI", "setHash", "toolSetDigest", "toolManifestDigest", "fingerprint", "hash", "sha256"}

// formatMembers are the members that name the format of a digest.
var formatMembers = []string{"format", "digestFormat", "digest_format", "profile"}

// ReadPublished reads one published object as one side of a comparison: a row of
// ours, or an object that has a capture (seeds: capture-conditions, section 2)
// beside a digest. Both may stand below a member head. It is strict JSON, and
// otherwise the reader is liberal: members it does not know are passed over, and one
// of another type than the proposal says is as if it were omitted.
//
// The digest is the first string among identity, digest, digestSRI, setHash,
// toolSetDigest, toolManifestDigest, fingerprint, hash and sha256; Reading.Member
// says which. Its format is the member format, digestFormat, digest_format or
// profile; without one it is the name of the member that held it. A row of ours is
// of form v1 if its methodology_version says so, or, without one, if it has
// head.ordered or asked for the protocol version of v1.
//
// Of a capture that is left out, pages.complete, protocol.negotiated and
// protocol.versionHeader are unknown; versionHeader does not apply to stdio, and a
// row of ours, which has since beside head.identity, leaves negotiated out where the
// server named no version. A launch that is left out means that the reader did not
// start the server, if the transport is stated and not stdio; otherwise it is
// unknown. Within a launch, args, envNames, envValues and network are unknown where
// they are left out, and resolvedVersion where there is a package.
//
// The error says that b is no JSON object.
func ReadPublished(b []byte) (Reading, error) {
	v, err := canon.Parse(bytes.TrimSpace(b))
	if err != nil {
		return Reading{}, err
	}
	if v.Kind != canon.Object {
		return Reading{}, fmt.Errorf("it is a JSON %s, not an object", v.Kind)
	}
	head := v.Get("head")
	r := Reading{
		Name:     textOf(v, "name"),
		Endpoint: textOf(v, "endpoint"),
		Failed:   textOf(v, "error_class") != "",
		Unstable: Day(textOf(head, "unstable")),
	}
	for _, holder := range []*canon.Value{v, head} {
		for _, f := range elems(holder.Get("flags")) {
			r.Flags = append(r.Flags, Flag(f.Text))
		}
	}
	holders := []struct {
		path  string
		value *canon.Value
	}{{"head.", head}, {"", v}}
	for _, h := range holders {
		for _, m := range formatMembers {
			if r.Format == "" {
				r.Format = textOf(h.value, m)
			}
		}
		for _, m := range digestMembers {
			if text := textOf(h.value, m); r.Digest == "" && isDigest(text) {
				r.Digest, r.Member = hexOf(text), h.path+m
			}
		}
		if c := h.value.Get("capture"); r.Capture == nil && c != nil && c.Kind == canon.Object {
			r.Capture, r.Unknown = readCapture(c)
		}
	}
	if r.Member == "head.identity" && v.Get("since") != nil { // a row of ours
		r.Unknown = slices.DeleteFunc(r.Unknown, func(m string) bool { return m == memberNegotiated })
	}
	r.format(v)
	return r, nil
}

// format fills in what the object does not say of its format.
func (r *Reading) format(v *canon.Value) {
	if r.Format != "" || r.Digest == "" {
		return
	}
	if r.Member != "head.identity" {
		r.Format = r.Member[strings.LastIndexByte(r.Member, '.')+1:]
		return
	}
	ordered, version := textOf(v.Get("head"), "ordered"), textOf(v, "methodology_version")
	first := ordered != "" || r.Capture != nil && r.Capture.Protocol.Requested == V1.ProtocolVersion
	if version != "" {
		first = version == V1.Version
	}
	if r.Format, r.Ordered = formatV2, r.Digest; first {
		r.Format, r.Ordered = formatV1, hexOf(ordered)
	}
}

// readCapture reads a capture and returns the members that it leaves out, in the
// order of memberOrder.
func readCapture(v *canon.Value) (*Capture, []string) {
	var c Capture
	var unknown []string
	note := func(member string, known bool) {
		if !known {
			unknown = append(unknown, member)
		}
	}
	c.Transport = textOf(v, "transport")
	if t, err := time.Parse(time.RFC3339, textOf(v, "observedAt")); err == nil {
		c.ObservedAt = At(t)
	}
	var ok bool
	pages, protocol := v.Get("pages"), v.Get("protocol")
	c.Pages.Complete, ok = boolOf(pages, "complete")
	note(memberComplete, ok)
	if n := pages.Get("read"); n != nil && n.Kind == canon.Number {
		if i, err := strconv.Atoi(n.Text); err == nil {
			c.Pages.Read = i
		}
	}
	c.Protocol.Requested, c.Protocol.Negotiated = textOf(protocol, "requested"), textOf(protocol, "negotiated")
	note(memberNegotiated, c.Protocol.Negotiated != "")
	c.Protocol.VersionHeader, ok = boolOf(protocol, "versionHeader")
	note(memberHeader, ok || c.Transport == "stdio")
	c.ClientCapabilities, _ = textsOf(v, "clientCapabilities")
	launch := v.Get("launch")
	if launch == nil || launch.Kind != canon.Object {
		note(memberLaunch, launch == nil && c.Transport != "" && c.Transport != "stdio")
		return &c, unknown
	}
	l := Launch{Package: textOf(launch, "package"), ResolvedVersion: textOf(launch, "resolvedVersion"), Home: textOf(launch, "home")}
	c.Launch = &l
	note(memberVersion, l.ResolvedVersion != "" || l.Package == "")
	l.Args, ok = textsOf(launch, "args")
	note(memberArgs, ok)
	l.EnvNames, ok = textsOf(launch, "envNames")
	note(memberEnvNames, ok)
	l.EnvValues, l.Network = textOf(launch, "envValues"), textOf(launch, "network")
	note(memberEnvValues, l.EnvValues != "")
	note(memberNetwork, l.Network != "")
	return &c, unknown
}

// textOf returns a member that is a string, or an empty one.
func textOf(v *canon.Value, name string) string {
	if m := v.Get(name); m != nil && m.Kind == canon.String {
		return m.Text
	}
	return ""
}

// boolOf returns a member that is true or false, and whether it is.
func boolOf(v *canon.Value, name string) (value, ok bool) {
	m := v.Get(name)
	ok = m != nil && m.Kind == canon.Bool
	return ok && m.Text == "true", ok
}

// textsOf returns a member that is an array of strings, and whether it is.
func textsOf(v *canon.Value, name string) ([]string, bool) {
	m := v.Get(name)
	if m == nil || m.Kind != canon.Array {
		return nil, false
	}
	out := []string{}
	for _, e := range m.Elems {
		if e.Kind != canon.String {
			return nil, false
		}
		out = append(out, e.Text)
	}
	return out, true
}

// elems returns the elements of an array that are strings; none of anything else.
func elems(v *canon.Value) []*canon.Value {
	var out []*canon.Value
	if v != nil {
		for _, e := range v.Elems {
			if e.Kind == canon.String {
				out = append(out, e)
			}
		}
	}
	return out
}

// hexOf returns a digest as lower-case hex digits, or as it is if it is no SHA-256.
func hexOf(s string) string {
	if digits, _ := canon.ReadSHA256(s); digits != "" {
		return digits
	}
	return s
}

// isDigest reports whether a text can be a digest: a SHA-256 in a spelling that
// records publish, or of another algorithm at least 32 letters and digits. A
// SHA-256 that was cut is none.
func isDigest(s string) bool {
	if digits, _ := canon.ReadSHA256(s); digits != "" {
		return true
	}
	odd := func(r rune) bool {
		return !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune("+/=_:-.", r))
	}
	return len(s) >= 32 && !strings.HasPrefix(strings.ToLower(s), "sha256") && !strings.ContainsFunc(s, odd)
}
