// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package hostprobe finds out at start what the management cluster offers.
//
// An admission plugin that watches a resource of the host rejects every write until its informer has synced. Where the host does
// not serve that resource, or does not let this server list it, that is indefinitely. Such plugins are disabled instead, each with
// one line in the log. A host that does not respond is an error: it reports nothing about what it serves, and a server without
// admission because its host was slow would be worse than none.
package hostprobe

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"groundskeeper.io/groundskeeper/pkg/accessreview"
)

const (
	defaultTimeout = 30 * time.Second
	retryInterval  = time.Second
)

// Probe returns the admission plugins and features that must be off on this host, after one line in the log for each. It retries
// until the host responds, at most for the timeout (0: 30 s).
func Probe(ctx context.Context, host kubernetes.Interface, timeout time.Duration) ([]Disabled, error) {
	if timeout == 0 {
		timeout = defaultTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var found map[schema.GroupVersionResource]access
	var last error
	err := wait.PollUntilContextCancel(limited, retryInterval, true, func(ctx context.Context) (bool, error) {
		inspected, err := inspect(ctx, host, features())
		if err == nil {
			found, last = inspected, nil
			return true, nil
		}
		// An attempt that was cut off by the end of ctx has less information than the one before.
		if ctx.Err() == nil || last == nil {
			last = err
		}
		return false, nil
	})
	if err != nil {
		return nil, fmt.Errorf("the kube-apiserver does not report what it serves (--kubeconfig), gave up after %s: %w", timeout,
			cmp.Or(last, err))
	}
	disabled := decide(features(), found)
	for _, d := range disabled {
		klog.FromContext(ctx).Info("Disabled, as it would never become ready", "feature", d.Name, "reason", d.Reason)
	}
	return disabled, nil
}

// inspect queries the host about each resource once.
func inspect(ctx context.Context, host kubernetes.Interface, features []feature) (map[schema.GroupVersionResource]access, error) {
	reviewer := accessreview.Of(host.AuthorizationV1().SelfSubjectAccessReviews())
	found := map[schema.GroupVersionResource]access{}
	served := map[schema.GroupVersion]sets.Set[string]{}
	for _, f := range features {
		for _, resource := range f.resources {
			if _, done := found[resource]; done {
				continue
			}
			gv := resource.GroupVersion()
			if _, known := served[gv]; !known {
				names, err := resources(ctx, host, gv)
				if err != nil {
					return nil, err
				}
				served[gv] = names
			}
			a := access{served: served[gv].Has(resource.Resource)}
			if a.served {
				var err error
				if a.list, err = reviewer.Allowed(ctx, accessreview.Request{Method: accessreview.List, Resource: resource}); err != nil {
					return nil, err
				}
				if a.watch, err = reviewer.Allowed(ctx, accessreview.Request{Method: accessreview.Watch, Resource: resource}); err != nil {
					return nil, err
				}
			}
			found[resource] = a
		}
	}
	return found, nil
}

// resources returns the names of the resources of a group version, none when it is not served.
func resources(ctx context.Context, host kubernetes.Interface, gv schema.GroupVersion) (sets.Set[string], error) {
	list, err := host.Discovery().ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("discovery of %s: %w", gv, err)
	}
	names := sets.New[string]()
	for _, resource := range list.APIResources {
		names.Insert(resource.Name)
	}
	return names, nil
}
