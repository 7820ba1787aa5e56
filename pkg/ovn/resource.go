// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"
)

// Resource is a row as a Translation wants it.
type Resource struct {
	Kind Kind
	// ID is the id of the row, Parent that of the row that it is below.
	ID, Parent string
	// Values are the columns that the body sets.
	Values map[string]Value
}

// Parse reads a resource of a Translation. An error names the field that is wrong, and what it takes.
func Parse(kind, parent, body string) (Resource, error) {
	k, ok := KindNamed(kind)
	if !ok {
		return Resource{}, fmt.Errorf("kind %q is not one of OVN's", kind)
	}
	if err := CheckPlace(k, parent); err != nil {
		return Resource{}, err
	}
	fields, err := fieldsOf(body)
	if err != nil {
		return Resource{}, fmt.Errorf("body of %s: %w", kind, err)
	}
	r := Resource{Kind: k, Parent: parent, Values: map[string]Value{}}
	if r.ID, err = idOf(k, fields); err != nil {
		return Resource{}, fmt.Errorf("body of %s: id: %w", kind, err)
	}
	for name, value := range fields {
		if name == "id" || value == nil {
			continue
		}
		column, ok := k.Column(name)
		if !ok {
			return Resource{}, fmt.Errorf("body of %s: %s: is not one of %s", kind, printable(name), strings.Join(k.names(), ", "))
		}
		if r.Values[name], err = column.read(value); err != nil {
			return Resource{}, fmt.Errorf("body of %s: %s: %w", kind, name, err)
		}
	}
	if k.Unique != "" && r.Text(k.Unique) == "" {
		return Resource{}, fmt.Errorf("body of %s: %s: is missing", kind, k.Unique)
	}
	return r, nil
}

// CheckPlace returns what is wrong with the parent of a resource; nil if such a resource can exist.
func CheckPlace(k Kind, parent string) error {
	switch {
	case k.Parent == "" && parent != "":
		return fmt.Errorf("%s stands alone: parent %q must be empty", k.Name, printable(parent))
	case k.Parent == "":
		return nil
	case parent == "":
		return fmt.Errorf("%s needs a parent of kind %s", k.Name, k.Parent)
	default:
		if err := CheckID(parent); err != nil {
			return fmt.Errorf("parent of %s: %w", k.Name, err)
		}
		return nil
	}
}

// CheckID wants the canonical spelling, because two spellings of one id would be two resources to Groundskeeper.
func CheckID(id string) error {
	if parsed, err := uuid.Parse(id); err != nil || parsed.String() != id || parsed == uuid.Nil {
		return fmt.Errorf("%q is not a lower-case UUID", printable(id))
	}
	return nil
}

// IsDerived reports whether an id is a UUID of version 5, as those of converters, which are derived from names and the tenant. Those of
// other tenants and clients may be, too.
func IsDerived(id string) bool {
	parsed, err := uuid.Parse(id)
	return err == nil && parsed.Version() == 5
}

// idOf reads the id. A row that cannot record to whom it belongs needs one that shows it.
func idOf(k Kind, fields map[string]any) (string, error) {
	id, ok := fields["id"].(string)
	if !ok {
		return "", errors.New("must be a UUID, the id of the row")
	}
	if err := CheckID(id); err != nil {
		return "", err
	}
	if !k.IsTagged() && !IsDerived(id) {
		return "", fmt.Errorf("must be a UUID of version 5: the table %s cannot record the owner of a row", k.Table)
	}
	return id, nil
}

// fieldsOf takes a body apart.
func fieldsOf(body string) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(body)))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) || fields == nil {
		return nil, errors.New("must be one JSON object")
	}
	return fields, nil
}

// Text returns the value of a column with one string, empty when it is not set.
func (r Resource) Text(column string) string {
	value, _ := r.Values[column].(string)
	return value
}

// Lists returns the ids in a column.
func (r Resource) Lists(column string) []string {
	values, _ := r.Values[column].([]any)
	ids := make([]string, 0, len(values))
	for _, id := range values {
		ids = append(ids, fmt.Sprint(id))
	}
	return ids
}

// References returns the rows that a resource refers to, by the kind.
func (r Resource) References() map[string][]string {
	found := map[string][]string{}
	for _, column := range r.Kind.Columns {
		if column.Type == Reference {
			found[column.Refers] = append(found[column.Refers], r.Lists(column.Name)...)
		}
	}
	return found
}

// Differences returns the columns that the resource sets and a row has otherwise. Which pairs of external_ids and options a row has
// besides does not matter.
func (r Resource) Differences(have map[string]Value) []string {
	var names []string
	for _, column := range r.Kind.Columns {
		want, set := r.Values[column.Name]
		if set && !column.same(want, have[column.Name]) {
			names = append(names, column.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Values reads the columns in a body, without an id.
func (k Kind) Values(body []byte) (map[string]Value, error) {
	fields, err := fieldsOf(string(body))
	if err != nil {
		return nil, fmt.Errorf("body of %s: %w", k.Name, err)
	}
	values := map[string]Value{}
	for name, field := range fields {
		column, ok := k.Column(name)
		if !ok || field == nil {
			continue
		}
		if values[name], err = column.read(field); err != nil {
			return nil, fmt.Errorf("body of %s: %s: %w", k.Name, name, err)
		}
	}
	return values, nil
}

// printable returns a text of users for a message.
func printable(text string) string {
	const most = 80
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
