// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// plan is what to do to announce a Kluster: what to write, or the condition that reports why nothing is written.
type plan struct {
	blocked         *metav1.Condition
	secret, backend bool
}

// planFor decides about a Kluster that is to be announced. The kubeconfig is what the Secret is to have; unusable reports why there
// is none.
func planFor(k *kubernikusv1.Kluster, there observed, kubeconfig []byte, unusable *metav1.Condition) plan {
	if why := cmp.Or(blocked(k, there), unusable); why != nil {
		return plan{blocked: why}
	}
	return plan{
		secret:  there.secret == nil || !bytes.Equal(there.secret.Data[keyConfig], kubeconfig),
		backend: there.backend == nil || drifted(k, there.backend),
	}
}

// drifted reports whether Groundskeeper's part of a backend is not as it should be. Its state is the user's, unless Groundskeeper
// set it to Maintenance.
func drifted(k *kubernikusv1.Kluster, backend *gimbalv1.DiscoveryBackend) bool {
	return backend.Cluster.Type != gimbalv1.BackendKubernetes || backend.Cluster.SecretName() != secretName(k) ||
		backend.Cluster.DrainPolicy != drainPolicyOf(k) || holdsMaintenance(backend)
}

// blocked returns why the names of an announcement prevent its creation.
func blocked(k *kubernikusv1.Kluster, there observed) (why *metav1.Condition) {
	if len(k.Name) > gimbalv1.MaxNameLength || len(validation.IsDNS1035Label(k.Name)) > 0 {
		return notAnnounced(reasonNameInvalid, "no DiscoveryBackend may be called %q: it takes a DNS label of at most %d characters that begins "+
			"with a letter, so register the cluster under such a name", k.Name, gimbalv1.MaxNameLength)
	}
	if there.backend != nil {
		why = taken(k, kindBackend, there.backend)
	}
	if why == nil && there.secret != nil {
		why = taken(k, kindSecret, there.secret)
	}
	return why
}

// taken returns why an object with a name of an announcement cannot be the announcement's.
func taken(k *kubernikusv1.Kluster, kind string, object metav1.Object) *metav1.Condition {
	name := fmt.Sprintf("%s %s/%s", kind, object.GetNamespace(), object.GetName())
	switch {
	case clusterid.IsMadeFor(k, object) && object.GetDeletionTimestamp().IsZero():
		return nil
	case clusterid.IsMadeFor(k, object):
		return notAnnounced(reasonAnnouncing, "%s is being deleted, and recreated when it has been deleted", name)
	case isNamesakes(k, object):
		return notAnnounced(reasonNameTaken, "%s was made for an earlier Kluster of this name: delete it, or hand it over to this one by "+
			"setting its label %s to %s", name, clusterid.LabelUID, k.UID)
	default:
		return notAnnounced(reasonNameTaken, "%s is another client's and left alone: delete or rename it, or register the cluster under another "+
			"name", name)
	}
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

// concerned reports whether there is anything to do for a Kluster: it is to be announced, or was. Without the finalizer of Deorbit
// nothing would withdraw the announcement, and once the Kluster is being deleted only Deorbit does.
func concerned(k *kubernikusv1.Kluster) bool {
	return k.DeletionTimestamp.IsZero() && k.HasDeorbiter() && !kit.IsPaused(k) && (wanted(k) || current(k) != nil)
}

// isSettled reports whether the announcement is where this very spec wants it, so that there can be none elsewhere.
func isSettled(k *kubernikusv1.Kluster) bool {
	c := current(k)
	return c == nil || wanted(k) && c.Status == metav1.ConditionTrue && c.ObservedGeneration == k.Generation
}

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
	if !clusterid.IsDrained(backend) {
		drained := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionDrained)
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

// holdsMaintenance reports whether Groundskeeper set a backend to Maintenance.
func holdsMaintenance(backend *gimbalv1.DiscoveryBackend) bool {
	for _, entry := range backend.ManagedFields {
		if entry.Manager != fieldOwner || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" ||
			entry.FieldsV1 == nil {
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

const (
	// secretSuffix is appended to the name of the Kluster to get the name of the Secret.
	secretSuffix = "-discovery"
	// keyConfig is the key of the Secret with the kubeconfig, as discoverers of type kubernetes read it.
	keyConfig = "config"
)

func secretName(k *kubernikusv1.Kluster) string { return k.Name + secretSuffix }

func labelsOf(k *kubernikusv1.Kluster) map[string]string {
	return map[string]string{clusterid.LabelNamespace: k.Namespace, clusterid.LabelName: k.Name, clusterid.LabelUID: string(k.UID)}
}

// isNamesakes reports whether an object was created for a Kluster with this name: this one, or a deleted one with another UID.
func isNamesakes(k *kubernikusv1.Kluster, object metav1.Object) bool {
	labels := object.GetLabels()
	return labels[clusterid.LabelNamespace] == k.Namespace && labels[clusterid.LabelName] == k.Name && labels[clusterid.LabelUID] != ""
}

func wanted(k *kubernikusv1.Kluster) bool {
	return k.Spec.Discovery != nil && k.Spec.Discovery.Enabled
}

func drainPolicyOf(k *kubernikusv1.Kluster) gimbalv1.DrainPolicy {
	if k.Spec.Discovery == nil {
		return ""
	}
	return gimbalv1.DrainPolicy(k.Spec.Discovery.DrainPolicy)
}
