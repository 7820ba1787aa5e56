// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
)

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
					r.backlog.add(request)
					r.backlog.moveTo(*queue)
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
	if isReleased(translation) {
		r.discard(kept.Key())
		return
	}
	r.engine.Observe(claimOf(kept, translation))
	r.written.drop(kept.Key())
}

func (r *reconciler) discard(name types.NamespacedName) {
	r.engine.Discard(name)
	r.realization.discard(name)
	r.written.drop(name)
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

func isReleased(translation *midonetv1.Translation) bool {
	return !translation.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(translation, midonetv1.FinalizerName)
}

// latest returns a Translation as last passed to the engine, or as Groundskeeper wrote it since; nil if the engine has none of this
// name.
func (r *reconciler) latest(name types.NamespacedName) *packed.Translation {
	r.written.mu.Lock()
	defer r.written.mu.Unlock()
	return r.latestLocked(name)
}

func (r *reconciler) latestLocked(name types.NamespacedName) *packed.Translation {
	if written := r.written.since[name]; written != nil {
		return written
	}
	if newEvents, ok := r.engine.Items(name).(resources); ok {
		return newEvents.Translation
	}
	return nil
}

// isLatest reports whether this version was observed, or written by Groundskeeper.
func (r *reconciler) isLatest(translation *midonetv1.Translation) bool {
	latest := r.latest(client.ObjectKeyFromObject(translation))
	return latest != nil && latest.GetResourceVersion() == translation.ResourceVersion && latest.GetUID() == translation.UID
}

// wrote records the result of a write, unless the watch has delivered a newer version.
func (r *reconciler) wrote(before, after *packed.Translation) {
	r.written.mu.Lock()
	defer r.written.mu.Unlock()
	name := before.Key()
	if r.latestLocked(name) != before {
		return
	}
	if r.written.since == nil {
		r.written.since = map[types.NamespacedName]*packed.Translation{}
	}
	r.written.since[name] = after
}

// writings are the Translations that Groundskeeper wrote, until the watch delivers them. The zero value is empty.
type writings struct {
	mu    sync.Mutex
	since map[types.NamespacedName]*packed.Translation
}

func (w *writings) drop(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.since, name)
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
