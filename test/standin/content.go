// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const pathSnapshots = "block-storage/snapshots"

// content makes the snapshot of Cinder behind a VolumeSnapshotContent, and deletes it with that when the policy specifies so. It
// does not wait for Cinder to be done.
func (s *Standin) content(ctx context.Context, k key) error {
	objects := s.config.Dynamic.Resource(contents)
	content, err := objects.Get(ctx, k.name, metav1.GetOptions{})
	if err != nil || text(content, "spec", "driver") != Driver {
		return client.IgnoreNotFound(err)
	}
	handle := text(content, "status", "snapshotHandle") + text(content, "spec", "source", "snapshotHandle")
	if content.GetDeletionTimestamp() != nil {
		if text(content, "spec", "deletionPolicy") == policyDelete && handle != "" {
			if err := s.cloud.remove(ctx, pathSnapshots+"/"+handle); err != nil {
				return err
			}
			s.log("deleted snapshot of %s", content.GetName())
		}
		return s.finalizers(ctx, content, false, FinalizerContent)
	}
	volume := text(content, "spec", "source", "volumeHandle")
	if handle != "" || volume == "" {
		return nil
	}
	made, err := s.ensureBlock(ctx, pathSnapshots, "snapshots", "snapshot", "snapshot-"+text(content, "spec", "volumeSnapshotRef", "uid"), map[string]any{
		"volume_id": volume, "force": true, "metadata": map[string]string{MetadataCluster: s.config.ClusterID},
	})
	if err != nil {
		return err
	}
	if err := unstructured.SetNestedMap(content.Object, map[string]any{
		"snapshotHandle": made.ID, "readyToUse": true, "creationTime": time.Now().UnixNano(),
	}, "status"); err != nil {
		return err
	}
	_, err = objects.UpdateStatus(ctx, content, metav1.UpdateOptions{})
	return client.IgnoreNotFound(err)
}
