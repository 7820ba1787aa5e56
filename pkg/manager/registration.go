// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/maintenance"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/operator"
	klustersetup "groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/announce"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit"
	klusterlifecycle "groundskeeper.io/groundskeeper/pkg/controllers/kluster/lifecycle"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/routegc"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/workload"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/cleanup"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/deleter"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/activity"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/lifecycle"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/stale"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/usage"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/annotate"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/converter"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/midonetbackend"
)

// systemNamespace is where controllers keep what they have to remember.
const systemNamespace = "groundskeeper-system"

// controllers returns all controllers, in the order in which they are added. Those that write to systems that do not check the Lease use
// the fence. It may be nil if only the list is needed.
func controllers(fence *Fence) []controller {
	now := clock.RealClock{}
	network := &midoNet{fence: fence}
	clouds := &openStack{fence: fence.Check}
	wakes := &routegc.Wakes{}
	backends := &ownCache{}
	translations := resourcewatch.NewCached(usage.Translations, &midonetv1.Translation{}, packed.Metadata)
	projects := &usage.Shared{Cached: []*resourcewatch.Cached{translations}}
	// using makes the controllers of Projects share what they know of who uses one.
	using := func(add func(ctrl.Manager, *v1alpha1.ControllersConfiguration, *usage.Usage) error) addFunc {
		return func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
			use, err := projects.For(mgr, now, config.Project.UsageResources)
			if err != nil {
				return err
			}
			return add(mgr, config, use)
		}
	}
	// indexed makes the controllers of Klusters share the indexes by which they find those with the same Secret or cluster.
	isIndexed := false
	indexed := func(add addFunc) addFunc {
		return func(ctx context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
			if !isIndexed {
				if err := klustersetup.Index(mgr.GetFieldIndexer()); err != nil {
					return err
				}
				isIndexed = true
			}
			return add(ctx, mgr, config)
		}
	}
	return []controller{
		{
			name:  lifecycle.ControllerName,
			apis:  []schema.GroupVersion{gardenerv1beta1.SchemeGroupVersion},
			cache: always(lifecycle.CacheOptions),
			add: using(func(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration, use *usage.Usage) error {
				return lifecycle.AddToManager(mgr, config.Project, use)
			}),
		},
		{
			name: stale.ControllerName,
			apis: []schema.GroupVersion{gardenerv1beta1.SchemeGroupVersion},
			add: using(func(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration, use *usage.Usage) error {
				return stale.AddToManager(mgr, config.Project, use, now)
			}),
		},
		{
			name: activity.ControllerName,
			apis: []schema.GroupVersion{gardenerv1beta1.SchemeGroupVersion},
			add: using(func(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration, use *usage.Usage) error {
				return activity.AddToManager(mgr, config.Project, use, now)
			}),
		},
		{
			name:  operator.ControllerName,
			apis:  []schema.GroupVersion{gimbalv1.SchemeGroupVersion},
			waits: withoutImage,
			needs: discoveryGrant,
			own:   backends,
			add: func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				own, err := operator.AddToManager(mgr, config.Discovery, now)
				backends.set(own)
				return err
			},
		},
		{
			// It waits for DiscoveryBackends itself: the cluster may have other discoverers, or no backends.
			name: maintenance.ControllerName,
			add: func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				return maintenance.AddToManager(mgr, config.Discovery, now)
			},
		},
		{
			name: converter.ControllerName,
			off:  noBackend,
			apis: []schema.GroupVersion{midonetv1.SchemeGroupVersion},
			cache: func(config *v1alpha1.ControllersConfiguration) (restrictions, error) {
				return converter.CacheOptions(config.Translation), nil
			},
			whole: translations,
			add: func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				return converter.AddToManager(mgr, config.Translation, now)
			},
		},
		{
			name: annotate.ControllerName,
			off:  noHosts,
			add: func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				if config.Translation.Configured() == v1alpha1.BackendOVN {
					southbound, err := newSouthbound(config.Translation.OVN)
					if err != nil {
						return err
					}
					return annotate.AddOVNToManager(mgr, southbound, now)
				}
				client, err := network.client(config.Translation.MidoNet)
				if err != nil {
					return err
				}
				return annotate.AddToManager(mgr, client, now)
			},
		},
		{
			name: push.ControllerName,
			off:  noBackend,
			apis: []schema.GroupVersion{midonetv1.SchemeGroupVersion},
			add: func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				if config.Translation.Configured() == v1alpha1.BackendOVN {
					driver, err := newOVN(config.Translation, fence, mgr.GetAPIReader())
					if err != nil {
						return err
					}
					return push.AddToManager(mgr, config.Translation, driver)
				}
				client, err := network.client(config.Translation.MidoNet)
				if err != nil {
					return err
				}
				return push.AddToManager(mgr, config.Translation, midonetbackend.New(client, config.Translation.Tenant))
			},
		},
		{
			name:  klusterlifecycle.ControllerName,
			off:   noKlusters,
			needs: klusterGrant,
			apis:  []schema.GroupVersion{kubernikusv1.SchemeGroupVersion},
			cache: always(klusterlifecycle.CacheOptions),
			add: indexed(func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				clients, err := clouds.clients(config.Kluster.OpenStack)
				if err != nil {
					return err
				}
				return klusterlifecycle.AddToManager(mgr, config.Kluster, clients, now)
			}),
		},
		{
			name:  deorbit.ControllerName,
			off:   noKlusters,
			needs: klusterGrant,
			apis:  []schema.GroupVersion{kubernikusv1.SchemeGroupVersion},
			add: indexed(func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				clients, err := clouds.clients(config.Kluster.OpenStack)
				if err != nil {
					return err
				}
				return deorbit.AddToManager(mgr, config.Kluster, clients, fence.Check, now)
			}),
		},
		{
			name:  routegc.ControllerName,
			off:   noKlusters,
			needs: klusterGrant,
			apis:  []schema.GroupVersion{kubernikusv1.SchemeGroupVersion},
			add: indexed(func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				clients, err := clouds.clients(config.Kluster.OpenStack)
				if err != nil {
					return err
				}
				return routegc.AddToManager(mgr, config.Kluster, clients, fence.Check, wakes, now)
			}),
		},
		{
			name:  workload.ControllerName,
			off:   noKlusters,
			needs: klusterGrant,
			apis:  []schema.GroupVersion{kubernikusv1.SchemeGroupVersion},
			add: indexed(func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				cluster := &self.Cluster{Reader: mgr.GetAPIReader()}
				options := workload.Options{Fence: fence.Check, Clock: now, ClusterID: cluster.UID}
				if isEnabled(routegc.ControllerName, config.Enabled) {
					options.NodeDeleted = wakes.NodeDeleted
				}
				return workload.AddToManager(mgr, config, options)
			}),
		},
		{
			// It waits for DiscoveryBackends itself: the cluster may not serve them.
			name:  announce.ControllerName,
			off:   noKlusters,
			needs: klusterGrant,
			apis:  []schema.GroupVersion{kubernikusv1.SchemeGroupVersion},
			add: indexed(func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				return announce.AddToManager(mgr, config.Kluster, now)
			}),
		},
		{
			// It waits for Cluster API itself: the cluster may not serve it.
			name:  clusterapi.ControllerName,
			off:   noClusterAPI,
			needs: clusterAPIGrant,
			apis:  []schema.GroupVersion{kubernikusv1.SchemeGroupVersion},
			add: func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				return clusterapi.AddToManager(mgr, config.Kluster, now)
			},
		},
		{
			name:  cleanup.ControllerName,
			cache: always(localvolume.CacheOptions),
			add: func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				_, err := cleanup.AddToManager(mgr, config.LocalVolume, cleanup.Options{
					RecordNamespace: systemNamespace,
					Holder:          "the controller manager with Lease " + fence.lease,
					Namespaces:      true,
					Deleter:         isEnabled(deleter.ControllerName, config.Enabled),
				})
				return err
			},
		},
		{
			name: deleter.ControllerName,
			add: func(_ context.Context, mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
				// The cleanup adds it: it is part of that one.
				if !isEnabled(cleanup.ControllerName, config.Enabled) {
					mgr.GetLogger().Info("Skipped the deleter, because the cleanup is not enabled", "controller", deleter.ControllerName, "needs", cleanup.ControllerName)
				}
				return nil
			},
		},
		// No controller: it serves on every replica, so run starts it.
		{name: webhooksName},
	}
}

// withoutImage reports that the operator runs no discoverers. Then there may be no DiscoveryBackends at all.
func withoutImage(config *v1alpha1.ControllersConfiguration) bool {
	return config.Discovery.Image == ""
}
