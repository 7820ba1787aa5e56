// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

const (
	// PassInterval is the least pause between two passes of a controller: what happens in between is settled by one
	// look at the nodes.
	PassInterval = time.Second
	// MaxBatch is how many objects are deleted at most after one look at the nodes.
	MaxBatch = 1000
)

// Pass is the request of both controllers: look at everything that is stale. There is one of it.
type Pass struct{}

// Dependencies are what a Site works with. They all belong to one cluster.
type Dependencies struct {
	// Name tells clusters apart in metrics; empty for the one that the process runs for.
	Name string
	// Cache has the PersistentVolumes, PersistentVolumeClaims and the metadata of Nodes and Namespaces. It should be
	// built with CacheOptions.
	Cache cache.Cache
	// Client reads from and writes to the API server, past every cache.
	Client client.Client
	// Recorder takes events. It must not wait for the API server.
	Recorder Recorder
	Clock    clock.PassiveClock
	Metrics  *Metrics
	// Config has to be defaulted and valid.
	Config configv1alpha1.LocalVolumeConfiguration
	// RecordNamespace is the namespace of the ConfigMap RecordName. NoRecord does without it.
	RecordNamespace string
	NoRecord        bool
	// Namespaces says that namespaces may be listed and watched: without them their annotations are not seen.
	Namespaces bool
}

// Site is what is known of the local volumes of one cluster, and the leave to delete them. The two controllers of a
// cluster share one.
type Site struct {
	Dependencies
	Inventory *Inventory

	record *record
	// slots has room for as many deletions as may be under way at once.
	slots  chan struct{}
	synced chan struct{}

	// mu guards what follows.
	mu           sync.Mutex
	queues       []workqueue.TypedRateLimitingInterface[Pass]
	paces        []*Pace
	brakeEngaged bool
}

// NewSite returns a Site that knows nothing yet: its Source makes it learn.
func NewSite(d Dependencies) *Site {
	d.Metrics.Brake.WithLabelValues(d.Name).Set(0)
	return &Site{
		Dependencies: d,
		Inventory:    NewInventory(d.Config.StorageClassNames, d.Config.NodeTopologyKeys, d.Clock),
		record:       &record{client: d.Client, namespace: d.RecordNamespace, lacking: d.NoRecord},
		slots:        make(chan struct{}, *d.Config.WorkerThreads),
		synced:       make(chan struct{}),
	}
}

// Known is closed when everything that exists was told, so that passes can begin.
func (s *Site) Known() <-chan struct{} { return s.synced }

// LoadRecord takes over since when nodes are missing from whoever ran before. It has to succeed before the first
// decision; later calls do nothing.
func (s *Site) LoadRecord(ctx context.Context) error {
	since, err := s.record.load(ctx)
	if err == nil && since != nil {
		s.Inventory.Restore(since)
	}
	return err
}

// SaveRecord writes since when nodes are missing, when that changed.
func (s *Site) SaveRecord(ctx context.Context) error {
	return s.record.save(ctx, s.Inventory.Missing())
}

// recordObject stands for the record in events.
func (s *Site) recordObject() client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.RecordNamespace, Name: RecordName}}
}

// DryRun says that nothing is to be deleted.
func (s *Site) DryRun() bool { return *s.Config.DryRun }

// Each calls a function with 0 to n-1, as many at once as there are worker threads, and returns when all calls have. It
// goes on after an error, and returns the first few.
func (s *Site) Each(n int, do func(i int) error) error {
	var group sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for i := range n {
		s.slots <- struct{}{}
		group.Go(func() {
			defer func() { <-s.slots }()
			if err := do(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	group.Wait()
	const shown = 3
	if len(errs) > shown {
		errs = append(slices.Clone(errs[:shown]), fmt.Errorf("and %d more", len(errs)-shown))
	}
	return errors.Join(errs...)
}

// Next returns after how long the next pass is due when no event comes: at the end of the first wait, and at the
// latest after the interval, while something is stale. The second result is false when nothing is.
func (s *Site) Next(subjects []Subject, decision func(*Subject) Decision) (time.Duration, bool) {
	if len(subjects) == 0 {
		return 0, false
	}
	decisions := make([]Decision, 0, len(subjects))
	for i := range subjects {
		decisions = append(decisions, decision(&subjects[i]))
	}
	interval := s.Config.StalePVDiscoveryInterval.Duration
	if first, ok := earliest(decisions); ok {
		interval = min(interval, first.Until.Sub(s.Clock.Now()))
	}
	return max(interval, PassInterval), true
}

// notify asks both controllers for a pass.
func (s *Site) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pace := range s.paces {
		pace.changed()
	}
	for _, queue := range s.queues {
		queue.Add(Pass{})
	}
}

func (s *Site) subscribe(queue workqueue.TypedRateLimitingInterface[Pass]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues = append(s.queues, queue)
}
