package canon

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	num := func(s string) *Value { return &Value{Kind: Number, Text: s} }
	str := func(s string) *Value { return &Value{Kind: String, Text: s} }
	tests := []struct {
		name string
		src  string
		want *Value
	}{
		{"null", "null", &Value{}},
		{"true in white space", "\r\n\t true \n\n", &Value{Kind: Bool, Text: "true"}},
		{"false", "false", &Value{Kind: Bool, Text: "false"}},
		{"numbers keep their text", "[0,-0,1.0,1e0,10E-1,120.0,1E400,12345678901234567890]", &Value{Kind: Array, Elems: []*Value{
			num("0"), num("-0"), num("1.0"), num("1e0"), num("10E-1"), num("120.0"), num("1E400"), num("12345678901234567890"),
		}}},
		{"escapes", `"a\u0041\"\\\/\b\f\n\r\t\ud83d\ude00\u0000"`, str("aA\"\\/\b\f\n\r\t\U0001f600\x00")},
		{"raw text", `"<é>"`, str("<é>")},
		{"members keep their order", `{"b":1,"a":{"":[]},"\u0063":{}}`, &Value{Kind: Object, Members: []Member{
			{"b", num("1")},
			{"a", &Value{Kind: Object, Members: []Member{{"", &Value{Kind: Array}}}}},
			{"c", &Value{Kind: Object}},
		}}},
		{"names equal but for case, or for normalisation", "{\"a\":1,\"A\":2,\"\u00e9\":3,\"e\u0301\":4}", &Value{Kind: Object, Members: []Member{
			{"a", num("1")}, {"A", num("2")}, {"\u00e9", num("3")}, {"e\u0301", num("4")},
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := []byte(tt.src)
			got, err := Parse(src)
			if err != nil {
				t.Fatalf("Parse(%q) = %v", tt.src, err)
			}
			clear(src) // Parse keeps no reference
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Parse(%q) differs from want (-want +got):\n%s", tt.src, diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name    string
		src     string
		pointer string
		offset  int64 // -1 if it does not matter
		reason  string
	}{
		{"nothing", "", "", 0, "unexpected EOF"},
		{"white space only", " \n", "", -1, "unexpected EOF"},
		{"cut off", `{"a":[1,`, "/a", 8, "unexpected EOF"},
		{"cut off in a string", `["ab`, "/0", 4, "unexpected EOF"},
		{"byte order mark", "\ufeff{}", "", 0, "invalid character"},
		{"trailing data", `{} x`, "", 3, "invalid character"},
		{"two values", `{}{}`, "", 2, "more than one value"},
		{"trailing NUL", "{}\x00", "", 2, "invalid character"},
		{"NaN", `{"a":NaN}`, "/a", 5, "invalid character 'N'"},
		{"Infinity", `[-Infinity]`, "/0", -1, "invalid character 'I'"},
		{"trailing comma in an array", `[1,]`, "", 2, "invalid character ','"},
		{"trailing comma in an object", `{"a":1,}`, "", 6, "invalid character ','"},
		{"comment", `{/**/}`, "", 1, "invalid character '/'"},
		{"single quotes", `{'a':1}`, "", 1, "invalid character"},
		{"no colon", `{"a" 1}`, "/a", 5, "invalid character '1'"},
		{"no comma", `[1 2]`, "", 3, "invalid character '2'"},
		{"name that is not a string", `{1:2}`, "", -1, "string"},
		{"mismatched end", `[}`, "/0", 1, "invalid character '}'"},
		{"leading zero", `[01]`, "", -1, "invalid character '1'"},
		{"plus", `+1`, "", -1, "invalid character '+'"},
		{"bare point", `[1.]`, "/0", -1, "invalid character"},
		{"raw control character", "[\"a\nb\"]", "/0", -1, "invalid character"},
		{"unknown escape", `["\x41"]`, "/0", -1, "invalid escape"},
		{"no-break space between tokens", "[\u00a01]", "/0", -1, "invalid character"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "/a", 6, "invalid UTF-8"},
		{"overlong UTF-8", "[\"\xc0\xaf\"]", "/0", 2, "invalid UTF-8"},
		{"surrogate in UTF-8", "[\"\xed\xa0\x80\"]", "/0", 2, "invalid UTF-8"},
		{"lone high surrogate", `{"k":"\uD800"}`, "/k", -1, "surrogate"},
		{"lone low surrogate", `{"k":"\uDC00"}`, "/k", -1, "surrogate"},
		{"surrogates in the wrong order", `["\udc00\ud800"]`, "/0", -1, "surrogate"},
		{"high surrogate before another escape", `["\ud800\u0041"]`, "/0", -1, "surrogate"},
		{"lone surrogate in a name", `{"\uDC00":1}`, "", -1, "surrogate"},
		{"duplicate name", `{"t":[{"a":1,"a":1}]}`, "/t/0/a", 13, "duplicate object member name"},
		{"duplicate name, spelt otherwise", `{"a/~b":1,"\u0061\/~b":1}`, "/a~1~0b", -1, "duplicate object member name"},
		{"too deep", strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), strings.Repeat("/0", MaxDepth-1), MaxDepth, "nesting deeper than 512"},
		{"much too deep, and endless", strings.Repeat(`{"a":`, 1<<20), strings.Repeat("/a", MaxDepth), -1, "nesting deeper than 512"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Parse([]byte(tt.src))
			se, ok := errors.AsType[*SyntaxError](err)
			if !ok || v != nil {
				t.Fatalf("Parse(%.80q) = %v, %v, want a *SyntaxError", tt.src, v, err)
			}
			if se.Pointer != tt.pointer || tt.offset >= 0 && se.Offset != tt.offset || !strings.Contains(se.Reason, tt.reason) {
				t.Errorf("Parse(%.80q) = %+v, want pointer %q, offset %d, reason %q", tt.src, se, tt.pointer, tt.offset, tt.reason)
			}
			if s := se.Error(); !strings.Contains(s, se.Reason) || len(s) > 300 {
				t.Errorf("Error() = %q, want the reason in it, within 300 bytes", s)
			}
		})
	}
}

