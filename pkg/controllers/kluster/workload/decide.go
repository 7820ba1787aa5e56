// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/routegc"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

type plan struct {
	// nodes is true if Route GC is to be notified of nodes that disappear.
	nodes bool
	// volumes are the settings of the local volume cleanup; nil: it does not run.
	volumes *configv1alpha1.LocalVolumeConfiguration
	// why reports why it does not although it is requested; nil: it is not requested.
	why *metav1.Condition
}

func (p plan) idle() bool { return !p.nodes && p.volumes == nil }

// planFor decides what a Kluster needs. heard reports that a subscriber is interested in nodes.
func planFor(k *kubernikusv1.Kluster, config *configv1alpha1.ControllersConfiguration, heard bool) plan {
	p := plan{nodes: heard && routegc.Enabled(k, config.Kluster.RouteGC)}
	own := k.Spec.LocalVolumeCleanup
	if own == nil {
		return p
	}
	not := func(status metav1.ConditionStatus, reason, message string) plan {
		p.why = cleanup(status, reason, message)
		return p
	}
	switch {
	case !k.DeletionTimestamp.IsZero():
		return not(metav1.ConditionFalse, ReasonStopped, "local volumes are not cleaned up any more, because the Kluster is being deleted")
	case k.Detached():
		return not(metav1.ConditionFalse, ReasonStopped,
			"local volumes are not cleaned up while the annotation "+kubernikusv1.DetachAnnotation+" is there")
	case kit.IsPaused(k):
		return not(metav1.ConditionUnknown, ReasonPaused,
			"local volumes are not cleaned up while the annotation groundskeeper.io/paused is there")
	case len(own.StorageClassNames) == 0:
		return not(metav1.ConditionFalse, ReasonNotConfigured, "spec.localVolumeCleanup.storageClassNames is empty: name the storage "+
			"classes whose local volumes are to be cleaned up")
	}
	settings := config.LocalVolume.DeepCopy()
	settings.StorageClassNames = own.StorageClassNames
	if own.PVCDeletionDelay != nil {
		settings.PVCDeletionDelay = own.PVCDeletionDelay
	}
	if own.MaxMissingNodeFraction != nil {
		settings.MaxMissingNodeFraction = own.MaxMissingNodeFraction
	}
	p.volumes = settings
	return p
}

// reject reports why there can be no session.
func (p *plan) reject(message string) {
	p.nodes = false
	if p.volumes == nil {
		return
	}
	p.volumes = nil
	p.why = cleanup(metav1.ConditionFalse, ReasonNotConfigured, message)
}
