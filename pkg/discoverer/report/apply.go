// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// Client reads a DiscoveryBackend and writes its status.
type Client interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*gimbalv1.DiscoveryBackend, error)
	Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string) (*gimbalv1.DiscoveryBackend, error)
}

// status is the part of the status of a DiscoveryBackend that discoverers write. What is left out is another manager's,
// or nobody's any more.
type status struct {
	Errors       []gimbalv1.DiscoveryError `json:"errors,omitempty"`
	Conditions   []metav1.Condition        `json:"conditions,omitempty"`
	Services     *int32                    `json:"services,omitempty"`
	Endpoints    *int32                    `json:"endpoints,omitempty"`
	LastSyncTime *metav1.Time              `json:"lastSyncTime,omitempty"`
	// Identity has its own manager.
	Identity []gimbalv1.ClusterIdentity `json:"identity,omitempty"`
}

// document is what is sent to the server for a server-side apply. With the uid it is for this very object: not for one
// of the same name made since, and none is made by it.
type document struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        identity `json:"metadata"`
	Status          *status  `json:"status"`
}

type identity struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	// ResourceVersion is set when the status depends on what was read.
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// identityOwner is the manager of the identity of the backend, which is written once and stays whatever else is reported.
const identityOwner = "groundskeeper-discoverer-identity"

// Identity records by what the backend is recognized. It is a conflict when the DiscoveryBackend changed since it was read:
// another discoverer may have recorded another cluster.
func Identity(ctx context.Context, client Client, backend *gimbalv1.DiscoveryBackend, recorded []gimbalv1.ClusterIdentity) error {
	meta := identity{Name: backend.Name, UID: backend.UID, ResourceVersion: backend.ResourceVersion}
	_, err := send(ctx, client, meta, identityOwner, &status{Identity: recorded})
	return err
}

// apply makes a status what a manager reports about a DiscoveryBackend.
func apply(ctx context.Context, client Client, backend *gimbalv1.DiscoveryBackend, name, manager string, status *status) (*gimbalv1.DiscoveryBackend, error) {
	return send(ctx, client, identity{Name: name, UID: backend.UID}, manager, status)
}

func send(ctx context.Context, client Client, meta identity, manager string, status *status) (*gimbalv1.DiscoveryBackend, error) {
	kind := metav1.TypeMeta{APIVersion: gimbalv1.SchemeGroupVersion.String(), Kind: "DiscoveryBackend"}
	text, err := json.Marshal(document{TypeMeta: kind, Metadata: meta, Status: status})
	if err != nil {
		return nil, fmt.Errorf("status of DiscoveryBackend %s: %w", meta.Name, err)
	}
	return client.Patch(ctx, meta.Name, types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: manager, Force: new(true)}, "status")
}
