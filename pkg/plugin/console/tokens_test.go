// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTokensHaveContrast computes the contrast of each text with each of its backgrounds, as WCAG 2 defines it, in both themes.
func TestTokensHaveContrast(t *testing.T) {
	light, dark := themes(t)
	for name, theme := range map[string]map[string]string{"light": light, "dark": dark} {
		for text, backgrounds := range map[string][]string{
			"text": {"back", "panel", "ok-back", "progress-back", "warning-back"}, "muted": {"back", "panel"}, "link": {"back", "panel", "progress-back"},
			"accent": {"back", "panel"}, "ok": {"back", "ok-back"}, "progress": {"back", "progress-back"}, "warning": {"back", "warning-back"},
		} {
			for _, background := range backgrounds {
				if got := contrast(t, theme[text], theme[background]); got < 4.5 {
					t.Errorf("contrast of %s on %s in the %s theme = %.2f, want 4.5", text, background, name, got)
				}
			}
		}
	}
}

// TestOnlyTokensHaveColours checks that the style sheet takes every colour and every size of text from the tokens.
func TestOnlyTokensHaveColours(t *testing.T) {
	css, err := os.ReadFile("page/src/console.css")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(css), "\n") {
		if regexp.MustCompile(`#[0-9a-fA-F]{3,8}[; ]|font-size: [^v]`).MatchString(line) {
			t.Errorf("console.css:%d has a colour or a size of its own: %s", i+1, line)
		}
	}
}

// themes returns the colours of the light and of the dark theme, which changes some of the light one.
func themes(t *testing.T) (light, dark map[string]string) {
	css, err := os.ReadFile("page/src/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	first, second, ok := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	if !ok {
		t.Fatal("tokens.css has no dark theme")
	}
	return colours(first), colours(first + second)
}

func colours(css string) map[string]string {
	all := map[string]string{}
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
		all[m[1]] = m[2]
	}
	return all
}

func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	value, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil || colour == "" {
		t.Fatalf("colour %q: %v", colour, err)
	}
	linear := func(shift uint, weight float64) float64 {
		c := float64(value>>shift&255) / 255
		if c <= 0.04045 {
			return weight * c / 12.92
		}
		return weight * math.Pow((c+0.055)/1.055, 2.4)
	}
	return linear(16, 0.2126) + linear(8, 0.7152) + linear(0, 0.0722)
}
