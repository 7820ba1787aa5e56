// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package lease lets one discoverer of a backend write at a time. A second one of the same backend, such as the new pod
// of a rollout, is ready and waits.
package lease

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A write ends with the timeout of its request. That and the renew deadline together have to be shorter than the
// duration, so that no write of the old holder comes after the first of the new one.
const (
	duration      = 30 * time.Second
	renewDeadline = 20 * time.Second
	retryPeriod   = 3 * time.Second

	// MaxTimeout is how long a write may take.
	MaxTimeout = duration - renewDeadline
)

// ErrLost says that another discoverer may have the Lease now.
var ErrLost = errors.New("the Lease could not be renewed: another discoverer of the backend takes over")

// Name returns the name of the Lease of a backend.
func Name(backend string) string { return backend + "-discoverer" }

// Hold waits for the Lease of a backend and calls work, whose context ends with ctx or with the Lease. When work has
// returned after the end of ctx, the Lease is given back, so that the next one need not wait until it is over. Hold
// returns nil when ctx is done, ErrLost when the Lease was lost.
func Hold(ctx context.Context, leases coordinationv1.LeasesGetter, namespace, backend, identity string, work func(context.Context)) error {
	held := &lock{Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: Name(backend)},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}}
	worked := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: held, LeaseDuration: duration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, Name: Name(backend),
		// The elector would give the Lease back while the work still ends.
		ReleaseOnCancel: false,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				defer close(worked)
				work(leading)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("lease %s/%s: %w", namespace, Name(backend), err)
	}
	elector.Run(ctx)
	if held.acquired.Load() {
		<-worked
	}
	if ctx.Err() == nil {
		return ErrLost
	}
	if !held.acquired.Load() {
		return nil
	}
	return held.release(context.WithoutCancel(ctx))
}

// lock is a lock that knows whether it was ever ours.
type lock struct {
	resourcelock.Interface
	acquired atomic.Bool
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.noted(l.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.noted(l.Interface.Update(ctx, record))
}

func (l *lock) noted(err error) error {
	if err == nil {
		l.acquired.Store(true)
	}
	return err
}

// release gives the lock back when it is still ours.
func (l *lock) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, MaxTimeout)
	defer cancel()
	record, _, err := l.Get(ctx)
	if err != nil {
		return fmt.Errorf("give back lease %s: %w", l.Describe(), err)
	}
	if record.HolderIdentity != l.Identity() {
		return nil
	}
	now := metav1.Now()
	free := resourcelock.LeaderElectionRecord{LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now}
	if err := l.Interface.Update(ctx, free); err != nil {
		return fmt.Errorf("give back lease %s: %w", l.Describe(), err)
	}
	return nil
}
