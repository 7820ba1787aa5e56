// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package resourcesize is the webhook that limits how large objects are, and how many a namespace has.
package resourcesize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"groundskeeper.io/groundskeeper/pkg/admission/webhooks"
	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// Name is the name of the webhook in its path.
const Name = "validate-resource-size"

// all stands for every group, version or resource.
const all = "*"

// New returns the webhook. It counts objects of the API server of the client.
func New(config v1alpha1.ResourceSizeConfiguration, objects metadata.Interface) webhooks.Reviewer {
	return reviewer{config, objects}
}

type reviewer struct {
	config  v1alpha1.ResourceSizeConfiguration
	objects metadata.Interface
}

// Review implements webhooks.Reviewer.
func (r reviewer) Review(ctx context.Context, request *admissionv1.AdmissionRequest) webhooks.Verdict {
	if request.SubResource != "" || request.Operation != admissionv1.Create && request.Operation != admissionv1.Update ||
		isOneOf(r.config.UnrestrictedSubjects, request.UserInfo) {
		return webhooks.Allow()
	}
	resource := schema.GroupVersionResource(request.Resource)
	limit := limitOf(r.config.Limits, resource)
	if limit == nil {
		return webhooks.Allow()
	}
	var problems []string
	if limit.Size != nil {
		size, err := sizeOf(request.Object.Raw, limit.Size.Value())
		if err != nil {
			return webhooks.FailOpen(err)
		}
		if size > limit.Size.Value() {
			problems = append(problems, fmt.Sprintf("the object has %d bytes without its status and usual managed fields, %d are allowed for %s",
				size, limit.Size.Value(), resource.GroupResource()))
		}
	}
	if limit.Count != nil && request.Operation == admissionv1.Create {
		count, err := r.count(ctx, resource, request.Namespace)
		if err != nil {
			return webhooks.FailOpen(fmt.Errorf("cannot count %s, so their limit was not checked: %w", resource.GroupResource(), err))
		}
		if count >= *limit.Count {
			problems = append(problems, fmt.Sprintf("there are %d %s%s, %d are allowed", count, resource.GroupResource(), in(request.Namespace),
				*limit.Count))
		}
	}
	switch {
	case len(problems) == 0:
		return webhooks.Allow()
	case r.config.Mode == v1alpha1.ResourceSizeLog:
		return webhooks.Allow(problems...)
	default:
		return webhooks.Deny("%s", problems[0])
	}
}

func in(namespace string) string {
	if namespace == "" {
		return ""
	}
	return fmt.Sprintf(" in namespace %q", namespace)
}

// count requests one object and the number of remaining ones, which costs the server one read of its index. A server that
// does not return it is listed completely, page by page.
func (r reviewer) count(ctx context.Context, resource schema.GroupVersionResource, namespace string) (int64, error) {
	options := metav1.ListOptions{Limit: 1}
	var count int64
	for {
		list, err := r.objects.Resource(resource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return 0, err
		}
		count += int64(len(list.Items))
		if list.RemainingItemCount != nil {
			return count + *list.RemainingItemCount, nil
		}
		if list.Continue == "" {
			return count, nil
		}
		options.Limit, options.Continue = 500, list.Continue
	}
}

// limitOf returns the first limit that names the resource.
func limitOf(limits []v1alpha1.ResourceLimit, resource schema.GroupVersionResource) *v1alpha1.ResourceLimit {
	names := func(list []string, name string) bool {
		return slices.Contains(list, all) || slices.Contains(list, name)
	}
	for i := range limits {
		if names(limits[i].APIGroups, resource.Group) && names(limits[i].Resources, resource.Resource) &&
			(len(limits[i].APIVersions) == 0 || names(limits[i].APIVersions, resource.Version)) {
			return &limits[i]
		}
	}
	return nil
}

// sizeOf is how many bytes the JSON of an object has without its status and managed fields. The server writes those, but
// clients may write them, too: what they have beyond the size of the rest, whose fields they name, counts. An object that is
// small enough with all of them is not taken apart.
func sizeOf(raw []byte, limit int64) (int64, error) {
	if int64(len(raw)) <= limit {
		return int64(len(raw)), nil
	}
	var object map[string]json.RawMessage
	var metadata map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || json.Unmarshal(object["metadata"], &metadata) != nil {
		return 0, errors.New("the review has no object, so its size was not checked")
	}
	managed := int64(len(metadata["managedFields"]))
	delete(object, "status")
	delete(metadata, "managedFields")
	var err error
	if object["metadata"], err = json.Marshal(metadata); err != nil {
		return 0, errors.New("the object cannot be encoded, so its size was not checked")
	}
	compact, err := json.Marshal(object)
	if err != nil {
		return 0, errors.New("the object cannot be encoded, so its size was not checked")
	}
	return max(int64(len(compact)), managed), nil
}

func isOneOf(subjects []rbacv1.Subject, user authenticationv1.UserInfo) bool {
	return slices.ContainsFunc(subjects, func(subject rbacv1.Subject) bool {
		return gardenerv1beta1.Matches(&subject, user.Username, user.Groups)
	})
}
