// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package applied

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
	generatedopenapi "groundskeeper.io/groundskeeper/pkg/generated/openapi"
)

func kinds(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// own are the kinds of Groundskeeper and their resources.
var own = map[string]schema.GroupVersionKind{
	"projects":          {Group: "core.gardener.cloud", Version: "v1beta1", Kind: "Project"},
	"klusters":          {Group: "kubernikus.sap.cc", Version: "v1", Kind: "Kluster"},
	"translations":      {Group: "midonet.org", Version: "v1", Kind: "Translation"},
	"discoverybackends": {Group: "gimbal.heptio.com", Version: "v1", Kind: "DiscoveryBackend"},
}

// normalForm returns what the library gets of a manifest.
func normalForm(t *testing.T, manifest map[string]any, info *request.RequestInfo, get Get) map[string]any {
	t.Helper()
	body, err := yaml.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	normal, changed := normalized(t.Context(), body, info, kinds(t), get)
	if !changed {
		return manifest
	}
	var fields map[string]any
	if err := yaml.Unmarshal(normal, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

// empty returns the desired state of a schema in which every field has the zero value of its type.
func empty(definitions map[string]openapicommon.OpenAPIDefinition, s spec.Schema, path string) any {
	for _, part := range append(s.AllOf, s) {
		if ref := part.Ref.String(); ref != "" {
			if strings.HasPrefix(ref, "io.k8s.") { // a Duration, a time or a selector of apimachinery
				return nil
			}
			return empty(definitions, definitions[ref].Schema, path)
		}
	}
	switch {
	case s.Type.Contains("object") && len(s.Properties) > 0:
		fields := map[string]any{}
		for name, property := range s.Properties {
			if value := empty(definitions, property, path+"."+name); path+"."+name != ".status" && value != nil {
				fields[name] = value
			}
		}
		return fields
	case s.Type.Contains("object"):
		return map[string]any{}
	case s.Type.Contains("array"):
		return []any{}
	case s.Type.Contains("string"):
		return ""
	case s.Type.Contains("boolean"):
		return false
	}
	return int64(0)
}

func definitions() map[string]openapicommon.OpenAPIDefinition {
	return generatedopenapi.GetOpenAPIDefinitions(spec.MustCreateRef)
}

// TestEmptyValuesAreNotOwned checks for every field of every kind that a second manager who applies a manifest in which it is empty
// applies nothing that differs from what is stored: the library reports a conflict for each difference.
func TestEmptyValuesAreNotOwned(t *testing.T) {
	for resource, kind := range own {
		t.Run(resource, func(t *testing.T) {
			all := definitions()
			var definition spec.Schema
			for name, d := range all {
				if strings.HasSuffix(name, "."+kind.Kind) {
					definition = d.Schema
				}
			}
			manifest := empty(all, definition, "").(map[string]any)
			if len(manifest) < 3 {
				t.Fatalf("manifest = %v, want all fields of the desired state", manifest)
			}
			manifest["apiVersion"], manifest["kind"] = kind.GroupVersion().String(), kind.Kind
			manifest["metadata"] = map[string]any{"name": "a", "labels": map[string]any{}, "annotations": nil, "finalizers": []any{}}
			if kind.Kind == "Kluster" {
				pool := empty(all, all[poolDefinition(all)].Schema, "").(map[string]any)
				pool["name"] = "p"
				manifest["spec"].(map[string]any)["nodePools"] = []any{pool}
			}
			s := kinds(t)
			object, err := s.New(kind)
			if err != nil {
				t.Fatal(err)
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(manifest, object); err != nil {
				t.Fatal(err)
			}
			s.Default(object)
			stored, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
			if err != nil {
				t.Fatal(err)
			}
			info := &request.RequestInfo{Verb: "patch", APIGroup: kind.Group, Resource: resource, Name: "a"}
			second := normalForm(t, manifest, info, func(context.Context, *request.RequestInfo) (runtime.Object, error) { return object, nil })
			for _, path := range differences(nil, second, stored) {
				t.Errorf("%s: the second manager conflicts with the first", path)
			}
			first := normalForm(t, manifest, info, func(context.Context, *request.RequestInfo) (runtime.Object, error) {
				return nil, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: resource}, "a")
			})
			for _, path := range omissions(nil, first, stored) {
				t.Errorf("%s: the first manager owns what is not stored", path)
			}
		})
	}
}

func poolDefinition(all map[string]openapicommon.OpenAPIDefinition) string {
	for name := range all {
		if strings.HasSuffix(name, ".NodePool") {
			return name
		}
	}
	return ""
}

// differences returns the paths at which a manifest has other values than what is stored, as the library compares them.
func differences(path []string, manifest, stored any) []string {
	return walk(path, manifest, stored, func(value, now any, isStored bool) bool { return isStored && reflect.DeepEqual(value, now) })
}

// omissions returns the paths of a manifest that are not stored.
func omissions(path []string, manifest, stored any) []string {
	return walk(path, manifest, stored, func(_, _ any, isStored bool) bool { return isStored })
}

func walk(path []string, manifest, stored any, equal func(value, now any, isStored bool) bool) (paths []string) {
	fields, now := manifest.(map[string]any), stored.(map[string]any)
	for name, value := range fields {
		at := slices.Concat(path, []string{name})
		here, ok := now[name]
		below, nested := value.(map[string]any)
		switch _, isMap := here.(map[string]any); {
		case nested && isMap && len(below) > 0:
			paths = append(paths, walk(at, value, here, equal)...)
		case name == "nodePools" && ok:
			paths = append(paths, walk(at, value.([]any)[0], here.([]any)[0], equal)...)
		default:
			if nested && len(below) == 0 && isMap {
				continue // owns itself, and what is below it belongs to others
			}
			if !equal(number(value), number(here), ok) {
				paths = append(paths, strings.Join(at, "."))
			}
		}
	}
	return paths
}

// number returns integers as the numbers that they are equal to.
func number(value any) any {
	if integer, ok := value.(int64); ok {
		return float64(integer)
	}
	return value
}

// TestEmptyValuesThatReset checks that an empty value is applied where it changes something.
func TestEmptyValuesThatReset(t *testing.T) {
	const kluster = "apiVersion: kubernikus.sap.cc/v1\nkind: Kluster\n"
	for name, test := range map[string]struct{ stored, manifest, want string }{
		"what another manager set":    {"spec: {sshPublicKey: a}", `spec: {sshPublicKey: ""}`, `spec: {sshPublicKey: ""}`},
		"a flag":                      {"spec: {noCloud: true}", "spec: {noCloud: false}", "spec: {noCloud: false}"},
		"what is not set":             {"spec: {}", `spec: {sshPublicKey: "", noCloud: false}`, "spec: {}"},
		"a default":                   {`spec: {backup: "on"}`, `spec: {backup: ""}`, "spec: {}"},
		"another value than default":  {`spec: {backup: "off"}`, `spec: {backup: ""}`, `spec: {backup: ""}`},
		"a list":                      {"spec: {openstack: {absentServices: [Compute]}}", "spec: {openstack: {absentServices: []}}", "spec: {openstack: {absentServices: []}}"},
		"the taints of a pool":        {"spec: {nodePools: [{name: a, taints: [x]}]}", "spec: {nodePools: [{name: a, taints: []}]}", "spec: {nodePools: [{name: a, taints: []}]}"},
		"the taints of another pool":  {"spec: {nodePools: [{name: a, taints: [x]}, {name: b}]}", "spec: {nodePools: [{name: b, taints: []}]}", "spec: {nodePools: [{name: b}]}"},
		"a new pool":                  {"spec: {nodePools: [{name: a}]}", "spec: {nodePools: [{name: b, taints: [], size: 0}]}", "spec: {nodePools: [{name: b, size: 0}]}"},
		"labels":                      {"metadata: {labels: {a: b}}", "metadata: {labels: {}}", "metadata: {labels: {}}"},
		"a pointer is not empty":      {"spec: {dex: true}", "spec: {dex: false}", "spec: {dex: false}"},
		"null":                        {"spec: {}", "spec: {sshPublicKey: null}", "spec: {}"},
		"an unknown field":            {"spec: {}", `spec: {sshPublicKey: "", sshPublicKeys: ""}`, `spec: {sshPublicKey: "", sshPublicKeys: ""}`},
		"a value of another type":     {"spec: {}", `spec: {sshPublicKey: "", noCloud: ""}`, `spec: {sshPublicKey: "", noCloud: ""}`},
		"a default of an empty value": {"spec: {discovery: {enabled: true}}", "spec: {discovery: {enabled: false}}", "spec: {discovery: {enabled: false}}"},
	} {
		t.Run(name, func(t *testing.T) {
			fields := func(text string) (fields map[string]any) {
				if err := yaml.Unmarshal([]byte(kluster+text), &fields); err != nil {
					t.Fatal(err)
				}
				return fields
			}
			s := kinds(t)
			object, err := s.New(own["klusters"])
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(kluster+test.stored), object); err != nil {
				t.Fatal(err)
			}
			s.Default(object)
			info := &request.RequestInfo{Verb: "patch", APIGroup: "kubernikus.sap.cc", Resource: "klusters", Name: "a"}
			got := normalForm(t, fields(test.manifest), info, func(context.Context, *request.RequestInfo) (runtime.Object, error) { return object, nil })
			if diff := cmp.Diff(fields(test.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// Unknown is not absent: without the stored object, nothing is removed.
			got = normalForm(t, fields(test.manifest), info, func(context.Context, *request.RequestInfo) (runtime.Object, error) { return nil, errors.New("away") })
			if diff := cmp.Diff(fields(test.manifest), got); diff != "" {
				t.Errorf("while it cannot be read (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStoredSpelling checks that a value gets the form in which it is stored, if that is what is stored: an enum, a duration, or a list
// that is replaced as a whole, to whose elements the server adds fields.
func TestStoredSpelling(t *testing.T) {
	for name, test := range map[string]struct{ resource, stored, manifest, want string }{
		"a field that is always stored": {"translations", `{resources: [{kind: bridge, parent: "", body: a}]}`, "{resources: [{kind: bridge, body: a}]}", `{resources: [{kind: bridge, parent: "", body: a}]}`},
		"an enum":                       {"discoverybackends", "{cluster: {type: Kubernetes, drainGracePeriod: 1h}}", "{cluster: {type: KUBERNETES, drainGracePeriod: 60m}}", "{cluster: {type: kubernetes, drainGracePeriod: 1h0m0s}}"},
		"another enum":                  {"discoverybackends", "{cluster: {type: OpenStack}}", "{cluster: {type: KUBERNETES}}", "{cluster: {type: KUBERNETES}}"},
		"another list":                  {"translations", `{resources: [{kind: bridge, parent: "", body: b}]}`, "{resources: [{kind: bridge, body: a}]}", "{resources: [{kind: bridge, body: a}]}"},
		"a default": {"projects", "{spec: {dualApprovalForDeletion: [{resource: klusters, selector: {}, includeServiceAccounts: true}]}}",
			"{spec: {dualApprovalForDeletion: [{resource: klusters, selector: {}}]}}",
			"{spec: {dualApprovalForDeletion: [{resource: klusters, selector: {}, includeServiceAccounts: true}]}}"},
	} {
		t.Run(name, func(t *testing.T) {
			kind := own[test.resource]
			fields := func(text string) (fields map[string]any) {
				if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
					t.Fatal(err)
				}
				fields["apiVersion"], fields["kind"] = kind.GroupVersion().String(), kind.Kind
				return fields
			}
			object, err := kinds(t).New(kind)
			if err != nil {
				t.Fatal(err)
			}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields(test.stored), object); err != nil {
				t.Fatal(err)
			}
			kinds(t).Default(object)
			info := &request.RequestInfo{Verb: "patch", APIGroup: kind.Group, Resource: test.resource, Name: "a"}
			got := normalForm(t, fields(test.manifest), info, func(context.Context, *request.RequestInfo) (runtime.Object, error) { return object, nil })
			if diff := cmp.Diff(fields(test.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestElementKeys checks that the lists that are merged by a key are those of the API.
func TestElementKeys(t *testing.T) {
	found := map[string]string{}
	for name, definition := range definitions() {
		if strings.HasPrefix(name, "io.k8s.") || strings.Contains(name, "Status") {
			continue
		}
		for field, property := range definition.Schema.Properties {
			if keys, ok := property.Extensions["x-kubernetes-list-map-keys"].([]any); ok {
				found[field] = keys[0].(string)
			}
		}
	}
	if diff := cmp.Diff(elementKeys, found); diff != "" {
		t.Errorf("(-code +API):\n%s", diff)
	}
}
