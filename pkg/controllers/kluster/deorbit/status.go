// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	kubernikusapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (
	// maxListed is how many objects a list in the status has at most; one more entry then reports how many there are besides.
	maxListed = 500
	// moreKind is the kind of that entry.
	moreKind = "More"
	// reasonDone and reasonLeftovers are the reasons of the condition when it is True.
	reasonDone      = "Deorbited"
	reasonLeftovers = "Leftovers"
)

// describe returns an object as users read it, with the reason.
func describe(o kubernikusv1.DeorbitObject) string {
	text := o.Kind
	switch {
	case o.Namespace != "" && o.Name != "":
		text += " " + o.Namespace + "/" + o.Name
	case o.Name != "":
		text += " " + o.Name
	}
	if o.ID != "" {
		text += " " + o.ID
	}
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
	case len(p.Remaining) == 1:
		return "1 remains: " + describe(p.Remaining[0])
	default:
		return fmt.Sprintf("%d remain, the first: %s", len(p.Remaining), describe(p.Remaining[0]))
	}
}

// condition is how far a Deorbit is.
func (p progress) condition() metav1.Condition {
	c := metav1.Condition{Type: kubernikusv1.ConditionDeorbited, Status: metav1.ConditionFalse, Reason: string(p.Stage), Message: p.waitsFor()}
	switch {
	case p.own:
		c.Reason, c.Message = reasonOwnCluster, "the Secret leads to the cluster that Groundskeeper runs in, and nothing of that is touched: set the annotation "+
			kubernikusv1.DetachAnnotation+"=true to release the Kluster, or put the Secret right"
	case p.held != nil:
		// Unknown, as during a pause: how long it lasts is the time that the clocks stand still.
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, p.held.reason, p.held.message
	case p.failure != nil:
		c.Reason, c.Message = p.failure.reason, p.inStage(p.failure.message)
	case p.Stage == kubernikusv1.DeorbitMachines:
		c.Message = "Cluster API deletes the Machines, then OpenStack is checked"
	case slices.ContainsFunc(p.Remaining, isConflict):
		c.Reason, c.Message = kubernikusv1.ReasonIdentityConflict, p.inStage(c.Message)
	}
	return c
}

// inStage returns a message with the stage, for a reason that is not the stage.
func (p progress) inStage(message string) string { return fmt.Sprintf("%s: %s", p.Stage, message) }

// isConflict reports whether an object remains because another Kluster could have made it.
func isConflict(o kubernikusv1.DeorbitObject) bool {
	return strings.HasPrefix(o.Reason, kubernikusv1.ReasonIdentityConflict)
}

// pausedBy returns the condition while an annotation requests to wait; nil: none does. Its status has the time.
func pausedBy(k *kubernikusv1.Kluster) *metav1.Condition {
	c := metav1.Condition{Type: kubernikusv1.ConditionDeorbited, Status: metav1.ConditionUnknown}
	switch {
	case kit.IsPaused(k):
		c.Reason, c.Message = reasonPaused, "nothing is checked or removed while the annotation groundskeeper.io/paused is there"
	case k.TerminationProtected():
		c.Reason, c.Message = reasonProtected, "the annotation "+kubernikusv1.TerminationProtectionAnnotation+" forbids to take the cluster down: remove it"
	default:
		return nil
	}
	return &c
}

// doneCondition returns the condition of a Kluster that is released and that others still keep.
func doneCondition(status *kubernikusv1.DeorbitStatus) metav1.Condition {
	c := metav1.Condition{Type: kubernikusv1.ConditionDeorbited, Status: metav1.ConditionTrue, Reason: reasonDone, Message: "nothing of the cluster is left"}
	if left := len(status.Remaining); left > 0 {
		c.Reason, c.Message = reasonLeftovers, fmt.Sprintf("the Kluster is released, and status.deorbit.remaining is left: %s", progress{DeorbitStatus: *status}.waitsFor())
	} else if len(status.Undecided) > 0 {
		c.Reason, c.Message = reasonLeftovers, fmt.Sprintf("the Kluster is released, and status.deorbit.undecided is left, which no field or annotation retains: %s",
			progress{DeorbitStatus: kubernikusv1.DeorbitStatus{Remaining: status.Undecided}}.waitsFor())
	}
	return c
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
	more := kubernikusv1.DeorbitObject{Kind: moreKind, Reason: fmt.Sprintf("and %d more: the log has all of them when the Kluster is released", len(list)-maxListed)}
	return append(slices.Clone(list[:maxListed]), more)
}

// loaded returns a status as written, without the entries that stand for others.
func loaded(status *kubernikusv1.DeorbitStatus) kubernikusv1.DeorbitStatus {
	if status == nil {
		return kubernikusv1.DeorbitStatus{}
	}
	read := *status.DeepCopy()
	stands := func(o kubernikusv1.DeorbitObject) bool { return o.Kind == moreKind }
	for _, list := range []*[]kubernikusv1.DeorbitObject{&read.Remaining, &read.Retained, &read.Undecided} {
		*list = slices.DeleteFunc(*list, stands)
	}
	return read
}

