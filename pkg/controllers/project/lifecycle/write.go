// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// maxParallelWrites limits the concurrent requests of a reconciliation. The objects of a Project do not depend on each other
// once its namespace exists, and sequential writes would take as many round trips.
const maxParallelWrites = 12

// ensureAll updates objects to the desired state and returns the number of writes. It continues after an error.
func (r *reconciler) ensureAll(ctx context.Context, desired []client.Object) (int, error) {
	return inParallel(desired, func(object client.Object) (bool, error) { return r.ensure(ctx, object) })
}

// inParallel calls a function for objects and returns the number of true results. It continues after an error.
func inParallel(objects []client.Object, do func(client.Object) (bool, error)) (int, error) {
	done, errs := make([]bool, len(objects)), make([]error, len(objects))
	slots := make(chan struct{}, maxParallelWrites)
	var group sync.WaitGroup
	for i, object := range objects {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			done[i], errs[i] = do(object)
		})
	}
	group.Wait()
	count := 0
	for _, yes := range done {
		if yes {
			count++
		}
	}
	return count, errors.Join(errs...)
}

// ensure updates one object to the desired state: it is created if it does not exist, patched if it differs, recreated if the
// difference cannot be patched, and not written otherwise. It reports whether it wrote.
func (r *reconciler) ensure(ctx context.Context, desired client.Object) (bool, error) {
	current, err := r.get(ctx, r.client, desired)
	if apierrors.IsNotFound(err) {
		if err = r.create(ctx, desired); !apierrors.IsAlreadyExists(err) {
			return err == nil, err
		}
		// The cache is stale, or does not contain the object because it has no label.
		current, err = r.get(ctx, r.live, desired)
	}
	switch {
	case err != nil:
		return false, fmt.Errorf("get %s: %w", describe(desired), err)
	case bindsAnotherRole(current, desired):
		return r.replace(ctx, current, desired)
	case limitsOthers(current, desired):
		return r.replaceQuota(ctx, current, desired)
	default:
		return r.patch(ctx, current, merged(current, desired))
	}
}

// get reads the object with the kind and name of another one.
func (r *reconciler) get(ctx context.Context, from client.Reader, like client.Object) (client.Object, error) {
	kind, err := r.client.GroupVersionKindFor(like)
	if err != nil {
		return nil, err
	}
	empty, err := r.client.Scheme().New(kind)
	if err != nil {
		return nil, err
	}
	object, ok := empty.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s is not an object", kind)
	}
	return object, from.Get(ctx, client.ObjectKeyFromObject(like), object)
}

func (r *reconciler) create(ctx context.Context, object client.Object) error {
	if err := r.client.Create(ctx, object, client.FieldOwner(fieldOwner)); err != nil {
		return fmt.Errorf("create %s: %w", describe(object), err)
	}
	return nil
}

// patch changes one state of an object to another, unless they are equal. It fails with a conflict if the object is no longer
// in the first state: lists are replaced as a whole, and must not lose unknown entries. The subjects of a binding have none, so that of
// a binding only the identity has to be the same: otherwise a member could prevent a revocation by changing its metadata all the time.
func (r *reconciler) patch(ctx context.Context, from, to client.Object, options ...client.PatchOption) (bool, error) {
	if equality.Semantic.DeepEqual(from, to) {
		return false, nil
	}
	changes := client.MergeFromWithOptions(from, client.MergeFromWithOptimisticLock{})
	if isBinding(from) {
		changes = client.MergeFrom(withoutUID(from)) // the UID is in the patch
	}
	if err := r.client.Patch(ctx, to, changes, append(options, client.FieldOwner(fieldOwner))...); err != nil {
		return false, fmt.Errorf("update %s: %w", describe(from), kit.NotFoundIsChanged(err))
	}
	return true, nil
}

// remove deletes the object with the UID and resource version that was read. Later reads do not wait for its deletion: an
// object without the label is not in the cache, so that they would wait indefinitely.
func (r *reconciler) remove(ctx context.Context, object client.Object) error {
	if err := r.client.Delete(ctx, object, client.Preconditions(kit.AsRead(object)), client.DisableReadYourWritesConsistency); err != nil {
		return fmt.Errorf("delete %s: %w", describe(object), kit.NotFoundIsChanged(err))
	}
	return nil
}

// removeExtensionRoles deletes the ClusterRoles of extension roles that no member has any more. They are read from a cache or from the
// API server, in which another option selects those of the Project.
func (r *reconciler) removeExtensionRoles(ctx context.Context, from client.Reader, rolesOf client.ListOption, project *gardenerv1beta1.Project, desired []client.Object) (int, error) {
	wanted := map[string]bool{}
	for _, object := range desired {
		wanted[describe(object)] = true
	}
	roles := &rbacv1.ClusterRoleList{}
	if err := from.List(ctx, roles, rolesOf); err != nil {
		return 0, fmt.Errorf("list the extension roles of project %q: %w", project.Name, err)
	}
	removed := 0
	for i := range roles.Items {
		role := &roles.Items[i]
		if wanted[describe(role)] || !isExtensionRoleOf(project, role) || !role.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.remove(ctx, role); errors.Is(err, kit.ErrChanged) {
			continue // deleted concurrently, or the cache is stale
		} else if err != nil {
			return removed, err
		}
		log.FromContext(ctx).Info("Deleted an unused extension role", "object", describe(role))
		removed++
	}
	return removed, nil
}

// describe names an object in messages.
func describe(object client.Object) string {
	kind := "object"
	switch object.(type) {
	case *corev1.Namespace:
		kind = "namespace"
	case *corev1.ResourceQuota:
		kind = "resource quota"
	case *rbacv1.ClusterRole:
		kind = "cluster role"
	case *rbacv1.ClusterRoleBinding:
		kind = "cluster role binding"
	case *rbacv1.RoleBinding:
		kind = "role binding"
	case *gardenerv1beta1.Project:
		kind = "project"
	}
	if namespace := object.GetNamespace(); namespace != "" {
		return fmt.Sprintf("%s %q in namespace %q", kind, object.GetName(), namespace)
	}
	return fmt.Sprintf("%s %q", kind, object.GetName())
}
