// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// command is what a binary, or a command of it, prints with --help.
type command struct {
	about  []string // paragraphs
	usage  []string // lines
	groups []group
	// below are its own commands.
	below []named
}

type named struct {
	name string
	command
}

// group are flags with the title that --help gives them.
type group struct {
	title string
	flags []flagText
}

type flagText struct{ short, name, kind, fallback, about string }

var (
	flagLine    = regexp.MustCompile(`^\s+(?:-(\w), |    )--([\w.-]+)(?:\[=true\|false\]| (\S+))?(?:\s{2,}(.*))?$`)
	defaultText = regexp.MustCompile(`^(.*?)\s*\(default (.*)\)$`)
	groupTitle  = regexp.MustCompile(`^(.*?) ?[Ff]lags:$`)
	commandLine = regexp.MustCompile(`^  ([\w-]+)\s+\S`)
)

// readCommand reads the help of a binary and of its commands.
func readCommand(ctx context.Context, binary string, arguments ...string) (command, error) {
	cmd := exec.CommandContext(ctx, binary, append(arguments, "--help")...)
	cmd.Env = []string{"HOME=/home/user"} // the same everywhere
	out, err := cmd.Output()
	if err != nil {
		return command{}, fmt.Errorf("%s: %w (\"make build\" builds it)", cmd, err)
	}
	parsed, names := parseHelp(string(out))
	for _, name := range names {
		below, err := readCommand(ctx, binary, append(arguments, name)...)
		if err != nil {
			return command{}, err
		}
		parsed.below = append(parsed.below, named{name, below})
	}
	return parsed, nil
}

// parseHelp reads a help text, and returns the names of its commands.
func parseHelp(help string) (c command, commands []string) {
	section, paragraph := "about", []string{}
	end := func() {
		if len(paragraph) > 0 {
			c.about, paragraph = append(c.about, strings.Join(paragraph, "\n")), nil
		}
	}
	for line := range strings.Lines(help) {
		line = strings.TrimRight(line, " \n")
		title := groupTitle.FindStringSubmatch(line)
		switch {
		case line == "Usage:" || line == "Available Commands:" || line == "Examples:" || line == "Aliases:":
			end()
			section = line
		case title != nil && !strings.HasPrefix(line, " "):
			end()
			section = "flags"
			c.groups = append(c.groups, group{title: title[1]})
		case strings.HasPrefix(line, `Use "`):
			section = "end"
		case section == "about" && line == "":
			end()
		case section == "about":
			paragraph = append(paragraph, line)
		case line == "":
		case section == "Usage:":
			c.usage = append(c.usage, strings.TrimSpace(line))
		case section == "Available Commands:":
			if m := commandLine.FindStringSubmatch(line); m != nil && m[1] != "help" && m[1] != "completion" {
				commands = append(commands, m[1])
			}
		case section == "flags":
			c.groups[len(c.groups)-1].add(line)
		}
	}
	end()
	return c, commands
}

// add reads a line of a group: a flag, or more of the text of the one before.
func (g *group) add(line string) {
	m := flagLine.FindStringSubmatch(line)
	if m == nil {
		if n := len(g.flags); n > 0 {
			g.flags[n-1].extend(line)
		}
		return
	}
	f := flagText{short: m[1], name: m[2], kind: m[3]}
	if f.kind == "" {
		f.kind = "bool"
	}
	f.extend(m[4])
	g.flags = append(g.flags, f)
}

// extend adds to the text, at whose end the default is.
func (f *flagText) extend(more string) {
	f.about = strings.TrimSpace(f.about + " " + strings.TrimSpace(more))
	if m := defaultText.FindStringSubmatch(f.about); m != nil && f.fallback == "" && !strings.HasSuffix(m[1], "(") && !strings.HasPrefix(m[2], "none") {
		f.about, f.fallback = m[1], m[2]
	}
}

// commandPage returns the page of a binary.
func commandPage(name string, c command) string {
	return heading(name) + c.describe(2)
}

func (c command) describe(level int) string {
	var b strings.Builder
	for _, paragraph := range c.about {
		fmt.Fprintf(&b, "\n%s\n", paragraph)
	}
	fmt.Fprintf(&b, "\n```\n%s\n```\n", strings.Join(c.usage, "\n"))
	for _, g := range c.groups {
		var rows [][]string
		for _, f := range g.flags {
			if f.name == "help" {
				continue
			}
			flag := "--" + f.name
			if f.short != "" {
				flag = "-" + f.short + ", " + flag
			}
			rows = append(rows, []string{code(flag), text(f.kind), code(f.fallback), text(f.about)})
		}
		if len(rows) > 0 {
			if g.title != "" {
				fmt.Fprintf(&b, "\n%s %s\n", strings.Repeat("#", level), g.title)
			}
			b.WriteString(table([]string{"flag", "type", "default", "meaning"}, rows))
		}
	}
	for _, below := range c.below {
		fmt.Fprintf(&b, "\n%s %s\n%s", strings.Repeat("#", level), below.name, below.describe(level+1))
	}
	return b.String()
}
