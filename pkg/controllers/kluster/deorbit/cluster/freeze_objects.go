// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionapply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// The objects below keep a workload cluster from creating new cloud objects while it is torn down: admission policies that reject
// new claims, new snapshots, new Services of type LoadBalancer and new Ingresses of the Octavia ingress controller. No user is
// exempt.

// freezeName is the name of all objects that freeze a cluster.
const freezeName = "groundskeeper-deorbit"

// IsFreeze reports whether an object in a report is what freezes a cluster.
func IsFreeze(o kubernikusv1.DeorbitObject) bool {
	return o.Name == freezeName && (o.Kind == kindPolicy || o.Kind == kindValidating)
}

// freezeMessage is what a rejected client reads.
const freezeMessage = "Groundskeeper takes this cluster down: it gets no new claims, snapshots and load balancers"

// freezeWebhookSuffix ends the names of Groundskeeper's webhooks.
const freezeWebhookSuffix = ".deorbit.groundskeeper.io"

// nowhere is where Groundskeeper's webhooks lead: nothing listens there, and a webhook that is unreachable rejects.
const nowhere = "https://127.0.0.1:1"

func freezeLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/part-of": "groundskeeper", "app.kubernetes.io/managed-by": "groundskeeper"}
}

// intoLoadBalancer matches writes that change a Service to type LoadBalancer. Existing ones can still be written, because the cloud
// provider removes their finalizer.
const intoLoadBalancer = "has(dyn(object).spec.type) && dyn(object).spec.type == 'LoadBalancer' && " +
	"!(oldObject != null && has(dyn(oldObject).spec.type) && dyn(oldObject).spec.type == 'LoadBalancer')"

// isOctavia is when an Ingress is one of the Octavia ingress controller, and intoOctavia when a write makes it one.
const isOctavia = "(has(dyn(%[1]s).metadata.annotations) && 'kubernetes.io/ingress.class' in dyn(%[1]s).metadata.annotations && " +
	"dyn(%[1]s).metadata.annotations['kubernetes.io/ingress.class'] == 'openstack')"

var intoOctavia = fmt.Sprintf(isOctavia, "object") + " && !(oldObject != null && " + fmt.Sprintf(isOctavia, "oldObject") + ")"

// frozenKind is a kind of object of which no new ones may be made.
type frozenKind struct{ group, version, resource string }

// frozenKinds are those that only a CREATE makes.
var frozenKinds = []frozenKind{{"", "v1", "persistentvolumeclaims"}, {"snapshot.storage.k8s.io", "*", "volumesnapshots"}}

var (
	frozenService = frozenKind{"", "v1", "services"}
	frozenIngress = frozenKind{"networking.k8s.io", "*", "ingresses"}
)

// freezePolicy rejects, where the cluster has such policies (from Kubernetes 1.30). freezeBinding makes it do so.
func freezePolicy() *admissionapply.ValidatingAdmissionPolicyApplyConfiguration {
	// Defaults are spelled out: the API server records them as Groundskeeper's, and what differs would be written again and again.
	match := admissionapply.MatchResources().WithMatchPolicy(admissionv1.Equivalent).
		WithNamespaceSelector(metaapply.LabelSelector()).WithObjectSelector(metaapply.LabelSelector()).
		WithResourceRules(freezeNamedRule(frozenService, admissionv1.Create, admissionv1.Update),
			freezeNamedRule(frozenIngress, admissionv1.Create, admissionv1.Update))
	for _, k := range frozenKinds {
		match.WithResourceRules(freezeNamedRule(k, admissionv1.Create))
	}
	return admissionapply.ValidatingAdmissionPolicy(freezeName).WithLabels(freezeLabels()).WithSpec(admissionapply.ValidatingAdmissionPolicySpec().
		WithFailurePolicy(admissionv1.Fail).
		WithMatchConstraints(match).
		WithValidations(admissionapply.Validation().
			WithExpression("request.resource.resource == 'services' && !(" + intoLoadBalancer + ") || " +
				"request.resource.resource == 'ingresses' && !(" + intoOctavia + ")").
			WithMessage(freezeMessage).WithReason(metav1.StatusReasonForbidden)))
}

