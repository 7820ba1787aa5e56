// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

func mergePatch(body string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(body)) }

// allowedKlusters lets users do everything with the Klusters of a namespace, and waits until Groundskeeper's servers know.
func allowedKlusters(t *testing.T, namespace string, users ...string) {
	t.Helper()
	role := name(t, "klusters")
	inTheCluster(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{kubernikusv1.GroupName}, Resources: []string{"klusters", "klusters/status"}, Verbs: []string{"*"},
	}}})
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role}}
	for _, user := range users {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user})
	}
	inTheCluster(t, binding)
	for _, user := range users {
		eventually(t, func(ctx context.Context) error {
			return toList(&kubernikusv1.KlusterList{}, namespace)(ctx, as(t, user))
		})
	}
}

// forgery is a request with which mallory pretends that alice confirmed a deletion.
type forgery func(t *testing.T, c client.Client, typed versioned.Interface, kluster *kubernikusv1.Kluster) error

func forgeries() map[string]forgery {
	const both = `{"confirmation.gardener.cloud/deletion":"true","deletion.gardener.cloud/confirmed-by":"alice"}`
	forged := func(kluster *kubernikusv1.Kluster) *kubernikusv1.Kluster {
		kluster.Annotations = map[string]string{confirmation: "true", confirmedBy: "alice"}
		return kluster
	}
	patch := func(kind types.PatchType, body string, options ...client.PatchOption) forgery {
		return func(t *testing.T, c client.Client, _ versioned.Interface, kluster *kubernikusv1.Kluster) error {
			return c.Patch(t.Context(), kluster, client.RawPatch(kind, []byte(body)), options...)
		}
	}
	return map[string]forgery{
		"update": func(t *testing.T, c client.Client, _ versioned.Interface, kluster *kubernikusv1.Kluster) error {
			return c.Update(t.Context(), forged(kluster))
		},
		"update in protobuf": func(t *testing.T, _ client.Client, typed versioned.Interface, kluster *kubernikusv1.Kluster) error {
			_, err := typed.KubernikusV1().Klusters(kluster.Namespace).Update(t.Context(), forged(kluster), metav1.UpdateOptions{})
			return err
		},
		"merge patch": patch(types.MergePatchType, `{"metadata":{"annotations":`+both+`}}`),
		"JSON patch":  patch(types.JSONPatchType, `[{"op":"add","path":"/metadata/annotations","value":`+both+`}]`),
		"JSON patch of the record": patch(types.JSONPatchType, `[{"op":"add","path":"/metadata/annotations","value":{}},
			{"op":"add","path":"/metadata/annotations/deletion.gardener.cloud~1confirmed-by","value":"alice"},
			{"op":"add","path":"/metadata/annotations/confirmation.gardener.cloud~1deletion","value":"true"}]`),
		"server-side apply": func(t *testing.T, c client.Client, typed versioned.Interface, kluster *kubernikusv1.Kluster) error {
			body := fmt.Sprintf(`{"apiVersion":"kubernikus.sap.cc/v1","kind":"Kluster","metadata":{"name":%q,"namespace":%q,"annotations":%s}}`, kluster.Name, kluster.Namespace, both)
			return patch(types.ApplyPatchType, body, client.ForceOwnership, client.FieldOwner("mallory"))(t, c, typed, kluster)
		},
		"the record first": func(t *testing.T, c client.Client, _ versioned.Interface, kluster *kubernikusv1.Kluster) error {
			if err := c.Patch(t.Context(), kluster, mergePatch(`{"metadata":{"annotations":{"deletion.gardener.cloud/confirmed-by":"alice"}}}`)); err != nil {
				return err
			}
			return c.Patch(t.Context(), kluster, mergePatch(`{"metadata":{"annotations":{"confirmation.gardener.cloud/deletion":"true"}}}`))
		},
		"the record afterwards": func(t *testing.T, c client.Client, _ versioned.Interface, kluster *kubernikusv1.Kluster) error {
			if err := confirm(t.Context(), c, kluster); err != nil {
				return err
			}
			return c.Patch(t.Context(), kluster, mergePatch(`{"metadata":{"annotations":{"deletion.gardener.cloud/confirmed-by":"alice"}}}`))
		},
		"the record removed afterwards": func(t *testing.T, c client.Client, _ versioned.Interface, kluster *kubernikusv1.Kluster) error {
			if err := confirm(t.Context(), c, kluster); err != nil {
				return err
			}
			return c.Patch(t.Context(), kluster, mergePatch(`{"metadata":{"annotations":{"deletion.gardener.cloud/confirmed-by":null}}}`))
		},
		"the status": func(t *testing.T, c client.Client, _ versioned.Interface, kluster *kubernikusv1.Kluster) error {
			if err := confirm(t.Context(), c, kluster); err != nil {
				return err
			}
			return c.Status().Patch(t.Context(), kluster, mergePatch(`{"metadata":{"annotations":`+both+`},"status":{"phase":"Running"}}`))
		},
		"creation": func(t *testing.T, c client.Client, _ versioned.Interface, kluster *kubernikusv1.Kluster) error {
			kluster.Name += "2"
			kluster.ObjectMeta = metav1.ObjectMeta{Namespace: kluster.Namespace, Name: kluster.Name}
			return c.Create(t.Context(), forged(kluster))
		},
	}
}

// TestConfirmationCannotBeForged checks that the recorded user of a confirmation is the authenticated one, whatever the request
// contains.
func TestConfirmationCannotBeForged(t *testing.T) {
	t.Parallel()
	namespace, mallory := freshNamespace(t, "forged"), name(t, "mallory")
	allowedKlusters(t, namespace, mallory)
	for how, forge := range forgeries() {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			kluster := klusterIn(namespace, name(t, "k"), "1.36.3")
			if err := admin(t).Create(t.Context(), kluster); err != nil {
				t.Fatal(err)
			}
			if err := forge(t, as(t, mallory), protobufAs(t, mallory), kluster); err != nil {
				t.Fatal(err)
			}
			if get(t, kluster); kluster.Annotations[confirmedBy] != mallory || kluster.Annotations[confirmation] != "true" {
				t.Errorf("annotations %v", kluster.Annotations)
			}
		})
	}
	// A confirmation by another user keeps that user's record, and removing a confirmation removes its record.
	kluster := klusterIn(namespace, "theirs", "1.36.3")
	accepted(t, admin(t).Create(t.Context(), kluster))
	accepted(t, confirm(t.Context(), admin(t), kluster))
	c := as(t, mallory)
	replaced := klusterIn(namespace, "theirs", "1.36.3")
	replaced.Spec.Name, replaced.Annotations = kluster.Spec.Name, map[string]string{confirmation: "true"}
	accepted(t, c.Update(t.Context(), replaced))
	if replaced.Annotations[confirmedBy] != "admin" {
		t.Errorf("after a replaced manifest: %v", replaced.Annotations)
	}
	accepted(t, withoutConfirmation(t, c, kluster))
	if get(t, kluster); len(kluster.Annotations) > 0 {
		t.Errorf("taken back: %v", kluster.Annotations)
	}
}
