// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/openapi"
)

// converter merges what is applied by the types of the lists, as the API server does: without it a list of conditions would be
// replaced as a whole.
var converter = sync.OnceValue(func() managedfields.TypeConverter {
	kinds := map[string]schema.GroupVersionKind{
		gardenerv1beta1.Project{}.OpenAPIModelName():   gardenerv1beta1.SchemeGroupVersion.WithKind("Project"),
		midonetv1.Translation{}.OpenAPIModelName():     midonetv1.SchemeGroupVersion.WithKind("Translation"),
		gimbalv1.DiscoveryBackend{}.OpenAPIModelName(): gimbalv1.SchemeGroupVersion.WithKind("DiscoveryBackend"),
		kubernikusv1.Kluster{}.OpenAPIModelName():      kubernikusv1.SchemeGroupVersion.WithKind("Kluster"),
	}
	var models []string
	for model := range kinds {
		models = append(models, model)
	}
	schemas, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{
		Info:           &spec.Info{},
		GetDefinitions: openapi.GetOpenAPIDefinitions,
		GetDefinitionName: func(name string) (string, spec.Extensions) {
			kind, ok := kinds[name]
			if !ok {
				return name, nil
			}
			return name, spec.Extensions{"x-kubernetes-group-version-kind": []any{
				map[any]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind},
			}}
		},
	}, models...)
	if err != nil {
		panic(err)
	}
	types, err := managedfields.NewTypeConverter(schemas, false)
	if err != nil {
		panic(err)
	}
	return types
})
