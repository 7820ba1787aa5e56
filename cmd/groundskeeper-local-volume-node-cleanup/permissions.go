// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/accessreview"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// startTimeout is how long the process waits at its start for the API server.
const startTimeout = 30 * time.Second

// permissions are the optional permissions of a process.
type permissions struct {
	// leases: several replicas can agree on one. record: a restart keeps the times. cleaners: others that clean up the same classes are
	// recognized. namespaces: their annotation is seen.
	leases, record, cleaners, namespaces bool
}

// coordination is the API group of Leases.
const coordination = "coordination.k8s.io"

// to returns requests for a resource in all namespaces.
func to(group, resource string, methods ...accessreview.Method) []accessreview.Request {
	var all []accessreview.Request
	for _, method := range methods {
		all = append(all, accessreview.Request{Method: method,
			Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}})
	}
	return all
}

// object returns requests for one object.
func object(namespace, name string, requests []accessreview.Request) []accessreview.Request {
	for i := range requests {
		requests[i].Namespace, requests[i].Name = namespace, name
	}
	return requests
}

// indispensable returns what nothing can be done without.
func indispensable(o *options) []accessreview.Request {
	needs := slices.Concat(to("", "nodes", accessreview.List, accessreview.Watch),
		to("", "persistentvolumes", accessreview.List, accessreview.Watch, accessreview.Delete),
		to("", "persistentvolumeclaims", accessreview.List, accessreview.Watch, accessreview.Delete))
	if *o.volumes.DeletePendingPods {
		needs = slices.Concat(needs, to("", "pods", accessreview.List, accessreview.Delete), to("", "persistentvolumeclaims", accessreview.Get))
	}
	if *o.volumes.ReleaseCSIVolumes {
		needs = append(needs, to("", "persistentvolumes", accessreview.Patch)...)
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
	optional := func(lack string, needs ...accessreview.Request) (bool, error) {
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
	var found permissions
	var err error
	if o.leaderElect {
		found.leases, err = optional("No leader is elected: run one replica only",
			object(o.namespace, name, to(coordination, "leases", accessreview.Get, accessreview.Update, accessreview.Create))...)
		if err != nil {
			return permissions{}, err
		}
	}
	found.record, err = optional("The times at which nodes were lost are in memory only: a restart starts the delays over, and the brake "+
		"cannot be acknowledged",
		object(o.namespace, localvolume.RecordName, to("", "configmaps", accessreview.Get, accessreview.Patch, accessreview.Create))...)
	if err != nil {
		return permissions{}, err
	}
	cleaners := localvolume.CleanersKey()
	found.cleaners, err = optional("Others that clean up local volumes of this cluster are not recognized: run one only",
		object(cleaners.Namespace, cleaners.Name, to("", "configmaps", accessreview.Get, accessreview.Patch, accessreview.Create))...)
	if err != nil {
		return permissions{}, err
	}
	found.namespaces, err = optional("The annotation "+localvolume.OptOutAnnotation+" of namespaces is ignored",
		to("", "namespaces", accessreview.List, accessreview.Watch)...)
	return found, err
}

// may reports whether the process has a permission. It retries for a while when the API server is unavailable.
func may(ctx context.Context, c client.Client, request accessreview.Request) (allowed bool, err error) {
	var last error
	err = wait.PollUntilContextTimeout(ctx, time.Second, startTimeout, true, func(ctx context.Context) (bool, error) {
		allowed, last = accessreview.OfClient(c).Allowed(ctx, request)
		return last == nil, nil
	})
	if err != nil {
		return false, fmt.Errorf("check the permissions of the process: %w", errors.Join(last, err))
	}
	return allowed, nil
}
