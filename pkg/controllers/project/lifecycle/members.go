// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// membersAction is what a reconciliation does about the bindings in the namespace of a Project.
type membersAction string

const (
	// ensureBindings: the namespace is this Project's, so that all bindings are to be in it.
	ensureBindings membersAction = "ensure"
	// updateBindings: bindings cannot be created there, or not yet. Those that exist follow the members.
	updateBindings membersAction = "update"
	// withdrawBindings: the namespace is somebody else's. Our bindings in it are deleted.
	withdrawBindings membersAction = "withdraw"
)

// decideMembers decides about the bindings in the namespace of a Project; current is nil when there is none. A paused
// Project gets nothing, but pausing it must not keep rights alive that its members no longer have.
func decideMembers(project *gardenerv1beta1.Project, current *corev1.Namespace) membersAction {
	switch {
	case current == nil:
		return updateBindings
	case isTakenBack(project, current):
		return withdrawBindings
	case isPaused(project), !isClaimedBy(project, current), !current.DeletionTimestamp.IsZero():
		return updateBindings
	default:
		return ensureBindings
	}
}

// isTakenBack reports whether a namespace cannot be this Project's, whatever it was before.
func isTakenBack(project *gardenerv1beta1.Project, current *corev1.Namespace) bool {
	return !isProjectNamespace(current.Name) || !hasProjectLabels(project, current) || isClaimedByAnother(project, current)
}

// followMembers makes the roles and bindings of a Project follow its members in every phase in which it is not provided
// with everything: whoever was removed from spec.members must not keep a role because something else is in the way.
func (p *pass) followMembers(ctx context.Context) error {
	name := namespaceName(p.project)
	namespace, err := getNamespace(ctx, p.client, client.ObjectKey{Name: name})
	if err != nil {
		return err
	}
	p.followed = true
	action := decideMembers(p.project, namespace)
	desired := desiredRBAC(p.project)
	if action == withdrawBindings {
		withoutNamespaceRules(desired)
	}
	reachable := slices.DeleteFunc(slices.Clone(desired), func(object client.Object) bool {
		return object.GetNamespace() != "" && (namespace == nil || action == withdrawBindings)
	})
	wrote, err := inParallel(reachable, func(object client.Object) (bool, error) {
		return p.follow(ctx, object, action == ensureBindings)
	})
	removed, removeErr := p.removeExtensionRoles(ctx, p.project, desired)
	p.wrote += wrote + removed
	if action == withdrawBindings {
		err = errors.Join(err, p.withdrawBindings(ctx, namespace))
	}
	return errors.Join(err, removeErr)
}

// withdrawBindings deletes our bindings in a namespace that is not this Project's. The API server is asked again before:
// a cache that is late must not cost the members their roles.
func (p *pass) withdrawBindings(ctx context.Context, namespace *corev1.Namespace) error {
	bindings := &rbacv1.RoleBindingList{}
	inIt := []client.ListOption{client.InNamespace(namespace.Name), client.MatchingLabels{gardenerv1beta1.LabelProjectName: p.project.Name}}
	if err := p.client.List(ctx, bindings, inIt...); err != nil {
		return fmt.Errorf("list the role bindings of project %q in namespace %q: %w", p.project.Name, namespace.Name, err)
	}
	ours := slices.DeleteFunc(bindings.Items, func(binding rbacv1.RoleBinding) bool { return !isBindingOf(p.project, &binding) })
	if len(ours) == 0 {
		return nil
	}
	live, err := getNamespace(ctx, p.live, client.ObjectKeyFromObject(namespace))
	if err != nil {
		return err
	}
	if live == nil || !isTakenBack(p.project, live) {
		return errChanged
	}
	for i := range ours {
		if err := p.remove(ctx, &ours[i]); err != nil {
			return err
		}
		p.wrote++
		log.FromContext(ctx).Info("Deleted a role binding in a namespace that is no longer the project's", "object", describe(&ours[i]))
	}
	return nil
}

// isBindingOf reports whether a binding was created for the Project: it has a name that we give, too.
func isBindingOf(project *gardenerv1beta1.Project, binding *rbacv1.RoleBinding) bool {
	if !binding.DeletionTimestamp.IsZero() || !wasCreatedFor(project, binding) {
		return false
	}
	switch binding.Name {
	case namespaceRoleMember, namespaceRoleViewer, namespaceRoleServiceAccountManager:
		return true
	default:
		return isExtensionRoleOf(project, binding)
	}
}

// follow brings a role or a binding of the Project to the desired state. One that is missing is created if that is wanted. One
// outside of the namespace that was not created for this Project is left alone: a Project that is being deleted takes nothing
// over. In the namespace that proves nothing, since members may be able to edit the metadata of their own bindings. What lost
// our label is not in the cache, so that the API server has the last word.
func (p *pass) follow(ctx context.Context, desired client.Object, create bool) (bool, error) {
	current, err := p.get(ctx, p.client, desired)
	if apierrors.IsNotFound(err) {
		current, err = p.get(ctx, p.live, desired)
	}
	switch {
	case apierrors.IsNotFound(err) && !create:
		return false, nil
	case apierrors.IsNotFound(err):
		return true, existsIsChanged(p.create(ctx, desired))
	case err != nil:
		return false, fmt.Errorf("get %s: %w", describe(desired), err)
	case desired.GetNamespace() == "" && !wasCreatedFor(p.project, current):
		return false, nil
	case !bindsAnotherRole(current, desired):
		return p.patch(ctx, current, merged(current, desired))
	}
	if err := p.remove(ctx, current); err != nil || !create {
		return err == nil, err
	}
	return true, existsIsChanged(p.create(ctx, desired))
}

func existsIsChanged(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return errChanged
	}
	return err
}
