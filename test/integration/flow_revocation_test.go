// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// TestRevocationCannotBePrevented checks that an admin of a Project, who is allowed to change the metadata of its bindings, cannot keep
// his permissions with it.
func TestRevocationCannotBePrevented(t *testing.T) {
	t.Parallel()
	ways := map[string]string{
		"with a finalizer":                   `{"metadata":{"finalizers":["example.com/hold"]}}`,
		"without its marks":                  `{"metadata":{"labels":null,"annotations":null}}`,
		"with a finalizer, without its mark": `{"metadata":{"finalizers":["example.com/hold"],"annotations":{"groundskeeper.io/project-uid":"another"}}}`,
	}
	for way, patch := range ways {
		for what, revoke := range revocations() {
			t.Run(what+", "+way, func(t *testing.T) {
				t.Parallel()
				r := newRevocation(t, patch)
				revoke(t, r.project)
				eventually(t, func(ctx context.Context) error {
					return isRevoked(ctx, admin(t), as(t, "mallory"), r.project.NamespaceName())
				})
			})
		}
	}
}

// revocations returns what takes the permissions of the members away.
func revocations() map[string]func(*testing.T, *gardenerv1beta1.Project) {
	return map[string]func(*testing.T, *gardenerv1beta1.Project){
		"removed": func(t *testing.T, project *gardenerv1beta1.Project) {
			change(t, project, func(p *gardenerv1beta1.Project) { p.Spec.Members = p.Spec.Members[:1] })
			ready(t, project)
			// The condition is no promise for later.
			bindings := &rbacv1.RoleBindingList{}
			if err := admin(t).List(t.Context(), bindings, client.InNamespace(project.NamespaceName())); err != nil {
				t.Fatal(err)
			}
			for _, binding := range bindings.Items {
				for _, subject := range binding.Subjects {
					if subject.Name == "mallory" {
						t.Errorf("the project is ready at its generation, but role binding %s has the former member", binding.Name)
					}
				}
			}
		},
		"the namespace is taken back": func(t *testing.T, project *gardenerv1beta1.Project) {
			change(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}}, func(ns *corev1.Namespace) {
				delete(ns.Labels, gardenerv1beta1.LabelProjectName)
				delete(ns.Labels, gardenerv1beta1.LabelRole)
			})
		},
		"the namespace is kept": func(t *testing.T, project *gardenerv1beta1.Project) {
			mustRemove(t, project)
			absent(t, project)
		},
	}
}

// revocation is a Project with an adopted namespace whose admin has changed the metadata of its bindings.
type revocation struct {
	project   *gardenerv1beta1.Project
	extension string
}

func newRevocation(t *testing.T, patch string) revocation {
	t.Helper()
	r := revocation{extension: name(t, "p")}
	part := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name(t, "part-"), Labels: map[string]string{"rbac.gardener.cloud/aggregate-to-extension-role": r.extension}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"example.com"}, Resources: []string{"powers"}, Verbs: []string{"list"}}},
	}
	project := name(t, "revoke")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-" + project, Labels: projectLabels(project)}}
	newNamespace(t, namespace)
	r.project = &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: project}, Spec: gardenerv1beta1.ProjectSpec{
		Namespace: &namespace.Name, Members: []gardenerv1beta1.ProjectMember{olivia(), member("User", "mallory", "admin", "extension:"+r.extension)},
	}}
	for _, object := range []client.Object{part, r.project} {
		if err := admin(t).Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	ready(t, r.project)
	mallory := as(t, "mallory")
	for _, name := range []string{"gardener.cloud:extension:project:" + project + ":" + r.extension, "gardener.cloud:system:project-member"} {
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: name}}
		eventually(t, func(ctx context.Context) error {
			return mallory.Patch(ctx, binding, client.RawPatch(types.MergePatchType, []byte(patch)))
		})
		t.Cleanup(func() {
			// The objects of the plane are not deleted, but a deletion would wait for it.
			free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			_ = clientOf(t, shared.Config()).Patch(context.WithoutCancel(t.Context()), binding, free)
		})
	}
	return r
}

// isRevoked complains while a binding in the namespace has the member, or the permissions of one.
func isRevoked(ctx context.Context, c, mallory client.Client, namespace string) error {
	bindings := &rbacv1.RoleBindingList{}
	if err := c.List(ctx, bindings, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, binding := range bindings.Items {
		for _, subject := range binding.Subjects {
			if subject.Name == "mallory" {
				return fmt.Errorf("role binding %s has the former member", binding.Name)
			}
		}
	}
	if err := mallory.List(ctx, &corev1.SecretList{}, client.InNamespace(namespace)); !apierrors.IsForbidden(err) {
		return fmt.Errorf("the former member lists Secrets: error %w, want Forbidden", err)
	}
	return nil
}
