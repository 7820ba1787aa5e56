// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// startTimeout is how long the process waits at its start for the API server.
const startTimeout = 30 * time.Second

// permissions are the optional permissions of a process.
type permissions struct {
	// leases: several replicas can agree on one. record: a restart keeps the times. namespaces: their annotation is
	// seen.
	leases, record, namespaces bool
}

// need is a permission to be reviewed.
type need struct{ verb, group, resource, namespace, name string }

func (n need) String() string {
	text := n.verb + " " + n.resource
	if n.namespace != "" {
		text += " in namespace " + n.namespace
	}
	return text
}

// indispensable returns what nothing can be done without.
func indispensable(o *options) []need {
	needs := []need{
		{verb: "list", resource: "nodes"}, {verb: "watch", resource: "nodes"},
		{verb: "list", resource: "persistentvolumes"}, {verb: "watch", resource: "persistentvolumes"}, {verb: "delete", resource: "persistentvolumes"},
		{verb: "list", resource: "persistentvolumeclaims"}, {verb: "watch", resource: "persistentvolumeclaims"}, {verb: "delete", resource: "persistentvolumeclaims"},
	}
	if o.deletePods {
		needs = append(needs, need{verb: "list", resource: "pods"}, need{verb: "get", resource: "persistentvolumeclaims"}, need{verb: "delete", resource: "pods"})
	}
	if o.releaseCSI {
		needs = append(needs, need{verb: "patch", resource: "persistentvolumes"})
	}
	return needs
}

// findPermissions reviews the permissions of the process. It fails when a required permission is missing, and logs
// a line for each thing it has to do without.
func findPermissions(ctx context.Context, c client.Client, o *options) (permissions, error) {
	var missing []error
	for _, n := range indispensable(o) {
		ok, err := may(ctx, c, n)
		if err != nil {
			return permissions{}, err
		}
		if !ok {
			missing = append(missing, fmt.Errorf("the permission to %s is missing", n))
		}
	}
	if len(missing) > 0 {
		return permissions{}, fmt.Errorf("nothing is cleaned up: %w", errors.Join(missing...))
	}
	logger := logr.FromContextOrDiscard(ctx)
	optional := func(lack string, needs ...need) (bool, error) {
		for _, n := range needs {
			ok, err := may(ctx, c, n)
			if err != nil {
				return false, err
			}
			if !ok {
				logger.Info(lack, "missingRight", n.String())
				return false, nil
			}
		}
		return true, nil
	}
	record := func(verb, name string) need {
		return need{verb: verb, resource: "configmaps", namespace: o.namespace, name: name}
	}
	lease := func(verb string) need {
		return need{verb: verb, group: "coordination.k8s.io", resource: "leases", namespace: o.namespace, name: name}
	}
	var found permissions
	var err error
	if o.leaderElect {
		found.leases, err = optional("No leader is elected: run one replica only", lease("get"), lease("update"),
			need{verb: "create", group: "coordination.k8s.io", resource: "leases", namespace: o.namespace})
		if err != nil {
			return permissions{}, err
		}
	}
	found.record, err = optional("The times at which nodes were lost are in memory only: a restart starts the delays over, and the brake cannot be acknowledged",
		record("get", localvolume.RecordName), record("patch", localvolume.RecordName), record("create", ""))
	if err != nil {
		return permissions{}, err
	}
	found.namespaces, err = optional("The annotation "+localvolume.OptOutAnnotation+" of namespaces is ignored", need{verb: "list", resource: "namespaces"}, need{verb: "watch", resource: "namespaces"})
	return found, err
}

// may reports whether the process has a permission. It retries for a while when the API server is unavailable.
func may(ctx context.Context, c client.Client, n need) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: n.verb, Group: n.group, Resource: n.resource, Namespace: n.namespace, Name: n.name}}}
	var last error
	err := wait.PollUntilContextTimeout(ctx, time.Second, startTimeout, true, func(ctx context.Context) (bool, error) {
		requested := review.DeepCopy()
		last = c.Create(ctx, requested)
		review.Status = requested.Status
		return last == nil, nil
	})
	if err != nil {
		return false, fmt.Errorf("check whether the process is allowed to %s: %w", n, errors.Join(last, err))
	}
	return review.Status.Allowed, nil
}
