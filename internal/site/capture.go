package site

import (
	"slices"

	"github.com/mcpstrata/mcpstrata/internal/record"
	"github.com/mcpstrata/mcpstrata/internal/report"
)

// capturePath is the folder of the page that compares two methodologies.
const capturePath = "capture/"

// Bounds of what is read differently for one cause.
const (
	shownDiffering = 200   // servers on the page
	jsonDiffering  = 5_000 // servers in index.json; report.json has them all
)

// capture writes /capture/: what two methodologies read differently on one day,
// by cause, with the definitions of all causes.
func (b *builder) capture() error {
	p := b.page(b.newest, capturePath, "How readings differ", "How many servers answer two ways of reading them differently, and why.", "methodology")
	p.Compared = b.record != b.newest
	m := CapturePage{Page: p, Readings: b.Report.Readings, NewestMethod: b.methodPath(b.newest)}
	for _, def := range record.Causes {
		switch {
		case def.Launched:
			m.Launched = append(m.Launched, def)
		case m.Readings == nil:
			m.Causes = append(m.Causes, CauseView{Def: def})
		default:
			i := slices.IndexFunc(m.Readings.Causes, func(c report.ReadingCause) bool { return c.Cause == def.Cause })
			if i < 0 {
				continue
			}
			all := m.Readings.Causes[i].Servers
			m.Causes = append(m.Causes, CauseView{def, i, all[:min(len(all), shownDiffering)], len(all) > shownDiffering})
		}
	}
	machine := captureJSON{Causes: []causeJSON{}, Head: b.head(p)}
	for _, def := range record.Causes {
		machine.Causes = append(machine.Causes, causeJSON{def.Cause, def.Launched, def.Means, def.Title})
	}
	if r := m.Readings; r != nil {
		bounded := *r
		bounded.Causes = slices.Clone(r.Causes)
		for i, c := range r.Causes {
			if len(c.Servers) > jsonDiffering {
				bounded.Causes[i].Servers = c.Servers[:jsonDiffering]
				machine.Cut = true
			}
		}
		machine.Readings = &bounded
	}
	return b.render("capture.html", p, m, record.File(machine))
}

type captureJSON struct {
	Causes   []causeJSON      `json:"causes"`
	Cut      bool             `json:"cut,omitempty"` // a list of servers is longer; report.json has it whole
	Head     head             `json:"head"`
	Readings *report.Readings `json:"readings"` // null where only one methodology reads
}

type causeJSON struct {
	Cause    record.Cause `json:"cause"`
	Launched bool         `json:"launched"` // only servers that the reader starts have it
	Means    string       `json:"means"`
	Title    string       `json:"title"`
}
