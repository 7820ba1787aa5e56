// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRulesNameObjectsThatProcessesCreate checks that kustomize does not rewrite the names in rules. It treats the name of a
// generated ConfigMap as a reference wherever it occurs, and would replace it by the generated name.
func TestRulesNameObjectsThatProcessesCreate(t *testing.T) {
	t.Parallel()
	for _, installation := range []manifests{
		rendered(t, "install/single-replica"), rendered(t, "install/controllers-only"), rendered(t, "install/single-replica", "install/beside-gardener"),
	} {
		for _, generated := range installation.names("ConfigMap") {
			plain := generated[:strings.LastIndex(generated, "-")]
			for _, kind := range []string{"Role", "ClusterRole"} {
				for _, name := range installation.names(kind) {
					rules, _, _ := unstructured.NestedSlice(installation[kind+" "+name].Object, "rules")
					for _, rule := range rules {
						named, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resourceNames")
						if slices.Contains(named, generated) {
							t.Errorf("%s %s mentions %s: the ConfigMap must not be called %s", kind, name, generated, plain)
						}
					}
				}
			}
		}
	}
}
