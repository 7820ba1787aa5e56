// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Reasons of events. Others have the reason of the condition Deorbited.
const (
	eventStarted      = "DeorbitStarted"
	eventStage        = "DeorbitStage"
	eventStageLeft    = "StageLeft"
	eventUnreachable  = "ClusterUnreachable"
	eventNeverCameUp  = "ClusterNeverCameUp"
	eventSelfDestruct = "SelfDestruct"
	eventLeftover     = "Leftover"
	eventLeftovers    = "Leftovers"
	// eventStuck reports early what needs a user, long before a timeout.
	eventStuck = "Stuck"
	// eventRoutesCameBack reports a cloud controller manager that still makes routes.
	eventRoutesCameBack = "RoutesCameBack"
	// eventThawed reports that the freeze of a cluster that is still used was lifted.
	eventThawed    = "Thawed"
	eventDeorbited = "Deorbited"
	// eventReleased: a detached Kluster was released unchanged.
	eventReleased = "Released"

	actionDeorbit = "Deorbit"
	actionRelease = "Release"

	// thawedMessage is the event's message when it was Deorbit that had set the freeze.
	thawedMessage = "the freeze is lifted: the cluster is still used"

	// maxEvents is how many leftovers have a dedicated event, and maxNamed how many objects a line of the log names.
	maxEvents = 20
	maxNamed  = 10
)

const (
	// maxListed is how many objects a list in the status has at most; one more entry then reports how many there are besides.
	maxListed = 500
	moreKind  = "More"
	// These are the reasons of the condition when it is True.
	reasonDone           = "Deorbited"
	reasonCleanInCluster = "CleanInCluster"
	reasonLeftovers      = "Leftovers"
)

// describe returns an object as users read it, with the reason.
func describe(o kubernikusv1.DeorbitObject) string {
	name := o.Name
	if name != "" && o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	text := strings.Join(slices.DeleteFunc([]string{o.Kind, name, o.ID}, func(s string) bool { return s == "" }), " ")
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

// waitsFor returns what a stage waits for, in one line.
func (p progress) waitsFor() string {
	switch {
	case p.failure != nil:
		return p.failure.message
	case len(p.Remaining) == 0:
		return "nothing is known to remain"
	}
	return summaryOf(p.Remaining)
}

// summaryOf names the first of several objects.
func summaryOf(list []kubernikusv1.DeorbitObject) string {
	if len(list) == 1 {
		return "1 remains: " + describe(list[0])
	}
	return fmt.Sprintf("%d remain, the first: %s", len(list), describe(list[0]))
}

func deorbited(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kubernikusv1.ConditionDeorbited, Status: status, Reason: reason, Message: message}
}

// condition is how far a Deorbit is.
func (p progress) condition() metav1.Condition {
	waits, stage := p.waitsFor(), string(p.Stage)
	isConflict := func(o kubernikusv1.DeorbitObject) bool {
		return strings.HasPrefix(o.Reason, kubernikusv1.ReasonIdentityConflict)
	}
	switch {
	case p.isSelf:
		return deorbited(metav1.ConditionFalse, kubernikusv1.ReasonOwnCluster, "the Secret leads to the cluster that Groundskeeper runs in, "+
			"and nothing of that is touched: set the annotation "+kubernikusv1.DetachAnnotation+"=true to release the Kluster, "+
			"or put the Secret right")
	case p.held != nil:
		// Unknown, as during a pause: how long it lasts is the time that the clocks stand still.
		return deorbited(metav1.ConditionUnknown, p.held.reason, p.held.message)
	case p.failure != nil:
		return deorbited(metav1.ConditionFalse, p.failure.reason, stage+": "+waits)
	case p.Stage == kubernikusv1.DeorbitMachines:
		return deorbited(metav1.ConditionFalse, stage, "Cluster API deletes the Machines, then OpenStack is checked")
	case slices.ContainsFunc(p.Remaining, isConflict):
		return deorbited(metav1.ConditionFalse, kubernikusv1.ReasonIdentityConflict, stage+": "+waits)
	}
	return deorbited(metav1.ConditionFalse, stage, waits)
}

