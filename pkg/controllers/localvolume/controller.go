// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package localvolume is what the two controllers of local volumes (package cleanup) share: which volumes are stale because their nodes
// have been deleted, since when, and whether anything may be deleted at all. Nothing in it depends on where it runs: a Site is built over
// the clients and the cache of any cluster.
//
// Informers feed an Inventory, an index of volumes by node. A reconciliation of a controller checks the volumes of missing nodes only,
// decides by pure functions (volumes.go, decide.go), reads the nodes live before the first deletion of a batch, and deletes exactly the
// objects it decided about: by uid and resource version.
package localvolume

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

const (
	// PassInterval is the least pause between two reconciliations of a controller: what happens in between is settled by one check
	// of the nodes.
	PassInterval = time.Second
	// MaxBatch is how many objects are deleted at most after one check of the nodes.
	MaxBatch = 1000
	// Lease is how long an absence counts as one after it was confirmed last. It is the lease of a leader: a process that
	// was stopped, or cut off from the API server, for longer does not know what happened meanwhile.
	Lease = 15 * time.Second
	// BeatInterval is how often an absence is confirmed.
	BeatInterval = Lease / 3
)

// Pass is the request of both controllers: check everything that is stale. There is one of it.
type Pass struct{}

// Dependencies are what a Site works with. They all belong to one cluster.
type Dependencies struct {
	// Name distinguishes clusters in metrics; empty for the one that the process runs for.
	Name string
	// Cache has the PersistentVolumes, PersistentVolumeClaims and the metadata of Nodes and Namespaces. It should be
	// built with CacheOptions.
	Cache cache.Cache
	// Nodes has the Nodes themselves, and should be built with NodeCacheOptions. It is nil if nothing but their metadata matters: see
	// NeedsNodes.
	Nodes cache.Cache
	// Client reads from and writes to the API server, past every cache.
	Client client.Client
	// Recorder takes events. It must not wait for the API server.
	Recorder Recorder
	Clock    clock.PassiveClock
	// ServerClock observes the responses to the Client.
	ServerClock *ServerClock
	Metrics     *Metrics
	// Config has to be defaulted and valid.
	Config configv1alpha1.LocalVolumeConfiguration
	// RecordNamespace is the namespace of the ConfigMap RecordName. NoRecord does without it.
	RecordNamespace string
	NoRecord        bool
	// Holder names who cleans up, for others that would clean up the same cluster. It is the same after a restart, and for all replicas
	// that elect a leader. Empty: there is no permission to record it in the ConfigMap CleanersName.
	Holder string
	// Namespaces reports that namespaces may be listed and watched: without them their annotations are not seen.
	Namespaces bool
}

// Site is what is known of the local volumes of one cluster, and the leave to delete them. The two controllers of a
// cluster share one.
type Site struct {
	Dependencies
	Inventory *Inventory

	memory  memory
	vigils  vigils
	record  *record
	tenures *tenures
	// slots has room for as many deletions as may be under way concurrently.
	slots  chan struct{}
	synced chan struct{}
}

// NewSite returns an empty Site, which its Source fills.
func NewSite(d Dependencies) *Site {
	d.Metrics.Brake.WithLabelValues(d.Name).Set(0)
	return &Site{
		Dependencies: d,
		Inventory:    NewInventory(d.Config, d.Clock),
		tenures:      newTenures(&d),
		record:       &record{client: d.Client, namespace: d.RecordNamespace, lacking: d.NoRecord},
		vigils:       vigils{byNode: map[string]vigil{}},
		memory:       memory{released: sets.Set[types.UID]{}},
		slots:        make(chan struct{}, *d.Config.WorkerThreads),
		synced:       make(chan struct{}),
	}
}

// Known is closed when everything that exists was notified, so that passes can begin.
func (s *Site) Known() <-chan struct{} { return s.synced }

// DryRun disables deletions.
func (s *Site) DryRun() bool { return *s.Config.DryRun }

