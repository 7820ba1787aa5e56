// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// cluster is what the caches know.
type cluster struct {
	set    *resourcewatch.Set
	reader resourcewatch.Reader
	// kinds are the kinds of routes, others those that refer to Services and are not changed.
	kinds  []*drain.Kind
	others []*otherKind
	// admins are the namespaces whose backends reach every namespace.
	admins []string
	// limit is how many backends may be in automatic maintenance at the same time.
	limit  int
	memory *memory
	// clock tells for how long Services have had no endpoint. Without it, those fail over that do by the record of their route.
	clock clock.PassiveClock
}

func newCluster(set *resourcewatch.Set, kinds []*drain.Kind, others []*otherKind, admins []string) *cluster {
	return &cluster{set: set, reader: set.Watched(), kinds: kinds, others: others, admins: admins, memory: newMemory()}
}

func (c *cluster) kind(resource schema.GroupResource) *drain.Kind {
	return c.kinds[slices.IndexFunc(c.kinds, func(kind *drain.Kind) bool { return routeResource(kind) == resource })]
}

// backends returns all DiscoveryBackends by name. Names are unique across namespaces. It returns an error if not all are known:
// otherwise the weights of a missing backend would be restored as if it had been deleted.
func (c *cluster) backends(ctx context.Context) (map[string]*gimbalv1.DiscoveryBackend, error) {
	served, err := c.set.Served(backendsResource)
	if err == nil && served == nil {
		err = errors.New("DiscoveryBackends are not served")
	}
	if err != nil {
		return nil, err
	}
	found, err := c.reader.Find(ctx, backendsResource, resourcewatch.Query{})
	if err != nil {
		return nil, err
	}
	backends := map[string]*gimbalv1.DiscoveryBackend{}
	for _, object := range found {
		backend := valueOf[gimbalv1.DiscoveryBackend](object)
		if backend == nil {
			return nil, fmt.Errorf("DiscoveryBackend %s cannot be read", nameOf(object))
		}
		backends[backend.Name] = backend
	}
	c.memory.sees(backends)
	return backends, nil
}

// fleetOf returns what is known of all backends together.
func (c *cluster) fleetOf(all map[string]*gimbalv1.DiscoveryBackend) fleet {
	return fleet{all: all, clusters: clustersOf(all), admins: c.admins, limit: c.limit}
}

