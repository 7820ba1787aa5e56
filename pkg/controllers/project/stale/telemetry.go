// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
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

// Values of the label of the gauge: whether a stale Project has a deletion date.
const (
	withoutDate = "none"
	withDate    = "planned"
)

// register creates the metrics of the controller.
func register(registry prometheus.Registerer, cache client.Reader) (passes *prometheus.CounterVec, deletions prometheus.Counter, err error) {
	passes, err = telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "groundskeeper_project_stale_checks_total",
		Help: "Checks of Projects, by outcome: stale, spared, unknown (the use of the Project could not be determined) or deleted.",
	}, []string{"outcome"}))
	if err != nil {
		return nil, nil, err
	}
	deletions, err = telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "groundskeeper_project_auto_deletions_total",
		Help: "Projects that were deleted because they were unused.",
	}))
	if err != nil {
		return nil, nil, err
	}
	err = census.Census{
		Name: "groundskeeper_projects_stale", Help: "Stale Projects, by their deletion date: none or planned.", Label: "deletion",
		Values: []string{withoutDate, withDate},
		Of: func(project *gardenerv1beta1.Project) string {
			switch {
			case project.Status.StaleSinceTimestamp == nil:
				return ""
			case project.Status.StaleAutoDeleteTimestamp == nil:
				return withoutDate
			}
			return withDate
		},
	}.Register(registry, cache)
	if err != nil {
		return nil, nil, err
	}
	return passes, deletions, registerNext(registry, cache)
}

// RegisterMetrics registers the metrics like AddToManager, for the generator of their documentation. It counts the Projects in
// the cache.
func RegisterMetrics(registry prometheus.Registerer, cache client.Reader) error {
	_, _, err := register(registry, cache)
	return err
}
