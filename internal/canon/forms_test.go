package canon

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	tests := []struct {
		name   string
		src    string
		v1, v2 string // v2 empty: the same
	}{
		{"scalar", ` "x" `, `"x"`, ""},
		{"names sort by code point, or by UTF-16", `{"\ufb33":1,"😀":2,"a":3,"\ue000":4,"\ud7ff":5}`,
			"{\"a\":3,\"\ud7ff\":5,\"\ue000\":4,\"\ufb33\":1,\"😀\":2}", "{\"a\":3,\"\ud7ff\":5,\"😀\":2,\"\ue000\":4,\"\ufb33\":1}"},
		{"a name before those it begins", `{"ab":1,"":2,"a":3,"a\u0000":4,"B":5}`, `{"":2,"B":5,"a":3,"a\u0000":4,"ab":1}`, ""},
		{"names sort decoded, not as escaped", `{"]":1,"\\":2,"[":3,"!":4,"\"":5,"\u0009":6}`, `{"\t":6,"!":4,"\"":5,"[":3,"\\":2,"]":1}`, ""},
		{"only needed escapes, the shortest", `"\u0000\u001F\u0008\u0009\u000a\u000C\u000d\/\u003c<>&\u2028\u007f\"\\\u00e9"`,
			"\"\\u0000\\u001f\\b\\t\\n\\f\\r/<<>&\u2028\u007f\\\"\\\\é\"", ""},
		{"array of objects is sorted", `[{"b":1},{"a":2},{"a":10}]`, `[{"a":10},{"a":2},{"b":1}]`, `[{"b":1},{"a":2},{"a":10}]`},
		{"equal objects are all kept", `[{"a":1},{},{"a":1}]`, `[{"a":1},{"a":1},{}]`, `[{"a":1},{},{"a":1}]`},
		{"mixed array keeps its order", `[{"b":1},{"a":1},null]`, `[{"b":1},{"a":1},null]`, ""},
		{"array of strings keeps its order", `["b","a"]`, `["b","a"]`, ""},
		{"array of arrays keeps its order", `[[{"b":1},{"a":1}],[]]`, `[[{"a":1},{"b":1}],[]]`, `[[{"b":1},{"a":1}],[]]`},
		{"empty array and object", `{"b":[ ],"a":{ }}`, `{"a":{},"b":[]}`, ""},
		{"inner arrays before outer", `[{"x":[{"b":1},{"a":1}]},{"x":[{"a":2}]}]`,
			`[{"x":[{"a":1},{"b":1}]},{"x":[{"a":2}]}]`, `[{"x":[{"b":1},{"a":1}]},{"x":[{"a":2}]}]`},
		{"objects sort by raw UTF-8 bytes", `[{"k":"😀"},{"k":"\ufb33"}]`, "[{\"k\":\"\ufb33\"},{\"k\":\"😀\"}]", "[{\"k\":\"😀\"},{\"k\":\"\ufb33\"}]"},
		{"numbers", `[1.0,1e0,-0,-0.0,1E2,120.0,0.000001,1e-7,1e21,1e-400,9007199254740993,0.1e1,999999999999999,1234567890123456]`,
			`[1.0,1e0,-0,-0.0,1E2,120.0,0.000001,1e-7,1e21,1e-400,9007199254740993,0.1e1,999999999999999,1234567890123456]`,
			`[1,1,0,0,100,120,0.000001,1e-7,1e+21,0,9007199254740992,1,999999999999999,1234567890123456]`},
		{"RFC 8785, section 3.2.2", `{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`},
		{"RFC 8785, section 3.2.3", `{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\",\"😀\":\"Emoji: Grinning Face\"}",
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := Canonical(FormV1, []byte(tt.src)); err != nil || string(got) != tt.v1 {
				t.Errorf("Canonical(v1, %s) = %s, %v, want %s", tt.src, got, err, tt.v1)
			}
			want := tt.v2
			if want == "" {
				want = tt.v1
			}
			if got, err := Canonical(FormV2, []byte(tt.src)); err != nil || string(got) != want {
				t.Errorf("Canonical(v2, %s) = %s, %v, want %s", tt.src, got, err, want)
			}
		})
	}
}

func TestCanonicalRefuses(t *testing.T) {
	if got, err := Canonical("v3", []byte("1")); err == nil || !strings.Contains(err.Error(), `"v3"`) {
		t.Errorf("Canonical(v3, 1) = %s, %v, want an error that names the form", got, err)
	}
	for _, form := range []string{FormV1, FormV2} {
		got, err := Canonical(form, []byte(`{"a":1,"a":2}`))
		if _, ok := errors.AsType[*SyntaxError](err); !ok || got != nil {
			t.Errorf("Canonical(%s, duplicate) = %s, %v, want nil and a *SyntaxError", form, got, err)
		}
	}
}

func TestV2Range(t *testing.T) {
	src := []byte(`{"a":[1,{"b/~":-1E400}]}`)
	v, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	got, err := AppendV2([]byte("before"), v)
	re, ok := errors.AsType[*RangeError](err)
	if !ok || string(got) != "before" {
		t.Fatalf("AppendV2(%s) = %q, %v, want dst as it was and a *RangeError", src, got, err)
	}
	if want := (RangeError{Pointer: "/a/1/b~1~0", Number: "-1E400"}); *re != want {
		t.Errorf("AppendV2(%s) = %+v, want %+v", src, *re, want)
	}
	if got, err := Canonical(FormV2, src); got != nil || err == nil || err.Error() != re.Error() {
		t.Errorf("Canonical(v2, %s) = %s, %v, want nil, %v", src, got, err, re)
	}
	if got, err := Canonical(FormV1, src); err != nil || string(got) != string(src) {
		t.Errorf("Canonical(v1, %s) = %s, %v, want it unchanged", src, got, err)
	}
}

func TestAppendKeepsPrefix(t *testing.T) {
	v, err := Parse([]byte(`[{"b":1},{"a":1}]`))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func([]byte, *Value) []byte{"v1": AppendV1, "compact": AppendCompact, "pretty": AppendPretty} {
		if got, want := string(f([]byte(`{"z":[{"x":1},`), v)), `{"z":[{"x":1},`+string(f(nil, v)); got != want {
			t.Errorf("%s after a prefix = %s, want %s", name, got, want)
		}
	}
}

func TestAppendPretty(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"scalar", ` 1.0 `, `1.0`},
		{"empty", `[[],{},""]`, "[\n [],\n {},\n \"\"\n]"},
		{"nested", `{"b":{"y":[1,2.50],"x":"a\u000ab\u003c"},"a":null}`,
			"{\n \"a\": null,\n \"b\": {\n  \"x\": \"a\\nb<\",\n  \"y\": [\n   1,\n   2.50\n  ]\n }\n}"},
		{"array order stays", `[{"b":1},{"a":1}]`, "[\n {\n  \"b\": 1\n },\n {\n  \"a\": 1\n }\n]"},
		{"code point order", `{"😀":1,"\ufb33":2}`, "{\n \"\ufb33\": 2,\n \"😀\": 1\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Parse([]byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(AppendPretty(nil, v)); got != tt.want {
				t.Errorf("AppendPretty(%s) = %s, want %s", tt.src, got, tt.want)
			}
		})
	}
}

// A word edited in one description is one line of git diff.
func TestPrettyOneWord(t *testing.T) {
	oldDoc := bigDocument(20)
	newDoc := bytes.Replace(oldDoc, []byte("A sentence"), []byte("One\\nsentence"), 1)
	lines := func(src []byte) []string {
		v, err := Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(AppendPretty(nil, v)), "\n")
	}
	oldLines, newLines := lines(oldDoc), lines(newDoc)
	if len(oldLines) != len(newLines) {
		t.Fatalf("pretty form has %d lines, then %d, want equal counts", len(oldLines), len(newLines))
	}
	var touched []string
	for i := range oldLines {
		if oldLines[i] != newLines[i] {
			touched = append(touched, newLines[i])
		}
	}
	if len(touched) != 1 || !strings.Contains(touched[0], "description") {
		t.Errorf("an edit of one word touches %q, want one description", touched)
	}
}

func TestAppendCompact(t *testing.T) {
	src := `{"b":[1.0,{"d":true,"c":"\u00e9\u0001"}],"a":{}}`
	v, err := Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(AppendCompact(nil, v)), `{"b":[1.0,{"d":true,"c":"é\u0001"}],"a":{}}`; got != want {
		t.Errorf("AppendCompact(%s) = %s, want %s", src, got, want)
	}
}

// compareUTF16 orders as the code units that the standard library makes.
func TestCompareUTF16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOf(rapid.SampledFrom([]rune("a\u007f\u0080\u07ff\u0800\ud7ff\ue000\ufb33\uffff\U00010000\U0001f600\U0010ffff")))
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		if got := compareUTF16(a, b); got != want {
			t.Fatalf("compareUTF16(%+q, %+q) = %d, want %d", a, b, got, want)
		}
	})
}

// seeds are documents that fuzzing starts from, refused ones included.
var seeds = []string{
	`{"b":1,"a":[1e21,4.50,-0,1E400,9007199254740993]}`,
	`[{"x":[{"b":1},{"a":1}]},{"x":[{"a":2}]},{"x":[{"a":2}]}]`,
	`{"😀":"\ud83d\ude00","\ufb33":"\u0000\u001f\"\\\/","":[[],{},null,true,false]}`,
	`{"]":1,"\\":2,"\"":3,"a":[{"k":"\""},{"k":"!"},{"k":"#"}]}`,
	`{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `[1,]`, `{}{}`, "\ufeff[]", "NaN", "", strings.Repeat("[", 600),
}

// FuzzForms holds every form to its promise: v1 and v2 are fixed points, compact
// and pretty text mean the same document, v2 is what jsontext makes of it.
func FuzzForms(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := Parse(src)
		if valid := jsontext.Value(src).IsValid(); valid != (err == nil) && !(valid && strings.Contains(err.Error(), errDepth.Error())) {
			t.Fatalf("Parse(%q) = %v, but jsontext finds it valid: %v", src, err, valid)
		}
		if err != nil {
			return
		}
		v1 := AppendV1(nil, v)
		v2, v2err := AppendV2(nil, v)
		check := func(what string, text []byte) {
			t.Helper()
			if got, err := Canonical(FormV1, text); err != nil || !bytes.Equal(got, v1) {
				t.Errorf("Canonical(v1, %s of %q) = %q, %v, want %q", what, src, got, err, v1)
			}
			if got, err := Canonical(FormV2, text); (err == nil) != (v2err == nil) || err == nil && !bytes.Equal(got, v2) {
				t.Errorf("Canonical(v2, %s of %q) = %q, %v, want %q, %v", what, src, got, err, v2, v2err)
			}
		}
		check("text", src)
		check("compact form", AppendCompact(nil, v))
		check("pretty form", AppendPretty(nil, v))
		if got, err := Canonical(FormV1, v1); err != nil || !bytes.Equal(got, v1) {
			t.Errorf("Canonical(v1, %q) = %q, %v, want it unchanged", v1, got, err)
		}
		if v2err != nil {
			return // the exception: jsontext writes the largest float64 instead
		}
		if got, err := Canonical(FormV2, v2); err != nil || !bytes.Equal(got, v2) {
			t.Errorf("Canonical(v2, %q) = %q, %v, want it unchanged", v2, got, err)
		}
		theirs := jsontext.Value(src).Clone()
		if err := theirs.Canonicalize(); err != nil || !bytes.Equal(theirs, v2) {
			t.Errorf("AppendV2(%q) = %q, but jsontext has %q, %v", src, v2, theirs, err)
		}
	})
}

// FuzzSpelling shows that the order of members, white space and the spelling of
// strings never move the bytes of either form, and that the order of arrays of
// objects never moves those of v1.
func FuzzSpelling(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), uint64(i))
	}
	f.Fuzz(func(t *testing.T, src []byte, seed uint64) {
		v, err := Parse(src)
		if err != nil {
			return
		}
		s := speller{r: rand.New(rand.NewPCG(seed, 0))}
		s.value(v)
		v1 := AppendV1(nil, v)
		v2, v2err := AppendV2(nil, v)
		if got, err := Canonical(FormV1, s.dst); err != nil || !bytes.Equal(got, v1) {
			t.Errorf("Canonical(v1, %q) = %q, %v, want %q", s.dst, got, err, v1)
		}
		if got, err := Canonical(FormV2, s.dst); (err == nil) != (v2err == nil) || err == nil && !bytes.Equal(got, v2) {
			t.Errorf("Canonical(v2, %q) = %q, %v, want %q", s.dst, got, err, v2)
		}
		s = speller{r: s.r, arrays: true}
		s.value(v)
		if got, err := Canonical(FormV1, s.dst); err != nil || !bytes.Equal(got, v1) {
			t.Errorf("Canonical(v1, %q) = %q, %v, want %q", s.dst, got, err, v1)
		}
	})
}

// A speller writes one document in a random spelling.
type speller struct {
	r      *rand.Rand
	arrays bool // shuffle arrays of objects too
	dst    []byte
}

func (s *speller) space() {
	for s.r.IntN(3) == 0 {
		s.dst = append(s.dst, " \t\r\n"[s.r.IntN(4)])
	}
}

func (s *speller) value(v *Value) {
	s.space()
	switch v.Kind {
	case Array:
		elems, objects := append([]*Value(nil), v.Elems...), true
		for _, e := range elems {
			objects = objects && e.Kind == Object
		}
		if s.arrays && objects {
			s.r.Shuffle(len(elems), func(i, j int) { elems[i], elems[j] = elems[j], elems[i] })
		}
		s.dst = append(s.dst, '[')
		for i, e := range elems {
			if i > 0 {
				s.dst = append(s.dst, ',')
			}
			s.value(e)
		}
		s.space()
		s.dst = append(s.dst, ']')
	case Object:
		members := append([]Member(nil), v.Members...)
		s.r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		s.dst = append(s.dst, '{')
		for i, m := range members {
			if i > 0 {
				s.dst = append(s.dst, ',')
			}
			s.space()
			s.str(m.Name)
			s.space()
			s.dst = append(s.dst, ':')
			s.value(m.Value)
		}
		s.space()
		s.dst = append(s.dst, '}')
	case String:
		s.str(v.Text)
	default:
		s.dst = AppendCompact(s.dst, v)
	}
	s.space()
}

func (s *speller) str(text string) {
	s.dst = append(s.dst, '"')
	for _, r := range text {
		switch {
		case r == '/' && s.r.IntN(2) == 0:
			s.dst = append(s.dst, `\/`...)
		case s.r.IntN(3) == 0 && r > 0xffff:
			r -= 0x10000
			s.escape(0xd800 + r>>10)
			s.escape(0xdc00 + r&0x3ff)
		case s.r.IntN(3) == 0 && r <= 0xffff:
			s.escape(r)
		default:
			q := appendString(nil, string(r))
			s.dst = append(s.dst, q[1:len(q)-1]...)
		}
	}
	s.dst = append(s.dst, '"')
}

func (s *speller) escape(unit rune) {
	s.dst = append(s.dst, `\u`...)
	for shift := 12; shift >= 0; shift -= 4 {
		s.dst = append(s.dst, "0123456789abcdefABCDEF"[unit>>shift&15])
	}
}
