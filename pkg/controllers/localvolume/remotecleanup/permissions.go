// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remotecleanup

import (
	"context"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/accessreview"
	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume/cleanup"
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

// permissions are the optional permissions. With record, times survive a restart and the brake can be acknowledged; with cleaners, two
// that would clean up one cluster recognize each other; with namespaces, the annotation of namespaces is honored.
type permissions struct{ record, cleaners, namespaces bool }

func written(name string) []accessreview.Request {
	return accessreview.ToObject(localvolume.WorkloadRecordNamespace, name, "", "configmaps",
		accessreview.Get, accessreview.Patch, accessreview.Create)
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
	missing, err := lacking(cleanup.Required(settings))
	if len(missing) > 0 {
		err = &ForbiddenError{missing}
	}
	if err != nil {
		return permissions{}, err
	}
	var found permissions
	for granted, requests := range map[*bool][]accessreview.Request{
		&found.record: written(localvolume.RecordName), &found.cleaners: written(localvolume.CleanersName),
		&found.namespaces: accessreview.To("", "namespaces", accessreview.List, accessreview.Watch),
	} {
		missing, err := lacking(requests)
		if err != nil {
			return permissions{}, err
		}
		*granted = len(missing) == 0
	}
	return found, nil
}
