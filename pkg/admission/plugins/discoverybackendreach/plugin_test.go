// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package discoverybackendreach

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

func attributes(object runtime.Object, namespace, resource, subresource string, operation admission.Operation) admission.Attributes {
	return admission.NewAttributesRecord(object, nil, gimbalv1.SchemeGroupVersion.WithKind("DiscoveryBackend"), namespace, "east",
		gimbalv1.SchemeGroupVersion.WithResource(resource), subresource, operation, nil, false, nil)
}

func TestAdmit(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace, resource, subresource string
		operation                        admission.Operation
		admins, allow, want              []string
	}{
		"everything, elsewhere":     {namespace: "shop", operation: admission.Create, want: []string{"shop"}},
		"others, elsewhere":         {namespace: "shop", operation: admission.Create, allow: []string{"kube-system", "shop"}, want: []string{"shop"}},
		"changed later, elsewhere":  {namespace: "shop", operation: admission.Update, allow: []string{"bank"}, want: []string{"shop"}},
		"its own, elsewhere":        {namespace: "shop", operation: admission.Update, allow: []string{"shop"}, want: []string{"shop"}},
		"everything, of admins":     {namespace: "gimbal-discovery", operation: admission.Create},
		"some, of admins":           {namespace: "gimbal-discovery", operation: admission.Update, allow: []string{"bank"}, want: []string{"bank"}},
		"a start of an admin's":     {namespace: "gimbal", operation: admission.Create, want: []string{"gimbal"}},
		"without admins":            {namespace: "gimbal-discovery", operation: admission.Create, admins: []string{}, want: []string{"gimbal-discovery"}},
		"a status is left alone":    {namespace: "shop", subresource: "status", operation: admission.Update, allow: []string{"bank"}, want: []string{"bank"}},
		"another resource is, too.": {namespace: "shop", resource: "others", operation: admission.Create, allow: []string{"bank"}, want: []string{"bank"}},
	} {
		t.Run(name, func(t *testing.T) {
			plugin := New()
			if tc.admins == nil {
				tc.admins = []string{"gimbal-discovery"}
			}
			plugin.SetDiscoveryAdminNamespaces(tc.admins)
			if tc.resource == "" {
				tc.resource = "discoverybackends"
			}
			// The namespace of the request counts: that in the object is not checked yet.
			backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal-discovery"}}
			backend.Cluster.Namespaces.Allow = tc.allow
			for range 2 {
				if err := plugin.Admit(t.Context(), attributes(backend, tc.namespace, tc.resource, tc.subresource, tc.operation), nil); err != nil {
					t.Fatal(err)
				}
				if got := backend.Cluster.Namespaces.Allow; !slices.Equal(got, tc.want) {
					t.Errorf("allowed: %q, want %q", got, tc.want)
				}
			}
		})
	}
	plugin := New()
	if plugin.Handles(admission.Delete) || !plugin.Handles(admission.Create) || !plugin.Handles(admission.Update) {
		t.Error("it does not see creations and updates alone")
	}
	if err := plugin.Admit(t.Context(), attributes(&gardenerv1beta1.Project{}, "shop", "discoverybackends", "", admission.Create), nil); err == nil {
		t.Error("another object is no error")
	}
}

// warnings records what a client is warned of.
type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// A request with other namespaces gets a warning that they are not reached; one with none or only its own does not.
func TestWarning(t *testing.T) {
	for allow, want := range map[string]int{"": 0, "team": 0, "kube-system": 1} {
		backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "us"}}
		if allow != "" {
			backend.Cluster.Namespaces.Allow = []string{allow}
		}
		plugin := New()
		plugin.SetDiscoveryAdminNamespaces([]string{"gimbal-discovery"})
		var got warnings
		if err := plugin.Admit(warning.WithWarningRecorder(t.Context(), &got), attributes(backend, "team", "discoverybackends", "", admission.Create), nil); err != nil {
			t.Fatal(err)
		}
		if len(got) != want || !slices.Equal(backend.Cluster.Namespaces.Allow, []string{"team"}) {
			t.Errorf("allow %q: warnings %q, allowed %q", allow, got, backend.Cluster.Namespaces.Allow)
		}
	}
}
