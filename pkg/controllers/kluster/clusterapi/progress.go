// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// drained reports whether the first phase is over: the machines of the cluster are not needed any more, or have been retained for long
// enough. Otherwise it returns the time until then, 0 if nothing limits it.
func drained(k *kubernikusv1.Kluster, timeout time.Duration, now time.Time) (over bool, wait time.Duration) {
	if clusterid.IsReleased(k) {
		return true, 0
	}
	d := k.Status.Deorbit
	if d != nil {
		switch d.Stage {
		case kubernikusv1.DeorbitMachines, kubernikusv1.DeorbitVerify, kubernikusv1.DeorbitRoutes, kubernikusv1.DeorbitRelease:
			return true, 0
		}
	}
	if k.DeletionTimestamp.IsZero() || kit.IsPaused(k) || k.TerminationProtected() {
		return false, 0
	}
	began := k.DeletionTimestamp
	if d != nil && d.StartedAt != nil {
		began = d.StartedAt
	}
	wait = began.Add(timeout).Sub(now)
	return wait <= 0, max(wait, 0)
}

func isCompleted(c *desired.Cluster) bool {
	return c.Completed != nil && c.Completed.Status == string(metav1.ConditionTrue)
}

func isKept(k *kubernikusv1.Kluster) bool {
	return slices.Contains(k.Finalizers, kubernikusv1.ClusterAPIFinalizer)
}

// progress returns how far the Deorbit of a Kluster is, as the condition of its Cluster reports it.
func progress(k *kubernikusv1.Kluster) (reason, message string) {
	c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited)
	if k.DeletionTimestamp.IsZero() && k.TerminationProtected() {
		return reasonProtected, "annotation " + kubernikusv1.TerminationProtectionAnnotation + " protects the Kluster: remove it there to delete the cluster"
	}
	if k.DeletionTimestamp.IsZero() || c == nil {
		return reasonDeleting, "the deletion of the Kluster is requested"
	}
	return c.Reason, c.Message
}

// outcome returns how the Deorbit of a Kluster ended. It is not known between the removal of the finalizer and the condition that lists
// what is left.
func outcome(k *kubernikusv1.Kluster) (reason, message string, known bool) {
	if k.Detached() {
		return reasonDetached, "the Kluster was detached: nothing of the cluster was deleted", true
	}
	c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited)
	switch {
	case c != nil && c.Status == metav1.ConditionTrue:
		return c.Reason, c.Message, true
	case k.Status.Deorbit == nil:
		return reasonNotDeorbited, "the finalizer of the Kluster was removed before Deorbit began: what is left is not known", true
	default:
		return "", "", false
	}
}

// retains reports whether a Cluster that is to be deleted is retained for its Deorbit, and how far that is. It is whenever the
// controller has a Kluster to empty, or is about to create one.
func retains(o observed, s settings, now time.Time) (held bool, message string) {
	c, k := o.cluster, o.kluster
	switch i := o.infrastructure; {
	case c == nil, c.Invalid != nil, c.Moved, !s.selected(c), i == nil && c.OnOpenStack(), i != nil && i.Invalid != nil:
		return false, ""
	}
	if k == nil {
		pending := !isCompleted(c) && (desired.Source{Cluster: c, Infrastructure: o.infrastructure}).Reject().Reason == ""
		// The API server may reject the Kluster permanently, for instance because of a quota.
		if isLate := c.Deleting && !now.Before(c.DeletedAt.Add(s.drainTimeout)); pending && !isLate {
			return true, "Deorbit begins"
		}
		return false, ""
	}
	if desired.UIDOf(k) != c.UID {
		return false, ""
	}
	if over, _ := drained(k, s.drainTimeout, now); over {
		return false, ""
	}
	reason, message := progress(k)
	return true, fmt.Sprintf("Deorbit: %s: %s", reason, message)
}
