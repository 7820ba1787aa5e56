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
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// Indexes of what is followed.
const (
	// byBackend finds Services by the backend that their label names, and routes by the backends in their records.
	byBackend = "backend"
	// byTarget finds routes by the Services and ServiceImports that they name, and EndpointSlices by those that they belong to.
	byTarget = "target"
)

var (
	backendsResource    = gimbalv1.Resource("discoverybackends")
	servicesResource    = schema.GroupResource{Resource: "services"}
	slicesResource      = schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	importsResource     = schema.GroupResource{Group: "multicluster.x-k8s.io", Resource: "serviceimports"}
	grantsResource      = schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "referencegrants"}
	definitionsResource = schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
)

func routeResource(kind *drain.Kind) schema.GroupResource {
	return schema.GroupResource{Group: kind.Group, Resource: kind.Resource}
}

// route is what is kept of a route.
type route struct {
	view *drain.View
	// targets are the Services and ServiceImports that it refers to, recorded the backends that its record names. They are needed often, and
	// a route may have 1000 rules.
	targets  []drain.Object
	recorded []string
	// drained are those that are drained as a whole.
	drained []string
	// over are the Services whose requests go to other receivers, by its record.
	over sets.Set[types.NamespacedName]
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
	kept := &route{view: view, targets: view.Objects(), record: record}
	if record != "" {
		kept.recorded, kept.drained, kept.over = view.Recorded(), view.Drained(), view.FailedOver()
	}
	return kept
}

// followed returns the kinds that maintenance follows. Where there are no DiscoveryBackends nothing else is watched.
func followed(routes []*drain.Kind, others []*otherKind) []resourcewatch.Kind {
	type indexes = map[string]func(*resourcewatch.Object) []string
	while := []schema.GroupResource{backendsResource}
	all := []resourcewatch.Kind{
		{GroupResource: backendsResource, Versions: []string{gimbalv1.SchemeGroupVersion.Version}, Value: backendOf},
		{
			GroupResource: servicesResource, Versions: []string{"v1"}, While: while, Typed: resourcewatch.As(&corev1.Service{}, serviceOf),
			Indexes: indexes{byBackend: indexed(func(_ *resourcewatch.Object, kept *service) []string {
				if kept.backend == "" {
					return nil
				}
				return []string{kept.backend}
			})},
		},
		{
			GroupResource: slicesResource, Versions: []string{"v1"}, While: while,
			Typed:   resourcewatch.As(&discoveryv1.EndpointSlice{}, sliceOf),
			Indexes: indexes{byTarget: targetsOfSlice},
		},
		{GroupResource: importsResource, Versions: []string{"v1beta1", "v1alpha1"}, While: while, Value: importOf},
		{GroupResource: grantsResource, Versions: []string{"v1", "v1beta1"}, While: while, Value: grantOf},
	}
	for _, kind := range routes {
		all = append(all, resourcewatch.Kind{
			GroupResource: routeResource(kind), Versions: kind.Versions, While: while,
			Value: func(content map[string]any) any { return routeOf(kind, content) },
			Indexes: indexes{
				byTarget:  indexed(func(_ *resourcewatch.Object, kept *route) []string { return keysOf(kept.targets) }),
				byBackend: indexed(func(_ *resourcewatch.Object, kept *route) []string { return kept.recorded }),
			},
		})
	}
	for _, kind := range others {
		all = append(all, resourcewatch.Kind{
			GroupResource: kind.GroupResource, Versions: kind.versions, While: while,
			Value:   func(content map[string]any) any { return otherOf(content, kind.paths) },
			Indexes: indexes{byTarget: indexed(func(_ *resourcewatch.Object, kept *other) []string { return keysOf(kept.services) })},
		})
	}
	return all
}

var targetsOfSlice = indexed(func(object *resourcewatch.Object, kept *slice) (keys []string) {
	if kept.service != "" {
		keys = append(keys, drain.Object{NamespacedName: types.NamespacedName{Namespace: object.Namespace, Name: kept.service}}.String())
	}
	if kept.imported != "" {
		imported := types.NamespacedName{Namespace: object.Namespace, Name: kept.imported}
		keys = append(keys, drain.Object{NamespacedName: imported, Import: true}.String())
	}
	return keys
})

// indexed returns an index function over what is kept of objects.
func indexed[T any](keys func(*resourcewatch.Object, *T) []string) func(*resourcewatch.Object) []string {
	return func(object *resourcewatch.Object) []string {
		if kept := valueOf[T](object); kept != nil {
			return keys(object, kept)
		}
		return nil
	}
}

// valueOf returns what is kept of an object, nil for no object and for one of another kind.
func valueOf[T any](object *resourcewatch.Object) *T {
	if object == nil {
		return nil
	}
	kept, _ := object.Value.(*T)
	return kept
}

func nameOf(object *resourcewatch.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
}

// targetIn names a Service or a ServiceImport, by its resource.
func targetIn(resource schema.GroupResource, object *resourcewatch.Object) drain.Object {
	return drain.Object{NamespacedName: nameOf(object), Import: resource == importsResource}
}

func keysOf(targets []drain.Object) []string {
	var keys []string
	for _, target := range targets {
		keys = append(keys, target.String())
	}
	return keys
}

// backendOf keeps a whole DiscoveryBackend: there are few, and their managed fields report who wrote which error.
func backendOf(content map[string]any) any {
	backend := &gimbalv1.DiscoveryBackend{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, backend); err != nil {
		return nil
	}
	return backend
}
