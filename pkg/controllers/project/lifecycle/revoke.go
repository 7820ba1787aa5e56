// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// revoke takes the permissions of a binding away, and deletes it. A deletion alone revokes nothing while the binding has a finalizer,
// which members with access to bindings may add. It reports whether it wrote.
func (r *reconciler) revoke(ctx context.Context, binding client.Object) (bool, error) {
	current := withoutSubjects(binding)
	wrote, err := r.patch(ctx, binding, current, client.DisableReadYourWritesConsistency)
	if err != nil || !current.GetDeletionTimestamp().IsZero() {
		return wrote, err
	}
	return true, r.remove(ctx, current)
}

// replace revokes a binding of another role, and creates it with the desired one.
func (r *reconciler) replace(ctx context.Context, current, desired client.Object) (bool, error) {
	wrote, err := r.revoke(ctx, current)
	if err != nil {
		return wrote, err
	}
	if finalizers := current.GetFinalizers(); len(finalizers) > 0 {
		return wrote, fmt.Errorf("%s binds another role, and is deleted when its finalizers are removed: %s",
			describe(current), strings.Join(finalizers, ", "))
	}
	return true, r.create(ctx, desired)
}

func isBinding(object client.Object) bool {
	switch object.(type) {
	case *rbacv1.ClusterRoleBinding, *rbacv1.RoleBinding:
		return true
	default:
		return false
	}
}

// withoutUID returns a copy of an object that a merge patch has to give its UID.
func withoutUID(object client.Object) client.Object {
	next, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return object
	}
	next.SetUID("")
	return next
}

// withoutSubjects returns a binding without its subjects. One of a Role is returned unchanged: the controller binds ClusterRoles only,
// and is not allowed to change others.
func withoutSubjects(binding client.Object) client.Object {
	switch binding := binding.(type) {
	case *rbacv1.ClusterRoleBinding:
		next := binding.DeepCopy()
		next.Subjects = nil
		return next
	case *rbacv1.RoleBinding:
		next := binding.DeepCopy()
		if next.RoleRef.Kind == clusterRoleRef("").Kind {
			next.Subjects = nil
		}
		return next
	default:
		return binding
	}
}

// revokeOthers revokes the bindings of the Project in a namespace, except some, and returns the number of writes.
func (p *pass) revokeOthers(ctx context.Context, namespace *corev1.Namespace, except []client.Object) (int, error) {
	bindings := &rbacv1.RoleBindingList{}
	if err := p.bindingsReader().List(ctx, bindings, client.InNamespace(namespace.Name)); err != nil {
		return 0, fmt.Errorf("list the role bindings in namespace %q: %w", namespace.Name, err)
	}
	wanted := map[string]bool{}
	for _, object := range except {
		wanted[describe(object)] = true
	}
	var own []client.Object
	for i := range bindings.Items {
		binding := &bindings.Items[i]
		if !wanted[describe(binding)] && isBindingOf(p.project, namespace, binding) && !isRevoked(binding) {
			own = append(own, binding)
		}
	}
	if len(own) == 0 {
		return 0, nil
	}
	if err := p.isCurrent(ctx); err != nil {
		return 0, err
	}
	return inParallel(own, func(binding client.Object) (bool, error) {
		log.FromContext(ctx).Info("Revoking a role binding that the project does not need", "object", describe(binding))
		return p.revoke(ctx, binding)
	})
}

// bindingsReader returns where the role bindings are listed. A cache has only those with Groundskeeper's label, which members may
// remove, so that the API server is queried until the current members are reported to be the only ones.
func (p *pass) bindingsReader() client.Reader {
	reported := condition(p.project.Status.Conditions, gardenerv1beta1.ProjectRBACReady)
	if p.project.DeletionTimestamp.IsZero() && p.project.Status.ObservedGeneration == p.project.Generation &&
		reported != nil && reported.Status == gardenerv1beta1.ConditionTrue {
		return p.client
	}
	return lists.Complete(p.live)
}

// isCurrent fails if the Project has changed since it was read: its members, or what its status remembers.
func (p *pass) isCurrent(ctx context.Context) error {
	live := &gardenerv1beta1.Project{}
	err := p.live.Get(ctx, client.ObjectKeyFromObject(p.project), live)
	switch {
	case apierrors.IsNotFound(err):
		return kit.ErrChanged
	case err != nil:
		return fmt.Errorf("get project %q: %w", p.project.Name, err)
	case live.UID != p.project.UID, live.Generation != p.project.Generation, hadBindings(live) != hadBindings(p.project):
		return kit.ErrChanged
	}
	return nil
}

// isBindingOf reports whether a role binding in a namespace is one of the Project. Its name and its role cannot be changed, but members
// may be able to change its labels and annotations: without the annotation it is the Project's if the namespace is, or was according to
// the status. In the namespace of another Project, bindings with the names that all Projects use are that one's.
func isBindingOf(project *gardenerv1beta1.Project, namespace *corev1.Namespace, binding *rbacv1.RoleBinding) bool {
	extension, isExtension := strings.CutPrefix(binding.Name, extensionRoleName(project, ""))
	shared := slices.Contains([]string{namespaceRoleMember, namespaceRoleViewer, namespaceRoleServiceAccountManager}, binding.Name)
	switch {
	case !isExtension && !shared:
		return false
	case wasCreatedFor(project, binding):
		return true
	case binding.RoleRef != clusterRoleRef(binding.Name) && (shared || binding.RoleRef != clusterRoleRef(roleSharedExtension+extension)):
		return false
	case isClaimedByAnother(project, namespace):
		return isExtension && hadBindings(project)
	default:
		return hadBindings(project) || !isTakenBack(project, namespace) && isClaimedBy(project, namespace)
	}
}

// isRevoked reports whether nothing is left to do for a binding but to wait for its finalizers.
func isRevoked(binding *rbacv1.RoleBinding) bool {
	return !binding.DeletionTimestamp.IsZero() && (len(binding.Subjects) == 0 || binding.RoleRef.Kind != clusterRoleRef("").Kind)
}

// hadBindings reports whether the status remembers that the Project had bindings in its namespace, which was not found without them since.
func hadBindings(project *gardenerv1beta1.Project) bool {
	reported := condition(project.Status.Conditions, gardenerv1beta1.ProjectRBACReady)
	return reported != nil && reported.Reason != reasonNamespaceMissing
}
