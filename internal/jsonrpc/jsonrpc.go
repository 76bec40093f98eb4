// Package jsonrpc reads JSON-RPC answers as MCP servers send them, as JSON or as
// an event stream, and says what it had to tolerate.
//
// # Which form a body has
//
// The media type is not asked, because servers get it wrong. After one byte
// order mark and white space, a body that begins with { or [ is JSON, one that
// begins with < is a web page, and anything else is read as an event stream. If
// no line of that was a comment or a field of the event stream format, it was no
// stream either but a JSON scalar, or not JSON.
//
// # The event stream
//
// Lines, fields and events are those of the WHATWG HTML standard, section 9.2.6:
// lines end in LF, CRLF or a lone CR; a field may lack its colon; one space
// after the colon is dropped; several data lines are joined by LF; comments, id,
// retry and unknown fields are ignored. Beyond that (protocol.md 1.8):
//
//   - Events without data, or with nothing but white space, are skipped. They
//     prime and keep alive.
//   - Events named other than "message" are skipped, except "endpoint": that is
//     the older HTTP+SSE transport, which will never answer here, and ends the
//     reading (old_sse).
//   - Requests and notifications are skipped; notifications/tools/list_changed
//     sets the flag list_changed.
//   - The reading ends with the event that answers. Servers need not close the
//     stream.
//   - The standard drops an event that the end of the stream cuts off. Here it
//     counts if its JSON is complete, with the flag sse_unterminated.
//
// There is no limit on lines or events but the caller's own on the body, and
// that of package canon on the values of one message (too_large).
//
// # Which message is the answer
//
// The response whose id is the request's. The same number as a string counts as
// well (flag id_type). A response with any other id, null and none included,
// counts only if it is the only response in the whole body (flag id_mismatch);
// in a stream that is known at its end, not before. An array of messages, legal
// in MCP 2025-03-26, is searched in the same way (flag batch).
//
// A response has either a result, of any kind, or an error object with an
// integer code (JSON-RPC 2.0, section 5), otherwise the body is not_jsonrpc. Two
// things are tolerated: an error member that is null beside a result (flag
// null_error) and a missing jsonrpc member (flag no_jsonrpc). A jsonrpc member
// other than "2.0" is another protocol.
package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A Response is a well-formed answer: a result or an error.
type Response struct {
	Result *canon.Value  // nil iff Error is not
	Error  *Error        // nil on success
	Flags  []record.Flag // what was tolerated, sorted, each once; nil if nothing
	Raw    []byte        // the JSON text of the message as sent; of an array, that of its element. Shares no memory with the body
	Stream bool          // the body was an event stream
}

// An Error is the error object of a response (JSON-RPC 2.0, section 5.1).
type Error struct {
	Code    int64
	Message string       // empty if the server sent none, or not a string
	Data    *canon.Value // nil if there was none
}

func (e *Error) Error() string { return fmt.Sprintf("JSON-RPC error %d: %s", e.Code, e.Message) }

// A Fault says why a body holds no response to the request. That is data about
// the server: Detail is one of html, empty, invalid_json, too_large, not_jsonrpc,
// old_sse.
type Fault struct {
	Detail record.Detail
	Reason string // for people; never empty
}

func (f *Fault) Error() string { return string(f.Detail) + ": " + f.Reason }

// Unparsed returns the fault of a text that [canon.Parse] refused with err:
// too_large for too many values, else invalid_json.
func Unparsed(err error) *Fault {
	if errors.Is(err, canon.ErrTooMany) {
		return &Fault{record.DetailTooLarge, err.Error()}
	}
	return &Fault{record.DetailInvalidJSON, err.Error()}
}

// Read returns the response to the request id that body, read whole, holds. It
// fails with *[Fault] only. It gives what a [Scanner] gives that body is written
// to, and the same for the part of a stream that the Scanner says to keep.
func Read(body []byte, id int64) (Response, error) {
	s := NewScanner(id)
	s.Write(body)
	return s.Finish()
}

// jsonSpace is the white space of JSON (RFC 8259 section 2).
const jsonSpace = " \t\r\n"

