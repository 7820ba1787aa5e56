// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// ReasonNoProof means that the servers that Nova lists may not be those that the router leads to.
const ReasonNoProof openstack.Reason = "NoProof"

const (
	byRouter = ControllerName + "/router"
	// unknownRouter is the key in byRouter of Klusters that have routes on a router that is unknown.
	unknownRouter = "unknown"
)

func routerKeys(object client.Object) []string {
	k, ok := object.(*kubernikusv1.Kluster)
	switch {
	case !ok:
		return nil
	case k.RouterID() != "":
		return []string{k.RouterID()}
	case k.UsesRouter() && !k.Spec.NoCloud:
		return []string{unknownRouter}
	}
	return nil
}

// observe reads a Kluster and its neighbours from the cache. The Kluster is nil when it has been deleted.
func (r *reconciler) observe(ctx context.Context, name types.NamespacedName) (*kubernikusv1.Kluster, []kubernikusv1.Kluster, error) {
	k := &kubernikusv1.Kluster{}
	if err := r.client.Get(ctx, name, k); err != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	neighbours, err := r.neighbours(ctx, k)
	return k, neighbours, err
}

// neighbours returns the Klusters on the router of one, itself among them, and those whose router is unknown, as the cache knows them:
// for reading only. There are none when the router of the Kluster itself is unknown.
func (r *reconciler) neighbours(ctx context.Context, k *kubernikusv1.Kluster) ([]kubernikusv1.Kluster, error) {
	if k.RouterID() == "" {
		return nil, nil
	}
	var all []kubernikusv1.Kluster
	for _, key := range []string{k.RouterID(), unknownRouter} {
		found := &kubernikusv1.KlusterList{}
		// Without the index each check of one would cost as much as there are Klusters.
		if err := r.client.List(ctx, found, client.MatchingFields{byRouter: key}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list klusters on router %s: %w", key, err)
		}
		all = append(all, found.Items...)
	}
	return all, nil
}

// secretOf reads the Secret of a Kluster and the host of the cloud that it leads to. An *openstack.Error means that it has no credentials,
// and any other error that this is unknown.
func (r *reconciler) secretOf(ctx context.Context, k *kubernikusv1.Kluster) (*corev1.Secret, string, error) {
	secret, err := kluster.Secret(ctx, r.live, k)
	if errors.Is(err, kluster.ErrNoSecret) {
		return nil, "", &openstack.Error{Op: "read the credentials", Reason: openstack.ReasonCredentialsInvalid, Err: err}
	}
	if err != nil {
		return nil, "", err
	}
	host, err := kluster.CloudHost(secret)
	return secret, host, err
}

// unproven returns the error of a reconcile that cannot determine whether the servers of next hops have been deleted.
func unproven(router, format string, args ...any) error {
	return &openstack.Error{Op: "find the servers behind router " + router, Reason: ReasonNoProof, Err: fmt.Errorf(format, args...)}
}

// orphans lists the servers, queries Neutron about the next hops that none of them has, and Nova about the devices of their ports. It
// returns the orphans and the number of servers.
func (p Pass) orphans(ctx context.Context, router openstack.Router, own []openstack.Route) ([]Orphan, int, error) {
	if router.ProjectID != p.Project {
		return nil, 0, unproven(router.ID, "the router is of project %s, and the servers that are seen are those of project %s: "+
			"put credentials of the router's project in the Secret", router.ProjectID, p.Project)
	}
	servers, err := p.Compute.Servers(ctx)
	if err != nil {
		return nil, 0, err
	}
	candidates := candidates(own, servers)
	if len(candidates) == 0 {
		return nil, len(servers), nil
	}
	networks, err := p.Network.RouterNetworks(ctx, router.ID)
	if err != nil {
		return nil, 0, err
	}
	if len(networks) == 0 {
		// A router with routes has a network. Without its networks, the ports of next hops are unknown.
		return nil, 0, &openstack.Error{Op: "list ports at next hops of router " + router.ID, Reason: openstack.ReasonIncomplete,
			Err: errors.New("no network of the router can be seen: the user of the Secret needs to be in the router's project")}
	}
	hops := map[netip.Addr]bool{}
	for _, c := range candidates {
		hops[c.hop] = true
	}
	unique := slices.SortedFunc(maps.Keys(hops), netip.Addr.Compare)
	e := evidence{deleted: map[string]bool{}, parents: map[string]openstack.Port{}}
	if e.ports, err = p.Network.PortsOn(ctx, networks); err != nil {
		return nil, 0, err
	}
	if e.floatingIPs, err = p.Network.FloatingIPs(ctx, unique); err != nil {
		return nil, 0, err
	}
	if err := p.follow(ctx, &e, unique); err != nil {
		return nil, 0, err
	}
	if err := p.deleted(ctx, router.ID, &e, unique, servers); err != nil {
		return nil, 0, err
	}
	found := e.orphans(candidates)
	return found, len(servers), p.proveAbsence(ctx, router.ID, networks, found)
}

