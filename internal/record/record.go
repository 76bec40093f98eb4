// Package record defines the records that data/ publishes: roster, observations,
// events, runs, capture and when two captures compare, the methodologies, the
// closed set of error classes. It is data only; nothing here does I/O.
//
// # Form
//
// Every record is one JSON object. In a .jsonl file it is one line; member names
// are sorted, there are no floating-point numbers, times are RFC 3339 in UTC to
// the second, lines end in LF. A member that is absent is unknown, never
// guessed. [Line] writes the form and [Decode] reads it, refusing members that
// this version does not know. Go fields stand in the order of their JSON names,
// so that encoding/json sorts by itself; a test holds every type to it.
//
// # Outcome and error
//
// How a server behaved is data: an [Outcome], of a closed set of classes with an
// open detail. It is never a Go error. Go errors are for what went wrong on our
// side.
package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// A Day is a UTC calendar day, written 2006-01-02. The empty Day is unknown.
// Days compare as strings.
type Day string

// DayOf returns the UTC day on which t falls.
func DayOf(t time.Time) Day { return Day(t.UTC().Format(time.DateOnly)) }

// ParseDay reads a day written 2006-01-02, and nothing else.
func ParseDay(s string) (Day, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Format(time.DateOnly) != s {
		return "", fmt.Errorf("%q is not a day of the form 2006-01-02", s)
	}
	return Day(s), nil
}

// Time returns the midnight, in UTC, at which d begins. It panics on a Day that
// did not come from [DayOf] or [ParseDay].
func (d Day) Time() time.Time {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		panic("record: malformed day " + string(d))
	}
	return t
}

// A Time is an instant to the second. In JSON it is RFC 3339 in UTC; the zero
// Time is unknown and is omitted by omitzero.
type Time struct{ time.Time }

// At returns t in UTC, cut to the second.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Second)} }

// MarshalJSON writes t as RFC 3339 in UTC, without fractions.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(time.RFC3339) + `"`), nil
}

// UnmarshalJSON reads what MarshalJSON writes, and nothing else.
func (t *Time) UnmarshalJSON(b []byte) error {
	const layout = `"2006-01-02T15:04:05Z"`
	v, err := time.Parse(layout, string(b))
	if err != nil || v.Format(layout) != string(b) { // Parse takes fractions that the layout lacks
		return fmt.Errorf("%s is not a time of the form 2006-01-02T15:04:05Z", b)
	}
	t.Time = v
	return nil
}

// Line returns v as one line of a .jsonl file, with its LF. It panics on a value
// that JSON can't hold, which no record contains.
func Line(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("record: encoding: " + err.Error())
	}
	return buf.Bytes()
}

// File returns v as a file of its own: indented by one space, with a final LF.
func File(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		panic("record: encoding: " + err.Error())
	}
	return buf.Bytes()
}

// Decode reads one record from b into v. It fails on members that v does not
// have, on trailing data, and on malformed JSON.
func Decode(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("more than one JSON value on a line")
	}
	return nil
}
