// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package lease lets one discoverer of a backend write at a time. A second one of the same backend, such as the new pod
// of a rollout, is ready and waits. Of the library of Kubernetes for this it has the format of the Lease and the rules;
// the library itself brings the clients of all kinds, and gives the Lease back while the work still ends.
package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

// A write ends with the timeout of its request. That and the renew deadline together have to be no longer than the
// duration, so that no write of the old holder comes after the first of the new one.
const (
	duration      = 30 * time.Second
	renewDeadline = 20 * time.Second
	// renewPeriod is long, because there may be a thousand discoverers. After an attempt that failed, retryPeriod is the pause.
	renewPeriod = duration / 3
	retryPeriod = 3 * time.Second

	// MaxTimeout is how long a write may take.
	MaxTimeout = duration - renewDeadline
)

// ErrLost means that another discoverer may have the Lease now.
var ErrLost = errors.New("the Lease was lost")

// Name returns the name of the Lease of a backend.
func Name(backend string) string { return backend + "-discoverer" }

// Hold waits for the Lease of a backend and calls work, whose context ends with ctx or with the Lease. When work has
// returned after the end of ctx, the Lease is given back, so that the next one need not wait until it is over. Hold
// returns nil when ctx is done, ErrLost when the Lease was lost. The identity is of this process alone.
func Hold(ctx context.Context, leases client.Leases, namespace, backend, identity string, work func(context.Context)) error {
	h := &holder{leases: leases, namespace: namespace, name: Name(backend), identity: identity}
	if !h.acquire(ctx) {
		return nil
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		work(working)
	}()
	err := h.keep(ctx)
	stop()
	<-worked
	if err != nil {
		return err
	}
	return h.release(context.WithoutCancel(ctx))
}

// release gives the Lease back when it is still held.
func (h *holder) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, MaxTimeout)
	defer cancel()
	lease, err := h.leases.Get(ctx, h.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("give back lease %s/%s: %w", h.namespace, h.name, err)
	}
	if holderOf(lease) != h.identity {
		return nil
	}
	if _, err := h.leases.Update(ctx, released(lease, time.Now()), metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("give back lease %s/%s: %w", h.namespace, h.name, err)
	}
	return nil
}

// Adopt adds an owner reference to the Lease of a backend, which must exist. It writes nothing if the reference exists.
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
