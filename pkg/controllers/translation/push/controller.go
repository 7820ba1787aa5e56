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
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
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
	memory   memory
	// queue receives the Claims that the engine wakes, once the controller has a queue, and the backlog in parts.
	queue atomic.Pointer[workqueue.TypedRateLimitingInterface[reconcile.Request]]
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
	logger := mgr.GetLogger().WithValues("controller", ControllerName)
	r := &reconciler{client: mgr.GetClient(), recorder: mgr.GetEventRecorder(fieldOwner), checks: newDemand(), now: time.Now}
	options := engineOptions(config.Push)
	options.Clock, options.Log, options.Wake = clock.RealClock{}, logger, r.wake
	options.Pushed = func(took time.Duration) { meters.pushed.Observe(took.Seconds()) }
	r.engine = engine.New(b, options)
	r.realization = newRealization(b, r.wake)
	if err := registerCounts(metrics.Registry, r.engine.Counts); err != nil {
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
	drift := &driftLoop{
		engine: r.engine, ready: all.done, checks: r.checks, interval: config.Push.DriftInterval.Duration,
		memory: &r.memory, meters: meters, log: logger,
	}
	loops := []manager.RunnableFunc{drift.run}
	if r.realization != nil {
		loops = append(loops, func(ctx context.Context) error { return r.realization.follow(ctx, logger) })
	}
	if watcher, ok := b.(Watcher); ok {
		loops = append(loops, func(ctx context.Context) error { return followChanges(ctx, watcher, r.checks, logger) })
	}
	for _, loop := range loops { // they run on the leader only
		if err := mgr.Add(loop); err != nil {
			return fmt.Errorf("the loops of controller %s: %w", ControllerName, err)
		}
	}
	return nil
}

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

// checkDriftAnnotation requests a drift check now when it is set or changed on any Translation. Its value is irrelevant.
const checkDriftAnnotation = "midonet.org/check-drift"

// handler passes each Translation to the engine before it is queued.
func (r *reconciler) handler() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if kept, translation := both(ctx, e.Object); kept != nil {
				r.observe(kept, translation)
				request := reconcile.Request{NamespacedName: kept.Key()}
				if queue := r.queue.Load(); queue != nil && e.IsInInitialList {
					r.memory.addToBacklog(request)
					r.memory.moveBacklog(*queue)
					return
				}
				q.Add(request)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before := packed.Metadata(e.ObjectOld)
			kept, after := both(ctx, e.ObjectNew)
			if before == nil || after == nil {
				return
			}
			if before.GetAnnotations()[checkDriftAnnotation] != after.Annotations[checkDriftAnnotation] {
				r.checks.request()
			}
			own := r.isLatest(after)
			r.observe(kept, after)
			if !own || before.GetResourceVersion() == after.ResourceVersion {
				q.Add(reconcile.Request{NamespacedName: kept.Key()})
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) {
			r.discard(client.ObjectKeyFromObject(e.Object))
		},
	}
}

// both returns an object of the cache in its cached form and unpacked; nil if it is not a Translation, which only a programming
// error causes.
func both(ctx context.Context, object client.Object) (*packed.Translation, *midonetv1.Translation) {
	kept, err := packed.As(object)
	if err != nil {
		log.FromContext(ctx).Error(err, "An event of the cache is not understood")
		return nil, nil
	}
	return kept, kept.Unpack()
}

// observe passes a Translation to the engine. A Translation that is being deleted without Groundskeeper's finalizer is discarded: a
// user who removed the finalizer wants to keep its resources in the backend.
func (r *reconciler) observe(kept *packed.Translation, translation *midonetv1.Translation) {
	if !translation.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(translation, midonetv1.FinalizerName) {
		r.discard(kept.Key())
		return
	}
	r.engine.Observe(claimOf(kept, translation))
	r.memory.drop(kept.Key())
}

func (r *reconciler) discard(name types.NamespacedName) {
	r.engine.Discard(name)
	r.realization.discard(name)
	r.memory.drop(name)
}

// useQueue stores the queue of the controller.
func (r *reconciler) useQueue(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.queue.Store(&queue)
	return nil
}

// wake queues a Translation at the request of the engine. It does not block.
func (r *reconciler) wake(name types.NamespacedName) {
	if queue := r.queue.Load(); queue != nil {
		(*queue).Add(reconcile.Request{NamespacedName: name})
	}
}

// synced closes done when a source has delivered everything that existed at startup.
type synced struct {
	source.SyncingSource
	once sync.Once
	done chan struct{}
}

// WaitForSync implements source.SyncingSource.
func (s *synced) WaitForSync(ctx context.Context) error {
	if err := s.SyncingSource.WaitForSync(ctx); err != nil {
		return err
	}
	if ctx.Err() == nil {
		s.once.Do(func() { close(s.done) })
	}
	return nil
}
