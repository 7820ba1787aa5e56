// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// octal is a number with a leading zero, which YAML 1.1 takes for octal and users do not.
var octal = regexp.MustCompile(`^([-+]?)0+([0-7_]+)$`)

// document is a parsed file: its value as encoding/json would have it, and where each field stands.
type document struct {
	value      any
	lines      Lines
	duplicates Errors
	// octals are numbers that YAML reads as octal ones because of a leading zero.
	octals Errors
}

// parse reads the only document of data.
func parse(data []byte) (*document, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var root, next yaml.Node
	if err := decoder.Decode(&root); errors.Is(err, io.EOF) {
		return &document{}, nil
	} else if err != nil {
		return nil, syntaxErrors(data, err)
	}
	switch err := decoder.Decode(&next); {
	case err == nil:
		return nil, Errors{fmt.Errorf("line %d: a second document begins here, a configuration file has only one", next.Line)}
	case !errors.Is(err, io.EOF):
		return nil, syntaxErrors(data, err)
	}
	d := &document{lines: Lines{}}
	d.index(&root, "")
	if len(d.octals) > 0 {
		return nil, d.octals
	}
	if err := root.Decode(&d.value); err != nil {
		return nil, yamlErrors(err)
	}
	return d, nil
}

// index notes the line of every field, finds fields that are set twice, and makes the YAML types that JSON
// does not have strings: what is not a string as a key, and dates.
func (d *document) index(node *yaml.Node, path string) {
	switch node.Kind {
	case yaml.DocumentNode:
		for _, child := range node.Content {
			d.index(child, path)
		}
	case yaml.MappingNode:
		first := map[string]int{}
		var unique []*yaml.Node
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			if key.Kind == yaml.ScalarNode && key.ShortTag() != "!!merge" {
				key.Tag = "!!str"
			}
			at := join(path, key.Value)
			if line, twice := first[key.Value]; twice {
				d.duplicates = append(d.duplicates, fmt.Errorf("line %d: field %q is set twice, first on line %d", key.Line, at, line))
				continue
			}
			first[key.Value] = key.Line
			d.lines[at] = key.Line
			d.index(value, at)
			unique = append(unique, key, value)
		}
		node.Content = unique
	case yaml.SequenceNode:
		for i, child := range node.Content {
			at := fmt.Sprintf("%s[%d]", path, i)
			d.lines[at] = child.Line
			d.index(child, at)
		}
	case yaml.ScalarNode:
		switch {
		case node.ShortTag() == "!!timestamp":
			node.Tag = "!!str"
		case node.ShortTag() == "!!int" && octal.MatchString(node.Value):
			decimal := octal.ReplaceAllString(node.Value, "$1$2")
			d.octals = append(d.octals, fmt.Errorf("line %d: %s: %s would be read as an octal number: write %s, or 0o%s for the octal number",
				node.Line, path, node.Value, decimal, strings.TrimLeft(decimal, "+-")))
		}
	}
}

// syntaxHints complete messages of the YAML library by what usually causes them.
var syntaxHints = []struct{ text, hint string }{
	{"tab character", "indent with spaces"},
	{"did not find expected key", "its indentation fits no line above it, or a quote or bracket above it is not closed"},
	{"did not find expected '-' indicator", "its indentation fits no element of the list above it"},
	{"mapping values are not allowed", "it is indented deeper than the field above it, which has a value already; or quote the value"},
	{"cannot start any token", "indent with spaces, or quote the value"},
}

// syntaxErrors names the line from which on data is no YAML. The line of the YAML library is that where the part around it
// begins, or another one nearby.
func syntaxErrors(data []byte, err error) Errors {
	var several *yaml.TypeError
	if errors.As(err, &several) {
		return yamlErrors(err)
	}
	_, message, ok := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), ": ")
	if !ok || !strings.HasPrefix(err.Error(), "yaml: line ") {
		message = strings.TrimPrefix(err.Error(), "yaml: ")
	}
	for _, known := range syntaxHints {
		if strings.Contains(message, known.text) {
			message += ": " + known.hint
			break
		}
	}
	return Errors{fmt.Errorf("line %d: %s", brokenLine(data), message)}
}

// brokenLine returns the first line with which, and with all after it, the lines above are no YAML any more. Open brackets and
// quotes that a later line closes do not count.
func brokenLine(data []byte) int {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	for last := len(lines) - 1; last > 0; last-- {
		if isYAML(bytes.Join(lines[:last], nil)) {
			return last + 1
		}
	}
	return 1
}

func isYAML(data []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// yamlErrors takes the errors of the YAML library apart and their common prefix off.
func yamlErrors(err error) Errors {
	var several *yaml.TypeError
	if !errors.As(err, &several) {
		return Errors{errors.New(strings.TrimPrefix(err.Error(), "yaml: "))}
	}
	var errs Errors
	for _, message := range several.Errors {
		errs = append(errs, errors.New(message))
	}
	return errs
}
