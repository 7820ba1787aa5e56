// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// Create makes a resource. A rule is put in its place.
func (b *Backend) Create(ctx context.Context, r backend.Resource, position int) error {
	body := r.Body
	if r.Ordered && position > 0 {
		var err error
		if body, err = withPosition(body, position); err != nil {
			return &backend.Error{Reason: backend.Refused, Message: err.Error(), Err: err}
		}
	}
	err := failure(b.client.Create(ctx, sent(r, body)))
	e, ok := errors.AsType[*backend.Error](err)
	switch {
	case !ok:
		return err
	case e.Code == http.StatusInternalServerError && (r.Kind == "MACPort" || r.Kind == "IPv4MACPair"):
		// So the server reports that the entry exists, or that the bridge does not.
		e.Reason = backend.Conflict
	case e.Code == http.StatusBadRequest && r.Kind == "Route":
		return b.explainRoute(ctx, r, e)
	}
	return e
}

// explainRoute finds out whether a route was rejected because its next hop does not exist: for that the server has the same
// response as for a route that is wrong.
func (b *Backend) explainRoute(ctx context.Context, r backend.Resource, rejected *backend.Error) error {
	hop := slices.IndexFunc(r.Needs, func(k backend.Key) bool { return k.Kind == "Port" })
	if hop < 0 {
		return rejected
	}
	if _, err := b.client.Get(ctx, midonet.Ref{Kind: "Port", ID: r.Needs[hop].ID}); midonet.IsNotFound(err) {
		rejected.Reason = backend.NotFound
	}
	return rejected
}

// Update replaces the body of a resource.
func (b *Backend) Update(ctx context.Context, r backend.Resource) error {
	if r.Kind == "TunnelZone" {
		return b.updateZone(ctx, r)
	}
	return failure(b.client.Update(ctx, sent(r, r.Body)))
}

// zoneKeepsName reports why the update of a tunnel zone is not even tried.
const zoneKeepsName = "MidoNet rejects every update of a tunnel zone that keeps its name, and the zone is not deleted for that, " +
	"since all tunnels and bindings would be deleted with it: change it manually, or give it another name"

// updateZone renames a zone. The server takes the name of a zone for one in use even if it is the zone's own, so there
// is no way to change anything else. Deleting the zone would cut off all its hosts.
func (b *Backend) updateZone(ctx context.Context, r backend.Resource) error {
	have, found, err := b.Get(ctx, r)
	if err != nil {
		return err
	}
	if !found {
		return &backend.Error{Reason: backend.NotFound, Code: http.StatusNotFound, Message: r.String() + " has been deleted"}
	}
	switch differences := b.Differences(r, have); {
	case len(differences) == 0:
		return nil
	case !slices.Contains(differences, "name"):
		return &backend.Error{Reason: backend.Refused, Message: zoneKeepsName}
	default:
		return failure(b.client.Update(ctx, sent(r, r.Body)))
	}
}

// Delete removes a resource.
func (b *Backend) Delete(ctx context.Context, ref backend.Ref) error {
	if ref.Kind == "HostInterfacePort" {
		// The server checks only whether the port exists, and would remove its binding to another host.
		_, err := b.client.Get(ctx, at(ref))
		if midonet.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return failure(err)
		}
	}
	err := failure(b.client.Delete(ctx, at(ref)))
	if err != nil && backend.ReasonOf(err) == backend.NotFound {
		return nil
	}
	return err
}
