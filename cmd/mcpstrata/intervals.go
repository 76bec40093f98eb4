package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpstrata/mcpstrata/internal/survival"
)

// A sheet is a CSV file of intervals: a header that names the columns time and
// either event or cause, and perhaps entry and cluster, in any order, then one
// row an interval. It is read strictly and as a stream. A header without rows is
// a sample of none (km/README.md, edge-empty): nothing is known, and nothing wrong.
type sheet struct {
	name    string
	rows    *csv.Reader
	columns []string
	line    int // of the row read last
	record  []string

	intervals []survival.Interval
	labels    map[string]int32 // of clusters, in the order in which they came
	counts    [3][]int64       // by cause, of whole days without entry and cluster
	o         survival.Options
}

// countedDays bounds the whole days that are counted rather than kept as rows.
const countedDays = 1 << 16

// A rowError says where a file of intervals is wrong.
type rowError struct {
	file, column, what string
	line               int
}

func (e *rowError) Error() string {
	if e.column == "" {
		return fmt.Sprintf("%s: line %d: %s", e.file, e.line, e.what)
	}
	return fmt.Sprintf("%s: line %d, column %s: %s", e.file, e.line, e.column, e.what)
}

// readIntervals reads a file of intervals and tells which options its columns
// ask for. Clusters are numbered in the order of their names, so that no digit
// depends on the order of the rows.
func readIntervals(r io.Reader, name string) ([]survival.Interval, survival.Options, error) {
	s := &sheet{name: name, rows: csv.NewReader(r), labels: map[string]int32{}}
	s.rows.ReuseRecord = true
	s.rows.FieldsPerRecord = -1
	if err := s.header(); err != nil {
		return nil, s.o, err
	}
	for {
		switch ok, err := s.next(); {
		case err != nil:
			return nil, s.o, err
		case !ok:
			return s.all(), s.o, nil
		}
		if err := s.interval(); err != nil {
			return nil, s.o, err
		}
	}
}

func (s *sheet) wrong(column, format string, args ...any) error {
	return &rowError{file: s.name, line: s.line, column: column, what: fmt.Sprintf(format, args...)}
}

// next reads a row. An empty line, which encoding/csv skips, is an error unless
// only such follow.
func (s *sheet) next() (ok bool, err error) {
	s.record, err = s.rows.Read()
	var parse *csv.ParseError
	switch {
	case err == io.EOF:
		return false, nil
	case errors.As(err, &parse):
		s.line = parse.Line
		return false, s.wrong("", "at byte %d: %v", parse.Column, parse.Err)
	case err != nil:
		return false, fmt.Errorf("reading %s: %w", s.name, err)
	}
	s.line++
	if line, _ := s.rows.FieldPos(0); line != s.line {
		return false, s.wrong("", "it is empty")
	}
	return true, nil
}

func (s *sheet) header() error {
	ok, err := s.next()
	if err != nil {
		return err
	}
	if !ok {
		s.line = 1
		return s.wrong("", "there is no header")
	}
	s.columns = slices.Clone(s.record)
	for i, c := range s.columns {
		if !slices.Contains([]string{"time", "event", "cause", "entry", "cluster"}, c) {
			return s.wrong(quoted(c), "there is no such column: time, event or cause, entry, cluster")
		}
		if slices.Contains(s.columns[:i], c) {
			return s.wrong(c, "it is there twice")
		}
	}
	has := func(c string) bool { return slices.Contains(s.columns, c) }
	switch {
	case !has("time"):
		return s.wrong("time", "it is missing")
	case !has("event") && !has("cause"):
		return s.wrong("event", "it is missing, and so is cause")
	case has("event") && has("cause"):
		return s.wrong("event", "there is cause too")
	}
	s.o = survival.Options{Causes: has("cause"), Delayed: has("entry"), Cluster: has("cluster")}
	return nil
}

