// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/census"
	"groundskeeper.io/groundskeeper/pkg/controllers/telemetry"
)

// How a pass over a Project ended, as a label of the metric.
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

// Values of the label of the gauge: whether a stale Project has a date of deletion.
const (
	withoutDate = "none"
	withDate    = "planned"
)

// register makes the metrics of the controller.
func register(registry prometheus.Registerer, cache client.Reader) (passes *prometheus.CounterVec, deletions prometheus.Counter, err error) {
	passes, err = telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "groundskeeper_project_stale_checks_total",
		Help: "Looks at Projects, by outcome: stale, spared, unknown (it cannot be told what uses the Project) or deleted.",
	}, []string{"outcome"}))
	if err != nil {
		return nil, nil, err
	}
	deletions, err = telemetry.Register(registry, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "groundskeeper_project_auto_deletions_total",
		Help: "Projects that were deleted because nobody used them.",
	}))
	if err != nil {
		return nil, nil, err
	}
	err = census.Census{
		Name: "groundskeeper_projects_stale", Help: "Stale Projects, by their date of deletion: none or planned.", Label: "deletion",
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

// RegisterMetrics registers the metrics as AddToManager does, for whoever describes them. It counts what the cache has.
func RegisterMetrics(registry prometheus.Registerer, cache client.Reader) error {
	_, _, err := register(registry, cache)
	return err
}
