// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/discoverer/lease"
)

// apiServerService is the Service of the API server, in namespace default.
const apiServerService = "kubernetes"

// backendNamed reads a backend, nil when it has been deleted.
func (r *reconciler) backendNamed(ctx context.Context, name types.NamespacedName) (*gimbalv1.DiscoveryBackend, error) {
	backend := &gimbalv1.DiscoveryBackend{}
	err := r.cache.Get(ctx, name, backend)
	if apierrors.IsNotFound(err) {
		r.memory.discard(name, "")
		return nil, nil
	}
	return backend, err
}

// observe reads what the Deployment of a backend depends on. An error means that it may not be changed.
func (r *reconciler) observe(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (found findings, err error) {
	found.credentials, found.unread = r.credentialsOf(ctx, backend)
	if found.unread == nil && found.credentials.usable() {
		found.denied, err = r.addressesOfAPIServer(ctx)
	}
	return found, err
}

// credentialsOf judges the Secret that a backend names, each version of it once. An error means that the Secret could not be read, which
// reports nothing of it.
func (r *reconciler) credentialsOf(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (credentials, error) {
	key := types.NamespacedName{Namespace: backend.Namespace, Name: backend.Cluster.SecretName()}
	metadata := secretMetadata()
	if err := r.cache.Get(ctx, key, metadata); err != nil {
		if apierrors.IsNotFound(err) {
			return missingSecret(key), nil
		}
		return credentials{}, fmt.Errorf("get the metadata of Secret %s: %w", key, err)
	}
	name := client.ObjectKeyFromObject(backend)
	if found, ok := r.memory.judged(name, metadata); ok {
		return found, nil
	}
	secret := &corev1.Secret{}
	if err := r.live.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return missingSecret(key), nil
		}
		return credentials{}, fmt.Errorf("get Secret %s: %w", key, err)
	}
	found := judge(backend.Cluster.Type, secret.Data, r.allowed, string(backend.UID))
	if !found.usable() {
		found.problem = fmt.Sprintf("Secret %q %s", key.Name, found.problem)
	}
	r.memory.judge(name, secret, found)
	return found, nil
}

// addressesOfAPIServer returns them from memory for a while. An error means that not all are known.
func (r *reconciler) addressesOfAPIServer(ctx context.Context) ([]string, error) {
	now := r.clock.Now()
	if networks, ok := r.memory.apiServer(now); ok {
		return networks, nil
	}
	service, slices := &corev1.Service{}, &discoveryv1.EndpointSliceList{}
	key := client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: apiServerService}
	if err := r.live.Get(ctx, key, service); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get the Service of the API server: %w", err)
	}
	own := client.MatchingLabels{discoveryv1.LabelServiceName: apiServerService}
	if err := r.live.List(ctx, slices, client.InNamespace(metav1.NamespaceDefault), own); err != nil {
		return nil, fmt.Errorf("list the EndpointSlices of the API server: %w", err)
	}
	networks := networksOfAPIServer(service, slices.Items)
	r.memory.setAPIServer(networks, now)
	return networks, nil
}

// deploymentOf reads the Deployment of a backend, nil when there is none that belongs to it.
func (r *reconciler) deploymentOf(ctx context.Context, from client.Reader, backend *gimbalv1.DiscoveryBackend) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	err := from.Get(ctx, client.ObjectKey{Namespace: backend.Namespace, Name: partName(backend)}, deployment)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get the Deployment of %s: %w", describe(backend), err)
	case !isPartOf(backend, deployment):
		return nil, nil
	}
	return deployment, nil
}

// current reads an object that a part is to be, nil when there is none. The cache may be late, and it does not have what lacks
// Groundskeeper's labels.
func (r *reconciler) current(ctx context.Context, wanted part) (client.Object, error) {
	object := wanted.object
	key := client.ObjectKeyFromObject(object)
	err := r.cache.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		err = r.live.Get(ctx, key, object)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get %s: %w", describe(object), err)
	}
	return object, nil
}

