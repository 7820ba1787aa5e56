// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package configfile

import (
	"fmt"
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