// freezeBinding makes freezePolicy reject.
func freezeBinding() *admissionapply.ValidatingAdmissionPolicyBindingApplyConfiguration {
	return admissionapply.ValidatingAdmissionPolicyBinding(freezeName).WithLabels(freezeLabels()).WithSpec(
		admissionapply.ValidatingAdmissionPolicyBindingSpec().WithPolicyName(freezeName).WithValidationActions(admissionv1.Deny))
}

// freezeWebhooks reject where the cluster has no policies. Updates of Services are rejected only where a webhook can have conditions
// (from Kubernetes 1.28): without, all updates would be, and no cloud provider could take its finalizer off.
func freezeWebhooks(conditions bool) *admissionapply.ValidatingWebhookConfigurationApplyConfiguration {
	into := func(name, condition, expression string, k frozenKind) *admissionapply.ValidatingWebhookApplyConfiguration {
		if !conditions { // without a check inside, new objects of every type are rejected
			return freezeWebhook(name).WithRules(freezeRule(k, admissionv1.Create))
		}
		return freezeWebhook(name).WithRules(freezeRule(k, admissionv1.Create, admissionv1.Update)).
			WithMatchConditions(admissionapply.MatchCondition().WithName(condition).WithExpression(expression))
	}
	creations := freezeWebhook("creations")
	for _, k := range frozenKinds {
		creations.WithRules(freezeRule(k, admissionv1.Create))
	}
	return admissionapply.ValidatingWebhookConfiguration(freezeName).WithLabels(freezeLabels()).WithWebhooks(creations,
		into("services", "into-load-balancer", intoLoadBalancer, frozenService), into("ingresses", "into-octavia", intoOctavia, frozenIngress))
}

func freezeWebhook(name string) *admissionapply.ValidatingWebhookApplyConfiguration {
	return admissionapply.ValidatingWebhook().WithName(name + freezeWebhookSuffix).
		WithClientConfig(admissionapply.WebhookClientConfig().WithURL(nowhere)).
		WithFailurePolicy(admissionv1.Fail).WithMatchPolicy(admissionv1.Equivalent).
		WithSideEffects(admissionv1.SideEffectClassNone). // a dry run is rejected too
		WithTimeoutSeconds(1).WithAdmissionReviewVersions("v1")
}

func freezeRule(k frozenKind, operations ...admissionv1.OperationType) *admissionapply.RuleWithOperationsApplyConfiguration {
	return admissionapply.RuleWithOperations().WithAPIGroups(k.group).WithAPIVersions(k.version).WithResources(k.resource).
		WithOperations(operations...).WithScope(admissionv1.AllScopes)
}

func freezeNamedRule(k frozenKind, operations ...admissionv1.OperationType) *admissionapply.NamedRuleWithOperationsApplyConfiguration {
	return admissionapply.NamedRuleWithOperations().WithAPIGroups(k.group).WithAPIVersions(k.version).WithResources(k.resource).
		WithOperations(operations...).WithScope(admissionv1.AllScopes)
}

// freezeProbe returns a claim that must be rejected. It is created in a dry run only.
func freezeProbe(namespace string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: freezeName + "-"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new(""), // no provisioner is to think of it
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// rejectedByFreeze reports whether it is the freeze that rejected something, by the message of the API server.
func rejectedByFreeze(text string) bool {
	return strings.Contains(text, "ValidatingAdmissionPolicy '"+freezeName+"'") && strings.Contains(text, "denied request") ||
		strings.Contains(text, "failed calling webhook") && strings.Contains(text, freezeWebhookSuffix+`"`)
}
