// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package cleanup has the two controllers of local volumes. The CleanupController deletes the claims of local volumes whose node has been
// deleted and stays absent, so that a StatefulSet can make new ones elsewhere. The Deleter, which runs only while that one does, deletes
// the volumes without a claim whose node has been deleted: Available ones, and Released ones with the reclaim policy Delete. CSI volumes
// are left to their driver, unless their release is enabled.
package cleanup

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"groundskeeper.io/groundskeeper/pkg/accessreview"
	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// ControllerName is the name of the CleanupController in the configuration, in logs and in metrics.
	ControllerName = "local-volume-cleanup"
	// DeleterName is that of the Deleter.
	DeleterName = "local-volume-deleter"

	// patience is how long a reconciliation waits for the last of the nodes that are lost together.
	patience = 2 * time.Second
	// deleterPatience is how long one of the Deleter waits for the last of the claims that go together. Volumes can wait: a user needs a
	// new claim, but no user needs the deletion of a volume on a lost node.
	deleterPatience = 10 * time.Second

	// eventQPS is the limit of the client that sends events, in requests per second.
	eventQPS = 20
	// eventBurst is the burst of the rate limit of events. It is sufficient for the announcements of all claims of lost nodes. Later
	// events can be sent slowly, because they have timestamps and the API server is busy with the deletions.
	eventBurst = 1000
)

// reconciler is the CleanupController. One reconciliation runs at a time.
type reconciler struct {
	site *localvolume.Site
	pace *localvolume.Pace
	// deletions deletes claims, and notifies them why they stay.
	deletions *deletions
	memory
	// waiters deletes pods that wait for a claim that has been deleted; nil when that is not wanted.
	waiters *waiters
}

func newReconciler(site *localvolume.Site) *reconciler {
	r := &reconciler{site: site, pace: site.NewPace(patience), memory: newMemory()}
	if *site.Config.DeletePendingPods {
		r.waiters = &waiters{site: site, retries: backoffs{}}
	}
	r.deletions = newDeletions(site, target{
		noun:         "claim",
		object:       func(s *localvolume.Subject) client.Object { return s.Claim },
		decision:     func(s *localvolume.Subject) localvolume.Decision { return s.ClaimDecision },
		announcement: func(s *localvolume.Subject) string { return "Deleting the claim of volume " + s.Volume.Name },
		deleted:      func(*localvolume.Subject) { site.Metrics.ClaimsDeleted.Inc() },
		failed:       func(*localvolume.Subject) { site.Metrics.ClaimsFailed.Inc() },
		proofOfLife: func(ctx context.Context, permit *localvolume.Permit, stale localvolume.Stale) (string, error) {
			return permit.ProofOfLife(ctx, stale)
		},
	})
	return r
}

// volumeDeleter is the Deleter. One reconciliation runs at a time.
type volumeDeleter struct {
	site *localvolume.Site
	pace *localvolume.Pace
	// deletions deletes volumes, and notifies them why they stay.
	deletions *deletions
}

func newDeleter(site *localvolume.Site) *volumeDeleter {
	phase := func(s *localvolume.Subject) string { return string(s.Volume.Status.Phase) }
	return &volumeDeleter{site: site, pace: site.NewPace(deleterPatience), deletions: newDeletions(site, target{
		noun:         "volume",
		object:       func(s *localvolume.Subject) client.Object { return s.Volume },
		decision:     func(s *localvolume.Subject) localvolume.Decision { return s.VolumeDecision },
		announcement: func(s *localvolume.Subject) string { return "Deleting the volume in phase " + phase(s) },
		deleted:      func(s *localvolume.Subject) { site.Metrics.VolumesDeleted.WithLabelValues(phase(s)).Inc() },
		failed:       func(s *localvolume.Subject) { site.Metrics.VolumesFailed.WithLabelValues(phase(s)).Inc() },
	})}
}

// Controllers returns the CleanupController of a Site, and the Deleter if that is wanted, too. The caller decides where they run: the cache
// of the Site has to be started, too. options may have a name check, warm-up and logger; what they reconcile is set here.
func Controllers(site *localvolume.Site, options controller.TypedOptions[localvolume.Pass], withDeleter bool) ([]manager.Runnable, error) {
	var controllers []manager.Runnable
	add := func(name string, r reconcile.TypedReconciler[localvolume.Pass], from source.TypedSource[localvolume.Pass]) error {
		own := options
		own.Reconciler = instrument.Reconciler(name, r)
		own.MaxConcurrentReconciles = 1 // its deletions are parallel, its decisions are one
		own.RateLimiter = kit.RateLimiterFrom[localvolume.Pass](localvolume.PassInterval)
		c, err := controller.NewTypedUnmanaged(name, own)
		if err != nil {
			return fmt.Errorf("create controller %s: %w", name, err)
		}
		controllers = append(controllers, c)
		return c.Watch(from)
	}
	err := add(ControllerName, newReconciler(site), site.Source())
	if withDeleter && err == nil {
		err = add(DeleterName, newDeleter(site), site.Follow())
	}
	return controllers, err
}

