package registry

import (
	"os"
	"testing"
)

func BenchmarkReadPage(b *testing.B) {
	page, err := os.ReadFile("testdata/official-1.7.9/latest-00.body")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		if _, err := readPage(page); err != nil {
			b.Fatal(err)
		}
	}
}
