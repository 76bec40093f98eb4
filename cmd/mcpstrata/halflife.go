package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/daily"
	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
	"github.com/mcpstrata/mcpstrata/internal/survival"
)

// horizons are the times, in days, for which the report states the survival
// curve.
const horizons = "30,90"

// tooShort stands in place of a half-life that was not reached.
const tooShort = "— (insufficient observation window)"

// halfLifeVerb prints how long contracts last: the figures of the report, or
// those of a file of intervals. Those of a data folder are of the series of record
// unless another line of observation is named: two lines are never one estimate.
func halfLifeVerb(_ context.Context, c *call) error {
	open := dataFlags(c)
	asJSON := c.flags.Bool("json", false, "print JSON")
	file := c.flags.String("csv", "", "estimate from the intervals of `FILE` (-: standard input) instead of a data folder;\na header without rows is a sample of none")
	means := c.flags.String("rmst", horizons, "`times` up to which the restricted mean is computed")
	at := c.flags.String("at", horizons, "`times` at which the share that lasts is computed")
	if _, err := c.parse(0, 0); err != nil {
		return err
	}
	o := survival.Options{}
	for _, list := range []struct {
		name, text string
		times      *[]float64
	}{{"rmst", *means, &o.RMST}, {"at", *at, &o.At}} {
		var err error
		if *list.times, err = times(list.text); err != nil {
			return usageError{fmt.Sprintf("-%s %q: %v", list.name, list.text, err)}
		}
	}
	if *file != "" {
		if other := c.given("data", "methodology"); len(other) > 0 {
			return usageError{"-csv reads no data folder: leave out -" + other[0]}
		}
		return c.halfLifeOfFile(*file, o, *asJSON)
	}
	v, err := open()
	if err != nil {
		return err
	}
	r, err := report.BuildAt(v.tree, v.methodology, report.Times{RMST: o.RMST, At: o.At})
	if err != nil {
		return fmt.Errorf("computing the figures: %w", err)
	}
	e := r.HalfLife.Estimate
	if *asJSON {
		return c.json(record.Line(withReport(e, r.HalfLife)))
	}
	w := &lines{w: c.stdout}
	printEstimate(w, e, " days")
	printReport(w, &r.HalfLife)
	w.printf("\n")
	printTable(w, e)
	return w.err
}

// halfLifeOfFile estimates from a file of intervals.
func (c *call) halfLifeOfFile(name string, o survival.Options, asJSON bool) error {
	in := c.stdin
	if name == "-" {
		name = "standard input"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return &daily.HintError{Err: err, Next: "FILE is a CSV file of intervals: a header with time and event (or cause), perhaps entry and cluster, then a row each"}
		}
		defer f.Close()
		in = f
	}
	intervals, asked, err := readIntervals(in, name)
	if err != nil {
		return err
	}
	asked.RMST, asked.At = o.RMST, o.At
	e, err := survival.Fit(intervals, asked)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if asJSON {
		return c.json(record.Line(e))
	}
	w := &lines{w: c.stdout}
	printEstimate(w, e, "")
	w.printf("\n")
	printTable(w, e)
	return w.err
}

// times reads a list of times, separated by commas.
func times(list string) (ts []float64, err error) {
	if list == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		t, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no number", text)
		}
		if !(t >= 0 && t <= survival.MaxTime) || strings.HasPrefix(text, "-") { // nor -0, or what is rounded to it
			return nil, fmt.Errorf("%q is no time", text)
		}
		ts = append(ts, t)
	}
	return ts, nil
}

// given returns those of the flags that the command line has.
func (c *call) given(names ...string) (given []string) {
	c.flags.Visit(func(f *flag.Flag) {
		if slices.Contains(names, f.Name) {
			given = append(given, f.Name)
		}
	})
	return given
}

// withReport returns an estimate with the other figures of the report beside it.
func withReport(e *survival.Estimate, h report.HalfLife) any {
	type others struct {
		report.HalfLife
		Estimate *struct{} `json:"estimate,omitempty"` // it stands above
	}
	return struct {
		*survival.Estimate
		Report others `json:"report"`
	}{e, others{HalfLife: h}}
}

// printEstimate prints what comes before the table, with a unit of time.
func printEstimate(w *lines, e *survival.Estimate, unit string) {
	if f := e.Flags.RiskSetEmptied; f != nil { // such a half-life is not to be published
		w.printf("%-16s — (all %d at risk at %s had the event while others were still to enter)\n", "half-life", f.N, number(f.At))
	} else {
		printHalfLives(w, e, unit)
	}
	w.printf("%-16s %d\n", "intervals", e.N)
	w.printf("%-16s %d\n", "events", e.NEvents)
	for _, a := range e.SurvAt {
		says := unknownAfter(a.BeyondLast)
		if a.Surv != nil {
			says = chanceText(&a)
		}
		w.printf("%-16s %s\n", "S("+number(a.T)+")", says)
	}
	for _, m := range e.RMST {
		says := unknownAfter(m.BeyondLast)
		if e.Known(&m) {
			says = fmt.Sprintf("%s%s, standard error %s", number(*m.RMST), unit, orDash(m.Se))
		}
		w.printf("%-16s %s\n", "mean to "+number(m.Tau), says)
	}
}

