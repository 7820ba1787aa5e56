// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/census"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// Outcomes of a reconciliation of a Project, as a label of the metric.
const (
	outcomeStale   = "stale"
	outcomeSpared  = "spared"
	outcomeUnknown = "unknown"
	outcomeDeleted = "deleted"
)

func outcomeOf(d *decision) string {
	if d.stale {
		return outcomeStale
	}
	return outcomeSpared
}

// meters are the metrics that a reconciliation writes.
type meters struct {
	passes    *prometheus.CounterVec
	deletions prometheus.Counter
}

// newMeters registers the metrics of the controller, with those of the Projects in the cache.
func newMeters(registry prometheus.Registerer, cache client.Reader) (meters, error) {
	f := telemetry.With(registry)
	m := meters{
		passes: f.CounterVec("groundskeeper_project_stale_checks_total",
			"Checks of Projects, by outcome: stale, spared, unknown (the use of the Project could not be determined) or deleted.", "outcome"),
		deletions: f.Counter("groundskeeper_project_auto_deletions_total", "Projects that were deleted because they were unused."),
	}
	countErr := census.Gauge{
		Name: "groundskeeper_projects_stale", Help: "Stale Projects, by their deletion date: none or planned.", Labels: []string{"deletion"},
		Of: census.Count([]string{"none", "planned"}, func(project *gardenerv1beta1.Project) string {
			switch {
			case project.Status.StaleSinceTimestamp == nil:
				return ""
			case project.Status.StaleAutoDeleteTimestamp == nil:
				return "none"
			}
			return "planned"
		}),
	}.Register(registry, cache)
	nextErr := census.Gauge{
		Name: "groundskeeper_project_next_auto_deletion_timestamp_seconds",
		Help: "When the next stale Project will be deleted, in seconds since 1970. There is no sample if none is planned.",
		Of: func(projects []gardenerv1beta1.Project, set func(float64, ...string)) {
			if next := nextDeletion(projects); !next.IsZero() {
				set(float64(next.Unix()))
			}
		},
	}.Register(registry, cache)
	return m, errors.Join(f.Err(), countErr, nextErr)
}

// nextDeletion returns the earliest date of a Project that is not being deleted yet, or zero if there is none.
func nextDeletion(projects []gardenerv1beta1.Project) (earliest time.Time) {
	for i := range projects {
		at := projects[i].Status.StaleAutoDeleteTimestamp
		if at == nil || !projects[i].DeletionTimestamp.IsZero() {
			continue
		}
		if earliest.IsZero() || at.Time.Before(earliest) {
			earliest = at.Time
		}
	}
	return earliest
}

// RegisterMetrics registers the metrics like AddToManager, for the generator of their documentation.
func RegisterMetrics(registry prometheus.Registerer, cache client.Reader) error {
	_, err := newMeters(registry, cache)
	return err
}
