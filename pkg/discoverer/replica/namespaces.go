// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
)

// namespaceReady reports whether the namespace of a service is there to be written to. When it is missing, the policy specifies
// what happens.
func (r *Replica) namespaceReady(ctx context.Context, key types.NamespacedName) (bool, error) {
	if r.local.namespaces == nil {
		return true, nil
	}
	namespace, exists := r.local.namespaces.Get("", key.Namespace)
	switch {
	case exists && namespace.Status.Phase != corev1.NamespaceTerminating:
		r.waitFor(key, "")
		return true, nil
	case r.Policy.Missing == gimbalv1.MissingNamespaceIgnore:
		return false, nil
	case r.Policy.Missing == gimbalv1.MissingNamespaceCreate && !exists:
		// The watch delivers an event when it is created.
		return false, r.createNamespace(ctx, key.Namespace)
	default:
		r.waitFor(key, key.Namespace)
		return false, nil
	}
}

func (r *Replica) createNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{desired.LabelManagedBy: desired.Manager}}}
	_, err := r.Client.Namespaces().Create(ctx, namespace, metav1.CreateOptions{FieldManager: desired.Manager})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return &obstacle{report.Problem{Type: gimbalv1.ErrorNamespaceMissing, Message: fmt.Sprintf(
			"namespace %s cannot be created, create it yourself: %s", name, err)}}
	default:
		return fmt.Errorf("create namespace %s: %w", name, err)
	}
}

// waitFor notes that a service waits for its namespace, "" that it does not. The error is reported once for each namespace, and is
// removed with the last service.
func (r *Replica) waitFor(key types.NamespacedName, namespace string) {
	r.mu.Lock()
	waiting := r.waiting[key.Namespace]
	before := len(waiting)
	if namespace == "" {
		waiting.Delete(key)
		if before > 0 && len(waiting) == 0 {
			delete(r.waiting, key.Namespace)
		}
	} else {
		if waiting == nil {
			waiting = sets.New[types.NamespacedName]()
			r.waiting[key.Namespace] = waiting
		}
		waiting.Insert(key)
	}
	after := len(waiting)
	r.mu.Unlock()
	subject := "namespace " + key.Namespace
	switch {
	case before == 0 && after > 0:
		r.Meters.Error(gimbalv1.ErrorNamespaceMissing)
		r.Ledger.Set(subject, report.Problem{Type: gimbalv1.ErrorNamespaceMissing, Message: fmt.Sprintf(
			"namespace %s does not exist here, its services wait: create it, or change cluster.namespaces of the DiscoveryBackend", key.Namespace)})
	case before > 0 && after == 0:
		r.Ledger.Set(subject)
	}
}

// namespaceChanged has the services of a namespace checked.
func (r *Replica) namespaceChanged(name string) {
	r.mu.Lock()
	working := r.working
	r.mu.Unlock()
	if !working {
		return
	}
	for _, key := range r.Upstream.Keys() {
		if key.Namespace == name {
			r.queue.Add(key)
		}
	}
}
