// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
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
	"groundskeeper.io/groundskeeper/pkg/controllers/project/activity"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/lifecycle"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/stale"
	"groundskeeper.io/groundskeeper/pkg/controllers/project/usage"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/annotate"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/converter"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/midonetbackend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/ovnbackend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

var (
	_ push.Watcher  = (*ovnbackend.Backend)(nil)
	_ push.Realizer = (*ovnbackend.Backend)(nil)
)

// systemNamespace is where controllers keep what they have to remember.
const systemNamespace = "groundskeeper-system"

// shared is what controllers of one process have in common, with a method for each that adds it to the manager. What only some
// configurations need is made by the first controller that needs it.
type shared struct {
	fence *Fence
	clock clock.RealClock
	// projects is what the controllers of Projects know of who uses one, translations are resources among them that the cache has.
	projects     usage.Shared
	translations *resourcewatch.Cached
	// backends is the cache of the operator.
	backends ownCache
	// wakes lets the controller of workload clusters start that of routes.
	wakes routegc.Wakes
	// indexed reports that the manager has the indexes by which the controllers of Klusters find those with the same Secret or cluster.
	indexed bool
	midoNet *midonet.Client
	clouds  *openstack.Clients
}

func newShared(fence *Fence) *shared {
	translations := resourcewatch.NewCached(usage.Translations, &midonetv1.Translation{}, packed.Metadata)
	return &shared{fence: fence, translations: translations, projects: usage.Shared{Cached: []*resourcewatch.Cached{translations}}}
}

// usage returns what the controllers of Projects know of who uses one.
func (s *shared) usage(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) (*usage.Usage, error) {
	return s.projects.For(mgr, s.clock, config.Project.UsageResources)
}

func (s *shared) addProject(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	use, err := s.usage(mgr, config)
	if err != nil {
		return err
	}
	return lifecycle.AddToManager(mgr, config.Project, use)
}

func (s *shared) addStale(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	use, err := s.usage(mgr, config)
	if err != nil {
		return err
	}
	return stale.AddToManager(mgr, config.Project, use, s.clock)
}

func (s *shared) addActivity(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	use, err := s.usage(mgr, config)
	if err != nil {
		return err
	}
	return activity.AddToManager(mgr, config.Project, use, s.clock)
}

func (s *shared) addOperator(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	own, err := operator.AddToManager(mgr, config.Discovery, config.Credentials, s.clock)
	s.backends.set(own)
	return err
}

func (s *shared) addMaintenance(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	return maintenance.AddToManager(mgr, config.Discovery, s.clock)
}

func (s *shared) addConverter(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	return converter.AddToManager(mgr, config.Translation, s.clock)
}

func (s *shared) addAnnotate(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	if config.Translation.Configured() == v1alpha1.BackendOVN {
		southbound, err := ovnbackend.NewSouthbound(config.Translation.OVN, metrics.Registry)
		if err != nil {
			return err
		}
		return annotate.AddOVNToManager(mgr, southbound, s.clock)
	}
	client, err := s.midoNetClient(config.Translation.MidoNet)
	if err != nil {
		return err
	}
	return annotate.AddToManager(mgr, client, s.clock)
}

func (s *shared) addPush(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	if config.Translation.Configured() == v1alpha1.BackendOVN {
		client, err := ovnbackend.NewClient(config.Translation.OVN, metrics.Registry)
		if err != nil {
			return err
		}
		lease := &clusterFence{Fence: s.fence, cluster: self.Cluster{Reader: mgr.GetAPIReader()}}
		tenant := config.Translation.Tenant
		derives := convert.OVN{Config: convert.Config{Tenant: tenant}}.Derives
		return push.AddToManager(mgr, config.Translation, ovnbackend.New(client, tenant, lease, derives))
	}
	client, err := s.midoNetClient(config.Translation.MidoNet)
	if err != nil {
		return err
	}
	return push.AddToManager(mgr, config.Translation, midonetbackend.New(client, config.Translation.Tenant))
}

// midoNetClient returns the client of MidoNet's API that the controllers of Translations share.
func (s *shared) midoNetClient(config v1alpha1.MidoNetConfiguration) (client *midonet.Client, err error) {
	if s.midoNet == nil {
		s.midoNet, err = midonetbackend.NewClient(config, s.fence.Check, metrics.Registry)
	}
	return s.midoNet, err
}

// openStack adds the indexes of Klusters, and returns the clients of OpenStack that the controllers of Klusters share. They write while
// the fence is open.
func (s *shared) openStack(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) (*openstack.Clients, error) {
	if err := s.index(mgr); err != nil {
		return nil, err
	}
	return s.cloudClients(config)
}

func (s *shared) index(mgr ctrl.Manager) error {
	if s.indexed {
		return nil
	}
	err := klustersetup.Index(mgr.GetFieldIndexer())
	s.indexed = err == nil
	return err
}

func (s *shared) cloudClients(controllers *v1alpha1.ControllersConfiguration) (*openstack.Clients, error) {
	if s.clouds != nil {
		return s.clouds, nil
	}
	config := controllers.Kluster.OpenStack
	counts, err := openstack.NewTelemetry(metrics.Registry)
	if err != nil {
		return nil, err
	}
	s.clouds, err = openstack.NewClients(openstack.Options{
		QPS: *config.QPS, Burst: int(*config.Burst), Timeout: config.Timeout.Duration,
		UserAgent: Name, Telemetry: counts, Clock: s.clock, BeforeWrite: s.fence.Check,
		AllowPlainHTTP: *controllers.Credentials.AllowPlainHTTP,
	})
	return s.clouds, err
}

func (s *shared) addKluster(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	clients, err := s.openStack(mgr, config)
	if err != nil {
		return err
	}
	return klusterlifecycle.AddToManager(mgr, config.Kluster, *config.Credentials.AllowProxyURL, clients, s.clock)
}

func (s *shared) addDeorbit(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	clients, err := s.openStack(mgr, config)
	if err != nil {
		return err
	}
	return deorbit.AddToManager(mgr, config.Kluster, *config.Credentials.AllowProxyURL, clients, s.fence.Check, s.clock)
}

func (s *shared) addRouteGC(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	clients, err := s.openStack(mgr, config)
	if err != nil {
		return err
	}
	return routegc.AddToManager(mgr, config.Kluster, clients, s.fence.Check, &s.wakes, s.clock)
}

func (s *shared) addWorkload(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	if err := s.index(mgr); err != nil {
		return err
	}
	cluster := &self.Cluster{Reader: mgr.GetAPIReader()}
	options := workload.Options{Fence: s.fence.Check, Clock: s.clock, ClusterID: cluster.UID}
	if isEnabled(routegc.ControllerName, config.Enabled) {
		options.NodeDeleted = s.wakes.NodeDeleted
	}
	return workload.AddToManager(mgr, config, options)
}

func (s *shared) addAnnounce(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	if err := s.index(mgr); err != nil {
		return err
	}
	return announce.AddToManager(mgr, config.Kluster, *config.Credentials.AllowProxyURL, s.clock)
}

func (s *shared) addClusterAPI(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	return clusterapi.AddToManager(mgr, config.Kluster, s.clock)
}

func (s *shared) addCleanup(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error {
	_, err := cleanup.AddToManager(mgr, localvolume.Dependencies{
		Config:          config.LocalVolume,
		RecordNamespace: systemNamespace,
		Holder:          "the controller manager with Lease " + s.fence.lease,
		Namespaces:      true,
	}, isEnabled(cleanup.DeleterName, config.Enabled))
	return err
}
