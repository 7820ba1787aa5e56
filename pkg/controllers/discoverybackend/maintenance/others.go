// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// otherKind is a kind whose objects refer to Services and are not changed. The endpoints of the Services are withheld.
type otherKind struct {
	schema.GroupKind
	resource string
	versions []string
	// paths are the fields that have the name of a Service.
	paths []string
}

// otherKinds returns the ExtensionServices of Contour, to which HTTPProxies send authorization requests, and the configured kinds.
func otherKinds(configured []configv1alpha1.OtherKind) []*otherKind {
	all := []*otherKind{{
		GroupKind: schema.GroupKind{Group: "projectcontour.io", Kind: "ExtensionService"},
		resource:  "extensionservices", versions: []string{"v1alpha1"}, paths: []string{"spec.services[].name"},
	}}
	for _, kind := range configured {
		all = append(all, &otherKind{GroupKind: schema.GroupKind{Group: kind.Group, Kind: kind.Kind}, resource: kind.Resource, paths: kind.Paths})
	}
	return all
}

func (k *otherKind) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.resource}
}

// other is what is kept of an object of such a kind: the Services that it refers to.
type other struct{ services []types.NamespacedName }

// followed is how the kind is followed.
func (k *otherKind) followed(while []schema.GroupResource) resourcewatch.Kind {
	return resourcewatch.Kind{
		GroupResource: k.groupResource(), Versions: k.versions, While: while,
		Value:   func(content map[string]any) any { return otherOf(content, k.paths) },
		Indexes: map[string]func(*resourcewatch.Object) []string{byService: servicesOfOther},
	}
}

func otherOf(content map[string]any, paths []string) *other {
	metadata, _ := content["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	kept := &other{}
	for _, path := range paths {
		for _, value := range valuesAt(content, strings.Split(path, ".")) {
			if service, ok := serviceNamed(value, namespace); ok && !slices.Contains(kept.services, service) {
				kept.services = append(kept.services, service)
			}
		}
	}
	return kept
}

// valuesAt returns the texts at a path, of all items of a list where a step ends with brackets.
func valuesAt(value any, path []string) []string {
	if len(path) == 0 {
		if text, ok := value.(string); ok && text != "" {
			return []string{text}
		}
		return nil
	}
	object, _ := value.(map[string]any)
	field, isList := strings.CutSuffix(path[0], "[]")
	if !isList {
		return valuesAt(object[field], path[1:])
	}
	items, _ := object[field].([]any)
	var all []string
	for _, item := range items {
		all = append(all, valuesAt(item, path[1:])...)
	}
	return all
}

// serviceNamed reads the name of a Service, or its DNS name.
func serviceNamed(value, namespace string) (types.NamespacedName, bool) {
	labels := strings.Split(strings.TrimSuffix(value, "."), ".")
	switch {
	case len(labels) == 1:
		return types.NamespacedName{Namespace: namespace, Name: labels[0]}, true
	case len(labels) == 2, labels[2] == "svc":
		return types.NamespacedName{Namespace: labels[1], Name: labels[0]}, true
	}
	return types.NamespacedName{}, false
}

func servicesOfOther(object *resourcewatch.Object) []string {
	if kept, ok := object.Value.(*other); ok {
		return keysOf(kept.services)
	}
	return nil
}

// observeOthers adds the objects that refer to Services of a backend. It is an error when not all are known.
func (o *observer) observeOthers(ctx context.Context, f *facts, backend *gimbalv1.DiscoveryBackend, services []*resourcewatch.Object) error {
	for _, kind := range o.others {
		if some, err := o.cluster.reader.Find(ctx, kind.groupResource(), resourcewatch.Query{Any: true}); err != nil {
			return fmt.Errorf("%s: %w", kind.GroupKind, err)
		} else if len(some) == 0 {
			continue
		}
		for _, service := range services {
			name := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
			found, err := o.cluster.reader.Find(ctx, kind.groupResource(), resourcewatch.Query{Index: byService, Value: name.String()})
			if err != nil {
				return fmt.Errorf("%s: %w", kind.GroupKind, err)
			}
			if len(found) == 0 || !reaches(backend, o.cluster.admins, service.Namespace) {
				continue
			}
			target, err := o.cluster.target(ctx, name)
			if err != nil {
				return err
			}
			for _, object := range found {
				f.countOther(fmt.Sprintf("%s %s/%s", kind.Kind, object.Namespace, object.Name), name, target)
			}
		}
	}
	return nil
}

// countOther adds an object that refers to a Service. Only the endpoints of the Service keep requests away.
func (f *facts) countOther(name string, service types.NamespacedName, found *target) {
	f.others = append(f.others, problem{name, "Service " + service.String()})
	f.withhold = inserted(f.withhold, []types.NamespacedName{service})
	switch {
	case found == nil:
	case found.service.externalName:
		f.sending = append(f.sending, problem{name, "a Service of type ExternalName has no endpoints that could be withheld"})
	case found.ready(false):
		f.sending = append(f.sending, problem{name, "endpoints of Service " + service.String() + " are not copies of a discoverer, so they stay ready"})
	case found.ready(true):
		f.unsettled++
	}
}

// followOthers enqueues the backends of the Services that objects refer to when the objects change.
func (w *watches) followOthers(ctx context.Context) {
	for _, kind := range w.others {
		w.cluster.set.Subscribe(func(e resourcewatch.Event) {
			names := map[string]bool{}
			for _, object := range []*resourcewatch.Object{e.Old, e.New} {
				if object == nil {
					continue
				}
				for _, service := range servicesOfOther(object) {
					namespace, name, _ := strings.Cut(service, "/")
					// A Service that is not in the cache yet has a separate event later.
					found, _ := w.cluster.reader.Find(ctx, servicesResource(), resourcewatch.Query{Namespace: namespace, Name: name})
					for _, service := range found {
						names[label(service)] = true
					}
				}
			}
			for name := range names {
				w.notifyBackends(ctx, name)
			}
		}, kind.groupResource())
	}
}
