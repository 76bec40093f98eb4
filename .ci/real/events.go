package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
	"github.com/mcpstrata/mcpstrata/ci/real/wire"
)

// An event is a row of the day's events (DESIGN.md 5.2), as far as it is
// checked.
type event struct {
	Day            string       `json:"day"`
	Name           string       `json:"name"`
	Kind           string       `json:"kind"`
	Methodology    string       `json:"methodology_version"`
	Reread         string       `json:"reread"`
	Changes        []toolChange `json:"changes"`
	Comparable     *bool        `json:"comparable"`
	Confirms       string       `json:"confirms"`
	Old            string       `json:"old"`
	New            string       `json:"new"`
	OldArtifacts   []string     `json:"old_artifacts"`
	NewArtifacts   []string     `json:"new_artifacts"`
	OldFirst       string       `json:"old_first"`
	LastSame       string       `json:"last_same"`
	FirstDifferent string       `json:"first_different"`
}

// A toolChange is a [wire.Change], or a rename.
type toolChange struct {
	Kind    string   `json:"kind"`
	Members []string `json:"members"`
	Name    string   `json:"name"`
	Old     string   `json:"old"`
}

// checkEvents checks that the day's events are the drift of the upgraded server,
// and what must come with it, and nothing else.
func (s *series) checkEvents(up *target) error {
	path := filepath.Join(s.repo.data(), "mcp-schema", "events", s.day.Format("2006"), s.date()+".jsonl")
	all, err := fileLines[event](path)
	if err != nil {
		return fmt.Errorf("reading the events of %s: %w", s.date(), err)
	}
	s.checkNewerEvents(up, slices.DeleteFunc(slices.Clone(all), func(e event) bool { return e.Methodology == "v1" }))
	all = slices.DeleteFunc(all, func(e event) bool { return e.Methodology == "v2" })
	var drifts []event
	var others check.List
	for _, e := range all {
		switch {
		case e.Kind == "drift":
			drifts = append(drifts, e)
		case e.Kind == "server" && e.Name == up.name():
		case e.Kind == "confirmed" && s.confirms(e):
		default:
			others.Add("%s of %s", e.Kind, e.Name)
		}
	}
	s.None(others, "%s: events are the upgrade's and confirmations of the day before's, and no others", s.date())
	s.None(s.unconfirmed(all, up), "%s: the former day's drift is confirmed", s.date())
	if !s.OK(len(drifts) == 1 && drifts[0].Name == up.name(), "%s: one drift, of %s: %d drifts", s.date(), up.Name, len(drifts)) {
		return nil
	}
	s.checkDrift(up, drifts[0])
	return nil
}

// confirms reports whether e confirms the drift of a server that was upgraded
// on the day before.
func (s *series) confirms(e event) bool {
	yesterday := s.day.AddDate(0, 0, -1).Format("2006-01-02")
	return e.Confirms == yesterday && slices.ContainsFunc(s.targets, func(t *target) bool {
		return t.name() == e.Name && t.was != nil && t.since == yesterday
	})
}

// unconfirmed returns the servers upgraded on the day before whose drift no
// event confirms.
func (s *series) unconfirmed(all []event, up *target) []string {
	var bad check.List
	yesterday := s.day.AddDate(0, 0, -1).Format("2006-01-02")
	for _, t := range s.targets {
		if t == up || t.was == nil || t.since != yesterday {
			continue
		}
		if !slices.ContainsFunc(all, func(e event) bool { return e.Kind == "confirmed" && e.Name == t.name() }) {
			bad.Add("%s: the drift of %s is not confirmed", t.Name, yesterday)
		}
	}
	return bad
}

// checkDrift compares a drift row with the two recorded bodies.
func (s *series) checkDrift(up *target, e event) {
	var bad check.List
	yesterday := s.day.AddDate(0, 0, -1).Format("2006-01-02")
	bad.Same("day", e.Day, s.date())
	bad.Same("old_artifacts", e.OldArtifacts, []string{digest(up.was.body)})
	bad.Same("new_artifacts", e.NewArtifacts, []string{digest(up.kept.body)})
	bad.Same("old", e.Old, up.was.list.Identity())
	bad.Same("new", e.New, up.kept.list.Identity())
	bad.Same("the two are one contract", e.Old == e.New, false)
	bad.Same("old_first", e.OldFirst, firstDay.Format("2006-01-02"))
	bad.Same("last_same", e.LastSame, yesterday)
	bad.Same("first_different", e.FirstDifferent, s.date())
	bad.Same("comparable", e.Comparable == nil || *e.Comparable, true)
	s.None(bad, "%s: the drift names both sides of %s as recorded", s.date(), up.Name)

	want := wire.Compare(up.was.list, up.kept.list)
	count := map[string]int{}
	for _, c := range want {
		count[c.Kind]++
	}
	bad = nil
	diffChanges(&bad, e.Changes, want)
	s.None(bad, "%s: the drift of %s is %d tools added, %d removed, %d changed, as worked out from the recorded bodies",
		s.date(), up.Name, count["added"], count["removed"], count["changed"])
}

// diffChanges adds the changes that stand on one side only. A rename counts as
// a tool removed and one added.
func diffChanges(bad *check.List, got []toolChange, want []wire.Change) {
	have := map[string]bool{}
	for _, c := range got {
		if c.Kind == "renamed" {
			have[render("removed", c.Old, nil)] = true
			have[render("added", c.Name, nil)] = true
			continue
		}
		have[render(c.Kind, c.Name, c.Members)] = true
	}
	for _, c := range want {
		text := render(c.Kind, c.Name, c.Members)
		if !have[text] {
			bad.Add("missing: %s", text)
		}
		delete(have, text)
	}
	for text := range have {
		bad.Add("not so: %s", text)
	}
	if len(want) == 0 {
		bad.Add("the two releases do not differ: choose others")
	}
}

func render(kind, name string, members []string) string {
	return strings.TrimSpace(kind + " " + name + " " + strings.Join(members, ","))
}
