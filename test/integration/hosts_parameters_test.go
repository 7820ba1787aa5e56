// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/policyparams"
	"groundskeeper.io/groundskeeper/test/plane"
)

// strangers is a management cluster in which others create policies with parameters.
type strangers struct {
	*testing.T
	plane  *plane.Plane
	client client.Client
}

// TestPoliciesOfStrangers checks that a policy whose parameters Groundskeeper's API server may not read affects the requests that it
// matches and nothing else: neither the readiness of a server that runs nor that of one that starts, whatever the kind of the
// parameters and the order in which policies are applied, deleted and permitted.
func TestPoliciesOfStrangers(t *testing.T) {
	t.Parallel()
	// Not audited: the server requests what it is not meant to be allowed to read.
	p, err := plane.Start(t.Context(), plane.Options{Dir: t.TempDir(), APIServers: 1, UnsafeNoFsync: true, GOGC: gogc})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := &strangers{t, p, clientOf(t, p.Config())}

	var elsewhere []client.Object
	for _, kind := range []admissionregistrationv1.ParamKind{
		{APIVersion: "v1", Kind: "ConfigMap"}, {APIVersion: "v1", Kind: "Secret"}, {APIVersion: "v1", Kind: "Namespace"}, {APIVersion: "v1", Kind: "Node"},
		{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}, {APIVersion: "example.com/v1", Kind: "NotServed"},
	} {
		leases := admissionregistrationv1.Rule{APIGroups: []string{"coordination.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"leases"}}
		elsewhere = append(elsewhere, policyOn("leases-"+strings.ToLower(kind.Kind), leases, kind, admissionregistrationv1.Fail)...)
	}
	klusters := admissionregistrationv1.Rule{APIGroups: []string{"kubernikus.sap.cc"}, APIVersions: []string{"*"}, Resources: []string{"klusters"}}
	settings := admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
	fails := policyOn("fails", klusters, settings, admissionregistrationv1.Fail)
	ignores := policyOn("ignores", klusters, settings, admissionregistrationv1.Ignore)
	const missing = "not allowed to read configmaps, the parameters of the policy"

	s.apply(elsewhere...)
	s.apply(ignores...)
	s.apply(fails...)
	s.rejected("fails-validating", missing)
	s.rejected("fails-mutating", missing)
	s.accepted("ignores-validating", "ignores-mutating", "nothing") // after the rejections all policies are in effect
	s.ready("with policies")
	s.restart()
	s.rejected("fails-validating", missing)
	s.rejected("fails-mutating", missing)

	parameters := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Data: map[string]string{"version": "1.36.3"}}
	granted := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "parameters", Labels: map[string]string{policyparams.AggregationLabel: "true"}},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}}}}
	s.apply(granted, parameters)
	s.accepted("fails-validating", "fails-mutating", "ignores-validating", "ignores-mutating")
	s.ready("with permission")
	s.restart()
	s.accepted("fails-validating", "fails-mutating", "ignores-validating", "ignores-mutating")

	// The next policy of the same kind does not read what the deleted one has left.
	s.delete(append(fails, ignores...)...)
	s.accepted("fails-validating", "fails-mutating")
	s.ready("after the deletion")
	parameters.Data["version"] = "1.35.9"
	if err := s.client.Update(s.Context(), parameters); err != nil {
		t.Fatal(err)
	}
	fails = policyOn("fails", klusters, settings, admissionregistrationv1.Fail)
	s.apply(fails...)
	s.rejected("fails-validating", "the version is not that of the parameters")
	s.ready("with policies again")

	s.delete(granted)
	s.restart()
	s.rejected("fails-validating", missing)
	s.delete(append(fails, elsewhere...)...)
	s.accepted("fails-validating", "fails-mutating")
	s.ready("without policies")
	s.restart()
	s.accepted("fails-validating", "fails-mutating")
}

// policyOn returns a validating and a mutating policy with their bindings for the creation of objects with the label policy of their
// name, which read parameters of a kind.
func policyOn(
	name string, rule admissionregistrationv1.Rule, kind admissionregistrationv1.ParamKind, failure admissionregistrationv1.FailurePolicyType,
) []client.Object {
	param := &admissionregistrationv1.ParamRef{Name: "p", ParameterNotFoundAction: new(admissionregistrationv1.AllowAction)}
	if kind.Kind == "ConfigMap" || kind.Kind == "Secret" {
		param.Namespace = "default"
	}
	meta := func(suffix string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name + suffix} }
	match := func(suffix string) *admissionregistrationv1.MatchResources {
		return &admissionregistrationv1.MatchResources{
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"policy": name + suffix}},
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create}, Rule: rule,
			}}},
		}
	}
	return []client.Object{
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta("-validating"), Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			ParamKind: &kind, FailurePolicy: &failure, MatchConstraints: match("-validating"),
			Validations: []admissionregistrationv1.Validation{{
				Expression: "object.spec.version == params.data.version", Message: "the version is not that of the parameters",
			}},
		}},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta("-validating"),
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name + "-validating", ParamRef: param,
				ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}}},
		&admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: meta("-mutating"), Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ParamKind: &kind, FailurePolicy: &failure, MatchConstraints: match("-mutating"), ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{{PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: `Object{metadata: Object.metadata{labels: {"version": params.data.version}}}`}}},
		}},
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: meta("-mutating"),
			Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name + "-mutating", ParamRef: param}},
	}
}

func (s *strangers) apply(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		if err := s.client.Create(s.Context(), object); err != nil {
			s.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
	}
}

func (s *strangers) delete(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		if err := s.client.Delete(s.Context(), object); err != nil {
			s.Fatalf("delete %T %s: %v", object, object.GetName(), err)
		}
	}
}

// create requests the creation of a Kluster that a policy matches by its label.
func (s *strangers) create(ctx context.Context, policy string) error {
	kluster := klusterIn("default", "k", "1.36.3")
	kluster.Labels = map[string]string{"policy": policy}
	return s.client.Create(ctx, kluster, client.DryRunAll)
}

// rejected waits until the objects of a policy are rejected with a message.
func (s *strangers) rejected(policy, message string) {
	s.Helper()
	soon(s.T, message, func(ctx context.Context) error { return s.create(ctx, policy) })
}

// accepted waits until the objects of policies are accepted.
func (s *strangers) accepted(policies ...string) {
	s.Helper()
	for _, policy := range policies {
		eventually(s.T, func(ctx context.Context) error { return s.create(ctx, policy) })
	}
}

// ready checks that the server is ready now, by each of its checks.
func (s *strangers) ready(when string) {
	s.Helper()
	if err := s.readyz(s.Context()); err != nil {
		s.Errorf("%s: %v", when, err)
	}
}

func (s *strangers) readyz(ctx context.Context) error {
	c, err := kubernetes.NewForConfig(s.plane.DirectConfig(0))
	if err != nil {
		return err
	}
	if response, err := c.RESTClient().Get().AbsPath("/readyz").Param("verbose", "true").DoRaw(ctx); err != nil {
		return fmt.Errorf("/readyz: %w: %s", err, response)
	}
	return nil
}

// restart stops the server and starts it, and waits until it is ready.
func (s *strangers) restart() {
	s.Helper()
	server := s.plane.APIServers[0]
	if err := errors.Join(server.Stop(s.Context()), server.Start(s.Context())); err != nil {
		s.Fatal(err)
	}
	eventually(s.T, s.readyz)
}