func TestParseDepth(t *testing.T) {
	for _, src := range []string{
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth),
		strings.Repeat(`{"a":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth),
	} {
		v, err := Parse([]byte(src))
		if err != nil {
			t.Fatalf("Parse(%.20q…) = %v, want nil", src, err)
		}
		if got := string(AppendV1(nil, v)); got != src {
			t.Errorf("AppendV1 of %d levels = %.20q…, want %.20q…", MaxDepth, got, src)
		}
	}
}

func TestGet(t *testing.T) {
	v, err := Parse([]byte(`{"a":null,"b":[{"a":1}],"":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Get("a"); got == nil || got.Kind != Null {
		t.Errorf(`Get("a") = %v, want null`, got)
	}
	if got := v.Get(""); got == nil || got.Text != "2" {
		t.Errorf(`Get("") = %v, want 2`, got)
	}
	if got := v.Get("A").Get("x"); got != nil {
		t.Errorf(`Get("A").Get("x") = %v, want nil`, got)
	}
	if got := v.Get("b").Get("a"); got != nil {
		t.Errorf(`Get("b").Get("a") = %v, want nil`, got)
	}
}

func TestKindString(t *testing.T) {
	for src, want := range map[string]string{
		"null": "null", "true": "boolean", "1": "number", `""`: "string", "[]": "array", "{}": "object",
	} {
		v, err := Parse([]byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Kind.String(); got != want {
			t.Errorf("kind of %s = %q, want %q", src, got, want)
		}
	}
	if got := Kind(9).String(); got != "kind(9)" {
		t.Errorf("Kind(9).String() = %q, want kind(9)", got)
	}
}
