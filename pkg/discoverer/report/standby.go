// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

const (
	// standbyOwner is the manager of what a discoverer writes that waits for another one to end: that one has its own.
	standbyOwner = "groundskeeper-discoverer-standby"
	// standbyPrefix keeps its entries apart from those of the one that works, which may have the same problem.
	standbyPrefix = "the new discoverer cannot take over: "
	// farewell is how long the last write may take.
	farewell = 5 * time.Second
)

// Standby brings the problems of a discoverer that waits for the Lease into the status of its DiscoveryBackend: that changed
// credentials are rejected is known to no other client, because the one that works has the former ones.
type Standby struct {
	Client          Client
	Namespace, Name string
	Ledger          *Ledger
	Clock           clock.Clock

	last []Entry
}

// Run writes until ctx is done, and removes what was written then.
func (s *Standby) Run(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		if err := s.clear(ctx); err != nil {
			log.Error(err, "Problems reported while waiting for the Lease stay in the status of the DiscoveryBackend")
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.Ledger.Changed():
		}
		// The first discoverer of a backend waits for no other.
		select {
		case <-ctx.Done():
			return
		case <-s.Clock.After(settle):
		}
		if err := s.write(ctx); err != nil && ctx.Err() == nil {
			log.Error(err, "The status of the DiscoveryBackend cannot be written")
		}
	}
}

// write writes the entries when they are not those that were written last.
func (s *Standby) write(ctx context.Context) error {
	entries := s.Ledger.Entries()
	if slices.Equal(entries, s.last) {
		return nil
	}
	backend, err := get(ctx, s.Client, s.Namespace, s.Name)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, backend, entries); err != nil {
		return err
	}
	s.last = entries
	return nil
}

// clear takes all entries of this manager away, those of a discoverer that was killed, too.
func (s *Standby) clear(ctx context.Context) error {
	backend, err := get(ctx, s.Client, s.Namespace, s.Name)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(backend.ManagedFields, func(fields metav1.ManagedFieldsEntry) bool { return fields.Manager == standbyOwner }) {
		return nil
	}
	return s.apply(ctx, backend, nil)
}

func (s *Standby) apply(ctx context.Context, backend *gimbalv1.DiscoveryBackend, entries []Entry) error {
	if _, err := apply(ctx, s.Client, backend, s.Name, standbyOwner, &status{Errors: errorsOf(entries, standbyPrefix)}); err != nil {
		return fmt.Errorf("apply the status of DiscoveryBackend %s/%s: %w", s.Namespace, s.Name, err)
	}
	return nil
}
