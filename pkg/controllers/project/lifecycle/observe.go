// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// observed is what a reconciliation begins with. What depends on its own writes, or has to be current, is read when it is needed.
type observed struct {
	project *gardenerv1beta1.Project
	// namespace is nil if it does not exist.
	namespace *corev1.Namespace
	// servers is how the API servers decide.
	servers agreement
}

// observe reads a Project and its namespace from the caches, and returns nil if there is no Project. With an error beside the
// Project its namespace is unknown.
func (r *reconciler) observe(ctx context.Context, name client.ObjectKey) (*observed, error) {
	project := &gardenerv1beta1.Project{}
	if err := r.client.Get(ctx, name, project); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	namespace, err := getNamespace(ctx, r.client, project)
	return &observed{project: project, namespace: namespace, servers: r.servers.last()}, err
}

// isReleased reports whether nothing is left to do for a Project that is being deleted, but to follow its members.
func (o *observed) isReleased() bool {
	return !o.project.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(o.project, gardenerv1beta1.FinalizerName)
}

// observedRelease is what the deletion of a Project is decided by.
type observedRelease struct {
	// namespace is nil if it does not exist.
	namespace *corev1.Namespace
	// occupants are the objects that block its deletion.
	occupants []string
	holding
}

// observeRelease reads the namespace of a Project from the API server, with the objects that block its deletion. It queries the API
// server for these only if the cache has none, and for those with finalizers only if the namespace would be deleted otherwise.
func (x *execution) observeRelease(ctx context.Context) (o observedRelease, err error) {
	o.namespace, err = getNamespace(ctx, x.live, x.project)
	if err != nil || !isClaimedBy(x.project, o.namespace) {
		return o, err
	}
	o.occupants, err = x.contents.cached(o.namespace.Name)
	if err == nil && len(o.occupants) == 0 {
		o.occupants, err = x.contents.current(ctx, o.namespace.Name)
	}
	if err != nil || decideRelease(x.project, o.namespace, o.occupants, nil) != releaseDelete {
		return o, err
	}
	forced, err := x.isForced(ctx)
	if err == nil && !forced {
		o.holding, err = x.holders.current(ctx, o.namespace.Name)
	}
	return o, err
}

// isForced reports whether the deletion is forced. That may have been withdrawn since the cache had it.
func (x *execution) isForced(ctx context.Context) (bool, error) {
	if !isForced(x.project) {
		return false, nil
	}
	live, err := find(ctx, x.live, x.project)
	return live != nil && live.UID == x.project.UID && isForced(live), err
}

// find reads the object with the kind and name of another one, and returns nil if it does not exist.
func find[T client.Object](ctx context.Context, from client.Reader, like T) (found T, _ error) {
	object, ok := reflect.New(reflect.TypeOf(like).Elem()).Interface().(T)
	if !ok {
		return found, fmt.Errorf("%T is not an object", like)
	}
	if err := from.Get(ctx, client.ObjectKeyFromObject(like), object); err != nil {
		if apierrors.IsNotFound(err) {
			return found, nil
		}
		return found, fmt.Errorf("get %s: %w", describe(like), err)
	}
	return object, nil
}

// getNamespace reads the namespace of a Project, and returns nil if it does not exist.
func getNamespace(ctx context.Context, from client.Reader, project *gardenerv1beta1.Project) (*corev1.Namespace, error) {
	return find(ctx, from, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceName(project)}})
}

// observeQuota reads the quota of a Project, with its namespace. The cache may be too old to show that the quota is being recreated, or that
// the namespace records one, so that the API server is queried for both if either may be so.
func (x *execution) observeQuota(
	ctx context.Context, namespace *corev1.Namespace, like *corev1.ResourceQuota,
) (*corev1.Namespace, *corev1.ResourceQuota, error) {
	current, err := find(ctx, x.client, like)
	if _, recorded := namespace.Annotations[annotationRecreatedQuota]; err != nil || current != nil && !recorded {
		return namespace, current, err
	}
	live, err := find(ctx, x.live, namespace)
	if err == nil && !isClaimedBy(x.project, live) {
		err = kit.ErrChanged
	}
	if err != nil {
		return nil, nil, err
	}
	current, err = find(ctx, x.live, like)
	return live, current, err
}

// createdFor reads the objects with the kinds and names of others. One that was not created for the Project is nil.
func (x *execution) createdFor(ctx context.Context, from client.Reader, likes []client.Object) ([]client.Object, error) {
	found := make([]client.Object, len(likes))
	return found, inParallel(len(likes), func(i int) error {
		current, err := find(ctx, from, likes[i])
		if current != nil && wasCreatedFor(x.project, current) {
			found[i] = current
		}
		return err
	})
}

// unusedBindings returns the bindings of the Project in a namespace that are not desired. It fails if the Project has changed since.
func (x *execution) unusedBindings(ctx context.Context, namespace *corev1.Namespace, desired []client.Object) ([]client.Object, error) {
	bindings, reader := &rbacv1.RoleBindingList{}, x.bindingsReader()
	if desired == nil {
		reader = lists.Complete(x.live) // the status reports nothing about bindings that are all to be revoked
	}
	if err := reader.List(ctx, bindings, client.InNamespace(namespace.Name)); err != nil {
		return nil, fmt.Errorf("list the role bindings in namespace %q: %w", namespace.Name, err)
	}
	var unused []client.Object
	for i := range bindings.Items {
		binding := &bindings.Items[i]
		if !isAmong(desired, binding) && isBindingOf(x.project, namespace, binding) && !isRevoked(binding) {
			unused = append(unused, binding)
		}
	}
	if len(unused) == 0 {
		return nil, nil
	}
	return unused, x.isCurrent(ctx)
}

// unusedExtensionRoles returns the ClusterRoles of extension roles that no member has any more.
func (x *execution) unusedExtensionRoles(ctx context.Context, from client.Reader, own client.ListOption, desired []client.Object) (
	[]client.Object, error,
) {
	roles := &rbacv1.ClusterRoleList{}
	if err := from.List(ctx, roles, own); err != nil {
		return nil, fmt.Errorf("list the extension roles of project %q: %w", x.project.Name, err)
	}
	var unused []client.Object
	for i := range roles.Items {
		role := &roles.Items[i]
		if !isAmong(desired, role) && isExtensionRoleOf(x.project, role) && role.DeletionTimestamp.IsZero() {
			unused = append(unused, role)
		}
	}
	return unused, nil
}

// bindingsReader returns where the role bindings are listed. A cache has only those with Groundskeeper's label, which members may
// remove, so that the API server is queried until the current members are reported to be the only ones.
func (x *execution) bindingsReader() client.Reader {
	reported := conditions.Find(x.project.Status.Conditions, gardenerv1beta1.ProjectRBACReady)
	if x.project.DeletionTimestamp.IsZero() && x.project.Status.ObservedGeneration == x.project.Generation &&
		reported != nil && reported.Status == gardenerv1beta1.ConditionTrue {
		return x.client
	}
	return lists.Complete(x.live)
}

// isCurrent fails if the Project has changed since it was read: its members, or what its status remembers.
func (x *execution) isCurrent(ctx context.Context) error {
	live, err := find(ctx, x.live, x.project)
	switch {
	case err != nil:
		return err
	case live == nil, live.UID != x.project.UID, live.Generation != x.project.Generation, hadBindings(live) != hadBindings(x.project):
		return kit.ErrChanged
	}
	return nil
}
