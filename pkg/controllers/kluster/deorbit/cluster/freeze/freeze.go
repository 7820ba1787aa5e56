// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package freeze has what stops a workload cluster from making new cloud objects while it is torn down: policies of admission that
// reject new claims, new snapshots, new Services of type LoadBalancer and new Ingresses of the Octavia ingress controller. No user
// is exempt.
package freeze

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionapply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
)

// Name is the name of all objects that freeze a cluster.
const Name = "groundskeeper-deorbit"

// message is what a rejected client reads.
const message = "Groundskeeper takes this cluster down: it gets no new claims, snapshots and load balancers"

// webhookSuffix ends the names of Groundskeeper's webhooks.
const webhookSuffix = ".deorbit.groundskeeper.io"

// nowhere is where Groundskeeper's webhooks lead: nothing listens there, and a webhook that is unreachable rejects.
const nowhere = "https://127.0.0.1:1"

// labels are on all objects that freeze a cluster.
func labels() map[string]string {
	return map[string]string{"app.kubernetes.io/part-of": "groundskeeper", "app.kubernetes.io/managed-by": "groundskeeper"}
}

// intoLoadBalancer is when a write makes a Service one of type LoadBalancer. What was one before may still be written:
// its cloud provider takes its finalizer off.
const intoLoadBalancer = "has(dyn(object).spec.type) && dyn(object).spec.type == 'LoadBalancer' && " +
	"!(oldObject != null && has(dyn(oldObject).spec.type) && dyn(oldObject).spec.type == 'LoadBalancer')"

// isOctavia is when an Ingress is one of the Octavia ingress controller, and intoOctavia when a write makes it one.
const isOctavia = "(has(dyn(%[1]s).metadata.annotations) && 'kubernetes.io/ingress.class' in dyn(%[1]s).metadata.annotations && " +
	"dyn(%[1]s).metadata.annotations['kubernetes.io/ingress.class'] == 'openstack')"

var intoOctavia = fmt.Sprintf(isOctavia, "object") + " && !(oldObject != null && " + fmt.Sprintf(isOctavia, "oldObject") + ")"

// kind is a kind of object of which no new ones may be made.
type kind struct{ group, version, resource string }

// kinds are those that only a CREATE makes.
var kinds = []kind{{"", "v1", "persistentvolumeclaims"}, {"snapshot.storage.k8s.io", "*", "volumesnapshots"}}

var (
	service = kind{"", "v1", "services"}
	ingress = kind{"networking.k8s.io", "*", "ingresses"}
)

// Policy rejects, where the cluster has such policies (from Kubernetes 1.30). Binding makes it do so.
func Policy() *admissionapply.ValidatingAdmissionPolicyApplyConfiguration {
	// Defaults are spelled out: the API server records them as Groundskeeper's, and what differs would be written again and again.
	match := admissionapply.MatchResources().WithMatchPolicy(admissionv1.Equivalent).
		WithNamespaceSelector(metaapply.LabelSelector()).WithObjectSelector(metaapply.LabelSelector()).
		WithResourceRules(named(service, admissionv1.Create, admissionv1.Update), named(ingress, admissionv1.Create, admissionv1.Update))
	for _, k := range kinds {
		match.WithResourceRules(named(k, admissionv1.Create))
	}
	return admissionapply.ValidatingAdmissionPolicy(Name).WithLabels(labels()).WithSpec(admissionapply.ValidatingAdmissionPolicySpec().
		WithFailurePolicy(admissionv1.Fail).
		WithMatchConstraints(match).
		WithValidations(admissionapply.Validation().
			WithExpression("request.resource.resource == 'services' && !(" + intoLoadBalancer + ") || " +
				"request.resource.resource == 'ingresses' && !(" + intoOctavia + ")").
			WithMessage(message).WithReason(metav1.StatusReasonForbidden)))
}

// Binding makes Policy reject.
func Binding() *admissionapply.ValidatingAdmissionPolicyBindingApplyConfiguration {
	return admissionapply.ValidatingAdmissionPolicyBinding(Name).WithLabels(labels()).WithSpec(
		admissionapply.ValidatingAdmissionPolicyBindingSpec().WithPolicyName(Name).WithValidationActions(admissionv1.Deny))
}

// Webhooks reject where the cluster has no policies. Updates of Services are rejected only where a webhook can have conditions
// (from Kubernetes 1.28): without, all updates would be, and no cloud provider could take its finalizer off.
func Webhooks(conditions bool) *admissionapply.ValidatingWebhookConfigurationApplyConfiguration {
	creations := webhook("creations").WithRules(rule(kinds[0], admissionv1.Create), rule(kinds[1], admissionv1.Create))
	toServices, toIngresses := webhook("services"), webhook("ingresses")
	if conditions {
		toIngresses.WithRules(rule(ingress, admissionv1.Create, admissionv1.Update)).
			WithMatchConditions(admissionapply.MatchCondition().WithName("into-octavia").WithExpression(intoOctavia))
		toServices.WithRules(rule(service, admissionv1.Create, admissionv1.Update)).
			WithMatchConditions(admissionapply.MatchCondition().WithName("into-load-balancer").WithExpression(intoLoadBalancer))
	} else {
		// Without a check inside, new Services and Ingresses of every type are rejected.
		toIngresses.WithRules(rule(ingress, admissionv1.Create))
		toServices.WithRules(rule(service, admissionv1.Create))
	}
	return admissionapply.ValidatingWebhookConfiguration(Name).WithLabels(labels()).WithWebhooks(creations, toServices, toIngresses)
}

func webhook(name string) *admissionapply.ValidatingWebhookApplyConfiguration {
	return admissionapply.ValidatingWebhook().WithName(name + webhookSuffix).
		WithClientConfig(admissionapply.WebhookClientConfig().WithURL(nowhere)).
		WithFailurePolicy(admissionv1.Fail).WithMatchPolicy(admissionv1.Equivalent).
		WithSideEffects(admissionv1.SideEffectClassNone). // a dry run is rejected too
		WithTimeoutSeconds(1).WithAdmissionReviewVersions("v1")
}

func rule(k kind, operations ...admissionv1.OperationType) *admissionapply.RuleWithOperationsApplyConfiguration {
	return admissionapply.RuleWithOperations().WithAPIGroups(k.group).WithAPIVersions(k.version).WithResources(k.resource).
		WithOperations(operations...).WithScope(admissionv1.AllScopes)
}

func named(k kind, operations ...admissionv1.OperationType) *admissionapply.NamedRuleWithOperationsApplyConfiguration {
	return admissionapply.NamedRuleWithOperations().WithAPIGroups(k.group).WithAPIVersions(k.version).WithResources(k.resource).
		WithOperations(operations...).WithScope(admissionv1.AllScopes)
}

// Probe is a claim that must be rejected. It is created in a dry run only.
func Probe(namespace string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: Name + "-"},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new(""), // no provisioner is to think of it
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// Rejects reports whether it is the freeze that rejected something, by the message of the API server.
func Rejects(text string) bool {
	return strings.Contains(text, "ValidatingAdmissionPolicy '"+Name+"'") && strings.Contains(text, "denied request") ||
		strings.Contains(text, "failed calling webhook") && strings.Contains(text, webhookSuffix+`"`)
}
