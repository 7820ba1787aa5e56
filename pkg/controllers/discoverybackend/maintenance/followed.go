// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// Indexes of what is followed.
const (
	// byBackend finds Services by the backend that their label names, and routes by the backends in their records.
	byBackend = "backend"
	// byService finds routes by the Services that they name, and EndpointSlices by the Service that they belong to. byImport does the
	// same with ServiceImports.
	byService = "service"
	byImport  = "import"
)

func backendsResource() schema.GroupResource { return gimbalv1.Resource("discoverybackends") }

func servicesResource() schema.GroupResource { return schema.GroupResource{Resource: "services"} }

func slicesResource() schema.GroupResource {
	return schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
}

func importsResource() schema.GroupResource {
	return schema.GroupResource{Group: "multicluster.x-k8s.io", Resource: "serviceimports"}
}

func definitionsResource() schema.GroupResource {
	return schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
}

// routeResource returns the resource of a kind of route.
func routeResource(kind *drain.Kind) schema.GroupResource {
	return schema.GroupResource{Group: kind.Group, Resource: kind.Resource}
}

// route is what is kept of a route.
type route struct {
	view *drain.View
	// services and imports are the Services and ServiceImports that it refers to, recorded the backends that its record names. They
	// are needed often, and a route may have 1000 rules.
	services, imports []types.NamespacedName
	recorded          []string
	// record is the annotation with the saved weights, "" when there is none.
	record string
	// removed is since when references have been removed that the route has a record of; nil when it has none.
	removed *time.Time
}

// routeOf keeps of a route what its view needs, and of its records what they report about time.
func routeOf(kind *drain.Kind, content map[string]any) *route {
	record, _, _ := unstructured.NestedString(content, "metadata", "annotations", gimbalv1.AnnotationSavedWeights)
	kept := newRoute(kind.View(content), record)
	removed, _, _ := unstructured.NestedString(content, "metadata", "annotations", gimbalv1.AnnotationRemovedReferences)
	if since, recorded := drain.RemovedSince(removed); recorded {
		kept.removed = &since
	}
	return kept
}

func newRoute(view *drain.View, record string) *route {
	kept := &route{view: view, services: view.Services(), imports: view.Imports(), record: record}
	if record != "" {
		kept.recorded = view.Recorded()
	}
	return kept
}

// followed returns the kinds that maintenance follows. Where there are no DiscoveryBackends nothing else is watched.
func followed(routes []*drain.Kind, others []*otherKind) []resourcewatch.Kind {
	while := []schema.GroupResource{backendsResource()}
	all := []resourcewatch.Kind{
		{GroupResource: backendsResource(), Versions: []string{gimbalv1.SchemeGroupVersion.Version}, Value: backendOf},
		{
			GroupResource: servicesResource(), Versions: []string{"v1"}, While: while, Typed: resourcewatch.As(&corev1.Service{}, serviceOf),
			Indexes: map[string]func(*resourcewatch.Object) []string{byBackend: labelled},
		},
		{
			GroupResource: slicesResource(), Versions: []string{"v1"}, While: while, Typed: resourcewatch.As(&discoveryv1.EndpointSlice{}, sliceOf),
			Indexes: map[string]func(*resourcewatch.Object) []string{byService: serviceOfSlice, byImport: importOfSlice},
		},
		{GroupResource: importsResource(), Versions: []string{"v1beta1", "v1alpha1"}, While: while, Value: importOf},
		{GroupResource: grantsResource(), Versions: []string{"v1", "v1beta1"}, While: while, Value: grantOf},
		{GroupResource: definitionsResource(), While: while},
	}
	for _, kind := range routes {
		all = append(all, resourcewatch.Kind{
			GroupResource: routeResource(kind), Versions: kind.Versions, While: while,
			Value: func(content map[string]any) any {
				return routeOf(kind, content)
			},
			Indexes: map[string]func(*resourcewatch.Object) []string{byService: servicesOf, byImport: importsOf, byBackend: recordedBackends},
		})
	}
	for _, kind := range others {
		all = append(all, kind.followed(while))
	}
	return all
}

// backendOf keeps a whole DiscoveryBackend: there are few, and their managed fields report who wrote which error.
func backendOf(content map[string]any) any {
	backend := &gimbalv1.DiscoveryBackend{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, backend); err != nil {
		return nil
	}
	return backend
}

// label returns the backend that the labels of a Service name, "" when they name none.
func label(object *resourcewatch.Object) string {
	if kept := serviceIn(object); kept != nil {
		return kept.backend
	}
	return ""
}

// serviceOfSlice returns the Service that an EndpointSlice belongs to.
func serviceOfSlice(object *resourcewatch.Object) []string {
	if kept := sliceIn(object); kept != nil && kept.service != "" {
		return []string{object.Namespace + "/" + kept.service}
	}
	return nil
}

// importOfSlice returns the ServiceImport that an EndpointSlice belongs to.
func importOfSlice(object *resourcewatch.Object) []string {
	if kept := sliceIn(object); kept != nil && kept.imported != "" {
		return []string{object.Namespace + "/" + kept.imported}
	}
	return nil
}

func labelled(service *resourcewatch.Object) []string {
	if backend := label(service); backend != "" {
		return []string{backend}
	}
	return nil
}

func servicesOf(object *resourcewatch.Object) []string {
	if kept, ok := object.Value.(*route); ok {
		return keysOf(kept.services)
	}
	return nil
}

func importsOf(object *resourcewatch.Object) []string {
	if kept, ok := object.Value.(*route); ok {
		return keysOf(kept.imports)
	}
	return nil
}

func keysOf(names []types.NamespacedName) []string {
	var keys []string
	for _, name := range names {
		keys = append(keys, name.String())
	}
	return keys
}

// recordedBackends returns the backends whose weights the record of a route has.
func recordedBackends(object *resourcewatch.Object) []string {
	kept, ok := object.Value.(*route)
	if !ok {
		return nil
	}
	return kept.recorded
}
