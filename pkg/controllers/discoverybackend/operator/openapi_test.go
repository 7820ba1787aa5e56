// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/openapi"
)

// backendConverter lets the store merge an applied DiscoveryBackend as the API server does, by the types of its lists.
func backendConverter(t *testing.T) managedfields.TypeConverter {
	t.Helper()
	model := gimbalv1.DiscoveryBackend{}.OpenAPIModelName()
	schemas, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{
		Info:           &spec.Info{},
		GetDefinitions: openapi.GetOpenAPIDefinitions,
		GetDefinitionName: func(name string) (string, spec.Extensions) {
			if name != model {
				return name, nil
			}
			version := gimbalv1.SchemeGroupVersion
			return name, spec.Extensions{"x-kubernetes-group-version-kind": []any{
				map[any]any{"group": version.Group, "version": version.Version, "kind": "DiscoveryBackend"},
			}}
		},
	}, model)
	if err != nil {
		t.Fatal(err)
	}
	converter, err := managedfields.NewTypeConverter(schemas, false)
	if err != nil {
		t.Fatal(err)
	}
	return converter
}
