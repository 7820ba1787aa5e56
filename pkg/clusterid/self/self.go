// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package self reads the identity of the cluster whose objects a process manages.
package self

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cluster is the cluster that Reader, which reads from the API server, leads to. It is safe for concurrent use.
type Cluster struct {
	Reader client.Reader

	mu  sync.Mutex
	uid types.UID
}

// UID returns the uid of the namespace kube-system. It is read once: a cluster keeps its identity.
func (c *Cluster) UID(ctx context.Context) (types.UID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.uid == "" {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		if err := c.Reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace); err != nil {
			return "", fmt.Errorf("get namespace %s, to identify the management cluster: %w", metav1.NamespaceSystem, err)
		}
		c.uid = namespace.UID
	}
	return c.uid, nil
}
