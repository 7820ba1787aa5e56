// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ownerreferences

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

// ownerLabels returns the labels by which Groundskeeper's controllers find the owner of an object. An object with these labels is deleted
// with its owner, like an object with an owner reference. The second result is false for kinds of other API servers.
func ownerLabels(resource schema.GroupResource) ([]string, bool) {
	switch resource {
	case gardenerv1beta1.Resource("projects"), kubernikusv1.Resource("klusters"):
		return nil, true
	case midonetv1.Resource("translations"):
		return []string{midonetv1.LabelOwnerUID, midonetv1.LabelGlobal}, true
	case gimbalv1.Resource("discoverybackends"):
		return []string{clusterid.LabelNamespace, clusterid.LabelName, clusterid.LabelUID}, true
	default:
		return nil, false
	}
}

// changesOwner returns the fields by which an update gives an object another owner, or none.
func changesOwner(object, old metav1.Object, labels []string) []string {
	var changes []string
	if !equality.Semantic.DeepEqual(object.GetOwnerReferences(), old.GetOwnerReferences()) {
		changes = append(changes, "metadata.ownerReferences")
	}
	for _, key := range labels {
		now, is := object.GetLabels()[key]
		if was, had := old.GetLabels()[key]; is != had || now != was {
			changes = append(changes, fmt.Sprintf("metadata.labels[%s]", key))
		}
	}
	return changes
}

// newBlockers returns the owner references that block the deletion of their owner, and did not before; old is nil when the
// object is created.
func newBlockers(object, old metav1.Object) []metav1.OwnerReference {
	blocked := map[string]bool{}
	if old != nil {
		for _, ref := range old.GetOwnerReferences() {
			blocked[string(ref.UID)] = blocks(ref)
		}
	}
	var refs []metav1.OwnerReference
	for _, ref := range object.GetOwnerReferences() {
		if blocks(ref) && !blocked[string(ref.UID)] {
			refs = append(refs, ref)
		}
	}
	return refs
}

func blocks(ref metav1.OwnerReference) bool {
	return ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
}
