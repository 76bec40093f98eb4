package record

import (
	"fmt"
	"strconv"
	"strings"
)

// RunID returns the name of the n-th run of a day, counted from 1: the day
// itself, then the day with .2, .3 …
func RunID(d Day, n int) string {
	if n <= 1 {
		return string(d)
	}
	return fmt.Sprintf("%s.%d", d, n)
}

// ParseRunID reads what [RunID] writes, and nothing else.
func ParseRunID(s string) (d Day, n int, err error) {
	day, num, more := strings.Cut(s, ".")
	if d, err = ParseDay(day); err != nil {
		return "", 0, err
	}
	if !more {
		return d, 1, nil
	}
	if n, err = strconv.Atoi(num); err != nil || n < 2 || RunID(d, n) != s {
		return "", 0, fmt.Errorf("%q is not a run id", s)
	}
	return d, n, nil
}

// CompareRuns orders run ids by day, then by number. Ids that are not run ids
// come last, as strings.
func CompareRuns(a, b string) int {
	da, na, ea := ParseRunID(a)
	db, nb, eb := ParseRunID(b)
	if ea != nil || eb != nil {
		if (ea == nil) != (eb == nil) {
			if ea == nil {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	}
	if c := strings.Compare(string(da), string(db)); c != 0 {
		return c
	}
	return na - nb
}