// pausedBy returns the condition while an annotation requests to wait; nil: none does. Its status has the time.
func pausedBy(k *kubernikusv1.Kluster) *metav1.Condition {
	switch {
	case kit.IsPaused(k):
		return new(deorbited(metav1.ConditionUnknown, reasonPaused,
			"nothing is checked or removed while the annotation groundskeeper.io/paused is there"))
	case k.TerminationProtected():
		return new(deorbited(metav1.ConditionUnknown, reasonProtected,
			"the annotation "+kubernikusv1.TerminationProtectionAnnotation+" forbids to take the cluster down: remove it"))
	}
	return nil
}

// doneCondition returns the condition of a Kluster that is released and that others still keep.
func doneCondition(k *kubernikusv1.Kluster) metav1.Condition {
	switch status := k.Status.Deorbit; {
	case len(status.Remaining) > 0:
		return deorbited(metav1.ConditionTrue, reasonLeftovers,
			"the Kluster is released, and status.deorbit.remaining is left: "+summaryOf(status.Remaining))
	case len(status.Undecided) > 0:
		return deorbited(metav1.ConditionTrue, reasonLeftovers,
			"the Kluster is released, and a user has to decide about status.deorbit.undecided: "+summaryOf(status.Undecided))
	case k.Spec.NoCloud:
		return deorbited(metav1.ConditionTrue, reasonCleanInCluster, "every claim, snapshot and load balancer that the cluster had has been "+
			"deleted by its controllers: what they left outside of the cluster was not checked")
	}
	return deorbited(metav1.ConditionTrue, reasonDone, "nothing of the cluster is left")
}

// listed returns a status that is not too large to be written.
func listed(status kubernikusv1.DeorbitStatus) kubernikusv1.DeorbitStatus {
	status.Remaining, status.Retained, status.Undecided = cut(status.Remaining), cut(status.Retained), cut(status.Undecided)
	return status
}

func cut(list []kubernikusv1.DeorbitObject) []kubernikusv1.DeorbitObject {
	if len(list) <= maxListed {
		return list
	}
	return append(slices.Clone(list[:maxListed]), kubernikusv1.DeorbitObject{Kind: moreKind,
		Reason: fmt.Sprintf("and %d more: the log has all of them when the Kluster is released", len(list)-maxListed)})
}

// loaded returns a status as written, without the entries that stand for others.
func loaded(status kubernikusv1.DeorbitStatus) kubernikusv1.DeorbitStatus {
	read := *status.DeepCopy()
	stands := func(o kubernikusv1.DeorbitObject) bool { return o.Kind == moreKind }
	for _, list := range []*[]kubernikusv1.DeorbitObject{&read.Remaining, &read.Retained, &read.Undecided} {
		*list = slices.DeleteFunc(*list, stands)
	}
	return read
}

// write records the progress of a Deorbit if it changed, and then sends the events.
func (r *reconciler) write(ctx context.Context, k *kubernikusv1.Kluster, s *state, condition metav1.Condition) error {
	// The cache may be behind what was written last.
	known := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Generation: k.Generation}}
	if s.reported != nil {
		known.Status.Conditions = []metav1.Condition{*s.reported}
	}
	conditions, changed := kluster.Conditions(known, []metav1.Condition{condition}, r.clock.Now())
	s.condition = &conditions[0]
	status := listed(s.progress.DeorbitStatus)
	if changed || !equality.Semantic.DeepEqual(status, s.written) {
		if err := r.apply(ctx, k, &status, conditions); err != nil {
			return err
		}
		r.announce(ctx, k, s.reported, conditions[0])
		s.written, s.reported = *status.DeepCopy(), s.condition.DeepCopy()
	}
	r.report(ctx, k, s)
	return nil
}

// conclude reports about a Kluster that is released, and that others still keep, that it is; nil: there is none.
func (r *reconciler) conclude(ctx context.Context, k *kubernikusv1.Kluster) error {
	if k == nil || !isGoing(k) || k.Status.Deorbit == nil || k.Detached() {
		return nil
	}
	conditions, changed := kluster.Conditions(k, []metav1.Condition{doneCondition(k)}, r.clock.Now())
	if !changed {
		return nil
	}
	return client.IgnoreNotFound(r.apply(ctx, k, k.Status.Deorbit, conditions))
}

