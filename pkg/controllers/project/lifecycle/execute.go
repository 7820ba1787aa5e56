// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// execution writes for one Project in one reconciliation.
type execution struct {
	*reconciler
	// project is as it was read, with what was missing in it.
	project *gardenerv1beta1.Project
	// servers is how the API servers decide.
	servers agreement
	// wrote is the number of writes, without those to the Project.
	wrote atomic.Int64
}

// maxParallel limits the concurrent requests of a reconciliation. The objects of a Project do not depend on each other once its
// namespace exists, and sequential requests would take as many round trips.
const maxParallel = 12

// inParallel calls a function for 0 to n-1. It continues after an error.
func inParallel(n int, do func(i int) error) error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i := range n {
		group.Go(func() error {
			errs[i] = do(i)
			return nil
		})
	}
	_ = group.Wait()
	return errors.Join(errs...)
}

// complete adds the fields that the API server sets at creation to a Project that was created in another way: without the
// finalizer its namespace would be deleted without a check, and without the name of its namespace other components cannot find
// it.
func (x *execution) complete(ctx context.Context) error {
	next := x.project.DeepCopy()
	controllerutil.AddFinalizer(next, gardenerv1beta1.FinalizerName)
	next.Spec.Namespace = new(namespaceName(next))
	err := x.patch(ctx, x.project, next)
	x.project = next
	return err
}

func (x *execution) removeFinalizer(ctx context.Context) error {
	next := x.project.DeepCopy()
	controllerutil.RemoveFinalizer(next, gardenerv1beta1.FinalizerName)
	return x.patch(ctx, x.project, next)
}

// ensureNamespace decides about the namespace and executes the decision. It returns the namespace, or nil if it does not belong
// to this Project.
func (x *execution) ensureNamespace(ctx context.Context, current *corev1.Namespace) (*corev1.Namespace, namespaceDecision, error) {
	decision := decideNamespace(x.project, current)
	if decision.action == createNamespace {
		created := newNamespace(x.project)
		err := x.create(ctx, created)
		if !apierrors.IsAlreadyExists(err) {
			return created, decision, err
		}
		// The cache is stale. An existing namespace is handled like one that was in the cache.
		if current, err = getNamespace(ctx, x.live, x.project); err != nil {
			return nil, decision, err
		}
		if decision = decideNamespace(x.project, current); decision.action == createNamespace {
			return nil, decision, kit.ErrChanged
		}
	}
	if decision.action == claimNamespace {
		next := claimedNamespace(x.project, current)
		return next, decision, x.patch(ctx, current, next)
	}
	if !isClaimedBy(x.project, current) {
		current = nil
	}
	return current, decision, nil
}

// disown removes the owner reference to the Project from its namespace, which earlier versions set. It does so in every state
// of the Project: while the reference exists, the namespace is deleted when the API of Groundskeeper is not served.
func (x *execution) disown(ctx context.Context, namespace *corev1.Namespace) (*corev1.Namespace, error) {
	next := disownedNamespace(x.project, namespace)
	return next, x.patch(ctx, namespace, next)
}

// keep withdraws the bindings and the marks of the Project from a namespace that is retained.
func (x *execution) keep(ctx context.Context, namespace *corev1.Namespace) error {
	// Afterwards only the status proves that bindings without annotation are the Project's.
	if err := x.revokeUnused(ctx, namespace, nil); err != nil {
		return err
	}
	return x.patch(ctx, namespace, releasedNamespace(namespace))
}

// ensureQuota reconciles the quota, if one is configured. A new namespace has none yet.
func (x *execution) ensureQuota(ctx context.Context, namespace *corev1.Namespace, isNew bool) error {
	desired := desiredQuota(x.project, x.quotas)
	if desired == nil {
		return nil
	}
	if isNew {
		return x.write(ctx, desired, adoptObjects)
	}
	namespace, current, err := x.observeQuota(ctx, namespace, desired)
	if err != nil {
		return err
	}
	recorded, err := recordedQuota(x.project, namespace)
	switch {
	case err != nil:
		return err
	case current != nil && limitsOthers(current, desired):
		namespace, err = x.replaceQuota(ctx, namespace, current, desired)
	case current == nil && recorded != nil:
		err = x.create(ctx, recreatedQuota(recorded, desired))
	default:
		err = x.write(ctx, desired, adoptObjects)
	}
	if err != nil {
		return err
	}
	return x.patch(ctx, namespace, withoutRecordedQuota(namespace))
}

