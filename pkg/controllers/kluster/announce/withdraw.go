// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Kinds in reports.
const (
	kindBackend = "DiscoveryBackend"
	kindSecret  = "Secret"
)

// Withdraw moves traffic away from the cluster and takes its announcement back, one step at each call: Maintenance, wait until
// Drained, delete the backend (uid precondition), wait until it has been deleted, delete the Secret. Remaining is empty when there
// is none. Only what carries the labels of this very Kluster is touched, in whatever namespace it is. Nothing is done by an
// incomplete listing, which is an error, as is an API server that does not do what it has to.
//
// The client writes, live reads from the API server. Calling it again after the end does nothing.
func Withdraw(ctx context.Context, c client.Client, live client.Reader, k *kubernikusv1.Kluster) (stage.Report, error) {
	report, err := withdraw(ctx, c, live, k, "")
	if !errors.Is(err, errNotServed) {
		return report, err
	}
	// A Kluster that was never announced need not wait for an API that may never come.
	if current(k) != nil {
		report.Remaining = append(report.Remaining, kubernikusv1.DeorbitObject{Kind: kindBackend, Name: k.Name,
			Reason: "it is unknown whether it exists: " + err.Error()})
	}
	return report, nil
}

// withdraw does so everywhere but in the namespace to keep. It wraps errNotServed when there are no DiscoveryBackends.
func withdraw(ctx context.Context, c client.Client, live client.Reader, k *kubernikusv1.Kluster, keep string) (stage.Report, error) {
	var report stage.Report
	backends, err := backendsOf(ctx, live, k)
	if err != nil {
		return report, err
	}
	for _, backend := range backends {
		if backend.Namespace == keep {
			continue
		}
		deleted, reason, err := take(ctx, c, k, backend)
		if err != nil {
			return report, err
		}
		entry := kubernikusv1.DeorbitObject{Kind: kindBackend, Namespace: backend.Namespace, Name: backend.Name}
		if deleted {
			report.Deleted = append(report.Deleted, entry)
		}
		entry.Reason = reason
		report.Remaining = append(report.Remaining, entry)
	}
	if len(report.Remaining) > 0 {
		return report, nil
	}
	secrets, err := secretsOf(ctx, live, k)
	if err != nil {
		return report, err
	}
	for _, secret := range secrets {
		// One that is being deleted already is not waited for: it is not needed, and a finalizer on it is not owned by
		// Groundskeeper.
		if secret.Namespace == keep || !secret.DeletionTimestamp.IsZero() {
			continue
		}
		entry := kubernikusv1.DeorbitObject{Kind: kindSecret, Namespace: secret.Namespace, Name: secret.Name}
		switch err := remove(ctx, c, secret); {
		case apierrors.IsConflict(err):
			entry.Reason = reasonChanged
			report.Remaining = append(report.Remaining, entry)
		case err != nil:
			return report, err
		default:
			report.Deleted = append(report.Deleted, entry)
		}
	}
	return report, nil
}

// reasonChanged is the reason of an object that was changed concurrently.
const reasonChanged = "it was changed meanwhile, and is rechecked"

// take does the next step of the withdrawal of a backend, and reports why it is still there.
func take(ctx context.Context, c client.Client, k *kubernikusv1.Kluster, backend *gimbalv1.DiscoveryBackend) (deleted bool, reason string, err error) {
	step, reason := nextStep(k, backend)
	switch step {
	case stepMaintain:
		err = c.Apply(ctx, maintained(k, backend), client.FieldOwner(fieldOwner), client.ForceOwnership, client.DisableReadYourWritesConsistency)
		if err == nil {
			log.FromContext(ctx).Info("Set the backend of a Kluster to Maintenance, to withdraw it", "backend", client.ObjectKeyFromObject(backend))
		}
	case stepDelete:
		err = remove(ctx, c, backend)
		deleted = err == nil
	}
	switch {
	case apierrors.IsConflict(err):
		return false, reasonChanged, nil
	case err != nil:
		return false, "", fmt.Errorf("withdraw DiscoveryBackend %s: %w", client.ObjectKeyFromObject(backend), err)
	}
	return deleted, reason, nil
}

// remove deletes the very object that was read, in the state in which it was read. One that has been deleted is fine.
func remove(ctx context.Context, c client.Client, object client.Object) error {
	kind := kindBackend
	if _, secret := object.(*metav1.PartialObjectMetadata); secret {
		kind = kindSecret
	}
	if err := c.Delete(ctx, object, client.Preconditions(kit.AsRead(object)), client.DisableReadYourWritesConsistency); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", kind, client.ObjectKeyFromObject(object), err)
	}
	log.FromContext(ctx).Info("Deleted what announced a Kluster", "kind", kind, "object", client.ObjectKeyFromObject(object))
	return nil
}

// backendsOf returns the DiscoveryBackends that announce a Kluster: one, as their names are unique.
func backendsOf(ctx context.Context, live client.Reader, k *kubernikusv1.Kluster) ([]*gimbalv1.DiscoveryBackend, error) {
	all := &gimbalv1.DiscoveryBackendList{}
	if err := lists.Complete(live).List(ctx, all, madeFor(k)); isUnknown(err) {
		return nil, errNotServed
	} else if err != nil {
		return nil, fmt.Errorf("list the DiscoveryBackends of Kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	var found []*gimbalv1.DiscoveryBackend
	for i := range all.Items {
		if backend := &all.Items[i]; isOwn(k, backend) && backend.Name == k.Name {
			found = append(found, backend)
		}
	}
	return found, nil
}

// secretsOf returns the metadata of the Secrets that were made for the DiscoveryBackend of a Kluster.
func secretsOf(ctx context.Context, live client.Reader, k *kubernikusv1.Kluster) ([]*metav1.PartialObjectMetadata, error) {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := lists.Complete(live).List(ctx, all, madeFor(k)); err != nil {
		return nil, fmt.Errorf("list the metadata of the Secrets that announce Kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	var found []*metav1.PartialObjectMetadata
	for i := range all.Items {
		if secret := &all.Items[i]; isOwn(k, secret) && secret.Name == secretName(k) {
			found = append(found, secret)
		}
	}
	return found, nil
}

// madeFor selects what was made for a Kluster. The name is left out: it may be longer than a label can be.
func madeFor(k *kubernikusv1.Kluster) client.ListOption {
	return client.MatchingLabels{LabelUID: string(k.UID)}
}

// errNotServed means that the API server knows no DiscoveryBackends, so that it is unknown which exist.
var errNotServed = errors.New("the API server does not serve " + gimbalv1.GroupName)

// isUnknown reports whether a listing failed because there is no such kind.
func isUnknown(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }
