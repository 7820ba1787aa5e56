// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Reasons of the condition Realized.
const (
	reasonRealized     = "Realized"
	reasonApplying     = "Applying"
	reasonNotConnected = "NotConnected"
	reasonNotSynced    = "NotSynced"
)

// Realizer is a backend whose network applies writes asynchronously, and reports its progress. Its methods do not block, except for
// Realize.
type Realizer interface {
	// Written returns the current point in the sequence of writes. Points are ordered, and valid within one process.
	Written() int64
	// Realized reports whether the network has applied all writes before a point.
	Realized(point int64) bool
	// Connects reports whether a resource, such as a port, has to be connected to by something in the network.
	Connects(ref backend.Ref) bool
	// Connected reports whether such a resource is connected.
	Connected(ref backend.Ref) bool
	// Realize follows the progress until the context ends. It calls the function without keys after the network has applied more
	// writes, and with the keys of resources for which Connected changed. The function does not block.
	Realize(ctx context.Context, changed func([]backend.Key)) error
}

// realization tracks what the network has applied. It is nil for a backend that does not report it.
type realization struct {
	realizer Realizer
	wake     func(types.NamespacedName)

	mu sync.Mutex
	// waits are of Translations that are not known to be applied.
	waits map[types.NamespacedName]applyWait
	// owners maps the resources that have to be connected to their Translations, and owned is the inverse.
	owners map[backend.Key]types.NamespacedName
	owned  map[types.NamespacedName][]backend.Key
}

// applyWait is the wait for the network to apply what was written for a Translation before a point. It began at since.
type applyWait struct {
	point int64
	since time.Time
}

// applyTime is the time that a Translation may wait to be applied before its status reports that it is written. Most are applied
// within it, which saves a write.
const applyTime = 5 * time.Second

// newRealization returns a realization if the backend reports its progress.
func newRealization(b engine.Backend, wake func(types.NamespacedName)) *realization {
	realizer, ok := b.(Realizer)
	if !ok {
		return nil
	}
	return &realization{realizer: realizer, wake: wake, waits: map[types.NamespacedName]applyWait{},
		owners: map[backend.Key]types.NamespacedName{}, owned: map[types.NamespacedName][]backend.Key{}}
}

// set sets the condition Realized in a status that is about to be written, and returns for how long the write should be delayed: it is
// probably applied by then.
func (r *realization) set(
	translation *midonetv1.Translation, status *midonetv1.TranslationStatus, outcome engine.Outcome, now time.Time,
) (delay time.Duration) {
	if r == nil {
		return 0
	}
	name := types.NamespacedName{Namespace: translation.Namespace, Name: translation.Name}
	condition := metav1.Condition{
		Type: midonetv1.ConditionRealized, Status: metav1.ConditionFalse, ObservedGeneration: translation.Generation,
		LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := r.connections(name, outcome)
	switch {
	case outcome.Reason != engine.ReasonSynced:
		condition.Reason, condition.Message = reasonNotSynced, "The backend does not have all resources."
		delete(r.waits, name)
	case r.isApplying(name, translation, outcome, now):
		condition.Reason, condition.Message = reasonApplying, "Some chassis has not confirmed it yet."
		delay = r.waits[name].since.Add(applyTime).Sub(now)
	case len(missing) > 0:
		condition.Reason = reasonNotConnected
		condition.Message = kit.Bounded(fmt.Sprintf("No interface of a chassis is connected to %s.", missing[0]), maxMessage)
	default:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, reasonRealized, "Every chassis has applied it."
	}
	meta.SetStatusCondition(&status.Conditions, condition)
	return max(delay, 0)
}

// isApplying reports whether the network may not have applied a write yet. The record of an earlier process that a Translation was
// applied remains valid.
func (r *realization) isApplying(
	name types.NamespacedName, translation *midonetv1.Translation, outcome engine.Outcome, now time.Time,
) bool {
	last, waits := r.waits[name]
	before := meta.FindStatusCondition(translation.Status.Conditions, midonetv1.ConditionRealized)
	known := before != nil && before.ObservedGeneration == translation.Generation &&
		(before.Reason == reasonRealized || before.Reason == reasonNotConnected)
	switch {
	case outcome.Wrote, !waits && !known:
		if !waits {
			last.since = now
		}
		last.point = r.realizer.Written()
		r.waits[name] = last
		return true
	case waits && !r.realizer.Realized(last.point):
		return true
	default:
		delete(r.waits, name)
		return false
	}
}

// connections records the resources of a Translation that have to be connected, and returns those that are not.
func (r *realization) connections(name types.NamespacedName, outcome engine.Outcome) []backend.Key {
	r.disown(name)
	var missing []backend.Key
	for _, pushed := range outcome.Pushed {
		ref := backend.Ref{Key: backend.Key{Kind: pushed.Kind, ID: pushed.ID}, Parent: pushed.Parent}
		if !r.realizer.Connects(ref) {
			continue
		}
		r.owners[ref.Key], r.owned[name] = name, append(r.owned[name], ref.Key)
		if !r.realizer.Connected(ref) {
			missing = append(missing, ref.Key)
		}
	}
	return missing
}

// discard removes a Translation that has been deleted.
func (r *realization) discard(name types.NamespacedName) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waits, name)
	r.disown(name)
}

// disown removes the resources of a Translation.
func (r *realization) disown(name types.NamespacedName) {
	for _, key := range r.owned[name] {
		if r.owners[key] == name {
			delete(r.owners, key)
		}
	}
	delete(r.owned, name)
}

// changed wakes the Translations whose condition may have changed.
func (r *realization) changed(keys []backend.Key) {
	r.mu.Lock()
	names := map[types.NamespacedName]bool{}
	for _, key := range keys {
		if owner, ok := r.owners[key]; ok {
			names[owner] = true
		}
	}
	if len(keys) == 0 {
		for name, last := range r.waits {
			if r.realizer.Realized(last.point) {
				names[name] = true
			}
		}
	}
	r.mu.Unlock()
	for name := range names {
		r.wake(name)
	}
}

// realizeRetry is the pause after tracking failed.
const realizeRetry = 5 * time.Second

// follow tracks the network until the context ends.
func (r *realization) follow(ctx context.Context, log logr.Logger) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := r.realizer.Realize(ctx, r.changed); ctx.Err() == nil {
			log.Error(err, "What the network has applied is not reported", "retryAfter", realizeRetry.String())
		}
	}, realizeRetry)
	return nil
}
