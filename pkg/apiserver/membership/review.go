// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/klog/v2"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

const (
	// ReviewPath is where the server is an authorization webhook of the kube-apiserver. Who may send requests to it is decided by
	// RBAC, as for every path: the responses reveal the members of Projects.
	ReviewPath = "/project-authorization"
	// maxReview is the size of a review in bytes. A user has at most a few thousand groups.
	maxReview = 1 << 20
)

// Review decides about a request as the server does, for an authorizer that comes before RBAC: it denies what the server restricts, and
// leaves all else to RBAC. It allows nothing.
func (a *Authorizer) Review(ctx context.Context, request authorizer.Attributes) (authorizer.Decision, string, error) {
	if !IsRestricted(request) || isFiltered(request) {
		return authorizer.DecisionNoOpinion, "", nil
	}
	_, allowed, err := a.isMember(ctx, request)
	if err == nil && !allowed {
		allowed, err = a.AllowsAny(ctx, request)
	}
	if err != nil || allowed {
		return authorizer.DecisionNoOpinion, "", err
	}
	return authorizer.DecisionDeny, "not a member of the project with a role that allows it", nil
}

// ServeHTTP responds to reviews of the kube-apiserver, whose AuthorizationConfiguration has this server as a webhook. What is unknown
// is no opinion: the server itself still restricts the request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send a SubjectAccessReview with POST", http.StatusMethodNotAllowed)
		return
	}
	review, err := readReview(http.MaxBytesReader(w, r.Body, maxReview))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Status = s.review(r.Context(), attributesOf(review.Spec))
	review.Spec = authorizationv1.SubjectAccessReviewSpec{}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		klog.FromContext(r.Context()).V(2).Info("Failed to respond to a SubjectAccessReview", "err", err)
	}
}

func (s *Server) review(ctx context.Context, request authorizer.Attributes) authorizationv1.SubjectAccessReviewStatus {
	restricted := s.authorizer.Load()
	if restricted == nil {
		return authorizationv1.SubjectAccessReviewStatus{EvaluationError: "the server has no authorizer"}
	}
	decision, reason, err := restricted.Review(ctx, request)
	status := authorizationv1.SubjectAccessReviewStatus{Denied: decision == authorizer.DecisionDeny, Reason: reason}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to review a request for projects")
		status.EvaluationError = "the members of the project are unknown; see the log of the server"
	}
	return status
}

// readReview reads a review in the one version that the server knows.
func readReview(body io.Reader) (*authorizationv1.SubjectAccessReview, error) {
	review := &authorizationv1.SubjectAccessReview{}
	if err := json.NewDecoder(body).Decode(review); err != nil {
		return nil, fmt.Errorf("cannot read the SubjectAccessReview: %w", err)
	}
	if want := authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview"); review.GroupVersionKind() != want {
		return nil, fmt.Errorf("the request has apiVersion %q and kind %q instead of %q and %q: set subjectAccessReviewVersion: v1",
			review.APIVersion, review.Kind, want.GroupVersion(), want.Kind)
	}
	if review.Spec.User == "" && len(review.Spec.Groups) == 0 {
		return nil, errors.New("spec.user and spec.groups are empty: set one of them")
	}
	review.ObjectMeta = metav1.ObjectMeta{}
	return review, nil
}

// attributesOf returns the request that a review is about.
func attributesOf(spec authorizationv1.SubjectAccessReviewSpec) authorizer.AttributesRecord {
	who := &user.DefaultInfo{Name: spec.User, UID: spec.UID, Groups: spec.Groups, Extra: map[string][]string{}}
	for key, values := range spec.Extra {
		who.Extra[key] = values
	}
	if spec.NonResourceAttributes != nil {
		return authorizer.AttributesRecord{User: who, Verb: spec.NonResourceAttributes.Verb, Path: spec.NonResourceAttributes.Path}
	}
	request := authorizer.AttributesRecord{User: who, ResourceRequest: true}
	if of := spec.ResourceAttributes; of != nil {
		request.Verb, request.APIGroup, request.APIVersion = of.Verb, of.Group, of.Version
		request.Resource, request.Subresource, request.Namespace, request.Name = of.Resource, of.Subresource, of.Namespace, of.Name
	}
	if request.APIVersion == "" || request.APIVersion == "*" {
		request.APIVersion = gardenerv1beta1.SchemeGroupVersion.Version
	}
	return request
}
