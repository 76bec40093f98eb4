package jsonrpc

import (
	"bytes"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A Scanner reads a body as it arrives, so that the caller can stop at the
// answer and need not wait for a stream to end. How the bytes are cut into
// writes makes no difference. It works on any body, not only on streams; but
// only a stream can be done before its end.
//
// A Scanner holds at most one event, and a body that is no stream whole. Bound
// what you write to it.
type Scanner struct {
	judge  judge
	form   form
	bom    bool   // the body began with a byte order mark
	head   []byte // all bytes so far, until it is clear that the body is a stream
	spaces int    // how many bytes of head are known to decide nothing

	// Of a stream: the current line.
	size  int64  // bytes read
	line  []byte // as far as earlier writes held it
	cr    bool   // the last byte was the CR that ended a line
	crlf  bool   // the last line ended in CRLF
	blank bool   // a blank line ended in CR where a CRLF is due; its LF may follow

	// Of a stream: the events.
	isStream bool   // some line was a comment or a known field
	hadData  bool   // some event had data
	name     []byte // of the current event
	data     []byte // of the current event, each line followed by LF
	cutOff   bool   // the current event was cut off by the end

	old      bool // the endpoint event was seen
	done     bool // nothing more to read
	answered mark // the event that answers, or that ended the reading
	other    mark // the event with the first response to another id

	finished bool
	response Response
	fault    *Fault
	end      int64
}

// A mark says where an event ended.
type mark struct {
	end    int64 // offset in the body just after its blank line
	cutOff bool  // the body ended instead
}

// A form is what a body looks like.
type form byte

const (
	formUnknown form = iota // only white space so far, or nothing
	formJSON
	formPage // HTML or XML
	formStream
)

const byteOrderMark = "\ufeff"

// NewScanner returns a Scanner for the response to the request id.
func NewScanner(id int64) *Scanner { return &Scanner{judge: judge{id: id}} }

// Admit has Write and Finish call f before they parse a message, with its size
// in bytes; f may wait. If f returns false the reading is over, and Finish fails.
// Only the tree of the answer outlives the call that parsed it. Call it before
// the first Write.
func (s *Scanner) Admit(f func(size int) bool) { s.judge.admit = f }

// Write reads the next bytes of the body. It reports done as soon as it has seen
// the event that answers, or one after which no answer can come; end is then the
// offset in the whole body just after that event, its blank line included, and 0
// before. Bytes after the end, in p or in later writes, are ignored.
//
// Where lines end in CRLF, end lies after the LF of the blank line. Write waits
// for that LF only if the line before ended in CRLF.
func (s *Scanner) Write(p []byte) (end int64, done bool) {
	if s.finished || s.done {
		return s.answered.end, s.done
	}
	switch s.form {
	case formUnknown:
		s.head = append(s.head, p...)
		if s.sniff(); s.form == formStream {
			text, found := bytes.CutPrefix(s.head, []byte(byteOrderMark))
			if found {
				s.size = int64(len(byteOrderMark))
			}
			s.stream(text)
		}
	case formJSON:
		s.head = append(s.head, p...)
	case formStream:
		if !s.isStream {
			s.head = append(s.head, p...)
		}
		s.stream(p)
	}
	return s.answered.end, s.done
}

// sniff decides what the body is, once there is a byte to tell by.
func (s *Scanner) sniff() {
	if s.spaces == 0 {
		if len(s.head) < len(byteOrderMark) && bytes.HasPrefix([]byte(byteOrderMark), s.head) {
			return // perhaps a byte order mark
		}
		if s.bom = bytes.HasPrefix(s.head, []byte(byteOrderMark)); s.bom {
			s.spaces = len(byteOrderMark)
		}
	}
	rest := bytes.TrimLeft(s.head[s.spaces:], jsonSpace)
	s.spaces = len(s.head) - len(rest)
	switch {
	case len(rest) == 0:
	case rest[0] == '{' || rest[0] == '[':
		s.form = formJSON
	case rest[0] == '<':
		s.form, s.head = formPage, nil
	default:
		s.form = formStream
	}
}

// stream reads bytes of an event stream.
func (s *Scanner) stream(p []byte) {
	for len(p) > 0 && !s.done {
		if s.cr || s.blank {
			if p[0] == '\n' {
				p, s.size, s.crlf = p[1:], s.size+1, true
			}
			due := s.blank
			s.cr, s.blank = false, false
			if due {
				s.dispatch()
			}
			continue
		}
		n := bytes.IndexAny(p, "\r\n")
		if n < 0 {
			s.line = append(s.line, p...)
			s.size += int64(len(p))
			return
		}
		line, cr := p[:n], p[n] == '\r'
		if len(s.line) > 0 {
			s.line = append(s.line, line...)
			line = s.line
		}
		p, s.size = p[n+1:], s.size+int64(n)+1
		s.endLine(line, cr)
		s.line = s.line[:0]
	}
}

// endLine takes a line that ended in LF, or in CR and perhaps an LF to come.
func (s *Scanner) endLine(line []byte, cr bool) {
	afterCRLF := s.crlf
	s.crlf = false
	switch {
	case len(line) > 0:
		s.cr = cr
		s.field(line)
	case cr && afterCRLF:
		s.blank = true // dispatched when it is known whether the LF follows
	default:
		s.cr = cr
		s.dispatch()
	}
}

// field takes one line that is not blank.
func (s *Scanner) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		s.data = append(append(s.data, value...), '\n')
	case "event":
		s.name = append(s.name[:0], value...)
	case "", "id", "retry": // a comment has an empty name
	default:
		return
	}
	s.isStream, s.head = true, nil
}

