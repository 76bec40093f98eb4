// Package archive owns the data tree: where each record lives, writing whole or
// not at all, reading back.
//
// # Layout
//
// DESIGN.md section 5 draws the tree. Every path is a pure function in this
// package, used by the writer, the readers and the checker alike; all are
// slash-separated and relative to the data folder. Stable paths
// (current/, contracts/, artifacts/, roster/rows/) are rewritten only when
// something really changed, so that git's deltas carry the history. Dated paths
// are written once and never edited; they alone suffice to derive every figure.
//
// # Names
//
// A registry name is hostile text. [Slug] turns it into one path segment that is
// safe on case-insensitive file systems and under Windows' rules; [NameOf] is
// its inverse where the slug was not shortened.
//
// # Writing
//
// A run's files are staged under <git dir>/mcpstrata/stage with a manifest,
// synced once, then copied into place, each under a temporary name that is
// renamed ([Stage]). The stage keeps its copy until the run is committed. A stage
// with a manifest is whole and is rolled forward at the next start; one without
// is discarded. A
// [Lock] in the same folder keeps a second run out.
package archive

import (
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// Dir is the folder of the series below the data folder.
const Dir = record.Series

// Shards are the names of the 16 shards of a line table: the first hex digit of
// the SHA-256 of a target's name.
var Shards = [16]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"}

// Shard returns the shard in which the target named name has its line.
func Shard(name string) string { return canon.Sum([]byte(name)).Hex()[:1] }

// fan returns the two hex digits of the folder that holds a target's files.
func fan(name string) string { return canon.Sum([]byte(name)).Hex()[:2] }

// maxSlug is the length in bytes beyond which a slug is shortened: with the
// longest suffix and extension a file name stays under 255 bytes.
const maxSlug = 200

// devices are the names that Windows reserves, before the first dot and in any
// case (Microsoft, "Naming Files, Paths, and Namespaces").
var devices = []string{
	"con", "prn", "aux", "nul", "conin$", "conout$",
	"com0", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt0", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
}

// Slug returns the path segment of the target named name: / becomes ~, an
// upper-case letter ! and its lower case, any other byte outside [a-z0-9._-]
// becomes = and two hex digits. A name with a segment that a file system can't
// hold, one that is too long, and one that looks as if it had been shortened
// get ~ and 16 hex digits of the name's SHA-256; where the whole still begins
// with a device name and a dot, its first letter is written as = and two hex
// digits. + never occurs in a slug.
func Slug(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c == '/':
			b.WriteByte('~')
		case 'A' <= c && c <= 'Z':
			b.WriteByte('!')
			b.WriteByte(c - 'A' + 'a')
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	s := b.String()
	if len(s) <= maxSlug && !shortened(s) && !slices.ContainsFunc(strings.Split(strings.ToLower(name), "/"), unholdable) {
		return s
	}
	s = s[:min(len(s), maxSlug-20)] + "~" + canon.Sum([]byte(name)).Hex()[:16]
	if IsDevice(s) {
		s = fmt.Sprintf("=%02x%s", s[0], s[1:]) // what follows a dot does not make con.x less of a device
	}
	return s
}

// unholdable reports whether a file system can't hold a segment, given in lower
// case.
func unholdable(segment string) bool {
	return segment == "" || strings.HasSuffix(segment, ".") || IsDevice(segment)
}

// IsDevice reports whether Windows takes a path segment, given in lower case, for
// a device: it goes by what stands before the first dot.
func IsDevice(segment string) bool {
	device, _, _ := strings.Cut(segment, ".")
	return slices.Contains(devices, device)
}

// shortened reports whether s ends as a shortened slug does.
func shortened(s string) bool {
	i := strings.LastIndexByte(s, '~')
	return i >= 0 && len(s)-i == 17 && strings.Trim(s[i+1:], "0123456789abcdef") == ""
}

// NameOf returns the name whose slug is s. It returns false where s is
// shortened, so that the name is to be looked up in the rows, and where s is no
// slug at all.
func NameOf(s string) (string, bool) {
	if shortened(s) {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '~':
			b.WriteByte('/')
		case c == '!' && i+1 < len(s) && 'a' <= s[i+1] && s[i+1] <= 'z':
			i++
			b.WriteByte(s[i] - 'a' + 'A')
		case c == '=' && i+2 < len(s):
			h, err := hex.DecodeString(s[i+1 : i+3])
			if err != nil {
				return "", false
			}
			b.WriteByte(h[0])
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	name := b.String()
	return name, Slug(name) == s
}

// dated returns the path of a dated file of a run.
func dated(kind, run, suffix string) string {
	return path.Join(Dir, kind, run[:4], run+suffix)
}

// RosterPath returns the path of the dated roster of a run.
func RosterPath(run string) string { return dated("roster", run, ".json") }

// RowsPath returns the path of one shard of the registry rows: a line per
// listed row, verbatim, sorted by name and then in listing order.
func RowsPath(shard string) string { return path.Join(Dir, "roster/rows", shard+".jsonl") }

// OrderPath is the path of the names in listing order, one a line.
const OrderPath = Dir + "/roster/order.txt"

// ObservationsPath returns the path of the dated observations of a run.
func ObservationsPath(run, methodology string) string {
	return dated("observations", run, "."+methodology+".jsonl")
}

// CurrentPath returns the path of one shard of the newest rows.
func CurrentPath(methodology, shard string) string {
	return path.Join(Dir, "current", methodology, shard+".jsonl")
}

// EventsPath returns the path of the dated events of a run.
func EventsPath(run string) string { return dated("events", run, ".jsonl") }

// RunPath returns the path of the record of a run.
func RunPath(run string) string { return dated("runs", run, ".json") }

// IndexPath returns the path of the dated index of the bodies that a run wrote.
func IndexPath(run string) string { return dated("artifacts/index", run, ".jsonl") }

// TimingPath is the path of the latencies of the newest run, the only volatile
// file.
const TimingPath = Dir + "/timing.csv"

// ContractPath returns the path of the head's contract of a target.
func ContractPath(methodology, name string) string {
	return path.Join(Dir, "contracts", methodology, fan(name), Slug(name)+".json")
}

// BodyPath returns the path of a body of a target. The part is "" for the first
// page of the head, "2", "3" … for its further pages, "init" for the handshake,
// "other", "other.2" … for a rejected reading, "other-b", "other-b.2" … for a
// second one that said something else again.
func BodyPath(methodology, name, part string) string {
	if part != "" {
		part = "+" + part
	}
	return path.Join(Dir, "artifacts", methodology, fan(name), Slug(name)+part+".json")
}

// PagePart returns the part of [BodyPath] for page n of the head, from 1.
func PagePart(n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprint(n)
}

// Parts of the bodies of the newest reading that did not become the head, because
// a second one contradicted it, and of that second one where it was not the head
// either (DESIGN.md section 4).
const (
	Other  = "other"
	OtherB = "other-b"
)

// RejectedPart returns the part of [BodyPath] for page n, from 1, of a reading
// that is kept as [Other] or [OtherB].
func RejectedPart(which string, n int) string {
	if n <= 1 {
		return which
	}
	return fmt.Sprintf("%s.%d", which, n)
}
