// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// Of returns the summary that an object has, and since when Ready has its status; the time is zero if that is unknown. Beside Gardener
// another server stores the object and writes no summary: then it is the one that the API server would write.
func Of(object runtime.Object) (s Summary, since time.Time) {
	var list []metav1.Condition
	var generation int64
	switch o := object.(type) {
	case *gardenerv1beta1.Project:
		s, list, generation = ProjectSummary(o), projectConditions(o), o.Generation
	case *kubernikusv1.Kluster:
		s, list, generation = KlusterSummary(o), o.Status.Conditions, o.Generation
	case *gimbalv1.DiscoveryBackend:
		s, list, generation = DiscoveryBackendSummary(o), o.Status.Conditions, o.Generation
	case *midonetv1.Translation:
		s, list, generation = TranslationSummary(o), o.Status.Conditions, o.Generation
	}
	ready := meta.FindStatusCondition(list, Ready)
	switch {
	case ready == nil:
		return s, since
	case ready.ObservedGeneration != generation:
		return Summary{Ready: metav1.ConditionUnknown, Reason: ReasonProgressing,
			Message: fmt.Sprintf("condition %s has not been reported for generation %d yet", Ready, generation)}, since
	}
	return Summary{Ready: ready.Status, Stalled: meta.IsStatusConditionTrue(list, Stalled), Reason: ready.Reason, Message: ready.Message},
		ready.LastTransitionTime.Time
}

// projectConditions returns the conditions of a Project in the form of Kubernetes. They have no generation.
func projectConditions(p *gardenerv1beta1.Project) (list []metav1.Condition) {
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		list = append(list, metav1.Condition{Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
			ObservedGeneration: p.Generation, LastTransitionTime: c.LastTransitionTime})
	}
	return list
}
