// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// cluster is what the caches know.
type cluster struct {
	set    *resourcewatch.Set
	reader resourcewatch.Reader
	// admins are the namespaces whose backends reach every namespace.
	admins []string
	// restored has the backends whose endpoints are known not to be withheld.
	restored *marks
	start    start
}

// backends returns all DiscoveryBackends by name. Names are unique across namespaces. It returns an error if not all are known:
// otherwise the weights of a missing backend would be restored as if it had been deleted.
func (c *cluster) backends(ctx context.Context) (map[string]*gimbalv1.DiscoveryBackend, error) {
	served, err := c.set.Served(backendsResource())
	if err == nil && served == nil {
		err = errors.New("DiscoveryBackends are not served")
	}
	if err != nil {
		return nil, err
	}
	found, err := c.reader.Find(ctx, backendsResource(), resourcewatch.Query{})
	if err != nil {
		return nil, err
	}
	backends := map[string]*gimbalv1.DiscoveryBackend{}
	for _, object := range found {
		backend, ok := object.Value.(*gimbalv1.DiscoveryBackend)
		if !ok {
			return nil, errors.New("DiscoveryBackend " + object.Namespace + "/" + object.Name + " cannot be read")
		}
		backends[backend.Name] = backend
	}
	c.start.sees(backends)
	return backends, nil
}

