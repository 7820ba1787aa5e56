// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package midonetbackend is the driver of the push engine for MidoNet: which resource of MidoNet's needs which other, what is in
// which list, and what the server's responses mean. It keeps no state.
package midonetbackend

import (
	"encoding/json"
	"fmt"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// Backend is the part of a MidoNet that one tenant owns.
type Backend struct {
	client *midonet.Client
	tenant string
}

// New makes the driver. The tenant's bridges, routers and chains, and what is under them, are searched for what no Translation
// wants.
func New(client *midonet.Client, tenant string) *Backend {
	return &Backend{client: client, tenant: tenant}
}

// Resolve parses a resource of a Translation.
func (b *Backend) Resolve(item backend.Item) (backend.Resource, error) {
	kind, err := kindOf(item.Kind)
	if err != nil {
		return backend.Resource{}, err
	}
	r, body, err := midonet.ParseResource(item.Kind, item.Parent, item.Body)
	if err != nil {
		return backend.Resource{}, err
	}
	resolved := backend.Resource{
		Ref:       refOf(r.Ref),
		Body:      r.Body,
		Updatable: kind.Has(midonet.Update),
	}
	if err := relate(&resolved, body); err != nil {
		return backend.Resource{}, err
	}
	return resolved, nil
}

// Locate parses a resource of a Translation's status.
func (b *Backend) Locate(kind, parent, id string) (backend.Ref, error) {
	if _, err := kindOf(kind); err != nil {
		return backend.Ref{}, err
	}
	ref := midonet.Ref{Kind: kind, Parent: parent, ID: id}
	if err := ref.Check(); err != nil {
		return backend.Ref{}, err
	}
	return refOf(ref), nil
}

// kindOf finds a kind that can be made.
func kindOf(name string) (midonet.Kind, error) {
	kind, ok := midonet.KindNamed(name)
	if !ok {
		return kind, fmt.Errorf("kind %q: %w: MidoNet has no such resources", name, backend.ErrUnknownKind)
	}
	if !kind.Has(midonet.Create | midonet.Delete) {
		return kind, fmt.Errorf("kind %q: %w: it cannot be made through MidoNet's API", name, backend.ErrUnknownKind)
	}
	return kind, nil
}

// refOf returns where the engine knows a resource.
func refOf(r midonet.Ref) backend.Ref {
	return backend.Ref{Key: backend.Key{Kind: r.Kind, Scope: r.Identity().Parent, ID: r.ID}, Parent: r.Parent}
}

// at returns where the client knows it.
func at(ref backend.Ref) midonet.Ref {
	return midonet.Ref{Kind: ref.Kind, Parent: ref.Parent, ID: ref.ID}
}

func sent(r backend.Resource, body json.RawMessage) midonet.Resource {
	return midonet.Resource{Ref: at(r.Ref), Body: body}
}
