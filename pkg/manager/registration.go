// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/maintenance"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/operator"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/announce"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit"
	klusterlifecycle "groundskeeper.io/groundskeeper/pkg/controllers/kluster/lifecycle"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/routegc"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/workload"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/cleanup"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/activity"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/lifecycle"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/stale"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/annotate"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/converter"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push"
)

// controllers returns all controllers, in the order in which they are added. Those that write to systems that do not check the Lease use
// the fence. It may be nil if only the list is needed.
func controllers(fence *Fence) []controller {
	s := newShared(fence)
	projects := []schema.GroupVersion{gardenerv1beta1.SchemeGroupVersion}
	backends := []schema.GroupVersion{gimbalv1.SchemeGroupVersion}
	translations := []schema.GroupVersion{midonetv1.SchemeGroupVersion}
	klusters := []schema.GroupVersion{kubernikusv1.SchemeGroupVersion}
	return []controller{
		{name: lifecycle.ControllerName, apis: projects, cache: always(lifecycle.CacheOptions), add: s.addProject},
		{name: stale.ControllerName, apis: projects, add: s.addStale},
		{name: activity.ControllerName, apis: projects, add: s.addActivity},
		{name: operator.ControllerName, apis: backends, waits: withoutImage, needs: discoveryGrant, own: &s.backends, add: s.addOperator},
		// Those of kluster-discovery and kluster-capi, too, wait themselves for kinds that the cluster may not serve; this one for
		// DiscoveryBackends: the cluster may have other discoverers, or no backends.
		{name: maintenance.ControllerName, add: s.addMaintenance},
		{
			name: converter.ControllerName, off: noBackend, needs: rangesGrant, apis: translations, cache: translationCache, whole: s.translations,
			add: s.addConverter,
		},
		{name: annotate.ControllerName, off: noHosts, add: s.addAnnotate},
		{name: push.ControllerName, off: noBackend, apis: translations, add: s.addPush},
		{
			name: klusterlifecycle.ControllerName, off: noKlusters, needs: klusterGrant, apis: klusters,
			cache: always(klusterlifecycle.CacheOptions), add: s.addKluster,
		},
		{name: deorbit.ControllerName, off: noKlusters, needs: klusterGrant, apis: klusters, add: s.addDeorbit},
		{name: routegc.ControllerName, off: noKlusters, needs: klusterGrant, apis: klusters, add: s.addRouteGC},
		{name: workload.ControllerName, off: noKlusters, needs: klusterGrant, apis: klusters, add: s.addWorkload},
		{name: announce.ControllerName, off: noKlusters, needs: klusterGrant, apis: klusters, add: s.addAnnounce},
		{name: clusterapi.ControllerName, off: noClusterAPI, needs: clusterAPIGrant, apis: klusters, add: s.addClusterAPI},
		{name: cleanup.ControllerName, cache: always(localvolume.CacheOptions), add: s.addCleanup},
		// The cleanup adds it: it is part of that one.
		{name: cleanup.DeleterName, off: noCleanup},
		// No controller: it serves on every replica, so run starts it.
		{name: webhooksName},
	}
}

// withoutImage reports that the operator runs no discoverers. Then there may be no DiscoveryBackends at all.
func withoutImage(config *v1alpha1.ControllersConfiguration) bool {
	return config.Discovery.Image == ""
}

func translationCache(config *v1alpha1.ControllersConfiguration) (restrictions, error) {
	return converter.CacheOptions(config.Translation), nil
}

// noHosts reports that there is nothing that knows the hosts of Nodes.
func noHosts(config *v1alpha1.ControllersConfiguration) string {
	if config.Translation.Configured() == v1alpha1.BackendOVN && len(config.Translation.OVN.SouthboundEndpoints) == 0 {
		return "controllers.translation.ovn.southboundEndpoints is empty"
	}
	return noBackend(config)
}

// noBackend reports that the controllers of Translations have no backend.
func noBackend(config *v1alpha1.ControllersConfiguration) string {
	if config.Translation.Configured() == "" {
		return "controllers.translation.midonet.url and controllers.translation.ovn.endpoints are empty"
	}
	return ""
}

// noKlusters returns the reason if the controllers of Klusters are disabled, which is the default, because they need permissions to read
// Secrets.
func noKlusters(config *v1alpha1.ControllersConfiguration) string {
	if config.Kluster.Enabled == nil || !*config.Kluster.Enabled {
		return "controllers.kluster.enabled is false"
	}
	return ""
}

// noClusterAPI returns the reason if the controller for clusters of Cluster API is disabled, which is the default.
func noClusterAPI(config *v1alpha1.ControllersConfiguration) string {
	if why := noKlusters(config); why != "" {
		return why
	}
	if config.Kluster.ClusterAPI.Enabled == nil || !*config.Kluster.ClusterAPI.Enabled {
		return "controllers.kluster.clusterAPI.enabled is false"
	}
	return ""
}

// noCleanup returns the reason if the deleter has no cleanup that it is part of.
func noCleanup(config *v1alpha1.ControllersConfiguration) string {
	if !isEnabled(cleanup.ControllerName, config.Enabled) {
		return cleanup.ControllerName + ", which it is part of, is not in controllers.enabled"
	}
	return ""
}
