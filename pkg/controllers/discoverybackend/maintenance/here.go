// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

// here reads the identity of the cluster in which the controller runs, once: a cluster keeps its identity.
type here struct {
	live client.Reader

	mu    sync.Mutex
	known []gimbalv1.ClusterIdentity
}

// identity returns the identity of the cluster, nil while it cannot be read: then no backend is known to be this cluster.
func (h *here) identity(ctx context.Context) []gimbalv1.ClusterIdentity {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known != nil {
		return h.known
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := h.live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace); err != nil {
		log.FromContext(ctx).V(1).Info("Failed to read the identity of this cluster", "err", err)
		return nil
	}
	h.known = clusterid.OfUID(string(namespace.UID))
	return h.known
}
