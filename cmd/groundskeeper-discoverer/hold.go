// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/lease"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
)

// hold works and reports while it holds the Lease of the backend. While it waits for it, it reports what is in its way.
func (d *discoverer) hold(ctx context.Context) error {
	waiting, acquired := context.WithCancel(ctx)
	stoodBy := make(chan struct{})
	go func() {
		defer close(stoodBy)
		standby := &report.Standby{Client: d.backends, Namespace: d.backendNamespace, Name: d.backend, Ledger: d.ledger, Clock: clock.RealClock{}}
		standby.Run(waiting)
	}()
	defer func() {
		acquired()
		<-stoodBy
	}()
	return lease.Hold(ctx, d.leases, d.backendNamespace, d.backend, d.identity, func(ctx context.Context) {
		reported := make(chan struct{})
		go func() { // copies do not wait for it
			defer close(reported)
			acquired()
			<-stoodBy
			d.adoptLease(ctx)
			d.report(ctx)
		}()
		d.work(ctx)
		<-reported
	})
}

// adoptLease makes the Lease go with the DiscoveryBackend. A discoverer without one works, too.
func (d *discoverer) adoptLease(ctx context.Context) {
	backend, err := d.backends.Get(ctx, d.backend, metav1.GetOptions{})
	if err == nil {
		owner := metav1.OwnerReference{APIVersion: gimbalv1.SchemeGroupVersion.String(), Kind: "DiscoveryBackend", Name: backend.Name, UID: backend.UID}
		err = lease.Adopt(ctx, d.leases, d.backendNamespace, d.backend, owner)
	}
	if err != nil && ctx.Err() == nil {
		logr.FromContextOrDiscard(ctx).Info("Failed to set the owner of the Lease, it remains when the DiscoveryBackend is deleted", "err", err)
	}
}

// report writes the status of the DiscoveryBackend until ctx is done.
func (d *discoverer) report(ctx context.Context) {
	writer := &report.Writer{
		Client: d.backends, Namespace: d.backendNamespace, Name: d.backend, Ledger: d.ledger, State: d.state, Contact: d.contact, Clock: clock.RealClock{},
	}
	writer.Run(ctx)
}
