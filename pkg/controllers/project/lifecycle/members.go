// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	action := decideMembers(p.project, namespace)
	p.followed, p.ensured = true, action == ensureBindings
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
	p.wrote += wrote
	if action == withdrawBindings {
		return errors.Join(err, p.withdrawBindings(ctx, namespace), p.removeUnused(ctx, nil, desired))
	}
	return errors.Join(err, p.removeUnused(ctx, namespace, desired))
}

// withdrawBindings revokes the bindings of the Project in a namespace that does not belong to it. The API server is queried
// before: a stale cache must not revoke the roles of members.
func (p *pass) withdrawBindings(ctx context.Context, namespace *corev1.Namespace) error {
	live, err := getNamespace(ctx, p.live, client.ObjectKeyFromObject(namespace))
	switch {
	case err != nil:
		return err
	case live == nil || !isTakenBack(p.project, live):
		return kit.ErrChanged
	}
	revoked, err := p.revokeOthers(ctx, live, nil)
	p.wrote += revoked
	return err
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
	if !create {
		return p.revoke(ctx, current)
	}
	wrote, err := p.replace(ctx, current, desired)
	return wrote, existsIsChanged(err)
}

func existsIsChanged(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return kit.ErrChanged
	}
	return err
}