// A judge decides which of the messages it is shown is the answer.
type judge struct {
	id          int64
	admit       func(size int) bool // nil admits all
	listChanged bool                // the tool list was announced as changed
	decided     bool                // answer holds
	answer      verdict             // the response to id
	others      int                 // responses with another id
	other       verdict             // the first of them, without its tree
	invalid     *Fault              // the first message that was not strict JSON
}

// A verdict is a response, or the fault of what should have been one.
type verdict struct {
	response Response
	fault    *Fault
}

// show gives j one message, or an array of them, as JSON text. It reports
// whether that held the answer.
func (j *judge) show(text []byte) bool {
	text = bytes.Trim(text, jsonSpace)
	if j.admit != nil && !j.admit(len(text)) {
		j.decided, j.answer = true, verdict{fault: &Fault{record.DetailInvalidJSON, "not read: the caller gave up"}}
		return true
	}
	v, err := canon.Parse(text)
	if err != nil {
		fault := Unparsed(err)
		if j.invalid == nil {
			j.invalid = fault
		}
		if j.looselyOurs(text) {
			j.decided, j.answer = true, verdict{fault: fault}
		}
		return j.decided
	}
	if v.Kind == canon.Array {
		j.batch(v, text)
	} else if found := j.message(v); found != noMatch {
		j.accept(found, v, func() []byte { return text })
	}
	return j.decided
}

// A match says how the id of a response relates to that of the request.
type match int

const (
	noMatch   match = iota // not a response
	otherID                // a response to something else, it seems
	stringID               // ours, but as a string
	exactlyID              // ours
)

// batch shows j the elements of an array. The exact id is preferred wherever it
// stands, then the id as a string.
func (j *judge) batch(v *canon.Value, text []byte) {
	best, at := noMatch, -1
	for i, e := range v.Elems {
		found := j.message(e)
		if found == otherID {
			j.accept(found, e, func() []byte { return element(text, i) }, record.FlagBatch)
		} else if found > best {
			best, at = found, i
		}
		if found == exactlyID {
			break
		}
	}
	if at >= 0 {
		j.accept(best, v.Elems[at], func() []byte { return element(text, at) }, record.FlagBatch)
	}
}

// element returns the text of element i of the array that text is.
func element(text []byte, i int) []byte {
	var elems []json.RawMessage
	if err := json.Unmarshal(text, &elems); err != nil || i >= len(elems) {
		return nil // not after canon.Parse
	}
	return elems[i]
}

// message looks at one message and says how it matches.
func (j *judge) message(v *canon.Value) match {
	result, rpcErr := v.Get("result"), v.Get("error")
	if m := v.Get("method"); m != nil && m.Kind == canon.String && isNull(result) && isNull(rpcErr) {
		j.listChanged = j.listChanged || m.Text == "notifications/tools/list_changed"
		return noMatch
	}
	id := v.Get("id")
	switch {
	case id != nil && id.Kind == canon.Number && sameInt(id.Text, j.id):
		return exactlyID
	case id != nil && id.Kind == canon.String && id.Text == strconv.FormatInt(j.id, 10):
		return stringID
	case result != nil || rpcErr != nil:
		return otherID
	}
	return noMatch
}

// accept keeps v as the answer, or, if it matches less, for want of a better.
func (j *judge) accept(m match, v *canon.Value, raw func() []byte, flags ...record.Flag) {
	if m == otherID {
		if j.others++; j.others > 1 {
			return
		}
	}
	var got verdict
	got.response, got.fault = readResponse(v)
	if got.fault == nil {
		if j.listChanged {
			flags = append(flags, record.FlagListChanged)
		}
		switch m {
		case stringID:
			flags = append(flags, record.FlagIDType)
		case otherID:
			flags = append(flags, record.FlagIDMismatch)
		}
		got.response.Flags = append(got.response.Flags, flags...)
		got.response.Raw = bytes.Clone(raw())
	}
	if m == otherID {
		got.response.Result, got.response.Error = nil, nil // the stream may go on for long
		j.other = got
	} else {
		j.decided, j.answer = true, got
	}
}