// Source reports to a Site what its cache sees, and the queue when that requests a reconciliation. It is synced when everything
// that exists has been notified.
func (s *Site) Source() source.TypedSyncingSource[Pass] {
	i := s.Inventory
	stale := func(claim *corev1.PersistentVolumeClaim) bool { return i.IsStale(claim.Spec.VolumeName) }
	kinds := []source.TypedSyncingSource[Pass]{
		s.watchNodes(),
		watch(s, s.Cache, &corev1.PersistentVolume{},
			func(_, volume *corev1.PersistentVolume) bool { return i.SetVolume(volume) },
			func(volume *corev1.PersistentVolume, _ bool) bool { return i.RemoveVolume(volume.Name) }),
		watch(s, s.Cache, &corev1.PersistentVolumeClaim{},
			func(_, claim *corev1.PersistentVolumeClaim) bool { return stale(claim) },
			func(claim *corev1.PersistentVolumeClaim, _ bool) bool { return stale(claim) }),
	}
	if s.Namespaces {
		kinds = append(kinds, watch(s, s.Cache, metadataOf("Namespace"),
			func(before, now *metav1.PartialObjectMetadata) bool {
				return before != nil && optOut(before) != optOut(now)
			},
			func(*metav1.PartialObjectMetadata, bool) bool { return false }))
	}
	if *s.Config.StorageClassAnnotations {
		class := &metav1.PartialObjectMetadata{}
		class.SetGroupVersionKind(storagev1.SchemeGroupVersion.WithKind("StorageClass"))
		kinds = append(kinds, watch(s, s.Cache, class, func(_, class *metav1.PartialObjectMetadata) bool { return s.SetClass(class) },
			func(class *metav1.PartialObjectMetadata, _ bool) bool { return s.RemoveClass(class.Name) }))
	}
	return &siteSource{site: s, kinds: kinds}
}

// NeedsNodes reports whether a configuration needs more of Nodes than their metadata.
func NeedsNodes(config *configv1alpha1.LocalVolumeConfiguration) bool {
	return outageRulesOf(config).apply()
}

func (s *Site) watchNodes() source.TypedSyncingSource[Pass] {
	if s.Nodes != nil {
		return watchNodes(s, s.Nodes, &corev1.Node{})
	}
	return watchNodes(s, s.Cache, metadataOf("Node"))
}

func watchNodes[node client.Object](s *Site, from cache.Cache, kind node) source.TypedSyncingSource[Pass] {
	return watch(s, from, kind, func(_, node node) bool { return s.Inventory.SetNode(node) }, func(node node, missed bool) bool {
		if missed {
			return s.Inventory.RemoveMissedNode(node.GetName())
		}
		return s.Inventory.RemoveNode(node.GetName())
	})
}

// watch updates the Site by two functions, which report whether a reconciliation is needed. before is nil for what is new, and missed
// reports that the event of a deletion was missed.
func watch[object client.Object](s *Site, from cache.Cache, kind object, set func(before, now object) bool,
	remove func(_ object, missed bool) bool,
) source.TypedSyncingSource[Pass] {
	then := func(needed bool) {
		if needed {
			s.memory.notify()
		}
	}
	type queue = workqueue.TypedRateLimitingInterface[Pass]
	return source.TypedKind(from, kind, handler.TypedFuncs[object, Pass]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[object], _ queue) {
			var none object
			then(set(none, e.Object))
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[object], _ queue) {
			// A resync reports nothing, and one of all volumes should cost nothing.
			if e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() {
				then(set(e.ObjectOld, e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[object], _ queue) {
			then(remove(e.Object, e.DeleteStateUnknown))
		},
	})
}

// siteSource starts the watches of a Site for the one controller that feeds it.
type siteSource struct {
	site  *Site
	kinds []source.TypedSyncingSource[Pass]
}

// Start implements source.TypedSource.
func (f *siteSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[Pass]) error {
	f.site.memory.subscribe(queue)
	for _, kind := range f.kinds {
		if err := kind.Start(ctx, queue); err != nil {
			return err
		}
	}
	go f.site.beat(ctx)
	return nil
}

// WaitForSync implements source.TypedSyncingSource.
func (f *siteSource) WaitForSync(ctx context.Context) error {
	for _, kind := range f.kinds {
		if err := kind.WaitForSync(ctx); err != nil {
			return err
		}
	}
	// A source that was stopped while it waited reports nothing, and has not reported everything.
	if ctx.Err() == nil {
		f.site.Inventory.MarkSynced()
		close(f.site.synced)
		f.site.memory.notify()
	}
	return nil
}

// String names the source in logs.
func (f *siteSource) String() string { return "local volumes, their claims and nodes" }

// Follow returns the source of a second controller of the Site. It is synced when the Source of the first one is.
func (s *Site) Follow() source.TypedSyncingSource[Pass] { return &follower{site: s} }

type follower struct{ site *Site }

// Start implements source.TypedSource.
func (f *follower) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[Pass]) error {
	f.site.memory.subscribe(queue)
	return nil
}

// WaitForSync implements source.TypedSyncingSource.
func (f *follower) WaitForSync(ctx context.Context) error {
	select {
	case <-f.site.synced:
	case <-ctx.Done():
		if !errors.Is(ctx.Err(), context.Canceled) {
			return errors.New("the local volumes are not loaded yet")
		}
	}
	return nil
}

// String names the source in logs.
func (f *follower) String() string { return "local volumes of the cleanup" }
