// Package picture makes PNG files small: a palette where that looks the same.
package picture

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
)

// paletteSize is the most colours that a palette has.
const paletteSize = 256

// tolerance is how far a channel of a pixel may be from the original, of 255,
// for the picture to look the same.
const tolerance = 12

// Small returns a PNG of the same picture in fewer bytes. The pictures of pages
// have few colours, most of them steps between a letter and its ground: those
// are merged where they are too many for a palette, none by more than
// [tolerance]. A picture with more colours than that keeps them all. The same
// picture gives the same bytes.
func Small(b []byte) ([]byte, error) {
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("reading a picture: %w", err)
	}
	if p := paletted(img); p != nil {
		img = p
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, img); err != nil {
		return nil, fmt.Errorf("writing a picture: %w", err)
	}
	return out.Bytes(), nil
}

// paletted returns the picture with a palette, or nil where that would look
// otherwise.
func paletted(img image.Image) *image.Paletted {
	count := map[color.RGBA]int{}
	bounds := img.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[rgba(img, x, y)]++
		}
	}
	palette, index := merge(count)
	if palette == nil {
		return nil
	}
	out := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			out.SetColorIndex(x, y, index[rgba(img, x, y)])
		}
	}
	return out
}

func rgba(img image.Image, x, y int) color.RGBA {
	return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
}

// merge returns a palette and each colour's place in it. The commonest colours
// stay as they are; a rarer one joins the commonest one that is near enough. It
// tries to merge nothing first, then ever more, up to the tolerance, and returns
// nil where that is not enough.
func merge(count map[color.RGBA]int) (color.Palette, map[color.RGBA]uint8) {
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(key(a), key(b)))
	})
	for reach := 0; reach <= tolerance; reach++ {
		if reach == 0 && len(colours) > paletteSize {
			continue
		}
		var palette color.Palette
		index := map[color.RGBA]uint8{}
		for _, c := range colours {
			i := slices.IndexFunc(palette, func(p color.Color) bool { return distance(p.(color.RGBA), c) <= reach })
			if i < 0 {
				i = len(palette)
				palette = append(palette, c)
			}
			if i >= paletteSize {
				break
			}
			index[c] = uint8(i)
		}
		if len(palette) <= paletteSize {
			return palette, index
		}
	}
	return nil, nil
}

func key(c color.RGBA) uint32 {
	return uint32(c.R)<<24 | uint32(c.G)<<16 | uint32(c.B)<<8 | uint32(c.A)
}

// distance is the greatest difference of a channel.
func distance(a, b color.RGBA) int {
	return max(diff(a.R, b.R), diff(a.G, b.G), diff(a.B, b.B), diff(a.A, b.A))
}

func diff(a, b uint8) int { return int(max(a, b) - min(a, b)) }
