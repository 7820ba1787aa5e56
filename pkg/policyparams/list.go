// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package policyparams

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"groundskeeper.io/groundskeeper/pkg/accessreview"
)

// policy is what the two kinds of policies and their bindings have in common.
type policy struct {
	name     string
	param    *admissionregistrationv1.ParamKind
	match    *admissionregistrationv1.MatchResources
	bindings []binding
}

type binding struct {
	hasParams bool
	match     *admissionregistrationv1.MatchResources
}

// listValidating reads the validating policies and their bindings, none where the cluster does not serve them.
func listValidating(ctx context.Context, client typedv1.AdmissionregistrationV1Interface) ([]policy, error) {
	policies, err := client.ValidatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the validating admission policies: %w", err)
	}
	bindings, err := client.ValidatingAdmissionPolicyBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the bindings of validating admission policies: %w", err)
	}
	var all []policy
	for i := range policies.Items {
		name, spec := policies.Items[i].Name, &policies.Items[i].Spec
		p := policy{name: "ValidatingAdmissionPolicy " + name, param: spec.ParamKind, match: spec.MatchConstraints}
		for j := range bindings.Items {
			if b := &bindings.Items[j].Spec; b.PolicyName == name {
				p.bindings = append(p.bindings, binding{b.ParamRef != nil, b.MatchResources})
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// listMutating does the same for the mutating policies, which are served from Kubernetes 1.36.
func listMutating(ctx context.Context, client typedv1.AdmissionregistrationV1Interface) ([]policy, error) {
	policies, err := client.MutatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the mutating admission policies: %w", err)
	}
	bindings, err := client.MutatingAdmissionPolicyBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the bindings of mutating admission policies: %w", err)
	}
	var all []policy
	for i := range policies.Items {
		name, spec := policies.Items[i].Name, &policies.Items[i].Spec
		p := policy{name: "MutatingAdmissionPolicy " + name, param: spec.ParamKind, match: spec.MatchConstraints}
		for j := range bindings.Items {
			if b := &bindings.Items[j].Spec; b.PolicyName == name {
				p.bindings = append(p.bindings, binding{b.ParamRef != nil, b.MatchResources})
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// account is the service account of Groundskeeper's API server, as artifacts/ and the chart install it.
const (
	accountNamespace = "groundskeeper-system"
	account          = "system:serviceaccount:" + accountNamespace + ":groundskeeper-apiserver"
)

// Self checks whether the user of the client has a permission: Groundskeeper's API server itself.
func Self(host kubernetes.Interface) Allowed {
	return allowedBy(accessreview.Of(host.AuthorizationV1().SelfSubjectAccessReviews()), "this server")
}

// Server checks whether the service account of Groundskeeper's API server has a permission, in the name of another client.
func Server(host kubernetes.Interface) Allowed {
	return allowedBy(func(ctx context.Context, self *authorizationv1.SelfSubjectAccessReview) error {
		review, err := host.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + accountNamespace, "system:authenticated"},
				ResourceAttributes: self.Spec.ResourceAttributes,
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		self.Status = review.Status
		return nil
	}, account)
}

// allowedBy checks permissions by reviews of those of a user, whom errors name.
func allowedBy(reviewer accessreview.Reviewer, user string) Allowed {
	return func(ctx context.Context, resource schema.GroupVersionResource, verb string) (bool, error) {
		allowed, err := reviewer.Allowed(ctx, accessreview.Request{Method: accessreview.Method(verb), Resource: resource})
		if err != nil {
			return false, fmt.Errorf("of %s: %w", user, err)
		}
		return allowed, nil
	}
}
