// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package accessreview finds out ahead of time whether an API server would authorize a request.
//
// A review is made from the request that it stands for, because the two are easily different: a creation with POST is authorized
// without the name, and server-side apply, which creates an object that does not exist, with the name. A role that grants a verb for
// one name allows only the second.
package accessreview

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Method is how a client makes a request: a verb of the API, or Apply.
type Method string

// The methods of requests that Groundskeeper reviews.
const (
	Get    Method = "get"
	List   Method = "list"
	Watch  Method = "watch"
	Create Method = "create"
	Update Method = "update"
	Patch  Method = "patch"
	Delete Method = "delete"
	// Apply is server-side apply of an object that may not exist.
	Apply Method = "apply"
)

// Request is a request to an API server, in the terms of its authorization. Without a namespace, it concerns all of them.
type Request struct {
	Method    Method
	Resource  schema.GroupVersionResource
	Namespace string
	// Name is the name of the object, empty for any.
	Name string
}

// To returns requests for a resource in all namespaces.
func To(group, resource string, methods ...Method) []Request {
	var all []Request
	for _, method := range methods {
		all = append(all, Request{Method: method, Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}})
	}
	return all
}

// ToObject returns requests for one object.
func ToObject(namespace, name, group, resource string, methods ...Method) []Request {
	all := To(group, resource, methods...)
	for i := range all {
		all[i].Namespace, all[i].Name = namespace, name
	}
	return all
}

// Attributes returns what an API server authorizes for the request; all of it has to be allowed.
func (r Request) Attributes() []authorizationv1.ResourceAttributes {
	verbs, name := []Method{r.Method}, r.Name
	switch r.Method {
	case Create, List, Watch: // the path has no name
		name = ""
	case Apply:
		verbs = []Method{Create, Patch}
	}
	var all []authorizationv1.ResourceAttributes
	resource, subresource, _ := strings.Cut(r.Resource.Resource, "/")
	for _, verb := range verbs {
		all = append(all, authorizationv1.ResourceAttributes{Verb: string(verb), Group: r.Resource.Group, Version: r.Resource.Version,
			Resource: resource, Subresource: subresource, Namespace: r.Namespace, Name: name})
	}
	return all
}

// String names a request, as in "list nodes" or "get configmaps in namespace kube-system".
func (r Request) String() string {
	text := string(r.Method) + " " + r.Resource.GroupResource().String()
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}

// Reviewer sends a review, and fills in its status.
type Reviewer func(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview) error

// Of reviews the permissions of the user of a clientset.
func Of(reviews authorizationclient.SelfSubjectAccessReviewInterface) Reviewer {
	return func(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview) error {
		reviewed, err := reviews.Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		review.Status = reviewed.Status
		return nil
	}
}

// OfClient reviews the permissions of the user of a client.
func OfClient(c client.Client) Reviewer {
	return func(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview) error {
		return c.Create(ctx, review)
	}
}

// Missing returns the verbs that the user lacks for a request. An error means that this could not be found out.
func (send Reviewer) Missing(ctx context.Context, r Request) ([]string, error) {
	var missing []string
	for _, attributes := range r.Attributes() {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
		if err := send(ctx, review); err != nil {
			return nil, fmt.Errorf("review the permission to %s: %w", r, err)
		}
		if !review.Status.Allowed && !slices.Contains(missing, attributes.Verb) {
			missing = append(missing, attributes.Verb)
		}
	}
	return missing, nil
}

// Allowed reports whether the user is allowed to make a request.
func (send Reviewer) Allowed(ctx context.Context, r Request) (bool, error) {
	missing, err := send.Missing(ctx, r)
	return err == nil && len(missing) == 0, err
}
