// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
)

// otherKind is a kind whose objects refer to Services and are not changed. The endpoints of the Services are withheld.
type otherKind struct {
	schema.GroupResource
	kind     string
	versions []string
	// paths are the fields that have the name of a Service.
	paths []string
}

// otherKinds returns the ExtensionServices of Contour, to which HTTPProxies send authorization requests, and the configured kinds.
func otherKinds(configured []configv1alpha1.OtherKind) []*otherKind {
	all := []*otherKind{{
		GroupResource: schema.GroupResource{Group: "projectcontour.io", Resource: "extensionservices"}, kind: "ExtensionService",
		versions: []string{"v1alpha1"}, paths: []string{"spec.services[].name"},
	}}
	for _, kind := range configured {
		resource := schema.GroupResource{Group: kind.Group, Resource: kind.Resource}
		all = append(all, &otherKind{GroupResource: resource, kind: kind.Kind, paths: kind.Paths})
	}
	return all
}

// other is what is kept of an object of such a kind: the Services that it refers to.
type other struct{ services []drain.Object }

func otherOf(content map[string]any, paths []string) *other {
	metadata, _ := content["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	kept := &other{}
	for _, path := range paths {
		for _, value := range valuesAt(content, strings.Split(path, ".")) {
			name, ok := serviceNamed(value, namespace)
			if service := (drain.Object{NamespacedName: name}); ok && !slices.Contains(kept.services, service) {
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
