package jsonrpc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

const (
	ok       = `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`
	okString = `{"jsonrpc":"2.0","id":"2","result":{"tools":[]}}`
	okSeven  = `{"jsonrpc":"2.0","id":7,"result":{"seven":true}}`
	okNoID   = `{"jsonrpc":"2.0","result":{}}`
	changed  = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"id":2,"result":1}}`
	ping     = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// A reading is what a body comes to, in a form that is easy to write down.
type reading struct {
	result string // compact, if there was one
	err    string // code and message of an error response
	raw    string
	flags  string // joined by spaces
	fault  record.Detail
	end    int64
	stream bool
}

// finished returns what s came to.
func finished(t interface{ Fatalf(string, ...any) }, s *Scanner) (r reading) {
	resp, err := s.Finish()
	if err != nil {
		f, ok := errors.AsType[*Fault](err)
		if !ok || f.Reason == "" || !strings.Contains(f.Error(), string(f.Detail)) {
			t.Fatalf("Finish() = %v, want a *Fault with a reason", err)
		}
		if resp.Result != nil || resp.Error != nil || resp.Flags != nil || resp.Raw != nil || s.End() != 0 {
			t.Fatalf("Finish() = %+v, end %d beside %v, want nothing", resp, s.End(), err)
		}
		return reading{fault: f.Detail}
	}
	r = reading{raw: string(resp.Raw), end: s.End(), stream: resp.Stream}
	var flags []string
	for _, f := range resp.Flags {
		flags = append(flags, string(f))
	}
	r.flags = strings.Join(flags, " ")
	if resp.Result != nil {
		r.result = string(canon.AppendCompact(nil, resp.Result))
	}
	if e := resp.Error; e != nil {
		r.err = fmt.Sprintf("%d %s", e.Code, e.Message)
		if e.Data != nil {
			r.err += " " + string(canon.AppendCompact(nil, e.Data))
		}
	}
	return r
}

// whole reads a body in one write.
func whole(t interface{ Fatalf(string, ...any) }, body string) reading {
	s := NewScanner(2)
	s.Write([]byte(body))
	return finished(t, s)
}

func TestReadJSON(t *testing.T) {
	const tools = `{"tools":[]}`
	tests := []struct {
		name string
		body string
		want reading // raw and end of a response are the body's, if not given
	}{
		{"result", ok, reading{result: tools}},
		{"white space around", " \r\n\t" + ok + "\n\n", reading{result: tools, raw: ok}},
		{"byte order mark", "\ufeff" + ok, reading{result: tools, raw: ok, flags: "bom"}},
		{"byte order mark, then white space", "\ufeff\n" + ok, reading{result: tools, raw: ok, flags: "bom"}},
		{"byte order mark after white space", "\n\ufeff" + ok, reading{fault: "invalid_json"}},
		{"two byte order marks", "\ufeff\ufeff" + ok, reading{fault: "invalid_json"}},
		{"result null", `{"jsonrpc":"2.0","id":2,"result":null}`, reading{result: "null"}},
		{"result of any kind", `{"jsonrpc":"2.0","id":2,"result":[1.0]}`, reading{result: "[1.0]"}},
		{"error", `{"jsonrpc":"2.0","id":2,"error":{"code":-32022,"message":"no","data":{"supported":[]}}}`, reading{err: `-32022 no {"supported":[]}`}},
		{"error without message", `{"jsonrpc":"2.0","id":2,"error":{"code":0}}`, reading{err: "0 "}},
		{"error with a message that is none", `{"jsonrpc":"2.0","id":2,"error":{"code":-32000.0,"message":{}}}`, reading{err: "-32000 "}},
		{"error without code", `{"jsonrpc":"2.0","id":2,"error":{"message":"x"}}`, reading{fault: "not_jsonrpc"}},
		{"error code as a string", `{"jsonrpc":"2.0","id":2,"error":{"code":"-32000","message":"x"}}`, reading{fault: "not_jsonrpc"}},
		{"error code with a fraction", `{"jsonrpc":"2.0","id":2,"error":{"code":1.5,"message":"x"}}`, reading{fault: "not_jsonrpc"}},
		{"error code out of range", `{"jsonrpc":"2.0","id":2,"error":{"code":1e300,"message":"x"}}`, reading{fault: "not_jsonrpc"}},
		{"error that is a string", `{"jsonrpc":"2.0","id":2,"error":"x"}`, reading{fault: "not_jsonrpc"}},
		{"error null alone", `{"jsonrpc":"2.0","id":2,"error":null}`, reading{fault: "not_jsonrpc"}},
		{"result null and error", `{"jsonrpc":"2.0","id":2,"result":null,"error":{"code":1,"message":"x"}}`, reading{fault: "not_jsonrpc"}},
		{"result null and error null", `{"jsonrpc":"2.0","id":2,"result":null,"error":null}`, reading{result: "null", flags: "null_error"}},
		{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":2,"result":{}}`, reading{fault: "not_jsonrpc"}},
		{"jsonrpc a number", `{"jsonrpc":2.0,"id":2,"result":{}}`, reading{fault: "not_jsonrpc"}},
		{"no jsonrpc", `{"id":2,"result":{}}`, reading{result: "{}", flags: "no_jsonrpc"}},
		{"id as a string, and more", `{"id":"2","result":{},"error":null}`, reading{result: "{}", flags: "id_type no_jsonrpc null_error"}},
		{"id as another spelling of the number", `{"jsonrpc":"2.0","id":2.0,"result":{}}`, reading{result: "{}"}},
		{"id with a fraction", `{"jsonrpc":"2.0","id":2.5,"result":{}}`, reading{result: "{}", flags: "id_mismatch"}},
		{"id as a string that is not the same", `{"jsonrpc":"2.0","id":"02","result":{}}`, reading{result: "{}", flags: "id_mismatch"}},
		{"other id", okSeven, reading{result: `{"seven":true}`, flags: "id_mismatch"}},
		{"id null", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, reading{err: "-32700 x", flags: "id_mismatch"}},
		{"no id", okNoID, reading{result: "{}", flags: "id_mismatch"}},
		{"huge id", `{"jsonrpc":"2.0","id":1e400,"result":{}}`, reading{result: "{}", flags: "id_mismatch"}},
		{"id and nothing else", `{"jsonrpc":"2.0","id":2}`, reading{fault: "not_jsonrpc"}},
		{"member names are case-sensitive", `{"jsonrpc":"2.0","id":2,"Result":{}}`, reading{fault: "not_jsonrpc"}},
		{"request", ping, reading{fault: "not_jsonrpc"}},
		{"notification", changed, reading{fault: "not_jsonrpc"}},
		{"response that names its method", `{"jsonrpc":"2.0","id":2,"method":"tools/list","result":{}}`, reading{result: "{}"}},
		{"response with all members there are", `{"jsonrpc":"2.0","id":2,"method":null,"params":null,"result":{},"error":null}`, reading{result: "{}", flags: "null_error"}},
		{"request with all members there are", `{"jsonrpc":"2.0","id":2,"method":"ping","result":null,"error":null}`, reading{fault: "not_jsonrpc"}},
		{"empty object", `{}`, reading{fault: "not_jsonrpc"}},
		{"other JSON", `{"message":"hello"}`, reading{fault: "not_jsonrpc"}},
		{"other JSON with an error", `{"error":"invalid_token"}`, reading{fault: "not_jsonrpc"}},
		{"JSON null", "null", reading{fault: "not_jsonrpc"}},
		{"JSON string", " \"data: x\"\n", reading{fault: "not_jsonrpc"}},
		{"JSON number", "404", reading{fault: "not_jsonrpc"}},

		{"batch", "[" + ok + "]", reading{result: tools, raw: ok, flags: "batch"}},
		{"batch, announced", "[" + progress + ",\n" + changed + "," + okSeven + ", " + ok + "]", reading{result: tools, raw: ok, flags: "batch list_changed"}},
		{"batch, announced afterwards", "[" + ok + "," + changed + "]", reading{result: tools, raw: ok, flags: "batch"}},
		{"batch, exact id before the string", "[" + okString + "," + ok + "]", reading{result: tools, raw: ok, flags: "batch"}},
		{"batch, id as a string", "[1,null," + okSeven + "," + okString + "," + ping + "]", reading{result: tools, raw: okString, flags: "batch id_type"}},
		{"batch, one other id", "[" + ping + "," + okSeven + "]", reading{result: `{"seven":true}`, raw: okSeven, flags: "batch id_mismatch"}},
		{"batch, two other ids", "[" + okNoID + "," + okSeven + "]", reading{fault: "not_jsonrpc"}},
		{"batch, first of two answers", "[" + ok + `,{"jsonrpc":"2.0","id":2,"result":1}]`, reading{result: tools, raw: ok, flags: "batch"}},
		{"batch, malformed answer", "[" + okSeven + `,{"jsonrpc":"2.0","id":2}]`, reading{fault: "not_jsonrpc"}},
		{"batch in a batch", "[[" + ok + "]]", reading{fault: "not_jsonrpc"}},
		{"empty batch", "[]", reading{fault: "not_jsonrpc"}},

		{"nothing", "", reading{fault: "empty"}},
		{"white space", " \r\n\t\n", reading{fault: "empty"}},
		{"byte order mark alone", "\ufeff", reading{fault: "empty"}},
		{"byte order mark and white space", "\ufeff\n", reading{fault: "empty"}},
		{"half a byte order mark", "\xef\xbb", reading{fault: "invalid_json"}},
		{"HTML", "\n<!DOCTYPE html><title>data: {}</title>", reading{fault: "html"}},
		{"HTML after a byte order mark", "\ufeff<html>", reading{fault: "html"}},
		{"text", "Not Found", reading{fault: "invalid_json"}},
		{"text with a colon", "error: invalid token\n\n", reading{fault: "invalid_json"}},
		{"NDJSON", ok + "\n" + ok, reading{fault: "invalid_json"}},
		{"NaN", `{"jsonrpc":"2.0","id":2,"result":NaN}`, reading{fault: "invalid_json"}},
		{"duplicate member", `{"jsonrpc":"2.0","id":2,"result":1,"result":2}`, reading{fault: "invalid_json"}},
		{"lone surrogate", `{"jsonrpc":"2.0","id":2,"result":"\ud800"}`, reading{fault: "invalid_json"}},
		{"cut off", ok[:len(ok)-1], reading{fault: "invalid_json"}},
		{"no-break space after", ok + "\u00a0", reading{fault: "invalid_json"}},
		{"too deep", `{"jsonrpc":"2.0","id":2,"result":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + "}", reading{fault: "invalid_json"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want.fault == "" {
				tt.want.end = int64(len(tt.body))
				if tt.want.raw == "" {
					tt.want.raw = tt.body
				}
			}
			if got := whole(t, tt.body); got != tt.want {
				t.Errorf("Read(%q) = %+v, want %+v", tt.body, got, tt.want)
			}
			sameInPieces(t, tt.body)
		})
	}
}

func TestReadStream(t *testing.T) {
	const tools = `{"tools":[]}`
	const event = "data: " + ok + "\n\n"
	tests := []struct {
		name string
		body string // up to |, if there is one, it is to be kept
		done bool   // known before the body ends
		want reading
	}{
		{"event", event, true, reading{result: tools}},
		{"event that is named", "event: message\nid: 1\n" + event, true, reading{result: tools}},
		{"more after it", event + "|data: x\n\n: ping\n\n", true, reading{result: tools}},
		{"CRLF", "event: message\r\ndata: " + ok + "\r\n\r\n|: ping\r\n\r\n", true, reading{result: tools}},
		{"CRLF, last LF missing", "data: " + ok + "\r\n\r", false, reading{result: tools}},
		{"CRLF, last LF replaced", "data: " + ok + "\r\n\r|: ping\r\n", true, reading{result: tools}},
		{"lone CR", "event: message\rdata: " + ok + "\r\r", true, reading{result: tools}},
		{"lone CR, an LF follows", "data: " + ok + "\r\r|\n", true, reading{result: tools}},
		{"LF, then CR", "data: " + ok + "\n\r|\n", true, reading{result: tools}},
		{"CRLF, then LF", "data: " + ok + "\r\n\n|\n", true, reading{result: tools}},
		{"byte order mark", "\ufeff" + event, true, reading{result: tools, flags: "bom"}},
		{"byte order mark, CRLF", "\ufeffdata: " + ok + "\r\n\r\n|x", true, reading{result: tools, flags: "bom"}},
		{"blank lines first", "\n\n\r\n\r" + event, true, reading{result: tools}},
		{"no space after the colon", "data:" + ok + "\n\n", true, reading{result: tools}},
		{"comments, empty data, id, retry, unknown", ":\n: keep-alive\n\nretry: 3000\nid\ndata\n\ndata: \n\nfoo: bar\nfoo\n data: {}\n" + event, true, reading{result: tools}},
		{"several data lines", "data: {\"jsonrpc\":\"2.0\",\"id\":2,\ndata\ndata:\ndata: \"result\":\ndata:  1}\n\n", true,
			reading{result: "1", raw: "{\"jsonrpc\":\"2.0\",\"id\":2,\n\n\n\"result\":\n 1}"}},
		{"a string can't span lines", "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"a\ndata: b\"}\n\n", false, reading{fault: "invalid_json"}},
		{"other events are skipped", "event: ping\n" + event + "event:\n" + event, true, reading{result: tools}},
		{"name of an event does not outlast it", "event: ping\n\n" + event, true, reading{result: tools}},
		{"last name counts", "event: ping\nevent: message\n" + event, true, reading{result: tools}},
		{"only other events", "event: ping\n" + event, false, reading{fault: "not_jsonrpc"}},
		{"notifications and requests", "data: " + progress + "\n\ndata: " + ping + "\n\n" + event, true, reading{result: tools}},
		{"announced change", "data: " + changed + "\n\n" + event, true, reading{result: tools, flags: "list_changed"}},
		{"text between", "data: [DONE]\n\ndata: hello\n\n" + event, true, reading{result: tools}},
		{"batch", "data: [" + changed + "," + ok + "]\n\n|data\n", true, reading{result: tools, raw: ok, flags: "batch list_changed"}},
		{"batch of notifications", "data: [" + progress + "]\n\n" + event, true, reading{result: tools}},
		{"error", "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,\"message\":\"x\"}}\n\n", true,
			reading{err: "-32601 x", raw: `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"x"}}`}},

		{"id as a string", "data: " + okString + "\n\n|" + event, true, reading{result: tools, raw: okString, flags: "id_type"}},
		{"other id does not end the stream", "data: " + okSeven + "\n\n" + event, true, reading{result: tools}},
		{"other id alone", ": x\n\ndata: " + okSeven + "\n\n|data: " + changed + "\n\n: x\n\n", false, reading{result: `{"seven":true}`, raw: okSeven, flags: "id_mismatch"}},
		{"two other ids", "data: " + okSeven + "\n\ndata: " + okNoID + "\n\n", false, reading{fault: "not_jsonrpc"}},
		{"other id in a batch, buffers reused", "data: [" + okSeven + "]\n\n|data: [" + progress + "," + progress + "]\n\n", false,
			reading{result: `{"seven":true}`, raw: okSeven, flags: "batch id_mismatch"}},
		{"answer that is neither result nor error", "data: {\"jsonrpc\":\"2.0\",\"id\":2}\n\n", true, reading{fault: "not_jsonrpc"}},
		{"answer with a duplicate member", "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":1,\"a\":2}}\n\n", true, reading{fault: "invalid_json"}},
		{"answer with a duplicate member, id as a string", "data: {\"id\":\"2\",\"result\":{\"a\":1,\"a\":2}}\n\n", true, reading{fault: "invalid_json"}},
		{"notification with a duplicate member", "data: {\"method\":\"x\",\"id\":2,\"id\":2}\n\n" + event, true, reading{result: tools}},
		{"answer with invalid UTF-8", "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"\xff\"}\n\n", true, reading{fault: "invalid_json"}},
		{"answer with NaN", "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":NaN}\n\n", false, reading{fault: "invalid_json"}},
		{"byte order mark in data", "data: \ufeff" + ok + "\n\n", false, reading{fault: "invalid_json"}},

		{"cut off before the blank line", event[:len(event)-1], false, reading{result: tools, flags: "sse_unterminated"}},
		{"cut off before the line end", event[:len(event)-2], false, reading{result: tools, flags: "sse_unterminated"}},
		{"cut off after a CR", "data: " + ok + "\r", false, reading{result: tools, flags: "sse_unterminated"}},
		{"cut off after a CRLF", "data: " + ok + "\r\n", false, reading{result: tools, flags: "sse_unterminated"}},
		{"cut off in the JSON", event[:len(event)-3], false, reading{fault: "invalid_json"}},
		{"cut off in the next event", event + "|data: {", true, reading{result: tools}},
		{"cut off, other id", "data: " + okSeven, false, reading{result: `{"seven":true}`, raw: okSeven, flags: "id_mismatch sse_unterminated"}},
		{"other id, then cut off", "data: " + okSeven + "\n\n|data: {", false, reading{result: `{"seven":true}`, raw: okSeven, flags: "id_mismatch"}},
		{"other id, then ours, cut off", "data: " + okSeven + "\n\n" + "data: " + ok, false, reading{result: tools, flags: "sse_unterminated"}},

		{"old transport", "event: endpoint\ndata: /messages?id=1\n\n" + event, true, reading{fault: "old_sse"}},
		{"old transport, CRLF", "event: endpoint\r\ndata: /messages?id=1\r\n\r\n" + event, true, reading{fault: "old_sse"}},
		{"old transport, cut off", "event: endpoint\ndata: /messages?id=1\n", false, reading{fault: "old_sse"}},
		{"endpoint event without data", "event: endpoint\n\n" + event, true, reading{result: tools}},
		{"only comments", ": ping\n\n: ping\n\n", false, reading{fault: "empty"}},
		{"only a priming event", "id: 1\nretry: 10\ndata: \n\n", false, reading{fault: "empty"}},
		{"only white space in data", "data:  \ndata: \t\n\n", false, reading{fault: "empty"}},
		{"only a notification", "data: " + changed + "\n\n", false, reading{fault: "not_jsonrpc"}},
		{"only text", "data: hello\n\n", false, reading{fault: "invalid_json"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			keep, rest, _ := strings.Cut(tt.body, "|")
			body := keep + rest
			if tt.want.fault == "" {
				tt.want.end, tt.want.stream = int64(len(keep)), true
				if tt.want.raw == "" {
					tt.want.raw = ok
				}
			}
			if got := whole(t, body); got != tt.want {
				t.Errorf("Read(%q) = %+v, want %+v", body, got, tt.want)
			}
			if _, done := NewScanner(2).Write([]byte(body)); done != tt.done {
				t.Errorf("Write(%q) done = %v, want %v", body, done, tt.done)
			}
			sameInPieces(t, body)
		})
	}
}

// sameInPieces checks that body, written byte by byte and in random pieces, is
// done at the same byte as in any other way and comes to the same, and that the
// part to be kept reads the same as the whole.
func sameInPieces(t *testing.T, body string) {
	t.Helper()
	want := whole(t, body)
	first := func(s *Scanner, next func(left int) int) (end int64, at int) {
		for at < len(body) {
			n := next(len(body) - at)
			end, done := s.Write([]byte(body[at : at+n]))
			if at += n; done {
				return end, at
			}
			if end != 0 {
				t.Fatalf("Write = %d, not done, want 0", end)
			}
		}
		return 0, -1
	}
	s := NewScanner(2)
	end, doneAt := first(s, func(int) int { return 1 })
	if got := finished(t, s); got != want {
		t.Errorf("%q byte by byte = %+v, want %+v", body, got, want)
	}
	r := rand.New(rand.NewPCG(1, uint64(len(body))))
	for range 20 {
		s := NewScanner(2)
		gotEnd, at := first(s, func(left int) int { return r.IntN(min(left, 9) + 1) })
		if gotEnd != end || at < doneAt || (at < 0) != (doneAt < 0) {
			t.Errorf("%q in pieces is done with end %d after %d bytes, byte by byte with %d after %d", body, gotEnd, at, end, doneAt)
		}
		if got := finished(t, s); got != want {
			t.Errorf("%q in pieces = %+v, want %+v", body, got, want)
		}
	}
	if want.fault == "" {
		if got := whole(t, body[:want.end]); got != want {
			t.Errorf("kept part %q = %+v, want %+v as of the whole", body[:want.end], got, want)
		}
	}
}

// A CRLF stream that stays open must not lose its last LF, and a lone-CR stream
// must not be waited for.
func TestWriteEndsInTime(t *testing.T) {
	tests := []struct {
		name   string
		writes []string
		want   []bool
	}{
		{"LF", []string{"data: " + ok + "\n", "\n"}, []bool{false, true}},
		{"CRLF in one", []string{"data: " + ok + "\r\n\r\n"}, []bool{true}},
		{"CRLF torn apart", []string{"data: " + ok + "\r", "\n\r", "\n"}, []bool{false, false, true}},
		{"CR", []string{"data: " + ok + "\r", "\r"}, []bool{false, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, size := NewScanner(2), int64(0)
			for i, w := range tt.writes {
				size += int64(len(w))
				end, done := s.Write([]byte(w))
				if done != tt.want[i] || done && end != size {
					t.Errorf("Write(%q) = %d, %v, want %d, %v", w, end, done, size, tt.want[i])
				}
			}
			end, done := s.Write([]byte("data: more\n\n"))
			if end != size || !done {
				t.Errorf("Write after the end = %d, %v, want %d, true", end, done, size)
			}
		})
	}
}

func TestFinishTwice(t *testing.T) {
	s := NewScanner(2)
	s.Write([]byte("data: " + okSeven))
	first := finished(t, s)
	s.Write([]byte("\n\ndata: " + ok + "\n\n"))
	if again := finished(t, s); again != first {
		t.Errorf("Finish again = %+v, want %+v", again, first)
	}
}

func TestReadNegativeID(t *testing.T) {
	r, err := Read([]byte(`{"jsonrpc":"2.0","id":"-5","result":1}`), -5)
	if err != nil || len(r.Flags) != 1 || r.Flags[0] != record.FlagIDType {
		t.Errorf("Read with id -5 = %+v, %v, want the flag id_type", r, err)
	}
}

// Streams of random lines, random line ends and random cuts.
func TestPieces(t *testing.T) {
	lines := []string{
		"", "", "", ": ping", ":", "id: 1", "retry: 5", "event: message", "event: ping", "event: endpoint", "event", "data", "data: ",
		"data: " + ok, "data: " + ok, "data: " + okString, "data: " + okSeven, "data: " + okNoID, "data: " + changed, "data: " + ping, "data: [" + okSeven + "," + ok + "]",
		`data: {"jsonrpc":"2.0","id":2,`, `data: "result":{}}`, "data: {", "foo: bar", ok, "<p>", " ",
	}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		if rapid.IntRange(0, 9).Draw(t, "bom") == 0 {
			b.WriteString("\ufeff")
		}
		style := rapid.IntRange(0, 3).Draw(t, "ends")
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			b.WriteString(rapid.SampledFrom(lines).Draw(t, "line"))
			if style == 3 {
				b.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "end"))
			} else {
				b.WriteString([]string{"\n", "\r\n", "\r"}[style])
			}
		}
		body := b.String()
		body = body[:len(body)-min(len(body), rapid.IntRange(0, 5).Draw(t, "cut"))]
		one, many := NewScanner(2), NewScanner(2)
		oneEnd, oneDone := one.Write([]byte(body))
		var manyEnd int64
		var manyDone bool
		for at := 0; at < len(body); {
			n := rapid.IntRange(1, len(body)-at).Draw(t, "piece")
			manyEnd, manyDone = many.Write([]byte(body[at : at+n]))
			at += n
		}
		if oneEnd != manyEnd || oneDone != manyDone {
			t.Fatalf("Write(%q) = %d, %v, in pieces %d, %v", body, oneEnd, oneDone, manyEnd, manyDone)
		}
		want, got := finished(t, one), finished(t, many)
		if got != want {
			t.Fatalf("Read(%q) = %+v, in pieces %+v", body, want, got)
		}
		if want.fault == "" {
			if kept := whole(t, body[:want.end]); kept != want {
				t.Fatalf("Read(%q) = %+v, of the kept part %+v", body, want, kept)
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("event: message\r\ndata: "+ok+"\r\n\r\n"), uint16(9))
	f.Add([]byte("["+changed+","+ok+"]"), uint16(3))
	f.Add([]byte("\ufeffdata: "+okSeven+"\r\rdata: {"), uint16(2))
	f.Fuzz(func(t *testing.T, body []byte, cut uint16) {
		want := whole(t, string(body))
		s, n := NewScanner(2), min(int(cut), len(body))
		s.Write(body[:n])
		s.Write(body[n:])
		if got := finished(t, s); got != want {
			t.Errorf("Read(%q) = %+v, cut at %d %+v", body, want, n, got)
		}
		if want.fault == "" {
			if kept := whole(t, string(body[:want.end])); kept != want {
				t.Errorf("Read(%q) = %+v, of the kept part %+v", body, want, kept)
			}
		}
	})
}

// Answers that real servers gave; they are not ours to copy.
func TestCaptures(t *testing.T) {
	files, err := filepath.Glob("../../../shared/captures/*/*tools-list*.body")
	if err != nil || len(files) == 0 {
		t.Skip("no captures here")
	}
	answered := 0
	for _, file := range files {
		head, err := os.ReadFile(strings.TrimSuffix(file, ".body") + ".head")
		if err != nil {
			t.Fatal(err)
		}
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, status, _ := strings.Cut(string(head), " "); !strings.HasPrefix(status, "200") {
			continue
		}
		r, err := Read(body, requestID(t, file))
		if err != nil {
			t.Errorf("%s: Read = %v, want a response", file, err)
			continue
		}
		if r.Flags != nil {
			t.Errorf("%s: Read has flags %v, want none", file, r.Flags)
		}
		if diff := cmp.Diff(strings.Contains(strings.ToLower(string(head)), "text/event-stream"), r.Stream); diff != "" {
			t.Errorf("%s: event stream (-want +got):\n%s", file, diff)
		}
		answered++
	}
	if answered == 0 {
		t.Errorf("none of %d captures has status 200, want some", len(files))
	}
}

// requestID returns the id of the request that a capture answers.
func requestID(t *testing.T, file string) int64 {
	b, err := os.ReadFile(strings.TrimSuffix(file, ".body") + ".req.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := canon.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	id, isInt := integer(v.Get("id").Text)
	if !isInt {
		t.Fatalf("%s: no integer id in the request", file)
	}
	return id
}

// One line of 8 MB, one event of 8 MB in lines of one byte, and a body whose
// kind shows only at its end: all must take time in proportion.
func BenchmarkScanner(b *testing.B) {
	const size = 8 << 20
	line := `data: {"jsonrpc":"2.0","id":2,"result":"` + strings.Repeat("x", size) + "\"}\n\n"
	lines := "data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\n" + strings.Repeat("data: \n", size/7) + "data: 1}\n\n"
	digits := "data: [\n" + strings.Repeat("data:1\ndata:,\n", size/14) + "data:1]\n\n"
	for _, bb := range []struct{ name, body string }{
		{"OneLine", line}, {"ShortLines", lines}, {"OneByteLines", digits},
		{"Spaces", strings.Repeat(" ", size)}, {"Deep", strings.Repeat("[", size)},
		{"Events", strings.Repeat("data: {}\n\n", size/10)}, {"NoStream", strings.Repeat("x\n", size/2)},
	} {
		for _, chunk := range []int{1, 4 << 10, len(bb.body)} {
			b.Run(fmt.Sprintf("%s/%d", bb.name, chunk), func(b *testing.B) {
				body := []byte(bb.body)
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					s := NewScanner(2)
					for at := 0; at < len(body); at += chunk {
						s.Write(body[at:min(at+chunk, len(body))])
					}
					s.Finish()
				}
			})
		}
	}
}
