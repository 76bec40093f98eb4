package site

import (
	"html/template"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/drift"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
)

// A Page is what every template gets: where it stands, what its head says, and
// the report. The other models embed it. Templates compute no figure; they name
// one by its path and the function `figure` writes it.
type Page struct {
	Path        string         // of the page's folder below the root: "", "half-life/"
	Root        string         // relative URL of the root, from the page: "./", "../../"
	Title       string         // without the site's name; hostile where Recorded
	Recorded    bool           // the title holds a registry name or another recorded text
	Description string         // one sentence for the head, without digits; never recorded text
	Section     string         // servers, changes, half-life, methodology, data, about; "" for home
	Feed        string         // path below the root of the Atom feed of this page; "": none
	NoIndex     bool           // not for search engines
	NoJSON      bool           // has no index.json beside it
	Report      *report.Report // of the line that the page shows
	Canonical   string         // absolute URL of the page
	Repo        string         // URL of the repository, to clone
	Method      string         // path of the page of the line's methodology
	Methods     bool           // there is more than one methodology page
	Both        bool           // two methodologies are compared on /capture/
	Other       *report.Report // of the other line; nil where there is but one
	OtherMethod string         // path of the page of its methodology
	OlderLine   bool           // the page shows the series of record, and Other is newer
	Mixed       bool           // a piece of the page is of the other line
	Compared    bool           // the page compares the two lines

	line *line // whose templates render the page
}

// Home is /.
type Home struct {
	Page
	HalfLife template.HTML // charts
	Classes  template.HTML
	Today    template.HTML // what changed on the newest day and how the last days went, as [HomeDays] says it
	PerDay   template.HTML // changes per day, likewise
}

// HomeDays is what / says of days, of the newest methodology.
type HomeDays struct {
	Page
	Changes    template.HTML // chart
	Today      int           // index in Report.Calendar of the newest day with a run
	Recent     []int         // indices of the newest days, newest first, gaps included
	Groups     []Group       // what changed on the newest day with a run, the greatest groups first
	MoreGroups bool          // there were more than are shown
	WholeDay   bool          // false: this is not the page of the day
}

// A Group is report.Calendar[Day].Changes[Index], with what a list shows of it.
type Group struct {
	Day, Index int
	Operator   string
	Rows       []ChangeRow
	More       bool // the group has more than these rows
}

// A ChangeRow is one version that a list names: Report.Servers[Name].Versions[Index].
type ChangeRow struct {
	Name    string
	Index   int
	Version report.Version
	Tools   []record.ToolChange // the first few of Version.Changes
	More    bool                // it has more
}

// ServerPage is /s/<namespace>/<name>/.
type ServerPage struct {
	Page
	Name      string // the registry name, whole
	Namespace string // before the first slash
	Short     string // after it
	Server    *report.Server
	Registry  Registry
	Row       record.Observation
	Strip     template.HTML
	Thin      bool          // never answered: no contract to show
	Versions  []VersionView // newest first, at most [shownVersions]
	Older     []VersionView // the others, as rows
	Tools     []Tool        // of the contract in force, or last read
	NoTools   string        // why Tools can't be shown although there is a contract; "" otherwise
	Contract  string        // path of the contract file in the repository, data/…
	Digests   []Digest      // of the contract
	// ListDigests are those of the list as others publish them, each a line.
	ListDigests []string
	MoreDigests bool                 // the digests of some tools are in index.json alone
	Events      []report.ServerEvent // other transitions, newest first, without those that follow
	Handshake   []report.ServerEvent // what the server said of itself changed, newest first
	Unstable    []report.ServerEvent // days on which two readings of one run differed, newest first
	Capture     string               // the capture of the newest reading, as published: JSON text; "" without one
	Against     template.HTML        // how the newest reading under the other methodology differs; "" where it does not
	Twice       bool                 // the methodology reads again before a difference counts

	// What the page leaves out; index.json has it, within bounds of its own.
	MoreTools     bool
	MoreOlder     bool
	MoreEvents    bool
	MoreHandshake bool
	MoreUnstable  bool
}

// OtherReading is the newest reading of a server under the other methodology,
// where it differs. The page is of that line.
type OtherReading struct {
	Page
	Name     string
	Server   *report.Server
	State    bool         // it ended otherwise
	Contract bool         // the contract is another, by the canonical form that both have
	Identity canon.Digest // in that form; "" without a contract
	Capture  []string     // members of the captures that differ
}

// A HandshakeChange is one thing that changed of what a server says of itself.
type HandshakeChange struct {
	What          string // in words
	Before, After string // recorded text; "" where there is none
}

// Registry is what the registry's newest row says; all of it is recorded text.
type Registry struct {
	Title, Description, Version string
	Links                       []Link // https only
}

// A Link is an address that the registry row names.
type Link struct {
	What string // repository or website
	Host string // shown
	URL  template.URL
}

// A Digest is a digest and what it is of.
type Digest struct{ What, Value string }

