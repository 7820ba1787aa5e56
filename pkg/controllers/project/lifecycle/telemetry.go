// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// Reasons of the events on a Project, Gardener's.
const (
	// eventReconciled: the namespace, the roles or the quota were brought into order.
	eventReconciled = "NamespaceReconcileSuccessful"
	// eventReconcileFailed: that did not succeed, or the namespace cannot be had.
	eventReconcileFailed = "NamespaceReconcileFailed"
	// eventNotEmpty: the project is to be deleted, but its namespace is in use.
	eventNotEmpty = "NamespaceNotEmpty"
	// eventDeletionFailed: the namespace could not be released.
	eventDeletionFailed = "NamespaceDeletionFailed"
	// eventMarkedForDeletion: the namespace is being deleted.
	eventMarkedForDeletion = "NamespaceMarkedForDeletion"
)

// Actions of the events.
const (
	actionReconcile = "Reconcile"
	actionDelete    = "Delete"
)

func (r *reconciler) warn(project *gardenerv1beta1.Project, reason, action, message string) {
	r.recorder.Eventf(project, nil, corev1.EventTypeWarning, reason, action, "%s", bounded(message))
}

func (r *reconciler) tell(project *gardenerv1beta1.Project, reason, action, message string) {
	r.recorder.Eventf(project, nil, corev1.EventTypeNormal, reason, action, "%s", bounded(message))
}

// outcome is how a pass over a Project ended, as a label of the metric.
type outcome string

const (
	outcomeReady    outcome = "ready"
	outcomePaused   outcome = "paused"
	outcomeWaiting  outcome = "waiting"
	outcomeRefused  outcome = "refused"
	outcomeBlocked  outcome = "blocked"
	outcomeReleased outcome = "released"
	outcomeFailed   outcome = "failed"
	// outcomeRetried: something changed under the pass, which is not worth telling.
	outcomeRetried outcome = "retried"
)

// registerOutcomes counts passes by outcome. A registry that has the metric already, from an earlier manager in the
// same process, goes on counting.
func registerOutcomes(registry prometheus.Registerer) (*prometheus.CounterVec, error) {
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "groundskeeper_project_reconciles_total",
		Help: "Passes over Projects, by outcome: ready, paused, waiting, refused, blocked, released, failed or retried.",
	}, []string{"outcome"})
	err := registry.Register(outcomes)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(*prometheus.CounterVec); ok {
			return existing, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("register the metrics of controller %s: %w", ControllerName, err)
	}
	return outcomes, nil
}
