// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"github.com/prometheus/client_golang/prometheus"

	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// Metrics are the metrics of both controllers. The counters of deletions have the original's names, and count all
// clusters of the process together.
type Metrics struct {
	VolumesDeleted, VolumesFailed *prometheus.CounterVec
	ClaimsDeleted, ClaimsFailed   prometheus.Counter
	EventsLost                    prometheus.Counter
	// The gauges have the name of the cluster as their label.
	Missing, NotNodeBound, Unsupported, Brake, Held, Unrecorded *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	const original = "local_volume_node_cleanup_"
	f := telemetry.With(registry)
	byPhase := func(name, help string) *prometheus.CounterVec { return f.CounterVec(original+name, help, "phase") }
	gauge := func(name, help string) *prometheus.GaugeVec {
		return f.GaugeVec("groundskeeper_local_volume_"+name, help, "cluster")
	}
	m := &Metrics{
		VolumesDeleted: byPhase("persistentvolume_delete_total", "Persistent volumes deleted, by their phase."),
		VolumesFailed: byPhase("persistentvolume_delete_failed_total",
			"Deletions of persistent volumes that failed, by the phase of the volume."),
		ClaimsDeleted: f.Counter(original+"persistentvolumeclaim_delete_total", "Persistent volume claims deleted."),
		ClaimsFailed:  f.Counter(original+"persistentvolumeclaim_delete_failed_total", "Deletions of persistent volume claims that failed."),
		EventsLost: f.Counter("groundskeeper_local_volume_events_lost_total",
			"Events that were not recorded: too many in a short time, or rejected."),
		Missing:      gauge("missing_nodes", "Nodes that opted-in local volumes name, but do not exist."),
		NotNodeBound: gauge("not_node_bound", "Opted-in local volumes that do not name their nodes and are never changed or deleted."),
		Unsupported: gauge("unsupported_source",
			"Volumes of opted-in classes whose source is not enabled and that are never changed or deleted."),
		Brake:      gauge("brake_engaged", "1 while so many nodes are missing that nothing is deleted."),
		Held:       gauge("held_volumes", "Volumes of missing nodes that are being deleted and have a finalizer of another owner."),
		Unrecorded: gauge("record_failed", "1 while the record of missing nodes cannot be written."),
	}
	return m, f.Err()
}

// Drop removes the gauges of a cluster that is no longer checked.
func (m *Metrics) Drop(cluster string) {
	for _, gauge := range []*prometheus.GaugeVec{m.Missing, m.NotNodeBound, m.Unsupported, m.Brake, m.Held, m.Unrecorded} {
		gauge.DeleteLabelValues(cluster)
	}
}
