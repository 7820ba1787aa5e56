// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/telemetry"
)

// actionProbe is the action of all events, whose reason is that of a condition.
const actionProbe = "Probe"

// meters are the metrics of this controller.
type meters struct{ looks *prometheus.CounterVec }

// newMeters registers the metrics, or finds those of an earlier manager in the same process.
func newMeters(registry prometheus.Registerer) (*meters, error) {
	looks, err := telemetry.Register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "groundskeeper_kluster_looks_total",
		Help: "Checks of the systems behind Klusters, by target (workload or openstack) and outcome (good or failed).",
	}, []string{"target", "outcome"}))
	return &meters{looks: looks}, err
}

// RegisterMetrics registers the metrics as AddToManager does, for callers that describe them.
func RegisterMetrics(registry prometheus.Registerer) error {
	_, err := newMeters(registry)
	return err
}

// count counts a check.
func (m *meters) count(target string, good bool) {
	outcome := "failed"
	if good {
		outcome = "good"
	}
	m.looks.WithLabelValues(target, outcome).Inc()
}

// announce reports conditions and a phase that are new. A warning is what a user has to repair.
func (r *reconciler) announce(ctx context.Context, k *kubernikusv1.Kluster, next status) {
	if next.phase != "" && next.phase != k.Status.Phase {
		log.FromContext(ctx).Info("The phase of a Kluster changed", "before", k.Status.Phase, "phase", next.phase)
	}
	for _, c := range next.conditions {
		last := meta.FindStatusCondition(k.Status.Conditions, c.Type)
		if last != nil && last.Status == c.Status && last.Reason == c.Reason {
			continue
		}
		log.FromContext(ctx).Info("The state of a Kluster changed", "condition", c.Type, "status", c.Status, "reason", c.Reason, "message", c.Message)
		switch {
		case c.Type == kubernikusv1.ConditionPaused:
		case c.Status == metav1.ConditionFalse, slices.Contains([]string{reasonUnclear, reasonInsecure, reasonIgnored}, c.Reason):
			r.recorder.Eventf(k, nil, corev1.EventTypeWarning, c.Reason, actionProbe, "%s", c.Message)
		case c.Status == metav1.ConditionTrue && last != nil && last.Status == metav1.ConditionFalse:
			r.recorder.Eventf(k, nil, corev1.EventTypeNormal, c.Reason, actionProbe, "%s", c.Message)
		}
	}
}