// applied returns the patch that writes a status and its condition.
func applied(k *kubernikusv1.Kluster, status *kubernikusv1.DeorbitStatus, conditions []metav1.Condition) *kubernikusapply.KlusterApplyConfiguration {
	patch := kluster.Apply(k, conditions)
	if status.StartedAt == nil {
		return patch
	}
	to := kubernikusapply.DeorbitStatus().WithStage(status.Stage).
		WithRemaining(objects(status.Remaining)...).WithRetained(objects(status.Retained)...).WithUndecided(objects(status.Undecided)...)
	to.StartedAt, to.LastProgressAt = status.StartedAt, status.LastProgressAt
	to.StageStartedAt, to.UnreachableSince, to.VerifyStartedAt = status.StageStartedAt, status.UnreachableSince, status.VerifyStartedAt
	for _, v := range status.SeenVolumes {
		seen := kubernikusapply.SeenVolume().WithID(v.ID).WithName(v.Name).WithReclaimPolicy(v.ReclaimPolicy)
		setIfAny(v.Standing, seen.WithStanding)
		setIfAny(v.ServerID, seen.WithServerID)
		to.WithSeenVolumes(seen)
	}
	for _, s := range status.SeenSnapshots {
		seen := kubernikusapply.SeenSnapshot().WithID(s.ID).WithName(s.Name).WithDeletionPolicy(s.DeletionPolicy)
		setIfAny(s.Standing, seen.WithStanding)
		to.WithSeenSnapshots(seen)
	}
	for _, s := range status.SeenServices {
		seen := kubernikusapply.SeenService().WithUID(s.UID).WithNamespace(s.Namespace).WithName(s.Name).WithKeepFloatingIP(s.KeepFloatingIP)
		setIfAny(s.LoadBalancerID, seen.WithLoadBalancerID)
		setIfAny(s.Address, seen.WithAddress)
		setIfAny(s.Standing, seen.WithStanding)
		setIfAny(s.Finalized, seen.WithFinalized)
		setIfAny(s.Gone, seen.WithGone)
		setIfAny(s.Ingress, seen.WithIngress)
		to.WithSeenServices(seen)
	}
	setIfAny(status.ClusterName, to.WithClusterName)
	setIfAny(status.CSIClusterID, to.WithCSIClusterID)
	setIfAny(status.ClusterID, to.WithClusterID)
	setIfAny(status.ClusterLost, to.WithClusterLost)
	setIfAny(status.ClusterRefused, to.WithClusterRefused)
	patch.Status.WithDeorbit(to)
	return patch
}

// setIfAny sets a field of a patch that has a value: what is empty is left out, as the API server writes it.
func setIfAny[T comparable, P any](value T, set func(T) P) {
	var none T
	if value != none {
		set(value)
	}
}

func objects(list []kubernikusv1.DeorbitObject) []*kubernikusapply.DeorbitObjectApplyConfiguration {
	var all []*kubernikusapply.DeorbitObjectApplyConfiguration
	for _, o := range list {
		object := kubernikusapply.DeorbitObject().WithKind(o.Kind)
		setIfAny(o.Namespace, object.WithNamespace)
		setIfAny(o.Name, object.WithName)
		setIfAny(o.ID, object.WithID)
		setIfAny(o.Reason, object.WithReason)
		all = append(all, object)
	}
	return all
}

// write records the progress of a Deorbit if it changed, and then sends the events.
func (r *reconciler) write(ctx context.Context, k *kubernikusv1.Kluster, s *state, condition metav1.Condition) error {
	now := r.clock.Now()
	// The cache may be behind what was written last.
	known := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Generation: k.Generation}}
	if s.reported != nil {
		known.Status.Conditions = []metav1.Condition{*s.reported}
	}
	conditions, changed := kluster.Conditions(known, []metav1.Condition{condition}, now)
	s.condition = &conditions[0]
	status := listed(s.progress.DeorbitStatus)
	if !changed && equality.Semantic.DeepEqual(status, s.written) {
		r.report(ctx, k, s)
		return nil
	}
	if err := r.apply(ctx, k, &status, conditions); err != nil {
		return err
	}
	r.announce(ctx, k, s.reported, conditions[0])
	s.written, s.reported = *status.DeepCopy(), s.condition.DeepCopy()
	r.report(ctx, k, s)
	return nil
}

// conclude reports about a Kluster that is released, and that others still keep, that it is.
func (r *reconciler) conclude(ctx context.Context, k *kubernikusv1.Kluster) error {
	if k.Status.Deorbit == nil || k.Detached() {
		return nil
	}
	conditions, changed := kluster.Conditions(k, []metav1.Condition{doneCondition(k.Status.Deorbit)}, r.clock.Now())
	if !changed {
		return nil
	}
	return client.IgnoreNotFound(r.apply(ctx, k, k.Status.Deorbit, conditions))
}

// apply writes a status, unless another process may be at it.
func (r *reconciler) apply(ctx context.Context, k *kubernikusv1.Kluster, status *kubernikusv1.DeorbitStatus, conditions []metav1.Condition) error {
	if err := r.fence(); err != nil {
		return fmt.Errorf("write the status of kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	err := r.client.Status().Apply(ctx, applied(k, status, conditions), client.FieldOwner(fieldOwner), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("apply the status of kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	return nil
}
