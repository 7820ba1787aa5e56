// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovsdb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// UUID identifies a row.
type UUID string

// MarshalJSON implements json.Marshaler.
func (u UUID) MarshalJSON() ([]byte, error) { return json.Marshal([]any{"uuid", string(u)}) }

// Set is the value of a column with any number of values, or with an optional one.
type Set []any

// MarshalJSON implements json.Marshaler.
func (s Set) MarshalJSON() ([]byte, error) {
	values := []any(s)
	if values == nil {
		values = []any{}
	}
	return json.Marshal([]any{"set", values})
}

// Map is the value of a column with pairs of strings.
type Map map[string]string

// MarshalJSON implements json.Marshaler. The pairs are in the order of their keys.
func (m Map) MarshalJSON() ([]byte, error) {
	pairs := make([][2]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, [2]string{key, m[key]})
	}
	return json.Marshal([]any{"map", pairs})
}

// Row is a row as a server sends it, by column.
type Row map[string]json.RawMessage

// UUID returns the id of the row, empty if it was not selected.
func (r Row) UUID() string {
	var pair [2]string
	if json.Unmarshal(r["_uuid"], &pair) != nil || pair[0] != "uuid" {
		return ""
	}
	return pair[1]
}

// Map returns the value of a column with pairs of strings.
func (r Row) Map(column string) (map[string]string, error) {
	value, err := r.Value(column)
	if err != nil {
		return nil, err
	}
	pairs, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("column %s is not a map", column)
	}
	texts := make(map[string]string, len(pairs))
	for key, value := range pairs {
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("column %s: the value of %q is not a string", column, key)
		}
		texts[key] = text
	}
	return texts, nil
}

// UUIDs returns the ids in a column.
func (r Row) UUIDs(column string) ([]string, error) {
	value, err := r.Value(column)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	ids := make([]string, 0, len(list))
	for _, value := range list {
		id, ok := value.(UUID)
		if !ok {
			return nil, fmt.Errorf("column %s has a value that is not a UUID", column)
		}
		ids = append(ids, string(id))
	}
	return ids, nil
}

// Value decodes a column: a string, a bool, a json.Number, a UUID, a list of these for a set, or pairs with keys that are strings.
// A set of one is sent like a single value, so only the schema can distinguish them.
func (r Row) Value(column string) (any, error) {
	data, found := r[column]
	if !found {
		return nil, fmt.Errorf("column %s is missing", column)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("column %s: %w", column, err)
	}
	decoded, err := decoded(value)
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", column, err)
	}
	return decoded, nil
}

func decoded(value any) (any, error) {
	list, ok := value.([]any)
	if !ok {
		return atom(value)
	}
	if len(list) != 2 {
		return nil, fmt.Errorf("a list of %d is no value", len(list))
	}
	elements, _ := list[1].([]any)
	switch list[0] {
	case "set":
		set := make([]any, 0, len(elements))
		for _, element := range elements {
			value, err := atom(element)
			if err != nil {
				return nil, err
			}
			set = append(set, value)
		}
		return set, nil
	case "map":
		return pairsOf(elements)
	default:
		return atom(value)
	}
}

func pairsOf(elements []any) (map[string]any, error) {
	pairs := make(map[string]any, len(elements))
	for _, element := range elements {
		pair, ok := element.([]any)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("%v is not a pair", element)
		}
		key, err := atom(pair[0])
		if err != nil {
			return nil, err
		}
		value, err := atom(pair[1])
		if err != nil {
			return nil, err
		}
		pairs[fmt.Sprint(key)] = value
	}
	return pairs, nil
}

func atom(value any) (any, error) {
	list, ok := value.([]any)
	if !ok {
		if value == nil {
			return nil, fmt.Errorf("null is no value")
		}
		return value, nil
	}
	if len(list) == 2 && list[0] == "uuid" {
		if id, ok := list[1].(string); ok {
			return UUID(id), nil
		}
	}
	return nil, fmt.Errorf("%v is no value", value)
}