// find returns an object from the cache, nil when there is none.
func (c *cluster) find(ctx context.Context, resource schema.GroupResource, name types.NamespacedName) (*resourcewatch.Object, error) {
	found, err := c.reader.Find(ctx, resource, resourcewatch.Query{Namespace: name.Namespace, Name: name.Name})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// targetsOf returns the Services and ServiceImports of a backend. An error means that there may be more.
func (c *cluster) targetsOf(ctx context.Context, backend string) ([]drain.Object, error) {
	services, err := c.reader.Find(ctx, servicesResource, resourcewatch.Query{Index: byBackend, Value: backend})
	imports, unknown := c.reader.Find(ctx, importsResource, resourcewatch.Query{})
	errs, found := []error{err, unknown}, make([]drain.Object, 0, len(services))
	for _, object := range services {
		found = append(found, targetIn(servicesResource, object))
	}
	for _, object := range imports {
		imported := targetIn(importsResource, object)
		target, err := c.target(ctx, imported)
		if target != nil && target.backendOf(imported) == backend {
			found = append(found, imported)
		}
		errs = append(errs, err)
	}
	return found, errors.Join(errs...)
}

// membership returns the Services of a route and their endpoints. It returns an error if not all are known: a missing one would be
// treated as a Service without a backend or endpoint.
func (c *cluster) membership(ctx context.Context, f fleet, namespace string, kept *route) (*membership, error) {
	m := &membership{fleet: f, memory: c.memory, recorded: kept.drained}
	for _, resource := range []schema.GroupResource{servicesResource, slicesResource} {
		served, err := c.set.Served(resource)
		if err == nil && served == nil {
			err = errors.New(resource.String() + " are not watched")
		}
		if err != nil {
			return nil, err
		}
	}
	var err error
	if m.targets, err = c.targets(ctx, kept.targets); err != nil {
		return nil, err
	}
	if m.grants, err = c.grantsFor(ctx, namespace, kept.targets); err != nil {
		return nil, err
	}
	if m.failing = kept.over; c.clock != nil {
		m.failover(kept.over, kept.targets, c.clock.Now())
	}
	return m, nil
}

// targets returns those of some Services and ServiceImports that exist, nil for none.
func (c *cluster) targets(ctx context.Context, objects []drain.Object) (map[drain.Object]*target, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	targets := make(map[drain.Object]*target, len(objects))
	for _, object := range objects {
		found, err := c.target(ctx, object)
		if err != nil {
			return nil, err
		}
		if found != nil {
			targets[object] = found
		}
	}
	return targets, nil
}

// resourceOf returns the resource of a Service or a ServiceImport.
func resourceOf(object drain.Object) schema.GroupResource {
	if object.Import {
		return importsResource
	}
	return servicesResource
}

// target returns a Service or a ServiceImport with its EndpointSlices, nil when there is none.
func (c *cluster) target(ctx context.Context, name drain.Object) (*target, error) {
	object, err := c.find(ctx, resourceOf(name), name.NamespacedName)
	if err != nil || object == nil {
		return nil, err
	}
	found := &target{service: valueOf[service](object)}
	if found.service == nil {
		return nil, fmt.Errorf("%s of %s cannot be read", name.NamespacedName, resourceOf(name))
	}
	endpoints, err := c.reader.Find(ctx, slicesResource, resourcewatch.Query{Index: byTarget, Value: name.String()})
	if err != nil {
		return nil, err
	}
	for _, object := range endpoints {
		if kept := valueOf[slice](object); kept != nil {
			found.slices = append(found.slices, kept)
		}
	}
	return found, nil
}

// grantsFor returns the ReferenceGrants in all other namespaces to which a route refers. It returns an error if not all are known.
func (c *cluster) grantsFor(ctx context.Context, namespace string, targets []drain.Object) (map[string][]*grant, error) {
	var grants map[string][]*grant
	for _, name := range targets {
		if _, known := grants[name.Namespace]; known || name.Namespace == namespace {
			continue
		}
		found, err := c.reader.Find(ctx, grantsResource, resourcewatch.Query{Namespace: name.Namespace})
		if err != nil {
			return nil, err
		}
		if grants == nil {
			grants = map[string][]*grant{}
		}
		grants[name.Namespace] = nil
		for _, object := range found {
			if kept := valueOf[grant](object); kept != nil {
				grants[name.Namespace] = append(grants[name.Namespace], kept)
			}
		}
	}
	return grants, nil
}

// observe checks all routes that refer to Services of a backend, or have its weights in their records. It is an error when not all
// of them are known.
func (c *cluster) observe(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (facts, error) {
	f := newFacts()
	backends, err := c.backends(ctx)
	if err != nil {
		return f, err
	}
	targets, err := c.targetsOf(ctx, backend.Name)
	if err != nil {
		return f, err
	}
	fleet := c.fleetOf(backends)
	for _, kind := range c.kinds {
		found, err := c.routesOf(ctx, routeResource(kind), targets, backend.Name)
		if err != nil {
			return f, err
		}
		for name, object := range found {
			kept := valueOf[route](object)
			if kept == nil || !fleet.reaches(backend, object.Namespace) {
				continue
			}
			membership, err := c.membership(ctx, fleet, object.Namespace, kept)
			if err != nil {
				return f, err
			}
			rejected, lost := c.memory.problems(routeKey{routeResource(kind), name}, object.UID, backend.Name)
			f.count(backend, membership, kept.view.Decide(membership), kind.Kind+" "+name.String(), rejected, lost)
		}
	}
	if err := c.observeOthers(ctx, &f, fleet, backend, targets); err != nil {
		return f, err
	}
	f.sort()
	return f, nil
}

// routesOf finds the routes of a kind that name one of the Services or ServiceImports, or have the backend in their record.
func (c *cluster) routesOf(
	ctx context.Context, resource schema.GroupResource, targets []drain.Object, backend string,
) (map[types.NamespacedName]*resourcewatch.Object, error) {
	// A backend may have 10,000 Services, and most kinds have no routes.
	if some, err := c.reader.Find(ctx, resource, resourcewatch.Query{Any: true}); err != nil || len(some) == 0 {
		return nil, err
	}
	queries := []resourcewatch.Query{{Index: byBackend, Value: backend}}
	for _, target := range targets {
		queries = append(queries, resourcewatch.Query{Index: byTarget, Value: target.String()})
	}
	routes := map[types.NamespacedName]*resourcewatch.Object{}
	for _, query := range queries {
		found, err := c.reader.Find(ctx, resource, query)
		if err != nil {
			return nil, err
		}
		for _, object := range found {
			routes[nameOf(object)] = object
		}
	}
	return routes, nil
}

// observeOthers adds the objects that refer to Services of a backend. It is an error when not all are known.
func (c *cluster) observeOthers(
	ctx context.Context, f *facts, fleet fleet, backend *gimbalv1.DiscoveryBackend, targets []drain.Object,
) error {
	for _, kind := range c.others {
		named := schema.GroupKind{Group: kind.Group, Kind: kind.kind}
		if some, err := c.reader.Find(ctx, kind.GroupResource, resourcewatch.Query{Any: true}); err != nil {
			return fmt.Errorf("%s: %w", named, err)
		} else if len(some) == 0 {
			continue
		}
		for _, service := range targets {
			found, err := c.reader.Find(ctx, kind.GroupResource, resourcewatch.Query{Index: byTarget, Value: service.String()})
			if err != nil {
				return fmt.Errorf("%s: %w", named, err)
			}
			if len(found) == 0 || !fleet.reaches(backend, service.Namespace) {
				continue
			}
			target, err := c.target(ctx, service)
			if err != nil {
				return err
			}
			for _, object := range found {
				f.countOther(kind.kind+" "+nameOf(object).String(), service, target)
			}
		}
	}
	return nil
}
