// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// settings are what decides about the way through the stages, besides what the checks show.
type settings struct {
	timeout, stageTimeout, apiUnavailableTimeout time.Duration
	// routesResync is how long removed routes have to stay away.
	routesResync time.Duration
	// cloud is true when there is an OpenStack project to check, and workload when there may be a workload cluster.
	cloud, workload bool
	// project is the id of the OpenStack project, "" as long as unknown.
	project string
	// selfDestruct is true when an annotation ends Deorbit immediately.
	selfDestruct bool
}

// settingsOf are the settings of a Kluster: its own, else those of the configuration. Data is that of its Secret, nil when there is
// none. Without a cloud there is nothing to wait for in a cluster that nothing leads to; with one, the kubeconfig may still come.
func settingsOf(k *kubernikusv1.Kluster, config configv1alpha1.DeorbitConfiguration, data map[string][]byte) settings {
	own, project := &k.Spec.Deorbit, ""
	if k.Status.Openstack != nil {
		project = k.Status.Openstack.ProjectID
	}
	return settings{
		timeout:               duration(own.Timeout, config.Timeout),
		stageTimeout:          duration(own.StageTimeout, config.StageTimeout),
		apiUnavailableTimeout: duration(own.APIUnavailableTimeout, config.APIUnavailableTimeout),
		routesResync:          routesResync(config.PollInterval.Duration),
		cloud:                 !k.Spec.NoCloud,
		workload:              !k.Spec.NoCloud || kluster.HasWorkload(data),
		project:               project,
		selfDestruct:          k.SelfDestructs(),
	}
}

// policiesOf report what becomes of which objects of a Kluster. What is unset is as the API server defaults it.
func policiesOf(k *kubernikusv1.Kluster, config configv1alpha1.DeorbitConfiguration) stage.Policies {
	own := &k.Spec.Deorbit
	return stage.Policies{
		PersistentVolumes:  cmp.Or(own.PersistentVolumes, kubernikusv1.DeletionPolicyDelete),
		LoadBalancers:      cmp.Or(own.LoadBalancers, kubernikusv1.DeletionPolicyDelete),
		FloatingIPs:        cmp.Or(own.FloatingIPs, kubernikusv1.DeletionPolicyDelete),
		Snapshots:          cmp.Or(own.Snapshots, kubernikusv1.DeletionPolicyDelete),
		UnseenVolumes:      cmp.Or(own.UnseenVolumes, kubernikusv1.DeletionPolicyRetain),
		ServiceGracePeriod: duration(own.ServiceGracePeriod, config.ServiceGracePeriod),
	}
}

func duration(own, fallback *metav1.Duration) time.Duration {
	if own != nil {
		return own.Duration
	}
	return fallback.Duration
}

// isInCluster reports whether a stage works inside the workload cluster.
func isInCluster(s kubernikusv1.DeorbitStage) bool {
	switch s {
	case kubernikusv1.DeorbitFreeze, kubernikusv1.DeorbitPods, kubernikusv1.DeorbitSnapshots,
		kubernikusv1.DeorbitClaims, kubernikusv1.DeorbitServices, kubernikusv1.DeorbitWait:
		return true
	default:
		return false
	}
}

// has reports whether a stage has anything to do.
func (s settings) has(which kubernikusv1.DeorbitStage) bool {
	switch {
	case isInCluster(which):
		return s.workload
	case which == kubernikusv1.DeorbitVerify, which == kubernikusv1.DeorbitRoutes:
		return s.cloud
	default:
		return true
	}
}

// after is the next stage behind one that passes. Behind a stage that is not known it is the first.
func (s settings) after(which kubernikusv1.DeorbitStage, passes func(kubernikusv1.DeorbitStage) bool) kubernikusv1.DeorbitStage {
	found := false
	for _, next := range kubernikusv1.DeorbitStages() {
		if found && s.has(next) && passes(next) {
			return next
		}
		found = found || next == which
	}
	if !found {
		return kubernikusv1.DeorbitDrain
	}
	return kubernikusv1.DeorbitRelease
}
