// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/census"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// Reasons of the events of a Project, from Gardener.
const (
	// eventReconciled: the namespace, the roles or the quota were reconciled.
	eventReconciled = "NamespaceReconcileSuccessful"
	// eventReconcileFailed: that failed, or the namespace is unavailable.
	eventReconcileFailed = "NamespaceReconcileFailed"
	// eventNotEmpty: the Project is being deleted, but its namespace is in use.
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

func (r *reconciler) emit(project *gardenerv1beta1.Project, reason, action, message string) {
	r.recorder.Eventf(project, nil, corev1.EventTypeNormal, reason, action, "%s", bounded(message))
}

// outcome is the result of a reconciliation of a Project, as a label of the metric.
type outcome string

const (
	outcomeReady    outcome = "ready"
	outcomePaused   outcome = "paused"
	outcomeWaiting  outcome = "waiting"
	outcomeRefused  outcome = "refused"
	outcomeBlocked  outcome = "blocked"
	outcomeReleased outcome = "released"
	outcomeFailed   outcome = "failed"
	// outcomeRetried: a concurrent change, which is not reported.
	outcomeRetried outcome = "retried"
)

// registerOutcomes counts reconciliations by outcome.
func registerOutcomes(registry prometheus.Registerer) (*prometheus.CounterVec, error) {
	return telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "groundskeeper_project_reconciles_total",
		Help: "Reconciliations of Projects, by outcome: ready, paused, waiting, refused, blocked, released, failed or retried.",
	}, []string{"outcome"}))
}

// registerTimeToReady measures the time until new Projects are Ready, in seconds.
func registerTimeToReady(registry prometheus.Registerer) (prometheus.Histogram, error) {
	return telemetry.Register(registry, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "groundskeeper_project_time_to_ready_seconds",
		Help:    "Time from the creation of a Project until it is Ready for the first time. Projects that failed before are not counted.",
		Buckets: prometheus.ExponentialBuckets(0.25, 2, 12), // to 8.5 minutes; creation times are whole seconds
	}))
}

// registerPhases counts the Projects in a cache by phase.
func registerPhases(registry prometheus.Registerer, cache client.Reader) error {
	return census.Census{
		Name: "groundskeeper_projects", Help: "Projects, by phase: Pending, Ready, Failed or Terminating.", Label: "phase",
		Values: []string{
			string(gardenerv1beta1.ProjectPending), string(gardenerv1beta1.ProjectReady),
			string(gardenerv1beta1.ProjectFailed), string(gardenerv1beta1.ProjectTerminating),
		},
		Of: func(project *gardenerv1beta1.Project) string {
			return string(cmp.Or(project.Status.Phase, gardenerv1beta1.ProjectPending))
		},
	}.Register(registry, cache)
}

// RegisterMetrics registers the metrics like AddToManager, for the generator of their documentation. It counts the Projects in
// the cache.
func RegisterMetrics(registry prometheus.Registerer, cache client.Reader) error {
	_, outcomes := registerOutcomes(registry)
	_, timeToReady := registerTimeToReady(registry)
	return errors.Join(outcomes, timeToReady, registerPhases(registry, cache))
}
