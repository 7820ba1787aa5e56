// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// roleSharedExtension is the prefix of the ClusterRoles of extension roles that all Projects share.
const roleSharedExtension = "gardener.cloud:extension:project-role:"

// desired returns the roles and bindings of a Project, roles before their bindings, in the mode that is configured.
func (r *reconciler) desired(project *gardenerv1beta1.Project) []client.Object {
	if r.byMembership {
		return desiredNamespacedRBAC(project)
	}
	return desiredRBAC(project)
}

// desiredNamespacedRBAC returns the RoleBindings of a Project whose members the API server knows. No cluster-scoped object exists for
// each Project: an extension role has one ClusterRole for all Projects, which is retained when no Project uses it.
func desiredNamespacedRBAC(project *gardenerv1beta1.Project) []client.Object {
	var objects []client.Object
	for _, role := range subjectsOf(project).extensionRoles() {
		objects = append(objects, sharedExtensionRole(role))
	}
	shared := map[string]string{}
	for _, role := range subjectsOf(project).extensionRoles() {
		shared[extensionRoleName(project, role)] = roleSharedExtension + role
	}
	for _, object := range desiredRBAC(project) {
		binding, ok := object.(*rbacv1.RoleBinding)
		if !ok {
			continue
		}
		if name, ok := shared[binding.Name]; ok {
			binding.RoleRef = clusterRoleRef(name)
		}
		objects = append(objects, binding)
	}
	return objects
}

// sharedExtensionRole returns the ClusterRole of an extension role for all Projects. Its label has no name, so that it is in the
// cache (CacheOptions) and of no Project.
func sharedExtensionRole(role string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{
			Name: roleSharedExtension + role,
			// An uninstallation deletes what has the second label.
			Labels: map[string]string{gardenerv1beta1.LabelProjectName: "", "app.kubernetes.io/part-of": "groundskeeper"},
		},
		AggregationRule: aggregatedExtension(role),
	}
}

// removeUnused deletes roles and bindings of the Project that are no longer desired: those of extension roles that no member has,
// and those that the other mode had created. The namespace is nil if the Project has no bindings in it.
func (p *pass) removeUnused(ctx context.Context, namespace *corev1.Namespace, desired []client.Object) error {
	if namespace != nil {
		revoked, err := p.revokeOthers(ctx, namespace, desired)
		if p.wrote += revoked; err != nil {
			return err
		}
	}
	removed, err := p.removeExtensionRoles(ctx, p.client, client.MatchingFields{extensionRoleIndex: p.project.Name}, p.project, desired)
	if p.wrote += removed; !p.byMembership {
		return err
	}
	rest := p.removeClusterRoles
	if !p.servers.membership {
		rest = p.followClusterRoles
	}
	more, moreErr := rest(ctx)
	p.wrote += more
	return errors.Join(err, moreErr)
}

// clusterRoles returns the ClusterRoles and ClusterRoleBindings that exist of those that are created for the Project where roles decide,
// and their desired states.
func (p *pass) clusterRoles(ctx context.Context) (roles, bindings []client.Object, desired map[client.Object]client.Object, err error) {
	desired = map[client.Object]client.Object{}
	for _, like := range desiredRBAC(p.project) {
		if like.GetNamespace() != "" {
			continue
		}
		current, err := p.get(ctx, p.bindingsReader(), like)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, nil, nil, fmt.Errorf("get %s: %w", describe(like), err)
		case !wasCreatedFor(p.project, current):
			continue
		}
		desired[current] = like
		if isBinding(current) {
			bindings = append(bindings, current)
		} else {
			roles = append(roles, current)
		}
	}
	return roles, bindings, desired, nil
}

// removeClusterRoles deletes the ClusterRoles and ClusterRoleBindings that were created for the Project, bindings before the roles
// that they bind, with the UID and the resource version in the cache as preconditions. What the API servers publish is read again before.
func (p *pass) removeClusterRoles(ctx context.Context) (int, error) {
	roles, bindings, _, err := p.clusterRoles(ctx)
	if err != nil || len(roles)+len(bindings) == 0 {
		return 0, err
	}
	if !p.reconciler.servers.check(ctx).membership {
		return 0, kit.ErrChanged
	}
	total := 0
	for _, objects := range [][]client.Object{bindings, roles} {
		removed, err := inParallel(objects, func(current client.Object) (bool, error) { return p.revoke(ctx, current) })
		if total += removed; err != nil {
			return total, err
		}
	}
	if total > 0 {
		log.FromContext(ctx).Info("Deleted the cluster roles and bindings of a project whose members the API server knows", "count", total)
	}
	return total, nil
}

// followClusterRoles updates the ClusterRoleBindings that the other mode had created while an API server may still need them: removed
// members lose their permissions.
func (p *pass) followClusterRoles(ctx context.Context) (int, error) {
	_, bindings, desired, err := p.clusterRoles(ctx)
	if err != nil {
		return 0, err
	}
	return inParallel(bindings, func(current client.Object) (bool, error) {
		return p.patch(ctx, current, merged(current, desired[current]))
	})
}