// importsOfBackend finds the ServiceImports of a backend.
func (c *cluster) importsOfBackend(ctx context.Context, backend string) ([]*resourcewatch.Object, error) {
	all, err := c.reader.Find(ctx, importsResource(), resourcewatch.Query{})
	if err != nil {
		return nil, err
	}
	var found []*resourcewatch.Object
	for _, object := range all {
		target, err := c.importTarget(ctx, types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
		if err != nil {
			return nil, err
		}
		if target != nil && target.backendOfImport() == backend {
			found = append(found, object)
		}
	}
	return found, nil
}

// membership reports for one route which of its Services are of which backend, and which of them are drained. It implements
// drain.Backends.
type membership struct {
	admins   []string
	backends map[string]*gimbalv1.DiscoveryBackend
	restored *marks
	// clusters are those of the backends, as clustersOf returns them.
	clusters map[string]string
	// targets has each Service that exists, with its EndpointSlices, imports each ServiceImport.
	targets, imports map[types.NamespacedName]*target
	// grants are the ReferenceGrants in the other namespaces to which the route refers.
	grants map[string][]*grant
	// recorded are the backends in the record of the route.
	recorded []string
	// removed are those that were in a record that was removed before this process started.
	removed map[string]bool
}

// membership returns the Services of a route and their endpoints. It returns an error if not all are known: a missing one would be
// treated as a Service without a backend or endpoint.
func (c *cluster) membership(ctx context.Context, backends map[string]*gimbalv1.DiscoveryBackend, clusters map[string]string, object *resourcewatch.Object) (*membership, error) {
	m := &membership{admins: c.admins, backends: backends, clusters: clusters, restored: c.restored, recorded: recordedBackends(object)}
	kept, ok := object.Value.(*route)
	if !ok {
		return m, nil
	}
	for _, resource := range []schema.GroupResource{servicesResource(), slicesResource()} {
		served, err := c.set.Served(resource)
		if err == nil && served == nil {
			err = errors.New(resource.String() + " are not watched")
		}
		if err != nil {
			return nil, err
		}
	}
	var err error
	if m.targets, err = all(ctx, kept.services, c.target); err != nil {
		return nil, err
	}
	if m.imports, err = all(ctx, kept.imports, c.importTarget); err != nil {
		return nil, err
	}
	if m.grants, err = c.grantsFor(ctx, object.Namespace, kept.services, kept.imports); err != nil {
		return nil, err
	}
	return m, nil
}

// all returns the targets with these names that exist, nil for none.
func all(ctx context.Context, names []types.NamespacedName, find func(context.Context, types.NamespacedName) (*target, error)) (map[types.NamespacedName]*target, error) {
	var targets map[types.NamespacedName]*target
	for _, name := range names {
		found, err := find(ctx, name)
		if err != nil {
			return nil, err
		}
		if found == nil {
			continue
		}
		if targets == nil {
			targets = make(map[types.NamespacedName]*target, len(names))
		}
		targets[name] = found
	}
	return targets, nil
}

// target returns a Service with its EndpointSlices, nil when there is no such Service.
func (c *cluster) target(ctx context.Context, name types.NamespacedName) (*target, error) {
	return c.targetOf(ctx, servicesResource(), byService, name)
}

// importTarget returns a ServiceImport with its EndpointSlices, nil when there is no such ServiceImport.
func (c *cluster) importTarget(ctx context.Context, name types.NamespacedName) (*target, error) {
	return c.targetOf(ctx, importsResource(), byImport, name)
}

func (c *cluster) targetOf(ctx context.Context, resource schema.GroupResource, index string, name types.NamespacedName) (*target, error) {
	services, err := c.reader.Find(ctx, resource, resourcewatch.Query{Namespace: name.Namespace, Name: name.Name})
	if err != nil || len(services) == 0 {
		return nil, err
	}
	found := &target{service: serviceIn(services[0])}
	if found.service == nil {
		return nil, fmt.Errorf("%s of %s cannot be read", name, resource)
	}
	endpoints, err := c.reader.Find(ctx, slicesResource(), resourcewatch.Query{Index: index, Value: name.String()})
	if err != nil {
		return nil, err
	}
	for _, object := range endpoints {
		if kept := sliceIn(object); kept != nil {
			found.slices = append(found.slices, kept)
		}
	}
	return found, nil
}

// Of implements drain.Backends. A label counts within the reach of its backend: else anybody could drain anything by
// the label of a Service.
func (m *membership) Of(service types.NamespacedName) (string, bool) {
	found, known := m.targets[service]
	if !known {
		return "", false
	}
	return m.reaching(found.service.backend, service.Namespace), true
}

// OfImport implements drain.Importer.
func (m *membership) OfImport(name types.NamespacedName) (string, bool) {
	found, known := m.imports[name]
	if !known {
		return "", false
	}
	return m.reaching(found.backendOfImport(), name.Namespace), true
}

// reaching returns the name of a backend, "" when it does not reach a namespace.
func (m *membership) reaching(name, namespace string) string {
	if backend := m.backends[name]; backend != nil && !reaches(backend, m.admins, namespace) {
		return ""
	}
	return name
}

// Share implements drain.Backends. A backend that has been deleted is drained nowhere.
func (m *membership) Share(name, routeNamespace string) int {
	backend := m.backends[name]
	if backend == nil || !reaches(backend, m.admins, routeNamespace) {
		return whole
	}
	return shareOf(backend, phaseOf(backend, m.restored.has(backend.UID)), m.HadRecord(name) || slices.Contains(m.recorded, name))
}

// ClusterOf implements drain.Clusters.
func (m *membership) ClusterOf(name string) string { return cmp.Or(m.clusters[name], name) }

// Records implements drain.Recorder. The record of a backend that is being deleted is removed with its references.
func (m *membership) Records(name string) bool {
	backend := m.backends[name]
	return backend != nil && backend.DeletionTimestamp.IsZero()
}

// HadRecord implements drain.Recorder.
func (m *membership) HadRecord(name string) bool { return m.removed[name] }

// Target implements drain.Backends.
func (m *membership) Target(service types.NamespacedName, port string) drain.Target {
	return m.targets[service].of(port)
}

// ImportTarget implements drain.Importer.
func (m *membership) ImportTarget(name types.NamespacedName, port string) drain.Target {
	return m.imports[name].of(port)
}

// KeepsSole implements drain.Backends.
func (m *membership) KeepsSole(name string) bool {
	backend := m.backends[name]
	return backend != nil && status.KeepsSole(backend)
}

// reaches reports whether maintenance of a backend changes routes in a namespace, and counts Services there.
func reaches(backend *gimbalv1.DiscoveryBackend, admins []string, namespace string) bool {
	return backend.Namespace == namespace || slices.Contains(admins, backend.Namespace)
}
