// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remotecleanup

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// ForbiddenError reports required permissions that are missing in the cluster.
type ForbiddenError struct {
	// Missing has entries such as "list nodes".
	Missing []string
}

// Error implements error.
func (e *ForbiddenError) Error() string {
	return "the credentials lack the permission to " + strings.Join(e.Missing, ", ")
}

// need is a required permission for a resource of the core group.
type need struct{ verb, resource, namespace, name string }

func (n need) String() string {
	text := n.verb + " " + n.resource
	if n.namespace != "" {
		text += " in namespace " + n.namespace
	}
	return text
}

// permissions are the optional permissions. With record, times survive a restart and the brake can be acknowledged; with namespaces,
// the annotation of namespaces is honored.
type permissions struct{ record, namespaces bool }

// required returns the permissions without which the cleanup cannot run.
func required(settings *configv1alpha1.LocalVolumeConfiguration) []need {
	needs := []need{
		{verb: "list", resource: "nodes"}, {verb: "watch", resource: "nodes"},
		{verb: "list", resource: "persistentvolumes"}, {verb: "watch", resource: "persistentvolumes"}, {verb: "delete", resource: "persistentvolumes"},
		{verb: "list", resource: "persistentvolumeclaims"}, {verb: "watch", resource: "persistentvolumeclaims"}, {verb: "delete", resource: "persistentvolumeclaims"},
	}
	if *settings.ReleaseCSIVolumes {
		needs = append(needs, need{verb: "patch", resource: "persistentvolumes"})
	}
	if *settings.DeletePendingPods {
		needs = append(needs, need{verb: "get", resource: "persistentvolumeclaims"}, need{verb: "list", resource: "pods"}, need{verb: "delete", resource: "pods"})
	}
	return needs
}

// findPermissions queries the API server for the permissions of the credentials. It returns a ForbiddenError when a required one is
// missing.
func findPermissions(ctx context.Context, c client.Client, settings *configv1alpha1.LocalVolumeConfiguration) (permissions, error) {
	var forbidden ForbiddenError
	for _, n := range required(settings) {
		ok, err := isAllowed(ctx, c, n)
		if err != nil {
			return permissions{}, err
		}
		if !ok {
			forbidden.Missing = append(forbidden.Missing, n.String())
		}
	}
	if len(forbidden.Missing) > 0 {
		return permissions{}, &forbidden
	}
	record := func(verb, name string) need {
		return need{verb: verb, resource: "configmaps", namespace: RecordNamespace, name: name}
	}
	var found permissions
	for granted, needs := range map[*bool][]need{
		&found.record:     {record("get", localvolume.RecordName), record("patch", localvolume.RecordName), record("create", "")},
		&found.namespaces: {{verb: "list", resource: "namespaces"}, {verb: "watch", resource: "namespaces"}},
	} {
		*granted = true
		for _, n := range needs {
			ok, err := isAllowed(ctx, c, n)
			if err != nil {
				return permissions{}, err
			}
			*granted = *granted && ok
		}
	}
	return found, nil
}

func isAllowed(ctx context.Context, c client.Client, n need) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: n.verb, Resource: n.resource, Namespace: n.namespace, Name: n.name}}}
	if err := c.Create(ctx, review); err != nil {
		return false, fmt.Errorf("check whether the credentials are allowed to %s: %w", n, err)
	}
	return review.Status.Allowed, nil
}
