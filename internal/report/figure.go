package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/record"
)

// A Figure is a published number that knows how it is written for people. A nil
// pointer to one is a figure that is not known, or not reached: [Dash].
type Figure interface{ Text() string }

// Dash stands for a figure that is not known or was not reached.
const Dash = "—"

// A Count is a number of things.
type Count int64

// Text returns c with a comma between groups of three digits.
func (c Count) Text() string { return grouped(int64(c)) }

// Days is a span of time in days. Half days occur, as the midpoint of a flat piece
// of a survival curve, and other fractions as means.
type Days float64

// Text returns d with its unit.
func (d Days) Text() string {
	switch {
	case d == 1:
		return "1 day"
	case float64(d) == math.Trunc(float64(d)):
		return grouped(int64(d)) + " days"
	}
	return strconv.FormatFloat(float64(d), 'f', 1, 64) + " days"
}

// A Probability is an estimate between 0 and 1.
type Probability float64

// Text returns p in percent with one decimal. What is not 0 is never written as
// 0, and what is not 1 never as 100.
func (p Probability) Text() string { return percent(float64(p)) }

// A Share is a part of a whole, in counts.
type Share struct {
	N  Count `json:"n"`
	Of Count `json:"of"`
}

// Text returns the share in percent with one decimal, and Dash of nothing. One
// that failed is never rounded to 100 %, one that changed never to 0 (case
// f-015); pages show the counts beside it.
func (s Share) Text() string {
	if s.Of == 0 {
		return Dash
	}
	return percent(float64(s.N) / float64(s.Of))
}

func percent(p float64) string {
	switch s := strconv.FormatFloat(100*p, 'f', 1, 64); {
	case p <= 0:
		return "0 %"
	case p >= 1:
		return "100 %"
	case s == "0.0":
		return "<0.1 %"
	case s == "100.0":
		return ">99.9 %"
	default:
		return s + " %"
	}
}

func grouped(n int64) string {
	sign := ""
	if n < 0 {
		sign, n = "−", -n
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// A Date is a UTC day, written for people as 30 Nov 2026.
type Date = record.Day

// Written returns a day for people, and Dash for the empty one.
func Written(d Date) string {
	if d == "" {
		return Dash
	}
	return d.Time().Format("2 Jan 2006")
}

// Text returns what stands for a value of a report on a page: of a [Figure] its
// text, of any other number its digits, six significant ones where it is not
// whole. It fails on what is no number.
func Text(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return Dash, nil
	case Figure:
		return v.Text(), nil
	case int:
		return grouped(int64(v)), nil
	case int64:
		return grouped(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return grouped(int64(v)), nil
		}
		return strings.Replace(strconv.FormatFloat(v, 'g', 6, 64), "e-0", "e-", 1), nil
	}
	return "", fmt.Errorf("%T is no figure", v)
}
