// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// WriteStatus writes what a status has for a field owner, and takes away what that owner wrote before and the status lacks.
func WriteStatus(
	ctx context.Context, c client.Client, k *kubernikusv1.Kluster, status kubernikusv1.KlusterStatus, owner client.FieldOwner,
) error {
	err := c.Status().Apply(ctx, ApplyStatus(k, status), owner, client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("apply the status of kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	return nil
}
