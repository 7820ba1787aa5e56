// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/ovsdb"
	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// Kinds refer to kinds that come before them, and the names are unique.
func TestKinds(t *testing.T) {
	known := map[string]bool{}
	for _, k := range Kinds() {
		needs := []string{k.Parent}
		for _, column := range k.Columns {
			needs = append(needs, column.Refers)
		}
		for _, need := range needs {
			if need != "" && !known[need] {
				t.Errorf("%s needs %s, which is not before it", k.Name, need)
			}
		}
		if known[k.Name] {
			t.Errorf("%s is there twice", k.Name)
		}
		known[k.Name] = true
		if _, found := k.Column(k.Unique); k.Unique != "" && !found {
			t.Errorf("%s has no column %s", k.Name, k.Unique)
		}
	}
}

// The kinds are as in the schema of OVN.
func TestKindsMatchSchema(t *testing.T) {
	server := ovnserver.Start(t, ovnserver.Options{})
	data, err := os.ReadFile(server.Schema("nb"))
	if err != nil {
		t.Fatal(err)
	}
	var schema ovsdb.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for _, k := range Kinds() {
		table, found := schema.Tables[k.Table]
		if !found {
			t.Errorf("%s: no table %s", k.Name, k.Table)
			continue
		}
		if table.IsRoot != k.Root {
			t.Errorf("%s: root = %v, want %v", k.Name, k.Root, table.IsRoot)
		}
		unique := slices.ContainsFunc(table.Indexes, func(columns []string) bool { return slices.Equal(columns, []string{k.Unique}) })
		if unique != (k.Unique != "") {
			t.Errorf("%s: unique column %q, want one of %v", k.Name, k.Unique, table.Indexes)
		}
		for _, column := range k.Columns {
			if column.ListedIn != "" {
				lister, _ := KindNamed(column.Refers)
				if list := typeOf(t, schema.Tables[lister.Table].Columns[column.ListedIn].Type); list.Key.RefTable != k.Table || list.Key.RefType != "weak" {
					t.Errorf("%s.%s: the column %s of %s is %+v", k.Name, column.Name, column.ListedIn, lister.Table, list)
				}
				continue
			}
			matches(t, schema, k.Name, column, table.Columns[column.Name].Type)
		}
		if k.Parent == "" {
			continue
		}
		parent, _ := KindNamed(k.Parent)
		link := typeOf(t, schema.Tables[parent.Table].Columns[k.Link].Type)
		if link.Key.RefTable != k.Table || (link.Key.RefType == "weak") != k.Root {
			t.Errorf("%s: the link %s of %s is %+v", k.Name, k.Link, parent.Table, link)
		}
	}
}

// columnType is a type of RFC 7047, less what may be left out.
type columnType struct {
	Key   baseType
	Value *json.RawMessage
	Min   *int
	Max   any
}

type baseType struct{ Type, RefTable, RefType string }

// UnmarshalJSON reads a name, or an object.
func (b *baseType) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &b.Type) == nil {
		return nil
	}
	type plain baseType
	return json.Unmarshal(data, (*plain)(b))
}

func typeOf(t *testing.T, data json.RawMessage) columnType {
	t.Helper()
	var read columnType
	if json.Unmarshal(data, &read.Key.Type) == nil {
		return read
	}
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func matches(t *testing.T, schema ovsdb.Schema, kind string, column Column, data json.RawMessage) {
	t.Helper()
	if data == nil {
		t.Errorf("%s: no column %s", kind, column.Name)
		return
	}
	have := typeOf(t, data)
	names := map[Type]string{Text: "string", Flag: "boolean", Number: "integer", Reference: "uuid", Pairs: "string"}
	if have.Key.Type != names[column.Type] || (have.Value != nil) != (column.Type == Pairs) {
		t.Errorf("%s.%s: type %s, want that of %s", kind, column.Name, names[column.Type], data)
	}
	many := have.Max == "unlimited" || have.Min != nil && *have.Min == 0
	if column.Type != Pairs && many != column.Many || column.Many && (have.Max != "unlimited") != column.single {
		t.Errorf("%s.%s: many %v, single %v, want those of %s", kind, column.Name, column.Many, column.single, data)
	}
	if column.Refers != "" {
		refers, _ := KindNamed(column.Refers)
		if have.Key.RefTable != refers.Table {
			t.Errorf("%s.%s: refers to %s, want %s", kind, column.Name, refers.Table, have.Key.RefTable)
		}
	}
}
