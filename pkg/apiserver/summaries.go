// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"groundskeeper.io/groundskeeper/pkg/registry"
)

// resummarize gives the objects that an earlier version stored the conditions Ready, Reconciling and Stalled of this one: without
// them, a client that waits for Ready would wait for the next change.
func resummarize(ctx context.Context, groups []*genericapiserver.APIGroupInfo) {
	for _, group := range groups {
		for _, storages := range group.VersionedResourcesStorageMap {
			for resource, storage := range storages {
				status, ok := storage.(*registry.StatusREST)
				if !ok {
					continue
				}
				switch written, err := status.Resummarize(ctx); {
				case ctx.Err() != nil:
					return
				case err != nil:
					klog.FromContext(ctx).Error(err, "Failed to summarize the conditions of all objects, retrying at the next start", "resource", resource)
				case written > 0:
					klog.FromContext(ctx).Info("Summarized the conditions of objects of an earlier version", "resource", resource, "objects", written)
				}
			}
		}
	}
}
