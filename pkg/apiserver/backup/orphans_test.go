// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"slices"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/orphans"
	"groundskeeper.io/groundskeeper/test/support/clienttest"
)

// TestRemoveBindings checks that exactly the bindings of the missing Project are deleted, in the version that was read, and none when
// its namespace is no orphan any more.
func TestRemoveBindings(t *testing.T) {
	const role = "gardener.cloud:system:project-member"
	meta := func(namespace, name, uid string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid-of-binding",
			Labels: map[string]string{gardenerv1beta1.LabelProjectName: "shop"}, Annotations: map[string]string{gardenerv1beta1.AnnotationCreatedForProject: uid}}
	}
	ref := func(name string) rbacv1.RoleRef { return rbacv1.RoleRef{Kind: "ClusterRole", Name: name} }
	namespace := func(uid string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-shop", Labels: map[string]string{gardenerv1beta1.LabelProjectName: "shop"},
			Annotations: map[string]string{gardenerv1beta1.AnnotationProjectUID: uid}}}
	}
	bindings := []runtime.Object{
		&rbacv1.RoleBinding{ObjectMeta: meta("garden-shop", role, "1"), RoleRef: ref(role)},
		&rbacv1.RoleBinding{ObjectMeta: meta("garden-shop", "operators", "1"), RoleRef: ref("view")},
		&rbacv1.RoleBinding{ObjectMeta: meta("garden-other", role, "1"), RoleRef: ref(role)},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-shop", Name: role + "-relabelled", UID: "uid-of-binding"}, RoleRef: ref(role + "-relabelled")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", role+":another", "2"), RoleRef: ref(role + ":another")},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", role+":shop", "1"), RoleRef: ref(role + ":shop")},
	}
	versions := map[string]string{role: "1", role + "-relabelled": "4", role + ":shop": "6"} // which the server gives them, one after the other
	orphan := orphans.Orphan{Namespace: "garden-shop", Project: "shop", UID: "1"}
	for _, test := range []struct {
		name    string
		objects []runtime.Object
		stored  []Object
		want    []string
	}{
		{"orphan", []runtime.Object{namespace("1")}, nil, []string{role, role + "-relabelled", role + ":shop"}},
		{"deleted meanwhile", nil, nil, nil},
		{"adopted meanwhile", []runtime.Object{namespace("3")}, nil, nil},
		{"its Project is in the backup", []runtime.Object{namespace("1")}, []Object{projectObject("shop", "1")}, nil},
		{"another Project of its name is in the backup", []runtime.Object{namespace("1")}, []Object{projectObject("shop", "2")}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			cluster := allowing(t, true, append(slices.Clone(bindings), test.objects...)...)
			removed, err := RemoveBindings(t.Context(), cluster, orphan, test.stored)
			if err != nil || len(removed) != len(test.want) {
				t.Errorf("removed = %v, %v, want %q", removed, err, test.want)
			}
			var deleted, emptied []string
			for _, action := range cluster.Actions() {
				switch a := action.(type) {
				case clienttesting.PatchActionImpl:
					want := `{"metadata":{"uid":"uid-of-binding","resourceVersion":"` + versions[a.Name] + `"},"subjects":null}`
					if got := string(a.Patch); got != want {
						t.Errorf("patch of %s = %s, want %s", a.Name, got, want)
					}
					emptied = append(emptied, a.Name)
				case clienttesting.DeleteActionImpl:
					deleted = append(deleted, a.Name)
					if p := a.DeleteOptions.Preconditions; p == nil || p.UID == nil || *p.UID != "uid-of-binding" || !slices.Equal(emptied, deleted) {
						t.Errorf("%s was deleted with preconditions %v after %q had no subjects, want its uid, and that it had none", a.Name, p, emptied)
					}
				}
			}
			if !slices.Equal(deleted, test.want) {
				t.Errorf("deleted = %q, want %q", deleted, test.want)
			}
		})
	}
	t.Run("not allowed", func(t *testing.T) {
		cluster := allowing(t, false, append(slices.Clone(bindings), namespace("1"))...)
		if removed, err := RemoveBindings(t.Context(), cluster, orphan, nil); err == nil || len(removed) > 0 {
			t.Errorf("removed = %v, %v, want none, and the error", removed, err)
		}
	})
}

// allowing returns a cluster that allows to list bindings, or does not.
func allowing(t *testing.T, allowed bool, objects ...runtime.Object) *fake.Clientset {
	t.Helper()
	cluster := clienttest.NewStrict(t, objects...)
	cluster.PrependReactor("create", "selfsubjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authorizationv1.SelfSubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: allowed}}, nil
	})
	return cluster
}