// dispatch ends the current event.
func (s *Scanner) dispatch() {
	data, name := s.data, string(s.name)
	s.data, s.name = s.data[:0], s.name[:0]
	if len(bytes.Trim(data, jsonSpace)) == 0 {
		return
	}
	s.hadData = true
	here := mark{s.size, s.cutOff}
	switch name {
	case "endpoint":
		s.old, s.done, s.answered = true, true, here
	case "", "message":
		others := s.judge.others
		if s.judge.show(data) {
			s.done, s.answered = true, here
		} else if others == 0 && s.judge.others > 0 {
			s.other = here
		}
	}
}

// Finish returns the response, once Write is done or the body has ended. It
// fails with *[Fault] only. Calling it again gives the same; a Write after it
// does nothing.
func (s *Scanner) Finish() (Response, error) {
	if !s.finished {
		if s.form == formStream && !s.done {
			s.endStream()
		}
		s.response, s.fault = s.finish()
		s.finished = true
		s.head, s.line, s.data = nil, nil, nil
	}
	if s.fault != nil {
		return Response{}, s.fault
	}
	return s.response, nil
}

// End returns the offset in the body up to which it is to be kept: just after
// the event that answers, or the whole length of a body that is JSON or ends in
// that event. It is known when [Scanner.Finish] has returned a response, and is
// 0 when it has failed.
func (s *Scanner) End() int64 { return s.end }

// endStream takes what the end of the stream cut off: the LF of a CRLF, or a
// line, or an event.
func (s *Scanner) endStream() {
	if s.blank {
		s.dispatch()
		return
	}
	if len(s.line) > 0 {
		s.field(s.line)
	}
	s.cutOff = true
	s.dispatch()
}

func (s *Scanner) finish() (Response, *Fault) {
	switch {
	case s.old:
		return Response{}, &Fault{record.DetailOldSSE, "an event stream with an endpoint event, as the older HTTP+SSE transport sends it"}
	case s.form == formPage:
		return Response{}, &Fault{record.DetailHTML, "a web page"}
	case s.form == formUnknown && s.spaces == len(s.head):
		return Response{}, &Fault{record.DetailEmpty, "nothing but white space"}
	case s.isStream:
		return s.finishStream()
	}
	return s.finishJSON()
}

func (s *Scanner) finishStream() (Response, *Fault) {
	none := &Fault{record.DetailNotJSONRPC, "an event stream that ended without a response"}
	if !s.hadData {
		none = &Fault{record.DetailEmpty, "an event stream without data"}
	}
	r, fault := s.judge.end(none)
	if fault != nil {
		return r, fault
	}
	at := s.answered
	if !s.judge.decided {
		at = s.other
	}
	var flags []record.Flag
	if at.cutOff {
		flags = append(flags, record.FlagSSEUnterminated)
	}
	r.Stream = true
	return s.found(r, at.end, flags...), nil
}

func (s *Scanner) finishJSON() (Response, *Fault) {
	text, _ := bytes.CutPrefix(s.head, []byte(byteOrderMark))
	s.judge.show(text)
	r, fault := s.judge.end(&Fault{record.DetailNotJSONRPC, "JSON, but not a response"})
	if fault != nil {
		return r, fault
	}
	return s.found(r, int64(len(s.head))), nil
}

// found completes a response that was found in the first end bytes of the body.
func (s *Scanner) found(r Response, end int64, flags ...record.Flag) Response {
	s.end = end
	if s.bom {
		flags = append(flags, record.FlagBOM)
	}
	return withFlags(r, flags...)
}
