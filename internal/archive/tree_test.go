package archive

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// What is no file, such as a pipe, is not read: it may never end.
func TestReadFile(t *testing.T) {
	tree := Open(fstest.MapFS{
		"file": {Data: []byte("text")},
		"pipe": {Mode: fs.ModeNamedPipe},
		"zero": {Mode: fs.ModeDevice | fs.ModeCharDevice},
	})
	tests := []struct{ name, want, wrong string }{
		{"file", "text", ""},
		{"nowhere", "", ""},
		{"pipe", "", "reading pipe: it is not a regular file"},
		{"zero", "", "reading zero: it is not a regular file"},
	}
	for _, tt := range tests {
		b, err := tree.ReadFile(tt.name)
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) || string(b) != tt.want {
			t.Errorf("ReadFile(%q) = %q, %v, want %q, %q", tt.name, b, err, tt.want, tt.wrong)
		}
	}
}
