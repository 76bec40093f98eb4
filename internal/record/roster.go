package record

import (
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
)

// A Roster is the dated listing of the population, complete or marked not. The
// rows themselves lie beside it, verbatim.
type Roster struct {
	Added     []RosterRow  `json:"added"`   // names not in the roster before, and names that came back; sorted by name
	Asked     []Asked      `json:"asked"`   // known names that the listing lacked, asked for one by one
	Changed   []RosterRow  `json:"changed"` // names whose row differs from the one kept
	Complete  bool         `json:"complete"`
	Counts    RosterCounts `json:"counts"`
	Day       Day          `json:"day"`
	Finished  Time         `json:"finished"`
	Malformed []Malformed  `json:"malformed"` // entries that could not be read
	Pages     []Page       `json:"pages"`
	Query     string       `json:"query"`            // such as version=latest&limit=100
	Reason    string       `json:"reason,omitempty"` // why it is not complete
	Removed   []string     `json:"removed"`          // names retired by this roster
	Run       string       `json:"run"`
	Source    string       `json:"source"`
	Started   Time         `json:"started"`
}

// A RosterRow names a registry row by the digest of its verbatim bytes.
type RosterRow struct {
	Name string       `json:"name"`
	Old  canon.Digest `json:"old,omitempty"` // the row kept before
	Row  canon.Digest `json:"row"`           // of several listed rows of one name: of their lines joined by LF
}

// RosterCounts counts a roster.
type RosterCounts struct {
	Endpoints int `json:"endpoints"` // targets with an endpoint to probe
	Listed    int `json:"listed"`    // rows on the pages
	Names     int `json:"names"`     // targets: distinct names that are not retired
	Retired   int `json:"retired"`   // names kept that are retired, this roster's included
}

// Asked records the look-up of a known name that a listing lacked.
type Asked struct {
	Live   bool   `json:"live"` // a version that is not deleted remains, or the answer did not say
	Name   string `json:"name"`
	Status int    `json:"status"` // HTTP status; 0 when the request failed, or was not made because too many were missing
}

// Malformed records a listing entry that could not be read.
type Malformed struct {
	Index  int    `json:"index"` // on its page, from 0
	Name   string `json:"name,omitempty"`
	Page   int    `json:"page"` // from 0
	Reason string `json:"reason"`
}

// A Page is one page of the listing: its bytes are Prefix, then the rows in
// listing order joined by Separator, then Suffix; or Raw, where they do not
// have that form.
type Page struct {
	Bytes     int64        `json:"bytes"`
	Prefix    string       `json:"prefix,omitempty"`
	Raw       []byte       `json:"raw,omitempty"` // base64; only when the page can't be rebuilt from its rows
	Rows      int          `json:"rows"`
	Separator string       `json:"separator,omitempty"`
	SHA256    canon.Digest `json:"sha256"`
	Suffix    string       `json:"suffix,omitempty"`
}

// RosterDigest names a listing: the SHA-256 over its pages' SHA-256, each with
// an LF, in order.
func RosterDigest(pages []Page) canon.Digest {
	var b strings.Builder
	for _, p := range pages {
		b.WriteString(string(p.SHA256))
		b.WriteByte('\n')
	}
	return canon.Sum([]byte(b.String()))
}
