package site

import (
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/report"
)

// maxTableRows bounds the rows of the table on the page; the CSV beside it has
// all of them.
const maxTableRows = 120

// tableRows returns the indices of the rows of the survival table that the page
// shows: those with an event, and of very many evenly chosen ones, first and
// last included; cut says that there are more.
func tableRows(h report.HalfLife) (rows []int, cut bool) {
	if h.Estimate == nil {
		return nil, false
	}
	for i, n := range h.Estimate.Table.NEvent {
		if n > 0 {
			rows = append(rows, i)
		}
	}
	if len(rows) <= maxTableRows {
		return rows, false
	}
	chosen := make([]int, maxTableRows)
	for i := range chosen {
		chosen[i] = rows[i*(len(rows)-1)/(maxTableRows-1)]
	}
	return chosen, true
}

// tableCSV returns the whole table of the survival estimate (RFC 4180): times in
// days, the pointwise log-log 95 % limits, empty where there are none.
func tableCSV(h report.HalfLife) []byte {
	var out strings.Builder
	w := csv.NewWriter(&out)
	w.Write([]string{"time", "n_risk", "n_event", "n_censor", "surv", "lower", "upper"}) // to a Builder: no error
	if h.Estimate != nil {
		t := h.Estimate.Table
		for i := range t.Time {
			w.Write([]string{
				number(t.Time[i]), strconv.Itoa(t.NRisk[i]), strconv.Itoa(t.NEvent[i]), strconv.Itoa(t.NCensor[i]),
				number(t.Surv[i]), optional(t.CI.LogLog.Lower, i), optional(t.CI.LogLog.Upper, i),
			})
		}
	}
	w.Flush()
	return []byte(out.String())
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func optional(list []*float64, i int) string {
	if i >= len(list) || list[i] == nil {
		return ""
	}
	return number(*list[i])
}
