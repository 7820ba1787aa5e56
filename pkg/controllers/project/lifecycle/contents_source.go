// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// discoveryRetry is the pause after discovery failed, or a watch did not start.
	discoveryRetry = 2 * time.Second
	// discoveryPeriod is how often a kind that is not served is looked for again.
	discoveryPeriod = time.Minute
)

// contentSource is the source of the events of the blocking kinds, of those that the API server serves. It is synced
// when each kind is either watched or known to be absent; one that is absent is watched once it appears.
type contentSource struct {
	contents *contents
	// kind is the source of one kind.
	kind  func(schema.GroupVersionKind) source.SyncingSource
	after func(time.Duration) <-chan time.Time

	// settled has a channel for each kind, which is closed when it is known whether the kind is served. Start makes it.
	settled map[schema.GroupVersionKind]chan struct{}
}

func newContentSource(contents *contents, kind func(schema.GroupVersionKind) source.SyncingSource) *contentSource {
	return &contentSource{contents: contents, kind: kind, after: time.After}
}

// Start follows each kind until the context ends. It does not block.
func (s *contentSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	s.settled = map[schema.GroupVersionKind]chan struct{}{}
	for _, kind := range blockingKinds() {
		settled := make(chan struct{})
		s.settled[kind] = settled
		go s.follow(ctx, queue, kind, sync.OnceFunc(func() { close(settled) }))
	}
	return nil
}

// WaitForSync waits until every kind is settled. The end of the process is no error, the end of its patience is.
func (s *contentSource) WaitForSync(ctx context.Context) error {
	for _, settled := range s.settled {
		select {
		case <-settled:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil
			}
			return fmt.Errorf("cannot tell what keeps project namespaces, because the API server does not answer for %s", s.unsettled())
		}
	}
	return nil
}

// unsettled names the kinds that are not settled.
func (s *contentSource) unsettled() string {
	var kinds []string
	for kind, settled := range s.settled {
		select {
		case <-settled:
		default:
			kinds = append(kinds, kind.GroupKind().String())
		}
	}
	slices.Sort(kinds)
	return strings.Join(kinds, ", ")
}

// String names the source in logs.
func (s *contentSource) String() string {
	kinds := make([]string, 0, len(blockingKinds()))
	for _, kind := range blockingKinds() {
		kinds = append(kinds, kind.GroupKind().String())
	}
	slices.Sort(kinds)
	return "contents of project namespaces: " + strings.Join(kinds, ", ")
}

// follow waits for a kind to be served and then watches it.
func (s *contentSource) follow(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request], kind schema.GroupVersionKind, settle func()) {
	logger := log.FromContext(ctx).WithValues("kind", kind.GroupKind().String())
	for {
		pause := discoveryRetry
		served, err := s.contents.served(ctx, kind)
		if err == nil && served {
			if err = s.watch(ctx, queue, kind); err == nil {
				settle()
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			logger.Info("cannot watch what keeps project namespaces yet, trying again", "reason", err.Error())
		} else {
			settle()
			pause = discoveryPeriod
		}
		select {
		case <-ctx.Done():
			return
		case <-s.after(pause):
		}
	}
}

func (s *contentSource) watch(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request], kind schema.GroupVersionKind) error {
	events := s.kind(kind)
	if err := events.Start(ctx, queue); err != nil {
		return err
	}
	if err := events.WaitForSync(ctx); err != nil {
		return err
	}
	// A source that was stopped while it waited is not synced, and says so by the context only.
	if err := ctx.Err(); err != nil {
		return err
	}
	s.contents.watch(kind)
	return nil
}
