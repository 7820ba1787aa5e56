// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/midonet"
)

const (
	// listingAge is how long a list of the hosts is used.
	listingAge = 30 * time.Second
	// listingPause is the shortest time between two lists. A Node whose host is not in the last one, or that met an error, does not
	// cause another before.
	listingPause = 5 * time.Second
)

// observed is what is known of a Node.
type observed struct {
	// node is nil when it has been deleted.
	node *corev1.Node
	// hosts are the ids of those that have a name, exactly; empty is that of a host which is not understood. They are listed only for a
	// Node that needs them. unlisted is why they are unknown.
	hosts    map[string][]string
	unlisted error
}

func (r *reconciler) observe(ctx context.Context, name string) (observed, error) {
	node := &corev1.Node{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		if apierrors.IsNotFound(err) {
			return observed{}, nil
		}
		return observed{}, fmt.Errorf("get node %s: %w", name, err)
	}
	if node.DeletionTimestamp.IsZero() && (r.network.lacks(node) || r.network.follow != nil) {
		r.list(ctx, name)
	}
	return observed{node, r.memory.hosts, r.memory.unlisted}, nil
}

// list lists the hosts when it has to, for all Nodes.
func (r *reconciler) list(ctx context.Context, name string) {
	m := r.memory
	age := r.clock.Since(m.listed)
	if age < listingPause || age < listingAge && m.unlisted == nil && len(m.hosts[name]) > 0 {
		return
	}
	hosts, err := r.hosts.Hosts(ctx)
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	r.meters.listings.WithLabelValues(outcome).Inc()
	m.listed, m.unlisted, m.hosts = r.clock.Now(), err, map[string][]string{}
	for _, host := range hosts {
		m.hosts[host.Name] = append(m.hosts[host.Name], host.ID)
	}
}

// hostsOf lists chassis as hosts: by their name, and by their hostname.
type hostsOf struct{ Southbound }

// Hosts implements Hosts.
func (h hostsOf) Hosts(ctx context.Context) ([]midonet.Host, error) {
	listed, err := h.Chassis(ctx)
	if err != nil {
		return nil, err
	}
	var hosts []midonet.Host
	for _, c := range listed {
		hosts = append(hosts, midonet.Host{ID: c.Name, Name: c.Name})
		if c.Hostname != c.Name {
			hosts = append(hosts, midonet.Host{ID: c.Name, Name: c.Hostname})
		}
	}
	return hosts, nil
}
