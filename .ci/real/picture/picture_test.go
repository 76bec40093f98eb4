package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"
)

// drawn returns a PNG with n columns.
func drawn(t *testing.T, n int, at func(x int) color.RGBA) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, n, 8))
	for x := range n {
		for y := range 8 {
			img.SetRGBA(x, y, at(x))
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSmall(t *testing.T) {
	near := func(x int) color.RGBA { return color.RGBA{uint8(x), uint8(x >> 8 * 40), 200, 255} }
	far := func(x int) color.RGBA { return color.RGBA{uint8(x % 18 * 14), uint8(x / 18 * 14), 200, 255} }
	for _, c := range []struct {
		name     string
		n        int
		at       func(x int) color.RGBA
		palette  bool
		farthest int // a channel may be from the original
	}{
		{"few colours stay as they are", 200, near, true, 0},
		{"near ones are merged", 600, near, true, tolerance},
		{"colours that are far apart are all kept", 300, far, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := drawn(t, c.n, c.at)
			out, err := Small(in)
			if err != nil {
				t.Fatal(err)
			}
			was, _ := png.Decode(bytes.NewReader(in))
			is, err := png.Decode(bytes.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := is.(*image.Paletted); ok != c.palette {
				t.Errorf("Small gave %T, want a palette: %t", is, c.palette)
			}
			farthest := 0
			for x := range c.n {
				farthest = max(farthest, distance(rgba(was, x, 0), rgba(is, x, 0)))
			}
			if farthest > c.farthest {
				t.Errorf("a pixel is %d from the original, want at most %d", farthest, c.farthest)
			}
			again, err := Small(in)
			if err != nil || !bytes.Equal(out, again) {
				t.Errorf("Small gave other bytes the second time, %v", err)
			}
		})
	}
	if _, err := Small([]byte("no picture")); err == nil {
		t.Error("Small of no picture = nil error, want one")
	}
}
