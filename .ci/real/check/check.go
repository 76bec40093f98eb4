// Package check counts what passed and what failed, one line each.
package check

import (
	"fmt"
	"io"
	"strings"
)

// A Report prints one line per check and keeps the count. It is not safe for
// use by several goroutines.
type Report struct {
	Out    io.Writer
	passed int
	failed int
}

// OK records a check: what is said is what should hold.
func (r *Report) OK(ok bool, format string, args ...any) bool {
	what := fmt.Sprintf(format, args...)
	if ok {
		r.passed++
		fmt.Fprintf(r.Out, "pass  %s\n", what)
	} else {
		r.failed++
		fmt.Fprintf(r.Out, "FAIL  %s\n", what)
	}
	return ok
}

// None records a check that holds when there is no problem, and prints the
// problems otherwise.
func (r *Report) None(problems []string, format string, args ...any) bool {
	ok := r.OK(len(problems) == 0, format, args...)
	for i, p := range problems {
		if i == maxProblems {
			fmt.Fprintf(r.Out, "      … and %d more\n", len(problems)-i)
			break
		}
		fmt.Fprintf(r.Out, "      %s\n", strings.ReplaceAll(p, "\n", "\n      "))
	}
	return ok
}

// maxProblems bounds what one failed check prints.
const maxProblems = 12

// Note prints a line that is no check.
func (r *Report) Note(format string, args ...any) {
	fmt.Fprintf(r.Out, "      "+format+"\n", args...)
}

// Close prints the closing line, "N passed, N failed", and reports whether at
// least one check ran and none failed.
func (r *Report) Close() bool {
	fmt.Fprintf(r.Out, "%d passed, %d failed\n", r.passed, r.failed)
	return r.failed == 0 && r.passed > 0
}

// A List gathers the problems of one check.
type List []string

// Add appends a problem.
func (l *List) Add(format string, args ...any) {
	*l = append(*l, fmt.Sprintf(format, args...))
}

// Same appends a problem unless got and want print the same.
func (l *List) Same(what string, got, want any) {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		l.Add("%s = %s, want %s", what, g, w)
	}
}
