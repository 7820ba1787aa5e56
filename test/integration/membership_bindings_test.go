// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// testBindings checks that an admin keeps no permissions by what he does to the bindings of a Project while no controller manager runs,
// whatever takes them from him meanwhile.
func (p *membershipPlane) testBindings(t *testing.T) {
	members := []gardenerv1beta1.ProjectMember{olivia(), member("User", "mallory", "admin", "extension:deploy")}
	project := func() (*gardenerv1beta1.Project, *corev1.Namespace) {
		created := p.create(t, "bindings-", gardenerv1beta1.ProjectSpec{Members: members})
		return created, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: created.NamespaceName()}}
	}
	removed, _ := project()
	back, namespace := project()
	kept, retained := project()
	keep := mergePatch(`{"metadata":{"annotations":{"namespace.gardener.cloud/keep-after-project-deletion":"true"}}}`)
	accepted(t, p.client.Patch(t.Context(), retained, keep))
	projects := []*gardenerv1beta1.Project{removed, back, kept}

	accepted(t, p.Managers[0].Terminate(t.Context()))
	mallory := impersonating(t, p.Config(), identity{name: "mallory"})
	for _, project := range projects {
		for _, name := range []string{"gardener.cloud:system:project-member", "gardener.cloud:extension:project:" + project.Name + ":deploy"} {
			binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: project.NamespaceName(), Name: name}}
			eventually(t, func(ctx context.Context) error { return mallory.Patch(ctx, binding, mergePatch(holds)) })
		}
	}
	p.setMembers(t, removed, members[:1])
	takeBack := mergePatch(`{"metadata":{"labels":{"gardener.cloud/role":null,"project.gardener.cloud/name":null}}}`)
	accepted(t, errors.Join(
		p.client.Patch(t.Context(), namespace, takeBack),
		remove(t.Context(), p.client, kept),
		p.Managers[0].Start(t.Context())))
	for _, project := range projects {
		eventually(t, func(ctx context.Context) error { return isRevoked(ctx, p.client, mallory, project.NamespaceName()) })
	}
	eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, p.client, kept) })
}
