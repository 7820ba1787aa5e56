// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/kinds"
)

// Indexes of what is followed.
const (
	// byBackend finds Services by the backend that their label names, and routes by the backends in their records.
	byBackend = "backend"
	// byService finds routes by the Services that they name.
	byService = "service"
)

func backendsResource() schema.GroupResource { return gimbalv1.Resource("discoverybackends") }

func servicesResource() schema.GroupResource { return schema.GroupResource{Resource: "services"} }

func definitionsResource() schema.GroupResource {
	return schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
}

// routeResource is the resource of a kind of route.
func routeResource(kind *drain.Kind) schema.GroupResource {
	return schema.GroupResource{Group: kind.Group, Resource: kind.Resource}
}

// route is what is kept of a route.
type route struct {
	view *drain.View
	// record is the annotation with the saved weights, "" when there is none.
	record string
}

// followed are the kinds that maintenance follows. Where there are no DiscoveryBackends nothing else is watched.
func followed(routes []*drain.Kind) []kinds.Kind {
	while := []schema.GroupResource{backendsResource()}
	all := []kinds.Kind{
		{GroupResource: backendsResource(), Versions: []string{gimbalv1.SchemeGroupVersion.Version}, Value: backendOf},
		{
			GroupResource: servicesResource(), While: while, Metadata: labelOf,
			Indexes: map[string]func(*kinds.Object) []string{byBackend: labelled},
		},
		{GroupResource: definitionsResource(), While: while},
	}
	for _, kind := range routes {
		all = append(all, kinds.Kind{
			GroupResource: routeResource(kind), Versions: kind.Versions, While: while,
			Value: func(content map[string]any) any {
				record, _, _ := unstructured.NestedString(content, "metadata", "annotations", gimbalv1.AnnotationSavedWeights)
				return &route{view: kind.View(content), record: record}
			},
			Indexes: map[string]func(*kinds.Object) []string{byService: servicesOf, byBackend: recordedBackends},
		})
	}
	return all
}

// backendOf keeps a whole DiscoveryBackend: there are few, and their managed fields say who wrote which error.
func backendOf(content map[string]any) any {
	backend := &gimbalv1.DiscoveryBackend{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, backend); err != nil {
		return nil
	}
	return backend
}

// labelOf keeps the backend that the labels of a Service name, "" when they name none.
func labelOf(service metav1.Object) any {
	labels := service.GetLabels()
	if backend := labels[gimbalv1.LabelBackend]; backend != "" {
		return backend
	}
	return labels[gimbalv1.LegacyLabelBackend]
}

// label is what labelOf kept.
func label(service *kinds.Object) string {
	backend, _ := service.Value.(string)
	return backend
}

func labelled(service *kinds.Object) []string {
	if backend := label(service); backend != "" {
		return []string{backend}
	}
	return nil
}

func servicesOf(object *kinds.Object) []string {
	kept, ok := object.Value.(*route)
	if !ok {
		return nil
	}
	var keys []string
	for _, service := range kept.view.Services() {
		keys = append(keys, service.String())
	}
	return keys
}

// recordedBackends are the backends whose weights the record of a route has.
func recordedBackends(object *kinds.Object) []string {
	kept, ok := object.Value.(*route)
	if !ok || kept.record == "" {
		return nil
	}
	var names []string
	for name := range kept.view.Decide(nobody{}).Backends {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// nobody knows no Service, so that a slot is of the backend that its record names, if any.
type nobody struct{}

// Of implements drain.Backends.
func (nobody) Of(types.NamespacedName) (string, bool) { return "", false }

// Drained implements drain.Backends.
func (nobody) Drained(string, string) bool { return false }

// KeepsSole implements drain.Backends.
func (nobody) KeepsSole(string) bool { return false }
