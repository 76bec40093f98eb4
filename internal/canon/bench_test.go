package canon

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// bigDocument returns a tools/list result of n tools, about 1.2 KB each, in
// no particular order of anything.
func bigDocument(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString(`{"tools":[`)
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"name":"tool_%04d","description":"Reads \"%d\" things.\n%s","inputSchema":{"type":"object","properties":{`,
			r.IntN(n), i, strings.Repeat("A sentence of a description — with a dash. ", 8))
		for j := range 8 {
			if j > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, `"p%d": {"type": "string", "description": "What p%d is for", "minLength": %d, "anyOf": [{"const": "b"}, {"const": "a"}]}`,
				r.IntN(1000)*10+j, j, j)
		}
		b.WriteString(`},"required":["p1","p2"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"title":null}}`)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// BenchmarkCanonical compares the forms with jsontext's own RFC 8785 on one
// document: v2 is to be no slower, v1 at least half as fast (DESIGN.md
// section 13).
func BenchmarkCanonical(b *testing.B) {
	src := bigDocument(800)
	for _, form := range []string{FormV1, FormV2} {
		b.Run(form, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Canonical(form, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("jsontext", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			v := jsontext.Value(src).Clone()
			if err := v.Canonicalize(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Parse(src); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkHostile is 8 MB below as many levels as there may be, each of which
// is out of order: what the sort of nested arrays and objects can be made to
// cost.
func BenchmarkHostile(b *testing.B) {
	text := `"` + strings.Repeat("x", 8<<20) + `"`
	for name, level := range map[string][2]string{
		"Objects": {strings.Repeat(`{"b":`, MaxDepth), strings.Repeat(`,"a":1}`, MaxDepth)},
		"Arrays":  {strings.Repeat(`[{"b":`, MaxDepth/2), strings.Repeat(`},{"a":1}]`, MaxDepth/2)},
	} {
		src := []byte(level[0] + text + level[1])
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if _, err := Canonical(FormV1, src); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/tree", func(b *testing.B) {
			v, err := Parse(src)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				AppendV1(nil, v)
			}
		})
	}
}