// end returns what j has come to when there are no more messages. If it saw no
// response at all, the fault is none's.
func (j *judge) end(none *Fault) (Response, *Fault) {
	v := j.answer
	switch {
	case j.decided:
	case j.others == 1:
		v = j.reread()
	case j.others > 1:
		v = verdict{fault: &Fault{record.DetailNotJSONRPC, fmt.Sprintf("%d responses, none with id %d", j.others, j.id)}}
	case j.invalid != nil:
		v = verdict{fault: j.invalid}
	default:
		v = verdict{fault: none}
	}
	return v.response, v.fault
}

// reread returns the response with another id, with its tree.
func (j *judge) reread() verdict {
	v := j.other
	if v.fault != nil {
		return v
	}
	raw := v.response.Raw
	if j.admit != nil && !j.admit(len(raw)) {
		return verdict{fault: &Fault{record.DetailInvalidJSON, "not read: the caller gave up"}}
	}
	tree, err := canon.Parse(raw)
	if err != nil {
		return verdict{fault: Unparsed(err)} // not after show
	}
	again, fault := readResponse(tree)
	v.response.Result, v.response.Error = again.Result, again.Error
	v.fault = fault
	return v
}

// looselyOurs reports whether text, which is not strict JSON, is still a
// response to our id for a forgiving reader, so that there is nothing to wait
// for.
func (j *judge) looselyOurs(text []byte) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil || m["method"] != nil {
		return false
	}
	id := string(m["id"])
	return sameInt(id, j.id) || id == strconv.Quote(strconv.FormatInt(j.id, 10))
}

// readResponse reads an object as a response, whatever its id.
func readResponse(v *canon.Value) (Response, *Fault) {
	var r Response
	switch version := v.Get("jsonrpc"); {
	case version == nil:
		r.Flags = append(r.Flags, record.FlagNoJSONRPC)
	case version.Kind != canon.String || version.Text != "2.0":
		return r, &Fault{record.DetailNotJSONRPC, "the jsonrpc member is not \"2.0\""}
	}
	result, rpcErr := v.Get("result"), v.Get("error")
	switch {
	case result != nil && rpcErr != nil && rpcErr.Kind == canon.Null:
		r.Flags = append(r.Flags, record.FlagNullError)
	case result != nil && rpcErr != nil:
		return r, &Fault{record.DetailNotJSONRPC, "a response with both result and error"}
	case result == nil && isNull(rpcErr):
		return r, &Fault{record.DetailNotJSONRPC, "a response with neither result nor error"}
	case result == nil:
		e, ok := readError(rpcErr)
		if !ok {
			return r, &Fault{record.DetailNotJSONRPC, "an error without an integer code"}
		}
		r.Error = e
	}
	r.Result = result
	return r, nil
}

func readError(v *canon.Value) (*Error, bool) {
	code := v.Get("code")
	if code == nil || code.Kind != canon.Number {
		return nil, false
	}
	n, ok := integer(code.Text)
	if !ok {
		return nil, false
	}
	e := &Error{Code: n, Data: v.Get("data")}
	if m := v.Get("message"); m != nil && m.Kind == canon.String {
		e.Message = m.Text
	}
	return e, true
}

func isNull(v *canon.Value) bool { return v == nil || v.Kind == canon.Null }

// maxExact bounds the integers that are read from a spelling with a fraction or
// an exponent: beyond it neighbours share a float64.
const maxExact = 1<<53 - 1

// integer returns the integer that a JSON number is, however it is spelt: 2,
// 2.0 and 2e0 are one number.
func integer(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxExact {
		return 0, false
	}
	return int64(f), true
}

func sameInt(text string, want int64) bool {
	n, ok := integer(text)
	return ok && n == want
}

// withFlags returns r with more flags, sorted, each once.
func withFlags(r Response, more ...record.Flag) Response {
	r.Flags = append(slices.Clone(r.Flags), more...)
	slices.Sort(r.Flags)
	r.Flags = slices.Compact(r.Flags)
	return r
}
