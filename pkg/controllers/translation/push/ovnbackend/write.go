// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"context"
	"errors"
	"fmt"
	"maps"

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
	k, row := wanted.Kind, wanted.Row()
	if k.IsTagged() {
		row[tagColumn] = b.tags(wanted)
	} else if !b.derives(r.Claim, r.ID) {
		return unproven(k, r.ID) // it could not be deleted again
	}
	create := ovsdb.Insert(k.Table, r.ID, row)
	if k.Parent == "" {
		return failure(b.named(ctx, wanted, b.write(ctx, k, r.ID, create)))
	}
	parent, _ := ovn.KindNamed(k.Parent)
	at := []ovsdb.Condition{ovsdb.ByID(r.Parent)}
	operations := []ovsdb.Operation{ovsdb.Require(parent.Table, at...), create,
		ovsdb.Mutate(parent.Table, at, ovsdb.Including(k.Link, only(r.ID)))}
	err = b.write(ctx, k, r.ID, append(operations, b.listed(wanted)...)...)
	if failedAt(err) == 0 {
		return &backend.Error{Reason: backend.NotFound, Message: k.Parent + " " + r.Parent + " does not exist", Err: err}
	}
	return unlisted(wanted, b.named(ctx, wanted, err))
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
		operations = append(operations, ovsdb.Require(lister.Table, at...),
			ovsdb.Mutate(lister.Table, at, ovsdb.Including(listing.ListedIn, only(wanted.ID))))
	}
	return operations
}

// unlisted converts the error of a transaction that ends with the operations of listed.
func unlisted(wanted ovn.Resource, err error) error {
	listing, _ := wanted.Kind.Listing()
	if failedAt(err) < 0 || listing.Refers == "" {
		return failure(err)
	}
	return &backend.Error{Reason: backend.NotFound, Err: err,
		Message: "a " + listing.Refers + " of " + listing.Name + " does not exist, or belongs to another client"}
}

const tagColumn = "external_ids"

// tags returns the external_ids of a row.
func (b *Backend) tags(wanted ovn.Resource) ovsdb.Map {
	tags := ovsdb.Map{}
	listed, _ := wanted.Values[tagColumn].(map[string]string)
	maps.Copy(tags, listed)
	tags[TenantKey] = b.tenant
	return tags
}

// Update sets all columns of a row that a body can have. Other pairs of external_ids and options are left.
func (b *Backend) Update(ctx context.Context, r backend.Resource) error {
	wanted, err := parsed(r)
	if err != nil {
		return err
	}
	k := wanted.Kind
	err = b.ifOwned(ctx, k, r.Ref, func(at []ovsdb.Condition) error { return b.write(ctx, k, r.ID, b.updates(wanted, at)...) })
	if failedAt(err) == 0 {
		return b.explain(ctx, k, r.ID, err)
	}
	return unlisted(wanted, b.named(ctx, wanted, err))
}

// updates returns the operations that update a row which meets the conditions, of which the first requires that it does.
func (b *Backend) updates(wanted ovn.Resource, at []ovsdb.Condition) []ovsdb.Operation {
	k := wanted.Kind
	operations := []ovsdb.Operation{ovsdb.Require(k.Table, at...), ovsdb.Update(k.Table, at, wanted.Reset())}
	if changes := b.merges(wanted); len(changes) > 0 {
		operations = append(operations, ovsdb.Mutate(k.Table, at, changes...))
	}
	if listing, ok := k.Listing(); ok {
		lister, _ := ovn.KindNamed(listing.Refers)
		operations = append(operations,
			ovsdb.Mutate(lister.Table, b.listing(listing, wanted.ID), ovsdb.Excluding(listing.ListedIn, only(wanted.ID))))
		operations = append(operations, b.listed(wanted)...)
	}
	return operations
}

// merges returns the changes of pairs of an existing row. Insertion does not replace a value, so each key is removed first.
func (b *Backend) merges(wanted ovn.Resource) []ovsdb.Mutation {
	var changes []ovsdb.Mutation
	for _, merge := range wanted.Merged() {
		pairs, remove := ovsdb.Map(merge.Set), ovsdb.Set{}
		for _, key := range merge.Remove {
			remove = append(remove, key)
		}
		if merge.Column == tagColumn {
			pairs, remove = b.tags(wanted), append(remove, TenantKey)
		}
		if len(remove) > 0 {
			changes = append(changes, ovsdb.Excluding(merge.Column, remove))
		}
		if len(pairs) > 0 {
			changes = append(changes, ovsdb.Including(merge.Column, pairs))
		}
	}
	return changes
}

// explain reports why a row cannot be updated: it does not exist, or belongs to another client.
func (b *Backend) explain(ctx context.Context, k ovn.Kind, id string, cause error) error {
	tags, found, err := b.tagsOf(ctx, k, id)
	switch {
	case err != nil:
		return err
	case !found:
		return &backend.Error{Reason: backend.NotFound, Message: k.Name + " " + id + " has been deleted", Err: cause}
	}
	owner := "another client"
	if other := tags[TenantKey]; other != "" {
		owner = "tenant " + other
	}
	return &backend.Error{Reason: backend.Refused, Err: cause, Message: "a row with this id belongs to " + owner +
		": choose another id, or set external_ids:" + TenantKey + "=" + b.tenant + " of the row to hand it over"}
}

