// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/generated/openapi"
)

// projectConverter lets the store merge an applied Project as the API server does, by the types of its lists: without
// it the list of conditions would be replaced as a whole.
func projectConverter(t *testing.T) managedfields.TypeConverter {
	t.Helper()
	model := gardenerv1beta1.Project{}.OpenAPIModelName()
	schemas, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{
		Info:           &spec.Info{},
		GetDefinitions: openapi.GetOpenAPIDefinitions,
		GetDefinitionName: func(name string) (string, spec.Extensions) {
			if name != model {
				return name, nil
			}
			version := gardenerv1beta1.SchemeGroupVersion
			return name, spec.Extensions{"x-kubernetes-group-version-kind": []any{
				map[any]any{"group": version.Group, "version": version.Version, "kind": "Project"},
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
