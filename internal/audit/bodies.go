package audit

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mcpstrata/mcpstrata/internal/archive"
	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// checkBodies reads the contract and the bodies of every row, each file once,
// on every processor.
func (a *auditor) checkBodies(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	a.doubtRejected()
	a.racing = true
	defer func() { a.racing = false }()
	for m, o := range a.lines {
		for name, e := range o.rows {
			row := e.row
			if row.Server != nil {
				a.expected[archive.BodyPath(m, name, "init")] = true
			}
			if row.Head != nil {
				buried := false
				for i, d := range row.Head.Artifacts {
					buried = buried || a.tombs[d]
					a.expected[archive.BodyPath(m, name, archive.PagePart(i+1))] = !a.tombs[d]
				}
				a.expected[archive.ContractPath(m, name)] = !buried
			}
			a.expectRejected(m, name)
			if init, ok := a.newest[below(archive.BodyPath(m, name, "init"))]; ok && a.tombs[init.SHA256] && row.Server != nil {
				a.expected[archive.BodyPath(m, name, "init")] = false
			}
			g.Go(func() error {
				if err := ctx.Err(); err != nil {
					return err
				}
				return a.checkTarget(m, row)
			})
		}
	}
	return g.Wait()
}

// A rejection is what the newest unstable day of a target says of the readings
// that did not become its head.
type rejection struct {
	event  record.Event
	events string // path of the file that says so
}

// noteRejected notes the unstable servers of a run.
func (a *auditor) noteRejected(r *run) {
	for _, e := range r.events {
		if e.Kind != record.Unstable {
			continue
		}
		if a.unstable[e.Methodology] == nil {
			a.unstable[e.Methodology] = map[string]rejection{}
		}
		a.unstable[e.Methodology][e.Name] = rejection{e, archive.EventsPath(r.id)}
	}
}

// doubtRejected leaves open which bodies of rejected readings belong to the tree
// where the events of a run can't be relied on.
func (a *auditor) doubtRejected() {
	a.unsure = slices.ContainsFunc(a.runs, func(r *run) bool { return !r.eventsOK || a.faulty(archive.EventsPath(r.id)) })
	for name := range a.files {
		if a.unsure && strings.Contains(name, "+"+archive.Other) && isBody(name) {
			a.open = append(a.open, name)
		}
	}
}

// readings returns the rejected readings: which, the contract, and the bodies.
func (x rejection) readings() []rejectedReading {
	return []rejectedReading{
		{archive.Other, x.event.New, x.event.NewArtifacts},
		{archive.OtherB, x.event.Other, x.event.OtherArtifacts},
	}
}

type rejectedReading struct {
	which     string
	identity  canon.Digest
	artifacts []canon.Digest
}

// expectRejected says which bodies of rejected readings of a target belong to the
// tree: those of its newest unstable day.
func (a *auditor) expectRejected(version, name string) {
	x, ok := a.unstable[version][name]
	if !ok || a.unsure {
		return
	}
	for _, r := range x.readings() {
		for i, d := range r.artifacts {
			a.expected[archive.BodyPath(version, name, archive.RejectedPart(r.which, i+1))] = !a.tombs[d]
		}
	}
}

// checkRejected holds the bodies of rejected readings to the digests and the
// identities that the event states.
func (a *auditor) checkRejected(version, name string) error {
	x, ok := a.unstable[version][name]
	m, known := record.MethodologyByVersion(version)
	if !ok || !known || a.unsure {
		return nil
	}
	for _, r := range x.readings() {
		var pages [][]byte
		for i, d := range r.artifacts {
			p := archive.BodyPath(version, name, archive.RejectedPart(r.which, i+1))
			b, err := a.readBody(p)
			if err != nil {
				return err
			}
			if b == nil {
				continue
			}
			if a.checkBody(p, b, d, "the event of its newest unstable day") {
				pages = append(pages, b)
			}
		}
		if len(pages) == 0 || len(pages) < len(r.artifacts) {
			continue
		}
		if got := identityOf(pages, m); got != r.identity {
			a.fault(x.events, "event", "the event unstable of %q states the identity %s, and the bodies of that reading have %s", name, r.identity, got)
		}
	}
	return nil
}

// identityOf returns the identity of the contract that bodies hold, and what they
// hold instead where they hold none.
func identityOf(pages [][]byte, m record.Methodology) canon.Digest {
	c, err := contract.Read(pages)
	if err != nil {
		return canon.Digest(err.Error())
	}
	identity, err := c.Identity(m.CanonicalForm)
	if err != nil {
		return canon.Digest(err.Error())
	}
	return identity
}

