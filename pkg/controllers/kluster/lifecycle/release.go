// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/access"
)

// Reasons of the condition Deorbited.
const (
	// reasonNotSupported means that nothing removes the leftovers of the cluster.
	reasonNotSupported = "NotSupported"
	// reasonProtected means that an annotation forbids it.
	reasonProtected = "TerminationProtected"
)

// isReleased says that a Kluster that goes needs nothing any more, though others may still keep the object.
func isReleased(k *kubernikusv1.Kluster) bool {
	return !k.DeletionTimestamp.IsZero() && !k.HasDeorbiter()
}

// releasable says why a Kluster that is being deleted may be released without any clean-up, or "" and the condition that
// says what it waits for. Data is that of its Secret, nil when there is none.
func releasable(k *kubernikusv1.Kluster, data map[string][]byte) (why string, waits metav1.Condition) {
	waits = metav1.Condition{Type: kubernikusv1.ConditionDeorbited, Status: metav1.ConditionFalse}
	switch {
	case k.TerminationProtected():
		waits.Reason, waits.Message = reasonProtected, "the annotation "+kubernikusv1.TerminationProtectionAnnotation+" forbids to take the cluster down: remove it"
	case k.Detached():
		return "the annotation " + kubernikusv1.DetachAnnotation + " says to leave everything as it is", waits
	case k.Spec.NoCloud && !access.HasWorkload(data):
		return "it has neither a cloud nor a workload cluster that we know of", waits
	default:
		waits.Reason, waits.Message = reasonNotSupported, "this version does not remove what a cluster leaves behind, and does not pretend to: remove it by hand, then set the annotation "+
			kubernikusv1.DetachAnnotation+"=true, which releases the Kluster and touches nothing"
	}
	return "", waits
}

// release takes our finalizer off a Kluster, if that is still right by what the API server says. Data is that of its
// Secret.
func (r *reconciler) release(ctx context.Context, k *kubernikusv1.Kluster, data map[string][]byte) error {
	current := &kubernikusv1.Kluster{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(k), current); err != nil {
		return client.IgnoreNotFound(err)
	}
	why, _ := releasable(current, data)
	if current.UID != k.UID || current.DeletionTimestamp.IsZero() || access.IsPaused(current) || why == "" {
		return nil // the cache learns of it soon
	}
	released := current.DeepCopy()
	controllerutil.RemoveFinalizer(released, kubernikusv1.DeorbiterFinalizer)
	controllerutil.RemoveFinalizer(released, kubernikusv1.ImportedDeorbiterFinalizer)
	if err := r.patchMetadata(ctx, current, released); client.IgnoreNotFound(err) != nil {
		return err
	}
	log.FromContext(ctx).Info("Released a Kluster and touched nothing of it", "why", why)
	r.recorder.Eventf(k, nil, corev1.EventTypeNormal, eventReleased, actionRelease, "%s", fmt.Sprintf("released without any clean-up: %s", why))
	return nil
}

// complete adds the finalizer to a Kluster that came another way than by our API server.
func (r *reconciler) complete(ctx context.Context, k *kubernikusv1.Kluster) error {
	if k.HasDeorbiter() || !k.DeletionTimestamp.IsZero() {
		return nil
	}
	after := k.DeepCopy()
	controllerutil.AddFinalizer(after, kubernikusv1.DeorbiterFinalizer)
	return r.patchMetadata(ctx, k, after)
}