// write brings one object to the desired state. In the namespace the annotation is no proof of whom an object was created for, because
// members may be able to edit the metadata of bindings. An object without the label is not in the cache, so the API server is queried.
func (x *execution) write(ctx context.Context, desired client.Object, mode mode) error {
	current, err := find(ctx, x.client, desired)
	if err == nil && current == nil && mode == adoptObjects {
		if err := x.create(ctx, desired); !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if err == nil && current == nil {
		current, err = find(ctx, x.live, desired)
	}
	switch {
	case err != nil:
		return err
	case current == nil && mode == adoptObjects:
		return kit.ErrChanged
	case current == nil && mode == createObjects:
		err = x.create(ctx, desired)
	case current == nil, mode != adoptObjects && desired.GetNamespace() == "" && !wasCreatedFor(x.project, current):
		return nil
	case bindsAnotherRole(current, desired):
		err = x.replaceBinding(ctx, current, desired, mode)
	default:
		return x.patch(ctx, current, merged(current, desired))
	}
	if mode != adoptObjects && apierrors.IsAlreadyExists(err) {
		return kit.ErrChanged
	}
	return err
}

// replaceBinding revokes a binding of another role, and creates it with the desired one, unless objects are only followed.
func (x *execution) replaceBinding(ctx context.Context, current, desired client.Object, mode mode) error {
	if err := x.revoke(ctx, current); err != nil || mode != adoptObjects && mode != createObjects {
		return err
	}
	if finalizers := current.GetFinalizers(); len(finalizers) > 0 {
		return fmt.Errorf("%s binds another role, and is deleted when its finalizers are removed: %s",
			describe(current), strings.Join(finalizers, ", "))
	}
	return x.create(ctx, desired)
}

// replaceQuota recreates a quota that limits other objects, with the limits that were raised manually. The namespace records them until it is
// created, because the process may end in between. One that was not created for a Project is not deleted.
func (x *execution) replaceQuota(ctx context.Context, namespace *corev1.Namespace, current, desired *corev1.ResourceQuota) (*corev1.Namespace, error) {
	if current.Annotations[annotationProjectUID] != desired.Annotations[annotationProjectUID] {
		return namespace, fmt.Errorf("%s has other scopes than configured, and was not created for the project: delete it", describe(current))
	}
	recording, err := withRecordedQuota(namespace, current)
	if err == nil {
		err = x.patch(ctx, namespace, recording)
	}
	if err == nil {
		err = x.remove(ctx, current)
	}
	if err == nil {
		err = x.create(ctx, recreatedQuota(current, desired))
	}
	return recording, err
}

// revoke takes the permissions of a binding away, and deletes it, or another object. A deletion alone revokes nothing while the binding
// has a finalizer, which members with access to bindings may add.
func (x *execution) revoke(ctx context.Context, binding client.Object) error {
	current := withoutSubjects(binding)
	err := x.patch(ctx, binding, current, client.DisableReadYourWritesConsistency)
	if err != nil || !current.GetDeletionTimestamp().IsZero() {
		return err
	}
	return x.remove(ctx, current)
}

// wroteOne counts a write that succeeded, unless it was to the Project.
func (x *execution) wroteOne(object client.Object) {
	if _, isProject := object.(*gardenerv1beta1.Project); !isProject {
		x.wrote.Add(1)
	}
}

func (x *execution) create(ctx context.Context, object client.Object) error {
	if err := x.client.Create(ctx, object, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("create %s: %w", describe(object), err)
	}
	x.wroteOne(object)
	return nil
}

// patch changes one state of an object to another, unless they are equal. It fails with a conflict if the object is no longer
// in the first state: lists are replaced as a whole, and must not lose unknown entries. The subjects of a binding have none, so that of
// a binding only the identity has to be the same: otherwise a member could prevent a revocation by changing its metadata all the time.
func (x *execution) patch(ctx context.Context, from, to client.Object, options ...client.PatchOption) error {
	if equality.Semantic.DeepEqual(from, to) {
		return nil
	}
	changes := client.MergeFromWithOptions(from, client.MergeFromWithOptimisticLock{})
	if isBinding(from) {
		changes = client.MergeFrom(withoutUID(from)) // the UID is in the patch
	}
	if err := x.client.Patch(ctx, to, changes, append(options, client.FieldOwner(fieldOwner))...); err != nil {
		return fmt.Errorf("update %s: %w", describe(from), kit.NotFoundIsChanged(err))
	}
	x.wroteOne(from)
	return nil
}

// remove deletes the object with the UID and resource version that was read. Later reads do not wait for its deletion: an
// object without the label is not in the cache, so that they would wait indefinitely.
func (x *execution) remove(ctx context.Context, object client.Object) error {
	if err := x.client.Delete(ctx, object, client.Preconditions(kit.AsRead(object)), client.DisableReadYourWritesConsistency); err != nil {
		return fmt.Errorf("delete %s: %w", describe(object), kit.NotFoundIsChanged(err))
	}
	x.wroteOne(object)
	return nil
}

// applyStatus writes a status. It reports false if the Project has been deleted, and another one may have its name.
func (x *execution) applyStatus(ctx context.Context, status *gardenerv1beta1.ProjectStatus) (bool, error) {
	err := x.client.Status().Apply(ctx, statusApplied(x.project, status), client.FieldOwner(fieldOwner), client.ForceOwnership)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("update the status of project %q: %w", x.project.Name, err)
	}
	return true, nil
}
