// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package ovnbackend is the driver of the push engine for OVN: a resource is a row of the Northbound database, and a write of it and
// of the reference of its parent are one transaction. Rows carry the tenant in external_ids; those of other clients are not changed.
package ovnbackend

import (
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

// Database is the name of the database.
const Database = "OVN_Northbound"

// TenantKey is the key of external_ids that names the tenant of a row.
const TenantKey = "groundskeeper-tenant"

// Backend is the part of an OVN that one tenant owns.
type Backend struct {
	client *ovsdb.Client
	tenant string
	// derives reports whether an id is derived from the tenant and a Translation, which proves whose row it is.
	derives func(translation types.NamespacedName, id string) bool
	fence   *fence
	// realization is the progress of the chassis.
	realization *realization

	mu sync.Mutex
	// writing counts the transactions that are under way by the rows that they write. What a monitor reports of these is no change
	// by another client. purging counts those that delete rows with all that is below, and joining those that change which rows
	// list a row.
	writing map[string]int
	purging int
	joining int
}

// New makes the driver. Derives reports whether the id of a row is derived from the tenant and a Translation: that proves whose row it is
// if the row does not record it.
func New(client *ovsdb.Client, tenant string, lease Lease, derives func(translation types.NamespacedName, id string) bool) *Backend {
	return &Backend{client: client, tenant: tenant, derives: derives, fence: newFence(client, tenant, lease), realization: newRealization(),
		writing: map[string]int{}}
}

// Resolve parses a resource of a Translation.
func (b *Backend) Resolve(item backend.Item) (backend.Resource, error) {
	if err := known(item.Kind); err != nil {
		return backend.Resource{}, err
	}
	r, err := ovn.Parse(item.Kind, item.Parent, item.Body)
	if err != nil {
		return backend.Resource{}, err
	}
	resolved := backend.Resource{Ref: refOf(r.Kind, r.ID, r.Parent), Body: json.RawMessage(item.Body), Updatable: true}
	if r.Parent != "" {
		resolved.Needs = append(resolved.Needs, backend.Key{Kind: r.Kind.Parent, ID: r.Parent})
	}
	references := r.References()
	for _, kind := range ovn.Kinds() {
		for _, id := range references[kind.Name] {
			resolved.Needs = append(resolved.Needs, backend.Key{Kind: kind.Name, ID: id})
		}
	}
	if r.Kind.Unique != "" {
		resolved.Slots = []string{fmt.Sprintf("%s of %s %q", r.Kind.Unique, r.Kind.Name, r.Text(r.Kind.Unique))}
	}
	return resolved, nil
}

// Locate parses a resource of a Translation's status.
func (b *Backend) Locate(kind, parent, id string) (backend.Ref, error) {
	if err := known(kind); err != nil {
		return backend.Ref{}, err
	}
	k, _ := ovn.KindNamed(kind)
	if err := ovn.CheckPlace(k, parent); err != nil {
		return backend.Ref{}, err
	}
	if err := ovn.CheckID(id); err != nil {
		return backend.Ref{}, fmt.Errorf("id of %s: %w", kind, err)
	}
	return refOf(k, id, parent), nil
}

func known(kind string) error {
	if _, ok := ovn.KindNamed(kind); !ok {
		return fmt.Errorf("kind %q: %w: OVN has no such rows, or they are not supported", kind, backend.ErrUnknownKind)
	}
	return nil
}

func refOf(k ovn.Kind, id, parent string) backend.Ref {
	return backend.Ref{Key: backend.Key{Kind: k.Name, ID: id}, Parent: parent}
}

// Differences compares the columns that the wanted body sets with those of the row.
func (b *Backend) Differences(want backend.Resource, have backend.Observed) []string {
	r, err := ovn.Parse(want.Kind, want.Parent, string(want.Body))
	if err != nil {
		return []string{"body"}
	}
	values, err := valuesOf(have)
	if err != nil {
		return []string{"body"}
	}
	names := r.Differences(values)
	if have.Foreign && r.Kind.IsTagged() {
		names = append(names, TenantKey) // another client removed it, or it is another client's row: Update finds out
	}
	return names
}

// Copy is for kinds that cannot be updated, of which OVN has none.
func (b *Backend) Copy(r backend.Resource) backend.Resource { return r }