// AddToManager adds the CleanupController, and the Deleter with it if that is wanted, for the cluster that a manager runs against. Its
// cache should be built with localvolume.CacheOptions. Of the dependencies it sets what is the manager's. Without a storage class
// nothing is added, nothing watched, and the Site is nil.
func AddToManager(mgr manager.Manager, d localvolume.Dependencies, withDeleter bool) (*localvolume.Site, error) {
	if len(d.Config.StorageClassNames) == 0 && !*d.Config.StorageClassAnnotations {
		mgr.GetLogger().Info("No storage class is opted in, local volumes are not watched", "controller", ControllerName)
		return nil, nil
	}
	var err error
	if d.Metrics, err = localvolume.NewMetrics(metrics.Registry); err != nil {
		return nil, err
	}
	d.Cache, d.Clock = mgr.GetCache(), clock.RealClock{}
	options := client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()}
	sender, err := Connect(&d, mgr.GetConfig(), options, localvolume.EventQueue)
	if err != nil {
		return nil, fmt.Errorf("create a client of controller %s: %w", ControllerName, err)
	}
	if err := mgr.Add(sender); err != nil {
		return nil, fmt.Errorf("add the events of controller %s: %w", ControllerName, err)
	}
	if d.Nodes != nil {
		if err := mgr.Add(everywhere{d.Nodes}); err != nil {
			return nil, fmt.Errorf("add the nodes of controller %s: %w", ControllerName, err)
		}
	}
	site := localvolume.NewSite(d)
	return site, addControllers(mgr, site, withDeleter)
}

// everywhere is a cache that a replica without leadership fills, too: it becomes ready, and can continue immediately. The manager starts
// what does not say so on the leader alone, and such a cache does not.
type everywhere struct{ cache.Cache }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }

func addControllers(mgr manager.Manager, site *localvolume.Site, withDeleter bool) error {
	var defaults controller.TypedOptions[localvolume.Pass]
	defaults.DefaultFromConfig(mgr.GetControllerOptions())
	controllers, err := Controllers(site, defaults, withDeleter)
	if err != nil {
		return err
	}
	for _, c := range controllers {
		if err := mgr.Add(c); err != nil {
			return err
		}
	}
	return nil
}

// Connect sets the clients of a Site, and the cache of its nodes if it needs one, which the caller has to start. The clients have no
// cache: that of a manager waits until its cache has its own writes, which would slow the deletion of a thousand claims. Events, of which
// so many may wait, are sent by a client with its own limit.
func Connect(d *localvolume.Dependencies, config *rest.Config, options client.Options, waiting int) (*localvolume.EventSender, error) {
	forEvents := rest.CopyConfig(config)
	forEvents.QPS, forEvents.Burst, forEvents.RateLimiter = eventQPS, eventBurst, nil
	events, err := client.New(forEvents, options)
	if err != nil {
		return nil, err
	}
	d.ServerClock = localvolume.NewServerClock(d.Clock)
	options.HTTPClient = d.ServerClock.Client(options.HTTPClient)
	if d.Client, err = client.New(config, options); err != nil {
		return nil, err
	}
	if localvolume.NeedsNodes(&d.Config) {
		d.Nodes, err = cache.New(config, cache.Options{HTTPClient: options.HTTPClient, Scheme: options.Scheme, Mapper: options.Mapper,
			ByObject: localvolume.NodeCacheOptions(), ReaderFailOnMissingInformer: true})
		if err != nil {
			return nil, err
		}
	}
	sender := localvolume.NewEventSender(events, d.Clock, d.Metrics, waiting)
	d.Recorder = sender
	return sender, nil
}

// Required returns the requests without which nothing can be cleaned up.
func Required(config *configv1alpha1.LocalVolumeConfiguration) []accessreview.Request {
	needs := slices.Concat(accessreview.To("", "nodes", accessreview.List, accessreview.Watch),
		accessreview.To("", "persistentvolumes", accessreview.List, accessreview.Watch, accessreview.Delete),
		accessreview.To("", "persistentvolumeclaims", accessreview.List, accessreview.Watch, accessreview.Delete))
	if *config.ReleaseCSIVolumes {
		needs = append(needs, accessreview.To("", "persistentvolumes", accessreview.Patch)...)
	}
	if *config.StorageClassAnnotations {
		needs = append(needs, accessreview.To(storagev1.GroupName, "storageclasses", accessreview.List, accessreview.Watch)...)
	}
	if *config.ProofOfLife {
		needs = slices.Concat(needs, accessreview.To("", "pods", accessreview.List),
			accessreview.ToObject(corev1.NamespaceNodeLease, "", coordinationv1.GroupName, "leases", accessreview.Get))
	}
	if *config.DeletePendingPods {
		needs = slices.Concat(needs, accessreview.To("", "persistentvolumeclaims", accessreview.Get),
			accessreview.To("", "pods", accessreview.List, accessreview.Delete))
	}
	return needs
}
