// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// desired returns the roles and bindings of the Project, roles before their bindings, in the configured mode.
func (x *execution) desired() []client.Object {
	if x.byMembership {
		return desiredNamespacedRBAC(x.project)
	}
	return desiredRBAC(x.project)
}

// roles is what a reconciliation did for the members of a Project.
type roles struct {
	// ensured is set if bindings may have been created.
	ensured bool
	err     error
}

// followMembers updates the roles and bindings of a Project with its members in every phase in which it is not completely
// provisioned: a user who was removed from spec.members must not retain a role because another step is blocked.
func (x *execution) followMembers(ctx context.Context) roles {
	namespace, err := getNamespace(ctx, x.client, x.project)
	if err != nil {
		return roles{err: err}
	}
	desired, mode := x.desired(), decideMembers(x.project, namespace)
	if mode == withdrawBindings {
		err = x.withdrawBindings(ctx)
		namespace = nil
		withoutNamespaceRules(desired)
	}
	if namespace == nil {
		desired = clusterScoped(desired)
	}
	return roles{mode == createObjects, errors.Join(x.reconcileRoles(ctx, desired, namespace, mode), err)}
}

// withdrawBindings revokes the bindings of the Project in a namespace that does not belong to it. The API server is queried
// before: a stale cache must not revoke the roles of members.
func (x *execution) withdrawBindings(ctx context.Context) error {
	live, err := getNamespace(ctx, x.live, x.project)
	switch {
	case err != nil:
		return err
	case live == nil || !isTakenBack(x.project, live):
		return kit.ErrChanged
	}
	return x.revokeUnused(ctx, live, nil)
}

// reconcileRoles writes roles and bindings, and deletes those of the Project that are no longer desired: those of extension roles that no
// member has, and those that the other mode had created. The namespace is nil if it has no bindings that could be unused.
func (x *execution) reconcileRoles(ctx context.Context, desired []client.Object, namespace *corev1.Namespace, mode mode) error {
	err := inParallel(len(desired), func(i int) error { return x.write(ctx, desired[i], mode) })
	if namespace != nil {
		if revokeErr := x.revokeUnused(ctx, namespace, desired); revokeErr != nil {
			return errors.Join(err, revokeErr)
		}
	}
	err = errors.Join(err, x.removeExtensionRoles(ctx, x.client, client.MatchingFields{extensionRoleIndex: x.project.Name}, desired))
	if x.byMembership {
		err = errors.Join(err, x.removeClusterRoles(ctx))
	}
	return err
}

// revokeUnused revokes the bindings of the Project in a namespace, except those that are desired.
func (x *execution) revokeUnused(ctx context.Context, namespace *corev1.Namespace, desired []client.Object) error {
	unused, err := x.unusedBindings(ctx, namespace, desired)
	if err != nil {
		return err
	}
	return inParallel(len(unused), func(i int) error {
		log.FromContext(ctx).Info("Revoking a role binding that the project does not need", "object", describe(unused[i]))
		return x.revoke(ctx, unused[i])
	})
}

// removeExtensionRoles deletes the ClusterRoles of extension roles that no member has any more. They are read from a cache or from the
// API server, in which an option selects those of the Project.
func (x *execution) removeExtensionRoles(ctx context.Context, from client.Reader, own client.ListOption, desired []client.Object) error {
	unused, err := x.unusedExtensionRoles(ctx, from, own, desired)
	for _, role := range unused {
		if err := x.remove(ctx, role); errors.Is(err, kit.ErrChanged) {
			continue // deleted concurrently, or the cache is stale
		} else if err != nil {
			return err
		}
		log.FromContext(ctx).Info("Deleted an unused extension role", "object", describe(role))
	}
	return err
}

// removeClusterRoles deletes the ClusterRoles and ClusterRoleBindings that the other mode had created for the Project. While an API
// server may still need them it only updates the bindings: removed members lose their permissions. What the API servers publish is read
// again before a deletion.
func (x *execution) removeClusterRoles(ctx context.Context) error {
	desired := clusterScoped(desiredRBAC(x.project))
	found, err := x.createdFor(ctx, x.bindingsReader(), desired)
	switch {
	case err != nil:
		return err
	case !x.servers.membership:
		return inParallel(len(found), func(i int) error {
			if !isBinding(found[i]) {
				return nil
			}
			return x.patch(ctx, found[i], merged(found[i], desired[i]))
		})
	case !slices.ContainsFunc(found, func(object client.Object) bool { return object != nil }):
		return nil
	case !x.reconciler.servers.check(ctx).membership:
		return kit.ErrChanged
	}
	before := x.wrote.Load()
	if err := x.revokeAll(ctx, found); err != nil {
		return err
	}
	if count := x.wrote.Load() - before; count > 0 {
		log.FromContext(ctx).Info("Deleted the cluster roles and bindings of a project whose members the API server knows", "count", count)
	}
	return nil
}

// removeOwned deletes the roles, bindings and the quota of a Project. Objects in a deleted namespace have been deleted with it.
func (x *execution) removeOwned(ctx context.Context) error {
	namespace, err := getNamespace(ctx, x.live, x.project)
	if err == nil && namespace != nil {
		err = x.revokeUnused(ctx, namespace, nil)
	}
	if err != nil {
		return err
	}
	// The cache may not have those of a role that was added and removed a moment ago, and no later reconciliation would find them.
	if err := x.removeExtensionRoles(ctx, lists.Complete(x.live), client.MatchingLabels(extensionLabels(x.project)), nil); err != nil {
		return err
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceName(x.project), Name: quotaName}}
	found, err := x.createdFor(ctx, x.live, append(clusterScoped(desiredRBAC(x.project)), quota))
	if err != nil {
		return err
	}
	return x.revokeAll(ctx, found)
}

// revokeAll deletes objects of a Project, bindings before the roles that they bind. It ignores nil.
func (x *execution) revokeAll(ctx context.Context, objects []client.Object) error {
	for _, roles := range []bool{false, true} {
		err := inParallel(len(objects), func(i int) error {
			if _, isRole := objects[i].(*rbacv1.ClusterRole); objects[i] == nil || isRole != roles {
				return nil
			}
			return x.revoke(ctx, objects[i])
		})
		if err != nil {
			return err
		}
	}
	return nil
}