// interval takes the row read last.
func (s *sheet) interval() error {
	if n := len(s.record); n < len(s.columns) {
		return s.wrong(s.columns[n], "it is missing")
	} else if n > len(s.columns) {
		return s.wrong(strconv.Itoa(len(s.columns)+1), "the header does not name it")
	}
	var iv survival.Interval
	for i, c := range s.columns {
		if err := s.field(&iv, c, s.record[i]); err != nil {
			return err
		}
	}
	if s.o.Delayed && iv.Entry >= iv.Time {
		return s.wrong("entry", "%v is not before the time %v", iv.Entry, iv.Time)
	}
	day := int(min(iv.Time, countedDays))
	if s.o.Delayed || s.o.Cluster || day >= countedDays || float64(day) != iv.Time {
		s.intervals = append(s.intervals, iv)
		return nil
	}
	counts := &s.counts[iv.Cause]
	if day >= len(*counts) {
		*counts = append(*counts, make([]int64, day+1-len(*counts))...)
	}
	(*counts)[day]++
	return nil
}

// field reads one field.
func (s *sheet) field(iv *survival.Interval, column, text string) (err error) {
	if text == "" {
		return s.wrong(column, "it is empty")
	}
	switch column {
	case "time":
		iv.Time, err = s.time(column, text)
	case "entry":
		iv.Entry, err = s.time(column, text)
	case "cluster":
		if strings.Contains(text, "\n") {
			return s.wrong(column, "it goes on in the next line")
		}
		if !utf8.ValidString(text) { // else two names could look alike
			return s.wrong(column, "%s is not UTF-8", quoted(text))
		}
		n, ok := s.labels[text]
		if !ok {
			n = int32(len(s.labels))
			s.labels[strings.Clone(text)] = n
		}
		iv.Cluster, iv.Server = n, n
	default: // event, cause
		causes := "01"
		if column == "cause" {
			causes = "012"
		}
		if len(text) != 1 || !strings.Contains(causes, text) {
			return s.wrong(column, "%s is none of %s", quoted(text), strings.Join(strings.Split(causes, ""), ", "))
		}
		iv.Cause = int32(text[0] - '0')
	}
	return err
}

// time reads a decimal number that is a time.
func (s *sheet) time(column, text string) (float64, error) {
	if strings.Trim(text, "0123456789.eE+-") != "" { // not Inf, NaN, 0x1p3, 1_000
		return 0, s.wrong(column, "%s is no decimal number", quoted(text))
	}
	t, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return 0, s.wrong(column, "%s is no decimal number", quoted(text))
	case strings.HasPrefix(text, "-"): // -0 and what is rounded to it included
		return 0, s.wrong(column, "%s has a minus sign", quoted(text))
	case t > survival.MaxTime:
		return 0, s.wrong(column, "%s is too large", quoted(text))
	}
	return t, nil
}

// quoted returns a field for an error, the beginning of a long one.
func quoted(text string) string {
	if len(text) > 40 {
		return strconv.Quote(strings.ToValidUTF8(text[:40], "")) + "…"
	}
	return strconv.Quote(text)
}

// all returns the intervals, counted ones included.
func (s *sheet) all() []survival.Interval {
	for cause, days := range s.counts {
		for day, n := range days {
			for n > 0 {
				some := min(n, 1<<30)
				s.intervals = append(s.intervals, survival.Interval{Time: float64(day), Cause: int32(cause), N: int32(some)})
				n -= some
			}
		}
	}
	names := make([]string, 0, len(s.labels))
	for name := range s.labels {
		names = append(names, name)
	}
	slices.Sort(names)
	rank := make([]int32, len(names))
	for i, name := range names {
		rank[s.labels[name]] = int32(i)
	}
	if s.o.Cluster {
		for i := range s.intervals {
			iv := &s.intervals[i]
			iv.Cluster = rank[iv.Cluster]
			iv.Server = iv.Cluster
		}
	}
	return s.intervals
}
