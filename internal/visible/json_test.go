package visible

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	in := map[string]any{
		"plain": "ünïcode ✓", "csi": "a\u009b31mb", "del": "x\u007f", "rlo": "\u202eabc", "tag": "ok\U000E0041\U000E0042",
		"zero": "a\u200bb", "family": "👩\u200d👧", "two\nlines": []any{"a\tb", 1.5, nil, true},
	}
	b, err := json.MarshalIndent(in, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got := JSON(b)
	var back map[string]any
	if err := json.Unmarshal(got, &back); err != nil || !reflect.DeepEqual(back, in) {
		t.Errorf("JSON changed what is meant: %s, %v", got, err)
	}
	if n := Hidden(string(got)); n != 0 {
		t.Errorf("JSON left %d hidden characters: %q", n, got)
	}
	if !strings.Contains(string(got), "ünïcode ✓") || !strings.Contains(string(got), `\u202e`) {
		t.Errorf("JSON = %s, want plain text plain and RLO escaped", got)
	}
	if same := JSON([]byte(`{"a": "b"}`)); string(same) != `{"a": "b"}` {
		t.Errorf("JSON of plain text = %s", same)
	}
}
