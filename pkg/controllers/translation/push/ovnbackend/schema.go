// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"fmt"
	"slices"
	"strings"

	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

// oldestVersion is the oldest OVN whose Northbound database has everything that is used.
const oldestVersion = "22.12"

// checkSchema returns an error that names the tables and columns that a Northbound database lacks. Without the check, each kind would fail
// separately, with an error about one column, and what does not need it would be Synced in a network that cannot work.
func checkSchema(schema ovsdb.Schema) error {
	lacks := missingFrom(schema)
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("the schema of %s, version %s, lacks %s: OVN %s or later is required; upgrade it, and convert the database "+
		"(ovsdb-client convert)", Database, schema.Version, strings.Join(lacks, ", "), oldestVersion)
}

// missingFrom returns the tables, and the columns of other tables, that are used and that a schema lacks, sorted.
func missingFrom(schema ovsdb.Schema) []string {
	used := map[string][]string{globalTable: {"external_ids", "hv_cfg", "nb_cfg"}}
	for _, k := range ovn.Kinds() {
		used[k.Table] = append(used[k.Table], k.Stored()...)
		if parent, ok := ovn.KindNamed(k.Parent); ok {
			used[parent.Table] = append(used[parent.Table], k.Link)
		}
		if listing, ok := k.Listing(); ok {
			lister, _ := ovn.KindNamed(listing.Refers)
			used[lister.Table] = append(used[lister.Table], listing.ListedIn)
		}
	}
	var lacks []string
	for table, columns := range used {
		has, found := schema.Tables[table]
		if !found {
			lacks = append(lacks, table)
			continue
		}
		for _, column := range columns {
			if _, found := has.Columns[column]; !found {
				lacks = append(lacks, table+"."+column)
			}
		}
	}
	slices.Sort(lacks)
	return slices.Compact(lacks)
}
