// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// writeStatus writes the condition of a Kluster, if it differs.
func (r *reconciler) writeStatus(ctx context.Context, o observed, p plan) error {
	k := o.kluster
	if k == nil || p.synced.Reason == "" || p.deletes || p.finishes {
		return nil
	}
	conditions, changed := kluster.Conditions(k, []metav1.Condition{p.synced}, r.clock.Now())
	if !changed {
		return nil
	}
	err := r.client.Status().Apply(ctx, kluster.Apply(k, conditions), client.FieldOwner(fieldOwner), client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("apply the status of kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	return nil
}

// writeCondition writes a condition of a Cluster that is unchanged since it was decided about.
func (r *reconciler) writeCondition(ctx context.Context, c *desired.Cluster, wanted desired.Condition) error {
	m, err := r.metadataOf(clusters, "Cluster")
	if err != nil {
		return err
	}
	before := &unstructured.Unstructured{}
	before.SetGroupVersionKind(m.GroupVersionKind())
	key := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	if err := r.live.Get(ctx, key, before); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil
		}
		return fmt.Errorf("get Cluster %s: %w", key, err)
	}
	if before.GetUID() != c.UID || before.GetResourceVersion() != c.ResourceVersion {
		return fmt.Errorf("write the condition of Cluster %s: %w", key, kit.ErrChanged)
	}
	after := before.DeepCopy()
	if err := setCondition(after, wanted, metav1.NewTime(r.clock.Now())); err != nil {
		return fmt.Errorf("write the condition of Cluster %s: %w", key, err)
	}
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err = r.client.Status().Patch(ctx, after, changes, client.FieldOwner(fieldOwner), client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch the status of Cluster %s: %w", key, err)
	}
	// The next writes of the plan are not about the Cluster, and the next plan is about what this one left.
	return nil
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
