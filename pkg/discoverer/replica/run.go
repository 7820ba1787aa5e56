// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// poll is how often a cache that fills is checked.
const poll = 50 * time.Millisecond

// Watch fills the caches of this cluster and keeps them up to date until ctx is done. It writes nothing.
func (r *Replica) Watch(ctx context.Context) { r.local.run(ctx) }

// Survey waits until both sides are listed and compares them. It writes nothing. It returns how many services differ,
// and the error of ctx.
func (r *Replica) Survey(ctx context.Context) (int, error) {
	for !r.local.synced() || !r.Upstream.Synced() || !r.readinessKnown() {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-r.Clock.After(poll):
		}
	}
	different, err := r.differing()
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	r.surveyed = true
	r.mu.Unlock()
	return len(different), nil
}

// Check returns what readiness waits for, nil if nothing.
func (r *Replica) Check() error {
	r.mu.Lock()
	surveyed := r.surveyed
	r.mu.Unlock()
	switch {
	case surveyed:
		return nil
	case !r.local.synced():
		return errors.New("waiting for the list of what is in this cluster")
	case !r.Upstream.Synced():
		return errors.New("waiting for the list of what is in the backend")
	case !r.readinessKnown():
		return errors.New("waiting for the DiscoveryBackend: it reports whether the endpoints are withheld")
	default:
		return errors.New("comparing the two clusters")
	}
}

// LastSync returns when all copies last agreed with a listing, zero before.
func (r *Replica) LastSync() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cycle.synced
}

// Work writes until ctx is done, and returns when the last write has ended. Only one discoverer of a backend may work.
func (r *Replica) Work(ctx context.Context) error {
	r.mu.Lock()
	r.began = r.Clock.Now()
	r.mu.Unlock()
	if _, err := r.Survey(ctx); err != nil {
		return err
	}
	if err := r.findLegacy(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	r.working = true
	r.mu.Unlock()
	var group sync.WaitGroup
	for range r.Workers {
		group.Go(func() {
			for {
				key, shutdown := r.queue.Get()
				if shutdown {
					return
				}
				if ctx.Err() == nil {
					r.process(ctx, key)
				}
				r.queue.Done(key)
			}
		})
	}
	group.Go(func() { r.sweepUntil(ctx) })
	group.Go(func() { r.resyncUntil(ctx) })
	<-ctx.Done()
	r.queue.ShutDown()
	group.Wait()
	return ctx.Err()
}

// findLegacy finds Services that an original discoverer of this backend left.
func (r *Replica) findLegacy(ctx context.Context) error {
	selector := labels.SelectorFromSet(labels.Set{gimbalv1.LegacyLabelBackend: r.Backend}).String()
	options := metav1.ListOptions{LabelSelector: selector, Limit: 500}
	for {
		list, err := r.Client.Services(r.Confined).List(ctx, options)
		if err != nil {
			return fmt.Errorf("list services with label %s=%s: %w", gimbalv1.LegacyLabelBackend, r.Backend, err)
		}
		for i := range list.Items {
			r.addLegacy(&list.Items[i])
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return nil
		}
	}
}
