// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"context"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

// Create makes a row, and has its parent refer to it.
func (b *Backend) Create(ctx context.Context, r backend.Resource, _ int) error {
	row, k, err := b.row(r, false)
	if err != nil {
		return err
	}
	create := ovsdb.Insert(k.Table, r.ID, row)
	if k.Parent == "" {
		return failure(b.write(ctx, k, r.ID, create))
	}
	parent, _ := ovn.KindNamed(k.Parent)
	at := []ovsdb.Condition{ovsdb.ByID(r.Parent)}
	err = b.write(ctx, k, r.ID, ovsdb.Require(parent.Table, at...), create, ovsdb.Mutate(parent.Table, at, ovsdb.Including(k.Link, ovsdb.Set{ovsdb.UUID(r.ID)})))
	if failedAt(err) == 0 {
		return &backend.Error{Reason: backend.NotFound, Message: k.Parent + " " + r.Parent + " does not exist", Err: err}
	}
	return failure(err)
}

// row is what is written of a resource. Its tags are part of a new row, but not of an update.
func (b *Backend) row(r backend.Resource, update bool) (map[string]any, ovn.Kind, error) {
	wanted, err := ovn.Parse(r.Kind, r.Parent, string(r.Body))
	if err != nil {
		return nil, ovn.Kind{}, &backend.Error{Reason: backend.Refused, Message: err.Error(), Err: err}
	}
	row := wanted.Row(update)
	switch {
	case update:
		delete(row, tagColumn)
	case wanted.Kind.IsTagged():
		row[tagColumn] = b.tags(wanted)
	}
	return row, wanted.Kind, nil
}

// tagColumn is the column with the tags.
const tagColumn = "external_ids"

// tags are the external_ids of a row.
func (b *Backend) tags(wanted ovn.Resource) ovsdb.Map {
	tags := ovsdb.Map{}
	listed, _ := wanted.Values[tagColumn].(map[string]string)
	for key, value := range listed {
		tags[key] = value
	}
	tags[TenantKey] = b.tenant
	return tags
}

// Update sets all columns of a row that a body can have. Other pairs of external_ids are left.
func (b *Backend) Update(ctx context.Context, r backend.Resource) error {
	row, k, err := b.row(r, true)
	if err != nil {
		return err
	}
	at := b.owned(k, r.ID)
	operations := []ovsdb.Operation{ovsdb.Require(k.Table, at...), ovsdb.Update(k.Table, at, row)}
	if k.IsTagged() {
		wanted, _ := ovn.Parse(r.Kind, r.Parent, string(r.Body)) // which row has read
		tags := b.tags(wanted)
		keys := ovsdb.Set{}
		for key := range tags {
			keys = append(keys, key)
		}
		operations = append(operations, ovsdb.Mutate(k.Table, at, ovsdb.Excluding(tagColumn, keys), ovsdb.Including(tagColumn, tags)))
	}
	err = b.write(ctx, k, r.ID, operations...)
	if failedAt(err) == 0 {
		return b.explain(ctx, k, r.ID, err)
	}
	return failure(err)
}

// explain reports why a row cannot be updated: it does not exist, or belongs to another client.
func (b *Backend) explain(ctx context.Context, k ovn.Kind, id string, cause error) error {
	results, err := b.client.Transact(ctx, ovsdb.Select(k.Table, []ovsdb.Condition{ovsdb.ByID(id)}, "_uuid"))
	switch {
	case err != nil:
		return failure(err)
	case len(results[0].Rows) == 0:
		return &backend.Error{Reason: backend.NotFound, Message: k.Name + " " + id + " has been deleted", Err: cause}
	default:
		return &backend.Error{Reason: backend.Refused, Err: cause, Message: "a row with this id belongs to another client: choose another id, or set external_ids:" +
			TenantKey + "=" + b.tenant + " of the row to hand it over"}
	}
}

// owned selects a row if it may be changed: it has the tenant's tag, or an id that only this tenant can have.
func (b *Backend) owned(k ovn.Kind, id string) []ovsdb.Condition {
	at := []ovsdb.Condition{ovsdb.ByID(id)}
	if k.IsTagged() && !ovn.IsDerived(id) {
		at = append(at, ovsdb.Condition{tagColumn, "includes", ovsdb.Map{TenantKey: b.tenant}})
	}
	return at
}

// Delete removes a row and the reference of its parent. A row of another client is left, and is no error: none is of this tenant.
func (b *Backend) Delete(ctx context.Context, ref backend.Ref) error {
	k, _ := ovn.KindNamed(ref.Kind)
	operations := []ovsdb.Operation{ovsdb.Require(k.Table, b.owned(k, ref.ID)...)}
	if k.Parent != "" {
		parent, _ := ovn.KindNamed(k.Parent)
		operations = append(operations, ovsdb.Mutate(parent.Table, []ovsdb.Condition{refersTo(k, ref.ID)}, ovsdb.Excluding(k.Link, ovsdb.Set{ovsdb.UUID(ref.ID)})))
	}
	if k.Root {
		operations = append(operations, ovsdb.Delete(k.Table, ovsdb.ByID(ref.ID)))
	}
	if len(ovn.Children(k.Name)) > 0 {
		defer b.purges()()
	}
	err := b.write(ctx, k, ref.ID, operations...)
	switch {
	case failedAt(err) == 0:
		return nil
	case ovsdb.CodeOf(err) == ovsdb.CodeReference:
		return &backend.Error{Reason: backend.Transient, Message: "other rows refer to it: " + err.Error(), Err: err}
	default:
		return failure(err)
	}
}

// write carries out a transaction about a row, if this process may write. The index in an error is that of the given operations.
func (b *Backend) write(ctx context.Context, k ovn.Kind, id string, operations ...ovsdb.Operation) error {
	defer b.writes(k.Table, id)()
	return b.fence.transact(ctx, operations)
}
