// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// within returns the paths of a set that are in one of the fields of the spec, or contain it.
func within(set *fieldpath.Set, fields []string) *fieldpath.Set {
	found := fieldpath.NewSet()
	for path := range set.All() {
		for _, field := range fields {
			if isField(path, 0, "spec") && (len(path) == 1 || isField(path, 1, field)) {
				found.Insert(path.Copy())
			}
		}
	}
	return found
}

func isField(path fieldpath.Path, at int, name string) bool {
	return len(path) > at && path[at].FieldName != nil && *path[at].FieldName == name
}

// owed returns what updates by a manager own besides metadata.
func owed(object map[string]any, manager string) (*fieldpath.Set, error) {
	all := fieldpath.NewSet()
	for _, entry := range entries(object) {
		if !byUpdate(entry, manager) {
			continue
		}
		set, err := fieldsOf(entry)
		if err != nil {
			return nil, err
		}
		for path := range set.All() {
			if !isField(path, 0, fieldMetadata) {
				all.Insert(path.Copy())
			}
		}
	}
	return all, nil
}

const (
	fieldMetadata      = "metadata"
	fieldManagedFields = "managedFields"
)

// entries returns the entries of managedFields.
func entries(object map[string]any) []map[string]any {
	metadata, _ := object[fieldMetadata].(map[string]any)
	list, _ := metadata[fieldManagedFields].([]any)
	found := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if entry, ok := item.(map[string]any); ok {
			found = append(found, entry)
		}
	}
	return found
}

func byUpdate(entry map[string]any, manager string) bool {
	owner := ownerOf(entry)
	return owner.Manager == manager && owner.Operation == string(metav1.ManagedFieldsOperationUpdate) && owner.Subresource == ""
}

func ownerOf(entry map[string]any) Owner {
	get := func(field string) string {
		value, _ := entry[field].(string)
		return value
	}
	return Owner{Manager: get("manager"), Operation: get("operation"), APIVersion: get("apiVersion"), Subresource: get("subresource"),
		Time: get("time")}
}

// same reports whether two owners are one entry of managedFields.
func (o Owner) same(other Owner) bool {
	return o.Manager == other.Manager && o.Operation == other.Operation && o.APIVersion == other.APIVersion &&
		o.Subresource == other.Subresource
}

// entry returns the entry of an owner, without its fields.
func (o Owner) entry() map[string]any {
	entry := map[string]any{"fieldsType": "FieldsV1"}
	for field, value := range map[string]string{
		"manager": o.Manager, "operation": o.Operation, "apiVersion": o.APIVersion, "subresource": o.Subresource, "time": o.Time,
	} {
		if value != "" {
			entry[field] = value
		}
	}
	return entry
}

func fieldsOf(entry map[string]any) (*fieldpath.Set, error) {
	text, err := json.Marshal(entry["fieldsV1"])
	if err != nil {
		return nil, fmt.Errorf("read the managed fields of %v: %w", entry["manager"], err)
	}
	return decode(text)
}

func decode(fields []byte) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if len(fields) == 0 || string(fields) == "null" {
		return set, nil
	}
	if err := set.FromJSON(bytes.NewReader(fields)); err != nil {
		return nil, fmt.Errorf("read managed fields: %w", err)
	}
	return set, nil
}

func encode(set *fieldpath.Set) (map[string]any, error) {
	text, err := set.ToJSON()
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	return fields, json.Unmarshal(text, &fields)
}

func with(entry map[string]any, field string, value any) map[string]any {
	changed := maps.Clone(entry)
	changed[field] = value
	return changed
}
