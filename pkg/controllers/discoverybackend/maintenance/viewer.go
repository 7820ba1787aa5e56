// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// Viewer shows to users where routes send their requests. It uses the objects that the controller watches, decides by the same
// functions, and writes nothing.
type Viewer struct {
	cluster *cluster
	needed  []schema.GroupResource
}

// NewViewer returns a Viewer. Backends in the namespaces admins reach all namespaces.
func NewViewer(find resourcewatch.Finder, source resourcewatch.Source, clock clock.PassiveClock, admins []string) *Viewer {
	// Definitions of kinds only make the controller notice new kinds earlier.
	kinds := drain.Kinds()
	follow := followed(kinds, nil)
	v := &Viewer{}
	for _, k := range follow {
		v.needed = append(v.needed, k.GroupResource)
	}
	v.cluster = newCluster(resourcewatch.NewSet(find, source, clock, resourcewatch.DiscoveryPeriod, follow...), kinds, nil, admins)
	return v
}

// Start follows the objects until the context ends.
func (v *Viewer) Start(ctx context.Context) error { return v.cluster.set.Start(ctx) }

// Settled waits until all objects are known, or the context ends.
func (v *Viewer) Settled(ctx context.Context) { _ = v.cluster.set.Settled(ctx, v.needed...) }

// ErrNoBackend is the error for an Assumption about a backend that does not exist.
var ErrNoBackend = errors.New("there is no such backend")

// Assumption is a backend as if its cluster.clusterStatus had a value, and all routes were written.
type Assumption struct {
	Backend string
	Status  gimbalv1.ClusterStatus
}

// Traffic is where routes send their requests.
type Traffic struct {
	// Backends are all backends by their names.
	Backends map[string]*gimbalv1.DiscoveryBackend
	// Routes are those that refer to Services of backends, sorted by kind and name.
	Routes []RouteTraffic
	// Unknown are why routes of some kinds are not among them.
	Unknown []error
}

// RouteTraffic is where the rules of a route send their requests.
type RouteTraffic struct {
	Kind string
	types.NamespacedName
	Rules []drain.Flow
	// Drained are the backends to which weights give nothing.
	Drained []string
}

// Traffic returns where routes send their requests, under an assumption if that is not nil. It returns an error if the backends,
// their Services or the endpoints of these are not known.
func (v *Viewer) Traffic(ctx context.Context, assume *Assumption) (*Traffic, error) {
	backends, err := v.cluster.backends(ctx)
	if err != nil {
		return nil, err
	}
	for _, backend := range backends {
		// Only the controller can know that endpoints are not withheld. For a Viewer the status is what is known.
		v.cluster.memory.setRestored(backend.UID, true)
	}
	traffic := &Traffic{Backends: backends}
	assumed, err := assume.in(backends)
	if err != nil {
		return nil, err
	}
	fleet := v.cluster.fleetOf(assumed)
	for _, resource := range []schema.GroupResource{servicesResource, slicesResource} {
		if _, err := v.cluster.set.Served(resource); err != nil {
			return nil, err
		}
	}
	for _, kind := range v.cluster.kinds {
		found, err := v.cluster.reader.Find(ctx, routeResource(kind), resourcewatch.Query{})
		if err != nil {
			traffic.Unknown = append(traffic.Unknown, err)
			continue
		}
		for _, object := range found {
			kept := valueOf[route](object)
			if kept == nil {
				continue
			}
			membership, err := v.cluster.membership(ctx, fleet, object.Namespace, kept)
			if err != nil {
				return nil, err
			}
			if one := trafficOf(kind, kept.view, membership); one != nil {
				one.NamespacedName = nameOf(object)
				traffic.Routes = append(traffic.Routes, *one)
			}
		}
	}
	slices.SortFunc(traffic.Routes, func(a, b RouteTraffic) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return traffic, nil
}

// trafficOf returns where a route sends its requests, nil when it refers to no backend.
func trafficOf(kind *drain.Kind, view *drain.View, membership *membership) *RouteTraffic {
	decision := view.Decide(membership)
	if len(decision.Backends) == 0 {
		return nil
	}
	one := &RouteTraffic{Kind: kind.Kind, Rules: view.Flows(membership)}
	for name, outcome := range decision.Backends {
		if outcome.Drained {
			one.Drained = append(one.Drained, name)
		}
	}
	slices.Sort(one.Drained)
	return one
}

// in returns the backends with the one that the assumption is about.
func (a *Assumption) in(backends map[string]*gimbalv1.DiscoveryBackend) (map[string]*gimbalv1.DiscoveryBackend, error) {
	if a == nil {
		return backends, nil
	}
	backend := backends[a.Backend]
	if backend == nil {
		return nil, fmt.Errorf("DiscoveryBackend %s: %w", a.Backend, ErrNoBackend)
	}
	assumed := backend.DeepCopy()
	assumed.Cluster.ClusterStatus, assumed.Cluster.DrainDuration, assumed.Cluster.Maintenance.Automatic = a.Status, nil, false
	assumed.Status.Ramp, assumed.Status.EndpointsDrained = nil, false
	changed := maps.Clone(backends)
	changed[a.Backend] = assumed
	return changed, nil
}
