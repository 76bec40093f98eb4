package mcp

import (
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// Bounds of what a handshake can put into a row. What is longer is left out,
// never cut: absent means unknown.
const (
	maxCapabilities = 200 // names; the first ones in sorted order
	maxCapability   = 200 // bytes of one name
	maxText         = 256 // bytes of a server's name or version
	maxVersion      = 64  // bytes of a protocol version
)

// metaServerInfo is the member of _meta that names a server of the era without a
// handshake.
const metaServerInfo = "io.modelcontextprotocol/serverInfo"

// readServer returns what a result that holds capabilities and instructions, and
// the object info, say of the server.
func readServer(result, info *canon.Value) *record.Server {
	s := &record.Server{
		Capabilities: capabilities(result.Get("capabilities")),
		Name:         text(info.Get("name"), maxText),
		Version:      text(info.Get("version"), maxText),
	}
	if v := result.Get("instructions"); v != nil && v.Kind == canon.String {
		s.Instructions = canon.Sum([]byte(v.Text))
	}
	return s
}

// text returns the text of a string of at most limit bytes, else "".
func text(v *canon.Value, limit int) string {
	if v == nil || v.Kind != canon.String || len(v.Text) > limit {
		return ""
	}
	return strings.Clone(v.Text) // a text is cut from the whole document
}

// capabilities returns the flat dotted names of the members below v, sorted, each
// once (protocol.md 1.4): a member is named whatever its value, a false one too,
// but not null, which is how some serializers write an absent one. Objects are
// named and descended into, except those of an extension or experiment, whose
// ids hold dots themselves.
func capabilities(v *canon.Value) []string {
	names := flatten([]string{}, "", v)
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.Clone(names[:min(len(names), maxCapabilities)])
}

// flatten appends the names of the members below v. Its depth is bounded because
// each level makes names longer.
func flatten(names []string, prefix string, v *canon.Value) []string {
	if v == nil || v.Kind != canon.Object {
		return names
	}
	for _, m := range v.Members {
		name := strings.Clone(prefix + m.Name)
		if m.Name == "" || len(name) > maxCapability || m.Value.Kind == canon.Null {
			continue
		}
		names = append(names, name)
		if prefix != "experimental." && prefix != "extensions." {
			names = flatten(names, name+".", m.Value)
		}
	}
	return names
}
