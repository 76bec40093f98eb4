package shown

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpstrata/mcpstrata/ci/real/check"
	"github.com/mcpstrata/mcpstrata/ci/real/wire"
)

// Compare returns where what a page shows of a version is not what two recorded
// lists say: a tool too many or too few, a description or title that is not
// shown word by word, a text or value that no recorded tool holds.
func Compare(got []Tool, old, new wire.List) check.List {
	var bad check.List
	shown := map[string]Tool{}
	for _, t := range got {
		if _, ok := shown[t.Kind+" "+t.Name]; ok {
			bad.Add("shown twice: %s %s", t.Kind, t.Name)
		}
		shown[t.Kind+" "+t.Name] = t
	}
	before, after := byName(old), byName(new)
	for _, c := range wire.Compare(old, new) {
		t, ok := shown[c.Kind+" "+c.Name]
		if !ok {
			bad.Add("not shown: %s %s", c.Kind, c.Name)
			continue
		}
		delete(shown, c.Kind+" "+c.Name)
		compareTool(&bad, t, before[c.Name], after[c.Name])
	}
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		bad.Add("shown, but not so: %s", name)
	}
	return bad
}

func byName(l wire.List) map[string]map[string]any {
	m := map[string]map[string]any{}
	for _, t := range l.Tools {
		name, _ := t["name"].(string)
		m[name] = t
	}
	return m
}

// compareTool compares the texts shown of one tool with the recorded ones; old
// is nil of an added tool, new of a removed one.
func compareTool(bad *check.List, t Tool, old, new map[string]any) {
	was, is := map[string]any{}, map[string]any{}
	leaves(was, "", anyOf(old))
	leaves(is, "", anyOf(new))
	for _, path := range slices.Sorted(maps.Keys(union(was, is))) {
		a, b := str(was[path]), str(is[path])
		if a == b || !prose(path) {
			continue
		}
		if !slices.ContainsFunc(t.Texts, func(s Text) bool { return s.Old == a && s.New == b }) {
			bad.Add("%s: %s is not shown word by word: was %.80q, is %.80q", t.Name, path, a, b)
		}
	}
	for _, s := range t.Texts {
		compareText(bad, t.Name, s, was, is)
	}
	compareValues(bad, t.Name, "gone", t.Before, was)
	compareValues(bad, t.Name, "new", t.After, is)
}

// compareText checks that one place of the tool held and holds the two texts
// that are shown, and that what the texts begin and end with in common is shown
// as kept.
func compareText(bad *check.List, tool string, s Text, was, is map[string]any) {
	place := false
	for path := range union(was, is) {
		place = place || str(was[path]) == s.Old && str(is[path]) == s.New
	}
	if !place {
		bad.Add("%s: no place held %.80q and holds %.80q", tool, s.Old, s.New)
	}
	if s.Old == s.New {
		bad.Add("%s: nothing changed in %.80q", tool, s.Old)
	}
	start, end := common(strings.Fields(s.Old), strings.Fields(s.New))
	head, tail := s.Kept[0], s.Kept[len(s.Kept)-1]
	// A word beside the change may differ in white space alone, or in a sign at
	// its end.
	if n := len(strings.Fields(head)); n < start-1 {
		bad.Add("%s: %d words of %.60q are shown as kept at its beginning, want %d", tool, n, s.New, start)
	}
	if n := len(strings.Fields(tail)); n < end-1 {
		bad.Add("%s: %d words of %.60q are shown as kept at its end, want %d", tool, n, s.New, end)
	}
}

// common counts the words that two texts begin and end with alike, none twice.
func common(a, b []string) (start, end int) {
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return start, end
}

// compareValues checks that each value shown stands in the tool. One that is cut
// is no JSON and is not compared.
func compareValues(bad *check.List, tool, what string, shown []string, all map[string]any) {
	for _, text := range shown {
		var v any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if d.Decode(&v) != nil {
			continue
		}
		found := false
		for _, have := range all {
			found = found || reflect.DeepEqual(have, v)
		}
		if !found {
			bad.Add("%s: shown as %s, but not recorded: %.80s", tool, what, text)
		}
	}
}

// prose reports whether the text at a path is for people and models at any
// rate.
func prose(path string) bool {
	return strings.HasSuffix(path, "/description") && !strings.HasSuffix(path, "/properties/description") || path == "/title"
}

// leaves gathers every value of a document by its path.
func leaves(all map[string]any, path string, v any) {
	if v == nil {
		return
	}
	all[path] = v
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			leaves(all, path+"/"+name, m)
		}
	case []any:
		for i, e := range v {
			leaves(all, path+"/"+strconv.Itoa(i), e)
		}
	}
}

// anyOf returns nil for a tool that is not there.
func anyOf(tool map[string]any) any {
	if tool == nil {
		return nil
	}
	return tool
}

func str(v any) string { s, _ := v.(string); return s }

func union(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
