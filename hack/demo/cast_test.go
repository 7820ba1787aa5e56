// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrapped(t *testing.T) {
	long := strings.Repeat("x", castColumns)
	for name, test := range map[string]struct {
		line string
		want []string
	}{
		"narrow":       {long, []string{long}},
		"at a blank":   {"12345 " + long, []string{"12345 ", castWrap + long[len(castWrap):], castWrap + "xxxx"}},
		"too early":    {"a b" + long, []string{"a b" + long[3:], castWrap + "xxx"}},
		"at a comma":   {"a, bc," + long, []string{"a, bc,", castWrap + long[len(castWrap):], castWrap + "xxxx"}},
		"without any":  {long + "x", []string{long, castWrap + "x"}},
		"other script": {strings.Repeat("→", castColumns+1), []string{strings.Repeat("→", castColumns), castWrap + "→"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, wrapped(test.line)); diff != "" {
				t.Errorf("wrapped(%q), -want +got:\n%s", test.line, diff)
			}
		})
	}
}

// TestCastOfAct checks that a cast has the commands, outputs and remarks of its act, and nothing else.
func TestCastOfAct(t *testing.T) {
	const page = "# Life\n\n## Act 4: x\n\n    $ no\n\n## Act 5: it <ends>\n\nText.\n\n    $ echo '<a>'\n    <a>\n\n→ it is shown\n\n" +
		"## Act 6: y\n\n    $ no\n"
	drawn := cast(page)
	for text, want := range map[string]int{"<title>it &lt;ends&gt;</title>": 1, ">$ echo &#39;&lt;a&gt;&#39;</text>": 1, ">&lt;a&gt;</text>": 1,
		">→ it is shown</text>": 1, "</text>": 3} {
		if got := strings.Count(drawn, text); got != want {
			t.Errorf("%q is %d times in the cast, want %d:\n%s", text, got, want, drawn)
		}
	}
}
