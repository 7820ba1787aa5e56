// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// Labels that specify for which Kluster a DiscoveryBackend and its Secret were made. All three together are Groundskeeper's mark:
// what lacks one of them is another client's.
const (
	// LabelNamespace is the namespace of the Kluster.
	LabelNamespace = "groundskeeper.io/kluster-namespace"
	// LabelName is the metadata.name of the Kluster.
	LabelName = "groundskeeper.io/kluster-name"
	// LabelUID is the uid of the Kluster.
	LabelUID = "groundskeeper.io/kluster-uid"
)

const (
	// secretSuffix behind the name of a Kluster is the name of the Secret of its DiscoveryBackend.
	secretSuffix = "-discovery"
	// keyConfig is the key of that Secret, with a kubeconfig: what a discoverer of type kubernetes reads.
	keyConfig = "config"
)

// secretName is the name of the Secret next to the DiscoveryBackend of a Kluster.
func secretName(k *kubernikusv1.Kluster) string { return k.Name + secretSuffix }

// labelsOf are the labels of what is made for a Kluster.
func labelsOf(k *kubernikusv1.Kluster) map[string]string {
	return map[string]string{LabelNamespace: k.Namespace, LabelName: k.Name, LabelUID: string(k.UID)}
}

// isOwn reports whether an object was made for this very Kluster.
func isOwn(k *kubernikusv1.Kluster, object metav1.Object) bool {
	own := labelsOf(k)
	found := maps.Clone(object.GetLabels())
	maps.DeleteFunc(found, func(label, _ string) bool { return own[label] == "" })
	return maps.Equal(found, own)
}

// isNamesakes reports whether an object was made for a Kluster of this name. When it is not owned by Groundskeeper, that one has
// been deleted.
func isNamesakes(k *kubernikusv1.Kluster, object metav1.Object) bool {
	labels := object.GetLabels()
	return labels[LabelNamespace] == k.Namespace && labels[LabelName] == k.Name && labels[LabelUID] != ""
}

// wanted reports whether a Kluster is to be announced.
func wanted(k *kubernikusv1.Kluster) bool {
	return k.Spec.Discovery != nil && k.Spec.Discovery.Enabled
}

// drainPolicyOf is the policy that a Kluster requests, "" when it requests none.
func drainPolicyOf(k *kubernikusv1.Kluster) gimbalv1.DrainPolicy {
	if k.Spec.Discovery == nil {
		return ""
	}
	return gimbalv1.DrainPolicy(k.Spec.Discovery.DrainPolicy)
}
