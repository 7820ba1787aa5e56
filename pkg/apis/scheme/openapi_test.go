// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package scheme

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/openapi"
)

// definitions returns the types of Groundskeeper's groups, by their names in OpenAPI, such as cloud.gardener.core.v1beta1.Project.
func definitions() map[string]spec.Schema {
	all := openapi.GetOpenAPIDefinitions(spec.MustCreateRef)
	groups := []string{}
	for _, kind := range []util.OpenAPIModelNamer{gardenerv1beta1.Project{}, gimbalv1.DiscoveryBackend{}, kubernikusv1.Kluster{}, midonetv1.Translation{}} {
		name := kind.OpenAPIModelName()
		groups = append(groups, name[:strings.LastIndexByte(name, '.')+1])
	}
	own := map[string]spec.Schema{}
	for name, definition := range all {
		if slices.ContainsFunc(groups, func(group string) bool { return strings.HasPrefix(name, group) }) {
			own[name] = definition.Schema
		}
	}
	return own
}

// isSentence reports whether a description is at least one sentence: some words and a full stop.
func isSentence(description string) bool {
	sentence, _, found := strings.Cut(strings.ReplaceAll(description, "\n", " ")+" ", ". ")
	return found && len(strings.Fields(sentence)) >= 3
}

// `kubectl explain` shows these descriptions and nothing else.
func TestEveryFieldIsExplained(t *testing.T) {
	types := definitions()
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if !isSentence(types[name].Description) {
			t.Errorf("%s: %q is no sentence", name, types[name].Description)
		}
		for _, field := range slices.Sorted(maps.Keys(types[name].Properties)) {
			if description := types[name].Properties[field].Description; !isSentence(description) {
				t.Errorf("%s.%s: %q is no sentence", name, field, description)
			}
		}
	}
	for _, kind := range kinds() {
		found := 0
		for name := range types {
			if strings.HasSuffix(name, "."+kind.Version+"."+kind.Kind) || strings.HasSuffix(name, "."+kind.Version+"."+kind.Kind+"List") {
				found++
			}
		}
		if found != 2 {
			t.Errorf("%s: the kind and its list are not both in OpenAPI", kind)
		}
	}
}

func TestIsSentence(t *testing.T) {
	for description, want := range map[string]bool{
		"": false, "Name.": false, "The name": false, "The name of it": false,
		"Name of the pool.": true, "Phase is one of two. More: https://example.org": true, "Phase is one of two.\n\nPossible enum values:": true,
	} {
		if got := isSentence(description); got != want {
			t.Errorf("%q: %v, want %v", description, got, want)
		}
	}
}

// A default that the field's enum does not have makes clients that validate by the schema reject what they fill in.
func TestDefaultsAreInTheirEnums(t *testing.T) {
	for name, definition := range definitions() {
		for field, schema := range definition.Properties {
			if len(schema.Enum) > 0 && schema.Default != nil && !slices.Contains(schema.Enum, schema.Default) {
				t.Errorf("%s.%s: the default %q is none of %q", name, field, schema.Default, schema.Enum)
			}
		}
	}
}
