// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// terminal is where a command prints to.
type terminal struct {
	io.Writer
	// alive reports that it shows text immediately and can go back to the beginning of a line.
	alive bool
	color bool
}

func newTerminal(out *os.File) *terminal {
	return &terminal{Writer: out, alive: term.IsTerminal(int(out.Fd()))}
}

// setColor follows the flag --color and the variable NO_COLOR, https://no-color.org.
func (t *terminal) setColor(when string) error {
	switch when {
	case "auto":
		t.color = t.alive && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	case "always":
		t.color = true
	case "never":
		t.color = false
	default:
		return fmt.Errorf("--color: %q is not auto, always or never", when)
	}
	return nil
}

func (t *terminal) print(format string, args ...any) { fmt.Fprintf(t, format, args...) }

// Escape sequences of colours.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
)

// in returns a text in a colour, where there are colours.
func (t *terminal) in(color, text string) string {
	if !t.color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// barWidth is how many characters a progress bar has.
const barWidth = 30

// bar is how far something is.
func bar(done, all int) string {
	if all <= 0 {
		return ""
	}
	full := max(0, min(barWidth, done*barWidth/all))
	return fmt.Sprintf("[%s%s] %d of %d", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), done, all)
}

// progress prints a line over the last one where that is possible, else under it, and only when it is a new one.
type progress struct {
	to   *terminal
	last string
}

// lost shows that there is no news.
func (p *progress) lost(err error) {
	p.show("the API server does not respond, retrying: " + report.OneLine(err.Error()))
}

func (p *progress) show(line string) {
	if line == p.last {
		return
	}
	if p.to.alive && p.last != "" {
		p.to.print("\x1b[1A\x1b[2K")
	}
	p.last = line
	p.to.print("%s\n", line)
}

// errDeclined ends a command that was not confirmed.
var errDeclined = errors.New("nothing was changed")

// question is what a user confirms before a change: what it does, if that is not obvious, and the question.
type question struct{ preview, text string }

// confirm prompts for confirmation, unless the user has already confirmed.
func (c *command) confirm(question string, given bool) error {
	if given {
		return nil
	}
	c.out.print("%s [y/N] ", question)
	response, err := bufio.NewReader(c.in).ReadString('\n')
	if response = strings.ToLower(strings.TrimSpace(response)); response == "y" || response == "yes" {
		return nil
	}
	if err != nil {
		c.out.print("\n")
	}
	return errDeclined
}
