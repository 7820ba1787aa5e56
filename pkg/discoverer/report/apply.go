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
}

// apply makes a status what a manager says of a DiscoveryBackend.
func apply(ctx context.Context, client Client, backend *gimbalv1.DiscoveryBackend, name, manager string, status *status) (*gimbalv1.DiscoveryBackend, error) {
	kind := metav1.TypeMeta{APIVersion: gimbalv1.SchemeGroupVersion.String(), Kind: "DiscoveryBackend"}
	text, err := json.Marshal(document{TypeMeta: kind, Metadata: identity{Name: name, UID: backend.UID}, Status: status})
	if err != nil {
		return nil, fmt.Errorf("status of DiscoveryBackend %s: %w", name, err)
	}
	return client.Patch(ctx, name, types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: manager, Force: new(true)}, "status")
}
