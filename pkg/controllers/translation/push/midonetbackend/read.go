// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// Get reads a resource. A link is read off its port.
func (b *Backend) Get(ctx context.Context, r backend.Resource) (backend.Observed, bool, error) {
	ref := at(r.Ref)
	if r.Kind == "PortLink" {
		ref = midonet.Ref{Kind: "Port", ID: r.Parent}
	}
	read, err := b.client.Get(ctx, ref)
	if midonet.IsNotFound(err) {
		return backend.Observed{}, false, nil
	}
	if err != nil {
		return backend.Observed{}, false, failure(err)
	}
	if r.Kind == "PortLink" {
		return linkOf(r.Ref, read.Body)
	}
	read.Parent = parentIn(read, r.Parent)
	return observed(read), true, nil
}

// linkOf returns the link that a port shows, and false when it shows none.
func linkOf(ref backend.Ref, port json.RawMessage) (backend.Observed, bool, error) {
	var body midonet.Port
	if err := json.Unmarshal(port, &body); err != nil {
		return backend.Observed{}, false, failure(err)
	}
	if body.PeerID == "" {
		return backend.Observed{}, false, nil
	}
	link, err := json.Marshal(midonet.PortLink{PeerID: body.PeerID})
	return backend.Observed{Ref: ref, Body: link}, err == nil, failure(err)
}

// parentIn returns the parent in the content of a resource. A kind with separate IDs can have another parent than the one in the
// request.
func parentIn(r midonet.Resource, wanted string) string {
	var body struct {
		DeviceID string `json:"deviceId"`
		RouterID string `json:"routerId"`
		ChainID  string `json:"chainId"`
	}
	if json.Unmarshal(r.Body, &body) != nil {
		return wanted
	}
	parent := map[string]string{"Port": body.DeviceID, "Route": body.RouterID, "Rule": body.ChainID}[r.Kind]
	if parent == "" {
		return wanted
	}
	return strings.ToLower(parent)
}

// observed returns a resource as the client read it.
func observed(r midonet.Resource) backend.Observed {
	return backend.Observed{Ref: refOf(r.Ref), Body: r.Body, Foreign: foreign(r), Invalid: r.Invalid}
}

// Collection returns the list that has a resource.
func (b *Backend) Collection(r backend.Resource) (backend.Collection, bool) {
	kind, ok := midonet.KindNamed(r.Kind)
	if !ok || !kind.Has(midonet.List) {
		return backend.Collection{}, false
	}
	c := backend.Collection{Kind: r.Kind, Parent: r.Parent}
	var body struct {
		TenantID string `json:"tenantId"`
		Type     string `json:"type"`
	}
	if r.Kind == "Port" || isTenantsKind(r.Kind) {
		_ = json.Unmarshal(r.Body, &body)
	}
	switch parents := kind.ParentKinds(); {
	case r.Kind == "Port":
		c.ParentKind = body.Type
	case len(parents) > 0:
		c.ParentKind = parents[0]
	case isTenantsKind(r.Kind):
		// The list has those of Groundskeeper's tenant only.
		return c, body.TenantID == b.tenant
	}
	return c, true
}

// List reads a collection. Resources of a tenant are listed by tenant.
func (b *Backend) List(ctx context.Context, c backend.Collection) ([]backend.Observed, error) {
	query := midonet.Query{Kind: c.Kind, ParentKind: c.ParentKind, Parent: c.Parent}
	if isTenantsKind(c.Kind) {
		query.Tenant = b.tenant
	}
	resources, err := b.client.List(ctx, query)
	if err != nil {
		return nil, failure(err)
	}
	list := make([]backend.Observed, len(resources))
	for i, r := range resources {
		list[i] = observed(r)
	}
	return list, nil
}

// Roots returns the lists of what stands alone and belongs to the tenant. Tunnel zones have no tenant.
func (b *Backend) Roots() []backend.Collection {
	return []backend.Collection{{Kind: "Chain"}, {Kind: "Router"}, {Kind: "Bridge"}}
}

// Children returns the lists under a resource that can have something to clear away. The rest is foreign in any case.
func (b *Backend) Children(ref backend.Ref) []backend.Collection {
	var kinds []string
	switch ref.Kind {
	case "Chain":
		kinds = []string{"Rule"}
	case "Router":
		kinds = []string{"Route", "Port"}
	case "Bridge":
		kinds = []string{"Port"}
	}
	children := make([]backend.Collection, 0, len(kinds))
	for _, kind := range kinds {
		children = append(children, backend.Collection{Kind: kind, ParentKind: ref.Kind, Parent: ref.ID})
	}
	return children
}

func isTenantsKind(kind string) bool { return kind == "Chain" || kind == "Router" || kind == "Bridge" }

// foreign reports whether a resource may be another client's, although it is where Groundskeeper's are.
//
// Bridges, routers and chains that carry Groundskeeper's tenant are owned by Groundskeeper, and so is every rule of such a chain.
// Ports and routes of Groundskeeper's devices are owned by Groundskeeper when their id is derived from a name (a UUID of version
// 5), as all that converters make: an administrator who connects the cluster to the outside gives Groundskeeper's router ports and
// routes with random ids, the server adds a Local route to each port, and agents learn routes from their neighbours. Tunnel zones
// belong to no tenant, hosts are put into them and bound by others too, and entries of MAC and ARP tables are mostly learned. None
// of those can be distinguished from Groundskeeper's. Neither can what is not understood.
func foreign(r midonet.Resource) bool {
	if r.Invalid != nil {
		return true
	}
	switch r.Kind {
	case "Chain", "Router", "Bridge", "Rule":
		return false
	case "Port":
		return !isDerived(r.ID)
	case "Route":
		var route struct {
			Type    string `json:"type"`
			Learned bool   `json:"learned"`
		}
		return json.Unmarshal(r.Body, &route) != nil || route.Type == midonet.LocalRoute || route.Learned || !isDerived(r.ID)
	default:
		return true
	}
}

// isDerived reports whether an id is a UUID of version 5.
func isDerived(id string) bool {
	parsed, err := uuid.Parse(id)
	return err == nil && parsed.Version() == 5
}
