// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

const (
	// castColumns is where lines of a cast are wrapped, and castWrap what the rest of one begins with.
	castColumns = 112
	castWrap    = "    "
	// castFile is the cast of castAct, in the directory of the page.
	castFile = "drawings/act-5.svg"
	castAct  = "5"
)

// castHead begins a drawing of a terminal. Lines appear one after the other, once, and all of them are there where nothing moves.
const castHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="monospace" font-size="13">
  <title>%s</title>
  <style>
    .ground{fill:#f6f8fa;stroke:#b5bcc6} text{fill:#59636e;white-space:pre} .command{fill:#1f2328} .look{fill:#1a7f37}
    @media (prefers-color-scheme:dark){
      .ground{fill:#151b23;stroke:#4a525c} text{fill:#9198a1} .command{fill:#e6edf3} .look{fill:#57ab6e}
    }
    @media (prefers-reduced-motion:no-preference){text{animation:appear .2s backwards} @keyframes appear{from{opacity:0}}}
  </style>
  <rect x="1" y="1" width="%d" height="%d" rx="6" class="ground"/>
`

// cast returns a drawing of the terminal in which castAct of a page was shown.
func cast(page string) string {
	const line, margin = 18, 16
	var drawn strings.Builder
	delay, y := 0.5, margin
	title, texts := section(page, castAct)
	for text := range strings.Lines(texts) {
		shown, indented := strings.CutPrefix(strings.TrimRight(text, "\n"), "    ")
		class := "output"
		switch {
		case strings.HasPrefix(shown, "→"):
			class = "look"
		case !indented:
			continue
		case strings.HasPrefix(shown, "$ "):
			class = "command"
			delay++
			y += line / 2
		}
		for _, part := range wrapped(shown) {
			y += line
			fmt.Fprintf(&drawn, `  <text x="%d" y="%d" class="%s" style="animation-delay:%.1fs">%s</text>`+"\n",
				margin, y-margin/2, class, delay, html.EscapeString(part))
			delay += 0.1
		}
	}
	const width = castColumns*8 + 2*margin
	height := y + margin
	return fmt.Sprintf(castHead, width, height, html.EscapeString(title), width-2, height-2) + drawn.String() + "</svg>\n"
}

// section returns the title of an act of a page, and its text.
func section(page, act string) (title, text string) {
	_, rest, _ := strings.Cut(page, "\n## Act "+act+": ")
	rest, _, _ = strings.Cut(rest, "\n## ")
	title, text, _ = strings.Cut(rest, "\n")
	return title, text
}

// wrapped returns a line in parts that are narrow enough, and end after a blank or a comma.
func wrapped(line string) []string {
	var parts []string
	for utf8.RuneCountInString(line) > castColumns {
		narrow := string([]rune(line)[:castColumns])
		at := strings.LastIndexAny(narrow, " ,") + 1
		if at <= len(castWrap) {
			at = len(narrow)
		}
		parts, line = append(parts, line[:at]), castWrap+line[at:]
	}
	return append(parts, line)
}
