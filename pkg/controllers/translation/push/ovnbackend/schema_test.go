// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// usedSchema returns a schema with everything that is used.
func usedSchema() ovsdb.Schema {
	columns := func(names ...string) ovsdb.Table {
		table := ovsdb.Table{Columns: map[string]ovsdb.Column{}}
		for _, name := range names {
			table.Columns[name] = ovsdb.Column{}
		}
		return table
	}
	schema := ovsdb.Schema{Name: Database, Version: "7.0.0", Tables: map[string]ovsdb.Table{globalTable: columns("external_ids", "hv_cfg", "nb_cfg")}}
	for _, k := range ovn.Kinds() {
		schema.Tables[k.Table] = columns(k.Stored()...)
	}
	for table, names := range map[string][]string{
		"Load_Balancer_Group": {"load_balancer"}, "Logical_Switch": {"ports"}, "Port_Group": {"acls", "ports"},
		"Logical_Router": {"nat", "policies", "ports", "static_routes"},
	} {
		for _, name := range names {
			schema.Tables[table].Columns[name] = ovsdb.Column{}
		}
	}
	return schema
}

// TestCheckSchema checks that the error names everything that is missing, with the version that has it.
func TestCheckSchema(t *testing.T) {
	without := func(names ...string) ovsdb.Schema {
		schema := usedSchema()
		for _, name := range names {
			if table, column, ok := strings.Cut(name, "."); ok {
				delete(schema.Tables[table].Columns, column)
			} else {
				delete(schema.Tables, table)
			}
		}
		return schema
	}
	for name, tc := range map[string]struct {
		schema ovsdb.Schema
		want   string // the missing tables and columns, "" for none
	}{
		"everything":             {usedSchema(), ""},
		"a table":                {without("Chassis_Template_Var"), "lacks Chassis_Template_Var: OVN 22.12 or later"},
		"a column":               {without("ACL.label"), "lacks ACL.label: "},
		"a table and columns":    {without("Load_Balancer_Group", "Load_Balancer.options", "ACL.label"), "lacks ACL.label, Load_Balancer.options, Load_Balancer_Group: "},
		"a column with children": {without("Logical_Switch.ports"), "lacks Logical_Switch.ports: "},
		"a column with members":  {without("Port_Group.ports"), "lacks Port_Group.ports: "},
		"the confirmation":       {without("NB_Global.hv_cfg"), "lacks NB_Global.hv_cfg: "},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkSchema(tc.schema)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "7.0.0")) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
}

// TestSchemaOfServer checks that a database with an older schema is not used at all: nothing is read from it or written to it.
func TestSchemaOfServer(t *testing.T) {
	current := ovnserver.Start(t, ovnserver.Options{})
	data, err := os.ReadFile(current.Schema("nb"))
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	delete(schema["tables"].(map[string]any), "Chassis_Template_Var")
	if data, err = json.Marshal(schema); err != nil {
		t.Fatal(err)
	}
	older := filepath.Join(t.TempDir(), "older.ovsschema")
	if err := os.WriteFile(older, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		options ovnserver.Options
		want    string
	}{
		"current": {ovnserver.Options{}, ""},
		"older":   {ovnserver.Options{NorthboundSchema: older}, "lacks Chassis_Template_Var: OVN 22.12 or later"},
	} {
		t.Run(name, func(t *testing.T) {
			b := dial(t, ovnserver.Start(t, tc.options), holds(1, "a"))
			err := b.Create(t.Context(), resolve(t, b, "LogicalSwitch", "", `{"id":%q,"name":"a"}`, zone), 0)
			_, listed := b.List(t.Context(), backend.Collection{Kind: "LogicalSwitch"})
			for _, err := range []error{err, listed} {
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || backend.ReasonOf(err) != backend.Transient) {
					t.Errorf("error = %v, want %q", err, tc.want)
				}
			}
		})
	}
}
