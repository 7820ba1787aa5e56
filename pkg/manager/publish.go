// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"groundskeeper.io/groundskeeper/pkg/controllerstate"
)

// publisher is a client of the Lease that adds the states of the controllers to each renewal, which costs no additional request.
type publisher struct {
	coordinationv1client.LeasesGetter
	states func() map[string]controllerstate.State
}

// Leases implements coordinationv1client.LeasesGetter.
func (p publisher) Leases(namespace string) coordinationv1client.LeaseInterface {
	return publishedLease{p.LeasesGetter.Leases(namespace), p.states}
}

type publishedLease struct {
	coordinationv1client.LeaseInterface
	states func() map[string]controllerstate.State
}

// Create implements coordinationv1client.LeaseInterface.
func (l publishedLease) Create(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	return l.LeaseInterface.Create(ctx, l.with(lease), options)
}

// Update implements coordinationv1client.LeaseInterface.
func (l publishedLease) Update(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	return l.LeaseInterface.Update(ctx, l.with(lease), options)
}

// with returns a Lease with the states, or without them when the Lease is released: then no controller runs.
func (l publishedLease) with(lease *coordinationv1.Lease) *coordinationv1.Lease {
	lease = lease.DeepCopy()
	if holder := lease.Spec.HolderIdentity; holder == nil || *holder == "" {
		delete(lease.Annotations, controllerstate.Annotation)
		return lease
	}
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, controllerstate.Annotation, controllerstate.Encode(l.states()))
	return lease
}
