// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

// Get reads a resource, with the parent that it is below.
func (b *Backend) Get(ctx context.Context, r backend.Resource) (backend.Observed, bool, error) {
	k, _ := ovn.KindNamed(r.Kind)
	operations := []ovsdb.Operation{ovsdb.Select(k.Table, []ovsdb.Condition{ovsdb.ByID(r.ID)}, k.Selected()...)}
	if k.Parent != "" {
		parent, _ := ovn.KindNamed(k.Parent)
		operations = append(operations, ovsdb.Select(parent.Table, []ovsdb.Condition{refersTo(k, r.ID)}, "_uuid"))
	}
	listing, listed := k.Listing()
	if listed {
		lister, _ := ovn.KindNamed(listing.Refers)
		operations = append(operations, ovsdb.Select(lister.Table, b.listing(listing, r.ID), "_uuid"))
	}
	results, err := b.client.Transact(ctx, operations...)
	if err != nil {
		return backend.Observed{}, false, failure(err)
	}
	if len(results[0].Rows) == 0 {
		return backend.Observed{}, false, nil
	}
	parent := ""
	if k.Parent != "" {
		// A row that none of them, or more than one, refers to is not where it should be.
		if parents := results[1].Rows; len(parents) == 1 {
			parent = parents[0].UUID()
		}
	}
	var listers []string
	if listed {
		for _, row := range results[len(results)-1].Rows {
			listers = append(listers, row.UUID())
		}
	}
	have := b.observed(k, results[0].Rows[0], parent, listers)
	if have.Invalid != nil {
		return backend.Observed{}, false, &backend.Error{Reason: backend.Transient, Message: have.Invalid.Error(),
			Err: fmt.Errorf("%w: %w", backend.ErrInvalid, have.Invalid)}
	}
	return have, true, nil
}

// refersTo selects the rows of the parents' table that refer to a row.
func refersTo(k ovn.Kind, id string) ovsdb.Condition {
	return ovsdb.Condition{k.Link, "includes", only(id)}
}

func only(id string) ovsdb.Set { return ovsdb.Set{ovsdb.UUID(id)} }

// listing matches the rows of the tenant that list a row. Those of other clients may list it as they like.
func (b *Backend) listing(c ovn.Column, id string) []ovsdb.Condition {
	return []ovsdb.Condition{{c.ListedIn, "includes", only(id)}, b.tagged()}
}

// observed returns a row as the engine sees it, with the rows that list it.
func (b *Backend) observed(k ovn.Kind, row ovsdb.Row, parent string, listers []string) backend.Observed {
	id, values, err := k.Read(row)
	have := backend.Observed{Ref: refOf(k, id, parent)}
	if listing, ok := k.Listing(); ok && err == nil {
		ids := make([]any, len(listers))
		for i, lister := range slices.Sorted(slices.Values(listers)) {
			ids[i] = lister
		}
		values[listing.Name] = ids
	}
	if err == nil {
		have.Body, err = json.Marshal(values)
	}
	if err != nil {
		have.Foreign, have.Invalid = true, err
		return have
	}
	tags, _ := values["external_ids"].(map[string]string)
	have.Foreign = tags[TenantKey] != b.tenant
	return have
}

// valuesOf returns the columns of an observed row.
func valuesOf(have backend.Observed) (map[string]ovn.Value, error) {
	k, _ := ovn.KindNamed(have.Kind)
	return k.Values(have.Body)
}

// Collection returns the list that has a resource.
func (b *Backend) Collection(r backend.Resource) (backend.Collection, bool) {
	k, _ := ovn.KindNamed(r.Kind)
	return backend.Collection{Kind: r.Kind, ParentKind: k.Parent, Parent: r.Parent}, true
}

// Roots returns the tables of what stands alone.
func (b *Backend) Roots() []backend.Collection {
	var roots []backend.Collection
	for _, k := range ovn.Kinds() {
		if k.Parent == "" {
			roots = append(roots, backend.Collection{Kind: k.Name})
		}
	}
	return roots
}

// Children returns the lists of the rows below a row.
func (b *Backend) Children(ref backend.Ref) []backend.Collection {
	var children []backend.Collection
	for _, k := range ovn.Children(ref.Kind) {
		children = append(children, backend.Collection{Kind: k.Name, ParentKind: ref.Kind, Parent: ref.ID})
	}
	return children
}
