package record

// A Cause is one way in which how a server was read makes two readings of it
// differ (seeds: capture-conditions, section 1, which measured them). The set is
// closed; causes are never renamed.
type Cause string

// The causes. [Causes] says what each means.
const (
	CauseNetwork     Cause = "network_at_start"
	CauseEnvironment Cause = "reader_environment"
	CauseHandshake   Cause = "old_handshake"
	CauseHeader      Cause = "no_version_header"
	CausePageOne     Cause = "page_one"
	CauseNegotiated  Cause = "negotiated_version"
	CausePackage     Cause = "package_version"
	CauseLaunch      Cause = "launch_conditions"
	CauseEdit        Cause = "read_around_an_edit"
	CauseFailed      Cause = "failed_read"
	CauseUnstable    Cause = "varies_from_run_to_run"
)

// A CauseDef defines one cause.
type CauseDef struct {
	Cause    Cause
	Title    string // a few words, without digits
	Means    string // one sentence, without digits
	Launched bool   // only servers that the reader starts have it
}

// Causes defines each cause, in the order in which lists show them.
var Causes = []CauseDef{
	{CausePageOne, "One reader stopped at a page", "One of the readings did not follow the list to its end.", false},
	{CauseHandshake, "An old handshake", "One of the readings agreed on a protocol version that has no output schemas and titles, so the server may have left them out.", false},
	{CauseHeader, "No version header", "One of the readings did not send the agreed protocol version with its requests, so the server may have fallen back to an older one.", false},
	{CauseNegotiated, "Another protocol version", "The readings agreed on different versions of the protocol, both recent or both old; or the server refused the version of one of them.", false},
	{CauseUnstable, "The list varies", "The server gives another list from reading to reading.", false},
	{CauseFailed, "One reading failed", "One of the readings got a list and the other did not.", false},
	{CauseEdit, "Read around an edit", "Nothing in the conditions explains it: the server was edited between the two readings, or it varies.", false},
	{CauseNetwork, "Network at the start", "One reader started the server with a network, the other without.", true},
	{CausePackage, "Another package version", "The readers started different versions of the package.", true},
	{CauseLaunch, "Other launch conditions", "The readers started the server with other arguments or environment variables.", true},
	{CauseEnvironment, "The reader in the definition", "A definition quotes the home folder of its reader, or a placeholder value.", true},
}