// named names who has the name that a row cannot have, if that is the error of a write. The names of ports are unique in the database, so
// that those of two clusters in it may be in conflict.
func (b *Backend) named(ctx context.Context, wanted ovn.Resource, err error) error {
	k := wanted.Kind
	if !isNameTaken(err) || k.Unique == "" {
		return err
	}
	name := wanted.Text(k.Unique)
	results, failed := b.client.Transact(ctx, ovsdb.Select(k.Table, []ovsdb.Condition{{k.Unique, "==", name}}, k.Selected()...))
	if failed != nil || len(results[0].Rows) == 0 {
		return err // it may have been deleted meanwhile
	}
	row := results[0].Rows[0]
	taken := &backend.Error{Reason: backend.Conflict, Err: err, Message: fmt.Sprintf(
		"row %s of another client has the %s %q: rename or delete that row", row.UUID(), k.Unique, name)}
	var tags map[string]string
	if k.IsTagged() {
		if tags, failed = row.Map(tagColumn); failed != nil {
			return err
		}
	}
	switch other := tags[TenantKey]; other {
	case "":
	case b.tenant:
		taken.Message = fmt.Sprintf("row %s of this tenant has the %s %q: it is in the status of another Translation, or an orphan",
			row.UUID(), k.Unique, name)
	default:
		taken.Message = fmt.Sprintf("row %s of tenant %s has the %s %q: the names of Nodes, and those of Pods with their namespaces, must "+
			"differ in the clusters that use a Northbound database; use another database otherwise", row.UUID(), other, k.Unique, name)
	}
	return taken
}

// tagsOf reads the tags of a row, and reports whether it exists.
func (b *Backend) tagsOf(ctx context.Context, k ovn.Kind, id string) (tags map[string]string, found bool, err error) {
	columns := []string{"_uuid"}
	if k.IsTagged() {
		columns = append(columns, tagColumn)
	}
	results, err := b.client.Transact(ctx, ovsdb.Select(k.Table, []ovsdb.Condition{ovsdb.ByID(id)}, columns...))
	if err != nil {
		return nil, false, failure(err)
	}
	if len(results[0].Rows) == 0 {
		return nil, false, nil
	}
	if k.IsTagged() {
		tags, err = results[0].Rows[0].Map(tagColumn)
	}
	return tags, true, failure(err)
}

// ifOwned changes a row if it may be changed: it has the tenant's tag, or none and an id that is derived from the tenant and the
// Translation, because another client removed the tag or the table has none. A row with the tag of another tenant is never changed. The
// first operation of a change requires the conditions, and the error is that of the change.
func (b *Backend) ifOwned(ctx context.Context, k ovn.Kind, ref backend.Ref, change func(at []ovsdb.Condition) error) error {
	at := []ovsdb.Condition{ovsdb.ByID(ref.ID)}
	if !k.IsTagged() {
		if !b.derives(ref.Claim, ref.ID) {
			return unproven(k, ref.ID)
		}
		return change(at)
	}
	err := change(append(at, b.tagged()))
	if failedAt(err) != 0 {
		return err
	}
	tags, found, failed := b.tagsOf(ctx, k, ref.ID)
	if failed != nil {
		return failed
	}
	if _, tagged := tags[TenantKey]; tagged || !found || !b.derives(ref.Claim, ref.ID) {
		return err
	}
	return change(append(at, ovsdb.Condition{tagColumn, "==", ovsdb.Map(tags)})) // unless it is tagged meanwhile
}

// errUnproven is the cause of an error about a row of a table without tags, whose id does not show that it is the tenant's.
var errUnproven = errors.New("not derived from the tenant and the Translation")

func unproven(k ovn.Kind, id string) error {
	return &backend.Error{Reason: backend.Refused, Err: errUnproven, Message: "the table " + k.Table + " cannot record the owner of row " +
		id + ": it needs the id that is derived from the tenant and the Translation, see docs/ovn.md#ownership"}
}

// tagged matches rows with the tenant's tag.
func (b *Backend) tagged() ovsdb.Condition {
	return ovsdb.Condition{tagColumn, "includes", ovsdb.Map{TenantKey: b.tenant}}
}

// Delete removes a row and the reference of its parent. A row of another client is left, and is no error: none is of this tenant.
func (b *Backend) Delete(ctx context.Context, ref backend.Ref) error {
	k, _ := ovn.KindNamed(ref.Kind)
	if len(ovn.Children(k.Name)) > 0 {
		defer b.purges()()
	}
	err := b.ifOwned(ctx, k, ref, func(at []ovsdb.Condition) error {
		operations := []ovsdb.Operation{ovsdb.Require(k.Table, at...)}
		if k.Parent != "" {
			parent, _ := ovn.KindNamed(k.Parent)
			operations = append(operations,
				ovsdb.Mutate(parent.Table, []ovsdb.Condition{refersTo(k, ref.ID)}, ovsdb.Excluding(k.Link, only(ref.ID))))
		}
		if k.Root {
			operations = append(operations, ovsdb.Delete(k.Table, ovsdb.ByID(ref.ID)))
		}
		return b.write(ctx, k, ref.ID, operations...)
	})
	switch {
	case failedAt(err) == 0, errors.Is(err, errUnproven):
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