// proveAbsence returns an error if a next hop without a port is on a network of another project, where Neutron shows none but the own ports.
func (p Pass) proveAbsence(ctx context.Context, routerID string, networks []string, found []Orphan) error {
	var hidden []netip.Prefix
	for _, o := range found {
		hop, err := netip.ParseAddr(o.NextHop)
		if err != nil || o.Reason != kubernikusv1.OrphanNoPort {
			continue
		}
		if hidden == nil {
			if hidden, err = p.Network.HiddenRanges(ctx, networks); err != nil || len(hidden) == 0 {
				return err
			}
		}
		if slices.ContainsFunc(hidden, func(cidr netip.Prefix) bool { return cidr.Contains(hop.Unmap()) }) {
			return unproven(routerID, "the next hop %s of route %s is on a network of another project, whose ports Neutron does not show: "+
				"if nothing uses the route, remove it manually", o.NextHop, o.Destination)
		}
	}
	return nil
}

// follow reads the parent ports of the trunks whose subports have the next hops.
func (p Pass) follow(ctx context.Context, e *evidence, hops []netip.Addr) error {
	subports := map[string]bool{}
	for _, port := range e.at(hops...) {
		if mayBeSubport(port) {
			subports[port.ID] = true
		}
	}
	if len(subports) == 0 {
		return nil
	}
	trunks, err := p.Network.Trunks(ctx)
	if err != nil {
		return err
	}
	ports := map[string]openstack.Port{}
	for _, port := range e.ports {
		ports[port.ID] = port
	}
	parentOf, missing := map[string]string{}, map[string]bool{}
	for _, trunk := range trunks {
		for _, subport := range trunk.Subports {
			if subports[subport.PortID] && trunk.PortID != "" {
				parentOf[subport.PortID] = trunk.PortID
				if _, known := ports[trunk.PortID]; !known {
					missing[trunk.PortID] = true
				}
			}
		}
	}
	others, err := p.Network.PortsByID(ctx, slices.Sorted(maps.Keys(missing)))
	if err != nil {
		return err
	}
	for _, port := range others {
		ports[port.ID] = port
	}
	for subport, id := range parentOf {
		// A parent that cannot be seen proves nothing.
		if parent, found := ports[id]; found {
			e.parents[subport] = parent
		}
	}
	return nil
}

// deleted queries Nova about the servers of ports that it did not list. That one does not know a server proves that it has been
// deleted only when it is the Nova of the router's own region. The proof is a server of its list with a port on the router's
// networks.
func (p Pass) deleted(ctx context.Context, routerID string, e *evidence, hops []netip.Addr, servers []openstack.Server) error {
	known := map[string]bool{"": true} // a port without a device may be of anything
	for _, s := range servers {
		known[s.ID] = true
	}
	proven := slices.ContainsFunc(e.ports, func(port openstack.Port) bool {
		return port.DeviceID != "" && known[port.DeviceID] && strings.HasPrefix(port.DeviceOwner, computeOwner)
	})
	for _, port := range e.at(hops...) {
		if parent, isSubport := e.parents[port.ID]; isSubport {
			port = parent
		}
		if known[port.DeviceID] || !strings.HasPrefix(port.DeviceOwner, computeOwner) {
			continue
		}
		if !proven {
			return unproven(routerID, "Neutron has a port of server %s at a next hop, and Nova lists %d servers, none of which has a port "+
				"on the networks of the router: they may be of another region, check region_name in the Secret; if the server has been deleted, "+
				"delete its port", port.DeviceID, len(servers))
		}
		exists, err := p.Compute.ServerExists(ctx, port.DeviceID)
		if err != nil {
			return err
		}
		known[port.DeviceID] = true
		e.deleted[port.DeviceID] = !exists
	}
	return nil
}

// Explain names the routes of others that made Neutron reject a removal: it checks all that remain.
func Explain(ctx context.Context, network interface {
	InvalidRoutes(ctx context.Context, router openstack.Router) ([]openstack.Route, error)
}, router openstack.Router, rejection error) error {
	if openstack.ReasonOf(rejection) != openstack.ReasonRefused {
		return rejection
	}
	invalid, err := network.InvalidRoutes(ctx, router)
	if err != nil || len(invalid) == 0 {
		return rejection
	}
	return fmt.Errorf("%w; not valid on this router, and to be removed manually: %s", rejection, names(invalid))
}
