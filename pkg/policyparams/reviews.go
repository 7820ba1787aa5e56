// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package policyparams

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
)

// account is the service account of Groundskeeper's API server, as artifacts/ and the chart install it.
const (
	accountNamespace = "groundskeeper-system"
	account          = "system:serviceaccount:" + accountNamespace + ":groundskeeper-apiserver"
)

// Self checks whether the user of the client has a permission: Groundskeeper's API server itself.
func Self(host kubernetes.Interface) Allowed {
	return func(ctx context.Context, resource schema.GroupVersionResource, verb string) (bool, error) {
		review, err := host.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes(resource, verb)},
		}, metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("review whether this server is allowed to %s %s: %w", verb, resource.GroupResource(), err)
		}
		return review.Status.Allowed, nil
	}
}

// Server checks whether the service account of Groundskeeper's API server has a permission, in the name of another client.
func Server(host kubernetes.Interface) Allowed {
	return func(ctx context.Context, resource schema.GroupVersionResource, verb string) (bool, error) {
		review, err := host.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + accountNamespace, "system:authenticated"},
				ResourceAttributes: attributes(resource, verb),
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return false, fmt.Errorf("review whether %s is allowed to %s %s: %w", account, verb, resource.GroupResource(), err)
		}
		return review.Status.Allowed, nil
	}
}

func attributes(resource schema.GroupVersionResource, verb string) *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{Verb: verb, Group: resource.Group, Version: resource.Version, Resource: resource.Resource}
}
