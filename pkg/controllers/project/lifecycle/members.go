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
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// membersAction is what a reconciliation does with the bindings in the namespace of a Project.
type membersAction string

const (
	// ensureBindings: the namespace belongs to this Project, so all bindings have to exist in it.
	ensureBindings membersAction = "ensure"
	// updateBindings: bindings cannot be created there, or not yet. Existing ones are updated with the members.
	updateBindings membersAction = "update"
	// withdrawBindings: the namespace belongs to another owner. The bindings of this Project in it are deleted.
	withdrawBindings membersAction = "withdraw"
)

// decideMembers decides about the bindings in the namespace of a Project; current is nil if there is none. Nothing is created
// for a paused Project, but removed members must lose their permissions nevertheless.
func decideMembers(project *gardenerv1beta1.Project, current *corev1.Namespace) membersAction {
	switch {
	case current == nil:
		return updateBindings
	case isTakenBack(project, current):
		return withdrawBindings
	case kit.IsPaused(project), !isClaimedBy(project, current), !current.DeletionTimestamp.IsZero():
		return updateBindings
	default:
		return ensureBindings
	}
}

// isTakenBack reports whether a namespace cannot belong to this Project, even if it did before.
func isTakenBack(project *gardenerv1beta1.Project, current *corev1.Namespace) bool {
	return !isProjectNamespace(current.Name) || !hasProjectLabels(project, current) || isClaimedByAnother(project, current)
}

// followMembers updates the roles and bindings of a Project with its members in every phase in which it is not completely
// provisioned: a user who was removed from spec.members must not retain a role because another step is blocked.
func (p *pass) followMembers(ctx context.Context) error {
	name := namespaceName(p.project)
	namespace, err := getNamespace(ctx, p.client, client.ObjectKey{Name: name})
	if err != nil {
		return err
	}
	p.followed = true
	action := decideMembers(p.project, namespace)
	desired := p.desired(p.project)
	if action == withdrawBindings {
		withoutNamespaceRules(desired)
	}
	reachable := slices.DeleteFunc(slices.Clone(desired), func(object client.Object) bool {
		return object.GetNamespace() != "" && (namespace == nil || action == withdrawBindings)
	})
	wrote, err := inParallel(reachable, func(object client.Object) (bool, error) {
		return p.follow(ctx, object, action == ensureBindings)
	})
	removed, removeErr := p.removeUnused(ctx, p.project, desired)
	p.wrote += wrote + removed
	if action == withdrawBindings {
		err = errors.Join(err, p.withdrawBindings(ctx, namespace))
	}
	return errors.Join(err, removeErr)
}

// withdrawBindings deletes the bindings of the Project in a namespace that does not belong to it. The API server is queried
// before: a stale cache must not revoke the roles of members.
func (p *pass) withdrawBindings(ctx context.Context, namespace *corev1.Namespace) error {
	bindings := &rbacv1.RoleBindingList{}
	inIt := []client.ListOption{client.InNamespace(namespace.Name), client.MatchingLabels{gardenerv1beta1.LabelProjectName: p.project.Name}}
	if err := p.client.List(ctx, bindings, inIt...); err != nil {
		return fmt.Errorf("list the role bindings of project %q in namespace %q: %w", p.project.Name, namespace.Name, err)
	}
	own := slices.DeleteFunc(bindings.Items, func(binding rbacv1.RoleBinding) bool { return !isBindingOf(p.project, &binding) })
	if len(own) == 0 {
		return nil
	}
	live, err := getNamespace(ctx, p.live, client.ObjectKeyFromObject(namespace))
	if err != nil {
		return err
	}
	if live == nil || !isTakenBack(p.project, live) {
		return kit.ErrChanged
	}
	for i := range own {
		if err := p.remove(ctx, &own[i]); err != nil {
			return err
		}
		p.wrote++
		log.FromContext(ctx).Info("Deleted a role binding in a namespace that is no longer the project's", "object", describe(&own[i]))
	}
	return nil
}

// isBindingOf reports whether a binding was created for the Project, which includes that its name is one of the controller's.
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

// follow updates a role or a binding of the Project to the desired state. A missing one is created if requested. An object
// outside of the namespace that was not created for this Project is not changed: a Project that is being deleted adopts
// nothing. In the namespace the annotation is no proof, because members may be able to edit the metadata of bindings.
// An object without the label is not in the cache, so the API server is queried.
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
		return kit.ErrChanged
	}
	return err
}
