// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package orphans

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

func TestOf(t *testing.T) {
	namespace := func(change func(*corev1.Namespace)) *corev1.Namespace {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-shop",
			Labels:      map[string]string{gardenerv1beta1.LabelProjectName: "shop"},
			Annotations: map[string]string{gardenerv1beta1.AnnotationProjectUID: "1"}}}
		if change != nil {
			change(n)
		}
		return n
	}
	for _, test := range []struct {
		name      string
		namespace *corev1.Namespace
		projects  map[string]types.UID
		want      bool
		reports   string
	}{
		{"its Project exists", namespace(nil), map[string]types.UID{"shop": "1"}, false, ""},
		{"its Project is missing", namespace(nil), map[string]types.UID{"other": "1"}, true, "create Project shop with spec.namespace garden-shop"},
		{"another Project of its name", namespace(nil), map[string]types.UID{"shop": "2"}, true, "has uid 2. Let it adopt the namespace: kubectl annotate namespace garden-shop namespace.gardener.cloud/project-"},
		{"not claimed", namespace(func(n *corev1.Namespace) { n.Annotations = nil }), nil, false, ""},
		{"of no Project", namespace(func(n *corev1.Namespace) { n.Labels = nil }), nil, false, ""},
		{"being deleted", namespace(func(n *corev1.Namespace) { n.DeletionTimestamp = new(metav1.Now()) }), nil, false, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := Of(test.namespace, test.projects)
			if ok != test.want || ok && !strings.Contains(got.String(), test.reports) {
				t.Errorf("orphan = %t, %q, want %t, with %q", ok, got, test.want, test.reports)
			}
		})
	}
}

func TestIsGranted(t *testing.T) {
	const name = "gardener.cloud:system:project-member"
	for _, test := range []struct {
		name   string
		orphan Orphan
		change func(*rbacv1.RoleBinding)
		want   bool
	}{
		{"of the Project", Orphan{Project: "shop", UID: "1"}, func(*rbacv1.RoleBinding) {}, true},
		{"of a Project with another uid", Orphan{Project: "shop", UID: "2"}, func(*rbacv1.RoleBinding) {}, false},
		{"of another Project", Orphan{Project: "other", UID: "1"}, func(*rbacv1.RoleBinding) {}, false},
		{"of no Project", Orphan{Project: "shop"}, func(b *rbacv1.RoleBinding) { b.Annotations = nil }, false},
		{"not annotated", Orphan{Project: "shop", UID: "1"}, func(b *rbacv1.RoleBinding) { b.Annotations = nil }, false},
		{"in the namespace, changed by a member", Orphan{Namespace: "garden-shop", Project: "shop", UID: "1"}, func(b *rbacv1.RoleBinding) {
			b.Namespace, b.Annotations, b.Labels = "garden-shop", nil, nil
		}, true},
		{"in another namespace", Orphan{Namespace: "garden-shop", Project: "shop", UID: "1"}, func(b *rbacv1.RoleBinding) { b.Namespace = "garden-other" }, false},
		{"of others, annotated by a member", Orphan{Project: "shop", UID: "1"}, func(b *rbacv1.RoleBinding) { b.Name = "operators" }, false},
		{"of others, named after its role", Orphan{Project: "shop", UID: "1"}, func(b *rbacv1.RoleBinding) { b.Name, b.RoleRef.Name = "view", "view" }, false},
		{"of a Role", Orphan{Project: "shop", UID: "1"}, func(b *rbacv1.RoleBinding) { b.RoleRef.Kind = "Role" }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{gardenerv1beta1.LabelProjectName: "shop"},
				Annotations: map[string]string{gardenerv1beta1.AnnotationCreatedForProject: "1"}}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: name}}
			test.change(binding)
			if got := test.orphan.IsGranted(binding, binding.RoleRef); got != test.want {
				t.Errorf("granted = %t, want %t", got, test.want)
			}
		})
	}
}
