// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
)

// attempts is how often a record is tried to be written that others change at the same time.
const attempts = 5

// Rejection is the error of a cluster that must not be copied.
type Rejection struct{ report.Problem }

// Error implements error.
func (r *Rejection) Error() string { return r.Message }

// LocalError is an error of this cluster, not of the backend: the record cannot be read or written at the moment.
type LocalError struct{ err error }

// Error implements error.
func (e *LocalError) Error() string { return fmt.Sprint(e.err) }

// Unwrap returns the cause.
func (e *LocalError) Unwrap() error { return e.err }

// Keeper compares the connected cluster with the one that the status of the DiscoveryBackend records, and records the
// first one.
type Keeper struct {
	Client          report.Client
	Namespace, Name string

	mu sync.Mutex
	// accepted is the cluster that was accepted last, to which the copies belong.
	accepted []gimbalv1.ClusterIdentity
	// unidentified is true after it was logged that nothing identifies the cluster.
	unidentified bool
}

// Check returns nil if the cluster with this identity may be copied. It is a *Rejection if it must not be, and a *LocalError if
// that is unknown. Without a DiscoveryBackend the first cluster of the process is the one that is copied.
func (k *Keeper) Check(ctx context.Context, observed []gimbalv1.ClusterIdentity) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(observed) > 0 && slices.Equal(observed, k.accepted) {
		return nil
	}
	for attempt := 1; ; attempt++ {
		err := k.check(ctx, observed)
		if apierrors.IsConflict(err) && attempt < attempts {
			continue
		}
		return err
	}
}

func (k *Keeper) check(ctx context.Context, observed []gimbalv1.ClusterIdentity) error {
	backend, err := k.Client.Get(ctx, k.Name, metav1.GetOptions{})
	exists := err == nil
	switch {
	case exists:
	case apierrors.IsNotFound(err):
		backend = &gimbalv1.DiscoveryBackend{Status: gimbalv1.DiscoveryBackendStatus{Identity: k.accepted}}
	default:
		return &LocalError{fmt.Errorf("get DiscoveryBackend %s/%s: %w", k.Namespace, k.Name, err)}
	}
	recorded := backend.Status.Identity
	v, next := decide(recorded, observed, backend.Annotations[gimbalv1.AnnotationConfirmedCluster])
	if !v.accepted() {
		return &Rejection{problem(v, k.Name, recorded, observed)}
	}
	if exists && !slices.Equal(recorded, next) {
		if err := report.Identity(ctx, k.Client, backend, next); err != nil {
			return &LocalError{fmt.Errorf("record the identity of the backend in the status of DiscoveryBackend %s/%s: %w",
				k.Namespace, k.Name, err)}
		}
	}
	k.log(ctx, v, recorded, observed)
	// The observed identity, not the recorded one, which may have more.
	k.accepted = slices.Clone(observed)
	return nil
}

// log logs what is new about the cluster.
func (k *Keeper) log(ctx context.Context, v verdict, recorded, observed []gimbalv1.ClusterIdentity) {
	logger := logr.FromContextOrDiscard(ctx)
	switch v {
	case first:
		logger.Info("Recorded the identity of the backend", "identity", observed)
	case confirmed:
		logger.Info("The backend is another cluster, which was confirmed: its services replace the copies",
			"identity", observed, "previous", recorded)
	case unidentified:
		if !k.unidentified {
			logger.Info("The credentials do not permit to read Namespace kube-system or Service default/kubernetes: another cluster would not be " +
				"recognized")
		}
		k.unidentified = true
	default:
	}
}

// problem returns what a rejected cluster is reported as.
func problem(v verdict, name string, recorded, observed []gimbalv1.ClusterIdentity) report.Problem {
	if v == unreadable {
		return report.Problem{Type: gimbalv1.ErrorAuthentication, Message: fmt.Sprintf(
			"the credentials do not permit to read %s, by which the cluster is recognized, so that nothing is written or deleted: permit their "+
				"user to get it",
			recorded[0].Object)}
	}
	now, old := observed[0], recorded[0]
	if i := find(recorded, now.Object); i >= 0 {
		old = recorded[i]
	}
	return report.Problem{Type: gimbalv1.ErrorAnotherCluster, Message: fmt.Sprintf(
		"the credentials lead to another cluster: %s has the id %s, not %s, so that nothing is written or deleted: correct the Secret, "+
			"or if this cluster replaces the other one, confirm it by the annotation %s: %s on DiscoveryBackend %s",
		now.Object, now.ID, old.ID, gimbalv1.AnnotationConfirmedCluster, now.ID, name)}
}
