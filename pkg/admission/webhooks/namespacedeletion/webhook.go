// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package namespacedeletion is the webhook that keeps namespaces from being deleted under what lives in them: a project's
// namespace is deleted with its Project and when it is empty, and no namespace is deleted with Klusters in it. Otherwise
// credentials would be deleted before a Kluster is torn down, and the deletion would wait for a confirmation indefinitely.
package namespacedeletion

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/admission/webhooks"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// Name is the name of the webhook in its path.
const Name = "validate-namespace-deletion"

// maxOccupants is how many objects a message names.
const maxOccupants = 10

// Contents knows what lives in a namespace, by reads of the API server. An error means that it is unknown.
type Contents interface {
	// Project returns the Project that the namespace belongs to, nil when there is none.
	Project(ctx context.Context, namespace *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error)
	// Occupants lists what keeps the namespace, as "Kind name": Klusters, and in a project's namespace what else has
	// something outside of the cluster behind it. It may stop after so many.
	Occupants(ctx context.Context, namespace string, project bool, atLeast int) ([]string, error)
}

// New returns the webhook.
func New(contents Contents) webhooks.Reviewer { return reviewer{contents} }

type reviewer struct{ contents Contents }

// Review implements webhooks.Reviewer.
func (r reviewer) Review(ctx context.Context, request *admissionv1.AdmissionRequest) webhooks.Verdict {
	if request.Operation != admissionv1.Delete || request.Resource.Group != "" || request.Resource.Resource != "namespaces" ||
		request.SubResource != "" {
		return webhooks.Allow()
	}
	namespace := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(request.OldObject.Raw, namespace); err != nil || namespace.Name == "" {
		return webhooks.FailClosed(errors.New("the review has no namespace: is the rule of the webhook DELETE of v1 namespaces?"))
	}
	// It is already being deleted: a rejection would restore nothing.
	if !namespace.DeletionTimestamp.IsZero() {
		return webhooks.Allow()
	}
	project, err := r.projectOf(ctx, namespace)
	if err != nil {
		return webhooks.FailClosed(err)
	}
	if project != nil && project.DeletionTimestamp.IsZero() {
		return decide(namespace.Name, project, nil)
	}
	occupants, err := r.contents.Occupants(ctx, namespace.Name, isProjects(namespace), maxOccupants+1)
	if err != nil {
		return webhooks.FailClosed(err)
	}
	return decide(namespace.Name, project, occupants)
}

func (r reviewer) projectOf(ctx context.Context, namespace *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) {
	if !isProjects(namespace) {
		return nil, nil
	}
	return r.contents.Project(ctx, namespace)
}

// isProjects reports whether a namespace may belong to a Project: by its label, or by its name, which a user cannot change.
func isProjects(namespace *metav1.PartialObjectMetadata) bool {
	return namespace.Labels[gardenerv1beta1.LabelRole] == gardenerv1beta1.RoleProject ||
		namespace.Name == gardenerv1beta1.GardenNamespace || strings.HasPrefix(namespace.Name, gardenerv1beta1.ProjectNamespacePrefix)
}

// decide decides about the deletion of a namespace. The project is nil when it has none, the occupants are what is in it.
func decide(namespace string, project *metav1.PartialObjectMetadata, occupants []string) webhooks.Verdict {
	if project != nil && project.DeletionTimestamp.IsZero() {
		return webhooks.Deny("direct deletion of namespace %q is not permitted (you must delete the corresponding project %q)", namespace,
			project.Name)
	}
	if len(occupants) == 0 {
		return webhooks.Allow()
	}
	more := ""
	if len(occupants) > maxOccupants {
		occupants, more = occupants[:maxOccupants], " and more"
	}
	return webhooks.Deny("deletion of namespace %q is not permitted (it still contains %s%s)", namespace, strings.Join(occupants, ", "), more)
}
