// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
)

// step is what is to be done to withdraw a backend.
type step int

const (
	// stepWait does nothing, because another client is changing the objects.
	stepWait step = iota
	// stepMaintain: traffic is to go elsewhere.
	stepMaintain
	// stepDelete: it gets no traffic any more.
	stepDelete
)

// nextStep decides how the withdrawal of a backend continues, and reports why it is still there.
func nextStep(k *kubernikusv1.Kluster, backend *gimbalv1.DiscoveryBackend) (step, string) {
	if !backend.DeletionTimestamp.IsZero() {
		return stepWait, "it is being deleted" + because(meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionAvailable))
	}
	policy := drainPolicyOf(k)
	if backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance || policy != "" && backend.Cluster.DrainPolicy != policy ||
		backend.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] != "true" {
		return stepMaintain, "its traffic is being moved away"
	}
	drained := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionDrained)
	if drained == nil || drained.Status != metav1.ConditionTrue || drained.ObservedGeneration < backend.Generation {
		return stepWait, "it is in Maintenance, and not Drained yet" + because(drained)
	}
	return stepDelete, "it is drained, and being deleted"
}

func because(c *metav1.Condition) string {
	if c == nil || c.Message == "" {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", c.Reason, c.Message)
}

// maintained returns a backend of Groundskeeper in maintenance: what Groundskeeper applies to it otherwise, unchanged, and its
// state. By whom a field was applied is remembered by the API server, so that a Kluster that is announced after all needs no note
// owned by Groundskeeper. Its deletion is confirmed by the same write, because the API server requires that of a backend that
// routes refer to.
func maintained(k *kubernikusv1.Kluster, backend *gimbalv1.DiscoveryBackend) *gimbalapply.DiscoveryBackendApplyConfiguration {
	cluster := gimbalapply.Cluster().WithType(backend.Cluster.Type)
	if backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance || holdsMaintenance(backend) {
		cluster.WithClusterStatus(gimbalv1.ClusterMaintenance)
	}
	if backend.Cluster.Secret != "" {
		cluster.WithSecret(backend.Cluster.Secret)
	}
	policy := drainPolicyOf(k)
	if policy == "" {
		policy = backend.Cluster.DrainPolicy
	}
	return gimbalapply.DiscoveryBackend(backend.Name, backend.Namespace).WithUID(backend.UID).WithResourceVersion(backend.ResourceVersion).
		WithLabels(labelsOf(k)).WithAnnotations(map[string]string{gardenerv1beta1.AnnotationConfirmDeletion: "true"}).WithCluster(cluster.WithDrainPolicy(policy))
}

// holdsMaintenance reports whether Groundskeeper set a backend to Maintenance.
func holdsMaintenance(backend *gimbalv1.DiscoveryBackend) bool {
	for _, entry := range backend.ManagedFields {
		if entry.Manager != fieldOwner || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Cluster map[string]json.RawMessage `json:"f:cluster"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil && fields.Cluster["f:clusterStatus"] != nil {
			return true
		}
	}
	return false
}
