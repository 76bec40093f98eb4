package record

// A Flag is a remark on a successful reading: what the reader tolerated, or what
// the specification would have otherwise. The set is closed; flags are never
// renamed. An archive records what was served; findings stand beside the
// record, never instead of it.
type Flag string

// The flags. [Flags] says what each means.
const (
	FlagContentType        Flag = "content_type"
	FlagIDMismatch         Flag = "id_mismatch"
	FlagIDType             Flag = "id_type"
	FlagNoJSONRPC          Flag = "no_jsonrpc"
	FlagNullError          Flag = "null_error"
	FlagBatch              Flag = "batch"
	FlagSSEUnterminated    Flag = "sse_unterminated"
	FlagBOM                Flag = "bom"
	FlagDuplicateName      Flag = "duplicate_name"
	FlagNotATool           Flag = "not_a_tool"
	FlagNoName             Flag = "no_name"
	FlagInputSchema        Flag = "input_schema"
	FlagOutputSchema       Flag = "output_schema"
	FlagAllToolsGone       Flag = "all_tools_gone"
	FlagListChanged        Flag = "list_changed"
	FlagResultType         Flag = "result_type"
	FlagClockBack          Flag = "clock_back"
	FlagLatestAmbiguous    Flag = "latest_ambiguous"
	FlagReaderInDefinition Flag = "reader_in_definition"
	FlagCursorRepeated     Flag = "cursor_repeated"
	FlagListCapped         Flag = "list_capped"
	FlagSessionRenewed     Flag = "session_renewed"
)

// Flags defines each flag, in alphabetical order.
var Flags = []struct {
	Flag  Flag
	Means string
}{
	{FlagAllToolsGone, "The list went from some tools to none in one step."},
	{FlagBatch, "The answer was an array of messages."},
	{FlagBOM, "The body began with a byte order mark."},
	{FlagClockBack, "The reading is dated before the one it follows; order is by run, not by clock."},
	{FlagContentType, "JSON or an event stream came under another media type, or under none."},
	{FlagCursorRepeated, "The list was left when a cursor came a second time."},
	{FlagDuplicateName, "Two tools have the same name."},
	{FlagIDMismatch, "The response id was not the request's; it was the only response in the body."},
	{FlagIDType, "The response id was the request's, as a string."},
	{FlagInputSchema, "A tool's inputSchema is missing, null, or has no type object."},
	{FlagLatestAmbiguous, "No registry version, or more than one, is marked as the latest."},
	{FlagListCapped, "The list was left at the limit of pages, tools or bytes."},
	{FlagListChanged, "The server announced a changed tool list before it answered."},
	{FlagNoJSONRPC, "The response had no jsonrpc member."},
	{FlagNoName, "A tool has no name, or one that is not a string."},
	{FlagNotATool, "The list holds something that is not an object, such as null."},
	{FlagNullError, "The response had a result and an error member that was null."},
	{FlagOutputSchema, "A tool's outputSchema is null or has no type object."},
	{FlagReaderInDefinition, "A definition quotes the reader's home folder or a placeholder value."},
	{FlagResultType, "The result had a resultType other than complete."},
	{FlagSessionRenewed, "The session was lost and begun anew, once, within the reading."},
	{FlagSSEUnterminated, "The event that answered was not closed by a blank line before the stream ended."},
}

// FlagsInForm reports whether flags are of the closed set, sorted, each once.
func FlagsInForm(flags []Flag) bool {
	for i, f := range flags {
		known := false
		for _, d := range Flags {
			known = known || d.Flag == f
		}
		if !known || i > 0 && flags[i-1] >= f {
			return false
		}
	}
	return true
}
