// Package progress shows how far a long job is, on a stream that a person or a
// log reads.
//
// # Two forms
//
// On a terminal it is a bar that is redrawn in place and wiped at the end. On
// anything else, such as the log of a scheduled job, it is at most one line every
// 10 seconds, because a bar would be ten thousand lines there. Both end with one
// line that says how far the job came, and a job that is over sooner prints
// nothing but that:
//
//	mcpstrata: run: probed 1,200 of 12,981 (3 in flight)
//
// Nothing is printed between two calls: a job that stands still says nothing new.
package progress

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/cheggaaa/pb/v3"
	"golang.org/x/term"
)

const (
	// lineEvery is the time between two lines in a log (DESIGN.md 9).
	lineEvery = 10 * time.Second
	// drawEvery is the time between two pictures of a bar: steady to the eye,
	// and nothing against the job.
	drawEvery = 100 * time.Millisecond
)

// bar is the picture of a bar; its text is the line, so that both forms say the
// same words.
const bar pb.ProgressBarTemplate = `{{string . "line"}} {{bar . "[" "=" ">" " " "]"}} {{percent . "%.0f%%"}}`

// A Meter shows the progress of one job. It is safe for concurrent use.
type Meter struct {
	now  func() time.Time
	what string

	mu                    sync.Mutex // guards all below
	w                     io.Writer
	bar                   *pb.ProgressBar // nil: lines
	width                 func() int      // of the terminal, in cells
	shown                 time.Time       // when the newest line or picture was due; at first, when the job began
	done, total, inFlight int
	told, finished        bool
}

// New returns a Meter for a job that begins now and writes to w: a bar if w is a
// terminal, else lines. What is the line up to its numbers, such as
// "mcpstrata: run: probed". A nil now is the time of the system.
func New(w io.Writer, what string, now func() time.Time) *Meter {
	if now == nil {
		now = time.Now
	}
	m := &Meter{w: w, what: what, now: now, shown: now()}
	if f, ok := w.(interface{ Fd() uintptr }); ok && term.IsTerminal(int(f.Fd())) {
		m.useBar(func() int {
			width, _, err := term.GetSize(int(f.Fd()))
			if err != nil || width <= 0 {
				return 80
			}
			return width
		})
	}
	return m
}

// useBar makes m draw a bar as wide as width says.
func (m *Meter) useBar(width func() int) {
	m.width = width
	m.bar = pb.New(0).SetTemplate(bar)
	m.bar.Set(pb.Terminal, true).Set(pb.Color, false).Set(pb.Static, true).Set(pb.CleanOnFinish, true)
	m.bar.SetWriter(m.w)
}

// Set says that done of total pieces of the job are done, and how many are in
// flight. Its type is that of the Progress hook of a sweep.
func (m *Meter) Set(done, total, inFlight int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.finished {
		return
	}
	first := !m.told
	m.done, m.total, m.inFlight, m.told = done, total, inFlight, true
	now := m.now()
	switch {
	case m.bar != nil && (first || now.Sub(m.shown) >= drawEvery):
		m.draw()
	case m.bar == nil && now.Sub(m.shown) >= lineEvery:
		fmt.Fprintln(m.w, m.line())
	default:
		return
	}
	m.shown = now
}

// Done ends the display with one line that says how far the job came, or with
// none if Set was never called. Later calls do nothing.
func (m *Meter) Done() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.finished || !m.told {
		m.finished = true
		return
	}
	m.finished = true
	if m.bar != nil {
		m.bar.Finish()
		m.draw() // wipes it
	}
	m.inFlight = 0
	fmt.Fprintln(m.w, m.line())
}

func (m *Meter) draw() {
	m.bar.SetTotal(int64(m.total)).SetCurrent(int64(m.done)).Set("line", m.line())
	m.bar.SetWidth(m.width())
	m.bar.Write()
}

func (m *Meter) line() string {
	s := m.what + " " + Count(m.done) + " of " + Count(m.total)
	if m.inFlight > 0 {
		s += " (" + Count(m.inFlight) + " in flight)"
	}
	return s
}

// Count returns n for people, with a comma between thousands.
func Count(n int) string {
	s := strconv.Itoa(n)
	digits := 0
	if n < 0 {
		digits = 1
	}
	for i := len(s) - 3; i > digits; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
