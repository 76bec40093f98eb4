package site

import (
	"fmt"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/report"
)

// maxSegment is the length in bytes beyond which a segment is shortened: with
// its digest it stays far below the 255 bytes that file systems take.
const maxSegment = 150

// noSlash is the first segment of a name without a slash. No other namespace has
// it: in a segment, = stands before two hex digits, or alone, or doubled.
const noSlash = "=-"

// Segment returns the path segment for a part of a registry name. Lower-case
// letters, digits, . _ and - stand for themselves; an upper-case letter becomes
// ~ and its lower case; any other byte = and two hex digits, and so does the
// first byte where a file system or a static host would not take the segment for
// an ordinary folder (a dot in front, a device name, index.…), and a dot at the
// end. A part of no bytes is =. What is too long is cut, and == and 32 hex digits
// of its SHA-256 follow. So a segment needs no percent-encoding, two parts never
// have the same one, also on a file system that folds case, and none is . or ..
func Segment(part string) string {
	if part == "" {
		return "="
	}
	lower := strings.ToLower(part)
	stem, _, _ := strings.Cut(lower, ".")
	odd := part[0] == '.' || stem == "index" || archive.IsDevice(lower)
	var b strings.Builder
	for i := range len(part) {
		switch c := part[i]; {
		case odd && i == 0, c == '.' && i == len(part)-1:
			fmt.Fprintf(&b, "=%02x", c)
		case 'A' <= c && c <= 'Z':
			b.WriteByte('~')
			b.WriteByte(c - 'A' + 'a')
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	s := b.String()
	if len(s) <= maxSegment {
		return s
	}
	return s[:maxSegment-34] + "==" + canon.Sum([]byte(part)).Hex()[:32]
}

// splitName returns the parts of a registry name before and after its first
// slash. Without one, all of it is the short name.
func splitName(name string) (namespace, short string) {
	namespace, short, ok := strings.Cut(name, "/")
	if !ok {
		return "", name
	}
	return namespace, short
}

// ServerPath returns the folder of a server's page, below the root and with its
// final slash.
func ServerPath(name string) string {
	namespace, short := splitName(name)
	first := Segment(namespace)
	if !strings.Contains(name, "/") {
		first = noSlash
	}
	return "s/" + first + "/" + Segment(short) + "/"
}

// NamespacePath returns the folder of the page of a namespace. Names without a
// slash stand under the empty one.
func NamespacePath(namespace string) string { return "n/" + Segment(namespace) + "/" }

// DayPath returns the folder of the page of a day.
func DayPath(d report.Date) string { return "changes/" + string(d) + "/" }

// rootOf returns the relative URL of the root from a folder.
func rootOf(folder string) string {
	if folder == "" {
		return "./"
	}
	return strings.Repeat("../", strings.Count(folder, "/"))
}

// Link returns the URL of a path below the root, relative to the page. A folder,
// with or without its final slash, is linked by its index.html: a page opened
// from a file system shows a listing of the folder otherwise.
func (p Page) Link(path string) string {
	path, fragment, _ := strings.Cut(path, "#")
	last := path[strings.LastIndexByte(path, '/')+1:]
	switch {
	case last == "" && path != "":
		path += "index.html"
	case last == "":
		path = "index.html"
	case !strings.Contains(last, "."):
		path += "/index.html"
	}
	if fragment != "" {
		path += "#" + fragment
	}
	return p.Root + path
}

// ServerLink returns the relative URL of a server's page.
func (p Page) ServerLink(name string) string { return p.Root + ServerPath(name) + "index.html" }

// NamespaceLink returns the relative URL of the page of a namespace.
func (p Page) NamespaceLink(namespace string) string {
	return p.Root + NamespacePath(namespace) + "index.html"
}

// DayLink returns the relative URL of the page of a day.
func (p Page) DayLink(d report.Date) string { return p.Root + DayPath(d) + "index.html" }

// Asset returns the relative URL of a file of assets/.
func (p Page) Asset(name string) string { return p.Root + "assets/" + name }

// FeedLink returns the relative URL of the page's Atom feed, and "" without one.
func (p Page) FeedLink() string {
	if p.Feed == "" {
		return ""
	}
	return p.Root + p.Feed
}

// JSONLink returns the relative URL of the page's index.json, and "" without one.
func (p Page) JSONLink() string {
	if p.NoJSON {
		return ""
	}
	return p.Root + p.Path + "index.json"
}
