// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/accessreview"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/cleanup"
)

// startTimeout is how long the process waits at its start for the API server.
const startTimeout = 30 * time.Second

// permissions are the optional permissions of a process.
type permissions struct {
	// leases: several replicas can agree on one. record: a restart keeps the times. cleaners: others that clean up the same classes are
	// recognized. namespaces: their annotation is seen.
	leases, record, cleaners, namespaces bool
}

const coordination = "coordination.k8s.io"

// findPermissions reviews the permissions of the process. It fails when a required permission is missing, and logs
// a line for each thing it has to do without.
func findPermissions(ctx context.Context, c client.Client, o *options) (permissions, error) {
	var missing []error
	for _, n := range cleanup.Required(&o.volumes) {
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
				logger.Info(lack, "missingPermission", n.String())
				return false, nil
			}
		}
		return true, nil
	}
	writes := []accessreview.Method{accessreview.Get, accessreview.Patch, accessreview.Create}
	var found permissions
	var err error
	if o.leaderElect {
		found.leases, err = optional("No leader is elected: run one replica only",
			accessreview.ToObject(o.namespace, name, coordination, "leases", accessreview.Get, accessreview.Update, accessreview.Create)...)
		if err != nil {
			return permissions{}, err
		}
	}
	found.record, err = optional("The times at which nodes were lost are in memory only: a restart starts the delays over, and the brake "+
		"cannot be acknowledged",
		accessreview.ToObject(o.namespace, localvolume.RecordName, "", "configmaps", writes...)...)
	if err != nil {
		return permissions{}, err
	}
	cleaners := localvolume.CleanersKey()
	found.cleaners, err = optional("Others that clean up local volumes of this cluster are not recognized: run one only",
		accessreview.ToObject(cleaners.Namespace, cleaners.Name, "", "configmaps", writes...)...)
	if err != nil {
		return permissions{}, err
	}
	found.namespaces, err = optional("The annotation "+localvolume.OptOutAnnotation+" of namespaces is ignored",
		accessreview.To("", "namespaces", accessreview.List, accessreview.Watch)...)
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
