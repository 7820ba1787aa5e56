// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remotecleanup

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/accessreview"
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

// to returns requests for a resource of the core group in all namespaces.
func to(resource string, methods ...accessreview.Method) []accessreview.Request {
	var all []accessreview.Request
	for _, method := range methods {
		all = append(all, accessreview.Request{Method: method, Resource: schema.GroupVersionResource{Version: "v1", Resource: resource}})
	}
	return all
}

// permissions are the optional permissions. With record, times survive a restart and the brake can be acknowledged; with cleaners, two
// that would clean up one cluster recognize each other; with namespaces, the annotation of namespaces is honored.
type permissions struct{ record, cleaners, namespaces bool }

// required returns the requests without which the cleanup cannot run.
func required(settings *configv1alpha1.LocalVolumeConfiguration) []accessreview.Request {
	needs := slices.Concat(to("nodes", accessreview.List, accessreview.Watch),
		to("persistentvolumes", accessreview.List, accessreview.Watch, accessreview.Delete),
		to("persistentvolumeclaims", accessreview.List, accessreview.Watch, accessreview.Delete))
	if *settings.ReleaseCSIVolumes {
		needs = append(needs, to("persistentvolumes", accessreview.Patch)...)
	}
	if *settings.DeletePendingPods {
		needs = slices.Concat(needs, to("persistentvolumeclaims", accessreview.Get), to("pods", accessreview.List, accessreview.Delete))
	}
	return needs
}

// written returns the requests for a ConfigMap that the cleanup writes.
func written(name string) []accessreview.Request {
	requests := to("configmaps", accessreview.Get, accessreview.Patch, accessreview.Create)
	for i := range requests {
		requests[i].Namespace, requests[i].Name = localvolume.WorkloadRecordNamespace, name
	}
	return requests
}

// findPermissions queries the API server for the permissions of the credentials. It returns a ForbiddenError when a required one is
// missing.
func findPermissions(ctx context.Context, c client.Client, settings *configv1alpha1.LocalVolumeConfiguration) (permissions, error) {
	lacking := func(requests []accessreview.Request) (missing []string, err error) {
		for _, request := range requests {
			ok, err := accessreview.OfClient(c).Allowed(ctx, request)
			if err != nil {
				return nil, err
			}
			if !ok {
				missing = append(missing, request.String())
			}
		}
		return missing, nil
	}
	missing, err := lacking(required(settings))
	if len(missing) > 0 {
		err = &ForbiddenError{missing}
	}
	if err != nil {
		return permissions{}, err
	}
	var found permissions
	for granted, requests := range map[*bool][]accessreview.Request{&found.record: written(localvolume.RecordName),
		&found.cleaners: written(localvolume.CleanersName), &found.namespaces: to("namespaces", accessreview.List, accessreview.Watch)} {
		missing, err := lacking(requests)
		if err != nil {
			return permissions{}, err
		}
		*granted = len(missing) == 0
	}
	return found, nil
}
