// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/census"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

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

// meters are the metrics that a reconciliation writes.
type meters struct {
	outcomes *prometheus.CounterVec
	// timeToReady receives the time until a new Project is Ready.
	timeToReady prometheus.Observer
}

// newMeters registers the metrics of the controller. It counts the Projects in the cache.
func newMeters(registry prometheus.Registerer, cache client.Reader) (meters, error) {
	f := telemetry.With(registry)
	m := meters{
		outcomes: f.CounterVec("groundskeeper_project_reconciles_total",
			"Reconciliations of Projects, by outcome: ready, paused, waiting, refused, blocked, released, failed or retried.", "outcome"),
		timeToReady: f.Histogram("groundskeeper_project_time_to_ready_seconds",
			"Time from the creation of a Project until it is Ready for the first time. Projects that failed before are not counted.",
			prometheus.ExponentialBuckets(0.25, 2, 12)), // to 8.5 minutes; creation times are whole seconds
	}
	phasesErr := census.Gauge{
		Name: "groundskeeper_projects", Help: "Projects, by phase: Pending, Ready, Failed or Terminating.", Labels: []string{"phase"},
		Of: census.Count([]string{
			string(gardenerv1beta1.ProjectPending), string(gardenerv1beta1.ProjectReady),
			string(gardenerv1beta1.ProjectFailed), string(gardenerv1beta1.ProjectTerminating),
		}, func(project *gardenerv1beta1.Project) string {
			return string(cmp.Or(project.Status.Phase, gardenerv1beta1.ProjectPending))
		}),
	}.Register(registry, cache)
	return m, errors.Join(f.Err(), phasesErr)
}

// RegisterMetrics registers the metrics like AddToManager, for the generator of their documentation.
func RegisterMetrics(registry prometheus.Registerer, cache client.Reader) error {
	_, err := newMeters(registry, cache)
	return err
}
