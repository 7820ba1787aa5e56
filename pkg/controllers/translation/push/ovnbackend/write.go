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
	wanted, err := parsed(r)
	if err != nil {
		return err
	}
	k, create := wanted.Kind, ovsdb.Insert(wanted.Kind.Table, r.ID, b.row(wanted, false))
	if k.Parent == "" {
		return failure(b.write(ctx, k, r.ID, create))
	}
	parent, _ := ovn.KindNamed(k.Parent)
	at := []ovsdb.Condition{ovsdb.ByID(r.Parent)}
	operations := []ovsdb.Operation{ovsdb.Require(parent.Table, at...), create, ovsdb.Mutate(parent.Table, at, ovsdb.Including(k.Link, ovsdb.Set{ovsdb.UUID(r.ID)}))}
	err = b.write(ctx, k, r.ID, append(operations, b.listed(wanted)...)...)
	if failedAt(err) == 0 {
		return &backend.Error{Reason: backend.NotFound, Message: k.Parent + " " + r.Parent + " does not exist", Err: err}
	}
	return unlisted(wanted, err)
}

// parsed reads what is to be written.
func parsed(r backend.Resource) (ovn.Resource, error) {
	wanted, err := ovn.Parse(r.Kind, r.Parent, string(r.Body))
	if err != nil {
		return ovn.Resource{}, &backend.Error{Reason: backend.Refused, Message: err.Error(), Err: err}
	}
	return wanted, nil
}

// listed has other rows of the tenant list a row. Each has to exist: a port must not do without a group that isolates it.
func (b *Backend) listed(wanted ovn.Resource) []ovsdb.Operation {
	listing, ok := wanted.Kind.Listing()
	if !ok {
		return nil
	}
	lister, _ := ovn.KindNamed(listing.Refers)
	var operations []ovsdb.Operation
	for _, id := range wanted.Lists(listing.Name) {
		at := []ovsdb.Condition{ovsdb.ByID(id), b.tagged()}
		operations = append(operations, ovsdb.Require(lister.Table, at...), ovsdb.Mutate(lister.Table, at, ovsdb.Including(listing.ListedIn, ovsdb.Set{ovsdb.UUID(wanted.ID)})))
	}
	return operations
}

// unlisted converts the error of a transaction that ends with the operations of listed.
func unlisted(wanted ovn.Resource, err error) error {
	listing, _ := wanted.Kind.Listing()
	if failedAt(err) < 0 || listing.Refers == "" {
		return failure(err)
	}
	return &backend.Error{Reason: backend.NotFound, Message: "a " + listing.Refers + " of " + listing.Name + " does not exist, or belongs to another client", Err: err}
}

// row returns what is written of a resource. Its tags are part of a new row, but not of an update.
func (b *Backend) row(wanted ovn.Resource, update bool) map[string]any {
	row := wanted.Row(update)
	switch {
	case update:
		delete(row, tagColumn)
	case wanted.Kind.IsTagged():
		row[tagColumn] = b.tags(wanted)
	}
	return row
}

// tagColumn is the column with the tags.
const tagColumn = "external_ids"

// tags returns the external_ids of a row.
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
	wanted, err := parsed(r)
	if err != nil {
		return err
	}
	k := wanted.Kind
	at := b.owned(k, r.ID)
	operations := []ovsdb.Operation{ovsdb.Require(k.Table, at...), ovsdb.Update(k.Table, at, b.row(wanted, true))}
	if k.IsTagged() {
		tags := b.tags(wanted)
		keys := ovsdb.Set{}
		for key := range tags {
			keys = append(keys, key)
		}
		operations = append(operations, ovsdb.Mutate(k.Table, at, ovsdb.Excluding(tagColumn, keys), ovsdb.Including(tagColumn, tags)))
	}
	if listing, ok := k.Listing(); ok {
		lister, _ := ovn.KindNamed(listing.Refers)
		operations = append(operations, ovsdb.Mutate(lister.Table, b.listing(listing, r.ID), ovsdb.Excluding(listing.ListedIn, ovsdb.Set{ovsdb.UUID(r.ID)})))
		operations = append(operations, b.listed(wanted)...)
	}
	err = b.write(ctx, k, r.ID, operations...)
	if failedAt(err) == 0 {
		return b.explain(ctx, k, r.ID, err)
	}
	return unlisted(wanted, err)
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
		at = append(at, b.tagged())
	}
	return at
}

// tagged matches rows with the tenant's tag.
func (b *Backend) tagged() ovsdb.Condition {
	return ovsdb.Condition{tagColumn, "includes", ovsdb.Map{TenantKey: b.tenant}}
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
	defer b.joins(k)()
	return b.fence.transact(ctx, operations)
}
