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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

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
	// beatInterval is how often an absence is confirmed.
	beatInterval = Lease / 3
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

	record  *record
	tenures *tenures
	// slots has room for as many deletions as may be under way concurrently.
	slots  chan struct{}
	synced chan struct{}

	// mu guards what follows.
	mu     sync.Mutex
	queues []workqueue.TypedRateLimitingInterface[Pass]
	paces  []*Pace
	// brake is why nothing is deleted, for users; empty while the brake is not engaged.
	brake string
	// released are the volumes whose claims no pod waits for any more.
	released map[types.UID]bool
	// confirmed is when it was last certain that no change of a node had been missed, by the clocks of the process and of the API
	// server. unsaved reports that the record was not saved, because it was not certain.
	confirmed moment
	unsaved   bool
	// unrecorded reports that the record could not be written.
	unrecorded bool
	// elsewhere is what others clean up, by the last report.
	elsewhere string
}

// NewSite returns an empty Site, which its Source fills.
func NewSite(d Dependencies) *Site {
	d.Metrics.Brake.WithLabelValues(d.Name).Set(0)
	return &Site{
		Dependencies: d,
		Inventory:    NewInventory(d.Config, d.Clock),
		tenures:      newTenures(&d),
		record:       &record{client: d.Client, namespace: d.RecordNamespace, lacking: d.NoRecord},
		slots:        make(chan struct{}, *d.Config.WorkerThreads),
		synced:       make(chan struct{}),
		released:     map[types.UID]bool{},
	}
}

// Known is closed when everything that exists was notified, so that passes can begin.
func (s *Site) Known() <-chan struct{} { return s.synced }

// LoadRecord takes over what an earlier process knew of nodes. It has to succeed before the first decision; later calls
// do nothing.
func (s *Site) LoadRecord(ctx context.Context) error {
	memory, err := s.record.load(ctx)
	if err != nil || memory == nil {
		return err
	}
	gap := Lease
	if now, known := s.ServerClock.Now(); known {
		gap = now.Add(dateGranularity).Sub(memory.Confirmed)
	}
	s.Inventory.Restore(*memory, gap)
	return nil
}

// SaveRecord writes what should outlive the process, when that changed, and as long as something depends on the time that
// nodes are missing, that they still are.
func (s *Site) SaveRecord(ctx context.Context, subjects []Subject) error {
	memory := s.Inventory.Memory()
	now, known := s.ServerClock.Now()
	memory.Confirmed = now
	if !s.tenures.holds(recordKey+s.RecordNamespace, s.moment()) {
		return nil // the record of another process
	}
	if !s.certain() || !known { // unobserved state is not confirmed: Beat has it saved later
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unsaved = true
		return nil
	}
	err := s.record.save(ctx, memory, s.planner(subjects), slices.ContainsFunc(subjects, func(subject Subject) bool { return subject.pending() }))
	s.announceRecord(ctx, err)
	return err
}

// planner returns what makes the Plan.
func (s *Site) planner(subjects []Subject) planner {
	s.mu.Lock()
	brake := s.brake
	s.mu.Unlock()
	return func(missing map[string]time.Time) Plan {
		return planOf(planInput{brake: brake, dryRun: s.DryRun(), subjects: subjects, delays: s.delays(), since: missing, now: s.Clock.Now(),
			uncertain: s.Inventory.Uncertain(), unsupported: s.Inventory.Unsupported(), unbound: s.Inventory.NotNodeBound()})
	}
}

// announceRecord sends an event when the record cannot be written any more. No deletion waits for it: without the record only a restart
// starts the delays over.
func (s *Site) announceRecord(ctx context.Context, err error) {
	s.mu.Lock()
	was := s.unrecorded
	s.unrecorded = err != nil
	s.mu.Unlock()
	if err == nil {
		s.Metrics.Unrecorded.WithLabelValues(s.Name).Set(0)
		return
	}
	s.Metrics.Unrecorded.WithLabelValues(s.Name).Set(1)
	log.FromContext(ctx).Error(err, "Failed to record the missing nodes, retrying later")
	if !was {
		s.Recorder.Event(s.recordObject(), corev1.EventTypeWarning, EventUnrecorded, fmt.Sprintf(
			"A restart starts the delays over, because the missing nodes cannot be recorded: %v. If %s is immutable, delete it.", err, s.recordName()))
	}
}

// recordName names the record in messages.
func (s *Site) recordName() string {
	name := "config map " + s.RecordNamespace + "/" + RecordName
	if s.Name != "" {
		name += " in cluster " + s.Name
	}
	return name
}

// recordObject stands for the record in events.
func (s *Site) recordObject() client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.RecordNamespace, Name: RecordName}}
}

// DryRun disables deletions.
func (s *Site) DryRun() bool { return *s.Config.DryRun }

// Each calls a function with 0 to n-1, as many concurrently as there are worker threads, and returns when all calls have. It
// continues after an error, and returns the first few.
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

// PodsReleased reports whether no pod waits for the claim of a volume any more, so that the volume may be deleted.
func (s *Site) PodsReleased(volume types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released[volume] = true
}

func (s *Site) podsAreReleased(volume types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released[volume]
}

// KeepReleased discards PodsReleased of all volumes but those.
func (s *Site) KeepReleased(volumes map[types.UID]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid := range s.released {
		if !volumes[uid] {
			delete(s.released, uid)
		}
	}
}

// notify requests a reconciliation by both controllers.
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
