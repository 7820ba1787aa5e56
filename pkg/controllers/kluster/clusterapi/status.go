// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Reasons of the conditions, besides those of package desired and the stages of Deorbit.
const (
	reasonPaused       = "Paused"
	reasonNameTaken    = "NameTaken"
	reasonDetached     = "Detached"
	reasonDeleting     = "Deleting"
	reasonDeorbited    = "Deorbited"
	reasonInCluster    = "CleanInCluster"
	reasonNotDeorbited = "NotDeorbited"
	reasonDismantled   = "ClustersDismantled"
	reasonProtected    = "TerminationProtected"
	reasonRejected     = "KlusterRejected"
	reasonForbidden    = "Forbidden"
	reasonPrepared     = "Prepared"
	reasonNotSelected  = "NotSelected"
	reasonNoKubeconfig = "KubeconfigMissing"
	reasonHookMissing  = "HookMissing"
	reasonNoMachines   = "NoMachines"
)

// Events on a Cluster, and what was done.
const (
	actionRegister = "Register"
	actionDeorbit  = "Deorbit"

	eventRegistered = "KlusterCreated"
	eventDetached   = "KlusterDetached"
	eventDeleting   = "DeorbitRequested"
	eventCompleted  = "DeorbitCompleted"
)

func condition(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kubernikusv1.ConditionClusterAPI, Status: status, Reason: reason, Message: message}
}

func conditionOf(kind string, status metav1.ConditionStatus, reason, message string) desired.Condition {
	return desired.Condition{Type: kind, Status: string(status), Reason: reason, Message: kit.Bounded(message, kit.MaxEventMessage)}
}

// reportForbidden reports on a Cluster that is selected that the controller lacks a permission to read what belongs to it.
func (r *reconciler) reportForbidden(ctx context.Context, key types.NamespacedName, err error) {
	if !apierrors.IsForbidden(err) {
		return
	}
	c, findErr := clusterOf(ctx, key, r.watched)
	if findErr != nil || c == nil || c.Invalid != nil || !r.settings.selected(c) {
		return
	}
	why := desired.Rejection{Reason: reasonForbidden, Message: "the controller manager lacks a permission, apply artifacts/kluster and artifacts/capi: " + err.Error()}
	r.report(ctx, key, observed{cluster: c}, why)
	r.prevented(ctx, c, why)
}

// report reports why a Cluster is not prepared, when the reason is new. That its network does not exist yet is normal.
func (r *reconciler) report(ctx context.Context, key types.NamespacedName, o observed, rejection desired.Rejection) {
	if o.cluster == nil {
		rejection = desired.Rejection{}
	}
	if !r.rejections.isNew(key, rejection) || rejection.Reason == desired.ReasonInfrastructurePending {
		return
	}
	log.FromContext(ctx).Info("Found a Cluster that is not prepared", "reason", rejection.Reason, "message", rejection.Message)
	r.recorder.Eventf(r.reference(key, o.cluster), nil, corev1.EventTypeWarning, rejection.Reason, actionRegister, "%s", kluster.Bounded(rejection.Message))
}

// reportRejected reports that admission or a quota rejects a write of the Kluster: that may need a user.
func (r *reconciler) reportRejected(ctx context.Context, o observed, err error) {
	if o.cluster == nil || !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		return
	}
	key := types.NamespacedName{Namespace: o.cluster.Namespace, Name: o.cluster.Name}
	rejection := desired.Rejection{Reason: reasonRejected, Message: err.Error()}
	r.report(ctx, key, o, rejection)
	r.prevented(ctx, o.cluster, rejection)
}

// prevented writes why a Cluster is not prepared, besides the error that the caller returns.
func (r *reconciler) prevented(ctx context.Context, c *desired.Cluster, why desired.Rejection) {
	wanted := conditionOf(desired.ConditionPrepared, metav1.ConditionFalse, why.Reason, why.Message)
	if c.Deleting || c.Prepared != nil && *c.Prepared == wanted {
		return
	}
	if err := r.writeCondition(ctx, c, wanted); err != nil {
		log.FromContext(ctx).V(1).Info("Failed to report why a Cluster is not prepared, retrying", "err", err)
	}
}

// note reports what happened on the Cluster, in the log and in an event.
func (r *reconciler) note(ctx context.Context, o observed, kind, reason, message string) {
	log.FromContext(ctx).Info("Cluster of Cluster API", "event", reason, "message", message)
	if o.cluster != nil {
		key := types.NamespacedName{Namespace: o.cluster.Namespace, Name: o.cluster.Name}
		r.recorder.Eventf(r.reference(key, o.cluster), nil, kind, reason, actionDeorbit, "%s", kluster.Bounded(message))
	}
}

// noteDeletion reports that the deletion of a Kluster was requested, and why.
func (r *reconciler) noteDeletion(ctx context.Context, o observed, k *kubernikusv1.Kluster) {
	if k.Detached() {
		r.note(ctx, o, corev1.EventTypeNormal, eventDetached, "Kluster "+k.Name+" is released, and nothing of its cluster is changed")
		return
	}
	r.note(ctx, o, corev1.EventTypeNormal, eventDeleting, "Kluster "+k.Name+" is deleted: what the cluster created outside of it is deleted before its machines and its network")
}

// eventType returns Warning for an end that leaves something over.
func eventType(reason string) string {
	switch reason {
	case reasonDeorbited, reasonInCluster, reasonDetached:
		return corev1.EventTypeNormal
	default:
		return corev1.EventTypeWarning
	}
}

// reference returns a Cluster as events refer to it, in the version that is served.
func (r *reconciler) reference(key types.NamespacedName, c *desired.Cluster) *corev1.ObjectReference {
	to := &corev1.ObjectReference{Kind: "Cluster", Namespace: key.Namespace, Name: key.Name, UID: c.UID}
	if served, err := r.served(clusters); err == nil && served != nil {
		to.APIVersion = served.GroupVersion().String()
	}
	return to
}

// setCondition sets a condition in the form of its version of Cluster API: in v1beta1 a condition that is not true has a severity.
func setCondition(cluster *unstructured.Unstructured, wanted desired.Condition, now metav1.Time) error {
	conditions, _, err := unstructured.NestedSlice(cluster.Object, "status", "conditions")
	if err != nil {
		return fmt.Errorf("read status.conditions: %w", err)
	}
	next := map[string]any{
		"type": wanted.Type, "status": wanted.Status, "reason": wanted.Reason, "message": wanted.Message,
		"lastTransitionTime": now.UTC().Format(time.RFC3339),
	}
	if cluster.GroupVersionKind().Version == "v1beta1" {
		if wanted.Status != string(metav1.ConditionTrue) {
			next["severity"] = "Info"
		}
	} else {
		next["observedGeneration"] = cluster.GetGeneration()
	}
	for i, condition := range conditions {
		if last, ok := condition.(map[string]any); ok && last["type"] == wanted.Type {
			if last["status"] == wanted.Status && last["lastTransitionTime"] != nil {
				next["lastTransitionTime"] = last["lastTransitionTime"]
			}
			conditions[i] = next
			next = nil
		}
	}
	if next != nil {
		conditions = append(conditions, next)
	}
	if err := unstructured.SetNestedSlice(cluster.Object, conditions, "status", "conditions"); err != nil {
		return fmt.Errorf("set status.conditions: %w", err)
	}
	return nil
}
