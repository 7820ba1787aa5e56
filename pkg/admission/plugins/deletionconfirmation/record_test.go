// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deletionconfirmation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

const (
	confirm = "confirmation.gardener.cloud/deletion"
	by      = "deletion.gardener.cloud/confirmed-by"
)

// annotations are key, value, key, value.
func annotations(pairs ...string) map[string]string {
	var m map[string]string
	for i := 0; i < len(pairs); i += 2 {
		if m == nil {
			m = map[string]string{}
		}
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

// write returns a request of mallory: the object in place of the old one, or a new one.
func write(object, old runtime.Object, resource, subresource string) admission.Attributes {
	operation := admission.Update
	if old == nil {
		operation = admission.Create
	}
	gv := kubernikusv1.SchemeGroupVersion
	switch resource {
	case "projects":
		gv = gardenerv1beta1.SchemeGroupVersion
	case "discoverybackends":
		gv = gimbalv1.SchemeGroupVersion
	}
	return admission.NewAttributesRecord(object, old, gv.WithKind("Any"), "", "demo", gv.WithResource(resource), subresource,
		operation, nil, false, &user.DefaultInfo{Name: "mallory"})
}

func TestAdmitRecordsWhoConfirms(t *testing.T) {
	for _, tc := range []struct {
		name           string
		created        bool
		old, new, want map[string]string
	}{
		{"nothing, created", true, nil, nil, nil},
		{"created confirmed", true, nil, annotations(confirm, "true"), annotations(confirm, "true", by, "mallory")},
		{"created confirmed by another user", true, nil, annotations(confirm, "true", by, "alice"), annotations(confirm, "true", by, "mallory")},
		{"created with a record alone", true, nil, annotations(by, "alice", "a", "b"), annotations("a", "b")},
		{"nothing", false, nil, nil, nil},
		{"confirmed", false, nil, annotations(confirm, "true"), annotations(confirm, "true", by, "mallory")},
		{"confirmed by another user", false, nil, annotations(confirm, "true", by, "alice"), annotations(confirm, "true", by, "mallory")},
		{"a record alone", false, nil, annotations(by, "alice"), annotations()},
		{"a record in two steps, the first", false, annotations(by, "alice"), annotations(by, "alice", "a", "b"), annotations("a", "b")},
		{"confirmed after a record that should not be there", false, annotations(by, "alice"), annotations(confirm, "true", by, "alice"),
			annotations(confirm, "true", by, "mallory")},
		{"written again", false, annotations(confirm, "true", by, "alice"), annotations(confirm, "true", by, "alice"), annotations(confirm, "true", by, "alice")},
		{"forged", false, annotations(confirm, "true", by, "mallory"), annotations(confirm, "true", by, "alice"), annotations(confirm, "true", by, "mallory")},
		{"taken over", false, annotations(confirm, "true", by, "alice"), annotations(confirm, "true", by, "mallory"), annotations(confirm, "true", by, "alice")},
		{"replaced by a manifest that lacks the record", false, annotations(confirm, "true", by, "alice"), annotations(confirm, "true"),
			annotations(confirm, "true", by, "alice")},
		{"confirmed without a record", false, annotations(confirm, "true"), annotations(confirm, "true", by, "alice"), annotations(confirm, "true")},
		{"taken back", false, annotations(confirm, "true", by, "alice"), annotations(by, "alice"), annotations()},
		{"taken back by another value", false, annotations(confirm, "true", by, "alice"), annotations(confirm, "false", by, "alice"), annotations(confirm, "false")},
		{"no confirmation at all", false, annotations(confirm, "false"), annotations(confirm, "yes", by, "alice"), annotations(confirm, "yes")},
		{"confirmed again", false, annotations(confirm, "false"), annotations(confirm, "true"), annotations(confirm, "true", by, "mallory")},
	} {
		for resource, object := range map[string]func(map[string]string) runtime.Object{
			"projects": func(m map[string]string) runtime.Object {
				return &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Annotations: m}}
			},
			"klusters": func(m map[string]string) runtime.Object {
				return &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Annotations: m}}
			},
			"discoverybackends": func(m map[string]string) runtime.Object {
				return &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Annotations: m}}
			},
		} {
			t.Run(tc.name+", "+resource, func(t *testing.T) {
				next, old := object(clone(tc.new)), runtime.Object(nil)
				if !tc.created {
					old = object(clone(tc.old))
				}
				for range 2 { // a webhook that changes the object makes the server call the plugin again
					if err := New().Admit(t.Context(), write(next, old, resource, ""), nil); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(tc.want, next.(metav1.Object).GetAnnotations(), equateEmpty()); diff != "" {
						t.Fatalf("-want +got:\n%s", diff)
					}
				}
				if old != nil {
					if diff := cmp.Diff(tc.old, old.(metav1.Object).GetAnnotations()); diff != "" {
						t.Errorf("the old object changed (-want +got):\n%s", diff)
					}
				}
			})
		}
	}
}

func TestAdmitIgnoresOtherResources(t *testing.T) {
	forged := func() *kubernikusv1.Kluster {
		return &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Annotations: annotations(confirm, "true", by, "alice")}}
	}
	for name, request := range map[string]func(*kubernikusv1.Kluster) admission.Attributes{
		"the status, whose strategy puts annotations back": func(k *kubernikusv1.Kluster) admission.Attributes { return write(k, forged(), "klusters", "status") },
		"another resource": func(k *kubernikusv1.Kluster) admission.Attributes { return write(k, forged(), "others", "") },
	} {
		kluster := forged()
		if err := New().Admit(t.Context(), request(kluster), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(forged(), kluster); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := New().Admit(t.Context(), deletion(nil, "klusters", alice()), nil); err != nil {
		t.Errorf("a deletion: %v", err)
	}
}

func TestAdmitInvalidObject(t *testing.T) {
	kluster, list := &kubernikusv1.Kluster{}, &midonetv1.TranslationList{}
	for name, request := range map[string]admission.Attributes{
		"new": write(list, kluster, "klusters", ""), "old": write(kluster, list, "klusters", ""), "created": write(list, nil, "klusters", ""),
	} {
		if err := New().Admit(t.Context(), request, nil); !apierrors.IsInternalError(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
