// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// errNoObject means that a body has not the object that it should have.
var errNoObject = errors.New("the object is missing")

// unknownField is the name of a field that a service does not have.
type unknownField string

// Error names the field.
func (f unknownField) Error() string { return "unknown field " + string(f) }

// read reads the object below a name of the body into a struct, which names all fields that may be.
func (c *call) read(name string, into any) error {
	given, ok := c.body[name].(map[string]any)
	if !ok {
		return errNoObject
	}
	data, err := json.Marshal(given)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err = d.Decode(into)
	if err == nil {
		return nil
	}
	if _, field, ok := strings.Cut(err.Error(), "unknown field "); ok {
		return unknownField(strings.Trim(field, `"`))
	}
	return err
}

// auxiliary are the parameters of a list that are no filters.
var auxiliary = []string{"marker", "limit", "fields", "sort_key", "sort_dir", "sort", "page_reverse"}

// filter keeps the entries that fit the filters of a query: one of the values of each. The name of a filter that may not
// be comes back.
func filter(query url.Values, entries []any, allowed ...string) (kept []any, unknown string) {
	kept = []any{}
	for name := range query {
		if !slices.Contains(auxiliary, name) && !slices.Contains(allowed, name) {
			return nil, name
		}
	}
	for _, entry := range entries {
		fits := true
		for name, values := range query {
			if slices.Contains(allowed, name) {
				fits = fits && slices.ContainsFunc(values, func(value string) bool { return has(entry.(map[string]any)[name], value) })
			}
		}
		if fits {
			kept = append(kept, entry)
		}
	}
	return kept, ""
}

// has reports whether a field is a value, or a list with it.
func has(field any, value string) bool {
	if list, ok := field.([]string); ok {
		return slices.Contains(list, value)
	}
	return fmt.Sprint(field) == value
}

// orNull returns a text, or null when it is empty.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
