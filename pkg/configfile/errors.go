// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package configfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Lines has the line of every field of a file by its path, for example "controllers.project.quotas[0].config".
type Lines map[string]int

// Of returns the line of a field, or of the closest field around it that the file has, or 0.
func (l Lines) Of(path string) int {
	for path != "" {
		if line, ok := l[path]; ok {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 0
}

// At puts the line of a field in front of an error about it.
func (l Lines) At(path string, err error) error {
	if line := l.Of(path); line > 0 {
		return fmt.Errorf("line %d: %w", line, err)
	}
	return err
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Errors is everything that is wrong with a file, as one error on one line.
type Errors []error

// Error joins the messages.
func (e Errors) Error() string {
	var messages []string
	for _, err := range e {
		messages = append(messages, err.Error())
	}
	return strings.Join(messages, "; ")
}

// Unwrap lets errors.Is and errors.As see the single errors.
func (e Errors) Unwrap() []error { return e }

// culprit is a smallest part of a document that does not decode.
type culprit struct {
	path string
	err  error
	// value is what was rejected. duration reports that a duration would be accepted in its place.
	value    any
	duration bool
}

// culprits returns the smallest parts of value that decode rejects, in the order of their lines. Decoders stop at the first error
// and do not all report where it was (a bad duration does not), so each part is tried alone, inside the maps and lists around it.
func culprits(value any, lines Lines, path string, decode func(any) error) []culprit {
	var found []culprit
	switch value := value.(type) {
	case map[string]any:
		if err := decode(map[string]any{}); err != nil {
			return []culprit{leaf(value, path, err, decode)}
		}
		keys := slices.SortedFunc(maps.Keys(value), func(a, b string) int {
			return cmp.Or(cmp.Compare(lines[join(path, a)], lines[join(path, b)]), cmp.Compare(a, b))
		})
		for _, key := range keys {
			inside := func(part any) error { return decode(map[string]any{key: part}) }
			if inside(value[key]) != nil {
				found = append(found, culprits(value[key], lines, join(path, key), inside)...)
			}
		}
	case []any:
		if err := decode([]any{}); err != nil {
			return []culprit{leaf(value, path, err, decode)}
		}
		for i, element := range value {
			inside := func(part any) error { return decode([]any{part}) }
			if inside(element) != nil {
				found = append(found, culprits(element, lines, fmt.Sprintf("%s[%d]", path, i), inside)...)
			}
		}
	}
	if len(found) == 0 {
		return []culprit{leaf(value, path, decode(value), decode)}
	}
	return found
}

// leaf finds out what is wanted in the place of a value: nothing else than a duration accepts some strings only.
func leaf(value any, path string, err error, decode func(any) error) culprit {
	return culprit{path: path, err: err, value: value, duration: decode("12h") == nil && decode("no duration") != nil}
}