func printHalfLives(w *lines, e *survival.Estimate, unit string) {
	limits := e.HalfLife.CI.LogLog
	headline := halfLifeText(e.HalfLife.Value, limits[0], limits[1], unit)
	if e.Flags.Thin {
		headline += fmt.Sprintf("; thin: fewer than %d at risk", survival.ThinBelow)
	}
	w.printf("%-16s %s\n", "half-life", headline)
	if e.ClusterRobust == nil {
		return
	}
	clustered, weighted, few := report.Clustered(e)
	for _, of := range []struct {
		name string
		is   report.Interval
	}{{"clustered", clustered}, {"server-weighted", weighted}} {
		says := halfLifeText(of.is.Value, of.is.Lower, of.is.Upper, unit)
		if few {
			says = tooShort
			if of.is.Value != nil {
				says = number(*of.is.Value) + unit
			}
			says += fmt.Sprintf("; no limits: fewer than %d clusters", report.MinOperators)
		}
		w.printf("%-16s %s\n", of.name, says)
	}
}

// chanceText returns S at a time with its log-log limits. Where nothing has ended
// there are none.
func chanceText(a *survival.At) string {
	says := fmt.Sprintf("%s, 95 %% limits %s to %s", number(*a.Surv), orDash(a.CI.LogLog[0]), orDash(a.CI.LogLog[1]))
	if *a.Surv == 1 {
		says = "1, no limits: no event yet"
	}
	says += fmt.Sprintf(", %d at risk", a.NRisk)
	if a.NRisk < survival.ThinBelow {
		says += fmt.Sprintf("; thin: fewer than %d", survival.ThinBelow)
	}
	return says
}

func unknownAfter(beyond bool) string {
	if beyond {
		return "— (beyond the last time)"
	}
	return "—"
}

// halfLifeText returns a half-life with its log-log limits.
func halfLifeText[T ~float64](value, lower, upper *T, unit string) string {
	switch {
	case value != nil:
		return fmt.Sprintf("%s%s, 95 %% limits %s to %s", number(*value), unit, orDash(lower), orDash(upper))
	case lower != nil:
		return fmt.Sprintf("%s, 95 %% lower limit %s", tooShort, number(*lower))
	}
	return tooShort
}

// printReport prints the figures that stand beside the headline.
func printReport(w *lines, h *report.HalfLife) {
	days := func(d *report.Days) string {
		if d == nil {
			return report.Dash
		}
		return d.Text()
	}
	share := func(s report.Share) string {
		return fmt.Sprintf("%s of %s (%s)", s.N.Text(), s.Of.Text(), s.Text())
	}
	w.printf("%-16s %s\n", "servers", h.Servers.Text())
	switch {
	case h.AtLeast != nil:
		w.printf("%-16s %s, clustered by operator\n", "95 % lower limit", days(h.AtLeast))
	case h.MoreThan != nil:
		w.printf("%-16s more than %s, clustered by operator\n", "95 % lower limit", days(h.MoreThan))
	}
	w.printf("%-16s %s\n", "start unknown", share(h.StartUnknown))
	w.printf("%-16s %s\n", "top 1 % changed", share(h.TopShare))
	w.printf("\nunder other choices\n")
	for _, l := range h.Lines {
		value := report.Dash
		if l.HalfLife.Value != nil {
			value = fmt.Sprintf("%s, 95 %% limits %s to %s", days(l.HalfLife.Value), days(l.HalfLife.Lower), days(l.HalfLife.Upper))
		}
		w.printf("  %s: %s\n", l.Title, value)
	}
}

// printTable prints the curve with its log-log limits.
func printTable(w *lines, e *survival.Estimate) {
	w.printf("%10s %9s %8s %9s %10s %10s %10s\n", "time", "at risk", "events", "censored", "S", "lower", "upper")
	t := &e.Table
	for i, time := range t.Time {
		w.printf("%10s %9d %8d %9d %10s %10s %10s\n", number(time), t.NRisk[i], t.NEvent[i], t.NCensor[i],
			number(t.Surv[i]), orDash(t.CI.LogLog.Lower[i]), orDash(t.CI.LogLog.Upper[i]))
	}
}

// number writes six significant digits.
func number[T ~float64](x T) string { return strconv.FormatFloat(float64(x), 'g', 6, 64) }

func orDash[T ~float64](x *T) string {
	if x == nil {
		return report.Dash
	}
	return number(*x)
}
