// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// Reasons of the conditions OpenStackReachable and APIServerReachable when they are True and there is something to correct.
const (
	// reasonUnclear means that the spec has to report which of several objects is the cluster's.
	reasonUnclear = "Ambiguous"
	// reasonInsecure means that the certificate of the cloud, or of the API server, is not verified.
	reasonInsecure = "Insecure"
	// reasonIgnored means that the clouds.yaml has fields that are not known.
	reasonIgnored = "FieldsIgnored"
	// reasonUnidentified means that the API server responds, and does not report which cluster it is.
	reasonUnidentified = "Unidentified"
)

// Reasons of the condition APIServerReachable, besides Unreachable, CredentialsRefused and those of kluster.WhyUnusable.
const (
	reasonReachable   = "Reachable"
	reasonNoAPIServer = "NoAPIServer"
)

// insecureWorkload is the message of a workload cluster that responds and whose certificate is not verified.
const insecureWorkload = "the API server responds, but its certificate is not verified, and a server in between can read the credentials: " +
	"remove insecure-skip-tls-verify from the kubeconfig, and put the CA bundle into certificate-authority-data"

const reasonPaused = "Annotated"

// ownConditions returns the conditions that this controller is the only one to write.
func ownConditions() []string {
	return []string{
		kubernikusv1.ConditionAPIServerReachable, kubernikusv1.ConditionOpenStackReachable, kubernikusv1.ConditionPaused,
		kubernikusv1.ConditionClusterPermissionsGranted, kubernikusv1.ConditionOpenStackServicesUsable, kubernikusv1.ConditionClusterUnique,
	}
}

// Reasons of the conditions of preflights, besides Forbidden and ServiceMissing.
const (
	reasonGranted    = "Granted"
	reasonMissing    = "PermissionsMissing"
	reasonUsable     = "Usable"
	reasonNotChecked = "NotChecked"
)

// actionProbe is the action of all events, whose reason is that of a condition.
const actionProbe = "Probe"

func (v cloudView) condition() metav1.Condition {
	c := metav1.Condition{Type: kubernikusv1.ConditionOpenStackReachable, Status: metav1.ConditionTrue, Reason: reasonReachable, Message: "OpenStack responds and accepts the credentials"}
	switch {
	case v.err != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(openstack.ReasonOf(v.err)), v.err.Error()
		return c
	case len(v.unclear) > 0:
		c.Reason = reasonUnclear
	case len(v.warnings) > 0 && v.warnings[0].Insecure:
		c.Reason = reasonInsecure
	case len(v.warnings) > 0:
		c.Reason = reasonIgnored
	}
	messages := v.unclear
	for _, w := range v.warnings {
		messages = append(slices.Clone(messages), w.Message)
	}
	if len(messages) > 0 {
		c.Message = strings.Join(messages, "; ")
	}
	return c
}

func (v workloadView) condition() metav1.Condition {
	c := metav1.Condition{Type: kubernikusv1.ConditionAPIServerReachable, Status: metav1.ConditionFalse, Reason: v.reason, Message: v.message}
	switch {
	case v.version != "" && v.insecure:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, reasonInsecure, insecureWorkload
	case v.version != "":
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, reasonReachable, "the API server responds"
	case v.reason == kluster.ReasonNoCredentials, v.reason == kluster.ReasonHostUnknown:
		c.Status = metav1.ConditionUnknown
	}
	return c
}

// notChecked returns the condition of a preflight that could not be made.
func notChecked(kind, why string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: reasonNotChecked, Message: why}
}

// isIntended reports whether a reason of condition ClusterUnique is often intended, so that the Kluster is Ready.
func isIntended(reason string) bool {
	return reason == kubernikusv1.ReasonSameClusterBackend || reason == kubernikusv1.ReasonOwnCluster
}

// condition is that of a Kluster whose cluster others lead to as well, or which is that of Groundskeeper; nil for none.
func (s sharers) condition() *metav1.Condition {
	c := &metav1.Condition{Type: kubernikusv1.ConditionClusterUnique, Status: metav1.ConditionFalse, Reason: kubernikusv1.ReasonSameClusterBackend}
	var messages []string
	if s.here {
		c.Reason = kubernikusv1.ReasonOwnCluster
		messages = append(messages, fmt.Sprintf("the Secret leads to the cluster that Groundskeeper runs in, which is never torn down: if that "+
			"is intended, set the annotation %s=true before the Kluster is deleted; otherwise correct the Secret", kubernikusv1.DetachAnnotation))
	}
	if len(s.klusters) > 0 {
		c.Reason = kubernikusv1.ReasonSameCluster
		messages = append(messages, fmt.Sprintf(
			"Kluster %s leads to the same cluster, which is torn down only when all of its Klusters are being deleted: to remove one of them, set its annotation %s=true and delete it",
			strings.Join(s.klusters, ", "), kubernikusv1.DetachAnnotation))
	}
	if len(s.backends) > 0 {
		messages = append(messages, fmt.Sprintf(
			"DiscoveryBackend %s leads to the same cluster, which is torn down only when the backend has been deleted, or is in "+
				"Maintenance and drained",
			strings.Join(s.backends, ", ")))
	}
	if c.Message = strings.Join(messages, "; "); c.Message == "" {
		return nil
	}
	return c
}

// announce reports conditions and a phase that are new. A warning is what a user has to repair.
func (r *reconciler) announce(ctx context.Context, k *kubernikusv1.Kluster, next kubernikusv1.KlusterStatus) {
	if next.Phase != "" && next.Phase != k.Status.Phase {
		log.FromContext(ctx).Info("The phase of a Kluster changed", "before", k.Status.Phase, "phase", next.Phase)
	}
	for _, c := range next.Conditions {
		last := meta.FindStatusCondition(k.Status.Conditions, c.Type)
		if last != nil && last.Status == c.Status && last.Reason == c.Reason {
			continue
		}
		log.FromContext(ctx).Info("The state of a Kluster changed", "condition", c.Type, "status", c.Status, "reason", c.Reason, "message", c.Message)
		switch {
		case c.Type == kubernikusv1.ConditionPaused, isIntended(c.Reason):
		case c.Status == metav1.ConditionFalse, slices.Contains([]string{reasonUnclear, reasonInsecure, reasonIgnored}, c.Reason):
			r.recorder.Eventf(k, nil, corev1.EventTypeWarning, c.Reason, actionProbe, "%s", c.Message)
		case c.Status == metav1.ConditionTrue && last != nil && last.Status == metav1.ConditionFalse:
			r.recorder.Eventf(k, nil, corev1.EventTypeNormal, c.Reason, actionProbe, "%s", c.Message)
		}
	}
}
