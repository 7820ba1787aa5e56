// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
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
	for i := range backends {
		backend := &backends[i]
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
	for i := range secrets {
		secret := &secrets[i]
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

const reasonChanged = "it was changed meanwhile, and is rechecked"
