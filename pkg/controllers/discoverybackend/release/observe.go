// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/remote"
)

type name = types.NamespacedName

// knowledge is which backends there are, and which Services name one.
type knowledge struct {
	// services has the backend of each Service that names one.
	services map[name]string
	// copies are those of them that a discoverer wrote. The others stay when their backend is deleted.
	copies   sets.Set[name]
	backends map[string]*gimbalv1.DiscoveryBackend
	// clusters are those of the backends: two with the same value are proven to lead to one cluster.
	clusters map[string]string
	admins   []string
}

// survey reads all of it. Either it is complete, or there is an error.
func (r *References) survey(ctx context.Context) (*knowledge, error) {
	known := &knowledge{
		services: map[name]string{}, copies: sets.New[name](), backends: map[string]*gimbalv1.DiscoveryBackend{}, admins: r.AdminNamespaces,
	}
	live, backends, identities := lists.Complete(r.Live), &gimbalv1.DiscoveryBackendList{}, map[string][]gimbalv1.ClusterIdentity{}
	if err := live.List(ctx, backends); err != nil {
		return nil, fmt.Errorf("list the DiscoveryBackends: %w", err)
	}
	for i := range backends.Items {
		known.backends[backends.Items[i].Name] = &backends.Items[i]
		identities[backends.Items[i].Name] = backends.Items[i].Status.Identity
	}
	known.clusters = clusterid.Groups(identities)
	for _, label := range []string{gimbalv1.LabelBackend, gimbalv1.LegacyLabelBackend} {
		services := &metav1.PartialObjectMetadataList{}
		services.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceList"))
		if err := live.List(ctx, services, client.HasLabels{label}); err != nil {
			return nil, fmt.Errorf("list the Services with label %s: %w", label, err)
		}
		for i := range services.Items {
			service := &services.Items[i]
			key := name{Namespace: service.Namespace, Name: service.Name}
			known.services[key] = desired.BackendOf(service.Labels)
			if service.Labels[desired.LabelManagedBy] == desired.Manager {
				known.copies.Insert(key)
			}
		}
	}
	return known, nil
}

// of returns the copied Services of a backend that it reaches. A Service that has the label of a backend without the mark of
// a discoverer is not deleted with the backend, so that references to it stay valid.
func (k *knowledge) of(backend *gimbalv1.DiscoveryBackend) sets.Set[name] {
	found := sets.New[name]()
	for service, owner := range k.services {
		if owner == backend.Name && k.copies.Has(service) && status.Reaches(backend, k.admins, service.Namespace) {
			found.Insert(service)
		}
	}
	return found
}

type route struct {
	kind     *drain.Kind
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
}

func (r *route) String() string {
	return fmt.Sprintf("%s %s/%s", r.kind.Kind, r.object.GetNamespace(), r.object.GetName())
}

// list returns all routes of a kind, none when the kind is not served. Either they are complete, or there is an error.
func (r *References) list(ctx context.Context, kind *drain.Kind, namespace string) ([]*route, error) {
	resource := schema.GroupResource{Group: kind.Group, Resource: kind.Resource}
	served, err := r.Find(ctx, &resourcewatch.Kind{GroupResource: resource, Versions: kind.Versions})
	if err != nil || served == nil {
		return nil, err
	}
	var found []*route
	routes := r.Routes.Resource(*served).Namespace(namespace)
	err = remote.EachPage(ctx, routes, metav1.ListOptions{}, func(page *unstructured.UnstructuredList) {
		for i := range page.Items {
			found = append(found, &route{kind, *served, &page.Items[i]})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource, err)
	}
	return found, nil
}

// present is what is true of the backends of one route. It implements drain.Backends. A route stays drained for the
// backends for which it is: to drain it for more, or for less, is the matter of maintenance.
type present struct {
	*knowledge
	// drained are the backends that the record of the route names, imports those of its ServiceImports.
	drained sets.Set[string]
	// over are the Services whose requests go to other receivers, by the record.
	over    sets.Set[name]
	imports map[name]string
	// others are Services that name no backend.
	others sets.Set[name]
}

// backendsFor returns what is true of the backends of a route. Only one with a record can have Services that no longer exist.
func (r *References) backendsFor(ctx context.Context, known *knowledge, route *route) (*present, error) {
	view := route.kind.View(route.object.Object)
	found := &present{
		knowledge: known, drained: sets.New(view.Drained()...), over: view.FailedOver(), imports: view.RecordedImports(),
		others: sets.New[name](),
	}
	if len(found.drained)+len(found.over) == 0 {
		return found, nil
	}
	for _, key := range view.Services() {
		if _, named := known.services[key]; named {
			continue
		}
		service := &metav1.PartialObjectMetadata{}
		service.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
		switch err := r.Live.Get(ctx, key, service); {
		case err == nil:
			found.others.Insert(key)
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("get Service %s, to which %s refers: %w", key, route, err)
		}
	}
	return found, nil
}

// Of implements drain.Backends. A label counts within the reach of its backend only. A ServiceImport is not deleted with a backend, so that
// only the record counts.
func (p *present) Of(object drain.Object) (backend string, known bool) {
	if object.Import {
		return p.imports[object.NamespacedName], true
	}
	owner, known := p.services[object.NamespacedName]
	if backend := p.backends[owner]; backend != nil && !status.Reaches(backend, p.admins, object.Namespace) {
		owner = ""
	}
	return owner, known || p.others.Has(object.NamespacedName)
}

// Share implements drain.Backends.
func (p *present) Share(backend, _ string) int {
	if !p.drained.Has(backend) {
		return 100
	}
	if found := p.backends[backend]; found != nil && found.Status.Ramp != nil {
		return int(found.Status.Ramp.Percent)
	}
	return 0
}

// FailsOver implements drain.Backends.
func (p *present) FailsOver(service name) bool { return p.over.Has(service) }

// ClusterOf implements drain.Backends.
func (p *present) ClusterOf(backend string) string { return cmp.Or(p.clusters[backend], backend) }

// KeepsSole implements drain.Backends.
func (p *present) KeepsSole(backend string) bool {
	found := p.backends[backend]
	return found != nil && status.KeepsSole(found)
}

// Target implements drain.Backends. Which Services can take requests is for maintenance to find out.
func (*present) Target(drain.Object, string) drain.Target { return drain.Target{} }
