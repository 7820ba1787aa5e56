// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// newCache returns a cache in addition to that of the manager, which has only the bindings of Projects. This one has managed fields, which
// show whether the fields that Groundskeeper wrote were changed, and only the metadata of Secrets.
func newCache(mgr manager.Manager) (cache.Cache, error) {
	own := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{labelName: discovererName})}
	parts, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&appsv1.Deployment{}:         own,
			&corev1.ServiceAccount{}:     own,
			&rbacv1.RoleBinding{}:        own,
			&rbacv1.ClusterRoleBinding{}: own,
			secretMetadata():             {Transform: nameAndVersion},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache of controller %s: %w", ControllerName, err)
	}
	return everywhere{parts}, nil
}

// everywhere is a cache that runs on every replica. One with options by object reports nothing of leaders, which a manager takes
// for "the leader only": a standby would wait for it indefinitely, and never be ready, so that no rollout came to its end.
type everywhere struct{ cache.Cache }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }

func secretMetadata() *metav1.PartialObjectMetadata {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return secret
}

// nameAndVersion drops all else of an object's metadata: Secrets are many, and Groundskeeper's are few.
func nameAndVersion(object any) (any, error) {
	full, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: full.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: full.Namespace, Name: full.Name, UID: full.UID, ResourceVersion: full.ResourceVersion,
	}}, nil
}

// mapper finds the backends that an object belongs to and does not name.
type mapper struct{ cache client.Reader }

// ofSecret finds the backends that refer to a Secret.
func (m mapper) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return m.find(ctx, func(backend *gimbalv1.DiscoveryBackend) bool {
		return backend.Cluster.SecretName() == secret.GetName()
	}, client.InNamespace(secret.GetNamespace()))
}

// ofClusterBinding finds the backend that a ClusterRoleBinding was made for, by its label.
func (m mapper) ofClusterBinding(ctx context.Context, binding client.Object) []reconcile.Request {
	name := binding.GetLabels()[labelInstance]
	return m.find(ctx, func(backend *gimbalv1.DiscoveryBackend) bool { return backend.Name == name })
}

func (m mapper) find(ctx context.Context, is func(*gimbalv1.DiscoveryBackend) bool, options ...client.ListOption) []reconcile.Request {
	backends := &gimbalv1.DiscoveryBackendList{}
	// Objects of a cache are read only here, so that they need not be copied.
	if err := m.cache.List(ctx, backends, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range backends.Items {
		if backend := &backends.Items[i]; is(backend) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: backend.Namespace, Name: backend.Name}})
		}
	}
	return requests
}
