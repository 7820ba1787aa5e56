// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// withdraw removes the bindings of a backend that are not among those it is to have: those that a reader has with its labels, and those
// with the names of Groundskeeper, because users of the namespace may be able to remove labels. The API server is only queried for
// names until the status has the generation of a backend that has changed or is being deleted.
func (r *reconciler) withdraw(ctx context.Context, from client.Reader, backend *gimbalv1.DiscoveryBackend, wanted grants) error {
	done := map[string]bool{}
	for _, binding := range wanted.bindings {
		done[*binding.Name] = true
	}
	for _, binding := range wanted.clusterBindings {
		done["/"+*binding.Name] = true
	}
	labelled, err := labelledBindings(ctx, from, backend)
	if err != nil {
		return err
	}
	var errs []error
	for _, object := range labelled {
		if key := bindingKey(object); !done[key] && isPartOf(backend, object) {
			done[key] = true
			errs = append(errs, r.revoke(ctx, object))
		}
	}
	if observed := backend.Status.ObservedGeneration; backend.DeletionTimestamp.IsZero() && (observed == 0 || observed == backend.Generation) {
		return errors.Join(errs...)
	}
	for _, object := range namedBindings(backend) {
		if done[bindingKey(object)] {
			continue
		}
		err := r.live.Get(ctx, client.ObjectKeyFromObject(object), object)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			errs = append(errs, fmt.Errorf("get %s: %w", describe(object), err))
		case bindsOnlyDiscoverer(backend, object):
			errs = append(errs, r.revoke(ctx, object))
		}
	}
	return errors.Join(errs...)
}

// labelledBindings returns the bindings with the labels of a backend.
func labelledBindings(ctx context.Context, from client.Reader, backend *gimbalv1.DiscoveryBackend) ([]client.Object, error) {
	bindings, clusterBindings := &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleBindingList{}
	own := client.MatchingLabels(selectorLabels(backend.Name))
	if err := from.List(ctx, bindings, own, client.InNamespace(backend.Namespace)); err != nil {
		return nil, fmt.Errorf("list the RoleBindings of backend %s: %w", backend.Name, err)
	}
	if err := from.List(ctx, clusterBindings, own); err != nil {
		return nil, fmt.Errorf("list the ClusterRoleBindings of backend %s: %w", backend.Name, err)
	}
	var all []client.Object
	for i := range bindings.Items {
		all = append(all, &bindings.Items[i])
	}
	for i := range clusterBindings.Items {
		all = append(all, &clusterBindings.Items[i])
	}
	return all, nil
}

// namedBindings returns empty objects with the names that the bindings of a backend may have.
func namedBindings(backend *gimbalv1.DiscoveryBackend) []client.Object {
	var all []client.Object
	for _, role := range []string{roleBackend, roleServices, roleNamespaces} {
		name := role + "-" + backend.Name
		all = append(all, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: backend.Namespace, Name: name}},
			&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return all
}

func bindingKey(object client.Object) string {
	if object.GetNamespace() == "" {
		return "/" + object.GetName()
	}
	return object.GetName()
}

// bindsOnlyDiscoverer reports whether a binding with the name of one of a backend's binds the role in its name to the account of the
// discoverer, and to no other subject. Neither the role nor, without the permissions of the role, the subject can be changed by others.
func bindsOnlyDiscoverer(backend *gimbalv1.DiscoveryBackend, object client.Object) bool {
	var role rbacv1.RoleRef
	var subjects []rbacv1.Subject
	switch binding := object.(type) {
	case *rbacv1.RoleBinding:
		role, subjects = binding.RoleRef, binding.Subjects
	case *rbacv1.ClusterRoleBinding:
		role, subjects = binding.RoleRef, binding.Subjects
	}
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: backend.Namespace, Name: partName(backend)}
	return role.Kind == "ClusterRole" && role.Name+"-"+backend.Name == object.GetName() && slices.Equal(subjects, []rbacv1.Subject{account})
}

// revoke removes the subjects of a binding, and deletes it. A deletion alone takes nothing away while the binding has a finalizer.
func (r *reconciler) revoke(ctx context.Context, object client.Object) error {
	var emptied client.Object
	var had int
	switch binding := object.(type) {
	case *rbacv1.RoleBinding:
		next := binding.DeepCopy()
		had, next.Subjects, emptied = len(next.Subjects), nil, next
	case *rbacv1.ClusterRoleBinding:
		next := binding.DeepCopy()
		had, next.Subjects, emptied = len(next.Subjects), nil, next
	default:
		return fmt.Errorf("%T is not a binding", object)
	}
	if had > 0 {
		changes := client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{})
		err := r.client.Patch(ctx, emptied, changes, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
		switch {
		case apierrors.IsNotFound(err):
			return nil // it has been deleted
		case err != nil:
			return fmt.Errorf("remove the subjects of %s: %w", describe(object), err)
		}
		log.FromContext(ctx).Info("Removed permissions that the discoverer does not need", "object", describe(object))
	}
	if !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	return r.remove(ctx, emptied)
}
