// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// structure returns the definition's schema as kube-apiserver takes it: no field is unknown, and it is structural.
func structure(t *testing.T) *structural.Structural {
	t.Helper()
	content, err := definition()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields() // a reference, above all
	var crd apiextensionsv1.CustomResourceDefinition
	if err := decoder.Decode(&crd); err != nil {
		t.Fatal(err)
	}
	if crd.Name != plural+"."+crdGroup || len(crd.Spec.Versions) != 1 || crd.Spec.Versions[0].Subresources.Status == nil {
		t.Errorf("the definition is %+v", crd)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil); err != nil {
		t.Fatal(err)
	}
	schema, err := structural.NewStructural(&internal)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestDefinitionIsStructural(t *testing.T) {
	schema := structure(t)
	if errs := structural.ValidateStructural(nil, schema); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
	var walk func(path string, s *structural.Structural)
	walk = func(path string, s *structural.Structural) {
		if strings.Contains(path, "$ref") || s.Type == "" && !s.XIntOrString && !s.XPreserveUnknownFields {
			t.Errorf("%s has no type", path)
		}
		for name, property := range s.Properties {
			walk(path+"."+name, &property)
		}
		if s.Items != nil {
			walk(path+"[]", s.Items)
		}
	}
	walk("", schema)
}

// TestDefinitionHasAllFields checks that the CustomResourceDefinition has all fields of the type, so that both servers validate the
// same.
func TestDefinitionHasAllFields(t *testing.T) {
	var object map[string]any
	text, err := json.Marshal(midonetv1.Translation{})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	schema := structure(t)
	for name := range object {
		if _, has := schema.Properties[name]; !has {
			t.Errorf("the definition has no field %s", name)
		}
	}
	resource := schema.Properties["resources"]
	if diff := cmp.Diff([]string{"body", "kind", "parent"}, slices.Sorted(maps.Keys(resource.Items.Properties))); diff != "" {
		t.Errorf("fields of a resource: %s", diff)
	}
}

func TestInline(t *testing.T) {
	definitions := map[string]common.OpenAPIDefinition{
		"inner": {Schema: spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}}}},
	}
	reference := func() map[string]any { return map[string]any{"$ref": "#/definitions/inner"} }
	text := map[string]any{"type": "string"}
	for name, test := range map[string]struct{ in, want any }{
		"a reference":      {reference(), text},
		"with a text":      {map[string]any{"description": "d", "allOf": []any{reference()}}, text},
		"of two":           {map[string]any{"allOf": []any{reference(), map[string]any{}}}, map[string]any{"allOf": []any{text, map[string]any{}}}},
		"in a list":        {[]any{reference(), "a"}, []any{text, "a"}},
		"empty defaults":   {map[string]any{"default": "", "items": map[string]any{"default": map[string]any{}}}, map[string]any{"items": map[string]any{}}},
		"another default":  {map[string]any{"default": "a"}, map[string]any{"default": "a"}},
		"metadata, opaque": {map[string]any{"$ref": "#/definitions/" + metav1.ObjectMeta{}.OpenAPIModelName()}, map[string]any{"type": "object"}},
	} {
		got, err := inline(definitions, test.in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got, err := inline(definitions, []any{map[string]any{"$ref": "#/definitions/other"}}); err == nil {
		t.Errorf("a reference to nothing is %v", got)
	}
}
