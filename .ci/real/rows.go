package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
)

// nothingDone is how a run may say that its day is final.
var nothingDone = regexp.MustCompile(`(?i)final|nothing|already`)

// A row is an observation row (DESIGN.md 5.1), as far as it is checked.
type row struct {
	Name       string  `json:"name"`
	Endpoint   string  `json:"endpoint"`
	Class      *string `json:"error_class"`
	Detail     string  `json:"error_detail"`
	HTTPStatus int     `json:"http_status"`
	Step       string  `json:"step"`
	Since      string  `json:"since"`
	Head       *struct {
		Artifacts     []string `json:"artifacts"`
		Bytes         int      `json:"bytes"`
		Confirmed     bool     `json:"confirmed"`
		FirstObserved string   `json:"first_observed"`
		Identity      string   `json:"identity"`
		Tools         int      `json:"tools"`
		Capture       struct {
			ClientCapabilities []string `json:"clientCapabilities"`
			Transport          string   `json:"transport"`
			Pages              struct {
				Read     int  `json:"read"`
				Complete bool `json:"complete"`
			} `json:"pages"`
			Protocol struct {
				Requested     string `json:"requested"`
				Negotiated    string `json:"negotiated"`
				VersionHeader bool   `json:"versionHeader"`
			} `json:"protocol"`
		} `json:"capture"`
	} `json:"head"`
	Server *struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"server"`
}

// rowsOf returns the rows of the day under one methodology, by name.
func (s *series) rowsOf(ctx context.Context, methodology string) (map[string]row, error) {
	said, err := s.repo.call(ctx, "observations", "-data", s.repo.data(), "-methodology", methodology, "-json", s.date())
	if err != nil {
		return nil, err
	}
	if said.code != 0 {
		return nil, fmt.Errorf("observations %s ended with %d:\n%s", s.date(), said.code, said.last())
	}
	all, err := lines[row](said.out)
	if err != nil {
		return nil, fmt.Errorf("reading what observations %s printed: %w", s.date(), err)
	}
	rows := map[string]row{}
	for _, r := range all {
		if r.Name != "" {
			rows[r.Name] = r
		}
	}
	s.OK(len(rows) == len(s.targets), "%s: observations prints %d rows, want %d", s.date(), len(rows), len(s.targets))
	return rows, nil
}

// checkRows checks the day's row of every server under a methodology, each with
// one.
func (s *series) checkRows(ctx context.Context, methodology string, one func(*check.List, *target, row)) error {
	rows, err := s.rowsOf(ctx, methodology)
	if err != nil {
		return err
	}
	for _, t := range s.targets {
		r, ok := rows[t.name()]
		var bad check.List
		if !ok {
			bad.Add("there is no row")
		} else {
			one(&bad, t, r)
		}
		s.None(bad, "%s: row of %s under %s: %s", s.date(), t.Name, methodology, summary(r))
	}
	return nil
}

// summary says what a row says.
func summary(r row) string {
	switch {
	case r.Name == "":
		return "none"
	case r.Class != nil:
		return fmt.Sprintf("%s/%s, status %d at %s", *r.Class, r.Detail, r.HTTPStatus, r.Step)
	case r.Head == nil:
		return "success without a head"
	default:
		return fmt.Sprintf("%d tools, %d bytes, %s", r.Head.Tools, r.Head.Bytes, r.Head.Identity)
	}
}

// checkRow compares a row with what the tape and the table of servers say.
func (s *series) checkRow(bad *check.List, t *target, r row) {
	class := ""
	if r.Class != nil {
		class = *r.Class
	}
	bad.Same("endpoint", r.Endpoint, t.endpoint())
	bad.Same("error_class", class, t.Want.Class)
	bad.Same("error_detail", r.Detail, t.Want.Detail)
	bad.Same("http_status", r.HTTPStatus, t.Want.Status)
	bad.Same("step", r.Step, t.Want.Step)
	bad.Same("since", r.Since, firstDay.Format("2006-01-02"))
	if t.Want.Class != "" {
		bad.Same("status on the tape", t.now.status, t.Want.Status)
		bad.Same("head", r.Head == nil, true)
		return
	}
	if r.Head == nil || r.Server == nil || t.kept.body == nil {
		bad.Add("head, server or the tape's list is missing")
		return
	}
	h := r.Head
	bad.Same("head.artifacts", h.Artifacts, []string{digest(t.kept.body)})
	bad.Same("head.bytes", h.Bytes, len(t.kept.body))
	bad.Same("head.identity", h.Identity, t.kept.list.Identity())
	bad.Same("head.tools", h.Tools, len(t.kept.list.Tools))
	bad.Same("some tools", h.Tools > 0, true)
	bad.Same("head.first_observed", h.FirstObserved, t.since)
	bad.Same("head.confirmed", h.Confirmed, t.was == nil || t.since != s.date())
	bad.Same("capture.clientCapabilities", h.Capture.ClientCapabilities, []string{})
	bad.Same("capture.transport", h.Capture.Transport, "streamable-http")
	bad.Same("capture.pages", h.Capture.Pages, fmt.Sprintf("{1 %t}", !t.now.list.More))
	bad.Same("capture.protocol", h.Capture.Protocol, fmt.Sprintf("{%s %s false}", version, t.now.init.ProtocolVersion))
	bad.Same("server.name", r.Server.Name, t.now.init.ServerInfo.Name)
	bad.Same("server.version", r.Server.Version, t.now.init.ServerInfo.Version)
}

// checkArtifacts checks that the archive gives back the recorded bytes of every
// list, those of an upgraded server's former release included.
func (s *series) checkArtifacts(ctx context.Context) error {
	for _, t := range s.targets {
		if t.kept.body == nil {
			continue
		}
		if err := s.checkArtifact(ctx, t, t.kept, ""); err != nil {
			return err
		}
		if t.was == nil {
			continue
		}
		if err := s.checkArtifact(ctx, t, t.was, "former "); err != nil {
			return err
		}
	}
	return nil
}

// checkArtifact asks for one body by its digest.
func (s *series) checkArtifact(ctx context.Context, t *target, want *reading, which string) error {
	said, err := s.repo.call(ctx, "artifact", "-data", s.repo.data(), digest(want.body))
	if err != nil {
		return err
	}
	how := "the whole JSON body"
	switch {
	case want.stream && want.sent > len(want.body):
		how = fmt.Sprintf("the event stream's first %d of %d bytes, up to the end of the answering event", len(want.body), want.sent)
	case want.stream && want.left:
		how = "the event stream up to the end of the answering event, where the reader left it"
	case want.stream:
		how = "the event stream up to the end of the answering event, which is all of it"
	}
	var bad check.List
	bad.Same("exit code", said.code, 0)
	if !bytes.Equal(said.out, want.body) {
		bad.Add("got %d bytes, %s, want %d, %s\n%s", len(said.out), digest(said.out), len(want.body), digest(want.body), said.last())
	}
	s.None(bad, "%s: %sartifact of %s is what the proxy saw, byte for byte: %d bytes, %s", s.date(), which, t.Name, len(want.body), how)
	return nil
}

// digest names bytes.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
