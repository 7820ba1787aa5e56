// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/openapi"
)

// definition returns the CustomResourceDefinition of Translations in crdGroup, with the schema that Groundskeeper's server
// publishes, the subresource status and the same columns.
func definition() (map[string]any, error) {
	schema, err := structuralSchema(midonetv1.Translation{}.OpenAPIModelName())
	if err != nil {
		return nil, err
	}
	schema["properties"].(map[string]any)["metadata"] = map[string]any{"type": "object"} //nolint:forcetypeassert // the schema of an object
	column := func(name, kind, path string) map[string]any {
		return map[string]any{"name": name, "type": kind, "jsonPath": path}
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + crdGroup},
		"spec": map[string]any{
			"group": crdGroup, "scope": "Namespaced",
			"names": map[string]any{"plural": plural, "singular": "translation", "kind": "Translation", "listKind": "TranslationList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema":       map[string]any{"openAPIV3Schema": schema},
				"additionalPrinterColumns": []any{
					column("Synced", "string", `.status.conditions[?(@.type=="Synced")].status`), column("Age", "date", ".metadata.creationTimestamp"),
				},
			}},
		},
	}, nil
}

// structuralSchema returns a type's schema with all references resolved, as a CustomResourceDefinition wants it.
func structuralSchema(name string) (map[string]any, error) {
	definitions := openapi.GetOpenAPIDefinitions(spec.MustCreateRef)
	return resolve(definitions, name)
}

func resolve(definitions map[string]common.OpenAPIDefinition, name string) (map[string]any, error) {
	if name == (metav1.ObjectMeta{}).OpenAPIModelName() {
		return map[string]any{"type": "object"}, nil
	}
	found, ok := definitions[name]
	if !ok {
		return nil, fmt.Errorf("no definition %s", name)
	}
	text, err := json.Marshal(found.Schema)
	if err != nil {
		return nil, err
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	resolved, err := inline(definitions, schema)
	if err != nil {
		return nil, err
	}
	return resolved.(map[string]any), nil //nolint:forcetypeassert // a map stays one
}

// inline replaces references in a value that was decoded from JSON, and drops what only a reference needs.
func inline(definitions map[string]common.OpenAPIDefinition, value any) (any, error) {
	switch value := value.(type) {
	case []any:
		for i := range value {
			replaced, err := inline(definitions, value[i])
			if err != nil {
				return nil, err
			}
			value[i] = replaced
		}
	case map[string]any:
		if ref, ok := value["$ref"].(string); ok {
			return resolve(definitions, strings.TrimPrefix(ref, "#/definitions/"))
		}
		if all, ok := value["allOf"].([]any); ok && len(all) == 1 { // a reference with a description
			return inline(definitions, all[0])
		}
		if isEmpty(value["default"]) {
			delete(value, "default")
		}
		for key, inner := range value {
			replaced, err := inline(definitions, inner)
			if err != nil {
				return nil, err
			}
			value[key] = replaced
		}
	}
	return value, nil
}

// isEmpty recognizes a default that only reports that a field is no pointer.
func isEmpty(value any) bool {
	if object, ok := value.(map[string]any); ok {
		return len(object) == 0
	}
	return value == ""
}
