package canon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestParseLoose(t *testing.T) {
	tests := []struct {
		name, src, want string // want: form v2
		repeated, lone  bool
	}{
		{"strict", `{"b":[1.0,"\u00e9\n"],"a":null}`, "{\"a\":null,\"b\":[1,\"é\\n\"]}", false, false},
		{"a pair", `"\ud83d\ude00"`, `"😀"`, false, false},
		{"the first half", `"a\uD83Db"`, `"a\ud83db"`, false, true},
		{"the second half", `"\uDFFF"`, `"\udfff"`, false, true},
		{"the wrong way round", `"\ude00\ud83d"`, `"\ude00\ud83d"`, false, true},
		{"a half before a pair", `"\ud83d\ud83d\ude00"`, `"\ud83d😀"`, false, true},
		{"a half before another escape", `"\ud800\n\/\u0041"`, `"\ud800\n/A"`, false, true},
		{"a half at the end", `"\ud800"`, `"\ud800"`, false, true},
		{"below the surrogates", `"\ud7ff"`, "\"\ud7ff\"", false, false},
		{"a name", `[{"\ud800":1}]`, `[{"\ud800":1}]`, false, true},
		{"every escape", `"\"\\\/\b\f\n\r\t"`, `"\"\\/\b\f\n\r\t"`, false, false},
		{"twice", `{"a":1,"b":2,"a":3}`, "", true, false},
		{"twice by escape, deep", `[{"x":{"a":1,"\u0061":3}}]`, "", true, false},
		{"twice among many", `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"a":9}`, "", true, false},
	}
	for _, tt := range tests {
		v, err := ParseLoose([]byte(tt.src))
		if err != nil {
			t.Errorf("%s: ParseLoose(%s) = %v", tt.name, tt.src, err)
			continue
		}
		if repeated, lone := Irregular(v); repeated != tt.repeated || lone != tt.lone {
			t.Errorf("%s: Irregular(%s) = %v, %v, want %v, %v", tt.name, tt.src, repeated, lone, tt.repeated, tt.lone)
		}
		if tt.want == "" {
			continue
		}
		if got, err := AppendV2(nil, v); err != nil || string(got) != tt.want {
			t.Errorf("%s: AppendV2(%s) = %s, %v, want %s", tt.name, tt.src, got, err, tt.want)
		}
	}
	v, err := ParseLoose([]byte(`{"a":1,"a":2}`))
	if err != nil || len(v.Members) != 2 || v.Members[0].Value.Text != "1" {
		t.Errorf("ParseLoose keeps %+v, %v, want both members in order", v, err)
	}
	for _, src := range []string{"\"\xff\"", "\"\xed\xa0\x80\"", "{\"\xff\":1}", `"\ud8"`, `[1,]`, `1 2`, "\ufeff1", ""} {
		if v, err := ParseLoose([]byte(src)); err == nil {
			t.Errorf("ParseLoose(%q) = %+v, want an error", src, v)
		}
	}
}

// What Parse takes, ParseLoose reads as the same.
func FuzzLoose(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Add([]byte(`"\ud83d\ude00\ud83d"`))
	f.Fuzz(func(t *testing.T, src []byte) {
		loose, looseErr := ParseLoose(src)
		strict, err := Parse(src)
		if err == nil && (looseErr != nil || !bytes.Equal(AppendCompact(nil, strict), AppendCompact(nil, loose))) {
			t.Fatalf("ParseLoose(%q) = %+v, %v, want what Parse gives", src, loose, looseErr)
		}
		if looseErr != nil {
			return
		}
		repeated, lone := Irregular(loose)
		if regular := !repeated && !lone; regular != (err == nil) {
			t.Fatalf("Parse(%q) = %v, but it is regular: %v", src, err, regular)
		}
		if text := AppendCompact(nil, loose); !json.Valid(text) {
			t.Fatalf("AppendCompact of %q = %q, want JSON", src, text)
		}
	})
}

// Halves of surrogate pairs sort where their code unit stands, as in JavaScript.
func TestCompareUTF16OfHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SliceOf(rapid.SampledFrom([]uint16{'a', 0x7ff, 0xd7ff, 0xd800, 0xd83d, 0xde00, 0xdfff, 0xe000, 0xffff}))
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		text := func(units []uint16) string {
			src := []byte{'"'}
			for _, u := range units {
				src = fmt.Appendf(src, `\u%04x`, u)
			}
			v, err := ParseLoose(append(src, '"'))
			if err != nil {
				t.Fatal(err)
			}
			return v.Text
		}
		want := slices.Compare(a, b)
		if got := CompareUTF16(text(a), text(b)); got != want {
			t.Fatalf("CompareUTF16(%x, %x) = %d, want %d", a, b, got, want)
		}
	})
}

func TestReplaceSurrogates(t *testing.T) {
	v, err := ParseLoose([]byte(`"a\ud800é\udfff"`))
	if err != nil {
		t.Fatal(err)
	}
	if got := ReplaceSurrogates(v.Text); got != "a\ufffdé\ufffd" {
		t.Errorf("ReplaceSurrogates(%q) = %q, want U+FFFD for each half", v.Text, got)
	}
}