// surplus returns the bindings of a backend that are not among those it is to have: those that a reader has with its labels, and those
// with the names of Groundskeeper, because users of the namespace may be able to remove labels. The API server is only asked for
// names until the status has the generation of a backend that has changed or is being deleted. An error means that there may be more.
func (r *reconciler) surplus(
	ctx context.Context, from client.Reader, backend *gimbalv1.DiscoveryBackend, wanted []part,
) (surplus []client.Object, err error) {
	known := map[string]bool{}
	for _, part := range wanted {
		known[describe(part.object)] = true
	}
	bindings, clusterBindings := &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleBindingList{}
	own := client.MatchingLabels(selectorLabels(backend.Name))
	if err := from.List(ctx, bindings, own, client.InNamespace(backend.Namespace)); err != nil {
		return nil, fmt.Errorf("list the RoleBindings of backend %s: %w", backend.Name, err)
	}
	if err := from.List(ctx, clusterBindings, own); err != nil {
		return nil, fmt.Errorf("list the ClusterRoleBindings of backend %s: %w", backend.Name, err)
	}
	var labelled []client.Object
	for i := range bindings.Items {
		labelled = append(labelled, &bindings.Items[i])
	}
	for i := range clusterBindings.Items {
		labelled = append(labelled, &clusterBindings.Items[i])
	}
	for _, object := range labelled {
		if key := describe(object); !known[key] && isPartOf(backend, object) {
			known[key] = true
			surplus = append(surplus, object)
		}
	}
	if observed := backend.Status.ObservedGeneration; backend.DeletionTimestamp.IsZero() && (observed == 0 || observed == backend.Generation) {
		return surplus, nil
	}
	var errs []error
	for _, role := range []string{roleBackend, roleServices, roleNamespaces} {
		for _, part := range []part{roleBinding(backend, role), clusterRoleBinding(backend, role)} {
			object := part.object
			if known[describe(object)] {
				continue
			}
			err := r.live.Get(ctx, client.ObjectKeyFromObject(object), object)
			switch {
			case apierrors.IsNotFound(err):
			case err != nil:
				errs = append(errs, fmt.Errorf("get %s: %w", describe(object), err))
			case bindsOnlyDiscoverer(backend, object):
				surplus = append(surplus, object)
			}
		}
	}
	return surplus, errors.Join(errs...)
}

// podsOf reports that pods of the discoverer of a backend exist, "" if there are none.
func (r *reconciler) podsOf(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (string, error) {
	pods := &metav1.PartialObjectMetadataList{}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	own := client.MatchingLabels(selectorLabels(backend.Name))
	if err := r.live.List(ctx, pods, client.InNamespace(backend.Namespace), own); err != nil {
		return "", fmt.Errorf("list the pods of %s: %w", describe(backend), err)
	}
	if count := len(pods.Items); count > 0 {
		return fmt.Sprintf("%s of the discoverer still there, first %q", status.Plural(count, "pod"), pods.Items[0].Name), nil
	}
	return "", nil
}

// holderOf reports that another discoverer works, such as one that was started manually, "" if there is none: as long as one holds the
// Lease of the backend, it would create the copies again. A discoverer stops when its backend is being deleted.
func (r *reconciler) holderOf(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (string, error) {
	key := client.ObjectKey{Namespace: backend.Namespace, Name: lease.Name(backend.Name)}
	current := &coordinationv1.Lease{}
	err := r.live.Get(ctx, key, current)
	switch {
	case apierrors.IsNotFound(err):
		current = nil
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("whether a discoverer works is unknown, because Lease %s cannot be read: apply artifacts/rbac", key), nil
	case err != nil:
		return "", fmt.Errorf("get Lease %s: %w", key, err)
	}
	if holder := r.memory.holder(backend.UID, current, r.clock.Now()); holder != "" {
		return fmt.Sprintf("discoverer %q holds Lease %s: it stops automatically, or stop it if it was started manually", holder, key), nil
	}
	return "", nil
}

// copies lists the Services and EndpointSlices that name a backend, or any backend when the name is empty: by the labels of both
// prefixes, each object once. A Service is before its slices, so that it is deleted before them. Either the list is complete, or there is
// an error and no list.
func (r *reconciler) copies(ctx context.Context, backend, namespace string) ([]metav1.PartialObjectMetadata, error) {
	var objects []metav1.PartialObjectMetadata
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Service"), discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"),
	} {
		seen := map[client.ObjectKey]bool{}
		for _, label := range []string{gimbalv1.LabelBackend, gimbalv1.LegacyLabelBackend} {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			options := []client.ListOption{client.InNamespace(namespace), client.HasLabels{label}}
			if backend != "" {
				options[1] = client.MatchingLabels{label: backend}
			}
			if err := lists.Complete(r.live).List(ctx, list, options...); err != nil {
				return nil, fmt.Errorf("list the %ss of backend %q by label %s: %w", kind.Kind, backend, label, err)
			}
			for _, object := range list.Items {
				if key := client.ObjectKeyFromObject(&object); !seen[key] {
					seen[key] = true
					object.SetGroupVersionKind(kind)
					objects = append(objects, object)
				}
			}
		}
	}
	return objects, nil
}

// backends returns the names of all backends, from the API server.
func (r *reconciler) backends(ctx context.Context) (map[string]bool, error) {
	backends := &gimbalv1.DiscoveryBackendList{}
	if err := lists.Complete(r.live).List(ctx, backends); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("DiscoveryBackends are not served: %w", err)
		}
		return nil, fmt.Errorf("list the DiscoveryBackends: %w", err)
	}
	names := map[string]bool{}
	for i := range backends.Items {
		names[backends.Items[i].Name] = true
	}
	return names, nil
}

// clusterBindings returns the ClusterRoleBindings of all discoverers, from the API server.
func (r *reconciler) clusterBindings(ctx context.Context) ([]rbacv1.ClusterRoleBinding, error) {
	bindings := &rbacv1.ClusterRoleBindingList{}
	if err := r.live.List(ctx, bindings, client.MatchingLabels{labelName: discovererName, labelManagedBy: operatorName}); err != nil {
		return nil, fmt.Errorf("list the ClusterRoleBindings of discoverers: %w", err)
	}
	return bindings.Items, nil
}
