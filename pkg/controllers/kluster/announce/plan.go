// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"bytes"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// seen has the existing objects with the names of an announcement, nil for those that do not exist.
type seen struct {
	backend *gimbalv1.DiscoveryBackend
	secret  *corev1.Secret
}

// plan is what to do to announce a Kluster: what to write, or the condition that reports why nothing is written.
type plan struct {
	blocked         *metav1.Condition
	secret, backend change
}

// change is what to do with one object.
type change int

const (
	changeNone change = iota
	changeCreate
	changeUpdate
)

// planFor decides about a Kluster that is to be announced. The kubeconfig is what the Secret is to have; unusable reports why there
// is none.
func planFor(k *kubernikusv1.Kluster, there seen, kubeconfig []byte, unusable *metav1.Condition) plan {
	if why := blocked(k, there); why != nil {
		return plan{blocked: why}
	}
	if unusable != nil {
		return plan{blocked: unusable}
	}
	var p plan
	switch {
	case there.secret == nil:
		p.secret = changeCreate
	case !bytes.Equal(there.secret.Data[keyConfig], kubeconfig):
		p.secret = changeUpdate
	}
	switch {
	case there.backend == nil:
		p.backend = changeCreate
	case drifted(k, there.backend):
		p.backend = changeUpdate
	}
	return p
}

// drifted reports whether Groundskeeper's part of a backend is not as it should be. Its state is the user's, unless Groundskeeper
// set it to Maintenance.
func drifted(k *kubernikusv1.Kluster, backend *gimbalv1.DiscoveryBackend) bool {
	return backend.Cluster.Type != gimbalv1.BackendKubernetes || backend.Cluster.SecretName() != secretName(k) ||
		backend.Cluster.DrainPolicy != drainPolicyOf(k) || holdsMaintenance(backend)
}

// blocked returns why the names of an announcement prevent its creation.
func blocked(k *kubernikusv1.Kluster, there seen) *metav1.Condition {
	if len(k.Name) > gimbalv1.MaxNameLength || len(validation.IsDNS1035Label(k.Name)) > 0 {
		return notAnnounced(ReasonNameInvalid, "no DiscoveryBackend may be called %q: it takes a DNS label of at most %d characters that begins with a letter, so register the cluster under such a name",
			k.Name, gimbalv1.MaxNameLength)
	}
	for _, object := range []struct {
		kind  string
		meta  metav1.Object
		there bool
	}{
		{kindBackend, there.backend, there.backend != nil},
		{kindSecret, there.secret, there.secret != nil},
	} {
		if !object.there {
			continue
		}
		name := fmt.Sprintf("%s %s/%s", object.kind, object.meta.GetNamespace(), object.meta.GetName())
		switch {
		case isOwn(k, object.meta) && object.meta.GetDeletionTimestamp().IsZero():
		case isOwn(k, object.meta):
			return notAnnounced(ReasonAnnouncing, "%s is being deleted, and recreated when it has been deleted", name)
		case isNamesakes(k, object.meta):
			return notAnnounced(ReasonNameTaken, "%s was made for an earlier Kluster of this name: delete it, or hand it over to this one by setting its label %s to %s", name, LabelUID, k.UID)
		default:
			return notAnnounced(ReasonNameTaken, "%s is another client's and left alone: delete or rename it, or register the cluster under another name", name)
		}
	}
	return nil
}

// neighbour returns the DiscoveryBackend whose name keeps another one from being called so: names are unique in all
// namespaces, and none may begin with another one and a dash. nil when there is none.
func neighbour(name string, all []metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	for i := range all {
		if other := &all[i]; isPrefix(name, other.Name) || isPrefix(other.Name, name) {
			return other
		}
	}
	return nil
}

func isPrefix(a, b string) bool { return a == b || len(b) > len(a) && b[:len(a)+1] == a+"-" }

// Labels of the DiscoveryBackend and the Secret that were created for a Kluster. Objects without all three are owned by another client.
const (
	// LabelNamespace is the namespace of the Kluster.
	LabelNamespace = "groundskeeper.io/kluster-namespace"
	// LabelName is the metadata.name of the Kluster.
	LabelName = "groundskeeper.io/kluster-name"
	// LabelUID is the UID of the Kluster.
	LabelUID = "groundskeeper.io/kluster-uid"
)

const (
	// secretSuffix is appended to the name of the Kluster to get the name of the Secret.
	secretSuffix = "-discovery"
	// keyConfig is the key of the Secret with the kubeconfig, as discoverers of type kubernetes read it.
	keyConfig = "config"
)

// secretName returns the name of the Secret for the DiscoveryBackend of a Kluster.
func secretName(k *kubernikusv1.Kluster) string { return k.Name + secretSuffix }

// labelsOf returns the labels of objects that are created for a Kluster.
func labelsOf(k *kubernikusv1.Kluster) map[string]string {
	return map[string]string{LabelNamespace: k.Namespace, LabelName: k.Name, LabelUID: string(k.UID)}
}

// isOwn reports whether an object was created for this Kluster.
func isOwn(k *kubernikusv1.Kluster, object metav1.Object) bool {
	own := labelsOf(k)
	found := maps.Clone(object.GetLabels())
	maps.DeleteFunc(found, func(label, _ string) bool { return own[label] == "" })
	return maps.Equal(found, own)
}

// isNamesakes reports whether an object was created for a Kluster with this name: this one, or a deleted one with another UID.
func isNamesakes(k *kubernikusv1.Kluster, object metav1.Object) bool {
	labels := object.GetLabels()
	return labels[LabelNamespace] == k.Namespace && labels[LabelName] == k.Name && labels[LabelUID] != ""
}

// wanted reports whether the spec of a Kluster enables its announcement.
func wanted(k *kubernikusv1.Kluster) bool {
	return k.Spec.Discovery != nil && k.Spec.Discovery.Enabled
}

// drainPolicyOf returns the policy in the spec of a Kluster, or "".
func drainPolicyOf(k *kubernikusv1.Kluster) gimbalv1.DrainPolicy {
	if k.Spec.Discovery == nil {
		return ""
	}
	return gimbalv1.DrainPolicy(k.Spec.Discovery.DrainPolicy)
}
