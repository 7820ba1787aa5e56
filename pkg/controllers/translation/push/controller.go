// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package push is the controller that pushes Translations to the backend: the Kubernetes side of the push engine. It passes all
// Translations to the engine, pushes those that changed or that the engine wakes, and writes the result into the status of each.
//
// The engine builds its state from Translations and their statuses when this process becomes the leader, so a restart sends no
// request for resources that are in sync. A new Translation costs one status update, a deleted one the removal of its finalizer,
// and one that is in sync nothing.
package push

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// ControllerName is the name of the controller in the configuration, in logs and in metrics.
	ControllerName = "translation-push"
	// fieldOwner is the field manager of Groundskeeper's writes, and the source of its events.
	fieldOwner = "translation-push-controller"
)

// pusher is the part of the engine that the controller uses.
type pusher interface {
	Observe(engine.Claim)
	Discard(types.NamespacedName)
	Items(types.NamespacedName) engine.Items
	Push(context.Context, types.NamespacedName) (engine.Outcome, error)
	Drift(context.Context) (engine.Report, error)
	Counts() map[engine.State]int
}

// reconciler pushes Translations.
type reconciler struct {
	// client writes to the API server. Translations are read from the watch.
	client   client.Client
	engine   pusher
	recorder events.EventRecorder
	// written are the writes that the watch has not shown yet.
	written writings
	// queue receives the Claims that the engine wakes, once the controller has a queue, and the backlog in parts.
	queue   atomic.Pointer[workqueue.TypedRateLimitingInterface[reconcile.Request]]
	backlog backlog
	// realization tracks what the network has applied; nil if the backend does not report it.
	realization *realization
	// checks requests drift checks.
	checks demand
	now    func() time.Time
}

// AddToManager adds the controller to a manager. The scheme must include Translations, and the cache should have all of them. The
// backend is that of the configured tenant. An error means that the controller was added twice or that metrics with its names are
// registered already.
func AddToManager(mgr manager.Manager, config configv1alpha1.TranslationConfiguration, b engine.Backend) error {
	meters, err := newMeters(metrics.Registry)
	if err != nil {
		return err
	}
	log := mgr.GetLogger().WithValues("controller", ControllerName)
	r := &reconciler{client: mgr.GetClient(), recorder: mgr.GetEventRecorder(fieldOwner), checks: newDemand(), now: time.Now}
	options := engineOptions(config.Push)
	options.Clock, options.Log, options.Wake = clock.RealClock{}, log, r.wake
	options.Pushed = func(took time.Duration) { meters.pushed.Observe(took.Seconds()) }
	r.engine = engine.New(b, options)
	r.realization = newRealization(b, r.wake)
	if err := registerCounts(metrics.Registry, r.engine); err != nil {
		return err
	}
	all := &synced{
		SyncingSource: source.Kind[client.Object](mgr.GetCache(), &midonetv1.Translation{}, r.handler()),
		done:          make(chan struct{}),
	}
	err = builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: options.Concurrency,
			RateLimiter:             kit.RateLimiter[reconcile.Request](),
			// The state that a standby observed while another process pushed would be outdated when it becomes the leader. The cache,
			// whose sync takes longest, is warmed up in any case.
			EnableWarmup: new(false),
		}).
		WatchesRawSource(source.Func(r.useQueue)).
		WatchesRawSource(all).
		Complete(instrument.Reconciler(ControllerName, r))
	if err != nil {
		return err
	}
	err = mgr.Add(&driftLoop{
		engine: r.engine, ready: all.done, checks: r.checks, interval: config.Push.DriftInterval.Duration,
		backlog: &r.backlog, meters: meters, log: log,
	})
	if err != nil {
		return fmt.Errorf("the drift loop of controller %s: %w", ControllerName, err)
	}
	if r.realization != nil {
		if err := mgr.Add(&realizeLoop{realization: r.realization, log: log}); err != nil {
			return fmt.Errorf("the loop of controller %s that follows the network: %w", ControllerName, err)
		}
	}
	if watcher, ok := b.(Watcher); ok {
		if err := mgr.Add(&changeLoop{watcher: watcher, checks: r.checks, log: log}); err != nil {
			return fmt.Errorf("the watch of controller %s: %w", ControllerName, err)
		}
	}
	return nil
}

// engineOptions returns the configured options of the engine.
func engineOptions(config configv1alpha1.PushConfiguration) engine.Options {
	options := engine.Options{
		// An unknown mode must not write, although the configuration is validated.
		Mode:          engine.Plan,
		DeleteOrphans: config.Orphans == configv1alpha1.OrphanPolicyDelete,
		Concurrency:   1,
	}
	switch config.Mode {
	case configv1alpha1.PushModeRepair:
		options.Mode = engine.Repair
	case configv1alpha1.PushModeObserve:
		options.Mode = engine.Observe
	}
	if config.Concurrency != nil {
		options.Concurrency = int(*config.Concurrency)
	}
	return options
}

// mostQueued is the number of Translations of the backlog that are queued at a time: enough for all workers.
const mostQueued = 500

// backlog has the Translations that existed at startup and are pushed with low priority. A queue would need ten times as much
// memory per Translation, and does not release it. The zero value is empty.
type backlog struct {
	mu       sync.Mutex
	requests []reconcile.Request
}

// add appends a Translation.
func (b *backlog) add(request reconcile.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, request)
}

// waits reports whether some Translations are not queued yet.
func (b *backlog) waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.requests) > 0
}

// moveTo fills a queue. Queued Translations with a higher priority keep it.
func (b *backlog) moveTo(queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) == 0 {
		return
	}
	n := min(max(mostQueued-queue.Len(), 0), len(b.requests))
	moved := b.requests[:n]
	if b.requests = b.requests[n:]; len(b.requests) == 0 {
		b.requests = nil
	}
	if queue, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(handler.LowPriority)}, moved...)
		return
	}
	for _, request := range moved {
		queue.Add(request)
	}
}
