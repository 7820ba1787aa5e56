// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leasePause is how long a Lease is observed. A running manager renews its Lease continuously.
const leasePause = 20 * time.Second

// silence returns why no controller manager runs, "" when one does. Two reads show whether a Lease is renewed, because the
// clocks of the manager and of this machine may differ.
func silence(ctx context.Context, c client.Client, m Manager, deployment *appsv1.Deployment) (string, error) {
	key := client.ObjectKey{Namespace: SystemNamespace, Name: managerName}
	if m.Config != nil {
		election := m.Config.LeaderElection
		if !*election.LeaderElect {
			if m.Deployed && deployment.Status.ReadyReplicas == 0 {
				return "Deployment " + managerName + " has no pod that is ready", nil
			}
			return "", nil
		}
		key = client.ObjectKey{Namespace: election.ResourceNamespace, Name: election.ResourceName}
	}
	var first *coordinationv1.Lease
	for deadline := time.Now().Add(leasePause); ; {
		lease := &coordinationv1.Lease{}
		err := c.Get(ctx, key, lease)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Sprintf("there is no Lease %s", key), nil
		case err != nil:
			return "", err
		case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "":
		case first == nil:
			first = lease
		case !lease.Spec.RenewTime.Equal(first.Spec.RenewTime):
			return "", nil
		}
		if time.Now().After(deadline) {
			return fmt.Sprintf("no manager renews Lease %s", key), nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return "", err
		}
	}
}
