// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

// Value is a value of a column as bodies have it: a string, a bool, a json.Number, a sorted list of one of these, or a map of strings
// to strings. An optional value is a list of at most one, or the value itself in a body.
type Value any

func (c Column) read(field any) (Value, error) {
	switch {
	case c.Type == Pairs:
		object, ok := field.(map[string]any)
		if !ok {
			return nil, errors.New("must be an object of strings")
		}
		read := make(map[string]string, len(object))
		for key, value := range object {
			text, ok := value.(string)
			if !ok {
				return nil, fmt.Errorf("%s: must be a string", printable(key))
			}
			read[key] = text
		}
		return read, nil
	case !c.Many:
		return c.atom(field)
	}
	list, ok := field.([]any)
	if !ok && !c.single {
		return nil, errors.New("must be a list")
	}
	if !ok {
		list = []any{field}
	}
	if c.single && len(list) > 1 {
		return nil, errors.New("must be one value")
	}
	values := make([]any, 0, len(list))
	for _, element := range list {
		value, err := c.atom(element)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return sorted(values), nil
}

func (c Column) atom(value any) (any, error) {
	switch c.Type {
	case Flag:
		if flag, ok := value.(bool); ok {
			return flag, nil
		}
		return nil, errors.New("must be true or false")
	case Number:
		if number, ok := value.(json.Number); ok {
			if _, err := number.Int64(); err == nil {
				return number, nil
			}
		}
		return nil, errors.New("must be an integer")
	case Reference:
		text, _ := value.(string)
		return text, CheckID(text)
	default:
		if text, ok := value.(string); ok {
			return text, nil
		}
		return nil, errors.New("must be a string")
	}
}

func sorted(values []any) []any {
	slices.SortFunc(values, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return slices.CompactFunc(values, func(a, b any) bool { return a == b })
}

// encode returns a value in the notation of the database. Without a value, it is what the column has by default.
func (c Column) encode(value Value) any {
	switch value := value.(type) {
	case map[string]string:
		return ovsdb.Map(value)
	case []any:
		set := make(ovsdb.Set, len(value))
		for i, element := range value {
			set[i] = c.encode(element)
		}
		return set
	case string:
		if c.Type == Reference {
			return ovsdb.UUID(value)
		}
		return value
	case nil:
		return c.absent()
	default:
		return value
	}
}

// absent returns the value of a column that was never set.
func (c Column) absent() any {
	switch {
	case c.Type == Pairs:
		return ovsdb.Map{}
	case c.Many:
		return ovsdb.Set{}
	case c.Type == Flag:
		return false
	case c.Type == Number:
		return 0
	default:
		return ""
	}
}

func (c Column) decode(row ovsdb.Row) (Value, error) {
	if c.Type == Pairs {
		return row.Map(c.Name)
	}
	value, err := row.Value(c.Name)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	values := make([]any, 0, len(list))
	for _, element := range list {
		if id, ok := element.(ovsdb.UUID); ok {
			element = string(id)
		}
		value, err := c.atom(element)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		values = append(values, value)
	}
	if c.Many {
		return sorted(values), nil
	}
	if len(values) != 1 {
		return nil, fmt.Errorf("column %s has %d values", c.Name, len(values))
	}
	return values[0], nil
}

// same reports whether a row has the wanted value.
func (c Column) same(want, have Value) bool {
	switch want := want.(type) {
	case map[string]string:
		have, _ := have.(map[string]string)
		if c.exact {
			return maps.EqualFunc(want, have, c.samePair)
		}
		for key, value := range want {
			if other, found := have[key]; !found || !c.samePair(value, other) {
				return false
			}
		}
		return true
	case []any:
		have, _ := have.([]any)
		return slices.Equal(want, have)
	default:
		return want == have
	}
}

// samePair compares values of pairs. The order of a list in one does not matter where the pairs are exact: those are endpoints.
func (c Column) samePair(want, have string) bool {
	if want == have || !c.exact {
		return want == have
	}
	split := func(text string) []string { return slices.Sorted(slices.Values(strings.Split(text, ","))) }
	return slices.Equal(split(want), split(have))
}

// Row returns the columns of a new row in the notation of the database. What other rows list is not part of it.
func (r Resource) Row() map[string]any {
	row := map[string]any{}
	for _, column := range r.Kind.Columns {
		if value, set := r.Values[column.Name]; set && column.ListedIn == "" {
			row[column.Name] = column.encode(value)
		}
	}
	return row
}

// Reset returns the columns to set of an existing row, those that the body does not set with their defaults. Columns whose pairs are Merged
// are not part of it.
func (r Resource) Reset() map[string]any {
	row := map[string]any{}
	for _, column := range r.Kind.Columns {
		if column.ListedIn == "" && !column.merges() {
			row[column.Name] = column.encode(r.Values[column.Name])
		}
	}
	return row
}

// merges reports whether pairs of the column may be another client's.
func (c Column) merges() bool { return c.Type == Pairs && !c.exact }

// Merge is a change of pairs that leaves those of other clients.
type Merge struct {
	Column string
	// Remove are the keys to remove first, sorted: those of Set, whose values may differ, and those that a body may have listed before.
	Remove []string
	Set    map[string]string
}

// Merged returns the changes of the columns whose pairs may be those of other clients.
func (r Resource) Merged() []Merge {
	var merges []Merge
	for _, column := range r.Kind.Columns {
		if !column.merges() {
			continue
		}
		set, _ := r.Values[column.Name].(map[string]string)
		remove := slices.Sorted(maps.Keys(set))
		for _, key := range column.owned {
			if _, listed := set[key]; !listed {
				remove = append(remove, key)
			}
		}
		merges = append(merges, Merge{Column: column.Name, Remove: slices.Sorted(slices.Values(remove)), Set: set})
	}
	return merges
}

// IsOwned reports whether a key of pairs is one that converters write.
func (c Column) IsOwned(key string) bool { return slices.Contains(c.owned, key) }

// Read reads a row of the kind: its id, and the values of the columns that the table has.
func (k Kind) Read(row ovsdb.Row) (id string, values map[string]Value, err error) {
	id, values = row.UUID(), map[string]Value{}
	for _, column := range k.Columns {
		if column.ListedIn != "" {
			continue
		}
		if values[column.Name], err = column.decode(row); err != nil {
			return id, nil, fmt.Errorf("%s %s: %w", k.Name, id, err)
		}
	}
	return id, values, nil
}

// Selected returns the columns to select for Read.
func (k Kind) Selected() []string { return append([]string{"_uuid"}, k.Stored()...) }