// A VersionView is Report.Servers[Name].Versions[Index] with what changed to it.
type VersionView struct {
	Index    int
	Version  report.Version
	First    bool       // the first contract: there is nothing to compare it with
	Tools    []ToolDiff // what changed, by tool
	Unshown  string     // why the texts can't be shown, in words without digits; "" otherwise
	MoreTool bool       // more tools changed than are shown
	Hints    []drift.RenameHint
}

// A ToolDiff is what happened to one tool.
type ToolDiff struct {
	Name    string
	Kind    drift.Kind
	Members []string
	Texts   []TextDiff
	Places  []Place  // other places, as a table where, before, after
	More    bool     // places or texts were left out
	Input   *Schemas // inputSchema before and after
	Output  *Schemas
}

// A TextDiff is a text that changed, word by word.
type TextDiff struct {
	Where  string // such as description, or parameter query: description
	Spans  []drift.Span
	Hidden bool // holds characters that do not show on screen
	Cut    bool // only the beginning is shown
}

// A Place is where a schema or another member differs.
type Place struct {
	Where         string
	Before, After string // JSON text, cut; "" where there is nothing
	Cut           bool
}

// Schemas are a schema before and after, pretty-printed.
type Schemas struct {
	Before, After string
	Cut           bool // one of them is longer than is shown
}

// A Tool is one tool of a contract.
type Tool struct {
	Name        string
	Title       string
	Description string
	Cut         bool // the description is longer than is shown
	Hidden      bool // it holds characters that do not show on screen
	Params      []Param
	MoreParams  bool
	Output      bool     // declares an outputSchema
	Digests     string   // as others publish them, each on a line; "" where the page does not show them
	Annotations []string // such as readOnlyHint: true
	Since       int      // index of the version with which a tool of this name came, and stayed
}

// A Param is a top-level property of an inputSchema.
type Param struct {
	Name, Type, Description string
	Required                bool
}

// HalfLifePage is /half-life/.
type HalfLifePage struct {
	Page
	Chart   template.HTML
	Rows    []int         // indices of the rows of the table in report.HalfLife.Estimate.Table
	RowsCut bool          // there are more with an event
	Beside  template.HTML // row of the table of estimates: the newest methodology, of the other line
}

// DayPage is /changes/<day>/.
type DayPage struct {
	Page
	Index      int // in Report.Calendar
	Day        report.Day
	Groups     []Group
	MoreGroups bool          // there are more than are shown
	WholeDay   bool          // this is the page of the day: more is in its JSON
	Events     []EventsOfDay // by kind
	Prev, Next report.Date   // the days with a run before and after; "": none
}

// EventsOfDay are other events of one kind on a day.
type EventsOfDay struct {
	Kind   record.Kind
	Events []report.Transition
	More   bool // there are more than are shown
}

// ChangesPage is /changes/.
type ChangesPage struct {
	Page
	Chart   template.HTML
	Months  []Month       // newest first
	Earlier template.HTML // months before the newest methodology began, of the series of record
}

// MonthsView is what a list of days is made of.
type MonthsView struct {
	Page
	Months []Month
}

// A Month is a calendar month of days, newest first: indices in Report.Calendar.
type Month struct {
	ID   string // 2026-01
	Name string // January 2026
	Days []int
}

// ServersPage is /servers/ and its further pages.
type ServersPage struct {
	Page
	Rows  []ServerRow
	Pages []PageLink
}

// NamespacePage is /n/<namespace>/.
type NamespacePage struct {
	Page
	Namespace string
	Rows      []ServerRow
	Pages     []PageLink
}

// A ServerRow is one server in a list.
type ServerRow struct {
	Name             string
	Namespace, Short string
	Server           *report.Server
}

// A PageLink names a page of a long list by its first name.
type PageLink struct {
	Path    string // below the root
	First   string // name; recorded
	Current bool
}

// DocPage is a hand-written page: methodology, data dictionary, about.
type DocPage struct {
	Page
	Body     template.HTML
	Contents []Heading
	Versions []string // of a methodology page: those that have one
}

// CapturePage is /capture/.
type CapturePage struct {
	Page
	Readings     *report.Readings // nil where only one methodology reads
	Causes       []CauseView      // that daily readings can have
	Launched     []record.CauseDef
	NewestMethod string // path of the page of the newest methodology
}

// A CauseView is Report.Readings.Causes[Index].
type CauseView struct {
	Def     record.CauseDef
	Index   int
	Servers []report.ReadDifferently
	More    bool // there are more than are shown
}

// LookupPage is /lookup/.
type LookupPage struct {
	Page
	Kinds []LookupKind
}

// A LookupKind is one kind of digest that can be looked up.
type LookupKind struct {
	Code  string // as the files of digests have it
	Title string
	Of    string // what it is of: a tool, a list, a body
}

// A Heading is a heading of a hand-written page.
type Heading struct {
	ID, Text string
	Level    int
}

// NotFound is 404.html.
type NotFound struct{ Page }
