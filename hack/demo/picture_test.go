// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// encoded returns a PNG with a gradient, and some white pixels.
func encoded(t *testing.T, white int) []byte {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 100, 100))
	for i := range 100 * 100 {
		shade := color.RGBA{R: uint8(i % 200), G: uint8(i / 100), A: 255}
		if i < white {
			shade = color.RGBA{R: 255, G: 255, B: 255, A: 255}
		}
		picture.Set(i%100, i/100, shade)
	}
	var content bytes.Buffer
	if err := png.Encode(&content, picture); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}

// TestWritePicture checks that a picture has few colors, and that a file is not replaced by a picture that looks the same.
func TestWritePicture(t *testing.T) {
	file := filepath.Join(t.TempDir(), "screenshots", "act-1.png")
	write := func(white int) []byte {
		t.Helper()
		if err := writePicture(file, encoded(t, white)); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	first := write(1000)
	if picture, err := png.Decode(bytes.NewReader(first)); err != nil || len(picture.(*image.Paletted).Palette) > colors {
		t.Errorf("picture = %T, %v, want one with at most %d colors", picture, err, colors)
	}
	if !bytes.Equal(write(1010), first) {
		t.Error("a picture that looks the same was written")
	}
	if bytes.Equal(write(2000), first) {
		t.Error("another picture was not written")
	}
	if err := writePicture(file, []byte("no picture")); err == nil {
		t.Error("error = nil for what is no PNG")
	}
}

// TestBrowser takes a picture of a page, as the acts do of the console. It is skipped where Chromium is not installed, and in the first tier.
func TestBrowser(t *testing.T) {
	if _, err := exec.LookPath("chromium"); err != nil || testing.Short() {
		t.Skip("chromium is not installed, or this is the first tier: make test-ovn runs it")
	}
	ages := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "<h1>Life</h1><p id=a></p><script>onhashchange=()=>a.textContent=location.hash+' %s'; onhashchange()</script>", ages)
	}))
	defer server.Close()
	take := func() []byte {
		s := &stage{dir: t.TempDir()}
		ctx, cancel := context.WithCancel(t.Context())
		defer s.background.Wait()
		defer cancel()
		b, err := s.startBrowser(ctx, server.URL+"/?token=x")
		if err != nil {
			t.Fatal(err)
		}
		picture, err := b.picture(ctx, "/deorbit", "#/deorbit")
		if err != nil {
			t.Fatal(err)
		}
		return picture
	}
	ages = "17 seconds ago"
	first := take()
	ages = "2 minutes ago"
	second := take()
	if shown, err := png.Decode(bytes.NewReader(first)); err != nil || shown.Bounds().Dx() != 1100 {
		t.Errorf("picture = %v, %v, want one that is 1100 wide", shown, err)
	}
	if !bytes.Equal(first, second) {
		t.Error("pictures differ by the ages that they show")
	}
}