func (r *reconciler) removed(ctx context.Context, s *state, deleted []kubernikusv1.DeorbitObject) {
	if len(deleted) == 0 {
		return
	}
	var names []string
	for _, object := range deleted {
		r.meters.deleted.WithLabelValues(object.Kind).Inc()
		names = append(names, describe(object))
	}
	if more := len(deleted) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	log.FromContext(ctx).Info("Requested the deletion of what a cluster made", "stage", s.progress.Stage, "objects", strings.Join(names, ", "))
}

// report sends the events of what happened, once the status is written.
func (r *reconciler) report(ctx context.Context, k *kubernikusv1.Kluster, s *state) {
	for _, n := range s.notes {
		log.FromContext(ctx).Info("Deorbit of a Kluster", "event", n.reason, "message", n.message)
		kind := corev1.EventTypeNormal
		if n.warning {
			kind = corev1.EventTypeWarning
		}
		r.recorder.Eventf(k, nil, kind, n.reason, actionDeorbit, "%s", kluster.Bounded(n.message))
	}
	s.notes = nil
}

// announce reports a condition whose reason is new, unless it is a stage, which has a dedicated note.
func (r *reconciler) announce(ctx context.Context, k *kubernikusv1.Kluster, last *metav1.Condition, c metav1.Condition) {
	if last != nil && last.Reason == c.Reason || slices.Contains(kubernikusv1.DeorbitStages(), kubernikusv1.DeorbitStage(c.Reason)) {
		return
	}
	log.FromContext(ctx).Info("Deorbit of a Kluster", "reason", c.Reason, "message", c.Message)
	kind := corev1.EventTypeWarning
	if c.Reason == reasonPaused || c.Reason == reasonProtected || c.Reason == reasonTwinFirst {
		kind = corev1.EventTypeNormal
	}
	r.recorder.Eventf(k, nil, kind, c.Reason, actionDeorbit, "%s", c.Message)
}

// reportLeftovers reports what is left, each thing of it, before its record is lost.
func (r *reconciler) reportLeftovers(ctx context.Context, k *kubernikusv1.Kluster, s *state) {
	for _, object := range s.progress.Retained {
		log.FromContext(ctx).Info("Kept on purpose", "object", describe(object))
	}
	left := slices.Concat(s.progress.Remaining, s.progress.Undecided)
	for i, object := range left {
		log.FromContext(ctx).Info("Left over", "object", describe(object))
		r.meters.leftovers.WithLabelValues(object.Kind).Inc()
		if i < maxEvents {
			// Events that differ in their note alone count as one, of which only the first note is kept.
			about := &corev1.ObjectReference{Kind: object.Kind, Namespace: object.Namespace, Name: object.Name, UID: types.UID(object.ID)}
			r.recorder.Eventf(k, about, corev1.EventTypeWarning, eventLeftover, actionRelease, "%s", kluster.Bounded("left over: "+describe(object)))
		}
	}
	if more := len(left) - maxEvents; more > 0 {
		r.recorder.Eventf(k, nil, corev1.EventTypeWarning, eventLeftovers, actionRelease, "%d things are left over, %d of them are not "+
			"in a dedicated event: see status.deorbit.remaining, status.deorbit.undecided and the log", len(left), more)
	}
}

func (r *reconciler) finished(ctx context.Context, k *kubernikusv1.Kluster, s *state) {
	r.meters.finished.WithLabelValues(string(s.ends)).Inc()
	logger := log.FromContext(ctx)
	if s.ends == endsDetached {
		logger.Info("Detached a Kluster without changes to its cluster", "annotation", kubernikusv1.DetachAnnotation)
		r.recorder.Eventf(k, nil, corev1.EventTypeNormal, eventReleased, actionRelease,
			"released without any clean-up: the annotation %s requests to leave everything unchanged", kubernikusv1.DetachAnnotation)
		return
	}
	left := len(s.progress.Remaining) + len(s.progress.Undecided)
	took := r.clock.Since(s.progress.StartedAt.Time)
	r.meters.duration.Observe(took.Seconds())
	logger.Info("Deorbited a Kluster", "outcome", s.ends, "took", took.String(), "leftovers", left, "retained", len(s.progress.Retained))
	r.recorder.Eventf(k, nil, corev1.EventTypeNormal, eventDeorbited, actionRelease,
		"released: %d things are left over, %d are kept on purpose", left, len(s.progress.Retained))
}
