// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import "slices"

// Type is what the values of a column are.
type Type int

// The types.
const (
	// Text is a string.
	Text Type = iota
	// Flag is true or false.
	Flag
	// Number is an integer.
	Number
	// Reference is the id of a row.
	Reference
	// Pairs is a map from strings to strings.
	Pairs
)

// Column is a column that a body may set.
type Column struct {
	// Name is that of the column, and of the field.
	Name string
	// Type is that of each value.
	Type Type
	// Many reports that it is a set; of an optional value, a set of at most one.
	Many bool
	// Refers is the kind of the rows that a Reference is to.
	Refers string
	// ListedIn is the column of these rows that lists the row, if the reference is the other way round in the database.
	ListedIn string

	single bool
	// exact reports that pairs that the body does not list are a difference. In other columns they may be another client's.
	exact bool
	// owned are the keys that converters write: one that a body does not list any more is removed. Other keys are another client's.
	owned []string
}

// Kind is a table of the Northbound database.
type Kind struct {
	// Name is the kind as Translations spell it, for instance LogicalSwitchPort.
	Name string
	// Table is the table.
	Table string
	// Parent is the kind of the rows that rows of this kind are below, empty if they stand alone. Link is the parent's column with
	// their ids.
	Parent, Link string
	// Root reports that a row stays without a parent, so that it has to be deleted. Others are deleted with the last reference.
	Root bool
	// Unique is a column whose value only one row has.
	Unique string
	// Columns are those that a body may set.
	Columns []Column
}

// KindNamed finds a kind by its name.
func KindNamed(name string) (Kind, bool) {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

// Kinds returns all kinds, a referent before those that refer to it.
func Kinds() []Kind { return slices.Clone(kinds) }

// Children returns the kinds of the rows below those of a kind.
func Children(name string) []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool { return k.Parent != name })
}

// IsTagged reports whether rows record to whom they belong.
func (k Kind) IsTagged() bool {
	_, found := k.Column(tagged)
	return found
}

// Column finds a column by its name.
func (k Kind) Column(name string) (Column, bool) {
	i := slices.IndexFunc(k.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return Column{}, false
	}
	return k.Columns[i], true
}

// Listing finds the column that is not one of the table: what the row is in is listed by rows of another table.
func (k Kind) Listing() (Column, bool) {
	i := slices.IndexFunc(k.Columns, func(c Column) bool { return c.ListedIn != "" })
	if i < 0 {
		return Column{}, false
	}
	return k.Columns[i], true
}

// Stored returns the names of the columns that the table has.
func (k Kind) Stored() []string {
	var names []string
	for _, column := range k.Columns {
		if column.ListedIn == "" {
			names = append(names, column.Name)
		}
	}
	return names
}

func (k Kind) names() []string {
	names := make([]string, len(k.Columns))
	for i, column := range k.Columns {
		names[i] = column.Name
	}
	return names
}