// below returns a path below the series.
func below(name string) string { return strings.TrimPrefix(name, archive.Dir+"/") }

// readBody reads one of the files that are read once, and remembers its sum. It
// returns nil if there is none, and for a body that was removed on request: that
// it is there is its fault, and nothing else is asked of it.
func (a *auditor) readBody(name string) ([]byte, error) {
	b, err := a.read(name)
	if err != nil || b == nil {
		return nil, err
	}
	s := a.sumOf(b)
	a.mu.Lock()
	a.sums[name] = s
	a.checked["bodies"]++
	a.mu.Unlock()
	if a.tombs[s.sha256] {
		a.fault(name, "tombstone", "the body of the removed digest %s is still there", s.sha256)
		return nil, nil
	}
	return b, nil
}

// checkTarget checks the files of one row.
func (a *auditor) checkTarget(version string, row record.Observation) error {
	if row.Server != nil {
		if err := a.checkInit(archive.BodyPath(version, row.Name, "init")); err != nil {
			return err
		}
	}
	if err := a.checkRejected(version, row.Name); err != nil {
		return err
	}
	if row.Head == nil {
		return nil
	}
	paths := bodiesOf(version, row.Name, row.Head.Artifacts)
	var pages [][]byte
	var size int64
	whole := true
	for i, p := range paths {
		b, err := a.readBody(p)
		if err != nil {
			return err
		}
		if b == nil {
			whole = false
			continue
		}
		pages = append(pages, b)
		size += int64(len(b))
		whole = a.checkBody(p, b, row.Head.Artifacts[i], "its row") && whole
	}
	name := archive.ContractPath(version, row.Name)
	file, err := a.readBody(name)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(row.Head.Artifacts, func(d canon.Digest) bool { return a.tombs[d] }); file != nil && i >= 0 {
		a.fault(name, "tombstone", "it was made from the removed body %s, and is still there", row.Head.Artifacts[i])
	}
	if !whole {
		return nil
	}
	c, err := contract.Read(pages)
	if err != nil {
		a.fault(paths[0], "body", "it is not the answer of a success: %v", err)
		return nil
	}
	a.checkContract(paths[0], version, row.Head, c, size)
	if file != nil && !bytes.Equal(file, c.File()) {
		a.fault(name, "contract-file", "it is not what the body says")
	}
	return nil
}

// checkBody holds one body to the digest that who states of it, and to the index.
func (a *auditor) checkBody(name string, b []byte, want canon.Digest, who string) bool {
	got := a.sumLocked(name).sha256
	if got != want {
		a.fault(name, "body", "its digest is %s, and %s states %s", got, who, want)
		return false
	}
	a.checkEntry(name, "body", b)
	return true
}

func (a *auditor) sumLocked(name string) sum {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sums[name]
}

// checkEntry holds a body to the newest index line of its path.
func (a *auditor) checkEntry(name, rule string, b []byte) {
	if a.holes {
		return
	}
	e, ok := a.newest[below(name)]
	s := a.sumLocked(name)
	switch {
	case !ok:
		a.fault(name, rule, "no index has it")
	case e.SHA256 != s.sha256:
		a.fault(name, rule, "its digest is %s, and the newest index line of it states %s", s.sha256, e.SHA256)
	case e.Bytes != s.size || s.blob != "" && e.Blob != s.blob:
		a.fault(e.index, "index", "the line of %s states another length or git object than it has", e.Path)
	}
}

// checkInit checks the body of a handshake.
func (a *auditor) checkInit(name string) error {
	b, err := a.readBody(name)
	if err != nil || b == nil {
		return err
	}
	a.checkEntry(name, "handshake", b)
	return nil
}

// checkContract holds a head to what its bodies say.
func (a *auditor) checkContract(name, version string, h *record.Head, c *contract.Contract, size int64) {
	bad := func(format string, args ...any) { a.fault(name, "body", format, args...) }
	m, ok := record.MethodologyByVersion(version)
	if !ok {
		return
	}
	if identity, err := c.Identity(m.CanonicalForm); err != nil || identity != h.Identity {
		bad("its identity is %s, and its row states %s", identity, h.Identity)
	}
	ordered, err := c.Identity("v2")
	if err != nil || version != record.V1.Version {
		ordered = "" // a number that has no RFC 8785 text; or the row's identity is this one
	}
	if ordered != h.Ordered {
		bad("its ordered identity is %s, and its row states %s", ordered, h.Ordered)
	}
	if size != h.Bytes || len(c.Tools) != h.Tools {
		bad("it has %d bytes and %d tools, and its row states %d and %d", size, len(c.Tools), h.Bytes, h.Tools)
	}
}
