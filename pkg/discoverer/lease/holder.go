// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

// holder takes a Lease and renews it.
type holder struct {
	leases                    client.Leases
	namespace, name, identity string

	seen sight
	// current reports that seen is what this process wrote, and need not be read before it is written again.
	current bool
	// renewed is when the request began that last acquired the Lease. No other client counts from an earlier time.
	renewed time.Time
}

// acquire waits for the Lease. It returns false when ctx is done first.
func (h *holder) acquire(ctx context.Context) bool {
	log, reported := logr.FromContextOrDiscard(ctx), ""
	for {
		held, err := h.try(ctx)
		if held {
			return true
		}
		if err != nil && err.Error() != reported && ctx.Err() == nil {
			reported = err.Error()
			log.Error(err, "The Lease cannot be taken, trying again")
		}
		if kit.Pause(ctx, retryPeriod) != nil {
			return false
		}
	}
}

// keep renews the Lease. It returns nil when ctx is done, an ErrLost when another one has the Lease, or may have it soon.
func (h *holder) keep(ctx context.Context) error {
	log, pause := logr.FromContextOrDiscard(ctx), renewPeriod
	for {
		deadline := h.renewed.Add(renewDeadline)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(pause, time.Until(deadline))):
		}
		attempt, cancel := context.WithDeadline(ctx, deadline)
		held, err := h.try(attempt)
		cancel()
		pause = retryPeriod
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it was ended
		case held:
			pause = renewPeriod
		case err == nil:
			return fmt.Errorf("%w: another discoverer of the backend, %s, has lease %s/%s", ErrLost, holderOf(h.seen.lease), h.namespace, h.name)
		case !time.Now().Before(deadline):
			return fmt.Errorf("%w: it could not be renewed for %s: %w", ErrLost, renewDeadline, err)
		default:
			log.Error(err, "The Lease is not renewed, trying again")
		}
	}
}

// try takes or renews the Lease. Without an error, false means that another one has it.
func (h *holder) try(ctx context.Context) (bool, error) {
	held, err := h.attempt(ctx)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) { // who has written it?
		held, err = h.attempt(ctx)
	}
	return held, err
}

func (h *holder) attempt(ctx context.Context) (bool, error) {
	if !h.current {
		lease, err := h.leases.Get(ctx, h.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			lease, err = nil, nil
		}
		if err != nil {
			return false, fmt.Errorf("get lease %s/%s: %w", h.namespace, h.name, err)
		}
		h.seen = h.seen.then(lease, time.Now())
	}
	begun := time.Now()
	if !h.seen.free(h.identity, begun) {
		return false, nil
	}
	written, err := h.write(ctx, taken(h.seen.lease, metav1.ObjectMeta{Namespace: h.namespace, Name: h.name}, h.identity, begun))
	if err != nil {
		h.current = false
		return false, fmt.Errorf("write lease %s/%s: %w", h.namespace, h.name, err)
	}
	h.seen, h.current, h.renewed = h.seen.then(written, begun), true, begun
	return true, nil
}

func (h *holder) write(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	if lease.ResourceVersion == "" {
		return h.leases.Create(ctx, lease, metav1.CreateOptions{})
	}
	return h.leases.Update(ctx, lease, metav1.UpdateOptions{})
}
