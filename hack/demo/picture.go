// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
)

const (
	// colors is how many a picture in docs has: pages of the console have few, and shades of the edges of letters.
	colors = 64
	// alike is the part of the pixels, as a divisor, up to which two pictures are the same one: dots on a time line are elsewhere in each run.
	alike = 500
)

// writePicture writes a PNG with few colors, unless the file has the same picture already.
func writePicture(file string, taken []byte) error {
	full, err := png.Decode(bytes.NewReader(taken))
	if err != nil {
		return err
	}
	picture := reduce(full)
	if former, err := os.ReadFile(file); err == nil {
		if there, err := png.Decode(bytes.NewReader(former)); err == nil && same(there, picture) {
			return nil
		}
	}
	var content bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&content, picture); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content.Bytes(), 0o644)
}

// reduce returns a picture with the most frequent colors; others become the nearest one of them.
func reduce(full image.Image) *image.Paletted {
	bounds := full.Bounds()
	counts := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	frequent := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		frequent = append(frequent, c)
	}
	slices.SortFunc(frequent, func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	palette := color.Palette{}
	for _, c := range frequent[:min(colors, len(frequent))] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range frequent {
		nearest[c] = uint8(palette.Index(c)) // there are fewer colors than that
	}
	reduced := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			reduced.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	return reduced
}

// same reports whether so few pixels of two pictures differ that nobody would notice.
func same(a, b image.Image) bool {
	if a.Bounds() != b.Bounds() {
		return false
	}
	different := 0
	for y := a.Bounds().Min.Y; y < a.Bounds().Max.Y; y++ {
		for x := a.Bounds().Min.X; x < a.Bounds().Max.X; x++ {
			if apart(a.At(x, y), b.At(x, y)) {
				different++
			}
		}
	}
	return different*alike < a.Bounds().Dx()*a.Bounds().Dy()
}

// apart reports whether two colors can be told apart.
func apart(a, b color.Color) bool {
	const visible = 0x3000
	r1, g1, b1, _ := a.RGBA()
	r2, g2, b2, _ := b.RGBA()
	return max(r1, r2)-min(r1, r2) > visible || max(g1, g2)-min(g1, g2) > visible || max(b1, b2)-min(b1, b2) > visible
}
