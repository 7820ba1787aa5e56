// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

// Adopt makes the Lease of a backend, which exists, go with its owner. It writes nothing when that is so already.
func Adopt(ctx context.Context, leases client.Leases, namespace, backend string, owner metav1.OwnerReference) error {
	name := Name(backend)
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get lease %s/%s: %w", namespace, name, err)
	}
	if slices.ContainsFunc(lease.OwnerReferences, func(other metav1.OwnerReference) bool { return other.UID == owner.UID }) {
		return nil
	}
	// With the uid, no Lease that came meanwhile is patched.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": lease.UID, "ownerReferences": []metav1.OwnerReference{owner}}})
	if err != nil {
		return err
	}
	if _, err := leases.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("give lease %s/%s its owner: %w", namespace, name, err)
	}
	return nil
}
