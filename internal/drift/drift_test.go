package drift

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpstrata/mcpstrata/internal/contract"
)

var update = flag.Bool("update", false, "rewrite the want sections of testdata")

func mustRead(t testing.TB, doc []byte) *contract.Contract {
	t.Helper()
	c, err := contract.ReadDocument(doc)
	if err != nil {
		t.Fatalf("ReadDocument(%.200q) = %v", doc, err)
	}
	return c
}

func compareDocs(t testing.TB, old, new string) Diff {
	t.Helper()
	return Compare(mustRead(t, []byte(old)), mustRead(t, []byte(new)))
}

func writeText(t testing.TB, d Diff, style Style) string {
	t.Helper()
	var b strings.Builder
	if err := d.WriteText(&b, style); err != nil {
		t.Fatalf("WriteText = %v", err)
	}
	return b.String()
}

// indented returns d as indented JSON in ASCII, so that hidden characters can be
// seen in the files of testdata.
func indented(t testing.TB, d Diff) string {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(d); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range buf.String() {
		switch {
		case r > 0xFFFF:
			fmt.Fprintf(&b, "\\U%08x", r)
		case r > '~':
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Every txtar file holds two lists and what is told of them, as text and as JSON.
func TestCompare(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(ar.Files) != 4 {
				t.Fatalf("%d sections, want old.json, new.json, want.txt, want.json", len(ar.Files))
			}
			d := Compare(mustRead(t, ar.Files[0].Data), mustRead(t, ar.Files[1].Data))
			for i, got := range []string{writeText(t, d, Style{}), indented(t, d)} {
				want := &ar.Files[2+i]
				if *update {
					want.Data = []byte(got)
				}
				if diff := cmp.Diff(string(want.Data), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", want.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(ar), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
