// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// snippets are the pieces of template in an object. Where one belongs, the object has a token; once the object is text,
// the token, or the whole line of it, is replaced.
type snippets struct {
	inline map[string]string
	lines  map[string]string
}

func newSnippets() *snippets { return &snippets{map[string]string{}, map[string]string{}} }

var (
	token     = regexp.MustCompile(`TEMPLATE-\d+-`)
	tokenLine = regexp.MustCompile(`^(\s*).*(zLINES-\d+-)`)
)

// value returns what stands for the value that an expression has.
func (s *snippets) value(expression string) string {
	name := fmt.Sprintf("TEMPLATE-%d-", len(s.inline))
	s.inline[name] = "{{ " + expression + " }}"
	return name
}

// line returns what stands for lines, as an item of a list or as a key with any value. INDENT in them is the number of
// spaces in front of the line, and DEEPER two more. As a key it is the last of its object, and so never behind the dash of
// a list.
func (s *snippets) line(lines string) string {
	name := fmt.Sprintf("zLINES-%d-", len(s.lines))
	s.lines[name] = lines
	return name
}

// print returns an object as the text of a template.
func (s *snippets) print(o object) (string, error) {
	written, err := yaml.Marshal(map[string]any(o))
	if err != nil {
		return "", err
	}
	if strings.Contains(string(written), "{{") {
		return "", fmt.Errorf("%s: it has {{, which Helm would take for its own", o.id())
	}
	var text strings.Builder
	for line := range strings.Lines(string(written)) {
		found := tokenLine.FindStringSubmatch(line)
		if found == nil {
			text.WriteString(token.ReplaceAllStringFunc(line, func(name string) string { return s.inline[name] }))
			continue
		}
		spaces := len(found[1])
		lines := strings.NewReplacer("INDENT", strconv.Itoa(spaces), "DEEPER", strconv.Itoa(spaces+2)).Replace(s.lines[found[2]])
		for l := range strings.Lines(lines) {
			if !strings.HasPrefix(l, "{{-") {
				text.WriteString(found[1])
			}
			text.WriteString(strings.TrimSuffix(l, "\n") + "\n")
		}
	}
	return text.String(), nil
}
