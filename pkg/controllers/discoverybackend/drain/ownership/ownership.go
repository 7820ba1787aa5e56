// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package ownership hands fields back to the managers that had them before Groundskeeper wrote. A write that changes a field takes
// it from all others, and their next server-side apply would be rejected as a conflict, although only Groundskeeper changed
// anything. An update that changes no value but managedFields undoes that.
package ownership

import (
	"encoding/json"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Owner is an entry of managedFields, with those of its fields that were taken. Its fields are named as there.
type Owner struct {
	Manager     string          `json:"manager"`
	Operation   string          `json:"operation"`
	APIVersion  string          `json:"apiVersion,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
	Time        string          `json:"time,omitempty"`
	Fields      json.RawMessage `json:"fieldsV1"`
}

// Owes reports whether updates by a manager own more of an object than its metadata: fields that are others'.
func Owes(object map[string]any, manager string) bool {
	for _, entry := range entries(object) {
		if !byUpdate(entry, manager) {
			continue
		}
		fields, _ := entry["fieldsV1"].(map[string]any)
		for field := range fields {
			if field != "f:"+fieldMetadata {
				return true
			}
		}
	}
	return false
}

// Taken returns who owns what of the given fields of the spec, and of what contains them, besides the manager; and what
// earlier owners had that the manager still has to hand back.
func Taken(object map[string]any, manager string, fields []string, earlier []Owner) ([]Owner, error) {
	owed, err := owed(object, manager)
	if err != nil {
		return nil, err
	}
	var owners []Owner
	add := func(owner Owner, set *fieldpath.Set) error {
		if set.Empty() {
			return nil
		}
		if i := slices.IndexFunc(owners, owner.same); i >= 0 {
			had, err := decode(owners[i].Fields)
			if err != nil {
				return err
			}
			owner, set = owners[i], set.Union(had)
			owners = slices.Delete(owners, i, i+1)
		}
		text, err := set.ToJSON()
		if err != nil {
			return fmt.Errorf("write fields of manager %q: %w", owner.Manager, err)
		}
		owner.Fields = text
		owners = append(owners, owner)
		return nil
	}
	for _, entry := range entries(object) {
		if byUpdate(entry, manager) {
			continue
		}
		set, err := fieldsOf(entry)
		if err != nil {
			return nil, err
		}
		if err := add(ownerOf(entry), within(set, fields)); err != nil {
			return nil, err
		}
	}
	for _, owner := range earlier {
		set, err := decode(owner.Fields)
		if err != nil {
			return nil, err
		}
		if err := add(owner, set.Intersection(owed)); err != nil {
			return nil, err
		}
	}
	return owners, nil
}

// HandBack gives what updates by the manager own besides metadata back to the owners who had it, and leaves without owner what had
// none. With leave, the manager keeps no metadata either. It changes nothing but managedFields.
func HandBack(object map[string]any, manager string, owners []Owner, leave bool) (changed bool, err error) {
	owed, err := owed(object, manager)
	if err != nil || owed.Empty() && !leave {
		return false, err
	}
	var result []any
	for _, entry := range entries(object) {
		if byUpdate(entry, manager) {
			changed = true
			fields, _ := entry["fieldsV1"].(map[string]any)
			metadata, ok := fields["f:"+fieldMetadata]
			if leave || !ok {
				continue
			}
			entry = with(entry, "fieldsV1", map[string]any{"f:" + fieldMetadata: metadata})
		}
		result = append(result, entry)
	}
	for _, owner := range owners {
		had, err := decode(owner.Fields)
		if err != nil {
			return false, err
		}
		if result, err = give(result, owner, had.Intersection(owed)); err != nil {
			return false, err
		}
	}
	if !changed {
		return false, nil
	}
	if len(result) == 0 {
		result = []any{map[string]any{}} // the way to report that there are none
	}
	metadata, _ := object[fieldMetadata].(map[string]any)
	metadata[fieldManagedFields] = result
	return true, nil
}

// give adds fields to the entry of an owner, which is made again when it had lost its last field.
func give(entries []any, owner Owner, set *fieldpath.Set) ([]any, error) {
	if set.Empty() {
		return entries, nil
	}
	i := slices.IndexFunc(entries, func(entry any) bool { return owner.same(ownerOf(entry.(map[string]any))) })
	entry := owner.entry()
	if i >= 0 {
		entry = entries[i].(map[string]any)
		has, err := fieldsOf(entry)
		if err != nil {
			return nil, err
		}
		set = set.Union(has)
	}
	fields, err := encode(set)
	if err != nil {
		return nil, fmt.Errorf("write fields of manager %q: %w", owner.Manager, err)
	}
	entry = with(entry, "fieldsV1", fields)
	if i >= 0 {
		entries[i] = entry
		return entries, nil
	}
	return append(entries, entry), nil
}
